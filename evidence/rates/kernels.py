"""The kernels of kernels/rates/ in all their variants: widths of an access, sizes of an array.

Each asks for one resource and hardly anything else.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers import checking, kernels, launch, limits
from helpers.quantities import quantity

FOLDER = kernels.FOLDER / "rates"
TARGET_S = 1e-3  # of one launch
BLOCKS, THREADS = 4 * limits.MULTIPROCESSORS, 256  # 32 warps a multiprocessor
CHAINS = 8  # of rate_arithmetic and rate_shuffle


@dataclass(frozen=True)
class Variant:
    """One launch of a rate's kernel.

    asks: what each warp asks for in a turn of the kernel's loop (each launch of rate_dram and
    rate_blocks: in all), by names of `bounds.RESOURCES`. want: what y must hold, from the turns;
    its cells repeat. cells, dtype: of y. filled: the length of x, all ones, 0 without. expected: a
    guess of the first rate of `asks`, which only says how many turns take about TARGET_S; 0: one
    turn.
    """

    name: str
    asks: Mapping[str, float]
    kernel: str
    expected: float
    want: Callable[[int], np.ndarray]
    arguments: Callable[[int], tuple[launch.Argument, ...]]
    cells: int
    dtype: Any = np.float32
    options: tuple[str, ...] = ()
    grid: int = BLOCKS
    block: int = THREADS
    filled: int = 0
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    cache: str = "hot"
    rtol: float = 0.0

    @property
    def turns(self) -> int:
        """Turns of its loop for about TARGET_S; odd."""
        first = next(iter(self.asks.values()))
        return max(1, round(TARGET_S * self.expected / (first * self.warps))) | 1

    @property
    def warps(self) -> int:
        """Warps of the grid; 1 where `asks` is that of a whole launch."""
        return self.grid * -(-self.block // 32) if self.expected else 1

    def amounts(self, turns: int) -> dict[str, float]:
        """Return what a launch asks for, by resource."""
        return {name: amount * self.warps * turns for name, amount in self.asks.items()}

    def plan(self, turns: int | None = None) -> launch.Plan:
        """Return its launch, as `launch` runs it."""
        values = self.arguments(self.turns if turns is None else turns)
        one = launch.Launch(
            source(self.kernel), self.kernel, self.options, (self.grid, 1, 1), (self.block, 1, 1),
            constants=self.constants, arguments=(self.y, *values),
        )
        return (one,)

    @property
    def y(self) -> launch.Array:
        """The output; all zeros before the launch that is checked."""
        return launch.Array("y", (self.cells,), self.dtype)

    def check(self, y: np.ndarray, turns: int) -> checking.Verdict:
        """Compare the output, or its first cells. Raises checking.CheckError."""
        want = np.resize(self.want(turns), len(y)).astype(self.dtype)
        return checking.check(y, want, rtol=self.rtol, name=self.name)


def source(kernel: str) -> str:
    """Return the CUDA source of a rate's kernel."""
    return (FOLDER / f"{kernel}.cu").read_text(encoding="utf-8")


def sha256(kernel: str) -> str:
    """Return the sha256 of the kernel's code without its comments."""
    return hashlib.sha256(kernels.code(source(kernel)).encode()).hexdigest()


def variants() -> tuple[Variant, ...]:
    """Return all variants of all rates."""
    return (
        *_dram(), *_caches(), *_shared(), *_constant(), *_shuffle(), *_atomics(), *_arithmetic(),
        *_tensor(), *_blocks(),
    )


ONE_ARRAY = "x"


def _x(cells: int) -> launch.Array:
    return launch.Array(ONE_ARRAY, (cells,))


# --------------------------------------------------------------------------------------------------
# Memory


def _dram(vectors: int = 1 << 28, grids: Sequence[int] = (1024, 4096)) -> Iterator[Variant]:
    """Yield the variants of DRAM. vectors: of 4 floats, in each array; the threads of a grid divide
    them, with 4 a step.
    """
    for mode in ("READ", "WRITE", "COPY"):
        asks = {
            "READ": {"dram_read": 16.0 * vectors},
            "WRITE": {"dram_write": 16.0 * vectors},
            "COPY": {"dram": 32.0 * vectors},
        }[mode]
        for blocks in grids:
            reads = mode == "READ"
            per_thread = 4.0 * vectors / (blocks * THREADS)
            value = per_thread if reads else 3.0 if mode == "WRITE" else 1.0

            def want(turns: int, value: float = value) -> np.ndarray:
                return np.array([value])

            def arguments(turns: int) -> tuple[launch.Argument, ...]:
                return (_x(4 * vectors), np.int32(vectors), np.float32(3.0))

            yield Variant(
                f"DRAM {mode.lower()}, {blocks} blocks", asks, "rate_dram", expected=0.0, want=want,
                arguments=arguments, cells=blocks * THREADS if reads else 4 * vectors,
                options=(f"-DMODE={mode}",), grid=blocks, filled=4 * vectors, cache="cold",
            )


def _caches() -> Iterator[Variant]:
    loads = 16
    cases = [(1, "READ", width, 1, 1 << 12, THREADS) for width in (0, 1, 2, 4)]
    cases += [(1, "READ", 1, stride, 1 << 12, THREADS) for stride in (0, 8)]
    cases += [(1, "READ", 1, 1, 1 << 12, lanes) for lanes in (8, 16)]
    # Shorter arrays come in part from the multiprocessor, where several of its blocks read them.
    cases += [(2, "READ", 4, 1, 1 << power, THREADS) for power in (20, 21, 22, 23)]
    cases += [(2, "READ", 1, stride, 1 << 20, THREADS) for stride in (1, 2, 8)]
    cases += [(2, "WRITE", width, 1, 1 << power, THREADS) for width in (1, 4) for power in (18, 20)]
    cases += [(2, "WRITE", 1, stride, 1 << 20, THREADS) for stride in (2, 8)]
    cases += [(2, "COPY", 4, 1, 1 << power, THREADS) for power in (18, 20)]
    for level, mode, width, stride, n, threads in cases:
        words = max(1, width) * stride * min(threads, 32)
        cells = n + (loads - 1) * (32 if level == 1 else 256) * max(1, width) * max(1, stride)
        sectors = min(32, max(1, words // 8)) * loads
        asks: dict[str, float] = {"l2_read": sectors}
        if mode != "READ":
            asks = {"l2_write": sectors}
        if level == 1:
            passes = max(loads, sectors / 4)
            asks = {"l1": sectors, "lsu": loads, "l1_data": passes}
        reads = mode == "READ"
        grid = BLOCKS if threads == THREADS else 32 * limits.MULTIPROCESSORS
        value = {"READ": loads * max(1, width), "WRITE": 3.0, "COPY": 1.0}[mode]

        def want(
            turns: int, value: float = value, reads: bool = reads, stride: int = stride
        ) -> np.ndarray:
            if reads:
                return np.array([value * turns])
            return np.array([value] + [0.0] * (stride - 1))  # of a stride, the first is written

        def arguments(turns: int, n: int = n, cells: int = cells) -> tuple[launch.Argument, ...]:
            return (_x(cells), np.int32(n), np.float32(3.0), np.int32(turns))

        yield Variant(
            f"L{level} {mode.lower()}, {_width(width)}, stride {stride}, {4 * n // 1024} KB, "
            f"{min(threads, 32)} lanes", asks, "rate_cache", grid=grid, block=threads, want=want,
            arguments=arguments,
            expected=4e11 if level == 2 and reads else 1.5e11 if level == 2 else 8e11,
            cells=grid * threads if reads else cells,
            options=(f"-DMODE={mode}", f"-DLEVEL={level}", f"-DWIDTH={width}",
                     f"-DSTRIDE={stride}"),
            filled=cells,
        )


def _width(floats: int) -> str:
    return "a half a lane" if not floats else f"{quantity(floats, 'float')} a lane"


def _shared() -> Iterator[Variant]:
    accesses = 16
    cases = [("READ", width, 1, 1) for width in (1, 2, 4)] + [("READ", 1, 2, 1)]
    cases += [("WRITE", 1, 1, 1), ("WRITE", 4, 1, 1)]
    cases += [("BOTH", 1, 1, each) for each in (1, 2, 4)] + [("BOTH", 4, 1, 1)]
    for mode, width, stride, each in cases:
        passes = accesses * width * stride
        asks: dict[str, float] = {"shared": passes, "lsu": accesses, "l1_data": passes}
        if mode == "BOTH":
            asks = {"l1_data": passes * (1 + 1 / each), "lsu": accesses * (1 + 1 / each)}

        def want(turns: int, mode: str = mode, width: int = width, each: int = each) -> np.ndarray:
            if mode == "WRITE":
                return np.array([3.0 + turns - 1])
            cell = 3.0 + (1.0 / each if mode == "BOTH" else 0.0)
            return np.array([cell * width * accesses * turns])

        def arguments(turns: int) -> tuple[launch.Argument, ...]:
            return (_x(8192), np.float32(3.0), np.int32(turns))

        yield Variant(
            f"shared {mode.lower()}, {_width(width)}, stride {stride}"
            + (f", {each} for one of L1" if mode == "BOTH" else ""), asks,
            "rate_shared", expected=2.6e11, want=want, arguments=arguments, cells=BLOCKS * THREADS,
            options=(f"-DMODE={mode}", f"-DWIDTH={width}", f"-DSTRIDE={stride}",
                     f"-DEACH={each}"), filled=8192,
        )


def _constant() -> Iterator[Variant]:
    loads = 32
    table = (np.arange(256, dtype=np.int32) * 7 + 3) % 251
    for words, first in ((1, np.zeros(32, np.int32)), (32, np.arange(32, dtype=np.int32))):

        def want(turns: int, first: np.ndarray = first) -> np.ndarray:
            at = (first[:, None] + np.arange(turns)) & 31
            return sum(table[at + 4 * k].sum(axis=1) for k in range(loads)).astype(np.int32)

        def arguments(turns: int, first: np.ndarray = first) -> tuple[launch.Argument, ...]:
            return (first, np.int32(turns))

        yield Variant(
            f"constant, {words} words a request", {"constant": loads * words}, "rate_constant",
            expected=1e11, want=want, arguments=arguments,
            cells=BLOCKS * THREADS, dtype=np.int32, constants={"table": table},
        )


def _shuffle() -> Iterator[Variant]:
    steps = 15

    def want(turns: int) -> np.ndarray:
        lane = np.arange(THREADS) ^ 5  # an odd number of exchanges
        return CHAINS * lane + 1000 * sum(range(CHAINS))

    def arguments(turns: int) -> tuple[launch.Argument, ...]:
        return (np.int32(5), np.int32(turns))

    yield Variant(
        "shuffle", {"shuffle": steps * CHAINS}, "rate_shuffle", expected=2.6e11, want=want,
        arguments=arguments, cells=BLOCKS * THREADS, dtype=np.int32,
    )


def _atomics() -> Iterator[Variant]:
    updates, threads = 8, BLOCKS * THREADS
    for stride, n in ((1, 1 << 12), (1, 1 << 16), (1, 1 << 20), (8, 1 << 20), (2, 1 << 20), (0, 1)):
        sectors = min(32, 4 * stride) or 1

        def want(turns: int, stride: int = stride, n: int = n) -> np.ndarray:
            if stride == 0:
                return np.array([threads * updates * turns])
            start = np.arange(threads, dtype=np.int64) * stride
            count = np.zeros(n, np.int64)
            hop = threads * stride % n
            # The places of a thread repeat after `period` updates.
            period = n // math.gcd(hop, n) if hop else 1
            for k in range(min(period, updates * turns)):
                times = (updates * turns - k - 1) // period + 1
                count += times * np.bincount((start + k * hop) % n, minlength=n)
            return count % 2**32

        def arguments(turns: int, n: int = n) -> tuple[launch.Argument, ...]:
            return (np.int32(n), np.uint32(1), np.int32(turns))

        turns_of = 32 if stride == 0 else 1  # lanes that meet one word take turns
        yield Variant(
            f"atomics, stride {stride}, {n:,} words",
            {"atomics": updates * sectors * turns_of}, "rate_atomics",
            expected=2e9 if stride == 0 else 5e10, want=want, arguments=arguments, cells=n,
            dtype=np.uint32, options=(f"-DSTRIDE={stride}",),
        )


# --------------------------------------------------------------------------------------------------
# Units


def _integers(operation: str, x: np.ndarray, a: int, b: int, steps: int) -> np.ndarray:
    """Return the chains after `steps` steps; x: uint32, shape (CHAINS, threads)."""
    x, a_ = x.copy(), np.uint32(a)

    def logic(v: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (v & other) ^ (~v & a_)

    def product(v: np.ndarray, other: np.ndarray) -> np.ndarray:
        return v * other + a_

    def shift(v: np.ndarray, other: np.ndarray, by: int = a) -> np.ndarray:
        return (other << np.uint32(by)) | (v >> np.uint32(32 - by))

    def units(v: np.ndarray, other: np.ndarray, chain: int) -> np.ndarray:
        kinds = (logic(v, other), v + other + a_, shift(v, other, b), np.minimum(v, other))
        return kinds[chain % 4]

    actions: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
        "LOGIC": lambda v, other, chain: logic(v, other),
        "ADD": lambda v, other, chain: v + other + a_,
        "PRODUCT": lambda v, other, chain: product(v, other),
        "SHIFT": lambda v, other, chain: shift(v, other),
        "MINIMUM": lambda v, other, chain: np.minimum(v, other) ^ a_,
        "UNITS": units,
        "MIXED": lambda v, other, chain: (logic if chain % 2 else product)(v, other),
    }
    action = actions[operation]
    for _ in range(steps):
        for chain in range(CHAINS):
            x[chain] = action(x[chain], x[(chain + 1) % CHAINS], chain)
    return x


# operation: resource, type, a, b, operations a step, a guess of operations of a warp a second
_OPERATIONS: dict[str, tuple[str, Any, Any, Any, int, float]] = {
    "FP32": ("fp32", np.float32, np.float32(-1), np.float32(3), 1, 1.04e12),
    "FP64": ("fp64", np.float64, np.float64(-1), np.float64(3), 1, 5.2e11),
    "HALF2": ("half", np.uint32, np.uint32(0xBC00BC00), np.uint32(0x42004200), 1, 1.04e12),
    "LOGIC": ("integer", np.uint32, np.uint32(0x5A5A1234), np.uint32(0), 1, 5.2e11),
    "ADD": ("integer", np.uint32, np.uint32(0x9E3779B9), np.uint32(0), 1, 5.2e11),
    "SHIFT": ("integer", np.uint32, np.uint32(7), np.uint32(0), 1, 5.2e11),
    "MINIMUM": ("integer", np.uint32, np.uint32(0x5A5A1234), np.uint32(0), 2, 5.2e11),
    "PRODUCT": ("product", np.uint32, np.uint32(0x9E3779B9), np.uint32(0), 1, 5.2e11),
    "UNITS": ("integer", np.uint32, np.uint32(0x5A5A1234), np.uint32(7), 1, 5.2e11),
    "MIXED": ("issue", np.uint32, np.uint32(0x9E3779B9), np.uint32(0), 1, 1.04e12),
    "ROOT": ("special", np.float32, np.float32(1), np.float32(0), 1, 1.3e11),
    "CONVERSION": ("special", np.uint32, np.uint32(1), np.uint32(0), 1, 1.3e11),
}
_STEPS = 127  # odd: a chain of b - x then ends at b - x


def _arithmetic(steps: int = _STEPS) -> Iterator[Variant]:
    """Yield the variants of arithmetic. steps: of a turn, odd."""
    for operation, (resource, dtype, a, b, each, expected) in _OPERATIONS.items():
        want = functools.partial(_want_of_chains, operation, a, b, steps)

        def arguments(turns: int, a: Any = a, b: Any = b) -> tuple[launch.Argument, ...]:
            return (a, b, np.int32(turns))

        asks = {resource: steps * CHAINS * each}
        if operation == "FP32":
            asks["issue"] = asks["fp32"]
        yield Variant(
            f"arithmetic {operation}", asks, "rate_arithmetic",
            expected=expected, want=want,
            arguments=arguments, cells=BLOCKS * THREADS, dtype=dtype,
            options=(f"-DOPERATION={operation}", f"-DSTEPS={steps}"),
            rtol=1e-3 if operation == "ROOT" else 0.0,
        )


def _want_of_chains(operation: str, a: Any, b: Any, steps: int, turns: int) -> np.ndarray:
    chain = np.arange(CHAINS)[:, None]
    first = np.arange(THREADS) + chain + 1
    if operation in ("FP32", "FP64"):
        return (3.0 - first).sum(axis=0)
    if operation == "HALF2":
        pair = np.array([sum(3.0 - (k + 1) for k in range(CHAINS)),
                         sum(3.0 - (k + 2) for k in range(CHAINS))], np.float16)
        return pair.view(np.uint32)
    if operation == "ROOT":
        return np.full(THREADS, float(CHAINS))
    if operation == "CONVERSION":
        return (first ^ int(a)).sum(axis=0)  # an odd number of steps
    x = _integers(operation, first.astype(np.uint32), int(a), int(b), steps * turns)
    return x.sum(axis=0, dtype=np.uint32)


# kind: type of y, bits of A and of B, depth of a product, a guess of products a second
_PRODUCTS: dict[str, tuple[Any, int, int, int, float]] = {
    "HALF": (np.float32, 0x3C003C00, 0x3C003C00, 16, 1.6e11),
    "HALF_SUM": (np.uint32, 0x24002400, 0x1C001C00, 16, 1.6e11),
    "BFLOAT": (np.float32, 0x3F803F80, 0x3F803F80, 16, 1.6e11),
    "TF32": (np.float32, 0x3F800000, 0x3F800000, 8, 1.6e11),
    "INT8": (np.int32, 0x01010101, 0x01010101, 32, 1.6e11),
    "FP64": (np.float64, 0, 0, 16, 1.6e10),
}
_TENSOR_CHAINS, _TENSOR_STEPS = 4, 16


def _tensor() -> Iterator[Variant]:
    for kind, (dtype, a, b, depth, expected) in _PRODUCTS.items():

        def want(turns: int, kind: str = kind, depth: int = depth) -> np.ndarray:
            count = _TENSOR_STEPS * turns
            if kind == "HALF_SUM":  # 1 / 1024 a product, to 2, from where on it is rounded off
                return np.full(2, min(count / 1024, 2.0), np.float16).view(np.uint32)
            return np.array([4.0 * _TENSOR_CHAINS * depth * count])

        first = np.zeros(_TENSOR_CHAINS, dtype)

        def arguments(
            turns: int, a: int = a, b: int = b, first: np.ndarray = first
        ) -> tuple[launch.Argument, ...]:
            bits = np.uint32(a), np.uint32(b)
            return (*bits, np.float64(1), np.float64(1), first, np.int32(turns))

        flops = 2 * 16 * 8 * depth
        yield Variant(
            f"tensor {kind}", {f"tensor_{_TENSOR[kind]}": _TENSOR_CHAINS * _TENSOR_STEPS * flops},
            "rate_tensor", expected=expected * flops, want=want, arguments=arguments,
            cells=BLOCKS * THREADS,
            dtype=dtype, options=(f"-DKIND={kind}",),
        )


_TENSOR = {
    "HALF": "half", "HALF_SUM": "half", "BFLOAT": "half", "TF32": "tf32", "INT8": "int8",
    "FP64": "fp64",
}


def _blocks() -> Iterator[Variant]:
    cases = [("blocks", 32, 1 << 20, 1), ("blocks", 256, 1 << 20, 1)]
    cases += [("warps", threads, 1 << 18, threads // 32) for threads in (128, 256, 512, 1024)]
    cases += [("launches", 32, 1, 1)]
    for resource, threads, blocks, each in cases:
        for cache in ("hot", "cold") if resource == "launches" else ("hot",):
            yield Variant(
                f"{resource}, {blocks:,} blocks of {threads}, {cache}",
                {resource: blocks * each}, "rate_blocks", expected=0.0,
                want=lambda turns: np.array([7]),
                arguments=lambda turns: (np.int32(7),), cells=1, dtype=np.int32, grid=blocks,
                block=threads, cache=cache,
            )
