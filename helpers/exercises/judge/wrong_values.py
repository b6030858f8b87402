"""What the wrong values of an exercise say, whatever the exercise is: hints that follow from the
outputs alone.

Each function returns what to say, and "" where the values do not say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from helpers import checking
from helpers.exercises.judge.cases import Case, real_pairs

ENOUGH = 64  # values in which a pattern shows


def only_large(cases: Sequence[Case], wrong: Sequence[int]) -> str:
    """Return what to say if only cases are wrong that 16 bits cannot count; else ""."""
    sizes = [max(array.size for array in case.arrays.values()) for case in cases]
    if not wrong or min(sizes[k] for k in wrong) < 2**15:
        return ""
    if len(wrong) == len(cases):
        return ""
    return (
        f"Only arrays of {min(sizes[k] for k in wrong):,} values and more are wrong: is an index a "
        "short, or a size written into the kernel? Or does a product with 1.0f / n, which is "
        "rounded, stand for a division of whole numbers?"
    )


FRACTION = (
    "No output has a fraction, and the right ones have: is a sum, a tile or another variable an "
    "int, or FP16? An int cuts the fraction off, and a half has no room for it: make it a float."
)


def _has_axes(case: Case, wrong: Sequence[Case]) -> bool:
    """Return whether a layer that is right has several channels or maps, and several of everything
    that all wrong ones have several of: with one of each, many a wrong index is right. True of a
    case without them.
    """
    shape = case.facts.get("shape")
    if shape is None:
        return True
    others = [other.facts["shape"] for other in wrong]
    missing = [axis for axis in "BCM" if getattr(shape, axis) == 1]
    return max(shape.C, shape.M) > 1 and all(
        any(getattr(other, axis) == 1 for other in others) for axis in missing
    )


def without_fractions(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Return whether all outputs (got, want) are whole numbers near the right ones, of which some
    are not whole.
    """
    return all(_is_cut(got, want) for got, want in pairs) and not all(
        (want == np.trunc(want)).all() for _, want in pairs
    )


def _is_cut(got: np.ndarray, want: np.ndarray) -> bool:
    if got.dtype.kind != "f" or not np.isfinite(got).all() or (got != np.trunc(got)).any():
        return False
    return bool(np.median(np.abs(got - want)) <= 0.05 * np.abs(want).max())


def moved(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> str:
    """Return what to say if all outputs (got, want) have the right values in other places, or "".
    """
    if not all(np.array_equal(np.sort(got, None), np.sort(want, None)) for got, want in pairs):
        return ""
    return (
        "The values are right, and stand in other places: look at the index with which they are "
        "stored, and at the one that says which output a thread has."
    )


def times(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> str:
    """Return what to say if all outputs (got, want) are the right ones times one number, or lean
    to one side of it; else "".
    """
    got, want = (
        np.concatenate([real_pairs(a).astype(np.float64).ravel() for a in side])
        for side in zip(*pairs, strict=True)
    )
    if want.size < ENOUGH or not want.any() or not np.isfinite(got).all():
        return ""
    factor = float(got @ want / (want @ want))
    if abs(factor) < 1e-3:
        return ""
    if not np.allclose(got, factor * want, 1e-5, 1e-5 * np.abs(want).max()):
        return ""
    if factor == -1:
        return "Every value has the other sign: is something subtracted that belongs added?"
    if abs(factor - 1) < 1e-3:
        return _leaning(got / want - 1) if want.all() else ""
    return (
        f"Every value is {factor:.4g} times the right one: is a factor missing or written twice, "
        "or a term added more than once?"
    )


def _leaning(errors: np.ndarray) -> str:
    """Return what to say if small relative errors have one sign, but for noise; else ""."""
    mean = float(errors.mean())
    # A few large values, which are right, hide others that are not.
    if np.abs(errors).max() > 1e-3 or abs(mean) < 0.9 * np.sqrt(np.mean(errors**2)):
        return ""
    return (
        f"The values are nearly right, and too {'small' if mean < 0 else 'large'}, by about "
        f"{abs(mean):.1g} of their size. Is a sum cut, or rounded to one side, again and again?"
    )


def only_one_width(cases: Sequence[Case], wrong: Sequence[int]) -> str:
    """Return what to say if filters of one width are right, of several others wrong; else "". A
    filter of one tap tells nothing.
    """
    widths = [case.kinds.get("filter width") for case in cases]
    bad = {widths[k] for k in wrong}
    cases_of_wrong = [cases[k] for k in wrong]
    right = {
        width
        for k, width in enumerate(widths)
        if k not in wrong and _has_axes(cases[k], cases_of_wrong)
    } - {1, None}
    if len(right) != 1 or len(bad) < 2 or right & bad:
        return ""
    (width,) = right
    return (
        f"Only filters of width {width} are right: is this number written into the kernel, in "
        "place of the argument?"
    )


def where_unwritten(case: Case, missing: np.ndarray) -> str:
    """Return where the values of an output are that nobody writes, as the rest of a sentence; ""
    where they are all, or none, or stand in no pattern.
    """
    if not missing.any() or missing.all():
        return ""
    written = np.arange(1.0, missing.size + 1).reshape(missing.shape)
    try:
        checking.check(np.where(missing, np.nan, written), written, rtol=0)
    except checking.CheckError as error:
        kind, blocks = error.diagnosis.kind, prod(case.steps[0].grid)
        left, behind = np.count_nonzero(missing), np.count_nonzero(~missing)
        at_end, at_start = missing.flat[behind:].all(), missing.flat[:left].all()
        # The last block of several has a smaller part than that.
        is_more = left * blocks > missing.size or (blocks == 1 and missing.ndim == 1)
        if is_more and (at_start or (at_end and (kind == "last block" or blocks > 1))):
            of_blocks = "Does each block write outputs of its own (blockIdx), and each thread"
            whose = "Does each thread write" if blocks == 1 else of_blocks
            where = f"after the first {behind:,}" if at_end else f"before the last {behind:,}"
            return f": with {case.title}, for example, those {where}. {whose} all of its outputs?"
        if kind == "last block" and missing.ndim > 1:
            kind = "last rows"
        return _UNWRITTEN.get(kind, "")
    return ""


ANYWHERE = (
    ": does every output have a thread, and is the last, partial block (or tile) stored, too?"
)
_UNWRITTEN = {  # by the kind of a diagnosis
    "halo": ", those at the ends: does a guard leave them out?",
    "last block": ", those from the last, partial block on: is it stored, too?",
    "last rows": (
        ", those from some row, column or plane on: is the last, partial block (or tile) stored, "
        "too, and does each thread write all of its outputs?"
    ),
    "halo, last block": ", those at the ends and in the last block: does a guard leave them out?",
    "stride": ", at equal distances: does each thread write all of its outputs?",
    "in each tile": ", some in each block (or tile): does each thread write all of its outputs?",
    "tile borders": ", those at the borders of tiles: does a guard leave them out?",
    "tiles": ", whole tiles: does each tile have a block, and a loop that comes to it?",
    "planes": ", whole planes: does the grid, or a loop, come to each map and image?",
}
