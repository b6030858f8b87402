"""Verdicts as plain values: what a grader writes of an answer that has no outcomes to judge."""

from __future__ import annotations

from typing import Any

SENTENCES = {
    "time": "it took too long: {}",
    "memory": "it took too much: {}",
    "crash": "its process did not come to an end of its own: {}",
}
NOT_BEGUN = "NOT BEGUN {}: the cell is still as it was given."


def plain(
    maximum: float, status: str, message: str, points: float = 0.0, **more: Any
) -> dict[str, Any]:
    """A verdict without outcomes."""
    empty: dict[str, Any] = {"hint": "", "counters": {}, "findings": [], "cost": None}
    return {
        "status": status,
        "points": points,
        "maximum": maximum,
        "messages": [message],
        **empty,
        **more,
    }
