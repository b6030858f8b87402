"""The table of PTX's instructions that are lowered in a way of their own.

`opcodes` splits an opcode by its row, and `lower` translates it. An instruction without a row is
plain: it has one result, and the row of the machine's operation (machine/operations.h) says all
else of it, the types of its operands too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .syntax import TYPE_BYTES

# Bytes of each type that an opcode can name.
WIDTHS = TYPE_BYTES | {
    "e4m3": 1, "e5m2": 1, "e4m3x2": 2, "e5m2x2": 2, "u16x2": 4, "s16x2": 4, "tf32": 4,
}


@dataclass(frozen=True)
class Instruction:
    """The row of one instruction or several.

    types: letters of the operands, results first, as in machine/operations.h; x: whatever the
    register is, and a constant is u32; "" for those of the machine's row. result: whether operand 0
    is a result, unless it is an address. lowering: the method of `lower.Lowering`. across: results
    need other slots than their sources, because lanes read each other's values. operation: the
    first part of the operation's name, if not the root. drops: parts that this name lacks; None
    for all parts.
    """

    types: str = ""
    result: bool = True
    lowering: str = "plain"
    across: bool = False
    operation: str = ""
    drops: Collection[str] | None = ()

    def name(self, root: str, parts: list[str]) -> str:
        """Return the operation's name, from the parts after the root that are no flags."""
        kept = [] if self.drops is None else [one for one in parts if one not in self.drops]
        return ".".join([self.operation or root, *kept])


PLAIN = Instruction()
_OF_ACCESSES = (*WIDTHS, "global", "shared", "local", "const", "param", "cluster")
# By opcodes, which are roots such as "shl", or a root and a part such as "mul.wide". The first row
# that fits counts.
ROWS = {
    # Numbers and addresses.
    "mov": Instruction(lowering="move"),
    "cvta": Instruction(lowering="to_space"),
    "isspacep": Instruction(lowering="is_space"),
    # Other lanes.
    "shfl": Instruction("ttuuu", lowering="with_gaps", across=True, drops=WIDTHS),
    "vote.ballot": Instruction("upu", lowering="with_gaps", across=True, drops=WIDTHS),
    "vote": Instruction("ppu", lowering="with_gaps", across=True, drops=WIDTHS),
    "match": Instruction("utu", lowering="with_gaps", across=True, drops=WIDTHS),
    "elect": Instruction("uu", lowering="with_gaps", across=True),
    "redux": Instruction("ttu", across=True, drops=WIDTHS),
    "activemask": Instruction("u", across=True, drops=WIDTHS),
    # Memory.
    "ld ldu": Instruction(lowering="load", operation="ld", drops=None),
    "st.async st.bulk": Instruction("x", result=False),
    "st": Instruction(result=False, lowering="store", drops=None),
    "atom red": Instruction(lowering="atomic", operation="atom", drops=_OF_ACCESSES),
    "cp": Instruction("x", result=False, lowering="asynchronous"),
    "createpolicy": Instruction(lowering="policy"),
    "mapa getctarank tensormap": Instruction("x"),
    "prefetch prefetchu discard applypriority": Instruction(
        lowering="bare", operation="prefetch", drops=None
    ),
    # Barriers, and the order of memory.
    "barrier.cluster": Instruction("x", result=False, lowering="barrier", drops=WIDTHS),
    "bar.sync bar.arrive barrier.sync barrier.arrive": Instruction(
        "x", result=False, lowering="barrier", operation="bar", drops=WIDTHS
    ),
    "bar barrier": Instruction("x", lowering="barrier", operation="bar", drops=WIDTHS),
    "mbarrier.arrive mbarrier.arrive_drop": Instruction("x"),
    "mbarrier.init mbarrier.inval mbarrier.expect_tx mbarrier.complete_tx": Instruction(
        "x", result=False
    ),
    "mbarrier": Instruction("x"),
    "fence": Instruction("x", result=False, drops=("sc", "shared", "cluster", "global")),
    "membar": Instruction("x", result=False, lowering="bare", operation="fence"),
    # Matrices.
    "wmma.store": Instruction("x", result=False, across=True),
    "mma wmma movmatrix": Instruction("x", across=True),
    "ldmatrix": Instruction("x"),
    "stmatrix setmaxnreg": Instruction("x", result=False),
    # Control.
    "bra": Instruction(result=False, lowering="branch"),
    "brx.idx": Instruction(result=False, lowering="branch_by_index"),
    "call": Instruction(result=False, lowering="call"),
    "ret exit trap": Instruction(result=False, lowering="end"),
    "brkpt": Instruction("x", result=False),
    "nanosleep": Instruction("u", result=False, drops=None),
    "griddepcontrol": Instruction("x", result=False, lowering="bare", drops=None),
    "pmevent": Instruction(lowering="bare", drops=None),
    "row": Instruction(lowering="check_row"),  # of ours: a check of a row's bounds
}
# By root: pairs of a part of the opcode ("" for any) and the row, in the order of the table.
_BY_ROOT: dict[str, list[tuple[str, Instruction]]] = {}
for _opcodes, _row in ROWS.items():
    for _root, _, _part in (one.partition(".") for one in _opcodes.split()):
        _BY_ROOT.setdefault(_root, []).append((_part, _row))


def instruction(parts: tuple[str, ...]) -> Instruction:
    """Return the row of an opcode that is split at its dots: the first one that fits."""
    rows = _BY_ROOT.get(parts[0], ())
    return next((row for part, row in rows if not part or part in parts), PLAIN)
