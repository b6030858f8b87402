"""Exercises whose answer is not a CUDA kernel: labs 01 (C++), 14 (a model of costs) and 17 (an order of streams).

Each is a Task: what the box is asked to do with the student's text, and how what it made is judged outside. The box
returns numbers, or a list of what was enqueued; whether they are right is found out here, with what the box never had.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import reference
from helpers.course import gate, wire

if TYPE_CHECKING:
    from helpers.course.box import Ended
    from helpers.course.judge import Benches

_MOST = 2 << 20  # bytes of an answer: numbers and names


@dataclass(frozen=True)
class Task:
    """begins: the first words of the cell; function: what the text must define; driver: how the box calls it (python_job.py);
    calls: what it is called with, of a seed; judge: of what came back, (status, message); text: the part of a cell that counts."""

    name: str
    lab: str
    title: str
    begins: str
    function: str
    driver: str
    calls: Callable[[int], list[Any]]
    judge: Callable[[Any, int], tuple[str, str]]
    text: Callable[[str], str] = str
    points: float = 10


def judged(task: Task, text: str, seed: int, benches: Benches) -> tuple[dict[str, Any], Ended | None]:
    """Grade an answer: plain values as judge.plain makes them, and how the box ended."""
    from helpers.course.judge import SENTENCES, plain

    try:
        gate.check(text)
        text = task.text(text)
    except gate.Refused as refusal:
        return plain(task.points, "refused", str(refusal)), None
    job = wire.pack({"text": text, "function": task.function, "driver": task.driver, "calls": task.calls(seed)})
    with benches.of("python") as bench:
        ended = bench.run(job, _MOST)
    if ended.status != "done":
        return plain(task.points, ended.status, SENTENCES[ended.status].format(ended.said)), ended
    try:
        notes, _ = wire.content(ended.answer)
        if "made" not in notes:
            said = str(notes.get("said", "nothing came back"))[:5_000]
            status = "compile" if notes.get("compile") else "wrong"
            return plain(task.points, status, f"FAIL {task.name}: {said}"), ended
        status, message = task.judge(notes["made"], seed)
    except (wire.MessageError, KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        return plain(task.points, "crash", f"the box gave no answer that can be read: {type(error).__name__}: {error}"[:500]), ended
    words = "PASS" if status == "pass" else "FAIL"
    points = task.points if status == "pass" else 0.0
    return plain(task.points, status, f"{words} {task.name}: {message}", points), ended


# --------------------------------------------------------------------------------------------------------------------
# Lab 01: C++ with the loops swapped


def _literal(cell: str) -> str:
    """The text that a cell assigns to `mine`; the cell itself is read, not run."""
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise gate.Refused(f"the cell is no Python: {type(error).__name__}: {error}") from None
    for node in reversed(tree.body):
        names = [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []
        if "mine" in names and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            gate.check_includes(node.value.value)
            return node.value.value
    raise gate.Refused('the cell sets no text: write your C++ as mine = r""" ... """')


def _conv1d_cases(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    for n, width in ((1, 1), (4, 31), (1_000, 3), (int(rng.integers(2_000, 4_000)), 31), (int(rng.integers(5, 20)), 7)):
        yield tuple(rng.integers(1, 10, size).astype(np.float32) * rng.choice((-1, 1), size).astype(np.float32) for size in (n, width))


def _judge_conv1d(made: Any, seed: int) -> tuple[str, str]:
    values = 0
    for (N, filter), got in zip(_conv1d_cases(seed), made, strict=True):
        where = f"{N.size:,} cells, {filter.size} weights"
        if isinstance(got, str):
            return "wrong", f"{where}: {got[:300]}"
        want, P = reference.conv1d(N, filter), np.asarray(got, np.float64)
        if P.shape != want.shape:
            raise ValueError("an array of another shape")
        bad = np.flatnonzero(~(want == P))
        if bad.size:
            k = int(bad[0])
            return "wrong", f"{where}: {bad.size:,} of {P.size:,} outputs are wrong; the first is P[{k}]: {P[k]:g}, expected {want[k]:g}"
        values += P.size
    return "pass", f"5 sizes, {values:,} values, all equal to the reference"


# --------------------------------------------------------------------------------------------------------------------
# Lab 14: a model of costs

WIDTHS = (8, 10, 12, 14, 16, 17, 18, 20, 24, 28, 32)
LAYERS = ("layer 1", "layer 2")
_MOST_LOST = 0.25
_COUNTERS = ("requests", "lanes", "bytes_used", "sectors", "wavefronts", "conflicts")


@cache
def _widths() -> list[list[Any]]:
    """Shape, width and counters for each call of `cost`, as plain values."""
    from helpers.problems import conv2d

    calls = []
    for name in LAYERS:
        x, filter = conv2d.inputs(name, 1)
        shape = conv2d.shape_of(name, 1)
        plain = {n: getattr(shape, n) for n in (*"BCMHWK", "stride", "out_h", "out_w", "outputs")}
        for width in WIDTHS:
            _, (seen,) = conv2d.simulate(conv2d.conv2d_named("conv2d_tiled").with_tile(width), x[:1], filter)
            values = {"blocks": seen.blocks, "blocks_run": seen.blocks_run, "grid": seen.grid, "block": seen.block, **seen.counters()}
            arrays = [None, *dict.fromkeys(line.array for line in seen.lines)]
            totals = [
                [[counter, space, access, array], seen.total(counter, space, access, array)]
                for counter in _COUNTERS
                for space in ("global", "shared", "constant", "local")
                for access in ("load", "store")
                for array in arrays
            ]
            values = {k: v for k, v in values.items() if isinstance(v, int | float | tuple)}
            calls.append([plain, width, {**values, "totals": [t for t in totals if t[1]]}])
    return json.loads(json.dumps(calls, default=int))


@cache
def _recorded() -> dict[tuple[str, int], float]:
    from helpers import results

    rows = results.load(results.MEASURED / "14_tiles.json").rows()
    return {(row["layer"], row["tile_width"]): row["median_ms"] for row in rows if row["series"] == "conv2d_tiled"}


def _judge_cost(made: Any, seed: int) -> tuple[str, str]:
    costs = iter([float(value) for value in made])
    ms, chosen = _recorded(), {}
    for name in LAYERS:
        of = {width: next(costs) for width in WIDTHS}
        if not all(np.isfinite(value) for value in of.values()):
            return "wrong", f"{name}: a cost is not a finite number"
        if len(set(of.values())) == 1:
            return "wrong", f"{name}: your model gives every width the same cost"
        chosen[name] = min(WIDTHS, key=of.__getitem__)
        lost = ms[name, chosen[name]] / min(ms[name, width] for width in WIDTHS) - 1
        if lost > _MOST_LOST:
            return "wrong", f"{name}: your model takes {chosen[name]}, and loses {lost:.0%}; the budget is {_MOST_LOST:.0%}"
    if ms["layer 2", chosen["layer 2"]] >= ms["layer 2", 16]:
        return "wrong", f"layer 2: your model takes {chosen['layer 2']}, which is no faster than 16"
    return "pass", "chosen: " + ", ".join(f"{name} {width}" for name, width in chosen.items())


# --------------------------------------------------------------------------------------------------------------------
# Lab 17: an order of streams

_IMAGES = 6


def _orders(seed: int) -> list[list[int]]:
    return [[_IMAGES, buffers] for buffers in (3, 2, 1)]


def _judge_orders(made: Any, seed: int) -> tuple[str, str]:
    if len(made) != 3:
        raise ValueError("not one order for each number of buffers")
    for (_, buffers), log in zip(_orders(seed), made, strict=True):
        order, found, right = _replayed(log, buffers)
        if found:
            return "finding", f"{buffers} buffers, {len(found)} findings; the first\n{found[0]}"
        if not right:
            return "wrong", f"{buffers} buffers: the result is wrong"
        steps = max(span.end for span in order)
        if buffers > 1 and steps > _IMAGES + 2:
            return "budget", f"{buffers} buffers: {steps:g} steps; the budget is {_IMAGES + 2}"
    return "pass", "the right result and no finding with 3, 2 and 1 buffers; all copies overlap"


def _replayed(log: list[list[Any]], buffers: int) -> tuple[Any, list[str], bool]:
    """Run a student's log of calls on the simulator's driver: order, findings in words, whether the result is right."""
    from helpers.experiments import streams
    from helpers.problems import conv2d

    small, filter = conv2d.inputs("layer 1", _IMAGES)
    with streams.simulated() as sim:
        x = sim.cuda.pagelocked_empty(small.shape, np.float32)
        y = sim.cuda.pagelocked_empty(conv2d.shape_of("layer 1", _IMAGES).y_shape, np.float32)
        x[:], y[:] = small, np.nan
        launch = streams.launcher("conv2d_register_tiled", conv2d.shape_of("layer 1", 1), filter, sim.cuda, sim.compiler)
        with streams.Pipeline(sim.cuda, launch, y, x, images=1, buffers=buffers) as pipe:
            pipe.run(lambda pipe: _issue(pipe, log))
            order = pipe.order()
            words = pipe.words
        right = bool(np.allclose(np.array(y), reference.conv2d(small, filter), rtol=1e-4, atol=1e-3))
    return order, [words(finding) for finding in sim.findings], right


def _issue(pipe: Any, log: list[list[Any]]) -> None:
    streams: tuple[Any, ...] = ()
    events: dict[int, Any] = {}
    for what, *rest in log[:10_000]:
        if what == "streams":
            streams = pipe.streams(min(max(int(rest[0]), len(streams)), 64))
        elif what in ("h2d", "kernel", "d2h"):
            piece, stream, event = map(int, rest)
            events[event] = getattr(pipe, what)(piece, streams[stream])
        elif what == "wait":
            streams[int(rest[0])].wait_for_event(events[int(rest[1])])
        elif what == "record":
            events[int(rest[1])] = pipe.event().record(streams[int(rest[0])])
        elif what == "host waits":
            pipe.wait()
        else:
            raise ValueError(f"{what!r} is no call of a pipeline")


TASKS = {
    task.name: task
    for task in (
        Task(
            "conv1d_swapped", "01_cpu_baselines", "Swap the loops", "def judge(text):", "conv1d", "cpp",
            lambda seed: [[N.tolist(), filter.tolist()] for N, filter in _conv1d_cases(seed)], _judge_conv1d, _literal,
        ),
        Task(
            "tile_cost", "14_conv2d_sweep", "A model that chooses the width of a tile", "def cost(", "cost", "numbers",
            lambda seed: _widths(), _judge_cost,
        ),
        Task(
            "streams_mend", "17_streams", "Add the missing waits", "def mend(", "mend", "orders", _orders, _judge_orders,
        ),
    )
}  # fmt: skip


def gpu_time(exercise: str, text: str, seed: int) -> float | None:
    """Time of a kernel that has passed, on this machine's GPU, in ms; None where it cannot be timed."""
    from helpers import exercises, kernel_cells

    found = exercises.find(exercise)
    if found.timed is None:
        return None
    from helpers import device, timing

    device.select()
    import pycuda.driver as cuda
    from pycuda.compiler import SourceModule

    case, cell = found.timed(np.random.default_rng(seed)), kernel_cells.parse(text)
    module = SourceModule(cell.source, options=list(cell.options), no_extern_c=True)
    function = module.get_function(cell.kernel)
    there = {name: cuda.to_device(np.ascontiguousarray(a)) for name, a in case.arrays.items()}

    def launch(stream: Any = None) -> None:
        for step in case.steps:
            given = [there[a] if isinstance(a, str) else a for a in step.arguments]
            function(*given, block=step.block, grid=step.grid, stream=stream)

    return timing.time_gpu(launch, verdict=True, name=cell.name).median


__all__ = ["TASKS", "Task", "gpu_time", "judged"]
