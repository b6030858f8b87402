"""A layer from host memory to host memory, piece by piece, so that copies and kernels of different pieces overlap.

    with streams.Pipeline(cuda, launch, y, x, images=250, buffers=4) as pipe:
        streams.depth_first(pipe)      # or breadth_first, by_engine, one_after_another
        pipe.wait()                    # only now is y whole

`cuda` is a driver: PyCUDA's, or `simulated()`'s, which checks that everything is ordered that must
be and draws its order of work without a GPU. Pinned (page-locked) memory for x and y is the
caller's: `cuda.pagelocked_empty`. With pageable memory the results are right, too, but nothing
overlaps.

An issue order is a function of a Pipeline. It may use `pipe.h2d(k, stream)`, `pipe.kernel(k,
stream)` and `pipe.d2h(k, stream)`, each of which enqueues work for piece k and returns the event
recorded behind it, and `stream.wait_for_event(event)`. Piece k lives in the device's buffers k %
buffers: whatever order is chosen, piece k + buffers must come after it.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from helpers.launch import Modules, Program
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.simulator.findings import fold
from helpers.timing import Timing

ROWS = ("H2D", "kernel", "D2H")
FEWEST = 6  # samples of `time_return`

# (address of y, address of x, images, stream): enqueues a kernel.
Launch = Callable[[int, int, int, Any], None]


@dataclass(frozen=True)
class Span:
    """One piece of work in a timeline: its row of ROWS, the number of its stream (from 1 on), and the number of its piece.

    It came to the head of its stream at `ready`, was taken up at `start` and done at `end`, in ms
    since the first began; or in steps, where it comes from `Pipeline.order`.
    """

    row: str
    stream: int
    piece: int
    ready: float
    start: float
    end: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values: an entry of a record, and what plotting.timeline draws."""
        return asdict(self)


@dataclass
class _Work:
    """What was enqueued: two events around it (`before` only where times are wanted)."""

    row: str
    stream: int
    piece: int
    before: Any
    after: Any


class Pipeline:
    """Pieces of x on their way to pieces of y, over buffers on the device.

    cuda: a driver with PyCUDA's names. launch(y, x, images, stream) enqueues the kernel for
    `images` images on device addresses. y, x: host arrays in C order, the same number of images
    along their first axis. images: of a piece; the last piece may have fewer. buffers: how many
    pieces are on the device at a time. timed: whether `spans` is wanted, which takes two more
    events a piece and row.

    Raises ValueError for arrays that do not fit each other, and numbers below 1.
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
        """Return the pipeline's first `count` streams; they are made when they are first asked for."""
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
        return array[piece * self.images : (piece + 1) * self.images]

    def _enqueue(self, row: str, piece: int, stream: Any, call: Callable[[], None]) -> Any:
        key = row, piece
        work = self._events.get(key)
        if work is None:
            before, after = (
                (self._cuda.Event(), self._cuda.Event()) if self._timed else (None, self.event())
            )
            work = self._events[key] = _Work(row, 0, piece, before, after)
        work.stream = self._streams.index(stream) + 1
        if work.before is not None:
            work.before.record(stream)
        call()
        work.after.record(stream)
        self._issued.append(work)
        return work.after

    def wait(self) -> None:
        """Wait for everything in the pipeline's streams: y is whole then."""
        for stream in self._streams:
            stream.synchronize()

    def start(self) -> None:
        """Forget what was issued: `spans` and `order` tell of what comes after it."""
        self._issued.clear()

    def run(self, issue: Callable[[Pipeline], None]) -> None:
        """Issue everything and wait for it."""
        self.start()
        issue(self)
        self.wait()

    def spans(self) -> tuple[Span, ...]:
        """Return when each piece of work of the last run was done, in ms, by its events.

        An event in front of a work says when its stream came to it (`ready`) and not when a copy
        engine took it up. So `start` is where the work that ended before it in its row did, if that
        is later. Raises ValueError without ``timed=True``.
        """
        if not self._timed or not self._issued:
            raise ValueError(
                "this pipeline has no times: make it with timed=True, and run() something"
            )
        first = self._issued[0].before
        found = [
            Span(
                work.row,
                work.stream,
                work.piece,
                *2 * (first.time_till(work.before),),
                first.time_till(work.after),
            )
            for work in self._issued
        ]
        return tuple(_taken_up(found))

    def order(self, *, copy_engines: int = 2) -> tuple[Span, ...]:
        """Return the order of work of the last run in the simulator, in steps: an order, not a time.

        A step takes one work of each engine: the kernels', and a copy engine for each direction (or
        one for both). An engine takes its works in the order of their issue, each as soon as all
        that it waits for is done, by the simulator's account of streams and events. Every work
        counts as long as any other. Raises ValueError on a GPU, which keeps no such account.
        """
        if not self._issued or not all(hasattr(work.after, "_clock") for work in self._issued):
            raise ValueError(
                "run() something first, by the driver of streams.simulated(): "
                "only the simulator keeps account"
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
        found = zip(self._issued, steps, strict=True)
        return tuple(
            Span(work.row, work.stream, work.piece, step, step, step + 1) for work, step in found
        )

    def words(self, finding: Any) -> str:
        """Return the first sentence of a finding with the numbers of the pipeline's streams, from 1 on, as `Span` has them."""
        number = {str(stream.handle): str(k) for k, stream in enumerate(self._streams, 1)}
        text = re.sub(
            r"\bstream (\d+)(?: \(line \d+\))?",
            lambda m: f"stream {number.get(m[1], m[1])}",
            finding.message,
        )
        return fold(f"{finding.kind}: {text}", 4)

    def free(self) -> None:
        """Wait, and give the device's buffers back."""
        self.wait()
        for pair in self._at:
            for buffer in pair:
                buffer.free()
        self._at = []

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: Any) -> None:
        self.free()


def _require(y: np.ndarray, x: np.ndarray, images: int, buffers: int) -> None:
    if images < 1 or buffers < 1:
        raise ValueError(
            f"a piece of {images} images and {buffers} buffers: give at least 1 of both"
        )
    if len(x) != len(y) or not len(x):
        raise ValueError(f"x has {len(x)} images and y {len(y)}: give as many of both, at least 1")
    for name, array in (("y", y), ("x", x)):
        if not array.flags.c_contiguous:
            raise ValueError(
                f"{name} is not in C order: pieces of it are no runs of memory; "
                f"pass np.ascontiguousarray({name})"
            )


def _taken_up(spans: Sequence[Span]) -> Iterator[Span]:
    for span in spans:
        earlier = [other.end for other in spans if other.row == span.row and other.end < span.end]
        yield replace(span, start=max([span.ready, *earlier]))


def _past(clocks: Sequence[dict[int, int]], streams: Sequence[int]) -> list[list[int]]:
    """What each work comes after: those whose number in their stream is in its clock."""
    marks = [(stream, clock[stream]) for clock, stream in zip(clocks, streams, strict=True)]
    return [
        [a for a, (stream, number) in enumerate(marks) if a != b and clock.get(stream, 0) >= number]
        for b, clock in enumerate(clocks)
    ]


def _steps(engines: Sequence[str], past: Sequence[Sequence[int]]) -> list[int]:
    """The step of each work: engines take theirs in the order of issue, each when its past is done."""
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
        if step > 2 * len(engines):  # cannot be: an order of issue is never circular
            raise AssertionError("works wait for each other in a circle")
    return steps


# --------------------------------------------------------------------------------------------------
# Issue orders


def one_after_another(pipe: Pipeline) -> None:
    """One stream: each work waits for the one before it."""
    (stream,) = pipe.streams(1)
    for piece in range(pipe.pieces):
        for work in (pipe.h2d, pipe.kernel, pipe.d2h):
            work(piece, stream)


def depth_first(pipe: Pipeline) -> None:
    """A stream for each buffer; all works of a piece, then those of the next piece."""
    streams = pipe.streams(pipe.buffers)
    for piece in range(pipe.pieces):
        for work in (pipe.h2d, pipe.kernel, pipe.d2h):
            work(piece, streams[piece % pipe.buffers])


def breadth_first(pipe: Pipeline) -> None:
    """A stream for each buffer; of as many pieces all copies to the device, then all kernels, then all copies back."""
    streams = pipe.streams(pipe.buffers)
    for first in range(0, pipe.pieces, pipe.buffers):
        for work in (pipe.h2d, pipe.kernel, pipe.d2h):
            for piece in range(first, min(first + pipe.buffers, pipe.pieces)):
                work(piece, streams[piece % pipe.buffers])


def by_engine(pipe: Pipeline) -> None:
    """A stream for each row, with events between them; buffers may be more or fewer than three."""
    into, compute, out = pipe.streams(3)
    computed: dict[int, Any] = {}
    back: dict[int, Any] = {}
    for piece in range(pipe.pieces):
        before = piece - pipe.buffers  # the piece that had these buffers
        if before >= 0:
            into.wait_for_event(computed[before])  # its kernel has read its x
        compute.wait_for_event(pipe.h2d(piece, into))
        if before >= 0:
            compute.wait_for_event(back[before])  # its y has been copied
        computed[piece] = pipe.kernel(piece, compute)
        out.wait_for_event(computed[piece])
        back[piece] = pipe.d2h(piece, out)


# --------------------------------------------------------------------------------------------------
# What a pipeline launches, and on what


def launcher(
    kernel: str | conv2d.Conv2d,
    shape: ConvShape,
    filter: np.ndarray,
    cuda: Any = None,
    compiler: Any = None,
) -> Launch:
    """Return launch(y, x, images, stream) of one of the layer's kernels, compiled, its filter in constant memory.

    cuda, compiler: a driver and its compiler, such as `simulated` gives; PyCUDA's where they are
    left out. Raises conv2d.LayerError as `Conv2d.require` does, and for a kernel that reads its
    filter from global memory.
    """
    spec = conv2d.conv2d_named(kernel) if isinstance(kernel, str) else kernel
    spec.require(shape)
    spec = spec.fitted(shape)
    if spec.filter_in != "constant" or len(spec.sources) != 1:
        instead = "take conv2d_register_tiled, for instance"
        raise conv2d.LayerError(
            f"{spec.name} does not keep its filter in constant memory: {instead}"
        )
    modules = Modules(cuda, compiler)  # one, so that pieces of every size share the constant memory

    @functools.cache
    def program(images: int) -> Program:
        return Program(spec.plan(replace(shape, B=images)), modules)

    program(shape.B).upload({"filter": filter})

    def launch(y: int, x: int, images: int, stream: Any) -> None:
        program(images).launch({"y": y, "x": x}, stream)

    return launch


@contextlib.contextmanager
def simulated() -> Iterator[SimpleNamespace]:
    """Give the simulator's driver, its compiler and a list of findings, filled at the end, on any machine, GPU or not.

        with streams.simulated() as sim:
            launch = streams.launcher(
                "conv2d_register_tiled", shape, filter, sim.cuda, sim.compiler
            )
            ...
        print(sim.findings)

    What it finds is kept and not shown as warnings. What was found before is dropped.
    """
    from helpers.simulator import pycuda_api

    # `autoprimaryctx` makes a context.
    from helpers.simulator.pycuda_api import autoprimaryctx, compiler, driver  # noqa: F401

    driver.Context.synchronize()
    pycuda_api.findings(clear=True)
    given = SimpleNamespace(cuda=driver, compiler=compiler, findings=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycuda_api.SimulatorWarning)
        try:
            yield given
        finally:
            given.findings.extend(pycuda_api.findings(clear=True))


def time_return(
    call: Callable[[], Any],
    wait: Callable[[], Any],
    *,
    name: str,
    device: str,
    budget_s: float = 0.3,
) -> Timing:
    """Time how long `call()` takes to *return*, by the host's clock, which says nothing of when its work is done.

    wait() is called before each sample and after the last one, untimed, so that no queue is full.
    It is what a clock shows that does not wait: no time of a kernel or a copy.
    """
    samples: list[float] = []
    call()
    end = time.perf_counter() + budget_s
    while len(samples) < FEWEST or (time.perf_counter() < end and len(samples) < 100):
        wait()
        began = time.perf_counter()
        call()
        samples.append(1e3 * (time.perf_counter() - began))
    wait()
    return Timing.of(name, samples, what="until the call returns", device=device)


def time_elsewhere(
    launch: Callable[[Any], Any], cuda: Any, *, name: str, device: str, budget_s: float = 0.3
) -> Timing:
    """Time `launch(stream)` by two events on *another* stream, which wait for nothing: no time of a kernel or a copy, either."""
    stream, other, start, end = cuda.Stream(), cuda.Stream(), cuda.Event(), cuda.Event()
    samples: list[float] = []
    finish = time.perf_counter() + budget_s
    while len(samples) <= FEWEST or (time.perf_counter() < finish and len(samples) < 100):
        start.record(other)
        launch(stream)
        end.record(other)
        stream.synchronize()
        end.synchronize()
        samples.append(start.time_till(end))
    return Timing.of(name, samples[1:], what="events on another stream", device=device)
