"""How much the solution of each exercise takes in each case, as the measure for all answers.
Another technique may take several times as much, but not the work of all threads in one of them,
and not all work many times.

    amounts.budgets("conv2d_basic", cases)    # of the cases that are counted

The numbers lie in amounts.json. `python -m helpers.tools.exercise_records --write` counts them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from helpers.exercises.judge.budgets import Amount, Budget, float_arithmetic, spread, warps
from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.outcome import Outcome

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Kind:
    """One kind of amount. what: its words, for a verdict; times: so many times the solution's may
    be taken, and `more` on top of it, and `of_a_warp` for each warp; if_any: whether it says
    nothing where the solution takes none.
    """

    what: str
    of: Amount
    times: float
    more: float
    hint: str
    of_a_warp: float = 0
    if_any: bool = False

    def most(self, amount: float, case: Case) -> float:
        """Return the most for an answer where the solution takes so much."""
        if self.if_any and not amount:
            return math.inf
        return self.times * amount + self.more + self.of_a_warp * warps(case)


def _sectors(*accesses: str) -> Amount:
    return lambda case, one: sum(one.total("sectors", "global", access) for access in accesses)


_AGAIN = (
    "Most answers need far less. Does a thread do again what it, or another one, has done already, "
    "or do lanes of a warp wait for one of them?"
)
_FAR = (
    "Most answers touch far less memory. Do neighbouring lanes access neighbouring cells, and is "
    "what a block shares loaded once?"
)
KINDS: Mapping[str, Kind] = {
    "steps": Kind("instructions of one warp", spread("steps"), 8, 200, _AGAIN),
    "floats": Kind(
        "operations on floats, by warps", float_arithmetic, 3, 0, _AGAIN, of_a_warp=16
    ),
    "numbers": Kind(
        "numbers read from shared memory one after another",
        spread("numbers"),
        2,
        40,
        _AGAIN,
        if_any=True,
    ),
    "loads": Kind("sectors that are loaded", _sectors("load"), 3, 64, _FAR),
    "stores": Kind("sectors that are stored", _sectors("store", "atomic"), 3, 64, _FAR),
}


def counted(cases: Sequence[Case]) -> list[int]:
    """Return the places of the cases that are counted: those with budgets, and the largest."""
    largest = max(range(len(cases)), key=lambda k: cases[k].count)
    return [k for k, case in enumerate(cases) if case.budgeted or k == largest]


def budgets(name: str, cases: Sequence[Case]) -> Iterator[Budget]:
    """Yield the budgets of an exercise's cases; none for an exercise whose answers choose their
    grids, which is not recorded.
    """
    rows = _recorded().get(name)
    if rows is None:
        return
    of_case = dict(zip((id(cases[k]) for k in counted(cases)), rows, strict=True))
    for key, kind in KINDS.items():
        most = partial(_most, kind, {case: row[key] for case, row in of_case.items()})
        yield Budget(kind.what, kind.of, most, kind.hint, quiet=True, everywhere=True)


def measured(case: Case, one: Outcome) -> dict[str, float]:
    """Return the amounts of one case."""
    return {name: kind.of(case, one) for name, kind in KINDS.items()}


def _most(kind: Kind, amounts: Mapping[int, float], case: Case) -> float:
    return kind.most(amounts[id(case)], case)


@cache
def _recorded() -> dict[str, list[dict[str, float]]]:
    return json.loads(FILE.read_text(encoding="utf-8"))
