"""CPU programs of lab 400: convolutions and a small network, timed, and pictures of the times.

    here = cpu_programs.here()                       # the same programs on this machine, now
    print(cpu_programs.here_table(here, record))

The records are "400_conv1d_baselines" (of `measure_convolutions`), "400_filter_width" (of
`measure_widths`) and "400_mlp" (of `measure_network`). Functions with `here` in their names always
measure this machine.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, kernels, plotting, reference, tables
from helpers.bench import reports, timing
from helpers.bench.counts import NOT_YET
from helpers.plotting import COLOURS, styles
from helpers.plotting.styles import INK, LINES, Look
from helpers.problems import baselines, mlp, two_classes
from helpers.quantities import percent
from helpers.simulator.compile import toolchain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

PLAIN = "one_core"
N_CELLS, WIDTH = 1_000_000, 31
SWEEP_CELLS = 100_000
WIDTHS = (3, 7, 15, 31, 63, 127, 255, 511)
SWEPT = ("one_core", "unrolled_2", "unrolled_4", "unrolled_8", "swapped")
EPOCHS = 300
THREADS = (1, 2, 4, 8, 16)
EVERY = {"averaged every pass": 1, "averaged every 10 passes": 10}
IDLE = f"idle threads started {EPOCHS} times"
SEED = 1


def arrays(cells: int = N_CELLS, width: int = WIDTH) -> tuple[np.ndarray, np.ndarray]:
    """Return random cells and weights, float32."""
    rng = np.random.default_rng(SEED)
    return rng.random(cells, dtype=np.float32), rng.random(width, dtype=np.float32)


# --------------------------------------------------------------------------------------------------
# Convolutions


def measure_convolutions(budget_s: float = 1.0) -> Iterator[dict[str, Any]]:
    """Yield a row of each program: 10^6 cells, 31 weights."""
    cells, weights = arrays()
    out = np.empty_like(cells)
    for key, program in baselines.conv1d().items():
        call = partial(program.call, cells, weights, out)
        timed = timing.time_cpu(call, name=program.name, budget_s=budget_s)
        common = {"key": key, "n": N_CELLS, "filter_width": WIDTH, **_made_by(key)}
        yield {"series": program.name, **common, "timing": timed}


def _made_by(key: str) -> dict[str, str]:
    """Return the source, compiler and flags of a program, for its row; nothing for NumPy's."""
    return {} if key == "numpy" else baselines.provenance("conv1d", baselines.openmp_flags())


def measure_widths() -> Iterator[dict[str, Any]]:
    """Yield a row of each of the one-core C++ programs at each width: 10^5 cells."""
    programs = baselines.conv1d()
    for width in WIDTHS:
        cells, weights = arrays(SWEEP_CELLS, width)
        out = np.empty_like(cells)
        for key in SWEPT:
            call = partial(programs[key].call, cells, weights, out)
            timed = timing.time_cpu(call, name=key, budget_s=0.2)
            common = {"key": key, "filter_width": width, **_made_by(key)}
            yield {"series": programs[key].name, **common, "timing": timed}


def yours(text: str, flags: tuple[str, ...] = ()) -> baselines.Baseline | None:
    """Return the program of a C++ text; None where it does not compile, or is not right yet.

    It runs on the arrays that are timed: a race of several cores may be right on shorter ones.
    """
    cells, weights = arrays()
    try:
        program = baselines.conv1d_from_cpp(text, flags=flags)
        checking.check(program.call(cells, weights), reference.conv1d(cells, weights), rtol=1e-5)
    except (toolchain.CompileFailed, LookupError, checking.CheckError):
        return None
    return program


@dataclass(frozen=True)
class Here:
    """The median time in ms of a program on this machine, and the sha256 of its source.

    ms is None for a student's program that is not right yet, source "" for NumPy.
    """

    name: str
    ms: float | None
    source: str = ""


def here(more: Mapping[str, str] | None = None, budget_s: float = 0.3) -> dict[str, Here]:
    """Time all programs on this machine, by key. more: C++ texts of a student, by name."""
    source = kernels.code_sha256(baselines.cpu_source("conv1d"))
    timed = {
        row["key"]: Here(row["series"], row["timing"].median, source if "flags" in row else "")
        for row in measure_convolutions(budget_s)
    }
    cells, weights = arrays()
    out = np.empty_like(cells)
    for name, text in (more or {}).items():
        program, ms = yours(text, baselines.openmp_flags()), None
        if program is not None:
            call = partial(program.call, cells, weights, out)
            ms = timing.time_cpu(call, name=name, budget_s=budget_s).median
        timed[name] = Here(name, ms, kernels.code_sha256(text))
    return timed


def here_table(timed: Mapping[str, Here], data: Record) -> str:
    """Return a table of `here`, beside the record `data`, with compilers and flags below it."""
    there, body, plain = data.ms("key"), [], timed[PLAIN].ms
    for key, one in timed.items():
        old = f"{there[PLAIN] / there[key]:.2f}" if key in there else "-"
        if one.ms is None or plain is None:
            body.append((NOT_YET, "-", "-", old, "-"))
        else:
            numbers = (f"{one.ms:.2f}", f"{plain / one.ms:.2f}", old, one.source[:8] or "-")
            body.append((one.name, *numbers))
    head = ("", "this machine,\nnow (ms)", f"speedup over\n{PLAIN}", "in the\nrecord", "source")
    made = baselines.provenance("conv1d", baselines.openmp_flags())
    return "\n".join(
        [
            tables.text(head, body),
            f"This machine: {made['compiler']}, {made['flags']}",
            f"The record: {cpu_of(data)}; source {data.sources['conv1d.cpp'][:8]}",
        ]
    )


# --------------------------------------------------------------------------------------------------
# What the compiler made, and how long its chains are

LOOPS = {PLAIN: 1, "unrolled_2": 2, "unrolled_4": 4, "unrolled_8": 8}  # program -> partial sums
_LABEL = re.compile(r"^(\.?L\w+):")
_JUMP = re.compile(r"^\s*(?:j[a-z]+|b\.?[a-z]+|cbn?z)\s+.*?(\.?L\w+)\s*$")


def inner_loop(key: str) -> list[str]:
    """Return the instructions of a program's first innermost loop that multiplies, in assembly.

    They are those of the compiler and the processor of this machine.
    """
    text = baselines.assembly(baselines.cpu_source("conv1d"), baselines.openmp_flags())
    return first_loop(text, f"conv1d_{key}")


def first_loop(assembly: str, function: str) -> list[str]:
    """Return the first innermost loop of a function that multiplies, without comments.

    Raises LookupError if the assembly has no such function, or the function no such loop.
    """
    lines = [re.sub(r"\s*(#|//).*", "", line).rstrip() for line in assembly.splitlines()]
    heads = [f"{function}:", f"_{function}:"]
    begin = next((number for number, line in enumerate(lines) if line in heads), None)
    if begin is None:
        raise LookupError(f"the assembly has no function {function}")
    labels: dict[str, int] = {}
    for number in range(begin, len(lines)):
        line = lines[number]
        if ".cfi_endproc" in line:
            break
        if label := _LABEL.match(line):
            labels[label[1]] = number
        jump = _JUMP.match(line)
        if jump and jump[1] in labels:
            inside = lines[labels[jump[1]] + 1 : number + 1]
            code = [one.strip() for one in inside if one.strip() and not _LABEL.match(one)]
            code = [" ".join(one.split()) for one in code if not one.startswith(".")]
            if any("mul" in one or "madd" in one or "fmla" in one for one in code):
                return code
            labels.clear()  # a loop around this one is not an innermost loop
    raise LookupError(f"{function} has no loop that multiplies")


_CHAINS = r"""
#include <chrono>
static volatile float kept;   // the compiler must not delete the sum
template <class Step>
static double nanoseconds(const float* terms, long long n, Step step) {
    const auto begin = std::chrono::steady_clock::now();
    float sum = 0;
    for (long long i = 0; i < n; ++i) sum = step(sum, terms[i]);
    kept = sum;
    const auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::nano>(end - begin).count() / n;
}
extern "C" double additions(const float* terms, long long n) {
    return nanoseconds(terms, n, [](float sum, float term) { return sum + term; });
}
extern "C" double multiply_adds(const float* terms, long long n) {
    return nanoseconds(terms, n, [](float sum, float term) {
        return __builtin_fmaf(term, term, sum);
    });
}
"""


@dataclass(frozen=True)
class Chain:
    """Nanoseconds of one step of a chain, in which each step waits for the one before it."""

    addition: float
    multiply_add: float

    def of(self, key: str) -> float:
        """Return the nanoseconds for a weight of one of LOOPS, if chains alone decide.

        The plain loop adds its products one by one; an unrolled one has a chain of multiply-adds
        for each partial sum, and these run side by side.
        """
        return self.addition if key == PLAIN else self.multiply_add / LOOPS[key]


def chain_here() -> Chain:
    """Measure both chains on this machine."""
    library = baselines.load_cpp("chains", _CHAINS)
    terms = np.random.default_rng(SEED).random(4096, dtype=np.float32)  # they fit into the L1 cache
    found = []
    for name in ("additions", "multiply_adds"):
        chain = getattr(library, name)
        chain.restype, chain.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_longlong]
        found.append(min(chain(terms.ctypes.data, terms.size) for _ in range(100)))
    return Chain(*found)


def chain_table_here(chain: Chain, widths: Sequence[int] = (7, 31, 127, 511, 2047)) -> str:
    """Time LOOPS here; return nanoseconds for each weight beside what the chains predict."""
    programs, body = baselines.conv1d(), []
    for key in LOOPS:
        numbers = [f"{chain.of(key):.2f}"]
        for width in widths:
            cells, weights = arrays(20_000, width)
            out = np.empty_like(cells)
            call = partial(programs[key].call, cells, weights, out)
            # As for the chains, the least time: other programs on this machine only add to it.
            ms = min(timing.time_cpu(call, name=key, budget_s=0.1).samples)
            numbers.append(f"{1e6 * ms / cells.size / width:.2f}")
        body.append((programs[key].name, *numbers))
    head = ("ns a weight", "chains\npredict", *(f"{width} weights" for width in widths))
    return tables.text(head, body)


# --------------------------------------------------------------------------------------------------
# The network


def measure_network() -> Iterator[dict[str, Any]]:
    """Yield rows of unrolled and of threaded training, each timed in turns with the plain one."""
    data = two_classes.two_class(seed=0)
    samples = data.train_x, data.train_y
    plain = partial(mlp.train, *samples, epochs=EPOCHS)

    made_by = baselines.provenance("mlp")

    def row(series: str, threads: int, train: Callable[[], np.ndarray]) -> dict[str, Any]:
        against = timing.compare_cpu(plain, train, names=("plain", series), budget_s=1)
        right = mlp.confusion(mlp.predict(train(), data.test_x), data.test_y).accuracy
        return {
            "series": series,
            "threads": threads,
            "speedup": against.ratio,
            "speedup_low": against.low,
            "speedup_high": against.high,
            "accuracy": right,
            **made_by,
            "timing": against.b,
        }

    for u in mlp.UNROLLED:  # 1: the plain program against itself
        yield row(f"unrolled by {u}", 0, partial(plain, unroll=u))
    for t in THREADS:
        for series, each in EVERY.items():
            train = partial(
                mlp.train_threads, *samples, threads=t, rounds=EPOCHS // each, epochs=each
            )
            yield row(series, t, train)
        start = partial(mlp.launch_threads, threads=t, rounds=EPOCHS)
        idle = timing.time_cpu(start, name="idle", budget_s=0.5)
        yield {"series": IDLE, "threads": t, **made_by, "timing": idle}


def network_table(data: Record) -> str:
    """Return a table of times, of speedups with their intervals, and of accuracies."""
    body = []
    for (series, threads), row in data.by("series", "threads").items():
        if "speedup" in row:
            interval = f"{row['speedup_low']:.2f} to {row['speedup_high']:.2f}"
            numbers = (f"{row['median_ms']:.1f}", f"{row['speedup']:.2f}", interval)
            body.append((series, str(threads or "-"), *numbers, f"{row['accuracy']:.1%}"))
    head = ("", "threads", "ms", "speedup", "95 % interval", "accuracy")
    return tables.text(head, body)


def idle_share(data: Record, threads: int) -> float:
    """Return the percentage of "averaged every pass" that starting idle threads alone takes."""
    rows = data.by("series", "threads")
    every_pass = rows["averaged every pass", threads]["median_ms"]
    return 100 * rows[IDLE, threads]["median_ms"] / every_pass


def reported() -> dict[str, float]:
    """Return the report's speedups over its own plain program on the same machine."""
    rows = reports.rows("cpu_mlp_report")
    seconds = {(row["variant"], row["machine"]): row["iterations_1000_s"] for row in rows}
    i5, host = "i5-5250U", "multi-core host"
    found = {
        f"unrolled by {u}": seconds["original", i5] / seconds[f"unrolled by {u}", i5]
        for u in (2, 4, 8)
    }
    for t in (4, 8, 16):
        found[f"{t} threads"] = seconds["original", host] / seconds[f"pthreads {t}", host]
    return found


# --------------------------------------------------------------------------------------------------
# Figures


def cpu_of(data: Record) -> str:
    """Return the CPU of a record, when it was measured, and the compiler with its flags."""
    when = f"{'recorded' if data.recalled else 'measured'} {data.created[:10]}"
    timings = (m.timing for m in data.measurements if m.timing is not None)
    made = {(row["compiler"], row["flags"]) for row in data.rows() if "compiler" in row}
    with_flags = "".join(f"; {compiler}, {flags}" for compiler, flags in sorted(made))
    return f"{next(timings).device}, {when}{with_flags}"


def convolutions_figure(data: Record, timed: Mapping[str, Here] | None = None) -> Figure:
    """Draw the speedups of all programs over the plain loop.

    timed: what `here` returned, drawn as diamonds beside the record's dots. A program that is not
    right yet has a row without one.
    """
    ms = data.ms("key")
    figure, ax = styles.subplots(8, 4.4 if timed else 3.8)
    swapped, unrolled = ms[PLAIN] / ms["swapped"], ms[PLAIN] / ms["unrolled_4"]
    title = f"Swapping the loops: {swapped:.1f} times as fast. Unrolling by 4: {unrolled:.2f} times"
    plotting.speedup(ax, data, baseline="C++, one core", title=title)
    if timed:
        gain = _draw_here(ax, timed, data)
        title = f"Swapping the loops: {swapped:.1f} times as fast in the record, {gain:.1f} here"
        plotting.style(ax, title)
    label = f"times as fast as C++, one core (logarithmic); {N_CELLS:,} cells, {WIDTH} weights"
    ax.set_xlabel("\n".join([label, *cpu_of(data).split("; ", 1)]))
    return figure


def _draw_here(ax: Axes, timed: Mapping[str, Here], data: Record) -> float:
    """Draw a diamond for each program of `here`; return the speedup of the swapped loops."""
    rows = {row["key"]: row["series"] for row in data.rows()}
    for key, one in timed.items():
        label = NOT_YET if one.ms is None else one.name
        # The name of the program with threads says how many cores the computer has.
        same = rows.get(key, label) == label
        rows[key] = label if same else re.sub(r"\d+ cores?", "all cores", label)
    plain = timed[PLAIN].ms
    found = {key: plain / one.ms for key, one in timed.items() if plain and one.ms}
    places = [list(rows).index(key) for key in found]
    ax.plot(
        list(found.values()), [place + 0.28 for place in places], marker="D", linestyle="none",
        color="white", markeredgecolor=INK, label="this machine, now",
    )
    ax.plot([], [], marker="o", linestyle="none", color=COLOURS[0], label="the record")
    ax.set_yticks(range(len(rows)), list(rows.values()))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    styles.legend_beside(ax)
    return found["swapped"]


def widths_figure(data: Record) -> Figure:
    """Draw the nanoseconds for each weight of each output over the width."""
    ms = data.ms("key", "filter_width")
    names = {row["key"]: row["series"] for row in data.rows()}
    figure, ax = styles.subplots(9, 4.2)
    for number, key in enumerate(SWEPT):
        look = {**styles.series(number), "linestyle": LINES[number]}
        ns = [1e6 * ms[key, width] / SWEEP_CELLS / width for width in WIDTHS]
        ax.plot(WIDTHS, ns, label=names[key], **look)
    gain = {width: ms[PLAIN, width] / ms["unrolled_8", width] for width in (31, 511)}
    plotting.style(
        ax,
        f"Unrolled by 8: {gain[31]:.2f} times as fast as the plain loop at 31 weights, "
        f"{gain[511]:.2f} times at 511",
    )
    ax.set_xscale("log", base=2)
    styles.plain_ticks(ax.xaxis, WIDTHS)
    ax.set_ylim(bottom=0)
    ax.set(xlabel=f"weights (100,000 cells)\nCPU: {cpu_of(data)}", ylabel="time for a weight (ns)")
    styles.legend_beside(ax)
    return figure


def phases_figure_here(epochs: int = EPOCHS) -> Figure:
    """Profile the network's training on this machine, and draw the phases of a step."""
    data = two_classes.two_class(seed=0)
    phases = mlp.profile(data.train_x, data.train_y, epochs=epochs)
    figure, ax = styles.subplots(8, 2.8)
    share = phases.nanoseconds["activation functions"] / phases.total
    plotting.style(
        ax,
        f"Activation functions: {percent(share)} of a step. "
        f"Reading the clock: {phases.clock:.0f} ns more",
    )
    bars = {**phases.nanoseconds, "reading the clock": phases.clock}
    colours = [COLOURS[5]] * len(phases.nanoseconds) + [styles.PALE]
    drawn = ax.barh(list(bars), list(bars.values()), height=0.6, edgecolor=INK, color=colours)
    ax.bar_label(drawn, fmt="%.0f", padding=3)
    ax.invert_yaxis()
    ax.set_xlabel(f"nanoseconds for a training step\nThis machine: {timing.cpu_name()}")
    return figure


def threads_figure(data: Record) -> Figure:
    """Draw the times of threaded training and of idle threads over the number of threads."""
    rows = data.by("series", "threads")
    figure, ax = styles.subplots(8.5, 4)
    for number, series in enumerate((*EVERY, IDLE)):
        points = [rows[series, t] for t in THREADS]
        middle, around = styles.spread(map(styles.interval, points))
        look = {**styles.series(number), "linestyle": LINES[number]}
        ax.errorbar(THREADS, middle, around, label=series, capsize=3, **look)
    plain = rows["unrolled by 1", 0]["median_ms"]
    ax.axhline(plain, color=INK, linestyle=":", label="the plain program, no thread started")
    share = idle_share(data, 16)
    plotting.style(
        ax,
        "16 threads, averaged every pass: "
        f"starting 16 idle threads takes {share:.0f} % of that time",
    )
    label = f"threads; {EPOCHS} passes over 1,096 samples\nCPU: {cpu_of(data)}"
    ax.set(xticks=THREADS, xlabel=label, ylabel="time (ms)")
    ax.set_ylim(bottom=0)
    styles.legend_beside(ax)
    return figure


def report_figure(data: Record) -> Figure:
    """Draw the report's speedups beside ours, with ours for both ways of averaging."""
    theirs, rows = reported(), data.by("series", "threads")
    figure, ax = styles.subplots(11, 4)
    shares = {name: rows[name, 0] for name in theirs if name.startswith("unrolled")}
    columns: list[tuple[str, dict[str, dict[str, Any]], dict[str, Any]]] = [
        ("ours", shares, {"color": COLOURS[5]})
    ]
    looks: tuple[Look, Look] = (
        {"color": COLOURS[5], "hatch": "...."},
        {"color": COLOURS[3]},
    )
    for (series, _), look in zip(EVERY.items(), looks, strict=True):
        columns.append(
            (f"ours, {series}", {f"{t} threads": rows[series, t] for t in (4, 8, 16)}, look)
        )
    places = {name: k for k, name in enumerate(theirs)}
    bars = ax.bar(
        [k - 0.27 for k in places.values()], list(theirs.values()), 0.26, label="report",
        edgecolor=INK, **styles.BARS["aside"],
    )
    ax.bar_label(bars, fmt="%.2f", padding=2, fontsize="small")
    for number, (label, chosen, look) in enumerate(columns):
        shift = 0.27 if number == 2 else 0.0
        middle, around = styles.spread(
            (row["speedup_low"], row["speedup"], row["speedup_high"]) for row in chosen.values()
        )
        bars = ax.bar(
            [places[name] + shift for name in chosen], middle, 0.26, yerr=around, label=label,
            edgecolor=INK, capsize=3, **look,
        )
        ax.bar_label(bars, fmt="%.2f", padding=3, fontsize="small")
    ours = rows["unrolled by 4", 0]["speedup"]
    title = (
        f"Speedup by unrolling by 4: {theirs['unrolled by 4']:.2f} in the report, {ours:.2f} here"
    )
    plotting.style(ax, title)
    ax.axhline(1, color=INK, linestyle=":", linewidth=0.8)
    ax.set_xticks(list(places.values()), [name.replace(" by", "\nby") for name in places])
    ax.set(ylabel="speedup over the plain\nprogram (times)", xlabel=f"ours: {cpu_of(data)}")
    styles.legend_beside(ax)
    return figure
