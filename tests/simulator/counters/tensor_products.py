"""Products of small matrices whose sums show how a tensor core adds: operands as data, a kernel for
each mma, and `device_functions/tensor_products.cu`.

`sets(product)` gives A (sets, m, k), B (sets, k, n) and C (sets, m, n) by their bits; `packed` puts
them into fragments (set, lane, register), `unpacked` reads D out of them.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).resolve().parent / "device_functions" / "tensor_products.cu"
SETS = 256


@dataclass(frozen=True)
class Product:
    """kernel: its name; m, n, k: shape; kind, sums: formats of the operands and of C and D; wmma:
    matrices in memory, not fragments.
    """

    kernel: str
    k: int
    kind: str
    sums: str = "f32"
    m: int = 16
    n: int = 8
    wmma: bool = False

    @property
    def mma(self) -> str:
        """Its instruction, as `source_of` takes it."""
        kind = "tf32" if self.kind == "f32" else self.kind
        clamped = "satfinite." if "_sat_" in self.kernel else ""
        shape = f"m{self.m}n{self.n}k{self.k}.row.col"
        return f"{shape}.{clamped}{self.sums}.{kind}.{kind}.{self.sums}"


PRODUCTS = (
    Product("mma_f16_k16", 16, "f16"), Product("mma_bf16_k16", 16, "bf16"),
    Product("mma_tf32_k8", 8, "f32"), Product("mma_e4m3_k32", 32, "e4m3"),
    Product("mma_e5m2_k32", 32, "e5m2"), Product("mma_s8_k32", 32, "s8", "s32"),
    Product("mma_s8_sat_k32", 32, "s8", "s32"), Product("mma_u8_k32", 32, "u8", "s32"),
    Product("mma_f16_k8", 8, "f16"), Product("mma_bf16_k8", 8, "bf16"),
    Product("mma_tf32_k4", 4, "f32"), Product("mma_f16_half_k16", 16, "f16", "f16"),
    Product("mma_f16_half_k8", 8, "f16", "f16"), Product("mma_f64_k4", 4, "f64", "f64", 8),
    Product("mma_f16_twice_k16", 16, "f16"),
    Product("wmma_f16_float", 16, "f16", "f32", 16, 16, True),
    Product("wmma_f16_half", 16, "f16", "f16", 16, 16, True),
)  # fmt: skip

BITS: dict[str, Any] = {
    "f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64, "e4m3": np.uint8,
    "e5m2": np.uint8, "s8": np.uint8, "u8": np.uint8, "s32": np.uint32,
}  # fmt: skip
WIDTHS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4,
          "u4": 4, "b1": 1, "f64": 64, "f32": 32, "s32": 32}  # fmt: skip


def registers(text: str) -> list[tuple[str, int]]:
    """The format and the number of registers of D, A, B and C in each lane."""
    m, n, k = (int(extent) for extent in re.findall(r"\d+", text.partition(".")[0]))
    kinds = [word for word in text.split(".") if word in WIDTHS]
    products = 4 if text.startswith("m8n8k4.") and kinds[1] == "f16" else 1
    cells = (m * n, m * k, k * n, m * n)
    return [
        (kind, products * cell * WIDTHS[kind] // (32 * max(WIDTHS[kind], 32)))
        for kind, cell in zip(kinds, cells, strict=True)
    ]


def source_of(name: str, text: str) -> str:
    """A kernel of an mma ("m16n8k8.row.col.f32.f16.f16.f32"). Fragments lie in memory as they do in
    registers: set, lane, register.
    """
    numbers, groups, given, places = itertools.count(), [], [], []
    for letter, (kind, count) in zip("dabc", registers(text), strict=True):
        held, register = {"f32": ("float", "f"), "f64": ("double", "d")}.get(
            kind, ("unsigned", "r")
        )
        const, written = ("", "=") if letter == "d" else ("const ", "")
        given.append(f"{const}{held}* {letter}")
        groups.append(f"{{{', '.join(f'%{next(numbers)}' for _ in range(count))}}}")
        cells = (f"{letter}[at * {count} + {k}]" for k in range(count))
        places.append(", ".join(f'"{written}{register}"({cell})' for cell in cells))
    return (
        f'extern "C" __global__ void {name}({", ".join(given)})\n{{\n'
        "    const int at = blockIdx.x * 32 + threadIdx.x;\n"
        f'    asm("mma.sync.aligned.{text} {", ".join(groups)};"\n'
        f"        : {places[0]}\n        : {', '.join(places[1:])});\n}}\n"
    )


def source() -> str:
    """A .cu file with the kernels of all products."""
    written = SOURCE.read_text()
    others = (one for one in PRODUCTS if f" {one.kernel}(" not in written)
    return "\n".join([written, *(source_of(one.kernel, one.mma) for one in others)])


def raw(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.PCG64(seed).random_raw(int(np.prod(shape))).reshape(shape)


def _uniform(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return (raw(shape, seed) >> np.uint64(11)) * 2.0**-52 - 1


def narrowed(values: np.ndarray, kind: str) -> np.ndarray:
    """Doubles -> the bits of a format, cut or rounded (which does not matter: these are operands).
    """
    with np.errstate(all="ignore"):
        if kind == "f16":
            return values.astype(np.float16).view(np.uint16)
        if kind == "bf16":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        if kind == "f32":
            return values.astype(np.float32).view(np.uint32)
        if kind == "f64":
            return values.astype(np.float64).view(np.uint64)
        if kind == "e5m2":
            return (values.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)
        if kind == "e4m3":
            # The exponent's bias is 7, not 15.
            half = (values * 2.0**-8).astype(np.float16).view(np.uint16)
            return (((half >> 8) & 0x80) | ((half >> 7) & 0x7F)).astype(np.uint8)
        return np.clip(np.rint(values), -(2**31), 2**31 - 1).astype(np.int64).astype(BITS[kind])


def drawn(shape: tuple[int, ...], seed: int, kind: str) -> np.ndarray:
    """Eight families of sets, by set modulo 8."""
    plain = _uniform(shape, seed)
    reach = {"f16": 12, "bf16": 60, "f32": 60, "f64": 200, "e4m3": 6, "e5m2": 12, "s32": 20}[kind]
    exponents = (raw(shape, seed + 1) % np.uint64(2 * reach)).astype(np.float64) - reach
    narrow = (raw(shape, seed + 2) % np.uint64(14)).astype(np.float64) - 7
    whole = np.rint(plain * 8)
    families = [
        plain,
        plain * np.exp2(np.minimum(exponents, reach * 0.6)),
        plain * np.exp2(narrow),
        np.where(raw(shape, seed + 3) % np.uint64(8) == 0, plain * 2.0 ** min(reach * 0.6, 20),
            plain),
        np.sign(plain) * np.exp2(narrow),
        plain * 2.0 ** -reach,
        whole,
        np.where(raw(shape, seed + 4) % np.uint64(97) == 0,
            np.array([np.inf, -np.inf, np.nan, 0.0])[raw(shape, seed + 5) % np.uint64(4)], plain),
    ]  # fmt: skip
    which = np.arange(shape[0]) % 8
    return np.stack([families[family][number] for number, family in enumerate(which)])


def sets(product: Product) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and C. The last 32 sets are probes: one product or C of 1, and products that shrink by
    powers of two.
    """
    m, n, k = product.m, product.n, product.k
    if product.kind in ("s8", "u8"):
        c = raw((SETS, m, n), 3) >> np.uint64(32)
        c = np.where(np.arange(SETS)[:, None, None] % 2 == 0, c, c >> np.uint64(12)).astype(
            np.uint32
        )
        return (
            *(
                (raw(s, seed) >> np.uint64(9)).astype(np.uint8)
                for s, seed in (((SETS, m, k), 1), ((SETS, k, n), 2))
            ),
            c,
        )
    a, b = drawn((SETS, m, k), 10, product.kind), drawn((SETS, k, n), 20, product.kind)
    c = drawn((SETS, m, n), 30, product.sums)
    rows, columns = np.arange(m)[:, None], np.arange(n)[None, :]
    limit = {"e4m3": 6, "f16": 13, "e5m2": 13}.get(product.kind, 20)
    for probe in range(32):
        at = SETS - 32 + probe
        a[at], b[at], c[at] = 0, 0, 0
        first, second = probe % k, (probe * 5 + 1) % k
        sign = -1 if probe & 16 else 1
        b[at, first], b[at, second] = 1, 1
        # Row: how much smaller the second product is; column: its fraction's bits.
        a[at, :, second] = (
            sign * np.exp2(-np.minimum(np.arange(m), limit).astype(float)) * (1 + (probe % 4) / 4)
        )
        b[at, second] = np.exp2(-np.arange(n).astype(float)) * 1.5
        if probe % 3 == 0:
            a[at, :, first] = 1
        else:
            c[at] = (1 + 2.0**-10) * np.where(
                probe % 3 == 1, 1.0, np.exp2(0.0 * rows + columns % 3)
            )
        if probe % 5 == 4:
            c[at] += np.exp2(-3.0) * (rows % 2)
            a[at, :, (first + 3) % k] = np.exp2(
                -(np.minimum(np.arange(m), limit) // 2).astype(float)
            )
            b[at, (first + 3) % k] = 1
    return narrowed(a, product.kind), narrowed(b, product.kind), narrowed(c, product.sums)


def _places(product: Product) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """For A, B and C: row and column of each cell of a fragment, in the order of memory: lane,
    register, cell.
    """
    lane = np.arange(32)[:, None, None]
    group, thread = lane // 4, lane % 4
    size = np.dtype(BITS[product.kind]).itemsize
    cells = 4 // size if size < 8 else 1
    half_rows = product.m // 8
    i, j = (
        np.arange(half_rows * product.k // (4 * cells))[None, :, None],
        np.arange(cells)[None, None, :],
    )
    a = group + 8 * (i % half_rows) + 0 * j, thread * cells + 4 * cells * (i // half_rows) + j
    i = np.arange(product.k // (4 * cells))[None, :, None]
    b = thread * cells + 4 * cells * i + j, group + 0 * i + 0 * j
    i, j = np.arange(half_rows)[None, :, None], np.arange(2)[None, None, :]
    c = group + 8 * i + 0 * j, thread * 2 + j + 0 * i
    return tuple((row.reshape(-1), column.reshape(-1)) for row, column in (a, b, c))


def packed(product: Product) -> list[np.ndarray]:
    """A, B and C as a kernel reads them; the last array has D's size too."""
    matrices = sets(product)
    if product.wmma:
        a, b, c = matrices
        return [np.ascontiguousarray(x) for x in (a, b.transpose(0, 2, 1), c)]
    return [
        np.ascontiguousarray(x[:, row, column])
        for x, (row, column) in zip(matrices, _places(product), strict=True)
    ]


def unpacked(product: Product, d: np.ndarray) -> np.ndarray:
    """D (sets, m, n) from what a kernel wrote."""
    if product.wmma:
        return d.reshape(SETS, product.m, product.n)
    row, column = _places(product)[2]
    made = np.zeros((SETS, product.m, product.n), d.dtype)
    made[:, row, column] = d.reshape(SETS, -1)
    return made
