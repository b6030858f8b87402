"""Findings as records that print themselves: text for a terminal, HTML for a notebook, dictionaries
for files.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from helpers.tables import LINE

LONGEST_TEXT, MOST_SOURCE_LINES = 2_000, 50  # of a finding that comes from a file
# How a cause of leftovers begins, in shared memory; and the whole of it, of a local variable.
SHARED_LEFTOVERS = "Shared memory holds leftovers"
LOCAL_LEFTOVERS = "A local variable holds leftovers until it is set: give it a value first."
# How the message ends about a read that no barrier can mend.
NEVER_SET = "which no thread of the block ever sets"
# How the causes of races for one element begin, where a barrier cannot help.
CONTENDED, UPDATED = "Several threads access", "Several threads update"
# How the cause begins of a pointer that outlives a variable.
ENDED_BLOCK = "A variable ends with its block { }"
# How the cause of an index begins that has wrapped.
OVERFLOWN = "An int ends at 2,147,483,647, and a larger number becomes another one unseen"
# How the cause of a fault between two `extern __shared__` arrays begins.
ONE_ADDRESS = "All extern __shared__ arrays start at the same address"
# What the cause says of two pointers that a launch gives the same array.
ONE_MEMORY = "are the same memory in this launch"
# How the cause begins of a race between blocks.
ANY_ORDER = "Blocks run in any order"
# What the cause says of a loop that waits for another thread by a plain load.
PLAIN_WAIT = "which is not volatile: the compiler may load it once"
# How the message ends about an access and an asynchronous copy in one interval between barriers.
OVERTAKING = "fills at the same time: no barrier is between the two"
_NO_BREAK = "\x1f"  # stands for a space at which a line must not be broken


@dataclass(frozen=True)
class Finding:
    """A fault of a launch, at the first place where it happened.

    kind: "out-of-bounds", "misaligned", "race", "uninitialised", "barrier", "shuffle", "mask",
    "overlap", "assert", "unwritten", "resources", "leak", "unsynchronised", "wrong-device", "wrong-
    thread", "fault" or "runaway"; severity: "error" or "warning"; message: one sentence that says
    what happened; cause: one sentence on the usual cause; line: of `file`, 0 if unknown; thread,
    block: (x, y, z); array, index: the element that the thread accessed (index: an int, or one int
    for each axis; None if there is no element); other_line: the line of the access or barrier that
    collides with this one; other_thread: whose it is, of the same block, None if that is not
    known; count: how often the same instruction had this fault; missed_barriers:
    the lines of the barriers between the accesses of a race that not all threads reach; values: by
    which index the threads came to the element, a line for each: "reads N[-1]: i - 1 = -1, with
    i = 0", if the launch was recorded (explain/finding_values.py).
    """

    kind: str
    message: str
    file: str
    line: int
    thread: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    array: str | None = None
    index: int | tuple[int, ...] | None = None
    severity: str = "error"
    cause: str = ""
    other_line: int | None = None
    count: int = 1
    source_lines: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)
    missed_barriers: tuple[int, ...] = field(default=(), repr=False, compare=False)
    other_thread: tuple[int, int, int] | None = field(default=None, repr=False, compare=False)
    values: Sequence[str] = field(default=(), repr=False, compare=False)

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
        values = {**asdict(self), "source_lines": dict(self.source_lines)}
        # Which serve to join the findings of a launch, and to explain one.
        del values["missed_barriers"], values["other_thread"]
        values["values"] = list(self.values)
        return values

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        """Return the finding of `to_dict`'s values, or of their JSON, with long texts cut.

        The values may come from anywhere: raises KeyError, TypeError and ValueError for others.
        """
        index, lines = data["index"], list(data["source_lines"].items())[:MOST_SOURCE_LINES]
        known: dict[str, Any] = {
            name: _text(data[name]) for name in ("kind", "message", "file", "severity", "cause")
        }
        for name in ("thread", "block"):
            x, y, z = map(int, data[name])
            known[name] = x, y, z
        return cls(
            **known,
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
    kind: str, message: str, cause: str, kernel, line: int = 0, severity: str = "error", **more
) -> Finding:
    """Return a finding about a whole launch. Its place is `line`, or else the line of the
    module.Kernel.
    """
    compiled, line = kernel.module.compiled, line or kernel.line
    source = compiled.source.splitlines()
    texts = {line: source[line - 1].strip()} if 0 < line <= len(source) else {}
    return Finding(
        kind, message, compiled.file, line, severity=severity, cause=cause, source_lines=texts,
        **more,
    )
