"""The broken kernels of lab 105: their data, their checks, and what they do on a GPU.

    print(broken.check(difference))                      # the check that the fault passes
    print(broken.findings(difference))                   # what the simulator finds
    print(broken.fix(difference, ("old", "new")))       # a student's fixed version, checked well
    broken.show("difference")                            # ours
    broken.replay(difference)                            # a small launch of it, step by step

`measure` launches each kernel many times and counts the launches that gave a wrong result: a fault
that the hardware hides most of the time is a fault all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, device, kernels, reference, simulator, tables
from helpers.kernels import Listing
from helpers.plotting import styles
from helpers.quantities import quantity
from helpers.simulator.findings.words import Event

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator.explain.pictures import Replay

THREADS = 256
TILE = 16
RTOL = 1e-5
SIZES = {1001: 1000, 1_000_001: 100}  # cells -> launches
PICTURES = {(32, 48): 1000, (1024, 1024): 100}  # rows and columns -> launches
AXPY_FACTOR = 2.0
LOOSE = 0.01  # a check that is too loose
N_CELLS, ROWS, COLUMNS = 1001, 32, 48  # three whole blocks and a partial one; six whole tiles
WHOLE = 1024  # cells of four whole blocks, on which a fixed kernel must be right, too

FAULTS = MISSING, LEAVES, BARRIER, BLOCKS, UNSET = (
    "an output is not written",
    "an index leaves its row",
    "a barrier is missing",
    "two blocks disturb each other",
    "a cell is read that nobody set",
)

Changes = tuple[tuple[str, str], ...]  # pairs of the old text and the new

# Of kernels whose blocks fit a replay when they are small: the output, and the changes.
SMALL: Mapping[str, tuple[str, Changes]] = {
    "difference": ("D", (("256", "8"),)),
    "sliding_max": ("M", (("256", "8"), ("255", "7"), ("257", "9"))),
    "blur": ("B", (("#define T 16", "#define T 4"),)),
}

# How we fixed each kernel.
OURS: Mapping[str, Changes] = {
    "difference": (("tile[t] = N[i];", "tile[t] = N[i];\n    __syncthreads();"),),
    "sliding_max": (
        ("if (i < n) tile[t + 1] = N[i];", "tile[t + 1] = i < n ? N[i] : -INFINITY;"),
        (
            "if (t == 0 && i > 0) tile[0] = N[i - 1];",
            "if (t == 0) tile[0] = i > 0 ? N[i - 1] : -INFINITY;",
        ),
        (
            "if (t == 255 && i + 1 < n) tile[257] = N[i + 1];",
            "if (t == 255) tile[257] = i + 1 < n ? N[i + 1] : -INFINITY;",
        ),
    ),
    "blur": (("tile[T + 1][T]", "tile[T][T + 1]"),),
    "axpy4": (("    if (first + 3 < n)\n", ""), ("k < 4;", "k < 4 && first + k < n;")),
    "smooth": (
        ("float* A, int n", "float* S, const float* A, int n"),
        ("A[i] = (", "S[i] = ("),
    ),
}


def cells(n: int) -> np.ndarray:
    """Return n positive cells, float32, that change slowly: a wave and a little noise."""
    wave = 1 + 0.3 * np.sin(np.arange(n) / 40)
    return (wave + np.random.default_rng(5).uniform(0, 0.001, n)).astype(np.float32)


def picture(rows: int, columns: int) -> np.ndarray:
    """Return a picture of positive pixels, float32: a wave and some noise."""
    y, x = np.mgrid[0:rows, 0:columns]
    noise = np.random.default_rng(6).uniform(-0.15, 0.15, (rows, columns))
    return (1 + 0.2 * np.sin(x / 15 + y / 10) + noise).astype(np.float32)


def difference(N: np.ndarray) -> np.ndarray:
    """Return N[i] - N[i - 1] for each i, in float64; the first output is N[0]."""
    return np.diff(N.astype(float), prepend=0)


def sliding_max(N: np.ndarray) -> np.ndarray:
    """Return the largest of N[i - 1], N[i], N[i + 1] for each i, of those that exist."""
    wide = np.pad(N.astype(float), 1, constant_values=-np.inf)
    return np.max([wide[:-2], wide[1:-1], wide[2:]], axis=0)


def blur(A: np.ndarray) -> np.ndarray:
    """Return the mean of each pixel and the one to its right, in float64; the last is repeated."""
    wide = np.pad(A.astype(float), ((0, 0), (0, 1)), mode="edge")
    return (wide[:, :-1] + wide[:, 1:]) / 2


def smooth(A: np.ndarray) -> np.ndarray:
    """Return the mean of A[i - 1], A[i], A[i + 1] for each i, in float64; the ends are repeated."""
    wide = np.pad(A.astype(float), 1, mode="edge")
    return (wide[:-2] + wide[1:-1] + wide[2:]) / 3


# --------------------------------------------------------------------------------------------------
# The kernels, checked


@dataclass(frozen=True)
class Setting:
    """The launch of a kernel and what it should give. arguments: the output first."""

    arguments: tuple[Any, ...]
    want: np.ndarray
    rtol: float = RTOL
    atol: float = 0.0
    grid: tuple[int, int, int] = (WHOLE // THREADS, 1, 1)
    block: tuple[int, int, int] = (THREADS, 1, 1)
    words: str = ""

    def given(self) -> list[Any]:
        """Return the arguments for one launch: copies of the arrays."""
        return [a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments]


def setting(name: str, sign: int = 1, size: int = N_CELLS) -> Setting:
    """Return the launch of a kernel, with the check that its fault passes.

    sign: of the cells; size: their number, for four blocks.
    """
    N, n = sign * cells(size), np.int32(size)
    given: tuple[Any, ...]
    unwritten = np.full_like(N, np.nan)
    if name == "difference":
        return Setting((unwritten, N, n), difference(N), rtol=0, atol=RTOL)
    if name == "sliding_max":
        return Setting((unwritten, N, n), sliding_max(N), rtol=0)
    if name == "blur":
        A = picture(ROWS, COLUMNS)
        grid, block = (COLUMNS // TILE, ROWS // TILE, 1), (TILE, TILE, 1)
        given = (np.full_like(A, np.nan), A, np.int32(COLUMNS))
        return Setting(given, blur(A), grid=grid, block=block)
    if name == "axpy4":
        Y = N[::-1].copy()
        sums = reference.axpy(AXPY_FACTOR, N, Y)
        given = (sums.astype(np.float32), N, Y, np.float32(AXPY_FACTOR), n)
        return Setting(given, sums, grid=(1, 1, 1), words=" into a used array")
    if name == "smooth":
        return Setting((N, n), smooth(N), rtol=LOOSE, words=", within one percent")
    raise KeyError(f"no broken kernel {name!r}; there are: {', '.join(OURS)}")


def run(
    kernel: Any, source: str = "", at: Setting | None = None
) -> tuple[np.ndarray, tuple[simulator.Finding, ...]]:
    """Run a kernel in the simulator; return its output and the findings.

    kernel: what a %%kernel cell binds. source: a text in place of the cell's. at: in place of the
    kernel's own setting.
    """
    where = at or setting(kernel.name)
    given = where.given()
    found = simulator.check(
        source or kernel.source, kernel.name, *given, grid=where.grid, block=where.block
    )
    return given[0], found


def check(kernel: Any) -> checking.Verdict:
    """Check a kernel's output as a program might that looks for no faults.

    The tile of `blur` is taken as a flat array, because the simulator stops at an index that leaves
    its axis, and a GPU does not. Its pixels are compared on average alone. Raises CheckError.
    """
    at = setting(kernel.name)
    if kernel.name == "blur":
        out, _ = run(kernel, flattened(kernel.source))
        got, want = out.mean(keepdims=True), at.want.mean(keepdims=True)
        return checking.check(got, want, rtol=LOOSE, name="blur, the mean of all pixels")
    out, _ = run(kernel)
    name = f"{kernel.name}{at.words}"
    return checking.check(out, at.want, rtol=at.rtol, atol=at.atol, name=name)


def findings(kernel: Any) -> str:
    """Return what the simulator finds wrong with a kernel."""
    _, found = run(kernel)
    return "\n\n".join(map(str, found)) or "no findings"


def fault(kernel: Any) -> str:
    """Return the one of FAULTS that the findings show, or that a store is missing; else "none"."""
    _, found = run(kernel)
    if not found:
        stores, outputs = stored(kernel)
        return MISSING if stores < outputs else "none"
    first = found[0]
    if first.event.row is Event.RACE_OF_BLOCKS:
        return BLOCKS
    return {"race": BARRIER, "uninitialised": UNSET, "out-of-bounds": LEAVES}[first.kind]


def stored(kernel: Any) -> tuple[int, int]:
    """Return how many values a kernel stores to global memory, and how many outputs there are."""
    at = setting(kernel.name)
    seen = simulator.profile(
        kernel.source, kernel.name, *at.given(), grid=at.grid, block=at.block
    )
    return seen.total("lanes", "global", "store"), at.want.size


def replay(kernel: Any) -> Replay:
    """Return a launch of one small block of a kernel, step by step: of 8 threads, or of 4 x 4 for
    `blur`. Raises KeyError for a kernel that is not in SMALL.
    """
    from helpers import bench

    name = kernel.name
    out, changes = SMALL[name]
    at, block = setting(name, size=8), (8, 1, 1)
    given = at.given()
    if name == "blur":
        A, block = picture(4, 4), (4, 4, 1)
        given, at = [np.full_like(A, np.nan), A, np.int32(4)], replace(at, want=blur(A))
    given[0][...] = np.nan
    return bench.replay(
        kernel, *given, grid=(1, 1, 1), block=block, changes=changes, want=(out, at.want)
    )


def with_zeros(kernel: Any, sign: int) -> np.ndarray:
    """Return where `sliding_max` is wrong if the leftovers in shared memory are zeros."""
    first = "    if (i < n) tile[t + 1] = N[i];"
    zeros = "    for (int k = t; k < 258; k += 256) tile[k] = 0.0f;\n    __syncthreads();\n"
    at = setting("sliding_max", sign)
    out, _ = run(kernel, kernels.replaced(kernel.source, (first, zeros + first)), at)
    return np.flatnonzero(out != at.want)


def poisoned(kernel: Any) -> str:
    """Return the result of a check of every value, with an output that held NaN."""
    at = _strict(kernel.name, kernel.source)
    out, _ = run(kernel, at=at)
    return _compared(out, at, f"{kernel.name} into NaN")


def fix(kernel: Any, *changes: tuple[str, str]) -> str:
    """Return whether a kernel is right after changes: no finding, and every value, from NaN.

    It runs on whole blocks, too. changes: pairs of the old text and the new. `smooth` gets a second
    array if it has a parameter for one. Where there is a GPU, the fixed kernel runs there, too.
    Raises ValueError for an old text that is not there.
    """
    source = kernels.replaced(kernel.source, *changes, name=kernel.name)
    name = f"{kernel.name}, fixed"
    said = _fixed(kernel, source, _strict(kernel.name, source), name)
    if said.startswith("FAIL") or kernel.name == "blur":
        return said
    more = _fixed(kernel, source, _strict(kernel.name, source, WHOLE), f"{name}, {WHOLE:,} cells")
    return more if more.startswith("FAIL") else said


def _fixed(kernel: Any, source: str, at: Setting, name: str) -> str:
    try:
        out, found = run(kernel, source, at)
    except simulator.CompileFailed as error:
        return f"FAIL {name}: it does not compile:\n{error}"
    if found:
        return f"FAIL {name}: {found[0]}"
    if device.select().kind == "gpu":
        out = _on_gpu(source, kernel.name, at)
    return _compared(out, at, name)


def show(name: str) -> Listing:
    """Return the lines that we changed to fix a kernel, for a notebook to show."""
    lines = []
    for old, new in OURS[name]:
        lines += [f"- {line}" for line in old.strip().splitlines()]
        lines += [f"+ {line.strip()}" for line in new.splitlines()]
    return Listing(f"How we fixed {name}", "\n".join(lines), language="diff")


def _strict(name: str, source: str, size: int = N_CELLS) -> Setting:
    """Return the launch of a kernel with an unwritten output and a tight tolerance.

    The cells of `sliding_max` are negative, so that a zero in a ghost would win.
    """
    at = setting(name, -1 if name == "sliding_max" else 1, size)
    first, *others = at.arguments
    poisoned = [np.full_like(first, np.nan), *others]
    parameters = re.search(rf"\b{name}\s*\(([^)]*)\)", source)
    if name == "smooth":  # its input, and an output if there is a parameter for one
        in_place = parameters is None or parameters[1].count(",") < 2
        poisoned = [first, *others] if in_place else [poisoned[0], first, *others]
    rtol = 0.0 if name in ("difference", "sliding_max") else RTOL
    return Setting(tuple(poisoned), at.want, rtol, at.atol, at.grid, at.block)


def _compared(out: np.ndarray, at: Setting, name: str) -> str:
    try:
        return str(checking.check(out, at.want, rtol=at.rtol, atol=at.atol, name=name))
    except checking.CheckError as error:
        return str(error)


def _on_gpu(source: str, name: str, at: Setting) -> np.ndarray:
    from pycuda.compiler import SourceModule

    function = SourceModule(source, no_extern_c=True).get_function(name)
    return _runner(function, list(at.arguments), grid=at.grid, block=at.block)()


# --------------------------------------------------------------------------------------------------
# On a GPU


def count_wrong(run: Callable[[], np.ndarray], want: np.ndarray, launches: int) -> dict[str, int]:
    """Call `run` so many times; return how many results were wrong, and the most wrong values.

    A value is wrong if it differs from `want` by more than RTOL, relatively, or is NaN.
    """
    wrong, most = 0, 0
    for _ in range(launches):
        count = int((~(np.abs(run() - want) <= RTOL * np.abs(want))).sum())
        wrong += count > 0
        most = max(most, count)
    return {"launches": launches, "wrong_launches": wrong, "most_wrong_values": most}


def measure(kernels: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "105_broken": how often each kernel was wrong on the GPU.

    kernels: the compiled functions difference, sliding_max, blur, axpy4 and smooth, by name. The
    sliding maximum runs twice, on positive and on negative cells. Outputs hold NaN before a launch.
    """
    for n, launches in SIZES.items():
        for name, run, want in _flat_cases(kernels, n):
            counts = count_wrong(run, want, launches)
            yield {"series": name, "values": n, **counts, "timing": None}
    for shape, launches in PICTURES.items():
        A = picture(*shape)
        run = _runner(
            kernels["blur"],
            [np.full_like(A, np.nan), A, np.int32(shape[1])],
            grid=(shape[1] // TILE, shape[0] // TILE, 1),
            block=(TILE, TILE, 1),
        )
        counts = count_wrong(run, blur(A), launches)
        yield {"series": "blur", "values": A.size, **counts, "timing": None}


def _flat_cases(
    kernels: Mapping[str, Any], n: int
) -> Iterator[tuple[str, Callable[[], np.ndarray], np.ndarray]]:
    N, unwritten, size = cells(n), np.full(n, np.nan, np.float32), np.int32(n)
    Y = N[::-1].copy()
    factor = np.float32(AXPY_FACTOR)
    how = {"grid": (-(-n // THREADS), 1, 1), "block": (THREADS, 1, 1)}
    fewer = {"grid": (-(-n // (4 * THREADS)), 1, 1), "block": (THREADS, 1, 1)}
    yield "difference", _runner(kernels["difference"], [unwritten, N, size], **how), difference(N)
    for name, M in (("sliding_max", N), ("sliding_max, negative cells", -N)):
        yield name, _runner(kernels["sliding_max"], [unwritten, M, size], **how), sliding_max(M)
    axpy4 = _runner(kernels["axpy4"], [unwritten, N, Y, factor, size], **fewer)
    yield "axpy4", axpy4, reference.axpy(AXPY_FACTOR, N, Y)
    yield "smooth", _runner(kernels["smooth"], [N, size], **how), smooth(N)


def _runner(kernel: Any, arguments: list[Any], **how: Any) -> Callable[[], np.ndarray]:
    """Return a function that launches a kernel on fresh copies and returns its first array."""
    import pycuda.driver as cuda

    there = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]
    result = np.empty_like(arguments[0])

    def run() -> np.ndarray:
        cuda.memcpy_htod(there[0], arguments[0])
        kernel(*there, **how)
        cuda.memcpy_dtoh(result, there[0])
        return result

    return run


def flattened(source: str) -> str:
    """Return the source of `blur` with its tile as a flat array, which is what the hardware runs.

    In memory the rows of an array stand one behind the other, so that tile[ty][16] of rows of 16 is
    tile[ty + 1][0]. Raises ValueError if the source has no such tile.
    """
    changes = {
        "[T + 1][T]": "[(T + 1) * T]",
        "[ty][tx + 1]": "[ty * T + tx + 1]",
        "[ty][tx]": "[ty * T + tx]",
    }
    return kernels.replaced(source, *changes.items(), name="the source of blur")


# --------------------------------------------------------------------------------------------------
# Figures and tables


def table(record: Record) -> str:
    """Return a table of a record of `measure`: the wrong launches of each kernel."""
    columns = {
        "": "{series}",
        "values": "{values:,}",
        "wrong\nlaunches": "{wrong_launches:,} of {launches:,}",
        "most wrong\nvalues": "{most_wrong_values:,}",
    }
    return tables.of(record.rows(), columns)


def figure_of_blur(B: np.ndarray, want: np.ndarray) -> Figure:
    """Draw a blurred picture and, beside it, the error of each pixel."""
    error = 100 * np.abs(B - want) / want
    wrong = sorted({int(x) % TILE for x in np.argwhere(error > 100 * RTOL)[:, 1]})
    columns = f"column{'s' * (len(wrong) > 1)} {' and '.join(map(str, wrong)) or 'none'}"
    titles = {
        "The picture of the broken kernel": B,
        f"Error (%): {columns} of each tile": error,
    }
    figure, axes = styles.subplots(9, 3, columns=2)
    for ax, (title, values) in zip(axes, titles.items(), strict=True):
        styles.style(ax, title)
        ax.set(xlabel="x", ylabel="y")
        ax.set_xticks(range(0, B.shape[1], TILE))
        ax.set_yticks(range(0, B.shape[0], TILE))
        figure.colorbar(ax.imshow(values, cmap="Greys_r" if values is B else "Greys"), ax=ax)
    return figure


def figure_of_smooth(A: np.ndarray, want: np.ndarray) -> Figure:
    """Draw the relative error of each cell of a smoothed array."""
    error = np.abs(A - want) / want
    wrong = np.flatnonzero(error > RTOL)
    at_edges = set(wrong % THREADS) <= {0, THREADS - 1}
    every = "" if wrong.size == 1 else "all "
    place = f"{every}at the edges of blocks" if at_edges else "not only at the edges of blocks"
    figure, ax = styles.subplots(9, 2.6)
    of = f"{wrong.size} of {quantity(A.size, 'cell')} {'is' if wrong.size == 1 else 'are'}"
    styles.style(ax, f"{of} wrong, {place}")
    ax.plot(error * 1e6, color=styles.INK, linewidth=1)
    ax.set(xlabel="i (cells)", xticks=range(0, A.size, THREADS))
    ax.set_ylabel("relative error\n(millionths)")
    return figure
