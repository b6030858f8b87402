"""Rehearsals: which blocks they run, and what they say about the findings of the launch itself.

A rehearsal runs the careful translation of a kernel (careful.py), and its writes are undone. It has
two uses. The optimiser removes wrong accesses, such as one past a local array; the rehearsal finds
them. And the optimiser makes accesses that the source does not make. It turns

    if (t == 31) v = f;

into a load by all lanes and a selection, because the cell `f` can always be read. Such a load does
not race in the source, and nobody uses the value that it reads too early. So a race, a read of
unwritten memory or an index outside its axis is a finding only if the careful translation has it
as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..findings.findings import Finding
from ..findings.joins import fault_of, merge_findings
from .launch_limits import Extents

# Kinds of findings that an access of the optimiser's own can have, or a division: it divides to
# count the turns of a loop. An access that would stop a GPU is not among them: it adds none.
_DIVISION = "fault"
_DOUBTFUL = ("race", "uninitialised", "out-of-bounds", _DIVISION)
_REHEARSED_THREADS = 1 << 12
_FEWEST_REHEARSED = 8  # blocks


def blocks_to_rehearse(
    grid: Extents, block: Extents, has_index_from_memory: bool = False
) -> np.ndarray:
    """Return the numbers of the blocks to rehearse, ascending, uint64, shape (n,).

    A small launch rehearses all blocks. A large one rehearses the corners of the grid, where guards
    fail, their neighbours, which may race with them, and some blocks in between. It rehearses all
    if an index that an int may not hold comes from memory, because any block may have it.
    """
    blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
    most = max(_REHEARSED_THREADS // threads, _FEWEST_REHEARSED)
    if blocks <= most or has_index_from_memory:
        return np.arange(blocks, dtype=np.uint64)
    ends = [sorted({0, min(1, extent - 1), max(extent - 2, 0), extent - 1}) for extent in grid]
    corners = {x + grid[0] * (y + grid[1] * z) for z in ends[2] for y in ends[1] for x in ends[0]}
    spread = np.linspace(0, blocks - 1, max(most - len(corners), 2)).astype(np.uint64)
    return np.array(sorted(corners.union(spread.tolist())), np.uint64)


def needs_confirmation(finding: Finding, fatal: Finding | None) -> bool:
    """Return whether only a careful run shows that the source makes the access; fatal: the finding
    that stopped the launch.
    """
    return finding.kind in _DOUBTFUL and finding != fatal


def unconfirmed(
    findings: Iterable[Finding], rehearsed: Iterable[Finding], fatal: Finding | None
) -> list[Finding]:
    """Return the findings that need confirmation, and that no rehearsal has."""
    known = {fault_of(finding) for finding in rehearsed}
    return [f for f in findings if needs_confirmation(f, fatal) and fault_of(f) not in known]


def without_proof(doubtful: Iterable[Finding]) -> list[Finding]:
    """Return the findings to leave out if no careful run comes to its end: a division in a loop
    without end is most likely the optimiser's, while its loads are most likely those of the source.
    """
    return [finding for finding in doubtful if finding.kind == _DIVISION]


def joined(
    findings: Iterable[Finding],
    rehearsed: Iterable[Finding],
    refuted: Iterable[Finding] = (),
    fatal: Finding | None = None,
) -> tuple[Finding, ...]:
    """Return the findings of a launch without the refuted ones, and those that only the rehearsal
    has, because the optimised code has dropped the access.

    If both have a fault, the rehearsal's finding stays, because it names the thread that makes the
    access; the number of times is that of the launch.
    """
    by_fault = {fault_of(finding): finding for finding in rehearsed}
    places = {(f.kind, f.file, f.line) for f in findings if not needs_confirmation(f, fatal)}
    kept = []
    for finding in findings:
        if not needs_confirmation(finding, fatal):
            kept.append(finding)
        elif finding not in refuted:
            same = by_fault.pop(fault_of(finding), finding)
            kept.append(replace(same, count=max(same.count, finding.count)))
    more = [f for f in by_fault.values() if (f.kind, f.file, f.line) not in places]
    if fatal is not None and fatal.kind == "out-of-bounds":
        # Only the launch knew which array the access left. In the rehearsal it landed in another.
        more = [f for f in more if f.kind != "race" or not _is_elsewhere(f, fatal)]
    return merge_findings([*more, *kept])


def _is_elsewhere(race: Finding, fatal: Finding) -> bool:
    """Return whether a race at the line of the fatal finding is about another array."""
    lines = race.line, race.other_line
    return race.file == fatal.file and fatal.line in lines and race.array != fatal.array
