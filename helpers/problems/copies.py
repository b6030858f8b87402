"""1D convolution by tiles: the plain copy, cp.async and bulk copies to shared memory, side by side.

    spec = copies.Copies("copy_async", tile=2048)
    plan = spec.plan(n, width, blocks=3)               # on "P", "N" and "filter"

All three kernels compute the outputs that need no cell outside N: n - width + 1 of n cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers import kernels, limits
from helpers import reference as oracles
from helpers.launch import Array, Launch, Plan

NAMES = ("copy_plain", "copy_async", "copy_bulk")
LARGEST_N = 1_000_000_000


class CopiesError(ValueError):
    """A launch that cannot be; the message says what does not fit, and what would."""


@dataclass(frozen=True)
class Copies:
    """How one of the three kernels is compiled: outputs of a tile, threads of a block.

    Raises CopiesError for a tile that is no multiple of 4 or a block of no whole warps.
    """

    name: str
    tile: int = 2048
    threads: int = 256

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise CopiesError(f"{self.name} is none of {', '.join(NAMES)}")
        if self.tile < 4 or self.tile % 4:
            raise CopiesError(f"a tile has a multiple of 4 outputs, not {self.tile}")
        if not 32 <= self.threads <= limits.MAX_THREADS or self.threads % 32:
            raise CopiesError(f"a block has 32, 64, ... 1,024 threads here, not {self.threads}")

    @property
    def buffers(self) -> int:
        """Tiles in shared memory."""
        return 1 if self.name == "copy_plain" else 2

    def shared(self, width: int) -> int:
        """Return the bytes of static shared memory for a filter of ``width``."""
        vectors = -(-(self.tile + width - 1) // 4)
        return 16 * vectors * self.buffers + (16 if self.name == "copy_bulk" else 0)

    def options(self, width: int) -> tuple[str, ...]:
        """Return nvcc's options for a filter of ``width``."""
        sizes = {"FILTER_WIDTH": width, "TILE_WIDTH": self.tile, "THREADS": self.threads}
        return tuple(f"-D{name}={value}" for name, value in sizes.items())

    def require(self, n: int, width: int) -> None:
        """Raise CopiesError unless the kernel takes ``n`` cells and a filter of ``width``."""
        if n % 4 or not width <= n <= LARGEST_N:
            raise CopiesError(
                f"n = {n:,} and a filter of {width:,}: n must be a multiple of 4, at least the "
                f"filter's width and at most {LARGEST_N:,}"
            )
        if self.shared(width) > limits.STATIC_SHARED_BYTES:
            raise CopiesError(
                f"{self.name} needs {self.shared(width):,} bytes of shared memory for tiles of "
                f"{self.tile:,}; a block has {limits.STATIC_SHARED_BYTES:,}. Take a smaller tile"
            )

    def plan(self, n: int, width: int, blocks: int) -> Plan:
        """Return the launch of ``blocks`` blocks on "P", "N" and "filter". Raises CopiesError."""
        self.require(n, width)
        return (
            Launch(
                kernels.source(self.name),
                self.name,
                self.options(width),
                (blocks, 1, 1),
                (self.threads, 1, 1),
                constants={"filter": Array("filter", (width,))},
                arguments=(Array("P", (n - width + 1,)), Array("N", (n,)), np.int32(n)),
            ),
        )


def reference(N: np.ndarray, filter: np.ndarray) -> np.ndarray:
    """Return P of the three kernels, float64, shape (n - width + 1,): P[i] = sum_j N[i + j]
    filter[j].
    """
    radius = filter.size // 2
    whole = oracles.conv1d(N, filter)
    return whole[radius : radius + N.size - filter.size + 1]
