"""Copies and kernels at the same time: the schedule by hand, the simulated order, the record."""

from __future__ import annotations

import dataclasses

import pytest

from helpers import exercises
from helpers.bench import results
from helpers.bench.results import Measurement, Record
from helpers.experiments import issue_orders, overlap
from helpers.problems import streams


@pytest.fixture(scope="module")
def record() -> Record:
    return results.load(results.MEASURED / "113_streams.json")


def with_spans(record: Record, spans) -> Record:
    """The record with other spans for the run "by_engine" of layer 1."""
    rows = tuple(
        Measurement(
            "span",
            {"layer": "layer 1", "run": "by_engine", "row": row, "piece": piece, "stream": 1,
             "ready": start, "start": start, "end": end},
            None,
        )
        for row, piece, start, end in spans
    )  # fmt: skip
    others = tuple(m for m in record.measurements if m.series != "span")
    return dataclasses.replace(record, measurements=(*others, *rows))


def test_a_schedule_is_that_of_the_table_by_hand():
    at = {
        (span.row, span.piece): (span.start, span.end)
        for span in issue_orders.schedule([2, 1, 3], 4)
    }
    assert at["H2D", 3] == (6, 8)
    assert at["kernel", 1] == (4, 5)
    assert [at["D2H", piece] for piece in range(4)] == [(3, 6), (6, 9), (9, 12), (12, 15)]


@pytest.mark.parametrize(
    ("stages", "pieces", "end"),
    [([2, 1, 3], 1, 6), ([2, 1, 3], 4, 15), ([1, 1, 1], 6, 8), ([5, 1, 1], 3, 17)],
)
def test_the_end_is_one_way_and_the_slowest_stage_for_each_other_piece(stages, pieces, end):
    assert issue_orders.finish(stages, pieces) == end == sum(stages) + (pieces - 1) * max(stages)


def test_an_order_without_events_has_a_finding_and_right_values():
    def no_events(pipe):
        into, compute, out = pipe.streams(3)
        for piece in range(pipe.pieces):
            pipe.h2d(piece, into)
            pipe.kernel(piece, compute)
            pipe.d2h(piece, out)

    order = issue_orders.simulated_order(no_events, buffers=issue_orders.FEW)
    assert len(order.findings) == 2 * issue_orders.FEW
    assert "may still be writing" in order.findings[0]


def test_few_buffers_and_pageable_memory_hold_the_layer_up():
    assert issue_orders.simulated_order(streams.depth_first, buffers=2).steps == 10
    assert issue_orders.simulated_order(streams.depth_first, pinned=False).steps == 18


def test_copies_back_are_told_apart_by_the_copies_in(record):
    spans = [("H2D", 0, 0, 4), ("D2H", 0, 0, 4), ("D2H", 2, 5, 8), ("D2H", 1, 8, 11)]
    made = with_spans(record, spans)
    assert overlap.copies_back(made, "by_engine") == pytest.approx((4, 3))
    assert overlap.order_of(made, "by_engine", "D2H") == [0, 2, 1]


def test_streams_needed_are_the_sum_of_the_stages_over_the_slowest(record):
    stages = [overlap.copy_row(record, way)["median_ms"] for way in overlap.WAYS]
    stages.append(overlap.clock(record, overlap.TRUE)["median_ms"])
    assert overlap.fewest_streams(record) == pytest.approx(sum(stages) / max(stages))
    assert overlap.bound(record)["median_ms"] == max(stages)


def test_the_sum_of_the_account_is_the_sum_of_its_parts(record):
    *parts, total, _ = (float(line.split()[-1]) for line in overlap.account(record).split("\n")[1:])
    assert sum(parts) == pytest.approx(total, abs=0.002)


def test_all_points_of_the_sweep_lie_inside_the_axes(record):
    for ax in overlap.sweep_figure(record).axes:
        values = [value for line in ax.lines for value in line.get_ydata()]
        assert max(values) < 0.97 * ax.get_ylim()[1]


def test_a_fault_in_an_order_is_told_and_not_taken_for_nothing():
    def faulty(pipe):
        raise ValueError("operands could not be broadcast together")

    def twice(pipe):
        (stream,) = pipe.streams(1)
        for _ in range(2):
            pipe.h2d(0, stream)

    with pytest.raises(ValueError, match="could not be broadcast"):
        issue_orders.tried(faulty)
    assert issue_orders.tried(twice) is None


def test_an_order_that_enqueues_nothing_is_not_there_yet():
    cases = {
        "ours": issue_orders.tried(streams.depth_first),
        "yours": issue_orders.tried(lambda pipe: pipe.streams(2)),
    }
    assert cases["ours"].steps == 8 and cases["yours"] is None
    ours, yours = issue_orders.order_figure(cases).axes
    assert "ours: 8 steps" in ours.get_title(loc="left")
    assert yours.get_title(loc="left") == "yours: not yet" and not yours.patches


def test_an_order_of_a_student_has_a_name_and_no_bar_before_it_is_timed(record):
    exercise = exercises.find("in_turn")
    assert overlap.yours(streams.depth_first, exercise) == "yours: not yet"
    exercise.check(streams.depth_first)
    assert overlap.yours(streams.depth_first, exercise) == "yours: not timed here"
    (ax,) = overlap.end_to_end_figure(record, "yours: not yet", layers=("layer 1",)).axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-1] == "yours: not yet" and len(ax.patches) == len(names) - 1


def test_the_bar_of_a_student_is_the_time_of_the_order(record):
    row = {"median_ms": 33.0, "low_ms": 32.0, "high_ms": 34.0}
    (ax,) = overlap.end_to_end_figure(record, row, layers=("layer 1",)).axes
    assert ax.patches[-1].get_width() == 33


def test_time_until_a_call_returns():
    said = []
    timed = overlap.time_return(
        lambda: said.append("call"), lambda: said.append("wait"), name="n", device="d", budget_s=0
    )
    assert (timed.n, timed.what) == (overlap.FEWEST, "until the call returns")
    assert said == ["call", *["wait", "call"] * overlap.FEWEST, "wait"]
