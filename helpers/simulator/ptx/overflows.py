"""Finds numbers that overflow: a product such as `row * width` that an int cannot hold.

    y[i] = x[row * width + column];     // 65,536 * 65,536 is 0 in 32 bits, which is inside x

The index wraps, and nothing is wrong with the access where it lands. `with_exact_indices` lets
careful PTX compute such an index in 64 bits, too, beside its sums and products in 32 bits, and tell
the machine of one that does not fit. It does so for addresses, and for an int that is made a number
of 64 bits and stored, as in `long long area = w * h`. Others may wrap: a hash does, and it goes
through a remainder, a shift or a mask before it is an index.

An index that is computed from a thread's place in the grid overflows in the last blocks, if
anywhere. One that comes from an array may overflow in any block: `comes_from_memory`.
"""

from __future__ import annotations

import re

from .functions import with_bodies
from .rows import OVERFLOW

VALUE = " // of a number that is no index"
_FROM_MEMORY = "// an index comes from memory"
_LOADED = re.compile(r"^\s*(?:@!?%\w+\s+)?ld\.(?!param)[\w.]*32\s+(%r\d+),")
_DECLARED = re.compile(r"^\s*\.reg\s+\.\w+\s+%\w+<\d+>;")  # not one of a call
_EXTENT = re.compile(r"^\s*mov\.u32\s+(%r\d+), %ntid\.[xyz];")
_WRITTEN = re.compile(r"^\s*(?:@!?%\w+\s+)?[a-z][\w.]*\s+(%rd?\d+),")
_STEP = re.compile(
    r"^\s*(?P<what>mul\.lo|mad\.lo|add|sub|shl)\.[bsu]32\s+(?P<result>%r\d+), (?P<operands>[^;]*);"
)
_INDEX = re.compile(r"^\s*cvt\.(?P<wide>[su])64\.[su]32\s+(?P<result>%rd\d+), (?P<index>%r\d+);")
_PASSES_ON = re.compile(
    r"^\s*(?:mov\.[bu]64|add\.[su]64|sub\.[su]64|shl\.b64|mul\.lo\.[su]64|mad\.lo\.[su]64"
    r"|cvta[\w.]*)\s+(%rd\d+), (.*);"
)
_ADDRESS = re.compile(r"\[(%rd\d+)")
_STORED = re.compile(r"\bst\.[\w.]*[bsu]64\s+\[[^]]*\], (%rd\d+);")
_WIDE = re.compile(r"%rd\d+\b")
_DEEPEST = 50  # steps in 32 bits from a value to an index
_SMALL = 4096  # an index times less than that does not overflow in an array that fits a computer
# What is added to an index, and the largest sum: the index fits an int, or 32 bits.
_FITS = {"s": (1 << 31, (1 << 32) - 1), "u": (1 << 31, (1 << 32) + (1 << 31) - 1)}


def with_exact_indices(ptx: str) -> str:
    """Return the PTX with calls that tell the machine of indices that have overflowed."""
    return with_bodies(ptx, lambda _, body: _checked(body))


def comes_from_memory(ptx: str) -> bool:
    """Return whether an index that is checked is the product of a number that an array gives."""
    return _FROM_MEMORY in ptx


def _checked(body: str) -> str:
    lines = body.split("\n")
    indices = _indices(lines)
    if not indices:
        return body
    exact = _Exact(lines)
    for k, index, wide, is_value in indices:
        if not exact.may_overflow(index):
            continue
        more, most = _FITS[wide]
        value = exact.value(index)
        exact.add(k, f"add.s64 \t%fit, {value}, {more};", f"setp.gt.u64 \t%wraps, %fit, {most};")
        exact.add(k, f"@%wraps call.uni {OVERFLOW}, ({value});{VALUE if is_value else ''}")
    if not exact.behind:
        return body
    last = max(k for k, line in enumerate(lines) if _DECLARED.match(line))
    if exact.is_from_memory:
        exact.behind.setdefault(last, []).append(_FROM_MEMORY)
    names = "".join(f"\t.reg .b64 \t{name};\n" for name in ("%fit", *exact.registers))
    exact.behind.setdefault(last, []).insert(0, f"{names}\t.reg .pred \t%wraps;")
    return "\n".join(
        text for k, line in enumerate(lines) for text in (line, *exact.behind.get(k, ()))
    )


def _indices(lines: list[str]) -> list[tuple[int, str, str, bool]]:
    """Return the conversions to 64 bits of an index that an address comes from, and of an int that
    is stored: the line, the number, "s" or "u", and whether it is only stored.
    """
    known = [(k, found) for k, line in enumerate(lines) if (found := _INDEX.match(line))]
    if not known:
        return []
    addresses = _sources(lines, {found for line in lines for found in _ADDRESS.findall(line)})
    stored = _sources(lines, {found for line in lines for found in _STORED.findall(line)})
    return [
        (k, found["index"], found["wide"], found["result"] not in addresses)
        for k, found in known
        if found["result"] in addresses or (found["result"] in stored and found["wide"] == "s")
    ]


def _sources(lines: list[str], registers: set[str]) -> set[str]:
    """Return registers of 64 bits, and those that they come from by sums and products."""
    passing = [found for line in lines if (found := _PASSES_ON.match(line))]
    size = 0
    while size != len(registers):
        size = len(registers)
        for found in passing:
            if found[1] in registers:
                registers.update(_WIDE.findall(found[2]))
    return registers


class _Exact:
    """The computations in 64 bits of a function. behind: what comes behind each line; registers:
    those that it needs; is_from_memory: whether a number of them comes from an array.
    """

    def __init__(self, lines: list[str]):
        self.behind: dict[int, list[str]] = {}
        self.registers: list[str] = []
        self.is_from_memory = False
        self._loaded = {found[1] for line in lines if (found := _LOADED.match(line))}
        self._values: dict[str, str] = {}
        self._extents = {found[1] for line in lines if (found := _EXTENT.match(line))}
        written: dict[str, int] = {}
        for line in lines:
            if found := _WRITTEN.match(line):
                written[found[1]] = written.get(found[1], 0) + 1
        self._steps = {
            found["result"]: (k, found["what"], found["operands"].split(", "))
            for k, line in enumerate(lines)
            if (found := _STEP.match(line)) and written[found["result"]] == 1
        }

    def add(self, line: int, *instructions: str) -> None:
        self.behind.setdefault(line, []).extend(f"\t{one}" for one in instructions)

    def may_overflow(self, register: str) -> bool:
        """Return whether an index comes from a product of two values, or by a large number."""
        waiting, seen = [(register, 0)], set()
        while waiting:
            one, depth = waiting.pop()
            if one in seen or one not in self._steps or depth > _DEEPEST:
                continue
            seen.add(one)
            k, what, operands = self._steps[one]
            if what in ("mul.lo", "mad.lo") and not any(map(self._is_small, operands[:2])):
                return True
            waiting += [(operand, depth + 1) for operand in operands if self._is_before(operand, k)]
        return False

    def _is_before(self, operand: str, line: int) -> bool:
        """Return whether an operand of a line comes from a step that stands before it."""
        return operand in self._steps and self._steps[operand][0] < line

    def value(self, register: str, depth: int = 0) -> str:
        """Return the register that has an index in 64 bits."""
        if register in self._values:
            return self._values[register]
        k, what, operands = self._steps[register]
        wide = [self._operand(k, one, depth + 1) for one in operands]
        result = self._values[register] = self._new()
        if what == "shl":
            self.add(k, f"shl.b64 \t{result}, {wide[0]}, {operands[1]};")
        else:
            name = {"mul.lo": "mul.lo.s64", "mad.lo": "mad.lo.s64"}.get(what, f"{what}.s64")
            self.add(k, f"{name} \t{result}, {', '.join(wide)};")
        return result

    def _operand(self, line: int, operand: str, depth: int) -> str:
        if not operand.startswith("%"):
            return operand
        if self._is_before(operand, line) and depth <= _DEEPEST:
            return self.value(operand, depth)
        self.is_from_memory |= operand in self._loaded
        result = self._new()
        self.add(line, f"cvt.s64.s32 \t{result}, {operand};")
        return result

    def _new(self) -> str:
        self.registers.append(f"%exact{len(self.registers)}")
        return self.registers[-1]

    def _is_small(self, operand: str) -> bool:
        """Return whether an operand is a small number, or an extent of the block."""
        if operand in self._extents:
            return True
        return operand.lstrip("-").isdigit() and abs(int(operand)) < _SMALL
