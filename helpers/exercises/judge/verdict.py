"""What an exercise says of an answer."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from helpers.exercises.judge import bar
from helpers.exercises.judge.compiler_words import Remark
from helpers.simulator import Finding
from helpers.tables import LINE

STATUSES = ("pass", "budget", "wrong", "finding", "compile", "refused", "time", "not_begun")
OVER_BUDGET = 0.5  # of the points: right, but over its budget
WORDS = {"pass": "PASS", "budget": "NOT YET", "not_begun": "NOT BEGUN"}  # of all others: FAIL


EVIDENCE_LINES = 2


@dataclass(frozen=True)
class Explanation:
    """What a reader needs of a verdict first. sentence: the cause; evidence: at most EVIDENCE_LINES
    lines of it; picture: HTML that needs no script, folded below, "" for none.
    """

    sentence: str
    evidence: Sequence[str] = ()
    picture: str = ""


@dataclass(frozen=True)
class Verdict:
    """status: one of STATUSES; message: what is wrong, or what passed; hint: what usually leads to
    it, "" for none known; checked: what all was looked at ("4 sizes, 2 filters, 1,259 values");
    counters: amount and limit of each budget; printed: what the kernel printed, with a line above;
    story: the explanation, where somebody has found it; finding: of the simulator, where one
    stopped the answer; remark: of the compiler, the first words of the message;
    is_guess: the hint says what usually leads to it, and nothing has shown that it did here;
    is_recognised: the hint is that of a mutant which leaves the same; frame: what a notebook shows
    around it.
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
    story: Explanation | None = None
    finding: Finding | None = None
    remark: Remark | None = None
    is_guess: bool = False
    is_recognised: bool = False
    frame: bar.Frame = field(default_factory=bar.Frame, compare=False)

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

    def because(
        self, cause: str, is_guess: bool = False, is_recognised: bool = False
    ) -> Verdict:
        """Return this verdict with another hint, in place of the usual cause of its finding."""
        message = self.message
        if self.finding is not None:
            message = message.replace(str(self.finding), self.finding.brief())
        return replace(
            self, message=message, hint=cause, is_guess=is_guess, is_recognised=is_recognised
        )

    def after(self, remark: Remark | None) -> Verdict:
        """Return this verdict with a remark of the compiler's in front of it; the same for None."""
        if remark is None:
            return self
        said = self.message.partition(f" {self.exercise}: ")[2]
        text = f"{WORDS.get(self.status, 'FAIL')} {self.exercise}: {remark.text}\n{said}"
        return replace(self, message=text, remark=remark)

    def with_note(self, note: str) -> Verdict:
        """Return this verdict with one more sentence below it."""
        return replace(self, hint="\n".join(filter(None, (self.hint, note))))

    @property
    def explanation(self) -> Explanation:
        """The story; without one, the first words of the hint or of the message."""
        if self.story is not None:
            return self.story
        word = WORDS.get(self.status, "FAIL")
        first, *rows = _unfolded(self.message.removeprefix(f"{word} {self.exercise}: "))
        hint = _unfolded(self.hint)
        if self.passed:
            first, *more = first.split("; ", 1)
            rows = [*more, *rows]
        elif self.remark:
            hint = []
        elif self.status == "not_begun":
            rows, hint = [], []
        elif self.status == "finding" and rows:  # the first line names the case
            first, *rows = rows
            if len(self.lines) > 1:  # both lines of a race, in one
                rows = [" \u00b7 ".join(row.strip() for row in rows[:2]), *rows[2:]]
        if hint and self.status in ("wrong", "finding", "refused"):
            rows = [first, *rows]
            first, *_ = re.split(r"(?<=[.?!]) (?=[A-Z`])", hint[0], maxsplit=1)
        elif hint and not self.passed:
            rows = [*hint, *rows]
        return Explanation(f"{word}: {first}", [row.strip() for row in rows[:EVIDENCE_LINES]])

    @property
    def lines(self) -> dict[int, str]:
        """What to say of lines of the cell (1 is its first): of both lines of a race. Nothing of a
        cell that is as it was given: its lines are not the student's.
        """
        if self.finding is None or self.status == "not_begun":
            return {}
        return dict.fromkeys(self.finding.source_lines, self.finding.headline)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        """Return what a notebook shows: bar.bundle says what."""
        return bar.bundle(self, self.frame)

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
    """An answer that is not right yet, in a program. A notebook shows the verdict instead."""

    def __init__(self, verdict: Verdict):
        super().__init__(str(verdict))
        self.verdict = verdict

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def _unfolded(text: str) -> list[str]:
    """Return the lines of a text, those that were broken between words in one piece again."""
    return re.sub(r"\n {4,}(?=\S)", " ", text).splitlines()


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
