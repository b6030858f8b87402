"""What lowering makes of a function: rows, and the tables that the functions of a program share.

An operand of a row is a virtual register (0, 1 ...), NONE, or a static: -2 - its index in
`Statics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from .body import Body
from .parse import Function, Module
from .syntax import Label, Place, Variable

NONE = -1
# The functions that tell the machine of a gap, and of its end (gaps.py).
GAP, END_OF_GAP = "__gap_behind_array", "__end_of_gap"
GAP_BYTES = 16
# Those that tell it of the life of a variable (lifetimes.py), and the largest number of a variable.
LIFE, END_OF_LIFE = "__life", "__end_of_life"
LIVES = 250
# That which tells it of an index that has overflowed (overflows.py).
OVERFLOW = "__index_overflow"
# That which tells it of an addition to an int (int_sums.py).
INT_SUM = "__int_sum"
BUILTINS = (
    "vprintf", "__assertfail", "malloc", "free", GAP, END_OF_GAP, LIFE, END_OF_LIFE, OVERFLOW,
    INT_SUM,
)
FUNCTION_ADDRESS = 1 << 62  # plus the function's index
BY_ADDRESS = -(2**31)  # Instruction.target of a call through a register

# Static kinds (program.h), CONSTANT first. Without clusters a block is a cluster of its own.
STATIC_KINDS = {
    name: kind
    for kind, name in enumerate(
        (
            "constant",
            *(f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
            "laneid", "warpid", "nwarpid", "smid", "nsmid",
            *(f"lanemask_{relation}" for relation in ("eq", "lt", "le", "gt", "ge")),
            "dynamic_smem_size", "total_smem_size", "gridid",
        )
    )
}


LEFT_OUT = 1  # immediate of a trap


class Unsupported(ValueError):
    """An instruction that the machine does not run.

    name: what it is; place: where in the source.
    """

    def __init__(self, name: str, place: Place):
        where = f" ({place.file}:{place.line})" if place.line else ""
        super().__init__(f"the simulator does not run {name}{where}")
        self.name, self.place = name, place


class Template(NamedTuple):
    """The common part of the rows of one opcode. Operands start .. stop are results; apart: their
    slots differ from those of all sources.
    """

    operation: int
    flags: int
    space: int
    bytes: int
    elements: int
    type: int
    start: int
    stop: int
    apart: bool


class Row(NamedTuple):
    """An instruction: an index of Context.templates, operands, a guard (0 none, 1 true, 2 false)
    and its register."""

    template: int
    operands: list[int]
    guard: int
    predicate: int
    immediate: int
    flags: int
    place: int


@dataclass
class Statics:
    """The constants and special registers of a program, each once: (kind, bytes of a value, value
    or addend, symbol)."""

    index: dict[tuple[int, int, int, str], int] = field(default_factory=dict)

    def constant(self, width: int, bits: int) -> int:
        """Return the operand of a constant; ``width`` 0 is a predicate."""
        return -2 - self.index.setdefault((0, width, bits, ""), len(self.index))

    def special(self, name: str) -> int:
        """Return the operand of a special register."""
        return -2 - self.index.setdefault(
            (STATIC_KINDS[name], 8 if name == "gridid" else 4, 0, ""), len(self.index)
        )

    def symbol(self, name: str, addend: int) -> int:
        """Return the operand of the address of a .global or .const variable, to be relocated."""
        return -2 - self.index.setdefault((0, 8, addend, name), len(self.index))


class Operations:
    """The machine's operations: their names by number, and which names begin alike.

    Encoding asks the same of thousands of names for each function.
    """

    def __init__(self, ids: Mapping[str, int]):
        self.ids = ids
        self.names = [""] * (max(ids.values(), default=-1) + 1)
        for name, number in ids.items():
            self.names[number] = name
        self._beginning: dict[tuple[str, ...], list[int]] = {}

    def beginning(self, *starts: str) -> list[int]:
        """Return the numbers of the operations whose names begin with one of `starts`."""
        if starts not in self._beginning:
            numbers = range(len(self.names))
            self._beginning[starts] = [n for n in numbers if self.names[n].startswith(starts)]
        return self._beginning[starts]


_latest = Operations({})


def operations(ids: Mapping[str, int]) -> Operations:
    """Return the machine's operations, by their names and numbers."""
    # The machine has one table of operations, so that the latest one is the right one again.
    global _latest
    if (found := _latest).ids is not ids:
        found = _latest = Operations(ids)
    return found


@dataclass
class Context:
    """What the functions of a program share.

    operands: of each operation the letters of its operands (machine/operations.h); contract:
    whether products and sums are contracted; leaves_out: an instruction that the machine does not
    run becomes a trap with the immediate LEFT_OUT; shared: offset of each shared variable (of a
    module's by its name).
    """

    module: Module
    operation_ids: Mapping[str, int]
    operands: Mapping[str, str]
    contract: bool = True
    leaves_out: bool = False
    statics: Statics = field(default_factory=Statics)
    templates: dict[Template, int] = field(default_factory=dict)
    known: dict[object, int] = field(default_factory=dict)  # templates by opcode
    plain: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    shared: dict[Variable | str, int] = field(default_factory=dict)

    @cached_property
    def operations(self) -> Operations:
        """The names of the operations in `operation_ids`."""
        return operations(self.operation_ids)


@dataclass(slots=True)
class Branch:
    """A row after which execution may continue elsewhere than at the next row."""

    row: int
    labels: list[Label]
    falls: bool
    fatal: bool = False


@dataclass
class Code:
    """A function's rows.

    lists and targets: of calls, by row; relocations: rows whose immediate is added to a symbol.
    """

    function: Function
    body: Body
    rows: list[Row] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    lists: dict[int, list[int]] = field(default_factory=dict)
    targets: dict[int, int] = field(default_factory=dict)
    relocations: list[tuple[int, str]] = field(default_factory=list)
    callees: set[str] = field(default_factory=set)
    addressed: set[str] = field(default_factory=set)  # functions whose address it takes
    indirect: bool = False
    first_rows: list[int] = field(
        default_factory=list
    )  # of each statement, and one behind the last
    local_bytes: int = 0
