"""The names of the labs, such as 104_conv1d_tiles: a number, and what the lab is about."""

from __future__ import annotations


def number(lab: str) -> str:
    """Return the number in front of a lab's name, as text: "104"."""
    return lab.partition("_")[0]
