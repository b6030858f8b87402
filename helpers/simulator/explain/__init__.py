"""Shows what every thread of a launch did, and where each value comes from: see tape.py.

`record` runs a small launch in the translation that a debugger gets, which keeps the lines and the
variables of the source, and returns its Tape.
"""

from __future__ import annotations

from .changes import Place, Redirect, Replace, Schedule, Turn
from .formulas import Formula
from .origins import CellOrigin, Writer
from .steps import Access, Decision, Step
from .tape import Tape
from .translation import NotRecorded, Wait

__all__ = [
    "Access", "CellOrigin", "Decision", "Formula", "NotRecorded", "Place", "Redirect", "Replace",
    "Schedule", "Step", "Tape", "Turn", "Wait", "Writer",
]  # fmt: skip
