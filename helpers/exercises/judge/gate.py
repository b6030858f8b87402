"""What the text of an answer must hold to before anything reads it further: its size, and what it
includes.

The compiler's own check of includes (helpers.simulator.compile.includes) comes later, in the box.
This one takes time that grows with the length of the text only, whatever the text is.
"""

from __future__ import annotations

import re

from helpers.quantities import quantity
from helpers.simulator.compile.includes import without_raw_strings

MOST_BYTES = 64 << 10
MOST_LINES = 2_000
MOST_COLUMNS = 2_000

_DIRECTIVE = re.compile(r"(?:#|%:|\?\?=)[ \t]*(include_next|include|import|embed)\b([^\n]{0,300})")
# A name in a #line is what the compiler then calls the file in its messages. "# 5" is one, too.
_LINE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:line\b|(?=\d))([^\n]{0,300})", re.MULTILINE)
_OF_A_FILE = re.compile(
    r"(?:(?:#|%:|\?\?=)[ \t]*pragma[ \t]+|\b_Pragma\b[^\n]{0,20}?)GCC[ \t]+"
    r"(?:dependency|pch_preprocess)\b([^\n]{0,300})"
)
_ASKED = re.compile(r"\b__has_(?:include(?:_next)?|embed)\b([^\n]{0,300})")
_HEADER = re.compile(r"""[ \t]*\(?[ \t]*(?:<([\w./+-]+)>|"([\w./+-]+)")""")
_COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""")


class Refused(Exception):
    """The gate lets a text not pass; the message says why, and what is allowed."""


def check(text: str, what: str = "the cell") -> None:
    """Raise Refused for a text that is too long, is no text, or includes other files than CUDA's
    headers.
    """
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise Refused(
            f"{what} has more than {MOST_BYTES:,} bytes, which are the most that are graded"
        )
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise Refused(
            f"{what} has {quantity(len(lines), 'line')}; at most {MOST_LINES:,} are graded"
        )
    longest = max(range(len(lines)), key=lambda k: len(lines[k]))
    if len(lines[longest]) > MOST_COLUMNS:
        raise Refused(
            f"line {longest + 1} has {len(lines[longest]):,} characters; at "
            f"most {MOST_COLUMNS:,} are graded"
        )
    if any(ord(c) < 32 and c not in "\n\r\t\f\v" for c in text):
        raise Refused(f"{what} holds control characters; a text is graded")


def check_includes(text: str) -> None:
    """Raise Refused for an #include of anything that is not a header by its plain name, such as
    <cuda_fp16.h>, for a #pragma that asks for such a file, and for a #line that names one.
    """
    joined = re.sub(r"\\[ \t]*\r?\n", "", without_raw_strings(text).replace("??/", "\\"))
    # In the text as it is, too: what one reader takes for a literal, another may take for a
    # directive.
    for view in (_without_comments(joined), joined):
        for found in _DIRECTIVE.finditer(view):
            _check_header(found[2], f"#{found[1]}{found[2]}")
        for asked in (_ASKED, _OF_A_FILE):
            for found in asked.finditer(view):
                _check_header(found[1], found[0])
    for found in _LINE.finditer(_without_comments(joined)):
        if not re.fullmatch(r"[ \t]*\d+[ \t\r]*", found[1]):
            raise Refused(
                f"{found[0].strip()[:80]}: leave this line out; a message then names the line of "
                "your cell"
            )


def _check_header(operand: str, words: str) -> None:
    named = _HEADER.match(operand)
    name = (named[1] or named[2]) if named else None
    if name is None or name.startswith(("/", "~")) or ".." in name.split("/"):
        raise Refused(
            f"{words.strip()[:80]}: include headers by their plain names "
            "only, as in #include <cuda_fp16.h>"
        )


def _without_comments(text: str) -> str:
    pieces, at = [], 0
    while found := _COMMENT_OR_LITERAL.search(text, at):
        pieces.append(text[at : found.start()])
        at = found.end()
        if found[0] == "/*":
            end = text.find("*/", at)
            at = len(text) if end < 0 else end + 2
            pieces.append(" ")
        elif not found[0].startswith("//"):
            pieces.append(found[0])
    pieces.append(text[at:])
    return "".join(pieces)
