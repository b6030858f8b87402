"""All shapes and formats of PTX's mma on random operands: what to run, as data.

Registers hold elements of `tensor_products`' families, the same bits for every layout: what a
register's elements are in the matrix decides the sums. A set is a warp's operands.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np
import tensor_products

SETS = 64


def _instructions() -> Iterator[str]:
    for shapes, kinds, sums in (
        ("m16n8k8 m16n8k16", "f16", "f16 f32"), ("m16n8k8 m16n8k16", "bf16", "f32"),
        ("m16n8k4 m16n8k8", "tf32", "f32"), ("m16n8k16 m16n8k32", "e4m3 e5m2", "f16 f32"),
        ("m8n8k4 m16n8k4 m16n8k8 m16n8k16", "f64", "f64"),
    ):  # fmt: skip
        for shape, a, b, c in itertools.product(*map(str.split, (shapes, kinds, kinds, sums))):
            yield f"{shape}.row.col.{c}.{a}.{b}.{c}"
    for shapes, kinds in (
        ("m8n8k16 m16n8k16 m16n8k32", "s8 u8"), ("m8n8k32 m16n8k32 m16n8k64", "s4 u4"),
    ):  # fmt: skip
        for shape, a, b in itertools.product(*map(str.split, (shapes, kinds, kinds))):
            yield f"{shape}.row.col.s32.{a}.{b}.s32"
            yield f"{shape}.row.col.satfinite.s32.{a}.{b}.s32"
    for shape, o in itertools.product(("m8n8k128", "m16n8k128", "m16n8k256"), ("xor", "and")):
        yield f"{shape}.row.col.s32.b1.b1.s32.{o}.popc"
    yield from (f"m8n8k4.row.col.{r}.f64.f64.f64.f64" for r in ("rz", "rm", "rp"))
    sums = (("f32", "f32"), ("f32", "f16"), ("f16", "f16"))
    for a, b, (d, c) in itertools.product(("row", "col"), ("row", "col"), sums):
        yield f"m8n8k4.{a}.{b}.{d}.f16.f16.{c}"


INSTRUCTIONS = {re.sub(r"\W", "_", text): text for text in _instructions()}


def source() -> str:
    """A .cu file with a kernel for each instruction."""
    return "\n".join(tensor_products.source_of(*one) for one in INSTRUCTIONS.items())


def operands(text: str) -> list[np.ndarray]:
    """The registers of D, which are zeros, A, B and C: sets, lanes, registers."""
    made = []
    for number, (kind, count) in enumerate(tensor_products.registers(text)):
        of_register = np.uint64 if kind == "f64" else np.uint32
        shape = (SETS, 32, count)
        if number == 0:
            made.append(np.zeros(shape, of_register))
        elif kind[0] in "fbet" and kind != "b1":
            plain = "f32" if kind == "tf32" else kind
            cells = (SETS, 32, count * max(32 // tensor_products.WIDTHS[kind], 1))
            values = tensor_products.drawn(cells, 10 * number, plain)
            made.append(tensor_products.narrowed(values, plain).view(of_register))
        else:
            bits = tensor_products.raw(shape, number) >> np.uint64(32)
            small = kind == "s32"  # in every other set, so that not all sums leave the range
            bits[::2] >>= np.uint64(12 if small else 0)
            made.append(bits.astype(np.uint32))
    return made
