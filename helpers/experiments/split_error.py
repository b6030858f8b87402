"""How far sums of products stray: halves, split numbers, split numbers with short sums, FP32 units.

    rows = split_error.simulated()                        # in the simulator, on any machine
    record = split_error.record(gpu, lab)                 # on the GPU, or the recorded run
    split_error.picture(axes, record)

The error of a sum is its distance from the sum in float64, divided by the sum of the absolute
products: so sums of both signs and sums of one sign have one measure. A row also has a checksum of
all results: two devices that add alike give the same one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import results, simulator
from helpers.device import Device
from helpers.launch import simulate
from helpers.plotting import COLOURS, caption, style
from helpers.problems import tensor_product
from helpers.problems.tensor_product import Product, Split, Units

NAME = "split_error"
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
MARKERS = {"halves": "s--", "split": "^-", "split, short sums": "o-", "FP32 units": "x:"}


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
    product: Callable[[Product, np.ndarray, np.ndarray], np.ndarray],
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


def record(gpu: Device, lab: str) -> results.Record:
    """Measure on the GPU, or return the recorded run where there is none."""
    return results.record(
        NAME, lambda: measure(tensor_product.product_on_device), device=gpu, lab=lab
    )


def picture(axes: Sequence[Any], data: results.Record, title: str = "") -> None:
    """Draw the error over the length, one of two axes for each kind of signs."""
    rows = data.rows()
    for ax, signs in zip(axes, SIGNS, strict=True):
        for number, name in enumerate(SERIES):
            chosen = [row for row in rows if row["series"] == name and row["signs"] == signs]
            lengths, error = ([row[key] for row in chosen] for key in ("length", "error"))
            look = {"color": COLOURS[number], "label": name, "markersize": 5}
            ax.plot(lengths, error, MARKERS[name], **look)
        style(ax, title or f"Sums of products of {signs}")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set(xlabel="terms of a sum", ylabel="error / sum of absolute products")
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    caption(axes[0], data)


def said(rows: Iterable[Mapping[str, Any]], length: int, signs: str = "one sign") -> str:
    """Return the errors of all series at one length, one a line."""
    found = {r["series"]: r for r in rows if r["length"] == length and r["signs"] == signs}
    lines = [f"{name:20}{found[name]['error']:10.1e}" for name in SERIES]
    return "\n".join([f"{length:,} terms, {signs}", *lines])
