"""The lines of %%kernel cells that an error is about, for marks in JupyterLab's cells.

    marks_of(text, sources)     the marks in the text of an error, by the name of the cell
    show(name, marks)           send them to the cell in JupyterLab

A comm carries them to our extension of JupyterLab (share/, marks.js). A comm is no
output: nothing of it is stored in a notebook, and where nobody listens, nothing happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

TARGET = "halo-labs:marks"  # as in marks.js

# "line 7: error: ..." of a compiler; "  kernel.cu:7: P[i] = 0;" below the sentence of a finding.
_COMPILER = re.compile(r"^line (\d+): (.*)$", re.MULTILINE)
_PLACE = re.compile(r"^  \S+\.cu:(\d+): (.*)$")
_SHORTEST = 2  # characters of a line's text that tell it from others; a brace may be anywhere


@dataclass(frozen=True)
class Mark:
    """One line of a cell (1 is the %%kernel line), how it begins, and what is said of it."""

    line: int
    code: str
    text: str
    severity: str = "error"


def marks_of(text: str, sources: Mapping[str, str]) -> dict[str, list[Mark]]:
    """Return the marks of the findings in a text, by the names of the cells in `sources`.

    A line belongs to each cell that has, at its number, the text that the finding shows.
    """
    found: dict[str, list[Mark]] = {}
    for number, code, words in _places(text):
        for name, source in sources.items():
            lines = source.splitlines()
            if number <= len(lines) and _is_shown(lines[number - 1].strip(), code):
                severity = "warning" if "(warning)" in words.partition(":")[0] else "error"
                whole = lines[number - 1].strip()
                found.setdefault(name, []).append(Mark(number, whole, words, severity))
    return found


def marks_of_compiler(text: str, source: str) -> list[Mark]:
    """Return the marks of a compiler's message about the source of one cell."""
    lines = source.splitlines()
    marks = []
    for match in _COMPILER.finditer(text):
        number = int(match[1])
        if 1 <= number <= len(lines):
            severity = "warning" if match[2].startswith("warning") else "error"
            marks.append(Mark(number, lines[number - 1].strip(), match[2], severity))
    return marks


def show(name: str, marks: list[Mark]) -> None:
    """Send the marks of the cell `%%kernel NAME` to JupyterLab; none remove the earlier ones."""
    from IPython import get_ipython

    if getattr(get_ipython(), "kernel", None) is None:  # a shell in a terminal
        return
    from comm import create_comm

    data = {"kernel": name, "marks": [asdict(mark) for mark in marks]}
    create_comm(target_name=TARGET, data=data).close()


def _places(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number and the text of each source line, and the sentences above it."""
    words: list[str] = []
    below = False  # whether the line before was a source line
    for line in text.splitlines():
        if place := _PLACE.match(line):
            below = True
            yield int(place[1]), place[2].strip(), _sentences(words)
        else:
            if below:
                words, below = [], False
            words.append(line)


def _sentences(lines: list[str]) -> str:
    """Return the last sentence of some lines: a line, and the folded lines that belong to it."""
    begin = max((k for k, line in enumerate(lines) if not line.startswith(" ")), default=0)
    return " ".join(line.strip() for line in lines[begin:])


def _is_shown(whole: str, code: str) -> bool:
    """Return whether a finding shows `code` of a line `whole`; long lines are folded."""
    shown = " ".join(code.removeprefix('extern "C" ').split())  # the magic inserts that
    return len(code) >= _SHORTEST and " ".join(whole.split()).startswith(shown)
