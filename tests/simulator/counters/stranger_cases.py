"""What a launch of strangers/NAME.cu is, and the inputs that such launches share.

Inputs come from the bits of PCG64 (`_bits`), which are the same in every version of NumPy. Arrays
that a kernel writes start as given at each launch: a kernel that changes its inputs is given them
anew.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:  # run as a program
    sys.path.append(str(ROOT))

from evidence.counters import __main__ as counters  # noqa: E402

SOURCES = Path(__file__).resolve().parent / "strangers"


@dataclass(frozen=True)
class Stranger(counters.Case):
    """A launch of strangers/KERNEL.cu. varies: what the order of threads decides (outputs,
    counters), "" where nothing.

    unordered: the arguments whose cells come in any order.
    """

    varies: str = ""
    unordered: tuple[int, ...] = ()

    @property
    def path(self) -> Path:
        return SOURCES / f"{self.kernel}.cu"

    def outputs(self, arguments: Sequence[Any]) -> dict[int, np.ndarray]:
        """The arrays among ``arguments`` after a launch that differ from those before it: position
        -> array.
        """
        pairs = enumerate(zip(self.values, arguments, strict=True))
        changed = {
            k: new
            for k, (old, new) in pairs
            if isinstance(new, np.ndarray) and old.tobytes() != new.tobytes()
        }
        return {
            k: np.sort(new, axis=None) if k in self.unordered else new for k, new in changed.items()
        }


def digest(array: np.ndarray) -> str:
    """The sha256 of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def short_digest(array: np.ndarray) -> str:
    """The first 64 bits of `digest`, for a record of thousands of arrays."""
    return digest(array)[:16]


# --------------------------------------------------------------------------------------------------
# Inputs


def _bits(count: int, seed: int) -> np.ndarray:
    return np.random.PCG64(seed).random_raw(count)


def floats(
    count: int, low: float = -1, high: float = 1, seed: int = 1, dtype: Any = np.float32
) -> np.ndarray:
    """Multiples of 2^-24 of the interval."""
    return (low + (high - low) * ((_bits(count, seed) >> np.uint64(40)) * 2.0**-24)).astype(dtype)


def ints(count: int, low: int, high: int, seed: int = 1, dtype: Any = np.int32) -> np.ndarray:
    """From low to high - 1."""
    return (
        low + ((_bits(count, seed) >> np.uint64(11)) % np.uint64(high - low)).astype(np.int64)
    ).astype(dtype)


def zeros(count: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(count, dtype)


def filled(count: int, value: Any, dtype: Any = np.float32) -> np.ndarray:
    return np.full(count, value, dtype)


def permutation(count: int, seed: int = 1) -> np.ndarray:
    return np.argsort(_bits(count, seed), kind="stable").astype(np.int32)


def csr(
    rows: int, columns: int, most: int, seed: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row starts, columns and values of a sparse matrix of 0 to ``most`` cells a row."""
    starts = np.concatenate([[0], np.cumsum(ints(rows, 0, most + 1, seed))]).astype(np.int32)
    return (
        starts,
        ints(int(starts[-1]), 0, columns, seed + 1),
        floats(int(starts[-1]), -1, 1, seed + 2),
    )


def table_of(keys: np.ndarray, capacity: int) -> np.ndarray:
    """An open table with linear probing: key << 32 | value, 0 where empty."""
    cells = np.zeros(capacity, np.uint64)
    for value, key in enumerate(keys.tolist()):
        slot = key % capacity
        while cells[slot]:
            slot = (slot + 1) % capacity
        cells[slot] = (key << 32) | (value + 1)
    return cells


def sprinkled(values: np.ndarray, every: int, value: float) -> np.ndarray:
    values = values.copy()
    values[::every] = value
    return values


def i32(*values: int) -> list[np.int32]:
    return [np.int32(value) for value in values]


f32, f64, i64, u32 = np.float32, np.float64, np.int64, np.uint32
u8, u16, i16, i8, f16 = np.uint8, np.uint16, np.int16, np.int8, np.float16
Extent = int | tuple[int, ...]


def _three(extent: Extent) -> tuple[int, int, int]:
    given = (extent,) if isinstance(extent, int) else extent
    return (*given, 1, 1, 1)[:3]


def launch(
    kernel: str, what: str, arguments: Sequence[Any], grid: Extent, block: Extent, *,
    options: Sequence[str] = (), constants: Mapping[str, np.ndarray] | None = None, shared: int = 0,
    varies: str = "", unordered: tuple[int, ...] = (),
) -> Stranger:  # fmt: skip
    return Stranger(
        kernel, what, arguments, _three(grid), _three(block), tuple(options), constants or {},
        shared, varies=varies, unordered=unordered,
    )  # fmt: skip


def blocks(cells: int, threads: int) -> int:
    return -(-cells // threads)


def over(
    kernel: str, what: str, arguments: Sequence[Any], cells: Extent, block: Extent, **more: Any
) -> Stranger:
    """A launch with a thread for each cell: as many blocks along each axis as cover them."""
    grid = tuple(map(blocks, _three(cells), _three(block)))
    return launch(kernel, what, arguments, grid, block, **more)


ORDER = "which thread comes first"
