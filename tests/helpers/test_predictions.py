"""Predictions are kept by key, shown beside what was measured, and judged by their factor."""

import pytest

from helpers.bench.predictions import Prediction, PredictionError


def noted(guess):
    prediction = Prediction()
    prediction.number("loads", guess, "loads per output", unit="loads")
    return prediction


@pytest.mark.parametrize(
    ("guess", "measured", "verdict"),
    [
        (3, 3, "right"),
        (3.2, 3, "right"),
        (2.8, 3, "right"),
        (31, 3.1, "10 times too high"),
        (1, 2.5, "2.5 times too low"),
        (10, 1000, "100 times too low"),
        (1, 99.7, "100 times too low"),
        (9e6, 2, "4,500,000 times too high"),
        (0, 0, "right"),
        (0, 4, "off"),
        (-2, 2, "off"),
    ],
)
def test_a_number_is_judged_by_its_factor(guess, measured, verdict):
    row = noted(guess).beside(loads=measured).splitlines()[1]
    assert row.endswith(verdict) and row.startswith("loads per output")


def test_a_number_just_below_a_thousand_is_written_out():
    assert "3 loads  1,000 loads" in noted(3).beside(loads=999.7)


def test_an_open_question_is_shown_and_counted():
    prediction = noted(None)
    prediction.number("idle", 2, "idle threads", unit="%")
    table = prediction.beside(loads=1.125, idle=11.8)
    assert "loads per output    -  1.12 loads" in table
    assert "You made only 1 of 2 predictions here" in table
    assert "no prediction here" in noted(None).beside(loads=1)
    assert "You made" not in noted(1).beside(loads=1)


def test_what_was_not_measured_here_is_not_judged():
    assert noted(1).beside(loads=None).splitlines()[1].split()[-3:] == ["1", "loads", "-"]


def test_a_choice_is_one_of_its_answers():
    prediction = Prediction()
    prediction.choice("fastest", "tile", "the fastest", among=("tile", "no tile"))
    assert prediction.beside(fastest="tile").endswith("right")
    assert prediction.beside(fastest="no tile").endswith("not quite")
    assert prediction.beside(fastest=("no tile",)).endswith("not quite")
    both = prediction.beside(fastest=("no tile", "tile"))
    assert "no tile or tile" in both and both.endswith("right")
    with pytest.raises(ValueError, match="choose one of 'tile', 'no tile'; got 'tiles'"):
        prediction.choice("fastest", "tiles", "the fastest", among=("tile", "no tile"))


def test_running_the_cell_again_replaces_the_guess():
    prediction = noted(1)
    prediction.number("loads", 4, "loads per output")
    assert prediction.beside(loads=4).count("\n") == 1
    assert prediction.beside(loads=4).endswith("right")


@pytest.mark.parametrize("guess", ["3", True, [3]])
def test_what_is_no_number_is_refused(guess):
    with pytest.raises(TypeError, match="write a number in place of None"):
        noted(guess)


def test_an_infinite_guess_is_refused():
    with pytest.raises(ValueError, match="finite"):
        noted(float("inf"))


def test_keys_must_agree():
    with pytest.raises(PredictionError, match=r"of 'load' yet: run the cell .* far: 'loads'$"):
        noted(1).beside(loads=1, load=2)
    with pytest.raises(PredictionError, match="Asked so far: nothing"):
        Prediction().beside(loads=1)


def test_a_step_shows_its_own_predictions():
    prediction = noted(1)
    prediction.number("time", None, "time")
    table = prediction.beside(time=2)
    assert "time" in table and "loads" not in table
    assert "You made no prediction here" in table


def test_large_and_small_numbers_are_plain():
    prediction = noted(1_000_000)
    assert "1,000,000 loads  2,500,000 loads" in prediction.beside(loads=2_500_000)
    assert "0.00123" in noted(None).beside(loads=0.00123)
