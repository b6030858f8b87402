"""Which exercises have been passed: a tick once earned stays, whatever is tried afterwards.

    keep(name)         the check of this session has passed
    has(exercise)      whether it has ever passed, here or by the file of the notebook
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Protocol

from helpers import labs
from helpers.labs import stored

_here: set[str] = set()


class Named(Protocol):
    """What is asked of an exercise: its names in a check, and its lab."""

    @property
    def name(self) -> str: ...

    @property
    def home(self) -> str: ...

    @property
    def lab(self) -> str: ...


def keep(name: str) -> None:
    """Keep that an exercise has passed."""
    _here.add(name)


def has(exercise: Named) -> bool:
    """Return whether an exercise has ever passed."""
    if exercise.name in _here:
        return True
    file = stored.notebook()
    # A cell asks for the only exercise of a lab by the lab's number.
    asked = {exercise.name, exercise.home, labs.number(exercise.lab)}
    return file is not None and bool(asked & _before(file))


@cache  # what passes later is kept here
def _before(file: Path) -> frozenset[str]:
    """Return the exercises that a notebook's file shows as passed, by the names in its cells."""
    try:
        found = stored.exercises_of(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError):  # removed, or being written
        return frozenset()
    return frozenset(name for name, one in found.items() if one.state == stored.PASSED)
