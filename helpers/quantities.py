"""Counts with their nouns: "1 tile", "2 tiles", "1,024 bytes"."""

from __future__ import annotations


def quantity(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, which takes its plural unless the count is 1.

    noun: in the singular; plural: where it is not the noun with an s.
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
