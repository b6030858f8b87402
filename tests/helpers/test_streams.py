"""Pipelines over streams: right, ordered, overlapped; and issue orders that lack a wait are found.
"""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import checking
from helpers.limits import ConvShape
from helpers.problems import conv2d, streams
from helpers.problems.streams import Span

KERNEL, SHAPE = "conv2d_register_tiled", ConvShape(1, C=1, M=2, H=12, W=16, K=3)
ORDERS = (streams.one_after_another, streams.depth_first, streams.breadth_first, streams.by_engine)


def images(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    sizes = (count, *SHAPE.x_shape[1:]), SHAPE.filter_shape
    x, filter = (rng.uniform(-1, 1, size).astype(np.float32) for size in sizes)
    return x, filter


def run(issue, count=6, *, size=1, buffers=3, pinned=True, copy_engines=2):
    """(steps, findings in words, y, verdict) of an issue order in the simulator."""
    x, filter = images(count)
    with streams.simulated() as sim:
        make = sim.cuda.pagelocked_empty if pinned else np.empty
        cells, y = make(x.shape, np.float32), make((count, *SHAPE.y_shape[1:]), np.float32)
        cells[:], y[:] = x, np.nan
        launch = streams.launcher(KERNEL, SHAPE, filter, sim.cuda, sim.compiler)
        with streams.Pipeline(sim.cuda, launch, y, cells, images=size, buffers=buffers) as pipe:
            pipe.run(issue)
            order = pipe.order(copy_engines=copy_engines)
        got = np.array(y)
    return order, [pipe.words(finding) for finding in sim.findings], conv2d.check(got, x, filter)


def steps(order) -> int:
    return max(span.end for span in order)


@pytest.mark.parametrize("issue", ORDERS)
@pytest.mark.parametrize(
    ("count", "size", "buffers"),
    [(6, 1, 3), (7, 3, 2), (5, 2, 1), (1, 4, 4), (4, 9, 2), (8, 1, 10)],
)
def test_an_order_is_right_and_without_a_finding(issue, count, size, buffers):
    order, found, _ = run(issue, count, size=size, buffers=buffers)
    assert found == []
    pieces = math.ceil(count / min(size, count))
    assert sorted((span.row, span.piece) for span in order) == sorted(
        (row, k) for row in streams.ROWS for k in range(pieces)
    )


@settings(max_examples=25)
@given(
    issue=st.sampled_from(ORDERS),
    count=st.integers(1, 9),
    size=st.integers(1, 5),
    buffers=st.integers(1, 5),
)
def test_orders_of_any_size(issue, count, size, buffers):
    order, found, _ = run(issue, count, size=size, buffers=buffers)
    assert found == []
    for piece in {span.piece for span in order}:
        into, kernel, back = (
            next(s for s in order if (s.row, s.piece) == (row, piece)) for row in streams.ROWS
        )
        assert into.end <= kernel.start < kernel.end <= back.start


@pytest.mark.parametrize(
    ("issue", "options", "wanted"),
    [
        (streams.one_after_another, {}, 18),
        (streams.depth_first, {"pinned": False}, 18),  # each copy back holds the host up
        (streams.depth_first, {"buffers": 1}, 18),
        (streams.depth_first, {"buffers": 2}, 10),
        (streams.depth_first, {}, 8),  # three equal stages need three streams, and no more
        (streams.depth_first, {"buffers": 4}, 8),
        (streams.breadth_first, {}, 8),
        (streams.by_engine, {"buffers": 2}, 8),
        # The first copy back stands before the second copy in.
        (streams.depth_first, {"copy_engines": 1}, 18),
        (streams.breadth_first, {"copy_engines": 1}, 12),
    ],
)
def test_how_many_steps_an_order_takes(issue, options, wanted):
    assert steps(run(issue, **options)[0]) == wanted


def forward_only(pipe):
    into, compute, out = pipe.streams(3)
    for piece in range(pipe.pieces):
        compute.wait_for_event(pipe.h2d(piece, into))
        out.wait_for_event(pipe.kernel(piece, compute))
        pipe.d2h(piece, out)


def backward_only(pipe):
    into, compute, out = pipe.streams(3)
    for piece in range(pipe.pieces):
        pipe.h2d(piece, into)
        pipe.kernel(piece, compute)
        event = pipe.d2h(piece, out)
        into.wait_for_event(event)
        compute.wait_for_event(event)


def event_recorded_early(pipe):
    into, compute, _ = pipe.streams(3)
    for piece in range(pipe.pieces):
        compute.wait_for_event(pipe.event().record(into))
        pipe.h2d(piece, into)
        pipe.kernel(piece, compute)
        pipe.d2h(piece, compute)


def host_looks_early(pipe):
    streams.depth_first(pipe)
    pipe.y.sum()


def host_writes_early(pipe):
    streams.depth_first(pipe)
    pipe.x[0] = pipe.x[0].copy()


MUTANTS = {
    forward_only: "cuMemcpyHtoDAsync on stream 1 writes memory that kernel .* on "
    "stream 2 may still be reading",
    backward_only: "kernel .* on stream 2 reads memory that cuMemcpyHtoDAsync on "
    "stream 1 may still be writing",
    event_recorded_early: "kernel .* on stream 2 reads memory that cuMemcpyHtoDAsync on "
    "stream 1 may still be writing",
    host_looks_early: "by the host reads memory that cuMemcpyDtoHAsync on "
    "stream 1 may still be writing",
    host_writes_early: "by the host writes memory that cuMemcpyHtoDAsync on "
    "stream 1 may still be reading",
}


@pytest.mark.parametrize("issue", MUTANTS)
def test_a_missing_wait_is_found_though_the_values_are_right(issue):
    _, found, verdict = run(issue)
    assert isinstance(verdict, checking.Verdict)
    assert any(re.search(MUTANTS[issue], " ".join(text.split())) for text in found), found


def test_wrong_values_are_seen():
    def twice_the_first(pipe):
        streams.depth_first(pipe)
        pipe.wait()
        pipe.y[1] = pipe.y[0]

    with pytest.raises(checking.CheckError):
        run(twice_the_first)


def test_events_say_when_a_work_was_taken_up():
    spans = [
        Span("H2D", 1, 0, 0.0, 0.0, 2.0),
        Span("H2D", 2, 1, 0.5, 0.5, 3.0),
        Span("kernel", 1, 0, 2.0, 2.0, 2.5),
    ]
    assert [span.start for span in streams._with_starts(spans)] == [0.0, 2.0, 2.0]
    assert [span.ready for span in streams._with_starts(spans)] == [0.0, 0.5, 2.0]


class Clock:
    """A driver whose events tell how many works were enqueued before them."""

    def __init__(self):
        self.now = 0
        driver = self

        class Event:
            def __init__(self, flags=0):
                self.at = None

            def record(self, stream):
                self.at = driver.now
                return self

            def time_till(self, other):
                return other.at - self.at

        self.Event = Event
        self.event_flags = SimpleNamespace(DISABLE_TIMING=2)
        self.Stream = lambda: SimpleNamespace(synchronize=lambda: None)
        self.mem_alloc = np.int64  # an address

    def memcpy_htod_async(self, *_):
        self.now += 1

    memcpy_dtoh_async = memcpy_htod_async


def test_spans_are_times_between_events():
    driver, x = Clock(), np.zeros((2, 3), np.float32)
    pipe = streams.Pipeline(
        driver, lambda *_: driver.memcpy_htod_async(), x.copy(), x, images=1, buffers=1, timed=True
    )
    for _ in range(2):  # the second run tells of itself alone
        pipe.run(streams.one_after_another)
        spans = pipe.spans()
        assert [(s.row, s.piece, s.start, s.end) for s in spans] == [
            (row, piece, 3 * piece + k, 3 * piece + k + 1)
            for piece in range(2)
            for k, row in enumerate(streams.ROWS)
        ]
    assert spans[0].to_dict() == {
        "row": "H2D",
        "stream": 1,
        "piece": 0,
        "ready": 0,
        "start": 0,
        "end": 1,
    }
    with pytest.raises(ValueError, match="only the simulator keeps account"):
        pipe.order()


def test_a_pipeline_without_times_has_no_spans():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match="timed=True"):
        streams.Pipeline(
            SimpleNamespace(mem_alloc=np.int64), print, x.copy(), x, images=1, buffers=1
        ).spans()


@pytest.mark.parametrize(
    ("y", "x", "options", "message"),
    [
        (np.zeros((2, 3)), np.zeros((3, 3)), {}, "x has 3 images and y 2"),
        (np.zeros((0, 3)), np.zeros((0, 3)), {}, "x has 0 images and y 0"),
        (np.zeros((2, 3)), np.zeros((4, 3))[::2], {}, "x is not in C order"),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"images": 0}, "a piece of 0 images and 1 buffer"),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"buffers": 0}, "a piece of 1 image and 0 buffers"),
    ],
)
def test_a_pipeline_refuses(y, x, options, message):
    with pytest.raises(ValueError, match=message):
        streams.Pipeline(SimpleNamespace(), print, y, x, **{"images": 1, "buffers": 1, **options})


def test_a_launcher_refuses_a_filter_in_global_memory():
    with pytest.raises(
        conv2d.LayerError, match="conv2d_basic does not keep its filter in constant memory"
    ):
        streams.launcher("conv2d_basic", SHAPE, images(1)[1], SimpleNamespace())
