"""Declarations of variables and formals, their initial values, and PTX's numbers."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from .syntax import TYPE_BYTES, ParseError, Variable

NUMBER = re.compile(r"[-+~!]?\s*(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
FLOAT = re.compile(r"0([fFdD])([0-9a-fA-F]+)")
_VARIABLE = re.compile(
    r"\s*((?:\.(?:align\s+\d+|attribute\s*\([^)]*\)|ptr|global|const|shared|local|\w+)\s*)*?)"
    r"\.(\w+)\s+(?:\.ptr\b[\s.\w]*?\s)?([\w$%]+)\s*((?:\[\s*\d*\s*\]\s*)*)(?:=\s*(.*?))?\s*$",
    re.DOTALL,
)
_ALIGN = re.compile(r"\.align\s+(\d+)")
_WORD = re.compile(
    r"\s*(?:(0[xX][fF]+[0]*)\s*\(|(generic)\s*\()?\s*([^,(){}\s+]+)\s*(?:\+\s*(-?\d+))?"
)
# What stands between two commas; commas in parentheses, which may be nested once, are part of it.
_VALUE = re.compile(r"[^,()]+(?:\((?:[^()]|\([^()]*\))*\)[^,()]*)*")


@functools.lru_cache(maxsize=1 << 14)
def integer(text: str) -> int:
    """Return the value of a PTX integer constant: decimal, 0x, 0b or octal, with U or a sign."""
    digits = text.replace(" ", "").rstrip("U")
    if digits[0] in "+-~!":
        value = integer(digits[1:])
        return {"+": value, "-": -value, "~": ~value, "!": int(not value)}[digits[0]]
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        return int(digits, 8)
    return int(digits, 0)


def read_variable(space: str, text: str, linkage: str = "") -> Variable:
    """Read a declaration from behind its state space: `.align 4 .b8 name[20] = {...}`."""
    match = _VARIABLE.match(text)
    if match is None or match[2] not in (*TYPE_BYTES, "texref", "samplerref", "surfref"):
        raise ParseError(f"variable .{space} {text.strip()[:80]}")
    width = TYPE_BYTES.get(match[2], 8)
    count = 1
    for dimension in re.findall(r"\[\s*(\d*)\s*\]", match[4]):
        count *= int(dimension or 0)
    if vector := re.search(r"\.v([248])\b", match[1]):
        width *= int(vector[1])
    align = _ALIGN.search(match[1]) or _ALIGN.search(text[: match.start(3)])
    one = Variable(
        match[3],
        space,
        width * count,
        int(align[1]) if align else max(1, width),
        match[2],
        linkage,
        managed=".managed" in match[1],
    )
    if match[5] is not None:
        _initialise(one, match[5], TYPE_BYTES[match[2]])
    return one


def _words(text: str) -> Iterator[str]:
    """Return the values of an initialiser without its braces. The compiler writes arrays flat, so
    inner braces hold nothing else. Tables may be long, so the loop looks at each character once.
    """
    found = _VALUE.finditer(text.replace("{", " ").replace("}", " "))
    return (one[0] for one in found if one[0].strip())


def _initialise(variable: Variable, text: str, width: int) -> None:
    data = bytearray(variable.size)
    addresses: dict[int, tuple[str, int]] = {}
    masks: dict[int, int] = {}
    for index, word in enumerate(_words(text)):
        word, offset = word.strip(), index * width
        if FLOAT.fullmatch(word):
            value = int(word[2:], 16)
        elif NUMBER.fullmatch(word):
            value = integer(word)
        else:
            match = _WORD.fullmatch(word.replace(")", " ").rstrip())
            if match is None:
                raise ParseError(f"initialiser {word!r} of {variable.name}")
            # 0xFF00(symbol) is the second byte of an address: the first byte's offset stands for
            # all eight.
            shift = (
                0 if match[1] is None else (int(match[1], 16) & -int(match[1], 16)).bit_length() - 1
            )
            start = offset - shift // 8
            masks[start] = masks.get(start, 0) | (int(match[1], 16) if match[1] else 2**64 - 1)
            addresses[start] = match[3], int(match[4] or 0)
            continue
        data[offset : offset + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    if any(mask != 2**64 - 1 for mask in masks.values()):
        raise ParseError(f"part of an address in the initialiser of {variable.name}")
    variable.data = bytes(data)
    variable.addresses = tuple((offset, *addresses[offset]) for offset in sorted(addresses))
