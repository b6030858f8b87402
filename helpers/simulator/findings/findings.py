"""Findings as records that print themselves: text for a terminal, HTML for a notebook, dictionaries
for files.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from helpers.tables import LINE

from .words import Cause, Event, Need, Row, Sentence

LONGEST_TEXT, MOST_SOURCE_LINES = 2_000, 50  # of a finding that comes from a file
# What a file has of a finding, beside its source lines and values.
_STORED = (
    "kind", "message", "file", "line", "thread", "block", "array", "index", "severity", "cause",
    "other_line", "count",
)
_NO_BREAK = "\x1f"  # stands for a space at which a line must not be broken


@dataclass(frozen=True)
class Finding:
    """A fault of a launch, at the first place where it happened.

    kind: "out-of-bounds", "misaligned", "race", "uninitialised", "barrier", "shuffle", "mask",
    "overlap", "assert", "unwritten", "resources", "leak", "unsynchronised", "wrong-device", "wrong-
    thread", "fault" or "runaway"; event: what happened; line: of `file`, 0 if unknown; thread,
    block: (x, y, z); array, index: the element that the thread accessed (index: an int, or one int
    for each axis; None if there is no element); severity: "error" or "warning"; causes: the usual
    one, and what else it explains; other_line: the line of the access or barrier that collides
    with this one; other_thread: whose it is, of the same block, None if that is not known; count:
    how often the same instruction had this fault; missed_barriers: the lines of the barriers
    between the accesses of a race that not all threads reach; accesses: its instruction, or both of
    a race, in the form of the kernel that ran; values: by which index the threads
    came to the element, a line for each: "reads N[-1]: i - 1 = -1, with i = 0", if the launch was
    recorded (explain/finding_values.py).
    """

    kind: str
    event: Sentence
    file: str
    line: int
    thread: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    array: str | None = None
    index: int | tuple[int, ...] | None = None
    severity: str = "error"
    causes: tuple[Sentence, ...] = ()
    other_line: int | None = None
    count: int = 1
    source_lines: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)
    missed_barriers: tuple[int, ...] = field(default=(), repr=False, compare=False)
    other_thread: tuple[int, int, int] | None = field(default=None, repr=False, compare=False)
    accesses: tuple[int, ...] = field(default=(), repr=False, compare=False)
    values: Sequence[str] = field(default=(), repr=False, compare=False)

    @property
    def message(self) -> str:
        """One sentence that says what happened."""
        return self.event.words(self)

    @property
    def cause(self) -> str:
        """A few sentences on the usual cause, "" where none is known."""
        return " ".join(one.words(self) for one in self.causes)

    @property
    def reason(self) -> Row | None:
        """The row of the first cause, None if there is none."""
        return self.causes[0].row if self.causes else None

    @property
    def need(self) -> Need | None:
        """What the fault lacks, as the event or the cause says; None if it is one of its own."""
        return self.event.row.need or (self.reason.need if self.reason else None)

    def __str__(self) -> str:
        cause = [fold(f"  {self.cause}", 2)] if self.cause else []
        return "\n".join([*self._rows(), *cause])

    def brief(self) -> str:
        """Return the message and its source line, both lines of a race, without the cause."""
        most = 2 if self.kind == "race" else 1
        return "\n".join(self._rows()[: 1 + min(most, len(self.source_lines))])

    @property
    def headline(self) -> str:
        """The kind and the message, in one line."""
        return " ".join(self._rows()[0].split())

    def _rows(self) -> list[str]:
        times = (
            f" ({self.count:,} times in this launch; this is the first)" if self.count > 1 else ""
        )
        kind = self.kind if self.severity == "error" else f"{self.kind} ({self.severity})"
        rows = [fold(f"{kind}: {self.message}{times}", 4)]
        for number, text in self.source_lines.items():
            rows.append(fold(f"  {self.file}:{number}: {text}", 6))
        rows += [fold(f"  {text}", 6) for text in self.values]
        return rows

    def _repr_html_(self) -> str:
        return block_of_text(str(self), "#c0392b" if self.severity == "error" else "#b9770e")

    def to_dict(self) -> dict:
        """Return what a file keeps of the finding: its words, and the name of its reason."""
        return {
            **{name: getattr(self, name) for name in _STORED},
            "reason": self.reason.name if self.reason else None,
            "source_lines": dict(self.source_lines),
            "values": list(self.values),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        """Return the finding of `to_dict`'s values, or of their JSON, with long texts cut.

        The values may come from anywhere: raises KeyError, TypeError and ValueError for others.
        """
        index, lines = data["index"], list(data["source_lines"].items())[:MOST_SOURCE_LINES]
        reason = Cause[_text(data["reason"])] if data.get("reason") else Cause.WORDED
        known: dict[str, Any] = {name: _text(data[name]) for name in ("kind", "file", "severity")}
        for name in ("thread", "block"):
            x, y, z = map(int, data[name])
            known[name] = x, y, z
        return cls(
            **known,
            event=Sentence(Event.WORDED, told=_text(data["message"])),
            causes=(Sentence(reason, told=_text(data["cause"])),) if data["cause"] else (),
            line=int(data["line"]),
            array=None if data["array"] is None else _text(data["array"]),
            index=tuple(map(int, index)) if isinstance(index, list | tuple) else _number(index),
            other_line=_number(data["other_line"]),
            count=int(data["count"]),
            source_lines={int(line): _text(text) for line, text in lines},
            values=tuple(_text(one) for one in data.get("values", ())[:MOST_SOURCE_LINES]),
        )


def _text(value: Any) -> str:
    return str(value)[:LONGEST_TEXT]


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def fold(text: str, indent: int) -> str:
    """Break the text between words into lines of at most LINE characters.

    "(0, 0, 0)" counts as one word. Lines after the first begin with `indent` spaces.
    """
    whole = re.sub(r"\([\d, ]+\)", lambda place: place[0].replace(" ", _NO_BREAK), text)
    lines: list[str] = []
    for line in whole.splitlines():
        lines += textwrap.wrap(
            line,
            LINE,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines).replace(_NO_BREAK, " ")


def block_of_text(text: str, colour: str) -> str:
    """Return HTML of monospaced text behind a coloured bar. The text takes its colours from the
    page, so that it is legible in light and dark themes.

    The styles are inline because JupyterLab's own style sheet breaks lines of a <pre> inside words.
    """
    style = (
        f"border-left: 4px solid {colour}; padding-left: 0.8em; "
        "white-space: pre-wrap; word-break: normal; overflow-wrap: break-word"
    )
    return f'<pre style="{style}">{html.escape(text)}</pre>'


def finding_of_launch(
    kind: str,
    event: Sentence,
    cause: Sentence,
    kernel,
    line: int = 0,
    severity: str = "error",
    **more,
) -> Finding:
    """Return a finding about a whole launch. Its place is `line`, or else the line of the
    module.Kernel.
    """
    compiled, line = kernel.module.compiled, line or kernel.line
    source = compiled.source.splitlines()
    texts = {line: source[line - 1].strip()} if 0 < line <= len(source) else {}
    return Finding(
        kind, event, compiled.file, line, severity=severity, causes=(cause,), source_lines=texts,
        **more,
    )
