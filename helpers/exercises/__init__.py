"""The exercises of the labs, one module each: what is asked, tried, budgeted and hinted.

    exercise = exercises.find("conv1d_edge")
    exercise.check(conv1d_edge)
    exercise.hint()
    exercises.progress("101")

A module in here is data: title, cases, reference, budgets and hints. Beside it lies solution.cu,
of which `gaps` makes the notebook's cell; further answers, right and wrong, are the tests'. The
notebook's check and a grader call the same module. The modules of a lab with several exercises lie
in a folder of their own (puzzles/).
"""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from helpers import labs
from helpers.quantities import quantity

if TYPE_CHECKING:
    from helpers.exercises.judge.base import BaseExercise
    from helpers.kernel_cells import KernelCell

__all__ = ["answered_by", "earlier", "find", "names", "of_lab", "progress"]

_shown: list[BaseExercise] = []  # by `progress`: of the lab that this session works on


class UnknownExerciseError(LookupError):
    """No exercise of that name, or of that lab, or several of that lab."""


@cache
def names() -> tuple[str, ...]:
    """Return the names of all exercises, in the order of the labs, and within a lab in its own
    order.
    """
    from helpers.exercises.folders import folders

    def place(name: str) -> tuple[tuple[str, str], int]:
        return labs.place_in_order(_module(name).lab), _module(name).place

    return tuple(sorted(folders(), key=place))


def find(name: str) -> BaseExercise:
    """Return the exercise of a name ("conv1d_edge"), or of the number of a lab that has one
    ("101"). In a notebook, errors then are a few lines long.

    Raises UnknownExerciseError, which names the nearest ones.
    """
    # At every call: the shell of this one may be younger than the first call was.
    _shorten_errors()
    if name in names():
        return _module(name)
    mine = _by_lab().get(name, ())
    if not mine:
        raise UnknownExerciseError(_unknown(str(name)))
    if len(mine) > 1:
        raise UnknownExerciseError(
            f"lab {name} has {quantity(len(mine), 'exercise')}, so give the name of one, such as "
            f'exercises.find("{mine[0]}"); there are: {", ".join(mine)}'
        )
    return _module(mine[0])


def _unknown(name: str) -> str:
    """Return what to say of a name that no exercise has: the nearest ones, or how to list all."""
    if near := difflib.get_close_matches(name, names(), n=3):
        return f"no exercise {name!r}; did you mean {' or '.join(map(repr, near))}?"
    return f"no exercise {name!r}; exercises.names() lists all"


def of_lab(number: str) -> tuple[BaseExercise, ...]:
    """Return all exercises of a lab ("103"), in their order; none for a lab without any."""
    return tuple(_module(name) for name in _by_lab().get(number, ()))


def earlier(*names: str) -> list[KernelCell]:
    """Return the reader's kernels of earlier labs: the %%kernel cells of these exercises, as they
    stand in the notebooks beside this one. Those that have not passed there are left out.
    """
    from helpers import kernel_cells
    from helpers.labs import stored

    here = stored.notebook()
    folder = Path.cwd() if here is None else here.parent
    found = []
    for exercise in map(find, names):
        try:
            text = (folder / f"{exercise.lab}.ipynb").read_text(encoding="utf-8")
            asked, cells = stored.exercises_of(text), stored.kernels_of(text)
            states = {find(name).name: one.state for name, one in asked.items()}
            if states.get(exercise.name) == stored.PASSED:
                found.append(kernel_cells.parse(cells[exercise.name]))
        except (OSError, ValueError, KeyError, kernel_cells.CellError, UnknownExerciseError):
            continue  # no such notebook, or one that is being written
    return found


def progress(number: str) -> None:
    """Show the exercises of a lab ("103") with their states, and the predictions that are made, in
    a list that follows the checks of this session. Raises UnknownExerciseError.
    """
    from helpers.exercises.judge import states

    every = of_lab(number)
    if not every:
        known = ", ".join(sorted(_by_lab()))
        raise UnknownExerciseError(f"lab {number} has no exercise; there are labs {known}")
    _shorten_errors()
    _shown[:] = every
    states.show(states.of(number, every))


def answered_by(text: str) -> BaseExercise | None:
    """Return the exercise that the text of a cell answers, among those that `progress` has shown;
    None if there is none.
    """
    return next((one for one in _shown if one.is_answer(text)), None)


@cache
def _by_lab() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in names():
        number = labs.number(_module(name).lab)
        found[number] = (*found.get(number, ()), name)
    return found


def _module(name: str) -> BaseExercise:
    from helpers.exercises.folders import folders

    return importlib.import_module(".".join((__name__, "content", *folders()[name].parts))).EXERCISE


def _shorten_errors() -> None:
    """Register %%kernel in a notebook whose first cells have not been run, and say of a missing
    name what to run.
    """
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None and "kernel" not in shell.magics_manager.magics["cell"]:
        import helpers

        helpers.load_ipython_extension(shell)
