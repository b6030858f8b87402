"""The data and references of the broken kernels of lab 105, and what the kernels do on a GPU.

`measure` launches each kernel many times and counts the launches that gave a wrong result: a fault
that the hardware hides most of the time is a fault all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import tables
from helpers.plotting import styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

THREADS = 256
TILE = 16
RTOL = 1e-5
SIZES = {1001: 1000, 1_000_001: 100}  # cells -> launches
PICTURES = {(32, 48): 1000, (1024, 1024): 100}  # rows and columns -> launches
AXPY_FACTOR = 2.0


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


def axpy(a: float, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return a * X + Y in float64."""
    return a * X.astype(float) + Y


def smooth(A: np.ndarray) -> np.ndarray:
    """Return the mean of A[i - 1], A[i], A[i + 1] for each i, in float64; the ends are repeated."""
    wide = np.pad(A.astype(float), 1, mode="edge")
    return (wide[:-2] + wide[1:-1] + wide[2:]) / 3


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
    yield "axpy4", axpy4, axpy(AXPY_FACTOR, N, Y)
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
    for old, new in changes.items():
        if old not in source:
            raise ValueError(f"the source of blur has no {old}: take the kernel as it was broken")
        source = source.replace(old, new)
    return source


# --------------------------------------------------------------------------------------------------
# Figures and tables


def table(record: Record) -> str:
    """Return a table of a record of `measure`: the wrong launches of each kernel."""
    rows = [
        (
            row["series"],
            f"{row['values']:,}",
            f"{row['wrong_launches']:,} of {row['launches']:,}",
            f"{row['most_wrong_values']:,}",
        )
        for row in record.rows()
    ]
    head = ("", "values", "wrong\nlaunches", "most wrong\nvalues")
    return tables.text(head, rows)


def figure_of_blur(B: np.ndarray, want: np.ndarray) -> Figure:
    """Draw a blurred picture and, beside it, the error of each pixel."""
    import matplotlib.pyplot as plt

    error = 100 * np.abs(B - want) / want
    wrong = sorted({int(x) % TILE for x in np.argwhere(error > 100 * RTOL)[:, 1]})
    columns = f"column{'s' * (len(wrong) > 1)} {' and '.join(map(str, wrong)) or 'none'}"
    titles = {
        "The picture of the broken kernel": B,
        f"Error (%): {columns} of each tile": error,
    }
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for ax, (title, values) in zip(axes, titles.items(), strict=True):
        styles.style(ax, title)
        ax.set(xlabel="x", ylabel="y")
        ax.set_xticks(range(0, B.shape[1], TILE))
        ax.set_yticks(range(0, B.shape[0], TILE))
        figure.colorbar(ax.imshow(values, cmap="Greys_r" if values is B else "Greys"), ax=ax)
    return figure


def figure_of_smooth(A: np.ndarray, want: np.ndarray) -> Figure:
    """Draw the relative error of each cell of a smoothed array."""
    import matplotlib.pyplot as plt

    error = np.abs(A - want) / want
    wrong = np.flatnonzero(error > RTOL)
    at_edges = set(wrong % THREADS) <= {0, THREADS - 1}
    place = "all at the edges of blocks" if at_edges else "not only at the edges of blocks"
    figure, ax = plt.subplots(figsize=(9, 2.6), layout="constrained")
    styles.style(ax, f"{wrong.size} of {A.size:,} cells are wrong, {place}")
    ax.plot(error * 1e6, color=styles.INK, linewidth=1)
    ax.set(xlabel="i (cells)", xticks=range(0, A.size, THREADS))
    ax.set_ylabel("relative error\n(millionths)")
    return figure
