"""Text that students, compilers and files bring, on its way into a file or onto a page.

JSON can hold half of a surrogate pair ("\\ud800"), and a file name any byte. Neither is text that
UTF-8 can hold, so that a page with it could not be written.
"""

from __future__ import annotations

import os
import re
import secrets
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MOST_NAME = 120  # bytes of a student's name: there must be a file of this name
NO_NAME = (
    "cannot be a student's name: it must be printable, without / \\ < and >, begin with "
    f"neither . nor -, and have at most {MOST_NAME} bytes"
)
_HALF = re.compile(r"[\ud800-\udfff]")

# Control characters, and those that turn the direction of writing: a terminal and a page obey them.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_PLAIN = " \n.,;:/-=+%?"  # no reader of Markdown or HTML makes anything of these in a block


def clean(value: Any) -> Any:
    """Return plain values with U+FFFD for what UTF-8 cannot hold, in all texts and keys."""
    if hasattr(value, "__html__"):  # HTML that was made of clean texts
        return value
    if isinstance(value, str):
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list | tuple):
        return type(value)(clean(one) for one in value)
    if isinstance(value, dict):
        return {clean(key): clean(one) for key, one in value.items()}
    return value


def visible(text: str) -> str:
    """Return a text with U+FFFD for what a terminal or a page would obey in place of showing it."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", clean(text))


def line(text: str) -> str:
    """Return what `visible` returns, on one line."""
    return visible(re.sub(r"\s", " ", text))


def name(text: str) -> str:
    """Return a name in one form: two programs may write the same letters in two ways, and nobody
    sees a space at an end.
    """
    return unicodedata.normalize("NFC", text).strip()


def is_name(text: str) -> bool:
    """Return whether a student may be called so: any letters, but a page must be able to show it.
    """
    return (
        bool(text.strip())
        and text == clean(text)
        and text.isprintable()
        and len(text.encode()) <= MOST_NAME
        and not re.search(r"^[.-]|[/\\<>]", text)
    )


def first_of(names: Iterable[str], most: int = 20) -> str:
    """Return names as a list to read, the first of them in order."""
    every = sorted(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if every[most:] else "")


def write(path: Path, text: str) -> None:
    """Write a text as UTF-8, whatever stands in it: at once, or on a full disk not at all."""
    if path.exists() and not path.is_file():  # such as /dev/stdout
        path.write_text(clean(text), encoding="utf-8")
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        part.write_text(clean(text), encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def for_markdown(text: str) -> str:
    """Return a text for a page that is made by way of Markdown. The page shows it letter by letter,
    in a block of its own.

    Each sign that Markdown or HTML may read is written by its number, so that the text is safe in
    either. MathJax leaves the block out.
    """
    shown = "".join(
        char if char.isalnum() or char in _PLAIN else f"&#{ord(char)};" for char in clean(text)
    )
    # An empty line would end the block for some readers of Markdown.
    shown = re.sub(r"\n(?=\n)", "\n&#8203;", shown)
    return f"<pre>{shown}</pre>"
