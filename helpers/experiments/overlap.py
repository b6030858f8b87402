"""Copies and kernels at the same time: measured times, and their figures.

`measure` times issue orders, copies alone, and one launch by four clocks on the selected GPU
(record "113_streams"). The tables and figures read these. `issue_orders` shows the orders without
a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, device, plotting, tables
from helpers.bench import reports, timing
from helpers.bench.counts import NOT_YET
from helpers.bench.times import NOT_HERE
from helpers.experiments.issue_orders import KERNEL, LAYERS, Issue
from helpers.limits import ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d, streams
from helpers.quantities import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

Row = Mapping[str, Any]

BATCH = 10_000
WIDE = 20  # an axis is logarithmic where its largest value is more than this times the smallest
PIECE = 250  # images of a piece where the number of streams is swept
PIECES = (100, 250, 500, 1_000, 2_500, 5_000)  # images of a piece, swept
TIMELINE_PIECE = 1_000  # images of a piece in the timelines
STREAMS, BUFFERS = (1, 2, 3, 4, 6, 10), 4
WAYS = ("H2D", "D2H")
CLOCKS = (
    "host clock, no wait",
    "events on another stream",
    "host clock, waits",
    "events on its stream",
)
NO_WAIT, _, _, TRUE = CLOCKS
BUDGET_S = 0.3  # for the samples of a clock
FEWEST = 6  # samples at least of `time_return` and of `time_elsewhere`, which drops its first one


# --------------------------------------------------------------------------------------------------
# Measuring


def measure() -> Iterator[Row]:
    """Yield the rows of the record "113_streams", measured on the selected GPU.

    Series by issue order (one_after_another, depth_first, breadth_first, by_engine): host to host,
    by memory, images (of a piece) and buffers. "copy": one copy, by way, memory and until. "clock":
    one launch, by how. "span": work in a timeline, without a timing.
    """
    import pycuda.driver as cuda

    largest = conv2d.shape_of(LAYERS[0], BATCH)  # 1.3 GB; layer 2 needs less
    pinned = [
        cuda.pagelocked_empty((int(np.prod(size)),), np.float32)
        for size in (largest.y_shape, largest.x_shape)
    ]
    for layer in LAYERS:
        yield from (
            {**row, "layer": layer}
            for row in _time_layer(layer, conv2d.shape_of(layer, BATCH), pinned)
        )
    for array in pinned:
        array.base.free()


def _time_layer(layer: str, shape: ConvShape, pinned: Sequence[np.ndarray]) -> Iterator[Row]:
    x, filter = conv2d.inputs(layer, BATCH)
    hosts = {"pageable": [np.empty(shape.y_shape, np.float32), x]}
    hosts["pinned"] = [
        array[: like.size].reshape(like.shape)
        for array, like in zip(pinned, hosts["pageable"], strict=True)
    ]
    hosts["pinned"][1][:] = x
    launch = streams.launcher(KERNEL, shape, filter)
    with conv2d.Problem(shape, x, filter) as problem:
        for memory, (y_there, x_there) in hosts.items():
            timed = [
                _end_to_end(problem, launch, y_there, x_there, *one)
                for one in _configurations(layer, memory)
            ]
            verdict = timed[0][1]
            copies = _copies(problem, y_there, x_there, verdict)
            yield from ({**row, "memory": memory} for row in (*(row for row, _ in timed), *copies))
        for how, timed_by in _clocks(problem, verdict):
            yield {"series": "clock", "how": how, "kernel": KERNEL, "timing": timed_by}
        for issue in (streams.depth_first, streams.by_engine):
            y_pinned, x_pinned = hosts["pinned"]
            yield from _timeline(problem, launch, y_pinned, x_pinned, issue)


def _configurations(layer: str, memory: str) -> list[tuple[Issue, int, int]]:
    """Return the issue orders to time, with the images of a piece and the number of buffers."""
    plain = (streams.one_after_another, BATCH, 1)
    if memory == "pageable":
        return [plain]
    if layer != LAYERS[0]:
        return [plain, (streams.by_engine, PIECE, BUFFERS)]
    by_engine = [(streams.by_engine, images, BUFFERS) for images in PIECES]
    orders = (streams.depth_first, streams.breadth_first)
    return [plain, *by_engine, *((issue, PIECE, count) for issue in orders for count in STREAMS)]


def _checked(
    problem: conv2d.Problem, y: np.ndarray, call: Callable[[], Any], name: str
) -> checking.Verdict:
    """Fill y on the host with NaN, call, and check every output of y on the device."""
    import pycuda.driver as cuda

    problem.poison()
    cuda.memcpy_dtoh(y, problem.y)
    call()
    cuda.memcpy_htod(problem.y, y)
    return problem.check(name)


def _end_to_end(
    problem: conv2d.Problem,
    launch: streams.Launch,
    y: np.ndarray,
    x: np.ndarray,
    issue: Issue,
    images: int,
    buffers: int,
) -> tuple[Row, checking.Verdict]:
    import pycuda.driver as cuda

    name = issue.__name__
    with streams.Pipeline(cuda, launch, y, x, images=images, buffers=buffers) as pipe:
        verdict = _checked(problem, y, lambda: pipe.run(issue), name)
        timed = timing.time_end_to_end(
            lambda: pipe.run(issue), verdict=verdict, name=name, budget_s=0.2
        )
    where = {"kernel": KERNEL, "images": images, "buffers": buffers}
    return {"series": name, **where, "timing": timed}, verdict


def time_order(issue: Issue) -> Row:
    """Return the row of a student's order that has passed: layer 1, on the selected GPU.

    It has pinned memory, pieces of PIECE images and as many buffers as `by_engine` in the record.
    """
    import pycuda.driver as cuda

    shape = conv2d.shape_of(LAYERS[0], BATCH)
    x, filter = conv2d.inputs(LAYERS[0], BATCH)
    y_there, x_there = (
        cuda.pagelocked_empty(size, np.float32) for size in (shape.y_shape, shape.x_shape)
    )
    x_there[:] = x
    launch = streams.launcher(KERNEL, shape, filter)
    with conv2d.Problem(shape, x, filter) as problem:
        row, _ = _end_to_end(problem, launch, y_there, x_there, issue, PIECE, BUFFERS)
    for array in (y_there, x_there):
        array.base.free()
    timed = row["timing"]
    return {**row, "median_ms": timed.median, "low_ms": timed.low, "high_ms": timed.high}


def yours(issue: Issue, exercise: Any) -> Row | str:
    """Return the row of a student's order on a GPU, else why there is none.

    exercise: the one that the order must have passed.
    """
    if not (exercise.latest and exercise.latest.passed):
        return NOT_YET
    return time_order(issue) if device.select().kind == "gpu" else f"yours: {NOT_HERE}"


def _timeline(
    problem: conv2d.Problem, launch: streams.Launch, y: np.ndarray, x: np.ndarray, issue: Issue
) -> Iterator[Row]:
    import pycuda.driver as cuda

    with streams.Pipeline(
        cuda, launch, y, x, images=TIMELINE_PIECE, buffers=BUFFERS, timed=True
    ) as pipe:
        _checked(problem, y, lambda: pipe.run(issue), issue.__name__)
        pipe.run(issue)
        for span in pipe.spans():
            yield {"series": "span", "run": issue.__name__, **span.to_dict(), "timing": None}


def _copies(
    problem: conv2d.Problem, y: np.ndarray, x: np.ndarray, verdict: checking.Verdict
) -> Iterator[dict[str, Any]]:
    """Time one copy each way twice: until the call returns, and until the copy is done."""
    import pycuda.driver as cuda

    gpu, stream = device.select().name, cuda.Stream()
    calls: Mapping[str, tuple[Callable[[], Any], int]] = {
        "H2D": (lambda: cuda.memcpy_htod_async(problem.x, x, stream), x.nbytes),
        "D2H": (lambda: cuda.memcpy_dtoh_async(y, problem.y, stream), y.nbytes),
    }
    for way, (call, size) in calls.items():
        row = {"series": "copy", "way": way, "bytes": size}
        returned = time_return(call, stream.synchronize, name=way, device=gpu)
        yield {**row, "until": "returned", "timing": returned}
        done = timing.time_end_to_end(call, verdict=verdict, name=way, budget_s=0.3)
        yield {**row, "until": "done", "timing": done}


def _clocks(
    problem: conv2d.Problem, verdict: checking.Verdict
) -> Iterator[tuple[str, timing.Timing]]:
    """Time the same launch by each of CLOCKS; the first two do not wait for it."""
    import pycuda.driver as cuda

    run, stream, gpu = conv2d.compile(KERNEL, problem.shape), cuda.Stream(), device.select().name

    def launch(on: Any) -> None:
        run.launch(problem.y, problem.x, problem.filter, on)

    def call() -> None:
        launch(stream)

    no_wait, elsewhere, waits, true = CLOCKS
    yield no_wait, time_return(call, stream.synchronize, name="no wait", device=gpu)
    yield elsewhere, time_elsewhere(launch, cuda, name="elsewhere", device=gpu)
    yield waits, timing.time_end_to_end(call, verdict=verdict, name="waits", budget_s=0.3)
    yield true, timing.time_gpu(launch, verdict=verdict, name=KERNEL, budget_s=0.3)


def time_return(
    call: Callable[[], Any],
    wait: Callable[[], Any],
    *,
    name: str,
    device: str,
    budget_s: float = BUDGET_S,
) -> timing.Timing:
    """Time how long `call()` takes to *return*, by the host's clock.

    This is the illusion of a clock that does not wait: it is no time of a kernel or a copy, because
    their work may not be done yet. wait() runs before each sample and after the last one, untimed,
    so that no queue is full.
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
    return timing.Timing.of(name, samples, what="until the call returns", device=device)


def time_elsewhere(
    launch: Callable[[Any], Any], cuda: Any, *, name: str, device: str
) -> timing.Timing:
    """Time `launch(stream)` by two events on *another* stream.

    The events do not wait for the launch, so that this is no time of a kernel or a copy, either.
    """
    stream, other, start, end = cuda.Stream(), cuda.Stream(), cuda.Event(), cuda.Event()
    samples: list[float] = []
    finish = time.perf_counter() + BUDGET_S
    while len(samples) <= FEWEST or (time.perf_counter() < finish and len(samples) < 100):
        start.record(other)
        launch(stream)
        end.record(other)
        stream.synchronize()
        end.synchronize()
        samples.append(start.time_till(end))
    return timing.Timing.of(name, samples[1:], what="events on another stream", device=device)


# --------------------------------------------------------------------------------------------------
# Reading the record


def copy_row(
    record: Record, way: str, memory: str = "pinned", layer: str = LAYERS[0], until: str = "done"
) -> Row:
    """Return the row of one copy of the whole batch, by default until it was done."""
    return record.one(series="copy", layer=layer, memory=memory, way=way, until=until)


def bound(record: Record, layer: str = LAYERS[0]) -> Row:
    """Return the row of the slower one of the two pinned copies: nothing can be faster."""
    return max((copy_row(record, way, layer=layer) for way in WAYS), key=_median)


def clock(record: Record, how: str, layer: str = LAYERS[0]) -> Row:
    """Return the time of one launch on the whole batch by one of CLOCKS."""
    return record.one(series="clock", layer=layer, how=how)


def end_to_end(
    record: Record, series: str, memory: str = "pinned", layer: str = LAYERS[0]
) -> list[Row]:
    """Return the rows of an issue order, host memory to host memory, the fastest first.

    Raises KeyError where there is none.
    """
    return sorted(record.some(series=series, layer=layer, memory=memory), key=_median)


def fewest_streams(record: Record) -> float:
    """Return how many streams keep the slowest stage of layer 1 busy: the sum of all stages over
    the slowest.

    While one stream's work is in the slowest stage, the other streams must get through the rest.
    """
    stages = [_median(copy_row(record, way)) for way in WAYS]
    stages.append(_median(clock(record, TRUE)))
    return sum(stages) / max(stages)


def _median(row: Row) -> float:
    return row["median_ms"]


def spans(record: Record, run: str, layer: str = LAYERS[0]) -> list[Row]:
    """Return the spans of the timeline of an issue order, in the order in which they were issued.

    Every span is a dict as `streams.Span.to_dict` returns it, and more. Raises KeyError where there
    is none.
    """
    return list(record.some(series="span", layer=layer, run=run))


def order_of(record: Record, run: str, row: str) -> list[int]:
    """Return the numbers of the pieces in the order in which they left a row of the timeline."""
    of_row = [span for span in spans(record, run) if span["row"] == row]
    return [span["piece"] for span in sorted(of_row, key=lambda span: span["end"])]


def copies_back(record: Record, run: str, layer: str = LAYERS[0]) -> tuple[float, float]:
    """Return the ms of a copy back while copies in run all the time, and while none runs.

    Both are the ends of a straight line through the lengths of all copies back, over the share of
    their time in which a copy in ran.
    """
    of_run = spans(record, run, layer)
    into = [(span["start"], span["end"]) for span in of_run if span["row"] == "H2D"]
    back = [(span["start"], span["end"]) for span in of_run if span["row"] == "D2H"]
    shares = [
        sum(max(0.0, min(end, last) - max(start, first)) for start, end in into) / (last - first)
        for first, last in back
    ]
    slope, alone = np.polyfit(shares, [last - first for first, last in back], 1)
    return float(alone + slope), float(alone)


def account(record: Record, layer: str = LAYERS[0]) -> str:
    """Return a table of what the fastest `by_engine` of a layer consists of.

    The copy back alone; the copy in and the kernel of the first piece, before which nothing can go
    back; and what copies back lose while copies in run at the same time.
    """
    fastest = end_to_end(record, "by_engine", layer=layer)[0]
    share = fastest["images"] / BATCH
    copy_in, back = (_median(copy_row(record, way, layer=layer)) for way in WAYS)
    first = share * (copy_in + _median(clock(record, TRUE, layer)))
    both, alone = copies_back(record, "by_engine", layer)
    lost = (1 - share) * copy_in * (1 - alone / both)
    rows = [
        ("all copies back, alone", back),
        (f"first piece of {fastest['images']} images: copy in and kernel", first),
        ("slower copies back, while copies in run", lost),
        ("sum", back + first + lost),
        ("measured, by_engine", _median(fastest)),
    ]
    return tables.text((layer, "ms"), [(name, f"{ms:.3f}") for name, ms in rows])


def copy_table(record: Record) -> str:
    """Return when the call of a copy of layer 1 returns, when the copy is done, and its speed."""
    rows = []
    for memory in ("pageable", "pinned"):
        for way in WAYS:
            returned, done = (
                copy_row(record, way, memory, until=until) for until in ("returned", "done")
            )
            megabytes = done["bytes"] / 1e6
            cells = megabytes, _median(returned), _median(done), megabytes / _median(done)
            formats = "{:,.0f}", "{:.4f}", "{:.2f}", "{:.1f}"
            rows.append(
                (
                    f"{memory}, {way}",
                    *(text.format(one) for text, one in zip(formats, cells, strict=True)),
                )
            )
    return tables.text((LAYERS[0], "MB", "call returns\n(ms)", "done (ms)", "GB/s"), rows)


def clock_table(record: Record) -> str:
    """Return what each clock shows of layer 1, and the speed of memory that would follow from it.
    """
    shape = conv2d.shape_of(LAYERS[0], BATCH)
    moved = 4 * sum(int(np.prod(size)) for size in (shape.x_shape, shape.y_shape))
    rows = []
    for how in CLOCKS:
        ms = _median(clock(record, how))
        rows.append((how, f"{ms:.4f}", f"{moved / 1e9 / ms:,.1f}"))
    return tables.text((f"{KERNEL}, {LAYERS[0]}", "ms", "TB/s that would follow"), rows)


def reported_table(record: Record) -> str:
    """Return the course reports' op times with and without streams, and ours."""
    rows: list[tuple[str, ...]] = []
    for report, before in (("A", "baseline"), ("B", "baseline"), ("C", "coalesced")):
        for row in (reports.kernel(report, before), reports.kernel(report, "streams")):
            times = f"{row['op1_ms']:.4f}", f"{row['op2_ms']:.4f}"
            rows.append(
                (f"report {report}, {row['optimization']}", *times, f"{row['total_s']:.1f} s")
            )
    for words, how in (("a clock that does not wait", NO_WAIT), ("events on its stream", TRUE)):
        ours = (f"{_median(clock(record, how, layer)):.4f}" for layer in LAYERS)
        rows.append((f"ours, {words}", *ours, ""))
    for series, memory in (("one_after_another", "pageable"), ("by_engine", "pinned")):
        whole = (end_to_end(record, series, memory, layer)[0] for layer in LAYERS)
        cells = (f"{_median(row):.2f}" for row in whole)
        rows.append((f"ours, host to host, {series}, {memory}", *cells, ""))
    head = (f"{BATCH:,} images", "layer 1 (ms)", "layer 2 (ms)", "whole program")
    return tables.text(head, rows)


# --------------------------------------------------------------------------------------------------
# Figures of the record


def clock_figure(record: Record) -> Figure:
    """Draw the time of one launch of layer 1 by the four clocks."""
    rows = [clock(record, how) for how in CLOCKS]
    least, true = min(map(_median, rows)), _median(clock(record, TRUE))
    figure, ax = styles.subplots(9, 2.8)
    title = (
        f'"{styles.duration_text(least)}" for a kernel of {styles.duration_text(true)}: '
        "that clock did not wait"
    )
    plotting.times(ax, rows, by="how", emphasize=TRUE, title=title)
    plotting.caption(ax, record)
    return figure


def timeline_figure(record: Record) -> Figure:
    """Draw the measured timelines of layer 1, with the order in which the copies back ended."""
    figure, axes = styles.subplots(12, 6, 2, sharex=True)
    longest = 0.0
    for ax, run in zip(axes, ("depth_first", "by_engine"), strict=True):
        drawn = spans(record, run)
        end = max(span["end"] for span in drawn)
        busy = sum(span["end"] - span["start"] for span in drawn if span["row"] == "D2H")
        order = ", ".join(map(str, order_of(record, run, "D2H")))
        title = (
            f"{run}: copies back in the order {order}, "
            f"busy for {percent(busy / end)} of {end:.1f} ms"
        )
        plotting.timeline(ax, drawn, title=title)
        longest = max(longest, end)
    axes[1].set_xlim(-0.01 * longest, 1.01 * longest)  # of both
    plotting.caption(axes[1], record)
    return figure


def sweep_figure(record: Record) -> Figure:
    """Draw the time of layer 1 host to host over the streams, and over the images of a piece."""
    figure, axes = styles.subplots(12, 4.2, columns=2, sharey=True)
    by_streams = {name: end_to_end(record, name) for name in ("depth_first", "breadth_first")}
    _draw_sweep(axes[0], record, by_streams, "buffers", "streams")
    by_images = {"by_engine": end_to_end(record, "by_engine")}
    _draw_sweep(axes[1], record, by_images, "images", "images in a piece")
    drawn = (*by_streams.values(), *by_images.values())
    slowest = max(row["high_ms"] for rows in drawn for row in rows)
    axes[0].set_ylim(0, 1.08 * slowest)
    axes[0].set_ylabel(f"{BATCH:,} images, host to host (ms)")
    plotting.caption(axes[0], record)
    return figure


def _draw_sweep(
    ax: Axes, record: Record, series: Mapping[str, Sequence[Row]], column: str, xlabel: str
) -> None:
    """Draw the times over the values of a column; a wide range gets a logarithmic axis."""
    limit = bound(record)
    values = sorted({row[column] for rows in series.values() for row in rows})
    for number, (name, rows) in enumerate(series.items()):
        ordered = sorted(rows, key=lambda row: row[column])
        middle, around = styles.spread(map(styles.interval, ordered))
        look = {**styles.series(number), "linestyle": styles.LINES[number], "label": name}
        look["markersize"] = (8, 5)[number]  # The second series lies on the first one.
        at = [row[column] for row in ordered]
        ax.errorbar(at, middle, around, capsize=3, **look)
    ax.axhline(
        _median(limit), color=styles.INK, linestyle=":", label=f"{limit['way']} alone, pinned"
    )
    best = min((row for rows in series.values() for row in rows), key=_median)
    ratio = _median(best) / _median(limit)
    plotting.style(ax, f"Shortest with {best[column]:,} {xlabel}: {ratio:.2f} times the copy alone")
    is_wide = values[-1] > WIDE * values[0]
    ax.set_xscale("log" if is_wide else "linear")
    styles.plain_ticks(ax.xaxis, values)
    ax.set_xlabel(f"{xlabel} (a logarithmic axis)" if is_wide else xlabel)
    ax.legend(frameon=False, fontsize="small", loc="lower right")


def end_to_end_figure(
    record: Record, own: Row | str | None = None, layers: Sequence[str] = LAYERS
) -> Figure:
    """Draw bars from zero: layers, host memory to host memory, beside the copies alone.

    own: what `yours` returned of a student's order, drawn with the first layer.
    """
    figure, column = styles.subplots(10, 2.8 * len(layers), len(layers), sharex=True, squeeze=False)
    axes = column[:, 0]
    for ax, layer in zip(axes, layers, strict=True):
        ways: dict[str, Row | str] = {
            "one_after_another, pageable": end_to_end(
                record, "one_after_another", "pageable", layer
            )[0],
            "one_after_another, pinned": end_to_end(record, "one_after_another", layer=layer)[0],
            "by_engine, pinned": end_to_end(record, "by_engine", layer=layer)[0],
            **{f"{way} alone, pinned": copy_row(record, way, layer=layer) for way in WAYS},
        }
        plain, best = (
            _median(end_to_end(record, name, memory, layer)[0])
            for name, memory in (("one_after_another", "pageable"), ("by_engine", "pinned"))
        )
        ratio = best / _median(bound(record, layer))
        title = (
            f"{layer}: pinned and overlapped, {plain / best:.1f} times as fast as neither; "
            f"{ratio:.2f} times the slower copy"
        )
        if layer == layers[0] and own is not None:
            ways[own if isinstance(own, str) else "yours"] = own
        for y, (name, row) in enumerate(ways.items()):
            if isinstance(row, str):
                continue  # a name and no bar
            chosen = name == "by_engine, pinned"
            kind = "yours" if row is own else "aside" if "alone" in name else "ours"
            styles.bar(ax, y, _median(row), kind)
            styles.whisker(ax, y, *styles.interval(row))
            text = styles.duration_text(_median(row))
            styles.beside(ax, row["high_ms"], y, text, fontweight="bold" if chosen else "normal")
        plotting.style(ax, title)
        styles.name_bars(ax, list(ways))
        ax.set_xlabel("time (ms)")
    axes[-1].set_xlim(left=0)  # of all pictures
    plotting.caption(axes[-1], record)
    return figure
