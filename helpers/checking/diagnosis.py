"""The pattern of wrong values, and its usual cause.

The values are looked at first, then the places of the wrong ones: a missing halo, an unguarded last
block, whole tiles, a flipped filter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from helpers.checking import left_on_device
from helpers.quantities import quantity

SHOWN = 5  # the most wrong cells in a message
# The most cells at an end that can be a halo; the labs' filters are far shorter than 129.
LONGEST_HALO = 64
MOST_THREADS = 1024  # of a block
SMALLEST_TILE = 16  # patterns with a shorter period are strides, not tiles


@dataclass(frozen=True)
class Diagnosis:
    """The pattern of the wrong values.

    kind: a short key ("halo", "last block", ...). text: the pattern and its usual cause.
    """

    kind: str
    text: str


def kind_of(a: np.ndarray) -> str:
    """Return "float", "integer" or "bool", or "" for another dtype."""
    return {"f": "float", "i": "integer", "u": "integer", "b": "bool"}.get(a.dtype.kind, "")


def absolute_error(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return |got - want| in float64; different integers differ by at least 1, however large."""
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
    if got.dtype.kind in "iu":
        return np.where(got == want, 0.0, np.maximum(error, 1.0))
    return error


def diagnose(
    got: np.ndarray,
    want: np.ndarray,
    wrong: np.ndarray,
    rtol: float,
    atol: float,
    suspects: Mapping[str, Any],
) -> Diagnosis:
    """Return the pattern of the `wrong` values. suspects: maps a cause to its array."""

    def same(part: np.ndarray, other: np.ndarray) -> bool:
        return bool(
            (absolute_error(part, other) <= atol + rtol * np.abs(other.astype(np.float64))).all()
        )

    for find in (
        lambda: _left(got, want, same),
        lambda: _suspect(got, suspects, same),
        lambda: _constant(got, want),
        lambda: _moved(got, want, wrong, same),
        lambda: _precision(got, want, wrong) if 4 * wrong.sum() > wrong.size else None,
        lambda: _place(got, wrong),
        lambda: _precision(got, want, wrong),
        lambda: _poison(got, want, wrong),
    ):
        if diagnosis := find():
            return diagnosis
    if wrong.all():
        return Diagnosis(
            "all",
            "Every value is wrong, in no pattern known here: compare the formula with the kernel, "
            "then the order and the types of the arguments.",
        )
    return Diagnosis(
        "scattered",
        "Wrong values occur here and there, in no pattern known here: if they "
        "change from run to run, look for a missing __syncthreads() or for memory that is read "
        "before it is written; if not, at the index arithmetic.",
    )


Same = Callable[[np.ndarray, np.ndarray], bool]


def _left(got: np.ndarray, want: np.ndarray, same: Same) -> Diagnosis | None:
    words = left_on_device.find(got, lambda there: same(there, want))
    return Diagnosis("left on the device", words) if words else None


def _suspect(got: np.ndarray, suspects: Mapping[str, Any], same: Same) -> Diagnosis | None:
    for cause, array in suspects.items():
        array = np.asarray(array)
        if array.shape == got.shape and kind_of(array) == kind_of(got) and same(got, array):
            return Diagnosis("suspect", f"The result is what comes out if {cause}.")
    return None


def _constant(got: np.ndarray, want: np.ndarray) -> Diagnosis | None:
    if np.isnan(got).all():
        return Diagnosis(
            "untouched",
            "Every value is NaN, which marks memory that nothing has filled: the kernel stored "
            "nothing, or computed with such memory. Was it launched on this array? Does its guard "
            "let threads store? Was the input copied in, and the result copied back?",
        )
    if not got.any() and want.any():
        return Diagnosis(
            "zero",
            "Every value is 0: the kernel wrote nothing or sums of nothing. "
            "Was the result copied back, and were the input and the filter copied to the device (a "
            "__constant__ filter starts as zeros)?",
        )
    return None


def _poison(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> Diagnosis | None:
    """Find values of which each wrong one is NaN, and none of the right ones."""
    if not np.isnan(got[wrong]).all() or np.isnan(want[wrong]).any():
        return None
    return Diagnosis(
        "poison",
        "Each wrong value is NaN, which marks memory that nothing has filled: no thread stored it, "
        "or something that it was made of. Take one of them: which thread should store it?",
    )


def _moved(got: np.ndarray, want: np.ndarray, wrong: np.ndarray, same: Same) -> Diagnosis | None:
    """Find right values in wrong places. One or two wrong values would fit anything."""
    if wrong.sum() < 3:
        return None
    if want.ndim == 2 and same(got, want.T.reshape(want.shape)):
        return Diagnosis(
            "transposed",
            "The values are right but stand transposed: rows and columns are exchanged, usually "
            "threadIdx.x used for the row, or row * height in place of row * width.",
        )
    for axis in range(want.ndim):
        if same(got, np.flip(want, axis)):
            along = "" if want.ndim == 1 else f" along axis {axis}"
            return Diagnosis(
                "reversed",
                f"The output runs backwards{along}: the index counts down, or, "
                "if the input is an impulse, the filter is flipped (cross-correlation reads "
                "filter[j] beside N[i - R + j]).",
            )
        for shift in (1, -1, 2, -2, 3, -3):
            if _is_shifted(got, want, wrong, shift, axis, same):
                return _shifted(shift, "" if want.ndim == 1 else f" along axis {axis}")
    return None


def _is_shifted(
    got: np.ndarray, want: np.ndarray, wrong: np.ndarray, shift: int, axis: int, same: Same
) -> bool:
    """Return whether got[i + shift] == want[i], and this explains most of the wrong values."""
    if got.shape[axis] <= 2 * abs(shift):
        return False
    here, there = [slice(None)] * got.ndim, [slice(None)] * got.ndim
    here[axis] = slice(shift, None) if shift > 0 else slice(None, shift)
    there[axis] = slice(None, -shift) if shift > 0 else slice(-shift, None)
    explained = int(wrong[tuple(here)].sum())
    return (
        explained >= 3
        and 2 * explained > wrong.sum()
        and same(got[tuple(here)], want[tuple(there)])
    )


def _shifted(shift: int, along: str) -> Diagnosis:
    cells = "1 cell" if abs(shift) == 1 else f"{quantity(abs(shift), 'cell')}"
    return Diagnosis(
        "shifted",
        f"The values are right but stand {cells} too {'late' if shift > 0 else 'early'}{along}: "
        f"an index is off by {abs(shift)}, often i - R + j with the wrong R, "
        "or a tile read without adding its halo.",
    )


def _place(got: np.ndarray, wrong: np.ndarray) -> Diagnosis | None:
    """Find a pattern in the places of wrong values, plane by plane for three axes and more."""
    hold = _hold(got[wrong])
    if wrong.ndim > 2:
        planes = wrong.reshape(-1, *wrong.shape[-2:])
        return _planes(planes, hold) or _place_2d(np.asarray(planes.any(axis=0)), hold)
    return _place_2d(wrong, hold) if wrong.ndim == 2 else _place_1d(wrong.ravel(), "cells", hold)


def _hold(values: np.ndarray) -> str:
    if np.isnan(values).all():
        return _NAN
    return " They hold 0." if not values.any() else ""


def _planes(wrong: np.ndarray, hold: str) -> Diagnosis | None:
    bad = np.flatnonzero(wrong.any(axis=(1, 2)))
    if bad.size == len(wrong) or not wrong[bad].all():
        return None
    which = ", ".join(map(str, bad[:SHOWN])) + (", ..." if bad.size > SHOWN else "")
    return Diagnosis(
        "planes",
        f"Whole planes are wrong ({bad.size} of {len(wrong)}: {which}) and the others right: "
        f"look at the image or channel index, and at how many blocks the grid has for it.{hold}",
    )


def _place_2d(wrong: np.ndarray, hold: str) -> Diagnosis | None:
    """Find whole rows or columns, each like one axis; else a frame at the border, or tiles."""
    rows, columns = np.asarray(wrong.all(axis=1)), np.asarray(wrong.all(axis=0))
    if np.array_equal(wrong, rows[:, None] | columns[None, :]):
        by_rows = _place_1d(rows, "rows", hold) if rows.any() else None
        by_columns = _place_1d(columns, "columns", hold) if columns.any() else None
        if by_rows and by_columns and by_rows.kind == by_columns.kind:
            return Diagnosis(by_rows.kind, f"{by_rows.text} The same holds for columns.")
        if not (rows.any() and columns.any()):
            return by_rows or by_columns
    return _frame(wrong, hold) or _tiles_2d(wrong, hold)


def _frame(wrong: np.ndarray, hold: str) -> Diagnosis | None:
    """Find a frame: most cells within r of the border are wrong on all four sides, none inside."""
    rows, columns = np.nonzero(wrong)
    height, width = wrong.shape
    sides = (rows, height - 1 - rows, columns, width - 1 - columns)
    r = int(np.minimum.reduce(sides).max()) + 1
    if 4 * r > min(height, width):
        return None
    inside = (height - 2 * r) * (width - 2 * r)
    edges = (wrong[:r, r:-r], wrong[-r:, r:-r], wrong[r:-r, :r], wrong[r:-r, -r:])
    if 2 * rows.size < wrong.size - inside or not all(edge.any() for edge in edges):
        return None
    return _halo(f"Only cells within {r} of the border are wrong", hold)


def _tiles_2d(wrong: np.ndarray, hold: str) -> Diagnosis | None:
    height = math.gcd(*(np.flatnonzero((wrong[1:] != wrong[:-1]).any(axis=1)) + 1).tolist())
    width = math.gcd(*(np.flatnonzero((wrong[:, 1:] != wrong[:, :-1]).any(axis=0)) + 1).tolist())
    if min(height, width) < 4:
        return None
    return Diagnosis("tiles", _TILES.format(tile=f"{width} x {height} cells (x, y)", hold=hold))


_NAN = " They hold NaN: nothing wrote them, or they were computed from memory that nothing wrote."
_HALO = (
    "{where}: the edge. Does a guard leave out the ends? If outputs need cells outside the input, "
    "what do these count as?{hold}"
)
_UNWRITTEN_EDGE = (
    "{where}: the output holds NaN there. No thread has written it, or it was computed from memory "
    "that nothing has set. Does a guard leave out the ends, or are there too few threads? If "
    "outputs need cells outside the input, what do these count as?"
)
_LAST = (
    "Only the {unit} from {start:,} on are wrong: the last, partial block. "
    "The size is not a multiple of the block: is the grid rounded down (it must be rounded up), "
    "or does the last block stop early?{hold}"
)
_BEHIND = (
    "Only the {unit} from {start:,} on are wrong. Is the size that the kernel gets the whole one, "
    "and is the grid rounded up?{hold}"
)
_TILES = (
    "Wrong values come in whole tiles of {tile} and the others are right: "
    "look at the tile's origin (blockIdx times the tile, not the block, where they differ) and at "
    "how many blocks are launched.{hold}"
)
_BORDERS = (
    "Wrong {unit} occur at the borders between tiles of {period}, {length} at each: "
    "the tile's halo. Is it loaded on both sides, and is there a __syncthreads() "
    "between loading and reading?{hold}"
)
_IN_TILE = (
    "In each tile of {period} {unit}, {length} are wrong and the rest right: "
    "the tile is read before all of it is loaded (is a __syncthreads() missing?), "
    "or only a part of it is loaded at all.{hold}"
)
_STRIDE = (
    "Of every {period} {unit}, {length} wrong, from index {first} on: a stride. "
    "Look at a component of a vector load, at an unrolled loop's remainder, "
    "or at an index that is multiplied by {period}.{hold}"
)


def _place_1d(wrong: np.ndarray, unit: str, hold: str) -> Diagnosis | None:
    if wrong.all():
        return None
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wrong, [False]])))
    runs = [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
    ends = _ends(wrong, runs, unit, hold)
    return ends or _tiles_1d(wrong.size, runs, unit, hold) or _period(wrong.size, runs, unit, hold)


def _ends(wrong: np.ndarray, runs: list[tuple[int, int]], unit: str, hold: str) -> Diagnosis | None:
    """Find wrong values only at the ends, around the longest run of right ones."""
    n = wrong.size
    stops = [0, *(end for _, end in runs)]
    begins = [*(begin for begin, _ in runs), n]
    first, last = max(zip(stops, begins, strict=True), key=lambda good: good[1] - good[0])
    head, tail = wrong[:first], wrong[last:]
    if not (_wrong_end(head) and _wrong_end(tail[::-1])):
        return None
    # Few values are right by chance, or the first block is right.
    if 10 * (last - first) < n and (head.size or last % SMALLEST_TILE):
        return None
    if not tail.size:
        if head.size % (2 * SMALLEST_TILE) == 0:  # It is a tile, not a halo.
            return None
        return (
            _halo(f"Only {_these('first', first, unit)} wrong", hold)
            if first <= min(LONGEST_HALO, n // 2)
            else None
        )
    if not head.size:
        if last % SMALLEST_TILE == 0 or tail.size > LONGEST_HALO:
            return _last_block(last, tail.size, unit, hold)
        if tail.size > n // 2:  # Few values are right by chance.
            return None
        return _halo(f"Only {_these('last', tail.size, unit)} wrong", hold)
    if first > LONGEST_HALO:
        return None
    if tail.size <= min(2 * first, LONGEST_HALO):
        return _halo(
            f"Only the {unit} at the ends are wrong, first {first} and last {tail.size}", hold
        )
    halo, block = (
        _halo(f"At the start, {_these('first', first, unit)} wrong", hold),
        _last_block(last, tail.size, unit, ""),
    )
    return Diagnosis(
        "halo, last block", f"{halo.text} And: {block.text[0].lower()}{block.text[1:]}"
    )


def _wrong_end(end: np.ndarray) -> bool:
    """Return whether an end, outermost value first, is empty or wrong, with few right by chance."""
    right = end.size - int(end.sum())
    return not end.size or bool(end[0] and right <= max(1, end.size // 10))


def _these(which: str, count: int, unit: str) -> str:
    """Return words such as "the first 3 cells are" or "the last row is"."""
    return (
        f"the {which} {count} {unit} are"
        if count > 1
        else f"the {which} {unit.removesuffix('s')} is"
    )


def _halo(where: str, hold: str) -> Diagnosis:
    text = _UNWRITTEN_EDGE if hold == _NAN else _HALO
    return Diagnosis("halo", text.format(where=where, hold=hold))


def _last_block(start: int, count: int, unit: str, hold: str) -> Diagnosis:
    if start % SMALLEST_TILE or count > MOST_THREADS:  # it begins within a block, or is several
        return Diagnosis("last block", _BEHIND.format(unit=unit, start=start, hold=hold))
    # One or two values after a multiple of 16 may be a halo or a last block: name both.
    either = (
        " (If the size is a multiple of the block: the halo at the right end.)"
        if count <= 2
        else ""
    )
    return Diagnosis("last block", _LAST.format(unit=unit, start=start, hold=hold) + either)


def _tiles_1d(n: int, runs: list[tuple[int, int]], unit: str, hold: str) -> Diagnosis | None:
    edges = [edge for run in runs for edge in run if 0 < edge < n]
    tile = math.gcd(*edges)
    if tile < SMALLEST_TILE or (len(edges) == 1 and tile % SMALLEST_TILE):
        return None
    if any(4 * (end - start) < begin - end for (start, end), (begin, _) in pairwise(runs)):
        return None  # Short runs far apart are the borders of tiles.
    return Diagnosis("tiles", _TILES.format(tile=f"{tile:,} {unit}", hold=hold))


def _period(n: int, runs: list[tuple[int, int]], unit: str, hold: str) -> Diagnosis | None:
    """Find runs of one length at one distance in the whole array; its ends may cut a run."""
    inner = [run for run in runs if run[0] > 0 and run[1] < n]
    periods = {begin - start for (start, _), (begin, _) in pairwise(inner)}
    lengths = {end - start for start, end in inner}
    if len(runs) < 3 or len(periods) != 1 or len(lengths) != 1:
        return None
    period, length = periods.pop(), lengths.pop()
    (start, end), last = inner[0], inner[-1][0]
    # The runs do not cover the whole array: one is missing at an end.
    if start > period or last + period + length < n:
        return None
    # The run contains or touches a multiple of the period.
    if period >= SMALLEST_TILE and (start - 1) // period != end // period:
        if 2 * length > period:
            return Diagnosis(
                "in each tile", _IN_TILE.format(unit=unit, period=period, length=length, hold=hold)
            )
        return Diagnosis(
            "tile borders", _BORDERS.format(unit=unit, period=period, length=length, hold=hold)
        )
    first = start % period
    length_text = f"{length} are" if length > 1 else "1 is"
    return Diagnosis(
        "stride",
        _STRIDE.format(period=period, length=length_text, unit=unit, first=first, hold=hold),
    )


def _precision(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> Diagnosis | None:
    """Find many small errors without a large one. One or two small errors would fit anything."""
    if got.dtype.kind != "f" or wrong.sum() < 3:
        return None
    error = float(absolute_error(got, want).max() / (np.abs(want.astype(np.float64)).max() or 1.0))
    if not error < 5e-3:
        return None
    return Diagnosis(
        "precision",
        f"The values are right to about {math.floor(-math.log10(error))} digits: rounding, "
        "not an index. Is there FP16 where FP32 was asked (float holds 7 digits, half 3), "
        "or a long sum whose rounding exceeds the tolerance?",
    )
