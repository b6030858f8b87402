"""The share of one resource in the work of a launch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """One resource: what a launch asks of it, and for how long that keeps it busy.

    amount: in `unit`s, at least; per_second: what the device gives, of all multiprocessors that the
    launch can use; reason: a sentence.
    """

    resource: str
    title: str
    amount: float
    unit: str
    per_second: float
    reason: str

    @property
    def microseconds(self) -> float:
        return 1e6 * self.amount / self.per_second
