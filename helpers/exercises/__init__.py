"""The exercises of the labs, one module each: what is asked, tried, budgeted and hinted.

    exercise = exercises.find("conv1d_edge")
    exercise.check(conv1d_edge)
    exercise.hint()

A module in here is data: title, cases, reference, budgets, hints, and answers that a test holds to
their verdicts. Beside it lie stub.cu (the notebook's cell), solution.cu and further answers. The
notebook's check and a grader call the same module.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers.exercises.exercise import Exercise

__all__ = ["find", "names"]


class UnknownExerciseError(LookupError):
    """No exercise of that name, or of that lab."""


@cache
def names() -> tuple[str, ...]:
    """The names of all exercises, in the order of the labs."""
    folder = Path(__file__).parent
    found = [path.parent.name for path in folder.glob("*/__init__.py")]
    return tuple(sorted(found, key=lambda name: _module(name).lab))


def find(name: str) -> Exercise:
    """The exercise of a name ("conv1d_edge") or of a lab's number ("02"). In a notebook, errors
    then are a few lines long.

    Raises UnknownExerciseError, which lists the names.
    """
    # At every call: the shell of this one may be younger than the first call was.
    _shorten_errors()
    by_lab = _by_lab()
    if name not in names() and name not in by_lab:
        raise UnknownExerciseError(f"no exercise {name!r}; there are: {', '.join(names())}")
    return _module(by_lab.get(name, name))


@cache
def _by_lab() -> dict[str, str]:
    return {_module(name).lab[:2]: name for name in names()}


def _module(name: str) -> Exercise:
    return importlib.import_module(f"helpers.exercises.{name}").EXERCISE


def _shorten_errors() -> None:
    """In a notebook whose first cells have not been run: register %%kernel, and say of a missing
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
