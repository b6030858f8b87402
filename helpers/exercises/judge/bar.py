"""The exercise bar: what a notebook shows of an exercise and of a verdict on it.

The output of a check is a bundle: the verdict's text; HTML with its first sentence, two lines of
evidence, and everything else folded below; and metadata, by which the notebook's file and our
extension of JupyterLab know the state. The extension (bar.js in helpers/jupyterlab/share) adds the
buttons, which a notebook cannot have by itself; bar_messages sends what they need.
"""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from helpers.labs import stored

SIGNS = {"pass": "\u2713", "budget": "\u25d0", "not_begun": "\u25cb"}  # of all others: a cross
_COLOURS = {"pass": "#2c8a4b", "budget": "#b58105", "not_begun": "#868e96"}
_CROSS, _RED = "\u2717", "#c8352b"


class Explained(Protocol):
    """What a reader needs of a verdict first: verdict.Explanation."""

    @property
    def sentence(self) -> str: ...

    @property
    def evidence(self) -> Sequence[str]: ...

    @property
    def picture(self) -> str: ...


class Shown(Protocol):
    """What is shown of a verdict."""

    @property
    def exercise(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def passed(self) -> bool: ...

    @property
    def explanation(self) -> Explained: ...

    @property
    def lines(self) -> Mapping[int, str]: ...


@dataclass(frozen=True)
class Frame:
    """What a notebook shows around a verdict. hints: of the exercise; passed: whether it has ever
    passed; text: of the cell that was judged, "" if nobody knows it.
    """

    hints: Sequence[str] = ()
    passed: bool = False
    text: str = ""


def bundle(verdict: Shown, frame: Frame) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the MIME bundle of a verdict, and its metadata."""
    state = {
        "exercise": verdict.exercise,
        "status": verdict.status,
        "sentence": verdict.explanation.sentence,
        "passed": frame.passed,
        "text": checksum(frame.text),
        "lines": {str(line): words for line, words in verdict.lines.items()},
    }
    return {"text/plain": str(verdict), "text/html": page(verdict, frame)}, {stored.OURS: state}


def checksum(text: str) -> int:
    """Return the CRC-32 of a cell's text, by which bar.js knows whether the cell has changed since.
    """
    return zlib.crc32(text.strip().encode())


def page(verdict: Shown, frame: Frame) -> str:
    """Return a verdict as HTML that needs no script. A sanitizer may take its styles away."""
    one = verdict.explanation
    colour = _COLOURS.get(verdict.status, _RED)
    rows = [
        f'<div class="halo-verdict" data-status="{verdict.status}" '
        f'style="border-left: 5px solid {colour}; padding: 2px 12px">',
        f"<p><strong>{SIGNS.get(verdict.status, _CROSS)} {as_code(one.sentence)}</strong></p>",
        *(f"<p>{as_code(line)}</p>" for line in one.evidence),
    ]
    whole = f"<pre>{html.escape(str(verdict), quote=False)}</pre>"
    if verdict.passed:
        rows.append(f"<details><summary>What was checked</summary>{whole}</details>")
    else:
        rows.append(f"<details><summary>Show the evidence</summary>{one.picture}{whole}</details>")
        rows.append(_hints(frame.hints))
    return "\n".join([*filter(None, rows), "</div>"])


def _hints(hints: Sequence[str]) -> str:
    """Return the hints one in another, so that each is opened by itself."""
    text = ""
    for number, hint in reversed(list(enumerate(hints, 1))):
        head = f"<summary>Hint {number} of {len(hints)}</summary>"
        kind = ' class="halo-hints"' if number == 1 else ""
        text = f"<details{kind}>{head}<p>{as_code(hint)}</p>{text}</details>"
    return text


def as_code(text: str) -> str:
    """Return a text for HTML, with code where Markdown's backticks mark it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
