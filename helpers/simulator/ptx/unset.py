"""Marks the registers that a function may read before anything has set them.

    float sum;
    for (int k = 0; k < n; ++k) sum += x[k];

The compiler gives `sum` a register, and no instruction sets it before the loop. `with_marks` sets
it at the start of the function, by a load from local memory that nothing has written. So the
machine follows the value as it follows every other unwritten one, and reports its use. The load has
the source line of the first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .body import Body
from .parse import Module
from .syntax import Operand

_DECLARED = re.compile(r"\.reg\s+\.(\w+)\s+(%\w+?)<\d+>;")
_ENDS = ("bra", "brx", "ret", "exit", "trap")
# A declaration without a value, which begins a statement: `float low, high`, `Node* next`.
_WITHOUT_VALUE = re.compile(
    r"(?!(?:return|delete|goto|typedef|using|else|case|throw|struct|class|enum|namespace|extern"
    r"|template|public|private|__shared__|__constant__|__device__)\b)"
    r"(?:(?:const|volatile|unsigned|signed|long|short|register|constexpr|static)\s+)*"
    r"[A-Za-z_][\w:]*(?:<[^<>;]*>)?(?:\s*[*&]+\s*|\s+)(?P<names>[A-Za-z_*][\w\s,*=.+-]*)"
)
_CELL = "__unset_register"  # the variable that nothing writes
_LOADABLE = ("b16", "b32", "b64", "f32", "f64")


def may_leave_unset(source: str) -> bool:
    """Return whether a source, without comments, declares a variable without a value."""
    for statement in re.split(r"[;{}]", source):
        # With a bracket it is a call, a function's head or a loop's.
        found = None if "(" in statement else _WITHOUT_VALUE.fullmatch(statement.strip())
        if found is not None and any("=" not in one for one in found["names"].split(",")):
            return True
    return False


def marks(ptx: str) -> int:
    """Return how many marks `with_marks` has made."""
    return len(re.findall(rf"\[{_CELL}\];", ptx))


def frame_bytes(ptx: str) -> int:
    """Return the bytes of local memory of all functions."""
    return sum(map(int, re.findall(r"__local_depot\d+\[(\d+)\];", ptx)))


def with_marks(ptx: str) -> str:
    """Return the PTX with marks on the registers that its functions may read unset."""
    module, lines = Module(ptx), ptx.split("\n")
    marks: dict[int, list[str]] = {}  # what comes behind each line
    for name, function in module.functions.items():
        if function.text is not None:
            _mark(module.body(name), lines, function.line - 1, marks)
    return "\n".join(text for k, line in enumerate(lines) for text in (line, *marks.get(k, ())))


def _mark(body: Body, lines: list[str], first: int, marks: dict[int, list[str]]) -> None:
    """Add the marks of a function whose code begins in line `first` of the PTX, from 0 on."""
    unset = _unset(body)
    if not unset:
        return
    declared = [
        (k, found)
        for k in range(first, body.lines[-1])
        if (found := _DECLARED.search(lines[k])) is not None
    ]
    types = {found[2]: found[1] for _, found in declared}
    made = []
    for name in sorted(name for name, register in body.names.items() if register in unset):
        kind = types.get(name.rstrip("0123456789"), "")
        line = _first_use(body, body.names[name]) if kind in _LOADABLE else 0
        places = (lines[k].strip() for k in range(line - 1, first, -1))
        place = next((one for one in places if one.startswith(".loc")), None)
        if place is not None:
            made += [f"\t{place}", f"\tld.local.{kind} \t{name}, [{_CELL}];"]
    if made:
        marks[declared[-1][0]] = [f"\t.local .align 8 .b8 {_CELL}[8];", *made]


def _unset(body: Body) -> set[Operand]:
    """Return the registers that some way through the function reads before it sets them."""
    statements = body.statements
    ways: list[list[int]] = []
    for k, one in enumerate(statements):
        following = [label.statement for label in body.labels(one)]
        if one.guard >= 0 or one.opcode.partition(".")[0] not in _ENDS:
            following.append(k + 1)
        ways.append([where for where in following if where < len(statements)])
    uses = [*map(_bits, body.read)]
    kept = [
        -1 if one.guard >= 0 else ~_bits(written)
        for one, written in zip(statements, body.written, strict=True)
    ]
    live, changed = [0] * len(statements), True
    while changed:
        changed = False
        for k in range(len(statements) - 1, -1, -1):
            after = 0
            for where in ways[k]:
                after |= live[where]
            before = uses[k] | (after & kept[k])
            if before != live[k]:
                live[k], changed = before, True
    return {register for register in range(len(body.widths)) if live and live[0] >> register & 1}


def _bits(registers: Iterable[int]) -> int:
    found = 0
    for register in registers:
        found |= 1 << register
    return found


def _first_use(body: Body, register: Operand) -> int:
    """Return the line of the first statement that uses a register or a copy of it, 0 if there is
    none.
    """
    copies: set[Operand] = {register}
    is_move = [one.opcode.startswith("mov.") for one in body.statements]
    size = 0
    while size != len(copies):
        size = len(copies)
        for k, read in enumerate(body.read):
            if is_move[k] and not copies.isdisjoint(read):
                copies.update(body.written[k])
    using = (k for k, read in enumerate(body.read) if not copies.isdisjoint(read))
    return next((body.lines[k] for k in using if not is_move[k]), 0)
