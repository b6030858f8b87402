"""What an exercise is tried on: cases, each with its arrays, its launches and the sizes that it
has.

A case holds inputs only. What should come out is computed by the exercise's reference, elsewhere: a
kernel runs where no expected output is.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from helpers.kernel_cells import KernelCell
from helpers.launch import Argument, Array, Launch, Plan, three

LIMIT_S = 5.0  # of one run: each case takes a fraction of a second
# The bits of what an output holds before a launch: a NaN that no arithmetic of a GPU makes (that
# makes 0x7fffffff).
UNWRITTEN = 0x7FC0DEAD


@dataclass(frozen=True)
class Step:
    """One launch of whatever kernel an answer has. arguments: names of the case's arrays, and
    NumPy scalars; constants: values by symbol.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One input. title: as messages name it ("n = 257"); arrays: all, outputs as they are before
    the launch; outputs: names; steps: the launches, one after another; kinds: what this case is one
    of, such as {"size": 257, "filter": "a random filter"}, which a verdict counts; facts: more for
    the reference and the budgets; budgeted: whether the budgets hold for it; within: the text of a
    kernel that calls the answer's, by the name KERNEL, and is launched in its place; "" for none;
    options: -D in place of those of the cell, where sizes are constants of the source;
    architecture: an answer is compiled for it, too, to count the operations of that PTX, "" for
    none; mistaken: the outputs of each mistake that was tried, by its function `Mistake.gives`.
    """

    title: str
    arrays: Mapping[str, np.ndarray]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]
    kinds: Mapping[str, Hashable] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    budgeted: bool = True
    within: str = ""
    options: tuple[str, ...] = ()
    architecture: str = ""
    mistaken: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def count(self) -> int:
        """Values that the outputs have."""
        return sum(self.arrays[name].size for name in self.outputs)

    @property
    def watched(self) -> tuple[int, int, int]:
        """The block whose warps are watched request by request: drawn from the inputs, so that an
        answer does not know it.
        """
        grid = three(self.steps[0].grid)
        drawn = 0
        for name, array in self.arrays.items():
            if name not in self.outputs:
                drawn = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, drawn)
        drawn %= math.prod(grid)
        return drawn % grid[0], drawn // grid[0] % grid[1], drawn // grid[0] // grid[1]

    def plan(self, cell: KernelCell) -> Plan:
        """Return the launches of a cell's kernel, with the sizes of the case.

        In a kernel of the case's own, whose name begins with the word behind `void`, the cell's
        kernel is a function. The lines stay where they are.
        """
        own = {one.partition("=")[0] for one in self.options}
        kept = (one for one in cell.options if one.partition("=")[0] not in own)
        options, source, name = (*kept, *self.options), cell.source, cell.kernel
        if self.within:
            first, _, rest = source.partition("\n")
            called = re.search(r"\bvoid\s+(\w+)", self.within)
            assert first.startswith("//") and called is not None
            head = "#define __global__ __device__"  # in place of a comment
            tail = (
                f"#undef __global__\n#define __global__ __attribute__((global))\n"
                f"#define KERNEL {name}\n{self.within}"
            )
            source, name = f"{head}\n{rest}\n{tail}\n", called[1]
        return tuple(
            Launch(
                source, name, options, three(step.grid), three(step.block),
                constants=step.constants, arguments=tuple(map(self._argument, step.arguments)),
            )
            for step in self.steps
        )

    def _argument(self, given: Any) -> Argument:
        if not isinstance(given, str):
            return given
        array = self.arrays[given]
        return Array(given, array.shape, array.dtype)

    def __getitem__(self, name: str) -> Any:
        """Return a fact, or an array."""
        return self.facts[name] if name in self.facts else self.arrays[name]


def one_launch(
    title: str,
    arrays: Mapping[str, np.ndarray],
    grid: tuple[int, ...],
    block: tuple[int, ...],
    *numbers: Any,
    constants: Mapping[str, np.ndarray] | None = None,
    **more: Any,
) -> Case:
    """Return a case of one launch, whose arguments are all arrays, the output first, and numbers.

    numbers: NumPy scalars, or whole numbers, which become int32. more: other fields of Case.
    """
    scalars = (one if isinstance(one, np.generic) else np.int32(one) for one in numbers)
    step = Step(grid, block, (*arrays, *scalars), constants or {})
    return Case(title, arrays, (next(iter(arrays)),), (step,), **more)


def unwritten(shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """Return an output before a launch: every 4 bytes are UNWRITTEN."""
    a = np.empty(shape, dtype)
    a.reshape(-1).view(np.uint32)[:] = UNWRITTEN
    return a


# More than 16 bits can count: an index of a smaller type fails, and a kernel for small sizes alone.
# A row of 243 to 246 outputs also rejects `i * (1.0f / 244)` in place of `i / 244`: the rounded
# product lies below some multiples of these widths. (Most widths up to 300 would not tell.)
MANY, MANY_ROWS = 70_001, (290, 246)


def without_budgets(case: Case) -> Case:
    """Return the case, for right or wrong alone."""
    return replace(case, budgeted=False)


def is_unwritten(a: np.ndarray) -> np.ndarray:
    """Return where an output still is as `unwritten` made it, in the shape of a."""
    words = np.ascontiguousarray(a).reshape(-1).view(np.uint32).reshape(a.size, -1)
    return (words == UNWRITTEN).all(axis=1).reshape(a.shape)


def whole_numbers(
    rng: np.random.Generator, shape: int | tuple[int, ...], most: int = 9
) -> np.ndarray:
    """Return whole numbers from -most to most, without 0, as float32: sums of products of them are
    exact, in any order.
    """
    drawn = rng.integers(1, most + 1, shape) * rng.choice((-1, 1), shape)
    return drawn.astype(np.float32)


def cells(rng: np.random.Generator, shape: int | tuple[int, ...], most: int = 9) -> np.ndarray:
    """Return `whole_numbers`, of which every eighth cell or so is a large quarter number, 512.25 to
    1023.75.

    Sums of products with small whole numbers are exact in float32 all the same, and neither half
    precision nor an integer can hold such a cell.
    """
    drawn = whole_numbers(rng, shape, most)
    odd = 2 * rng.integers(1_024, 2_048, shape) + 1
    large = rng.random(shape) < 1 / 8
    return np.where(large, np.sign(drawn) * odd / 4, drawn).astype(np.float32)


def distinct(case: Case) -> Case:
    """Return a case in whose inputs of floats no two values are equal: then no wrong cell of an
    array has the right value by chance.
    """
    for name, array in case.arrays.items():
        if array.dtype != np.float32:
            continue
        if name in case.outputs and (is_unwritten(array).all() or not array.any()):
            continue
        if (array.astype(np.float64) * 4 % 1).any():  # drawn with all bits, and so distinct already
            continue
        if array.size and np.ptp(array) < 1e6:  # not where a case is about its values
            flat = array.reshape(-1)
            places = np.argsort(flat, kind="stable")
            # In their order, and nearly all with their signs. The steps differ, so that one sum of
            # some values is not that of others.
            steps = 1 + np.arange(flat.size) ** 2 % 7 / 4
            values = np.cumsum(steps) - 0.75
            zero = values[min(int(np.count_nonzero(flat < 0)), flat.size - 1)]
            flat[places] = values - zero + 0.25
    return case


def warp_product(number: int, result: str, shape: tuple[int, int], **factors: np.ndarray) -> Case:
    """Return the case of a product of matrices that one warp makes. result: the name of the first
    parameter, and its shape; factors: the other parameters.
    """
    arrays = {result: unwritten(shape), **factors}
    step = Step((1,), (32,), tuple(arrays))
    return Case(f"product {number}", arrays, (result,), (step,), {"product": number})


def ceil_div(n: int, by: int) -> int:
    """Return n / by, rounded up."""
    return -(-n // by)


def real_pairs(a: np.ndarray) -> np.ndarray:
    """Return complex numbers as pairs."""
    return np.ascontiguousarray(a).view(a.real.dtype) if a.dtype.kind == "c" else a
