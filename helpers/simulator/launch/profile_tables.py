"""Tables of counters, as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

from helpers import tables

_TEXT = {"access", "array", "source", "counter"}  # columns of text, set to the left


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a terminal."""
    return tables.text(head, rows, left=[k for k, name in enumerate(head) if name in _TEXT])


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in the page's colours, so that it is legible in light and dark themes."""

    def cell(tag: str, name: str, text: str) -> str:
        content = (
            f"<code>{html.escape(text)}</code>"
            if name == "source" and tag == "td"
            else html.escape(text)
        )
        side = "left" if name in _TEXT else "right"
        return (
            f"<{tag} style='text-align: {side}; color: inherit; background: "
            f"transparent'>{content}</{tag}>"
        )

    def line(tag: str, row: Sequence[str]) -> str:
        return (
            "<tr>"
            + "".join(cell(tag, name, text) for name, text in zip(head, row, strict=True))
            + "</tr>"
        )

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"
