"""Two profiles side by side: before and after a change of a kernel."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

from helpers.quantities import quantity

from .profile import Profile
from .profile_tables import html_table, text_table


@dataclass(frozen=True)
class ProfileComparison:
    """Two profiles side by side, from compare(). `rows` lists the counters that are not zero in
    both.
    """

    before: Profile
    after: Profile

    @property
    def rows(self) -> tuple[tuple[str, int, int], ...]:
        """(counter, before, after) for each counter of the launch, then the bytes of global
        memory.
        """
        before, after = (
            {**p.counters(), "bytes_requested": p.bytes_requested, "bytes_moved": p.bytes_moved}
            for p in self.pair
        )
        return tuple(
            (name, before[name], after[name]) for name in before if before[name] or after[name]
        )

    @property
    def pair(self) -> tuple[Profile, Profile]:
        return self.before, self.after

    def ratio(self, counter: str) -> float:
        """Return before / after: 4.0 means four times fewer after, inf means none after, nan means
        none before and after.
        """
        first, second = next(((a, b) for name, a, b in self.rows if name == counter), (0, 0))
        return first / second if second else float("inf") if first else float("nan")

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence for each counter that differs, the largest change first."""
        changed = [(name, a, b) for name, a, b in self.rows if a != b]
        changed.sort(key=lambda row: _factor(*row[1:]), reverse=True)
        return tuple(_change(*row) for row in changed) or ("no counter differs",)

    def to_dict(self) -> dict:
        """Return plain values for a file."""
        rows = [{"counter": name, "before": a, "after": b} for name, a, b in self.rows]
        return {"before": self.before.to_dict(), "after": self.after.to_dict(), "rows": rows}

    def __str__(self) -> str:
        return "\n".join([*self._titles(), text_table(_COMPARED, self._cells())])

    def _repr_html_(self) -> str:
        titles = "<br>".join(html.escape(title) for title in self._titles())
        return f"<p>{titles}</p>{html_table(_COMPARED, self._cells())}"

    def _titles(self) -> tuple[str, str]:
        return f"before: {self.before.title()}", f"after:  {self.after.title()}"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (name.replace("_", " "), f"{a:,}", f"{b:,}", _times(a, b)) for name, a, b in self.rows
        ]


_COMPARED = ("counter", "before", "after", "change")


def _times(before: int, after: int) -> str:
    if before == after:
        return "same"
    if not before or not after:
        return "new" if after else "gone"
    return f"{before / after:.3g} x fewer" if before > after else f"{after / before:.3g} x more"


def _factor(before: int, after: int) -> float:
    return max(before / after, after / before) if before and after else math.inf


def _change(name: str, before: int, after: int) -> str:
    words = name.replace("_", " ")
    if not before or not after:
        return f"{words}: {before:,} before, {after:,} after"
    return f"{words}: {before:,} before, {after:,} after ({_times(before, after)})"


def compare(before: Profile, after: Profile) -> ProfileComparison:
    """Compare two launches of the same problem. Raises ValueError if their counters are not sums
    over the same blocks.

    A sample of blocks compares only with a sample of the same share. A launch that a finding
    stopped compares with no other.
    """
    for profile in (before, after):
        if not profile.completed:
            raise ValueError(
                f"{profile.kernel} was stopped at a finding, so its counters are partial: mend it "
                "first"
            )
    if before.blocks_run * after.blocks != after.blocks_run * before.blocks:
        raise ValueError(
            f"{before.kernel} ran {before.blocks_run:,} of {quantity(before.blocks, 'block')} and "
            f"{after.kernel} {after.blocks_run:,} of "
            f"{after.blocks:,}: profile both with all blocks (sample_every=1)"
        )
    return ProfileComparison(before, after)
