"""What the solutions of the exercises take, counted by the simulator:
`python -m helpers.tools.exercise_amounts [--write] [NAME ...]`.

--write puts the amounts into helpers/exercises/amounts.json. Without it, the exit status is 1 where
the file and the solutions differ by more than rounding: the file follows each change of a
solution's kernel, of a case, and of the compiler.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from helpers import exercises, kernel_cells
from helpers.exercises import amounts, outcome
from helpers.exercises.base import NOTEBOOK_SEED
from helpers.exercises.exercise import Exercise

_ROUNDING = 0.25  # another compiler's version schedules other instructions


def of(one: Exercise) -> list[dict[str, float]]:
    """Return the amounts of an exercise's solution in each case that is counted."""
    cell = kernel_cells.parse(one.solution)
    cases = one.fitted(cell, NOTEBOOK_SEED)
    counted = [cases[k] for k in amounts.counted(cases)]
    ran = outcome.run(cell, counted, limit_s=one.limit_s, checks=False)
    return [amounts.measured(*pair) for pair in zip(counted, ran, strict=True)]


def differ(ours: Sequence[dict[str, float]], others: Sequence[dict[str, float]]) -> bool:
    """Return whether two lists of amounts differ by more than rounding."""
    return len(ours) != len(others) or any(
        abs(row[kind] - other.get(kind, -1)) > _ROUNDING * row[kind]
        for row, other in zip(ours, others, strict=True)
        for kind in row
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, and compare or write."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.exercise_amounts",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--write", action="store_true", help="write the file")
    parser.add_argument("names", nargs="*", help="exercises, by default all")
    given = parser.parse_args(arguments)
    recorded = json.loads(amounts.FILE.read_text()) if amounts.FILE.exists() else {}
    found = map(exercises.find, exercises.names())
    every = [one for one in found if isinstance(one, Exercise) and one.fit is None]
    chosen = [one for one in every if not given.names or one.name in given.names]
    made = {one.name: of(one) for one in chosen}
    different = [name for name in made if differ(made[name], recorded.get(name, ()))]
    if given.write:
        kept = {one.name: recorded.get(one.name) for one in every} | made
        rows = (
            f"  {json.dumps(name)}: [\n"
            + ",\n".join(f"    {json.dumps(row)}" for row in rows)
            + "\n  ]"
            for name, rows in kept.items()
            if rows
        )
        amounts.FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"{len(made)} exercises; other amounts than recorded: {', '.join(different) or 'none'}")
    return int(bool(different) and not given.write)


if __name__ == "__main__":
    sys.exit(main())
