"""What an exercise says of an answer."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from helpers.simulator import Finding
from helpers.tables import LINE

STATUSES = ("pass", "budget", "wrong", "finding", "compile", "refused", "time", "not_begun")
OVER_BUDGET = 0.5  # of the points: right, but over its budget
WORDS = {"pass": "PASS", "budget": "NOT YET", "not_begun": "NOT BEGUN"}  # of all others: FAIL


@dataclass(frozen=True)
class Verdict:
    """status: one of STATUSES; message: what is wrong, or what passed; hint: what usually leads to
    it, "" for none known; checked: what all was looked at ("4 sizes, 2 filters, 1,259 values");
    counters: amount and limit of each budget; printed: what the kernel printed, with a line above;
    finding: of the simulator, where one stopped the answer.
    """

    exercise: str
    status: str
    message: str
    points: float
    maximum: float
    hint: str = ""
    checked: str = ""
    counters: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    printed: str = ""
    finding: Finding | None = None

    @classmethod
    def of(
        cls, exercise: str, status: str, message: str, maximum: float, hint: str = "", **more: Any
    ) -> Verdict:
        """Return the verdict with the points and the first words of its status."""
        share = {"pass": 1.0, "budget": OVER_BUDGET}.get(status, 0.0)
        text = f"{WORDS.get(status, 'FAIL')} {exercise}: {message}"
        return cls(exercise, status, text, share * maximum, maximum, hint, **more)

    def not_begun(self) -> Verdict:
        """Return this verdict on a cell that is still as it was given: it is worth nothing."""
        said = self.message.partition(f" {self.exercise}: ")[2]
        text = f"the cell is still as it was given.\n{said}"
        return self.of(
            self.exercise,
            "not_begun",
            text,
            self.maximum,
            self.hint,
            printed=self.printed,
            finding=self.finding,
        )

    def with_note(self, note: str) -> Verdict:
        """Return this verdict with one more sentence below it."""
        return replace(self, hint="\n".join(filter(None, (self.hint, note))))

    @property
    def passed(self) -> bool:
        """Whether the answer is right and within its budgets."""
        return self.status == "pass"

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return fold("\n".join(filter(None, (self.message, self.hint, self.printed))))

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
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
    """Return the text in lines of at most LINE characters, broken between words; what follows a
    break keeps the line's indentation.
    """
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + (2 if line.startswith(" ") else 0))
        lines += textwrap.wrap(
            line, LINE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(lines)
