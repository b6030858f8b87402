"""Counts the memory accesses of PTX as ptxas makes them, by the kernel's machine code (sass.py).

ptxas splits vectors into their elements, drops the elements that nothing reads, joins neighbours to
wider accesses, and removes an access whose value is there already. A line of PTX with one access is
certain, if its instructions in the machine code are of one width, or if it has none and another
access has its bytes. Every other access counts as PTX has it, and so do all where there is no
machine code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import atomics, sass
from .addresses import Addresses, Root, dominators
from .columns import Columns
from .control import Flow, predecessors, reached
from .opcodes import (
    GENERIC,
    GLOBAL_SPACE,
    LOCAL_SPACE,
    NO_COUNT,
    NON_COHERENT,
    SHARED_SPACE,
)
from .rows import Code, Context

_SPACES = (GENERIC, GLOBAL_SPACE, SHARED_SPACE)
# ptxas does not join loads and stores across these; the beginnings of their names.
_ORDERING = ("atom.", "bar.", "fence", "call", "cp.", "mbarrier", "wmma", "ldmatrix", "stmatrix")


class Piece(NamedTuple):
    """An access that counts: its distance from the address of PTX's instruction, and its bytes."""

    shift: int
    bytes: int


class Key(NamedTuple):
    """What accesses have in common that may stand for each other. width: bytes of an element."""

    store: bool
    space: int
    invariant: bool
    root: Root
    width: int


@dataclass(slots=True)
class Access:
    """A load or store of PTX.

    row: row of its function; line: line of the PTX text; offset: distance of its address from the
    root; elements: numbers of the elements that something reads (for a store, all); pieces: the
    accesses that count; certain: the machine code confirms them.
    """

    row: int
    line: int
    block: int
    key: Key
    offset: int
    count: int
    elements: tuple[int, ...]
    pieces: tuple[Piece, ...] = ()
    certain: bool = False

    @property
    def bytes(self) -> int:
        return self.key.width * self.count

    @property
    def whole(self) -> tuple[Piece, ...]:
        return (Piece(0, self.bytes),)

    @property
    def is_wide(self) -> bool:
        """Whether the machine code moves more bytes than the access's own elements."""
        return self.certain and any(piece.bytes > self.key.width for piece in self.pieces)

    def at(self, element: int) -> int:
        """Return the distance of an element from the root."""
        return self.offset + element * self.key.width


def model(
    context: Context,
    code: Code,
    rows: Columns,
    flow: Flow,
    machine_code: sass.Lines | None = None,
    addresses: Addresses | None = None,
) -> list[Access]:
    """Return the loads and stores of a function in global, shared and generic memory, with the
    pieces that count. machine_code: the accesses of the kernel's machine code, if known.
    """
    addresses = addresses or Addresses(context, code, rows, flow)
    found = _Reader(context, code, rows, addresses).accesses()
    if found and machine_code is not None:
        _follow(found, machine_code, _Ways(rows, flow, addresses, found))
    return found


def mark(
    instructions: np.ndarray,
    context: Context,
    code: Code,
    rows: Columns,
    flow: Flow,
    machine_code: sass.Lines | None = None,
) -> np.ndarray:
    """Write into a function's instructions how their accesses count. It returns for each
    instruction whether the machine code confirms it (bool).

    join is the bytes of a piece, and target is added to the address. For two pieces, join has the
    bytes of the second in bits 8 to 15, and its distance from the first from bit 16 on. For an
    atomic, join is atomics.Update.how.
    """
    certain = np.zeros(len(instructions), bool)
    addresses = Addresses(context, code, rows, flow)
    for one in model(context, code, rows, flow, machine_code, addresses):
        certain[one.row] = one.certain
        if one.pieces == one.whole:
            continue
        if not one.pieces:
            instructions["flags"][one.row] |= NO_COUNT
            continue
        first, *more = one.pieces
        join = first.bytes
        for second in more[:1]:
            join |= second.bytes << 8 | (second.shift - first.shift) << 16
        instructions["join"][one.row], instructions["target"][one.row] = join, first.shift
    lines = _Lines(code)
    if machine_code is not None:
        _mark_local(instructions, certain, context, rows, lines, machine_code)
    for update in atomics.updates(rows, context.operations, lines.of, machine_code):
        certain[update.row] = update.certain
        instructions["join"][update.row] = update.how
    return certain


def _mark_local(
    instructions: np.ndarray,
    certain: np.ndarray,
    context: Context,
    rows: Columns,
    lines: _Lines,
    machine_code: sass.Lines,
) -> None:
    """Write how accesses of local memory count: not at all where ptxas has found registers for an
    array or joined them to another access, and as wide as the machine code's where that is one
    width.
    """
    ids = context.operation_ids
    operation, space = rows.field("operation"), rows.field("space")
    for name, root in (("ld", sass.LOCAL_LOAD), ("st", sass.LOCAL_STORE)):
        chosen = (operation == ids.get(name, -1)) & (space == LOCAL_SPACE)
        for row in np.flatnonzero(chosen).tolist():
            there = machine_code.get(lines.of(row), ())
            widths = {one.bytes for one in there if one.root == root}
            certain[row] = len(widths) <= 1
            if not widths:
                instructions["flags"][row] |= NO_COUNT
            elif len(widths) == 1:
                instructions["join"][row] = widths.pop()


class _Lines:
    """The lines of the PTX text that rows come from."""

    def __init__(self, code: Code):
        self.lines = code.body.lines
        self.first_rows = np.array(code.first_rows[: len(self.lines)])

    def of(self, row: int) -> int:
        """Return the line of a row, 0 for a row without a statement."""
        statement = int(np.searchsorted(self.first_rows, row, "right")) - 1
        return self.lines[statement] if 0 <= statement < len(self.lines) else 0


class _Reader:
    """Finds the accesses of a function."""

    def __init__(self, context: Context, code: Code, rows: Columns, addresses: Addresses):
        self.context, self.code, self.rows, self.addresses = context, code, rows, addresses
        self.lines = _Lines(code)
        self.is_read = np.zeros(len(code.widths) + 1, bool)
        self.is_read[rows.operand[~rows.is_result & (rows.operand >= 0)]] = True
        self.symbols = dict(code.relocations)

    def accesses(self) -> list[Access]:
        ids = self.context.operation_ids
        operation, space = self.rows.field("operation"), self.rows.field("space")
        load, store = ids.get("ld", -1), ids.get("st", -1)
        chosen = np.isin(operation, [load, store]) & np.isin(space, _SPACES)
        return [
            self.access(row, operation[row] == store) for row in np.flatnonzero(chosen).tolist()
        ]

    def access(self, row: int, store: bool) -> Access:
        rows, addresses = self.rows, self.addresses
        width, count = int(rows.field("bytes")[row]), int(rows.field("elements")[row])
        flags = int(rows.field("flags")[row] | rows.flags[row])
        base, *values = addresses.operands(row)
        if base != -1:
            root, offset = addresses.root(base, row)
        else:
            symbol = self.symbols.get(row)
            root, offset = Root("symbol", symbol) if symbol else Root("constant"), 0
        space, invariant = int(rows.field("space")[row]), bool(flags & NON_COHERENT)
        found = Access(
            row,
            self.lines.of(row),
            int(addresses.block_of[row]),
            Key(bool(store), space, invariant, root, width),
            offset + int(rows.immediate[row]),
            count,
            tuple(k for k, one in enumerate(values) if store or (one >= 0 and self.is_read[one])),
        )
        found.pieces = found.whole
        return found


class _Ways:
    """The ways between the accesses of a function."""

    def __init__(self, rows: Columns, flow: Flow, addresses: Addresses, accesses: list[Access]):
        self.flow, self.addresses, self.all = flow, addresses, accesses
        ids = addresses.context.operations.beginning(*_ORDERING)
        self.order = np.flatnonzero(np.isin(rows.field("operation"), ids)).tolist()
        self._dominators: list[int] = []

    def dominates(self, block: int, other: int) -> bool:
        if block == other:
            return True
        if not self._dominators:
            self._dominators = dominators(self.flow)
        return bool(self._dominators[other] >> block & 1)

    def lasts(self, before: Access, load: Access) -> bool:
        """Return whether nothing on the ways from an access to a load may change the load's value.
        """
        ways = predecessors(self.flow.successors)
        # A way that comes to the earlier access again begins anew there.
        again = {before.block}
        between = reached(before.block, self.flow.successors, again)
        between &= reached(load.block, ways, again)
        in_loop = load.block in between
        changing = [one.row for one in self.all if one.key.store and _meet(load.key, one.key)]
        for row in (*self.order, *changing):
            block = int(self.addresses.block_of[row])
            if block == before.block:
                is_between = row > before.row
            elif block == load.block:
                is_between = in_loop or row < load.row
            else:
                is_between = block in between
            if is_between:
                return False
        return True


def _meet(load: Key, store: Key) -> bool:
    """Return whether a store may change a load's value."""
    return not load.invariant and (
        load.space == store.space or GENERIC in (load.space, store.space)
    )


def _runs(elements: set[int], count: int, store: bool) -> Iterator[tuple[int, int]]:
    """Yield (first element, number of elements) of the accesses for a window of 1, 2 or 4."""
    if count == 4 and len(elements) >= (4 if store else 3):
        yield 0, 4
        return
    for first in range(0, count, 2):
        here = sorted(elements & {first, first + 1})
        if len(here) == 2:
            yield first, 2
        else:
            for element in here:
                yield element, 1


def _follow(
    accesses: list[Access], lines: Mapping[int, tuple[sass.Access, ...]], ways: _Ways
) -> None:
    """Take over the facts that are certain in the machine code.

    A line of PTX with one access is certain, and so are instructions of one width. ptxas has
    removed an access without instructions if an earlier one, on every way, has its bytes. If it has
    merged two accesses where their ways part or meet, both stay as they are, because neither
    replaces the other.
    """
    by_line: dict[int, list[Access]] = {}
    by_root: dict[tuple[int, Root], list[Access]] = {}
    for one in accesses:
        by_line.setdefault(one.line, []).append(one)
        by_root.setdefault((one.key.space, one.key.root), []).append(one)
    gone = []
    for line, several in by_line.items():
        one = several[0]
        if not line or len(several) > 1:
            continue
        of_line = [found for found in lines.get(line, ()) if found.is_plain]
        widths = [found.bytes for found in of_line if found.stores == one.key.store]
        if not widths:
            gone.append(one)
        elif _agree(one.pieces, widths):
            one.certain = True
        else:
            _adapt(one, widths)
    for one in gone:
        alike = by_root[one.key.space, one.key.root]
        before = [other for other in alike if _stands_for(other, one, ways)]
        if (
            not one.elements
            or _covered(one, [other for other in before if other.is_wide])
            or _repeated(one, before)
        ):
            one.pieces, one.certain = (), True


def _agree(pieces: tuple[Piece, ...], widths: list[int]) -> bool:
    """Return whether instructions equal these pieces, once or in several copies."""
    expected = sorted(piece.bytes for piece in pieces)
    copies, rest = divmod(len(widths), max(len(expected), 1))
    return bool(expected) and not rest and sorted(widths) == sorted(expected * copies)


def _adapt(one: Access, widths: list[int]) -> None:
    """Change an access to its instructions, if they are certain."""
    if len(set(widths)) > 1:
        return
    width, size = widths[0], one.key.width
    runs = _runs(set(one.elements), one.count, one.key.store) if one.count > 1 else iter([(0, 1)])
    alone = tuple(Piece(size * first, size * count) for first, count in runs)
    if width == one.bytes:
        one.pieces, one.certain = one.whole, True
    elif _agree(alone, widths):
        one.pieces, one.certain = alone, True
    elif width > one.bytes:  # the window of that width around the access
        window = Piece(one.offset // width * width - one.offset, width)
        one.pieces, one.certain = (window,), True


def _stands_for(other: Access, one: Access, ways: _Ways) -> bool:
    """Return whether another access of the same space and root may replace this one: it is in the
    same block, or in a dominating one for a load, and nothing changes memory on the ways between
    them.
    """
    if other is one:
        return False
    if other.block == one.block:
        return other.key.store or not one.key.store
    if one.key.store or not ways.dominates(other.block, one.block):
        return False
    return one.key.invariant or ways.lasts(other, one)


def _covered(one: Access, wide: list[Access]) -> bool:
    """Return whether a wider access has all elements of this one."""
    low, high = one.at(one.elements[0]), one.at(one.elements[-1] + 1)
    for other in wide:
        for piece in other.pieces:
            start = other.offset + piece.shift
            if other.key.store == one.key.store and start <= low and high <= start + piece.bytes:
                return True
    return False


def _repeated(one: Access, others: list[Access]) -> bool:
    """Return whether other accesses have its bytes: an earlier load or store for a load, a later
    store for a store.
    """
    return any(
        other.offset <= one.offset
        and one.at(one.count) <= other.at(other.count)
        and (other.block != one.block or (other.row > one.row) == one.key.store)
        for other in others
    )
