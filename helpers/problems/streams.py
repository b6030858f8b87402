"""A layer from host memory to host memory, in pieces, so that copies and kernels overlap.

    with streams.Pipeline(cuda, launch, y, x, images=250, buffers=4) as pipe:
        streams.depth_first(pipe)      # or breadth_first, by_engine, one_after_another
        pipe.wait()                    # y is complete after this call

`cuda` is a driver: PyCUDA's, or that of `simulated()`, which needs no GPU: it checks the order of
dependent work and reports the order in which work runs. The caller allocates pinned (page-locked)
memory for x and y with `cuda.pagelocked_empty`. Pageable memory gives right results, too, but
nothing overlaps.

An issue order is a function of a Pipeline. It calls `pipe.h2d(k, stream)`, `pipe.kernel(k,
stream)` and `pipe.d2h(k, stream)`, each of which enqueues work for piece k and returns the event
recorded behind it, and `stream.wait_for_event(event)`. Piece k lies in buffer k % buffers of the
device: in every order, piece k + buffers must come after piece k.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.programs import DeviceOwner, Modules, Program
from helpers.quantities import quantity
from helpers.simulator.findings.findings import fold

ROWS = ("H2D", "kernel", "D2H")

# A function of (address of y, address of x, images, stream) that enqueues a kernel.
Launch = Callable[[int, int, int, Any], None]


class OrderError(ValueError):
    """An issue order that enqueues nothing, or a piece of work twice."""


@dataclass(frozen=True)
class Span:
    """One piece of work in a timeline.

    row: one of ROWS. stream: its number, from 1 on. piece: its number. The work reached the head of
    its stream at `ready`, began at `start` and ended at `end`, in ms since the first work began; a
    span of `Pipeline.order` has steps in place of ms.
    """

    row: str
    stream: int
    piece: int
    ready: float
    start: float
    end: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a record and for plotting.timeline."""
        return asdict(self)


@dataclass
class _Work:
    """Enqueued work with an event behind it and, in a timed pipeline, one before it."""

    row: str
    stream: int
    piece: int
    before: Any
    after: Any


class Pipeline(DeviceOwner):
    """Pieces of x that become pieces of y in the buffers of a device.

    cuda: a driver with PyCUDA's names. launch(y, x, images, stream): enqueues the kernel for
    `images` images on device addresses. y, x: host arrays in C order, with the same number of
    images along their first axis. images: of a piece; the last piece may have fewer. buffers: the
    number of pieces on the device at a time. timed: records the events that `spans` needs, two for
    each row of a piece.

    Raises ValueError for arrays that do not fit each other, and for numbers below 1.
    """

    def __init__(
        self,
        cuda: Any,
        launch: Launch,
        y: np.ndarray,
        x: np.ndarray,
        *,
        images: int,
        buffers: int,
        timed: bool = False,
    ):
        _require(y, x, images, buffers)
        self._cuda, self._launch, self.y, self.x = cuda, launch, y, x
        self.images, self.buffers = min(images, len(x)), buffers
        self.pieces = math.ceil(len(x) / self.images)
        self._timed = timed
        self._streams: list[Any] = []
        self._events: dict[tuple[str, int], _Work] = {}
        self._issued: list[_Work] = []
        self._at: list[tuple[Any, Any]] = []
        try:
            for _ in range(min(buffers, self.pieces)):
                self._at.append((self._buffer(y), self._buffer(x)))
        except Exception:
            self.free()
            raise

    def _buffer(self, array: np.ndarray) -> Any:
        return self._cuda.mem_alloc(self.images * array[:1].nbytes)

    def streams(self, count: int) -> tuple[Any, ...]:
        """Return the pipeline's first `count` streams. The first call creates them."""
        while len(self._streams) < count:
            self._streams.append(self._cuda.Stream())
        return tuple(self._streams[:count])

    def event(self) -> Any:
        """Return a new event."""
        return self._cuda.Event(self._cuda.event_flags.DISABLE_TIMING)

    def h2d(self, piece: int, stream: Any) -> Any:
        """Enqueue the copy of a piece of x to the device; return the event behind it."""
        to = self._at[piece % self.buffers][1]
        return self._enqueue(
            "H2D",
            piece,
            stream,
            lambda: self._cuda.memcpy_htod_async(to, self._part(self.x, piece), stream),
        )

    def kernel(self, piece: int, stream: Any) -> Any:
        """Enqueue the kernel for a piece; return the event behind it."""
        y, x = map(int, self._at[piece % self.buffers])
        count = len(self._part(self.x, piece))
        return self._enqueue("kernel", piece, stream, lambda: self._launch(y, x, count, stream))

    def d2h(self, piece: int, stream: Any) -> Any:
        """Enqueue the copy of a piece of y to the host; return the event behind it."""
        at = self._at[piece % self.buffers][0]
        return self._enqueue(
            "D2H",
            piece,
            stream,
            lambda: self._cuda.memcpy_dtoh_async(self._part(self.y, piece), at, stream),
        )

    def _part(self, array: np.ndarray, piece: int) -> np.ndarray:
        if not 0 <= piece < self.pieces:
            raise IndexError(f"piece {piece} of {self.pieces}: the first one is piece 0")
        return array[piece * self.images : (piece + 1) * self.images]

    def _enqueue(self, row: str, piece: int, stream: Any, call: Callable[[], None]) -> Any:
        key = row, piece
        work = self._events.get(key)
        if work is None:
            before, after = (
                (self._cuda.Event(), self._cuda.Event()) if self._timed else (None, self.event())
            )
            work = self._events[key] = _Work(row, 0, piece, before, after)
        if any(work is one for one in self._issued):
            raise OrderError(f"{row} of piece {piece} is enqueued already: each needs it once")
        work.stream = self._streams.index(stream) + 1
        if work.before is not None:
            work.before.record(stream)
        call()
        work.after.record(stream)
        self._issued.append(work)
        return work.after

    def wait(self) -> None:
        """Wait for all work of the pipeline's streams; then y is complete."""
        for stream in self._streams:
            stream.synchronize()

    def start(self) -> None:
        """Forget the work so far: `spans` and `order` cover only later work."""
        self._issued.clear()

    def run(self, issue: Callable[[Pipeline], None]) -> None:
        """Issue all work by ``issue``, a function of the pipeline, and wait for it."""
        self.start()
        issue(self)
        self.wait()

    def spans(self) -> tuple[Span, ...]:
        """Return the spans of the last run's work in ms, measured by its events.

        The event before a piece of work marks the time at which its stream reached it (`ready`),
        not the time at which a copy engine began. So `start` is the end of the previous work of the
        row, if that is later than `ready`. Raises ValueError without ``timed=True``.
        """
        if not self._timed or not self._issued:
            raise ValueError(
                "this pipeline has no times: make it with timed=True, and run() something"
            )
        first = self._issued[0].before
        spans = [
            Span(
                work.row,
                work.stream,
                work.piece,
                *2 * (first.time_till(work.before),),
                first.time_till(work.after),
            )
            for work in self._issued
        ]
        return tuple(_with_starts(spans))

    def order(self, *, copy_engines: int = 2) -> tuple[Span, ...]:
        """Return the order of the last run's work in the simulator, in steps that are no times.

        In a step, each engine does one piece of work. There is an engine for kernels and a copy
        engine for each direction (or one for both). An engine works in the order of issue; it
        begins a piece of work when all work that it depends on is done, which the simulator knows
        from streams and events. Every piece of work takes one step. Raises ValueError on a GPU,
        which keeps no such account, and OrderError where nothing was issued.
        """
        if not self._issued:
            raise OrderError("no work is enqueued: call h2d(), kernel() and d2h() for each piece")
        if not all(hasattr(work.after, "_clock") for work in self._issued):
            raise ValueError(
                "this driver is a GPU's, and only the simulator keeps account of the order: take "
                "the driver of streams.simulated()"
            )
        clocks = [work.after._clock for work in self._issued]
        handles = [self._streams[work.stream - 1].handle for work in self._issued]
        past = _past(clocks, handles)
        steps = _steps(
            [
                work.row if work.row == "kernel" or copy_engines > 1 else "copies"
                for work in self._issued
            ],
            past,
        )
        return tuple(
            Span(work.row, work.stream, work.piece, step, step, step + 1)
            for work, step in zip(self._issued, steps, strict=True)
        )

    def words(self, finding: Any) -> str:
        """Return the first sentence of a finding with the pipeline's stream numbers."""
        number = {str(stream.handle): str(k) for k, stream in enumerate(self._streams, 1)}
        text = re.sub(
            r"\bstream (\d+)(?: \(line \d+\))?",
            lambda m: f"stream {number.get(m[1], m[1])}",
            finding.message,
        )
        return fold(f"{finding.kind}: {text}", 4)

    def free(self) -> None:
        """Wait for all work, and free the device's buffers."""
        self.wait()
        for pair in self._at:
            for buffer in pair:
                buffer.free()
        self._at = []


def _require(y: np.ndarray, x: np.ndarray, images: int, buffers: int) -> None:
    if images < 1 or buffers < 1:
        raise ValueError(
            f"a piece of {quantity(images, 'image')} and {quantity(buffers, 'buffer')}: "
            "give at least 1 of both"
        )
    if len(x) != len(y) or not len(x):
        raise ValueError(f"x has {len(x)} images and y {len(y)}: give as many of both, at least 1")
    for name, array in (("y", y), ("x", x)):
        if not array.flags.c_contiguous:
            raise ValueError(
                f"{name} is not in C order, so its pieces are not contiguous; "
                f"pass np.ascontiguousarray({name})"
            )


def _with_starts(spans: Sequence[Span]) -> Iterator[Span]:
    for span in spans:
        earlier = [other.end for other in spans if other.row == span.row and other.end < span.end]
        yield replace(span, start=max([span.ready, *earlier]))


def _past(clocks: Sequence[dict[int, int]], streams: Sequence[int]) -> list[list[int]]:
    """Return the work before each piece of work: its clock contains their numbers in a stream."""
    marks = [(stream, clock[stream]) for clock, stream in zip(clocks, streams, strict=True)]
    return [
        [a for a, (stream, number) in enumerate(marks) if a != b and clock.get(stream, 0) >= number]
        for b, clock in enumerate(clocks)
    ]


def _steps(engines: Sequence[str], past: Sequence[Sequence[int]]) -> list[int]:
    """Return the step of each piece of work: engines work in the order of issue, after its past."""
    steps = [-1] * len(engines)
    queues = {
        engine: [k for k, other in enumerate(engines) if other == engine] for engine in engines
    }
    step = 0
    while any(queues.values()):
        ready = [
            queue
            for queue in queues.values()
            if queue and all(0 <= steps[k] < step for k in past[queue[0]])
        ]
        for queue in ready:
            steps[queue.pop(0)] = step
        step += 1
    return steps


# --------------------------------------------------------------------------------------------------
# Issue orders


def one_after_another(pipe: Pipeline) -> None:
    """Use one stream: each piece of work waits for the one before it."""
    (stream,) = pipe.streams(1)
    for piece in range(pipe.pieces):
        for work in (pipe.h2d, pipe.kernel, pipe.d2h):
            work(piece, stream)


def depth_first(pipe: Pipeline) -> None:
    """Use a stream for each buffer; issue all work of a piece, then that of the next piece."""
    streams = pipe.streams(pipe.buffers)
    for piece in range(pipe.pieces):
        for work in (pipe.h2d, pipe.kernel, pipe.d2h):
            work(piece, streams[piece % pipe.buffers])


def breadth_first(pipe: Pipeline) -> None:
    """Use a stream for each buffer; for a group of pieces issue copies in, kernels, copies out."""
    streams = pipe.streams(pipe.buffers)
    for first in range(0, pipe.pieces, pipe.buffers):
        for work in (pipe.h2d, pipe.kernel, pipe.d2h):
            for piece in range(first, min(first + pipe.buffers, pipe.pieces)):
                work(piece, streams[piece % pipe.buffers])


def by_engine(pipe: Pipeline) -> None:
    """Use a stream for each of ROWS, with events between them, and any number of buffers."""
    into, compute, out = pipe.streams(3)
    computed: dict[int, Any] = {}
    back: dict[int, Any] = {}
    for piece in range(pipe.pieces):
        before = piece - pipe.buffers  # the previous piece in these buffers
        if before >= 0:
            into.wait_for_event(computed[before])  # Its kernel must have read its x.
        compute.wait_for_event(pipe.h2d(piece, into))
        if before >= 0:
            compute.wait_for_event(back[before])  # Its y must have left the buffer.
        computed[piece] = pipe.kernel(piece, compute)
        out.wait_for_event(computed[piece])
        back[piece] = pipe.d2h(piece, out)


# --------------------------------------------------------------------------------------------------
# Launchers and drivers of a pipeline


def launcher(
    kernel: str | conv2d.Conv2d,
    shape: ConvShape,
    filter: np.ndarray,
    cuda: Any = None,
    compiler: Any = None,
) -> Launch:
    """Return launch(y, x, images, stream) of a compiled kernel with its filter in constant memory.

    cuda, compiler: a driver and its compiler, such as those of `simulated`; by default PyCUDA's.
    Raises conv2d.LayerError as `Conv2d.require` does, and for a kernel that reads its filter from
    global memory.
    """
    spec = conv2d.conv2d_named(kernel) if isinstance(kernel, str) else kernel
    spec.require(shape)
    spec = spec.fitted(shape)
    if spec.filter_in != "constant" or len(spec.sources) != 1:
        raise conv2d.LayerError(
            f"{spec.name} does not keep its filter in constant memory: "
            "take conv2d_register_tiled, for instance"
        )
    # Pieces of all sizes share the constant memory of one object.
    modules = Modules(cuda, compiler)

    @functools.cache
    def program(images: int) -> Program:
        return Program(spec.plan(replace(shape, B=images)), modules)

    program(shape.B).upload({"filter": filter})

    def launch(y: int, x: int, images: int, stream: Any) -> None:
        program(images).launch({"y": y, "x": x}, stream)

    return launch


@contextlib.contextmanager
def simulated() -> Iterator[SimpleNamespace]:
    """Yield the simulator's driver and compiler, and a list that gets its findings at the end.

    It works with and without a GPU.

        with streams.simulated() as sim:
            launch = streams.launcher(
                "conv2d_register_tiled", shape, filter, sim.cuda, sim.compiler
            )
            ...
        print(sim.findings)

    The list replaces the simulator's warnings. Earlier findings are dropped.
    """
    from helpers.simulator import pycuda_api

    # Importing `autoprimaryctx` creates a context.
    from helpers.simulator.pycuda_api import autoprimaryctx, compiler, driver  # noqa: F401

    driver.Context.synchronize()
    pycuda_api.findings(clear=True)
    simulator = SimpleNamespace(cuda=driver, compiler=compiler, findings=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycuda_api.SimulatorWarning)
        try:
            yield simulator
        finally:
            simulator.findings.extend(pycuda_api.findings(clear=True))
