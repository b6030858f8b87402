"""Which cells of an array are wrong, as the shortest true description: by position, row, column or
channel, and by the block and the thread that should store each.

pattern(wrong)                    by position alone
pattern(wrong, stored)            by the launch, too

A description holds for all wrong cells and for no right one, or it is none. `words` has its text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

FEW = 4  # cells that a description may list one by one
MODULI = (2, 3, 4, 5, 6, 7, 8, 16, 32)
PLANES = ("channel", "image", "group")  # the axes before row and column, from the last one on
MOST_VALUES = 64  # of an axis of which each value is tried


@dataclass(frozen=True)
class Stored:
    """Who should store each cell. thread, block: int64 of the array's shape and a last axis of 3
    (x, y, z), -1 where nobody stores it; block_shape, grid: of the launch.
    """

    thread: np.ndarray
    block: np.ndarray
    block_shape: tuple[int, int, int]
    grid: tuple[int, int, int]


@dataclass(frozen=True)
class Condition:
    """What the described cells have in common on one axis. axis: "cell" (the flat index), "row",
    "column", one of PLANES, "border" (the distance to the nearest edge of a plane), "diagonal"
    (column - row), "threadIdx.x" ... "threadIdx.z", "block" in a grid of one row, else
    "blockIdx.x" ... "blockIdx.z"; relation: "is", "is not", "from", "before", "modulo"; value: the
    value, or the remainder; modulus: of "modulo"; extent: the axis has the values 0 to extent - 1.
    """

    axis: str
    relation: str
    value: int
    extent: int
    modulus: int = 0

    @property
    def is_last(self) -> bool:
        """Whether the condition holds for the last value of its axis alone."""
        return self.relation in ("is", "from") and self.value == self.extent - 1 > 0


@dataclass(frozen=True)
class Pattern:
    """The wrong cells of an array. conditions: joined by `join`, "and" or "or"; none where no exact
    description was found; cells: the wrong ones as index tuples, where they are few.
    """

    shape: tuple[int, ...]
    count: int
    join: str = "and"
    conditions: tuple[Condition, ...] = ()
    cells: tuple[tuple[int, ...], ...] = ()

    @property
    def total(self) -> int:
        """Cells of the array."""
        return int(np.prod(self.shape))

    @property
    def is_all(self) -> bool:
        """Whether every cell is wrong."""
        return self.count == self.total


@dataclass(frozen=True)
class _Axis:
    """values: at each cell, flat, -1 where none is known; price: of speaking of this axis."""

    name: str
    extent: int
    values: np.ndarray
    price: float


@dataclass(frozen=True)
class _Candidate:
    """holds: of bool, flat; is_wide: for all wrong cells; is_narrow: for no right one."""

    cost: float
    condition: Condition
    holds: np.ndarray
    is_wide: bool
    is_narrow: bool


def pattern(wrong: np.ndarray, stored: Stored | None = None) -> Pattern:
    """Return the shortest true description of the cells that are True in `wrong`.

    Raises ValueError if no cell is wrong, or if `stored` has another shape.
    """
    wrong = np.atleast_1d(np.asarray(wrong, bool))
    count = int(np.count_nonzero(wrong))
    if not count:
        raise ValueError("no cell is wrong, so there is nothing to describe")
    if stored is not None and stored.thread.shape != (*wrong.shape, 3):
        raise ValueError(
            f"the array has the shape {wrong.shape}, and its threads {stored.thread.shape[:-1]}"
        )
    few = tuple(tuple(map(int, cell)) for cell in np.argwhere(wrong)) if count <= FEW else ()
    if count == wrong.size:
        return Pattern(wrong.shape, count, cells=few)
    flat = wrong.ravel()
    candidates = [one for axis in _axes(wrong.shape, stored) for one in _candidates(axis, flat)]
    join, conditions = _shortest(flat, candidates, len(few))
    return Pattern(wrong.shape, count, join, conditions, few)


def _shortest(
    wrong: np.ndarray, candidates: list[_Candidate], few: int
) -> tuple[str, tuple[Condition, ...]]:
    """Return the cheapest exact description. A list of cells costs more with each of them."""
    limit = 1.0 + 0.9 * few if few else np.inf
    best: tuple[float, str, tuple[Condition, ...]] = (limit, "and", ())
    candidates = sorted(candidates, key=lambda one: one.cost)
    # What holds for all wrong cells can be narrowed; what holds for no right one can be joined.
    wide = [one for one in candidates if one.is_wide]
    narrow = [one for one in candidates if one.is_narrow]
    for one in wide:
        if one.is_narrow and one.cost < best[0]:
            best = (one.cost, "and", (one.condition,))
    for join, of in (("and", wide), ("or", narrow)):
        for one, other in itertools.combinations(of, 2):
            cost = one.cost + other.cost + _cost_of_two(join, one.condition, other.condition)
            if cost >= best[0]:
                continue
            both = one.holds & other.holds if join == "and" else one.holds | other.holds
            if np.array_equal(both, wrong):
                best = (cost, join, (one.condition, other.condition))
    return best[1:]


def _cost_of_two(join: str, one: Condition, other: Condition) -> float:
    """Return what it costs to say two conditions together; infinity for two that no sentence joins:
    two axes with "or", and two conditions on one axis with "and" that are no range.
    """
    is_range = {one.relation, other.relation} == {"from", "before"}
    if one.axis == other.axis:
        simple = one.relation == other.relation == "is" or one.relation == "is" == other.relation
        return (0.5 if simple else np.inf) if join == "or" else (-0.7 if is_range else np.inf)
    kinds = {one.axis[:5], other.axis[:5]}
    if join == "or" or ("modulo" in (one.relation, other.relation) and "cell" in kinds):
        return np.inf
    # A thread in a block is said in one breath, and so is a row of a channel.
    return 0.3 if "cell" not in kinds and len(kinds & {"threa", "block"}) != 1 else 0.9


def _candidates(axis: _Axis, wrong: np.ndarray) -> Iterator[_Candidate]:
    """Yield each condition on an axis that may be a part of a description: counted by the axis's
    values, so that a long array costs little.
    """
    low = int(axis.values.min())
    is_signed = axis.name == "diagonal"
    known = is_signed | (axis.values >= 0)
    length = int(axis.values.max()) - low + 1
    at = np.arange(low, low + length)
    bad = np.bincount(axis.values[wrong & known] - low, minlength=length)
    good = np.bincount(axis.values[~wrong & known] - low, minlength=length)
    if not bad.any() or np.count_nonzero(bad + good) < 2:
        return
    is_all_known = known[wrong].all()
    for relation, value, modulus, cost in _relations(axis, at[bad > 0], at[(bad + good) > 0]):
        holds = _HOLDS[relation](at, value, modulus) & (is_signed | (at >= 0))
        is_wide = bool(is_all_known and not bad[~holds].any())
        is_narrow = not good[holds].any()
        if is_wide or (is_narrow and bad[holds].any()):
            condition = Condition(axis.name, relation, value, axis.extent, modulus)
            yield _Candidate(
                cost + axis.price, condition, holds[axis.values - low], is_wide, is_narrow
            )


_HOLDS = {
    "is": lambda at, value, modulus: at == value,
    "is not": lambda at, value, modulus: at != value,
    "from": lambda at, value, modulus: at >= value,
    "before": lambda at, value, modulus: at < value,
    "modulo": lambda at, value, modulus: at % modulus == value,
}


def _relations(
    axis: _Axis, bad: np.ndarray, present: np.ndarray
) -> Iterator[tuple[str, int, int, float]]:
    """Yield relation, value, modulus and cost. bad: values with wrong cells; present: all values.

    Only the values at which the wrong cells begin and end can be exact, so a long axis is tried at
    these alone.
    """
    if axis.name == "diagonal":
        yield from (("is", 0, 0, 1.8), ("is not", 0, 0, 1.8))
        return
    last = axis.extent - 1
    if axis.name == "border":
        if bad[-1] < present[-1]:
            yield "before", int(bad[-1]) + 1, 0, 1.4
        return
    for value in sorted({*map(int, bad[:MOST_VALUES]), int(bad[-1])}):
        yield "is", value, 0, 1.0 if value in (0, 1, last) else 1.4
    for value in map(int, np.setdiff1d(present, bad)[:MOST_VALUES]):
        yield "is not", value, 0, 1.9 if value in (0, last) else 2.3
    first, end = int(bad[0]), int(bad[-1]) + 1
    if first > 0:
        yield "from", first, 0, 1.5 if first == 1 else 1.8
    if end < axis.extent:
        yield "before", end, 0, 1.6
    for modulus in MODULI:
        if present.size < 2 * modulus:
            return
        for remainder in sorted({*(int(one) % modulus for one in bad[:MOST_VALUES])}):
            yield "modulo", remainder, modulus, 2.2 + 0.02 * modulus


def _axes(shape: tuple[int, ...], stored: Stored | None) -> Iterator[_Axis]:
    """Yield every axis on which cells differ. What the launch explains is said of the launch,
    unless one block has all cells.
    """
    index = np.indices(shape).reshape(len(shape), -1)
    size = index.shape[1]
    yield _Axis("cell", size, np.arange(size), 0.0 if len(shape) == 1 else 0.6)
    if len(shape) > 1:
        height, width = shape[-2:]
        row, column = index[-2], index[-1]
        yield _Axis("column", width, column, 0.0)
        yield _Axis("row", height, row, 0.0)
        for name, axis in zip(PLANES, range(len(shape) - 3, -1, -1), strict=False):
            yield _Axis(name, shape[axis], index[axis], 0.0)
        sides = (row, height - 1 - row, column, width - 1 - column)
        yield _Axis("border", (min(height, width) + 1) // 2, reduce(np.minimum, sides), 0.2)
        yield _Axis("diagonal", 0, column - row, 0.3)
    if stored is None:
        return
    is_row = max(stored.grid[1:]) == 1  # then a block has one number
    for k, letter in enumerate("xyz"):
        blocks, threads = stored.block[..., k].ravel(), stored.thread[..., k].ravel()
        yield _Axis("block" if is_row else f"blockIdx.{letter}", stored.grid[k], blocks, 0.1)
        # With one block, a thread's number only repeats a position.
        price = 0.2 if max(stored.grid) > 1 else 0.7
        yield _Axis(f"threadIdx.{letter}", stored.block_shape[k], threads, price)
