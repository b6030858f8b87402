"""What an exercise says of an answer."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LINE = 100  # characters: JupyterLab breaks longer lines in the middle of words
STATUSES = ("pass", "budget", "wrong", "finding", "compile", "refused", "time")


@dataclass(frozen=True)
class Verdict:
    """status: one of STATUSES; message: what is wrong, or what passed; hint: what usually leads to
    it, "" for none known; checked: what all was looked at ("4 sizes, 2 filters, 1,259 values");
    counters: amount and limit of each budget.
    """

    exercise: str
    status: str
    message: str
    points: float
    maximum: float
    hint: str = ""
    checked: str = ""
    counters: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the answer is right and within its budgets."""
        return self.status == "pass"

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        text = f"{self.message}\n{self.hint}" if self.hint else self.message
        return fold(text)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        plain = {
            name: getattr(self, name)
            for name in ("exercise", "status", "message", "hint", "points", "maximum", "checked")
        }
        return plain | {"counters": {what: list(pair) for what, pair in self.counters.items()}}


class ExerciseError(AssertionError):
    """An answer that is not right yet. IPython shows its message alone, without a traceback."""

    def __init__(self, verdict: Verdict):
        super().__init__(str(verdict))
        self.verdict = verdict

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def fold(text: str) -> str:
    """The text in lines of at most LINE characters, broken between words; what follows a break
    keeps the line's indentation.
    """
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + (2 if line.startswith(" ") else 0))
        lines += textwrap.wrap(
            line, LINE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(lines)
