"""How often a launch executes instructions of its machine code, at least.

The simulator executes PTX and knows how often. The GPU executes what ptxas made of it: loops turn
fewer times because ptxas unrolled them, and most instructions have another form. But some cannot
be left out or made before their time: a load, a store, a fused multiply-add, a barrier. Such an
instruction of PTX, an *anchor*, was executed N times, and ptxas says which machine instructions
came from its line (there are several where it was unrolled). Together these are executed N times
at least.

The rest follows from the ways through the code. Let n(b) be how often the basic block b is
executed, f(e) how often a warp, or a part of one, goes along the edge e between two blocks. Then

    n(first block) >= warps of the launch
    n(b) <= the sum of f over the edges into b      no way leads to b but over these
    n(b) <= the sum of f over the edges out of b    and each warp goes on, unless it ends there
    f(e) <= n(b)  for an edge e out of b
    sum over an anchor's machine instructions of n(their block) >= N

What any instructions cost at least, say all that a scheduler must issue, is the least sum of
(instructions in b) * n(b) that these inequalities allow: a linear program of a few hundred
unknowns. Whatever the GPU does fulfils them, so its sum is not smaller. Parts of a warp that go
different ways are no exception: an edge then carries less than the whole warp, and the
inequalities hold all the same. One more thing is sure of each warp: its first lane goes some way
from the first block to an end. Let g(e) be how often first lanes go along an edge; as many come to
a block as leave it or end there, and n(b) is not smaller than that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..ptx.listing import Instruction, sections

_BARRIER = re.compile(r"\bB\d+\b")
_JUMPS = ("BRA", "JMP", "BRX", "JMX", "BRXU", "JMXU")
_INDIRECT = ("BRX", "JMX", "BRXU", "JMXU")
_ENDS = ("EXIT", "RET", "KILL")


@dataclass
class Block:
    """A basic block. targets: labels that it may jump to; falls: it may go on to the next; ends: a
    warp may end in it, or go where nobody knows."""

    instructions: list[Instruction] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    falls: bool = True
    ends: bool = False


@dataclass(frozen=True)
class Code:
    """The machine code of one kernel. following: by block, the blocks that may come next; open: the
    blocks that a warp may come to on ways that are not known, such as those of a function."""

    blocks: tuple[Block, ...]
    following: tuple[tuple[int, ...], ...]
    open: frozenset[int]


class Anchor(NamedTuple):
    """Machine instructions that together are executed `times` times at least: by block, how much an
    execution of it adds."""

    shares: tuple[tuple[int, float], ...]
    times: float


def read(listing: str, kernel: str) -> Code | None:
    """Return the code of a kernel, by its mangled name, from a listing of nvdisasm with lines of
    PTX; None where the listing has no such kernel.
    """
    section = sections(listing).get(kernel)
    if section is None or not section.instructions:
        return None
    blocks: list[Block] = []
    open_block: Block | None = None
    reconvergence: dict[str, list[str]] = {}  # of a barrier register: where it lets go on
    waiting: list[tuple[Block, str]] = []
    labels: dict[int, list[str]] = {}
    for label, place in section.labels.items():
        labels.setdefault(place, []).append(label)
    for place, one in enumerate(section.instructions):
        if open_block is None or place in labels:
            open_block = Block(labels=labels.get(place, []))
            blocks.append(open_block)
        open_block.instructions.append(one)
        barrier = _BARRIER.search(one.operands)
        if one.root == "BSSY" and barrier and one.target:
            reconvergence.setdefault(barrier[0], []).append(one.target)
        elif one.root == "BSYNC" and barrier:
            waiting.append((open_block, barrier[0]))
            open_block = None
        elif one.root in _JUMPS:
            _jump(open_block, one)
            open_block = None
        elif one.root in _ENDS:
            open_block.ends, open_block.falls = True, one.guarded
            open_block = None
    for block, barrier_name in waiting:
        block.targets += reconvergence.get(barrier_name, [])
    return _linked(blocks)


def _jump(block: Block, one: Instruction) -> None:
    if one.root in _INDIRECT or not one.target:
        block.ends = True  # it goes on where nobody knows
        block.falls = one.guarded
        return
    block.targets.append(one.target)
    # "BRA P1, `(label)" and "BRA.DIV" have a condition of their own.
    plain = one.opcode == "BRA" and one.operands.startswith("`(")
    block.falls = one.guarded or not plain


def _linked(blocks: list[Block]) -> Code:
    at = {label: k for k, block in enumerate(blocks) for label in block.labels}
    following = []
    for k, block in enumerate(blocks):
        ways = [at[label] for label in block.targets if label in at]
        if len(ways) < len(block.targets):
            block.ends = True
        if block.falls and k + 1 < len(blocks):
            ways.append(k + 1)
        following.append(tuple(dict.fromkeys(ways)))
    reached = {way for ways in following for way in ways}
    alone = {k for k in range(len(blocks)) if k not in reached}
    if any(one.root in _INDIRECT for block in blocks for one in block.instructions):
        alone |= {k for k, block in enumerate(blocks) if block.labels}
    called = {
        at[one.target]
        for block in blocks
        for one in block.instructions
        if one.root.startswith("CALL") and one.target in at
    }
    return Code(tuple(blocks), tuple(following), frozenset(alone | called))


def least(
    code: Code,
    warps: float,
    anchors: Sequence[Anchor],
    weights: Iterable[Callable[[Instruction], float]],
) -> list[float]:
    """Return, for each of `weights`, the least sum over all executions of blocks.

    A weight is a function of an instruction, and a sum is over the instructions of the blocks.
    """
    from scipy import optimize

    count = len(code.blocks)
    edges = [(k, way) for k, ways in enumerate(code.following) for way in ways]
    # The unknowns: n of the blocks, f of the edges, g of the edges, first lanes that end in blocks.
    f, g, end = count, count + len(edges), count + 2 * len(edges)
    unknowns = end + count
    into: dict[int, list[int]] = {k: [] for k in range(count)}
    out: dict[int, list[int]] = {k: [] for k in range(count)}
    rows: list[_Row] = []  # of "sum <= limit"
    equal: list[_Row] = []  # of "sum = limit"
    for number, (first, second) in enumerate(edges):
        into[second].append(number)
        out[first].append(number)
        rows.append(({f + number: 1.0, first: -1.0}, 0.0))
    for k, block in enumerate(code.blocks):
        comes = {g + edge: 1.0 for edge in into[k]}
        starts = 1.0 if k == 0 else 0.0
        if k and k not in code.open:
            rows.append(({k: 1.0, **{f + edge: -1.0 for edge in into[k]}}, 0.0))
        if not block.ends:
            rows.append(({k: 1.0, **{f + edge: -1.0 for edge in out[k]}}, 0.0))
        rows.append(({**comes, k: -1.0}, -starts))
        leaves = {g + edge: comes.get(g + edge, 0.0) - 1.0 for edge in out[k]}
        leaves |= {end + k: -1.0} if block.ends else {}
        equal.append(({**comes, **leaves}, -starts))
    for anchor in anchors:
        row: dict[int, float] = {}
        for k, share in anchor.shares:
            row[k] = row.get(k, 0.0) - share
        rows.append((row, -anchor.times / warps))
    matrix, limits = _matrix(rows, unknowns)
    equations, sums = _matrix(equal, unknowns)
    found = []
    for weigh in weights:
        cost = np.zeros(unknowns)
        for k, block in enumerate(code.blocks):
            cost[k] = sum(weigh(one) for one in block.instructions)
        if not cost.any():
            found.append(0.0)
            continue
        solution: Any = optimize.linprog(cost, matrix, limits, equations, sums)
        if solution.status != 0:
            raise ArithmeticError(
                f"no way through the machine code fits what was counted: {solution.message}"
            )
        # The solver may be off by its tolerance; a bound must not be above.
        found.append(max(0.0, float(solution.fun) * warps * (1 - 1e-6)))
    return found


_Row = tuple[dict[int, float], float]  # by unknown, its factor; and the limit of their sum


def _matrix(rows: Sequence[_Row], unknowns: int) -> tuple[Any, list[float]]:
    """Return the factors as a sparse matrix, and the limits."""
    from scipy import sparse

    at = [(r, column) for r, (row, _) in enumerate(rows) for column in row]
    values = [value for row, _ in rows for value in row.values()]
    places = tuple(zip(*at, strict=True)) if at else ([], [])
    matrix = sparse.csr_matrix((values, places), shape=(len(rows), unknowns))
    return matrix, [limit for _, limit in rows]


def by_line(code: Code) -> Mapping[int, list[tuple[int, Instruction]]]:
    """Return (block, instruction) of what came from each line of the PTX text, by line."""
    found: dict[int, list[tuple[int, Instruction]]] = {}
    for k, block in enumerate(code.blocks):
        for one in block.instructions:
            if one.line:
                found.setdefault(one.line, []).append((k, one))
    return found
