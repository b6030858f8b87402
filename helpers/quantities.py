"""Counts with their nouns, and shares: "1 tile", "2 tiles", "1,024 bytes", "94 %"."""

from __future__ import annotations


def quantity(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, which takes its plural unless the count is 1.

    noun: in the singular; plural: where it is not the noun with an s.
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Return a share as whole percents: "94 %" for 0.938, "less than 1 %" for 0.004."""
    return "less than 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
