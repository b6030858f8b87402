"""Formulas through the instructions of matrices: ldmatrix, stmatrix, movmatrix, mma and wmma.

The places of a matrix's elements in the registers of a warp are those of machine/fragments.h.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ..ptx.opcodes import SHARED_SPACE
from .copies import note_unfinished
from .formulas import Formula, Packed, limited
from .lanes import Follower, Form, Lane
from .ptx_types import is_float, value_of
from .recording import Event
from .translation import Row

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64, "s8": 8, "u8": 8}
_LANES = 32


@lru_cache(maxsize=64)
def places(use: str, m: int, n: int, k: int, bits: int) -> list[list[tuple[int, int]]]:
    """Return row and column of the elements of a fragment: for each place of a lane's elements,
    those of all lanes. use: "a", "b" or "c" (also of the result); bits: of an element.
    """
    major = m if use == "a" else n if use == "b" or m < n else m
    minor = k if use != "c" else m if m < n else n
    pack = 2 if use == "c" else max(32 // bits, 1)
    transposed = use == "c" and m < n
    blocks_major, blocks_minor = major // 8, minor // (4 * pack)
    minor_first = use == "b" and blocks_major == 2
    found = []
    for place in range(blocks_major * blocks_minor * pack):
        block, two = place // pack, 2 * blocks_minor
        if minor_first:
            along, across = block // blocks_minor, block % blocks_minor
        elif blocks_major == 1:
            along, across = 0, block
        else:
            along, across = block // two * 2 + block % 2, block % two // 2
        lanes = []
        for lane in range(_LANES):
            a = along * 8 + lane // 4
            b = across * 4 * pack + lane % 4 * pack + place % pack
            lanes.append((b, a) if use == "b" or transposed else (a, b))
        found.append(lanes)
    return found


def handler(row: Row) -> Callable | None:
    """Return what follows an instruction of matrices, None for any other and for one that is not
    followed.
    """
    name = row.operation
    if name.startswith(("ldmatrix", "stmatrix")):
        return _rows_loaded if name.startswith("ld") else _rows_stored
    if name.startswith("movmatrix"):
        return _transposed
    if name.startswith("wmma.load"):
        return _fragment_loaded
    if name.startswith("wmma.store"):
        return _fragment_stored
    is_product = name.startswith(("mma.", "wmma.mma."))
    return _multiplied if is_product and _types(name) is not None else None


# ---- registers


def part_of(run: Follower, lane: Lane, operand: int, bits: int, place: int) -> Form:
    """Return the formula of an element in a register of 32 bits, None for a constant."""
    form = run.form_of(lane, operand)
    count = 32 // bits if bits < 32 else 1
    if form is None or count == 1:
        return form
    if isinstance(form, Packed) and len(form.parts) == count:
        return form.parts[place]
    word = run.bits_of(lane, operand)
    return run.part(form, word >> bits * place & ((1 << bits) - 1), f"f{bits}", place)


def _joined(parts: list[Form]) -> Form:
    if len(parts) == 1:
        return parts[0]
    flat = tuple(one if isinstance(one, Formula) else None for one in parts)
    return Packed(flat) if any(one is not None for one in flat) else None


def _element(run: Follower, lane: Lane, operand: int, type: str, place: int) -> Formula:
    """Return the formula of an element, also that of a constant."""
    bits = _BITS[type]
    word = run.bits_of(lane, operand)
    own = word >> bits * place & ((1 << bits) - 1) if bits < 32 else word
    form = part_of(run, lane, operand, bits, place)
    kind = "f32" if type == "tf32" else type
    if isinstance(form, Formula):
        return run.as_type(form, kind, own)
    return Formula.constant(value_of(own, kind), is_float(kind))


def _read(
    run: Follower, event: Event, lane: Lane, addresses: list[int], nbytes: int, first: int
) -> list[Form]:
    """Return the formulas of some elements in memory. first: the place of the first one among those
    that the lane gets.
    """
    forms = [run.load(address, nbytes, None) for address in addresses]
    for place, (form, address) in enumerate(zip(forms, addresses, strict=True), first):
        run.loaded[event.number, lane.linear, place] = form
        run.places[event.number, lane.linear, place] = address
        if run.copying:
            note_unfinished(run, event, lane, place, address)
    return forms


# ---- ldmatrix, stmatrix, movmatrix: 8 x 8 elements of 16 bits


def _row_addresses(run: Follower, row: Row, lanes: list[Lane], operand: int) -> list[int]:
    window = run.recording.shared if row.space == SHARED_SPACE else 0
    mask = 0xFFFFFFFF if window else (1 << 64) - 1
    return [window + (run.bits_of(lane, operand) & mask) for lane in lanes]


def _rows_loaded(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    if event.values is None:
        return
    addresses = _row_addresses(run, row, lanes, row.sources[0])
    is_transposed = ".trans" in row.operation
    for matrix, register in enumerate(row.results):
        for lane, one in enumerate(lanes):
            g, q = divmod(lane, 4)
            first = 8 * matrix
            at = (
                [addresses[first + 2 * q] + 2 * g, addresses[first + 2 * q + 1] + 2 * g]
                if is_transposed
                else [addresses[first + g] + 4 * q, addresses[first + g] + 4 * q + 2]
            )
            run.set(one, register, _joined(_read(run, event, one, at, 2, 2 * matrix)))


def _rows_stored(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    if event.values is None:
        return
    addresses = _row_addresses(run, row, lanes, row.sources[0])
    is_transposed = ".trans" in row.operation
    for matrix, register in enumerate(row.sources[1:]):
        for lane, one in enumerate(lanes):
            g, q = divmod(lane, 4)
            first, word = 8 * matrix, run.bits_of(one, register)
            for half in range(2):
                at = (
                    addresses[first + 2 * q + half] + 2 * g
                    if is_transposed
                    else addresses[first + g] + 4 * q + 2 * half
                )
                form = part_of(run, one, register, 16, half)
                run.write(event, row, one, at, 2, form, word >> 16 * half & 0xFFFF)


def _transposed(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    source, result = row.sources[0], row.results[0]
    given = [[part_of(run, one, source, 16, half) for half in range(2)] for one in lanes]
    for lane, one in enumerate(lanes):
        g, q = divmod(lane, 4)
        parts = [given[4 * (2 * q + half) + g // 2][g % 2] for half in range(2)]
        run.set(one, result, _joined(parts))


# ---- wmma.load, wmma.store


def _form(name: str) -> tuple[str, int, int, int, int, str]:
    """Return use, m, n, k, bits and type of a fragment that is loaded or stored."""
    words = name.split(".")
    shape = _SHAPE.search(name)
    assert shape is not None
    use = "c" if words[2] == "d" else words[2]
    return use, *(int(one) for one in shape.groups()), _BITS.get(words[-1], 0), words[-1]  # type: ignore


def _matrix(
    run: Follower, row: Row, lanes: list[Lane], sources: tuple[int, ...], shape: tuple
) -> Callable[[int, int], int]:
    """Return the address of an element of the matrix in memory, by row and column."""
    use, m, n, k, bits, _ = shape
    by_rows = ".row." in row.operation
    rows, columns = (k if use == "b" else m), (k if use == "a" else n)
    start = _row_addresses(run, row, lanes[:1], sources[0])[0]
    stride = run.bits_of(lanes[0], sources[1]) if len(sources) > 1 else columns if by_rows else rows

    def address(r: int, c: int) -> int:
        element = r * stride + c if by_rows else c * stride + r
        return start + element * bits // 8

    return address


def _fragment_loaded(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    shape = _form(row.operation)
    use, m, n, k, bits, _ = shape
    if event.values is None or bits < 8:
        return
    address = _matrix(run, row, lanes, row.sources, shape)
    cells, each = places(use, m, n, k, bits), max(32 // bits, 1)
    distinct = len(cells) // each
    for number, register in enumerate(row.results):
        first = number % distinct * each
        for lane, one in enumerate(lanes):
            at = [address(*cells[first + p][lane]) for p in range(each)]
            run.set(one, register, _joined(_read(run, event, one, at, bits // 8, number * each)))


def _fragment_stored(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    shape = _form(row.operation)
    use, m, n, k, bits, _ = shape
    if event.values is None or bits < 16:
        return
    cells, each = places(use, m, n, k, bits), max(32 // bits, 1)
    count = len(cells) // each
    registers = row.sources[1 : 1 + count]
    address = _matrix(run, row, lanes, (row.sources[0], *row.sources[1 + count :]), shape)
    for number, register in enumerate(registers):
        for lane, one in enumerate(lanes):
            word = run.bits_of(one, register)
            for p in range(each):
                form = part_of(run, one, register, bits, p)
                own = word >> bits * p & ((1 << bits) - 1)
                at = address(*cells[number * each + p][lane])
                run.write(event, row, one, at, bits // 8, form, own)


# ---- mma, wmma.mma


def _types(name: str) -> tuple[str, str, str, str] | None:
    """Return the types of the result, A, B and the addend; None for what is not followed."""
    words = [one for one in name.split(".") if one in _BITS]
    shape = _SHAPE.search(name)
    if shape is None or (shape[0] == "m8n8k4" and "f64" not in words) or "popc" in name:
        return None
    if len(words) == 2:  # wmma of halves names the result and the addend only
        return words[0], "f16", "f16", words[1]
    return (words[0], words[1], words[2], words[3]) if len(words) == 4 else None


def _multiplied(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    types, shape = _types(row.operation), _SHAPE.search(row.operation)
    assert types is not None and shape is not None
    if event.values is None or len(lanes) != _LANES:
        return
    m, n, k = (int(one) for one in shape.groups())
    d_type, a_type, b_type, c_type = types
    matrices = {}
    first = 0
    is_wmma_of_halves = row.operation.startswith("wmma") and a_type == "f16"
    for use, type in (("a", a_type), ("b", b_type), ("c", c_type)):
        bits = _BITS[type]
        cells, each = places(use, m, n, k, bits), max(32 // bits, 1)
        elements: dict[tuple[int, int], Formula] = {}
        for place, at in enumerate(cells):
            register = row.sources[first + place // each]
            for lane, one in enumerate(lanes):
                elements[at[lane]] = _element(run, one, register, type, place % each)
        first += 8 if is_wmma_of_halves and use != "c" else len(cells) // each
        matrices[use] = elements
    a, b, c = matrices["a"], matrices["b"], matrices["c"]
    is_real = d_type[0] != "s"
    results: dict[tuple[int, int], Form] = {}
    for r in range(m):
        for column in range(n):
            total = dict(c[r, column].terms)
            for depth in range(k):
                product = a[r, depth].times(b[depth, column], 0)
                for monomial, coefficient in product.terms.items():
                    value = total.get(monomial, 0) + coefficient
                    if value:
                        total[monomial] = value
                    else:
                        total.pop(monomial, None)
            results[r, column] = limited(Formula(total, is_real), 0)
    bits = _BITS[d_type]
    cells, each = places("c", m, n, k, bits), max(32 // bits, 1)
    for number, register in enumerate(row.results):
        for lane, one in enumerate(lanes):
            parts = [results[cells[number * each + p][lane]] for p in range(each)]
            run.set(one, register, _joined(parts))
