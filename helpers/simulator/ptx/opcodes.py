"""Translates an opcode of PTX to the machine's operation: its name, its flags, and its operands.

    describe("fma.rn.ftz.f32")   # name "fma.f32", flags FTZ, type "f32"
    describe("ld.volatile.global.v2.f32")   # name "ld", space GLOBAL_SPACE, 2 elements of 4 bytes

The numbers are those of machine/program.h.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from .instructions import WIDTHS, Instruction, instruction

GENERIC, GLOBAL_SPACE, SHARED_SPACE, LOCAL_SPACE, CONST_SPACE, PARAM_SPACE = range(6)
SPACES = {
    "global": GLOBAL_SPACE, "shared": SHARED_SPACE, "shared::cta": SHARED_SPACE,
    "shared::cluster": SHARED_SPACE,
    "local": LOCAL_SPACE, "const": CONST_SPACE, "param": PARAM_SPACE, "param::entry": PARAM_SPACE,
    "param::func": PARAM_SPACE,
}

TYPES = {
    name: number
    for number, name in enumerate(
        ("pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32",
         "s64",
         "f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2",
         "u16x2", "s16x2"),
        1,
    )
}

ROUND_INTEGER, FTZ, SATURATE, APPROXIMATE, FULL_RANGE, RELU, SATFINITE = (
    1 << bit for bit in range(2, 9)
)
NAN_RESULT, XORSIGN_ABS, ROUND_AWAY, WRAP, SHIFT_AMOUNT, VOLATILE = (
    1 << bit for bit in range(9, 15)
)
SCOPE_CTA, SCOPE_GPU, SCOPE_SYS, RELAXED, ACQUIRE, RELEASE, NON_COHERENT = (
    1 << bit for bit in range(15, 22)
)
RESULT_UNUSED, NO_COUNT, UNALIGNED_OK, ADDRESS_32, FRAME_LOCAL, PARAMETER = (
    1 << bit for bit in range(22, 28)
)

# Qualifiers that are not part of a name.
_FLAGS = {
    "rn": 0, "rz": 1, "rm": 2, "rp": 3,
    "rni": ROUND_INTEGER, "rzi": ROUND_INTEGER | 1, "rmi": ROUND_INTEGER | 2,
    "rpi": ROUND_INTEGER | 3,
    "ftz": FTZ, "sat": SATURATE, "approx": APPROXIMATE, "full": FULL_RANGE, "relu": RELU,
    "satfinite": SATFINITE,
    "NaN": NAN_RESULT, "rna": ROUND_AWAY, "wrap": WRAP, "clamp": 0, "shiftamt": SHIFT_AMOUNT,
    "volatile": VOLATILE, "cta": SCOPE_CTA, "cluster": SCOPE_GPU, "gpu": SCOPE_GPU, "gl": SCOPE_GPU,
    "sys": SCOPE_SYS,
    "weak": 0, "relaxed": RELAXED, "acquire": ACQUIRE, "release": RELEASE,
    "acq_rel": ACQUIRE | RELEASE, "mmio": RELAXED,
    "sync": 0, "aligned": 0, "noftz": 0, "unified": 0,
}
_CACHES = frozenset(("ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc"))
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


@dataclass(frozen=True, eq=False)
class Opcode:
    """The parts of an opcode. letters: the type that each letter of a row's operands stands for
    ("": any type). type: number of the last type. width: bytes of one element. result: whether
    operand 0 is a result (unless it is an address).
    """

    text: str
    parts: tuple[str, ...]
    name: str
    flags: int
    space: int
    width: int
    elements: int
    type: int
    letters: Mapping[str, str]
    result: bool
    policy: bool  # whether the last operand is a cache policy
    row: Instruction  # of the table

    @property
    def root(self) -> str:
        return self.parts[0]

    @property
    def last_type(self) -> str:
        return self.letters["t"]

    def types(self, operands: str) -> tuple[str, ...]:
        """Return the types that the letters of operands stand for, the last one for all that
        follow.
        """
        return tuple(self.letters[one] for one in operands)


@functools.cache
def describe(text: str) -> Opcode:
    """Split an opcode into its parts: `cvt.rn.f32.s64` is `cvt.f32.s64` with a rounding mode."""
    parts = tuple(text.split("."))
    root = parts[0]
    flags, space, elements = 0, GENERIC, 1
    kept, types = [root], []
    for part in parts[1:]:
        if part in WIDTHS:
            types.append(part)
            kept.append(part)
        elif part in SPACES and root != "isspacep":
            space = SPACES[part]
            kept.append("cluster" if part == "shared::cluster" else part.partition("::")[0])
        elif part in SPACES:
            kept.append(part.partition("::")[0])  # isspacep: a block is a cluster of its own
        elif part == "uni" and root in ("bra", "brx", "call", "ret"):
            pass
        elif part in _VECTORS and root not in ("mma", "wmma"):
            elements = _VECTORS[part]
        elif (part == "cluster" and root == "barrier") or (
            part == "sync" and root in ("bar", "barrier")
        ):
            kept.append(part)
        elif part in ("xorsign", "abs") and "xorsign" in parts:
            flags |= XORSIGN_ABS
        elif part in _FLAGS:
            flags |= _FLAGS[part]
        elif part in _CACHES and root in ("ld", "ldu", "st", "cp"):
            flags |= NON_COHERENT if part == "nc" or (part == "cg" and root == "cp") else 0
        elif part.startswith(("L1::", "L2::", "level::")):
            pass
        else:
            kept.append(part)
    row = instruction(parts)
    name = row.name(root, kept[1:])
    if root == "mov":
        width = WIDTHS.get(types[-1], 0) if types else 0
        name = f"mov.b{8 * width}" if width else "mov.pred"
    if root in ("barrier", "bar") and root == "barrier" and "aligned" not in parts:
        flags |= UNALIGNED_OK
    last = types[-1] if types else ""
    letters = {
        "t": last,
        "f": types[0] if types else "",
        "w": _wide(last),
        "u": "u32",
        "p": "pred",
        "x": "",
    }
    return Opcode(
        text, parts, name, flags, space, WIDTHS.get(last, 0), elements, TYPES.get(last, 0),
        letters, row.result, "L2::cache_hint" in parts, row,
    )


def _wide(name: str) -> str:
    return (
        f"{name[0]}{2 * int(name[1:])}" if name[:1] in ("u", "s") and name[1:].isdigit() else name
    )
