"""What is recorded of the exercises, from the simulator:
`python -m helpers.tools.exercise_records [--write] [NAME ...]`.

--write puts what the solutions take into helpers/exercises/judge/amounts.json, and what the mutants
leave into helpers/exercises/judge/mutants.json. Without it, the exit status is 1 where the files
differ from what is found: they follow each change of a solution, of a mutant, of a case, and of the
compiler.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import exercises, kernel_cells
from helpers.exercises.judge import amounts, mutants, outcome
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.exercises.judge.exercise import Exercise

_ROUNDING = 0.25  # another compiler's version schedules other instructions


def amounts_of(one: Exercise) -> list[dict[str, float]]:
    """Return the amounts of an exercise's solution in each case that is counted; none where the
    answers choose their grids.
    """
    if one.fit is not None:
        return []
    cell = kernel_cells.parse(one.solution)
    cases = one.fitted(cell, NOTEBOOK_SEED)
    counted = [cases[k] for k in amounts.counted(cases)]
    ran = outcome.run(cell, counted, limit_s=one.limit_s, checks=False)
    return [amounts.measured(*pair) for pair in zip(counted, ran, strict=True)]


def mutants_of(one: Exercise) -> list[list[Any]]:
    """Return hint and traces of each mutant of an exercise, as mutants.recorded has them."""
    rows = []
    for mutant in mutants.of(one):
        cell = kernel_cells.parse(mutants.edited(one.solution, mutant.edits))
        rows.append([mutant.hint, list(map(mutants.trace, one.small_cases, one.run_small(cell)))])
    return rows


def differ(ours: Sequence[dict[str, float]], others: Sequence[dict[str, float]]) -> bool:
    """Return whether two lists of amounts differ by more than rounding."""
    return len(ours) != len(others) or any(
        abs(row[kind] - other.get(kind, -1)) > _ROUNDING * row[kind]
        for row, other in zip(ours, others, strict=True)
        for kind in row
    )


_FILES: tuple[tuple[Path, Callable[[Exercise], list[Any]], Callable[[Any, Any], bool]], ...] = (
    (amounts.FILE, amounts_of, differ),
    (mutants.FILE, mutants_of, lambda ours, others: ours != list(others)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.exercise_records",
        description=(__doc__ or "").partition(":\n")[0],
    )
    parser.add_argument("--write", action="store_true", help="write the files")
    parser.add_argument("names", nargs="*", help="exercises, by default all")
    given = parser.parse_args(arguments)
    every = [one for one in map(exercises.find, exercises.names()) if isinstance(one, Exercise)]
    chosen = [one for one in every if not given.names or one.name in given.names]
    changed = []
    for file, rows_of, is_other in _FILES:
        stored = json.loads(file.read_text(encoding="utf-8"))
        found = {one.name: rows_of(one) for one in chosen}
        made = {name: row for name, row in found.items() if is_other(row, stored.get(name, ()))}
        changed += [f"{file.stem} of {name}" for name in made]
        if given.write and made:
            _write(file, {one.name: (stored | made).get(one.name) for one in every})
    print(f"{len(chosen)} exercises; other than recorded: {', '.join(changed) or 'none'}")
    return int(bool(changed) and not given.write)


def _write(file: Path, rows_of: Mapping[str, Sequence[Any] | None]) -> None:
    exercises_with_rows = (
        f"  {json.dumps(name)}: [\n"
        + ",\n".join(f"    {json.dumps(row)}" for row in rows)
        + "\n  ]"
        for name, rows in rows_of.items()
        if rows
    )
    file.write_text("{\n" + ",\n".join(exercises_with_rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
