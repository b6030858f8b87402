"""1D convolution on a device: the launches of its kernels, the data, and the check of outputs.

    spec = conv1d.conv1d_named("conv1d_vector")
    plan = spec.plan(n, width)                # on "P", "N" and "filter"

`CONV1D` has a row for each kernel. A row is a frozen record: `dataclasses.replace` makes others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from helpers import checking, kernels, reference
from helpers.checking import device_counter, diagnosis
from helpers.launch import Array, Launch, Plan
from helpers.problems.precision import FLOAT_UNIT

# The kernel that is checked against the oracle. All outputs of other kernels are compared with its.
PLAINEST = "conv1d_constant"
BEST = "conv1d_vector"

SEED = 20_25
# The period of the random data, in cells: a prime, so that no two tiles hold the same cells.
PERIOD = 9_999_991
# The outputs of a window that is compared with the oracle. Windows lie at both ends and at WINDOWS
# random places.
WINDOW = 4096
WINDOWS = 8


@dataclass(frozen=True)
class Conv1d:
    """How one of the 1D convolution kernels is compiled and launched.

    threads: of a block. tile, outputs: TILE_WIDTH and OUTPUTS, None for a source without them.
    filter_in: where the weights lie, "constant" (the symbol ``filter``) or "global" (the argument
    after N). largest: the largest n that the benchmark times. changes: pairs (old, new) of texts of
    the source, for an experiment with it.
    """

    name: str
    threads: int
    tile: int | None = None
    outputs: int | None = None
    filter_in: str = "constant"
    largest: int = 2_000_000_000
    changes: tuple[tuple[str, str], ...] = ()

    def options(self, width: int) -> list[str]:
        """Return nvcc's options for a filter of ``width``: ["-DFILTER_WIDTH=3", ...]."""
        constants = {"FILTER_WIDTH": width, "TILE_WIDTH": self.tile, "OUTPUTS": self.outputs}
        return [f"-D{name}={value}" for name, value in constants.items() if value is not None]

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block."""
        return (self.threads, 1, 1)

    def fits(self, width: int) -> bool:
        """Return whether a block has outputs for an odd ``width``: halos may fill its tile."""
        return self.name != "conv1d_tiled_input" or width <= (self.tile or 0)

    def per_block(self, n: int, width: int) -> int:
        """Return how many of ``n`` outputs one block computes for a filter of ``width``."""
        if self.name == "conv1d_one_block":
            return n
        if self.name == "conv1d_tiled_input":
            return (self.tile or 0) - 2 * (width // 2)
        return self.tile or self.threads

    def grid(self, n: int, width: int) -> tuple[int, int, int]:
        """Return the grid that covers ``n`` outputs, for a filter of ``width``."""
        return kernels.grid_for(n, self.block, self.per_block(n, width))

    def plan(self, n: int, width: int) -> Plan:
        """Return the launch for ``n`` cells and a filter of ``width``.

        Its arrays are "P", "N" and "filter".
        """
        P, N, filter = Array("P", (n,)), Array("N", (n,)), Array("filter", (width,))
        in_argument = self.filter_in == "global"
        return (
            Launch(
                kernels.changed(self.name, *self.changes),
                self.name,
                tuple(self.options(width)),
                self.grid(n, width),
                self.block,
                constants={} if in_argument else {"filter": filter},
                arguments=(P, N, *([filter] if in_argument else []), np.int32(n)),
            ),
        )


CONV1D = (
    Conv1d("conv1d_one_block", 1024, filter_in="global", largest=10**7),
    Conv1d("conv1d_basic", 256, filter_in="global"),
    Conv1d("conv1d_constant", 256),
    Conv1d("conv1d_constant_divergent", 256, largest=10**8),
    Conv1d("conv1d_tiled_steps", 256, tile=256),
    Conv1d("conv1d_tiled_cached_halo", 256, tile=256),
    Conv1d("conv1d_tiled_input", 256, tile=256),
    Conv1d("conv1d_outputs", 128, tile=1152, outputs=9),
    Conv1d("conv1d_vector", 64, tile=768, outputs=12),
)


def conv1d_named(name: str) -> Conv1d:
    """Return the row of kernel ``name`` in CONV1D. Raises KeyError for another name."""
    rows = {spec.name: spec for spec in CONV1D}
    if name not in rows:
        raise KeyError(f"there is no 1D convolution {name!r}; choose from {', '.join(rows)}")
    return rows[name]


_LOOP_OVER_WEIGHTS = "        for (int j = 0; j < FILTER_WIDTH; ++j) {\n"


def unrolled(spec: Conv1d) -> Conv1d:
    """Return the record with `#pragma unroll` above the loop over the weights.

    Without it, nvcc keeps a loop of four weights where the filter is wide. Raises ValueError, when
    it is compiled, for a kernel that has no such loop.
    """
    change = _LOOP_OVER_WEIGHTS, f"        #pragma unroll\n{_LOOP_OVER_WEIGHTS}"
    return replace(spec, changes=(*spec.changes, change))


def conv1d_atol(cells: np.ndarray, filter: np.ndarray) -> float:
    """Return the largest error that a float32 sum of w products may have.

    It holds for any order of the sum, with and without fused multiply-adds. A product and up to
    w - 1 additions round at most w times, each by u = 2^-24 relative to a partial sum, and no
    partial sum exceeds sum |cells| |filter|. So the error is at most

        w u / (1 - w u) * max |cells| * sum |filter|

    (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1). The function uses
    w + 1 in place of w, which covers the denominator.

    Rounding to FP16 on the way errs by about 2^-11 sqrt(w) max |cells| max |filter|. Up to a width
    of some 200 that exceeds this bound. For wider filters the bound still holds, but a check with
    it does not detect such rounding.
    """
    terms, largest = np.size(filter) + 1, float(np.abs(cells).max())
    return float(terms * FLOAT_UNIT * largest * np.abs(filter, dtype=np.float64).sum())


# --------------------------------------------------------------------------------------------------
# Data and checks


class PeriodicData:
    """N on the device and on the host: ``n`` cells, uniform in [-1, 1), with the period PERIOD.

    The host keeps one period, so that it knows every one of 10^9 cells without a copy of 4 GB.
    """

    def __init__(self, n: int):
        self.n = n
        rng = np.random.default_rng(SEED)
        self.period = rng.uniform(-1, 1, min(n, PERIOD)).astype(np.float32)

    def upload(self, cuda: Any, address: int) -> None:
        """Fill n float32 at a device address: a period of the host's, then copies of it."""
        size, period = 4 * self.n, self.period.nbytes
        cuda.memcpy_htod(address, self.period)
        for start in range(period, size, period):
            cuda.memcpy_dtod(address + start, address, min(period, size - start))

    def cells(self, first: int, last: int) -> np.ndarray:
        """Return N[first:last] as float32, shape (last - first,), with zeros for cells outside N.
        """
        index = np.arange(first, last)
        values = self.period[index % self.period.size]
        return np.where((index >= 0) & (index < self.n), values, np.float32(0))

    def outputs(self, first: int, last: int, filter: np.ndarray) -> np.ndarray:
        """Return P[first:last] by the oracle, float64, shape (last - first,)."""
        radius = filter.size // 2
        wide = reference.conv1d(self.cells(first - radius, last + radius), filter)
        return wide[radius : wide.size - radius]


def windows(n: int) -> list[tuple[int, int]]:
    """Return windows [first, last) of at most WINDOW outputs: both ends, WINDOWS random places."""
    rng = np.random.default_rng(SEED)
    starts = {0, max(0, n - WINDOW), *rng.integers(0, max(1, n - WINDOW), WINDOWS).tolist()}
    return [(start, min(n, start + WINDOW)) for start in sorted(starts)]


class Checker:
    """Checks outputs on the device: each one against `want` on the device, windows by the oracle.

    want: the device address of the n right outputs. skipped: the outputs at either end that the
    kernels leave out, because they need cells outside.
    """

    def __init__(self, cuda: Any, data: PeriodicData, want: int, skipped: int = 0):
        self._cuda, self._data, self._skipped = cuda, data, skipped
        self.want, self.outputs = want + 4 * skipped, data.n - 2 * skipped
        self._counter = device_counter.DeviceCounter()

    def poison(self, output: int) -> None:
        """Fill the output with NaN, so that a check sees the cells that a kernel does not write."""
        self._counter.poison(output, self.outputs)

    def wrong(self, got: int, want: int, tolerance: float) -> int:
        """Count the outputs at `got` that are not within `tolerance` of those at `want`."""
        return self._counter.wrong(got, want, tolerance, self.outputs)

    def windows(
        self, output: int, filter: np.ndarray, name: str, slack: float = 1.0
    ) -> checking.Verdict:
        """Compare windows of P with the oracle, within `slack` times conv1d_atol.

        Raises checking.CheckError.
        """
        places, skipped = windows(self.outputs), self._skipped
        want = np.concatenate(
            [self._data.outputs(first + skipped, last + skipped, filter) for first, last in places]
        )
        got = np.empty(want.size, np.float32)
        filled = 0
        for first, last in places:
            self._cuda.memcpy_dtoh(got[filled : filled + last - first], output + 4 * first)
            filled += last - first
        return checking.check(
            got, want, rtol=0.0, atol=slack * conv1d_atol(self._data.period, filter), name=name
        )

    def everywhere(
        self, output: int, filter: np.ndarray, name: str, slack: float = 1.0
    ) -> checking.Verdict:
        """Compare windows with the oracle, every output with `want`. Raises checking.CheckError."""
        verdict = self.windows(output, filter, name, slack)
        # `want` may err by the bound and the output by `slack` times the bound, so that they may
        # differ by the sum of both.
        wrong = self.wrong(output, self.want, (1 + slack) * conv1d_atol(self._data.period, filter))
        if wrong:
            text = f"{wrong:,} of {self.outputs:,} outputs differ from {PLAINEST} or are NaN"
            kind = diagnosis.Diagnosis("outside the windows", text)
            raise checking.CheckError(
                f"FAIL {name}: {text}", name=name, wrong=wrong, diagnosis=kind
            )
        return verdict
