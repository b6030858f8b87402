"""The simulator's counters of a launch beside those of Nsight Compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidence.counters.cases import Case
from evidence.counters.differences import reason
from evidence.counters.readings import COMPARED
from helpers import tables


@dataclass(frozen=True)
class Compared:
    """One counter of one launch. why: the reason of a known difference, else None."""

    launch: Case
    counter: str
    ncu: int
    simulator: int
    why: str | None

    @property
    def equal(self) -> bool:
        return self.ncu == self.simulator

    def __str__(self) -> str:
        return "=" if self.equal else f"{self.simulator:,}/{self.ncu:,}{'*' if self.why else ' !'}"


def count(launch: Case) -> dict[str, int]:
    """Return the simulator's counters of ``launch``; AssertionError if it stopped the launch."""
    profile = launch.profile()
    if not profile.completed:
        raise AssertionError(f"{launch.label}: the simulator stopped it\n{profile}")
    return profile.counters()


def compare(
    launch: Case, read: Mapping[str, Any], counted: Mapping[str, int] | None = None
) -> list[Compared]:
    """Return the counters of ``launch`` by the simulator beside ncu's.

    read: ncu's, counter name -> number. counted: the simulator's, if they are known already.
    """
    counted = counted or count(launch)
    return [
        Compared(
            launch, name, int(read[name]), counted[name], reason(launch, name, counted[name], read)
        )
        for name in COMPARED
    ]


def table(compared: Sequence[Compared]) -> str:
    """Return a text table with a line for each launch and a column for each counter that differs.

    A cell is "=" for equal numbers, else simulator/ncu, with a * if the reason is known and stands
    below, and a ! if not.
    """
    differences = [one for one in compared if not one.equal]
    columns = [name for name in COMPARED if any(one.counter == name for one in differences)]
    lines: dict[str, list[str]] = {}
    for one in compared:
        cells = lines.setdefault(one.launch.label, [])
        if one.counter in columns:
            cells.append(str(one))
    head = ["launch", *(name.replace("_", "\n") for name in columns)]
    text = tables.text(head, [[label, *cells] for label, cells in lines.items()])
    reasons = dict.fromkeys(
        f"* {one.launch.kernel}, {one.counter}: {one.why}" for one in differences if one.why
    )
    return "\n".join([text, *reasons, summary(compared)])


def summary(compared: Sequence[Compared]) -> str:
    """Return how many numbers are equal, differ for a known reason, and differ for none."""
    known = sum(not one.equal and one.why is not None for one in compared)
    unknown = sum(not one.equal and one.why is None for one in compared)
    launches = len({one.launch.label for one in compared})
    kernels = len({one.launch.kernel for one in compared})
    return (
        f"{launches} launches of {kernels} kernels, {len(compared):,} numbers: "
        f"{sum(one.equal for one in compared):,} equal, "
        f"{known} differ for a known reason, {unknown} for none"
    )


def unexplained(compared: Sequence[Compared]) -> list[str]:
    """Return a text for each difference without a reason.

    It has the launch, the counter, both numbers, and the simulator's number by source line.
    """
    return [
        f"{one.launch.label}: {one.counter} {one.simulator:,} in the simulator, "
        f"{one.ncu:,} by ncu ({one.ncu - one.simulator:+,}); the simulator's by line: "
        f"{_by_line(one)}"
        for one in compared
        if not one.equal and one.why is None
    ]


def _by_line(one: Compared) -> str:
    space, access, what = one.counter.split("_")
    lines = one.launch.profile().lines
    rows = [row for row in lines if (row.space, row.access) == (space, access)]
    return ", ".join(f"{row.line} ({row.array}) {getattr(row, what):,}" for row in rows) or "none"
