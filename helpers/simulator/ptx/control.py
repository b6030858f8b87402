"""The control flow of a function: its basic blocks, and the places where the ways of a branch meet
again.

A join is the immediate post-dominator (Cooper, Harvey and Kennedy, "A simple, fast dominance
algorithm") over the ways that come back. Ways that leave the function do not count if other ways go
on: the lanes that leave never come to the join, and the lanes that stay run on together, as in the
code of ptxas.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .body import Body

BRANCHES = ("bra", "brx")  # how the opcodes begin
_ENDS = ("ret", "exit", "trap", "brkpt")


@dataclass(slots=True)
class Jump:
    """An instruction after which execution may continue elsewhere.

    falls: whether the next instruction may follow; fatal: whether it ends the program.
    """

    row: int
    targets: tuple[int, ...] = ()
    falls: bool = False
    fatal: bool = False


@dataclass
class Flow:
    """starts: the first instruction of each block; successors: block numbers; fatal: blocks that
    end the program."""

    starts: list[int]
    successors: list[list[int]]
    fatal: set[int]

    def block(self, row: int) -> int:
        """Return the block that has an instruction."""
        return bisect_right(self.starts, row) - 1

    def joins(self, rows: Sequence[int]) -> list[int]:
        """Return for each row (the last one of its block) the instruction where its ways meet
        again, -1 if they do not.
        """
        meeting = post_dominators(self.successors, self.fatal)
        return [self.starts[at] if (at := meeting[self.block(row)]) >= 0 else -1 for row in rows]

    def block_of(self, count: int) -> np.ndarray:
        """Return the block of each of ``count`` instructions: int64, shape (count,)."""
        lengths = np.diff(np.array([*self.starts, count]))
        return np.repeat(np.arange(len(self.starts)), lengths)


def flow(count: int, jumps: Sequence[Jump]) -> Flow:
    """Divide ``count`` instructions into blocks.

    The last instruction must be a jump that does not fall through.
    """
    leaders = {0}
    for jump in jumps:
        leaders.update(jump.targets)
        leaders.add(jump.row + 1)
    starts = sorted(row for row in leaders if row < count)
    number = {row: block for block, row in enumerate(starts)}
    successors = [[block + 1] for block in range(len(starts))]
    fatal = set()
    for jump in jumps:
        block = bisect_right(starts, jump.row) - 1
        ways = dict.fromkeys(number[target] for target in jump.targets)
        if jump.falls:
            ways[block + 1] = None
        successors[block] = list(ways)
        if jump.fatal and not ways:
            fatal.add(block)
    return Flow(starts, successors, fatal)


def jumps(body: Body) -> list[Jump]:
    """Return the jumps between statements; behind the last statement stands the end."""
    found = [Jump(len(body.statements))]
    for k, statement in enumerate(body.statements):
        root = statement.opcode.partition(".")[0]
        if root in BRANCHES:
            targets = tuple(one.statement for one in body.labels(statement))
            found.append(Jump(k, targets, statement.guard >= 0))
        elif root in _ENDS:
            found.append(Jump(k, (), statement.guard >= 0, root in ("trap", "brkpt")))
    return found


def following(body: Body) -> list[list[int]]:
    """Return for each statement those that may follow it; the end stands behind the last one."""
    ways = [[k + 1] for k in range(len(body.statements))]
    for jump in jumps(body)[1:]:
        ways[jump.row] = [*jump.targets, *([jump.row + 1] if jump.falls else [])]
    return [*ways, []]


def predecessors(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return for each block the blocks that it may follow."""
    found: list[list[int]] = [[] for _ in successors]
    for block, ways in enumerate(successors):
        for way in ways:
            found[way].append(block)
    return found


def post_dominators(
    successors: Sequence[Sequence[int]], fatal: set[int] | frozenset[int] = frozenset()
) -> list[int]:
    """Return for each block the block where all its ways meet first, -1 if they do not meet, or if
    block 0 does not lead to the block.

    For a block that leads to the function's last exit, only the ways to that exit count. The other
    blocks, whose ways all end elsewhere, are treated among themselves in the same manner, and so
    on. A loop without an exit ends in its last block.
    """
    before = predecessors(successors)
    left = {0, *reached(0, successors)}
    meeting = [-1] * len(successors)
    while left:
        exits = [block for block in left if not successors[block]]
        root = max([block for block in exits if block not in fatal] or exits or left)
        region = _postorder(root, before, left)
        _solve(region, successors, meeting)
        left.difference_update(region)
    return meeting


def reached(
    start: int, ways: Sequence[Iterable[int]], without: Container[int] = frozenset()
) -> set[int]:
    """Return the blocks that a block leads to, past some others; the block itself only
    if a way comes back to it.
    """
    found: set[int] = set()
    waiting = [start]
    while waiting:
        for way in ways[waiting.pop()]:
            if way not in found and way not in without:
                found.add(way)
                waiting.append(way)
    return found


def _postorder(root: int, ways: Sequence[Sequence[int]], members: set[int]) -> list[int]:
    """Return the blocks in depth-first postorder along ``ways``; the root is last."""
    order, seen = [], {root}
    stack = [(root, iter(ways[root]))]
    while stack:
        block, rest = stack[-1]
        for way in rest:
            if way in members and way not in seen:
                seen.add(way)
                stack.append((way, iter(ways[way])))
                break
        else:
            order.append(block)
            stack.pop()
    return order


def _solve(region: list[int], successors: Sequence[Sequence[int]], meeting: list[int]) -> None:
    """Run Cooper, Harvey and Kennedy's algorithm on the reversed edges within a region (in
    postorder, its root last).
    """
    rank = {block: index for index, block in enumerate(region)}
    root = len(region) - 1
    above = [-1] * len(region)
    above[root] = root
    ways = [[rank[way] for way in successors[block] if way in rank] for block in region]
    changed = True
    while changed:
        changed = False
        for index in range(root - 1, -1, -1):
            found = -1
            for way in ways[index]:
                if above[way] < 0:
                    continue
                if found < 0:
                    found = way
                    continue
                other = way
                while found != other:
                    while found < other:
                        found = above[found]
                    while other < found:
                        other = above[other]
            if above[index] != found:
                above[index] = found
                changed = True
    for index in range(root):
        meeting[region[index]] = region[above[index]]
