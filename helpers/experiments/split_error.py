"""How far sums of products stray: halves, split numbers, split numbers with short sums, FP32 units.

    rows = split_error.simulated()                        # in the simulator, on any machine
    record = results.record("split_error", split_error.measure, device=gpu, lab=lab)
    split_error.figure(record, split_error.of_kernel(cell))

The error of a sum is its distance from the sum in float64, divided by the sum of the absolute
products: so sums of both signs and sums of one sign have one measure. A row also has a checksum of
all results: two devices that add alike give the same one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from helpers import bench, simulator, tables
from helpers.bench import results
from helpers.bench.counts import NOT_YET
from helpers.launch import simulate
from helpers.plotting import COLOURS, boxes, caption, style, styles
from helpers.problems import tensor_product
from helpers.problems.tensor_product import Product, Split, Units

BATCH = 8  # matrices B: 1,024 sums a row
LENGTHS = tuple(2**k for k in range(4, 17))  # terms of a sum
# The factors are uniform between these. With one sign, every cut goes the same way.
SIGNS = {"both signs": (-1.0, 1.0), "one sign": (0.0, 1.0)}
SHORT = 4  # steps of a short sum, 64 terms
SERIES: dict[str, Product] = {
    "halves": Split(1, 0),
    "split": Split(3, 0),
    "split, short sums": Split(3, SHORT),
    "FP32 units": Units(),
}
LOOKS = {
    "halves": styles.PRODUCTS["halves"],
    "split": styles.PRODUCTS["split halves"],
    "split, short sums": styles.PRODUCTS["split halves, improved"],
    "FP32 units": styles.PRODUCTS["FP32 units"],
}


def factors(length: int, signs: str) -> tuple[np.ndarray, np.ndarray]:
    """Return A (16, length) and B (BATCH, length, 8), float32, the same on every machine."""
    rng = np.random.default_rng([length, list(SIGNS).index(signs)])
    A = rng.uniform(*SIGNS[signs], (tensor_product.ROWS, length))
    B = rng.uniform(*SIGNS[signs], (BATCH, length, tensor_product.COLUMNS))
    return A.astype(np.float32), B.astype(np.float32)


def errors(D: np.ndarray, A: np.ndarray, B: np.ndarray) -> dict[str, float]:
    """Return the error's root mean square, its mean and its largest size."""
    size = tensor_product.reference(np.abs(A), np.abs(B))
    error = (D - tensor_product.reference(A, B)) / size
    return {
        "error": float(np.sqrt(np.mean(error**2))),
        "mean": float(error.mean()),
        "largest": float(np.abs(error).max()),
    }


def measure(
    product: Callable[
        [Product, np.ndarray, np.ndarray], np.ndarray
    ] = tensor_product.product_on_device,
    lengths: Iterable[int] = LENGTHS,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each series, length and kind of signs. product: makes D of a spec, A, B."""
    for signs in SIGNS:
        for length in lengths:
            A, B = factors(length, signs)
            for name, spec in SERIES.items():
                D = product(spec, A, B)
                row = {"series": name, "kernel": spec.name, "length": length, "signs": signs}
                yield row | errors(D, A, B) | {"checksum": zlib.crc32(D.tobytes()), "timing": None}


def simulated(lengths: Sequence[int] = LENGTHS[:8]) -> list[dict[str, Any]]:
    """Return the rows of `measure` in the simulator. Raises RuntimeError where it finds a fault."""

    def product(spec: Product, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        D = tensor_product.empty_product(B)
        arrays = {"D": D, "A": A, "B": B}
        (findings,) = simulate(spec.plan_for(A, B), arrays, simulator.check)
        if findings:
            raise RuntimeError(f"{spec.name}: {findings[0]}")
        return D

    return list(measure(product, lengths))


OF_KERNEL = (16, 256, 4096)  # terms of the sums that `of_kernel` makes


def of_kernel(cell: Any, label: str = "yours") -> list[dict[str, Any]]:
    """Return the rows of a student's kernel in the simulator; none until it passes its check.

    It has the parameters of split_product. Each block of its launch makes one product.
    """
    rows = []
    for signs in SIGNS:
        for length in OF_KERNEL:
            problem = bench.product(1, length // tensor_product.DEPTH)
            kernel = problem.kernel(cell, like="split_product")
            if kernel.is_missing or (length == OF_KERNEL[0] and not problem.check(kernel)):
                return []
            A, B = factors(length, signs)
            D = tensor_product.empty_product(B)
            for k in range(BATCH):
                arrays = {"D": D[k : k + 1].copy(), "A": A, "B": B[k : k + 1].copy()}
                simulate(problem.plan(kernel), arrays, simulator.check)
                D[k] = arrays["D"][0]
            rows.append({"series": label, "length": length, "signs": signs} | errors(D, A, B))
    return rows


def split_table(split: Callable[[np.ndarray], tuple[Any, Any]]) -> str:
    """Return the largest errors of the halves that a student's function makes of 100,000 numbers.

    split: of a float32 array, (hi, lo). Until it is right, the answer says what is not.
    """
    x = np.random.default_rng(28).uniform(1, 2, 100_000).astype(np.float32)
    hi, lo = split(x)
    if lo is None or lo is ...:
        return NOT_YET
    hi, lo = np.asarray(hi), np.asarray(lo)
    if hi.dtype != np.float16 or lo.dtype != np.float16:
        return f"not yet: hi and lo must be float16, and they are {hi.dtype} and {lo.dtype}"
    lines = []
    for name, held in (("x_hi alone", hi.astype(float)), ("x_hi + x_lo", hi.astype(float) + lo)):
        lines.append((name, f"2^{np.log2(np.max(np.abs(held - x) / x)):.1f} of x"))
    if not lo.any():
        return (
            "not yet: lo is 0 everywhere. In halves x - hi is 0: subtract in float32, "
            "x - hi.astype(np.float32)"
        )
    if np.max(np.abs(hi.astype(float) + lo - x) / x) > 2.0**-22:
        return "not yet: hi + lo is not nearly x. lo is x - hi, rounded to half"
    return tables.text(("100,000 numbers", "largest error"), lines, left=(0,))


def said(rows: Iterable[Mapping[str, Any]], length: int, signs: str = "one sign") -> str:
    """Return the errors of all series at one length, one a line."""
    rows = list(rows)
    lines = [f"{name:20}{lookup(rows, name, length, signs):10.1e}" for name in SERIES]
    return "\n".join([f"{length:,} terms, {signs}", *lines])


def lookup(
    rows: Iterable[Mapping[str, Any]], series: str, length: int, signs: str, key: str = "error"
) -> float:
    """Return the error of a series at one length and for one kind of signs. key: or the mean.

    Raises KeyError where there is none.
    """
    for row in rows:
        if (row["series"], row["length"], row["signs"]) == (series, length, signs):
            return float(row[key])
    raise KeyError(f"there is no row of {series!r} with {length:,} terms of {signs}")


def crossing(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the length from which on one long sum of split numbers errs more than plain halves,
    where all terms have one sign.

    None where it does not at the longest sum.
    """
    signs = "one sign"
    lengths = sorted({row["length"] for row in rows if row["signs"] == signs})
    worse = [
        lookup(rows, "split", length, signs) > lookup(rows, "halves", length, signs)
        for length in lengths
    ]
    if not worse[-1]:
        return None
    return lengths[max((k + 1 for k, one in enumerate(worse) if not one), default=0)]


def figure(data: results.Record, mine: Sequence[Mapping[str, Any]] = ()) -> Figure:
    """Draw the error over the length for both kinds of signs. mine: of `of_kernel`."""
    drawing, axes = styles.subplots(12, 4.6, columns=2, sharey=True)
    rows = data.rows()
    lengths = sorted({row["length"] for row in rows})
    for ax, signs in zip(axes, SIGNS, strict=True):
        for name, look in LOOKS.items():
            chosen = [row for row in rows if row["series"] == name and row["signs"] == signs]
            ax.plot(*_points(chosen), label=name, markersize=5, **look)
        own = [row for row in mine if row["signs"] == signs]
        label = own[0]["series"] if own else NOT_YET
        ax.plot(*_points(own), "*", color=styles.INK, markersize=13, label=label)
        style(ax, f"Factors of {signs}")
        ax.set_xscale("log", base=2)
        ax.set(yscale="log", xlabel="terms of a sum")
        styles.plain_ticks(ax.xaxis, lengths[::3])
        styles.plain_ticks(ax.yaxis)
    axes[0].set_ylabel("error / sum of absolute products")
    styles.legend_beside(axes[-1])
    caption(axes[0], data)
    long, short = (
        lookup(rows, name, lengths[-1], "one sign") for name in ("split", "split, short sums")
    )
    drawing.suptitle(
        f"With factors of one sign, one long sum of {lengths[-1]:,} terms errs "
        f"{long / short:,.0f} times as much as short sums",
        x=0.01, ha="left", fontsize="medium",
    )
    return drawing


def _points(rows: Iterable[Mapping[str, Any]]) -> tuple[list[int], list[float]]:
    return [row["length"] for row in rows], [row["error"] for row in rows]


def bits_of(x: float) -> tuple[list[int], list[int], list[int]]:
    """Return which of the 24 bits of a float32 its halves hold: of x_hi, of x_lo, of neither.

    0 is the most significant bit of x. x_hi has 11 bits. x_lo has 11 and a sign, which is worth
    one more: it reaches 12 bits further. Raises ValueError unless x is from 1 to 65,504, where
    neither half is subnormal nor infinite.
    """
    if not 1 <= x <= 65_504:
        raise ValueError(f"x is {x}; take a number from 1 to 65,504")
    number = np.float32(x)
    high = np.float16(number)
    low = np.float16(number - np.float32(high))
    exact = float(high) + float(low) == float(number)
    places = list(range(24))
    return (places[:11], places[11:], []) if exact else (places[:11], places[11:23], places[23:])


def bits_figure(x: float) -> Figure:
    """Draw the 24 significant bits of x and which of its two halves reach them."""
    high, low, lost = bits_of(x)
    number = np.float32(x)
    mantissa = int(number.view(np.uint32)) & 0x7FFFFF | 0x800000
    drawing, ax = styles.subplots(9, 1.9)
    looks = ((high, COLOURS[5], "x_hi"), (low, styles.LIGHT[1], "x_lo"), (lost, "white", "lost"))
    for places, colour, name in looks:
        for place in places:
            boxes.box(ax, place, 0, str(mantissa >> (23 - place) & 1), facecolor=colour)
        if places:
            middle = sum(places) / len(places) + 0.5
            ax.text(middle, 1.25, name, ha="center", va="bottom", fontsize="small")
    style(ax, f"The two halves of {x:g} reach {len(high) + len(low)} of its 24 significant bits")
    ax.set(xlim=(-0.1, 24.1), ylim=(-0.1, 2), yticks=[])
    ax.set_xticks([0.5, 10.5, 23.5], ["1", "11", "24"])
    ax.set_xlabel("bit of x, the most significant one first")
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    return drawing
