"""Finds the loops in which ptxas puts a YIELD.

A loop whose end may depend on another thread gets one (read from SASS of sm_90): it has an access
that other threads see or change, and its exit depends on the old value of an atomic or on such a
load, through registers or through a branch. (ptxas leaves it out where it knows that all lanes
leave the loop together; there it would change nothing.)

A path of a warp that executes a YIELD rests, until the other paths have run. The lanes that wait
for it behind the loop go on without it, because a thread of the warp may wait for one of them. So
lanes that leave such a loop one after another do not run together behind it (measured). A loop with
a `nanosleep` has no YIELD, but the `nanosleep` has the same effect (measured, too).
"""

from __future__ import annotations

from collections.abc import Iterator

from .body import Body
from .control import BRANCHES, Flow, flow, jumps, post_dominators, predecessors, reached
from .syntax import Address, Group, Label, Statement, Variable

# Loads that other threads may answer: of memory order, and past the first cache.
_STRONG = frozenset(("volatile", "relaxed", "acquire", "mmio", "ca", "cg", "cv"))
# Their results are alike in all lanes that take part, and these leave a loop together.
_ALIKE = ("vote", "redux")


def yielding_loops(body: Body) -> set[int]:
    """Return the statements before which a YIELD stands, one for each such loop."""
    statements = body.statements
    shared = {k for k, one in enumerate(statements) if _is_shared(one)}
    if not shared or not any(_goes_back(one, k) for k, one in enumerate(statements)):
        return set()
    graph = flow(len(statements) + 1, jumps(body))
    depending = _depending(body, graph)
    found = set()
    for head, loop in _loops(graph):
        rows = [row for block in loop for row in _rows(graph, block, len(statements))]
        exits = [row for row in rows if not loop.issuperset(_ways(graph, row))]
        if (
            not shared.isdisjoint(rows)
            and any(not depending.isdisjoint(body.read[row]) for row in exits)
            and not any(statements[row].opcode.startswith("nanosleep") for row in rows)
        ):
            first = _rows(graph, _first(graph, head, loop), len(statements))
            found.add(_behind_loads(body, first))
    return found


def _behind_loads(body: Body, rows: range) -> int:
    """Return the statement of a block before which the YIELD stands.

    ptxas begins the block's loads before it, up to the first atomic or store.
    """
    place = rows.start
    for row in rows:
        root = body.statements[row].opcode.partition(".")[0]
        if root in ("atom", "red", "st", "call"):
            break
        if root == "ld":
            place = row + 1
    return place


def _first(graph: Flow, head: int, loop: set[int]) -> int:
    """Return the block that comes first in a loop of the machine code.

    Where a loop's first block may leave it, and its last one always goes back, ptxas moves the
    first block to the end, and puts a copy of it in front of the loop.
    """
    inside = [way for way in graph.successors[head] if way in loop]
    back = [block for block in loop if head in graph.successors[block]]
    turns = len(inside) == 1 < len(graph.successors[head])
    if turns and head not in back and all(len(graph.successors[one]) == 1 for one in back):
        return inside[0]
    return head


def _ways(graph: Flow, row: int) -> list[int]:
    """Return the blocks that may follow a statement, none within its block."""
    block = graph.block(row)
    ends = block + 1 == len(graph.starts) or graph.starts[block + 1] == row + 1
    return graph.successors[block] if ends else []


def _is_shared(statement: Statement) -> bool:
    root, *parts = statement.opcode.split(".")
    if root in ("atom", "red", "call"):
        return True
    return root == "ld" and "local" not in parts and not _STRONG.isdisjoint(parts)


def _goes_back(statement: Statement, k: int) -> bool:
    return any(isinstance(one, Label) and one.statement <= k for one in statement.operands)


def _rows(graph: Flow, block: int, count: int) -> range:
    """Return the statements of a block."""
    end = graph.starts[block + 1] if block + 1 < len(graph.starts) else count
    return range(graph.starts[block], min(end, count))


def _loops(graph: Flow) -> Iterator[tuple[int, set[int]]]:
    """Yield the first block and all blocks of each loop."""
    before = predecessors(graph.successors)
    for head, sources in enumerate(before):
        waiting = [block for block in sources if block >= head]
        if not waiting:
            continue
        loop = {head}
        while waiting:
            block = waiting.pop()
            if block not in loop:
                loop.add(block)
                waiting += before[block]
        yield head, loop


def _depending(body: Body, graph: Flow) -> set[int]:
    """Return the registers whose values depend on what other threads do."""
    meeting = post_dominators(graph.successors, graph.fatal)
    inside: set[int] = set()  # blocks that are executed or not, for that reason
    marked: set[int] = set()
    returned = set(_returned(body))
    # The block of each statement, and whether it is a branch or has another thread's value itself.
    rows = [
        (k, graph.block(k), one.opcode.startswith(BRANCHES), _is_shared(one) or k in returned)
        for k, one in enumerate(body.statements)
        if not one.opcode.startswith(_ALIKE)
    ]
    changed = True
    while changed:
        before = len(marked), len(inside)
        for k, block, is_branch, is_marked in rows:
            depends = not marked.isdisjoint(body.read[k])
            if depends and is_branch:
                inside |= reached(block, graph.successors, {meeting[block]})
            elif depends or is_marked or block in inside:
                marked.update(body.written[k])
        changed = before != (len(marked), len(inside))
    return marked


def _returned(body: Body) -> Iterator[int]:
    """Yield the loads of what calls return."""
    calls = [one for one in body.statements if one.opcode.startswith("call") and one.operands]
    groups = [one.operands[0] for one in calls]
    variables = {
        member.name
        for group in groups
        if isinstance(group, Group)
        for member in group.members
        if isinstance(member, Variable)
    }
    for k, statement in enumerate(body.statements):
        if statement.opcode.startswith("ld.param"):
            address = statement.operands[1]
            base = address.base if isinstance(address, Address) else None
            if isinstance(base, Variable) and base.name in variables:
                yield k
