"""The list of a lab's exercises at the top of a notebook: what it says, and that it follows checks
and predictions where a notebook is run without a browser.
"""

from __future__ import annotations

import dataclasses
import json
import re
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers import exercises, labs
from helpers.bench import predictions
from helpers.exercises.judge import bar_messages, base, earned, states
from helpers.exercises.judge.verdict import ExerciseError, Verdict
from helpers.jupyterlab import bar as answers
from helpers.labs import stored

CHECK = 'exercise = exercises.find("{name}")\nexercise.check({name})'


def error(words: str):
    return new_output("error", ename="ExerciseError", evalue=words, traceback=words.splitlines())


def result(words: str, **ours):
    metadata = {stored.OURS: ours}
    return new_output("execute_result", {"text/plain": words}, metadata=metadata, execution_count=1)


def notebook(*cells) -> str:
    return nbformat.writes(new_notebook(cells=list(cells)))


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.setattr(base, "_latest", {})
    monkeypatch.setattr(earned, "_here", set())
    monkeypatch.setattr(predictions, "_known", {})
    monkeypatch.setattr(states, "_shown", None)


# ----------------------------------------------------------------------------- a notebook's file


@pytest.mark.parametrize(
    ("outputs", "state"),
    [
        ([], "not begun"),
        ([error("NOT BEGUN squares: the cell is still as it was given.")], "not begun"),
        ([error("FAIL squares: 3 of 9 values are wrong")], "tried"),
        ([error("NOT YET squares: right, and over its budget")], "tried"),
        ([error("NameError: name 'squares' is not defined")], "not begun"),
        ([result("PASS squares: 4 sizes")], "passed"),
        ([new_output("stream", name="stdout", text="PASS squares: 4 sizes\n")], "passed"),
        ([result("FAIL squares: 3 of 9 values are wrong")], "tried"),
        ([result("FAIL squares: 3 of 9 values are wrong", passed=True)], "passed"),
    ],
)
def test_the_state_of_an_exercise_is_what_its_check_has_said(outputs, state):
    text = notebook(
        new_markdown_cell("# Title\n\n## 1 · `Map`: each its *own*\n\nwords"),
        new_code_cell(CHECK.format(name="squares"), outputs=outputs),
    )
    asked = stored.exercises_of(text)["squares"]
    assert asked == stored.Asked("squares", "1 · Map: each its own", state)


def test_of_two_checks_the_later_counts_and_no_comment_is_a_heading():
    passed = new_code_cell(CHECK.format(name="one"), outputs=[result("PASS one: 4 sizes")])
    again = new_code_cell(CHECK.format(name="one"), outputs=[error("FAIL one: no")])
    text = notebook(passed, new_code_cell("# no heading"), again)
    assert stored.exercises_of(text) == {"one": stored.Asked("one", "", "tried")}


def test_a_cell_that_asks_for_something_else_is_no_check():
    """As the headline of lab 100 does, below its last heading."""
    passed = new_code_cell(CHECK.format(name="one"), outputs=[result("PASS one: 4 sizes")])
    latest = new_code_cell('latest = exercises.find("one").latest')
    text = notebook(new_markdown_cell("## Step 1"), passed, new_markdown_cell("## The end"), latest)
    assert stored.exercises_of(text) == {"one": stored.Asked("one", "Step 1", "passed")}


def test_predictions_of_a_file_are_open_or_made():
    text = notebook(
        new_code_cell('prediction.number("loads", None, "loads")\nprediction.number("n", 3, "n")'),
        new_code_cell('prediction.choice(\n    "best", "a", "the best", among=("a", "b"))'),
        new_markdown_cell('`prediction.number("words", None)`'),
    )
    assert stored.predictions_of(text) == {"loads": False, "n": True, "best": True}


def test_jupyter_and_vs_code_say_which_file_a_notebook_is(monkeypatch, tmp_path):
    file = tmp_path / "one.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(file))
    assert stored.notebook() is None, "there is no such file"
    file.write_text("{}")
    assert stored.notebook() == file
    monkeypatch.delenv("JPY_SESSION_NAME")
    shell = SimpleNamespace(user_ns={"__vsc_ipynb_file__": str(file)})
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    assert stored.notebook() == file
    shell.user_ns.clear()
    assert stored.notebook() is None


# ------------------------------------------------------------------------------------ the list


def one(name: str, title: str = "", points: int = 2):
    """An exercise for the list."""
    known = exercises.find("squares")
    new = {"name": name, "home": "squares", "title": title or name, "points": points}
    return dataclasses.replace(known, **new)


def progress(*every, before: str | None = None) -> states.Progress:
    text = before or notebook()
    return states.Progress("103", every, stored.exercises_of(text), stored.predictions_of(text))


def said(exercise, status: str) -> None:
    try:
        exercise._said(Verdict.of(exercise.name, status, "words", exercise.points))
    except ExerciseError:
        assert status != "pass"


def test_the_list_has_titles_points_and_states():
    first, second, third = one("a", "First & last"), one("b", points=10), one("c")
    said(first, "pass")
    said(second, "budget")
    said(third, "not_begun")
    assert str(progress(first, second, third)).splitlines() == [
        "Lab 103: 1 of 3 exercises passed",
        "  1. First & last (2 points): passed",
        "  2. b (10 points): tried",
        "  3. c (2 points): not begun",
    ]


def test_a_tick_once_earned_stays():
    before = notebook(
        new_markdown_cell("## Step 2 · Write it"),
        *(
            new_code_cell(CHECK.format(name=name), outputs=[result(f"PASS {name}: 4 sizes")])
            for name in "ab"
        ),
        new_code_cell('prediction.number("n", None, "n")\nprediction.number("m", None, "m")'),
    )
    now, older = one("a"), one("b")
    said(now, "wrong")
    predictions.Prediction().number("n", 3, "how many")
    shown = progress(now, older, before=before)
    assert [shown.state(now), shown.state(older)] == ["passed", "passed"]
    said(third := one("c"), "pass")
    said(third, "wrong")
    assert progress(third).state(third) == "passed"
    assert str(shown).splitlines()[-1] == "Predictions: 1 of 2 made"


def test_titles_lead_to_the_heading_of_their_step():
    before = notebook(
        new_markdown_cell('## Step 2 · Say "it"'), new_code_cell(CHECK.format(name="a"))
    )
    words = progress(one("a", "x < y"), one("b"), before=before)._repr_html_()
    assert (
        '<a href="#Step-2-%C2%B7-Say-%22it%22">x &lt; y (2 points)</a>: \u25cb not begun' in words
    )
    assert words.count("<a ") == 1 and words.count("<li>") == 2


def test_the_only_exercise_of_a_lab_may_be_asked_for_by_its_number():
    before = notebook(new_code_cell(CHECK.format(name="103"), outputs=[result("PASS a: 1 size")]))
    alone = one("a")
    assert progress(alone, before=before).state(alone) == "passed"
    assert progress(alone, one("b"), before=before).state(alone) == "not begun"


def test_without_a_file_the_lab_says_where_its_exercises_stand(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    shown = states.of("103", exercises.of_lab("103"))
    assert {shown.state(exercise) for exercise in shown.every} == {"not begun"}
    assert all(shown.heading(exercise) for exercise in shown.every)


@pytest.mark.parametrize("path", labs.notebooks(), ids=lambda path: path.stem)
def test_a_lab_shows_its_own_list_in_a_cell_that_is_not_compared(path):
    """The stored list is that of the notebook's end, and a comparison would see the first one."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = {"".join(cell["source"]): cell["metadata"].get("tags", []) for cell in cells}
    shown = {text: tags for text, tags in texts.items() if "exercises.progress(" in text}
    assert len(shown) == bool(exercises.of_lab(labs.number(path.stem)))
    for text, tags in shown.items():
        assert f'exercises.progress("{labs.number(path.stem)}")' in text
        assert "nbval-check-output" not in tags


def test_a_lab_without_exercises_is_an_error():
    with pytest.raises(LookupError, match="lab 999 has no exercise; there are labs 100, 101"):
        exercises.progress("999")


def test_without_ipython_the_list_is_printed_once(capsys):
    exercises.progress("101")
    said(exercises.find("conv1d_edge"), "pass")
    printed = capsys.readouterr().out
    assert printed.startswith("Lab 101: 0 of ") and printed.count("Lab 101") == 1


# ------------------------------------------------------------------ what JupyterLab's buttons get


@pytest.mark.parametrize("name", exercises.names())
def test_the_cell_of_an_exercise_is_known_by_its_text(name):
    exercise = exercises.find(name)
    needs = bar_messages.needs(exercise)
    found = re.compile(needs["cell"], re.MULTILINE).search
    assert (needs["title"], needs["stub"]) == (exercise.title, exercise.stub.rstrip())
    assert len(needs["hints"]) == len(exercise.hints)
    assert exercises.find(needs["name"]).title == exercise.title
    assert found(exercise.stub) and found(exercise.solution)
    bound = getattr(exercise, "answer", name)
    assert not found(f'exercise = exercises.find("{name}")\nexercise.check({bound})')
    others = (exercises.find(other) for other in exercises.names() if other != name)
    mine = [other for other in others if other.lab == exercise.lab]
    assert not [other.name for other in mine if found(other.stub)]


def test_the_page_gets_what_it_asks_for():
    sent = []
    comm = SimpleNamespace(send=sent.append, close=lambda: sent.append("closed"))
    asked = ["squares", "none_of_ours", "103", "squares", "conv1d_edge"]
    answers._answer(comm, {"content": {"data": {"asked": asked}}})
    titles = [exercises.find(name).title for name in ("squares", "conv1d_edge")]
    assert [one["title"] for one in sent[0]["exercises"]] == titles and sent[1:] == ["closed"]
    answers._answer(comm, {"content": {"data": {}}})
    assert sent[2] == {"exercises": [], "predictions": {}}
    answers._answer(comm, {"content": {"data": {"solution": "squares"}}})
    assert "N[i]" in sent[4]["solution"]


# ------------------------------------------------------------------------- in a real kernel

SET_UP = """from helpers import bench, device, exercises
gpu = device.select()
%load_ext helpers
exercises.progress("103")"""
GUESS = 'prediction = bench.Prediction()\nprediction.number("n", 3, "how many")'


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A notebook as nbclient runs it, which nbconvert and papermill do with it, too."""
    squares, add = exercises.find("squares"), exercises.find("add_arrays")
    cells = [SET_UP, GUESS, squares.solution, CHECK.format(name="squares")]
    cells += [add.stub, CHECK.format(name="add_arrays")]
    made = new_notebook(cells=[new_code_cell(str(cell)) for cell in cells])
    folder = {"metadata": {"path": str(tmp_path_factory.mktemp("run"))}}
    return NotebookClient(made, timeout=120, allow_errors=True, resources=folder).execute()


def test_the_list_of_a_notebook_follows_its_checks_and_predictions(executed):
    (shown,) = (out for out in executed.cells[0].outputs if "text/html" in out.get("data", {}))
    lines = shown.data["text/plain"].splitlines()
    assert lines[0] == "Lab 103: 1 of 12 exercises passed"
    assert [line.rpartition(": ")[2] for line in lines[1:4]] == ["passed", "not begun", "not begun"]
    assert lines[-1].endswith(" made") and not lines[-1].startswith("Predictions: 0")
    assert "\u2713 passed" in shown.data["text/html"]


def test_the_cells_of_the_checks_have_their_verdicts_alone(executed):
    _, guess, _, passed, _, failed = executed.cells
    assert guess.outputs == []
    assert [out.output_type for out in passed.outputs] == ["execute_result"]
    assert [out.output_type for out in failed.outputs] == ["execute_result"]
    assert re.match("PASS squares(.|\n)*exercise.solution$", passed.outputs[0].data["text/plain"])
    assert json.dumps(failed.outputs).count("NOT BEGUN")
