"""Copies in the background: the plain copy, cp.async and bulk copies over tiles, blocks and work.

    record = copies.record(gpu, lab)                  # on the GPU, or the recorded run
    copies.picture(axes, record)

Each kernel convolves n cells tile by tile. A wider filter means more work on a tile; more blocks on
a multiprocessor mean that others compute while one waits for its copy. All are checked first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers import checking, launch, limits, results, timing
from helpers.device import Device
from helpers.plotting import COLOURS, caption, style
from helpers.problems import conv1d
from helpers.problems.copies import NAMES, Copies, launch_on

NAME = "copies"
N = 10**8
WIDTHS = (3, 7, 15, 31)
TILES = (1024, 4096)
BLOCKS = (1, 2, 4, 8)  # of a multiprocessor
THREADS = 256
PLAIN = NAMES[0]
STYLES = dict(zip(NAMES, ("o-", "s--", "^:"), strict=True))


def blocks_that_fit(spec: Copies, width: int) -> int:
    """Return how many blocks of a kernel fit on a multiprocessor, by shared memory and threads."""
    bytes_each = spec.shared(width) + limits.RESERVED_SHARED_BYTES
    return min(2048 // spec.threads, limits.MULTIPROCESSOR_SHARED_BYTES // bytes_each)


def configurations(
    widths: Sequence[int], tiles: Sequence[int], blocks: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield (width, tile, blocks of a multiprocessor) for which all three kernels fit."""
    for width in widths:
        for tile in tiles:
            most = min(blocks_that_fit(Copies(name, tile, THREADS), width) for name in NAMES)
            yield from ((width, tile, per) for per in blocks if per <= most)


def measure(
    widths: Sequence[int] = WIDTHS,
    tiles: Sequence[int] = TILES,
    blocks: Sequence[int] = BLOCKS,
    n: int = N,
    budget_s: float = 0.06,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each kernel and configuration, and the ratio to the plain copy. Wants a GPU.

    Raises checking.CheckError where a kernel is wrong.
    """
    import pycuda.driver as cuda

    multiprocessors = cuda.Context.get_device().multiprocessor_count
    cases = list(configurations(widths, tiles, blocks))
    launch.compile_ahead(
        Copies(name, tile, THREADS).plan(n, width, 1) for width, tile, _ in cases for name in NAMES
    )
    arrays = [cuda.mem_alloc(4 * n) for _ in range(3)]
    source, output, want = (int(array) for array in arrays)
    data = conv1d.PeriodicData(n)
    data.upload(cuda, source)
    checker = conv1d.Checker(cuda, data, want)
    rng = np.random.default_rng(conv1d.SEED)
    try:
        for width in widths:
            filter = rng.uniform(-1, 1, width).astype(np.float32)
            plainest = conv1d.conv1d_named(conv1d.PLAINEST)
            conv1d.conv1d_launch(plainest, n, source, want, filter)(None)
            checker.windows(want, filter, plainest.name)
            for _, tile, per in (case for case in cases if case[0] == width):
                common = {"n": n, "filter_width": width, "tile": tile, "blocks": per}
                ready = {}
                for name in NAMES:
                    spec = Copies(name, tile, THREADS)
                    start = launch_on(spec, n, per * multiprocessors, source, output, filter)
                    checking.DeviceCounter().poison(output, n)
                    start(None)
                    ready[name] = start, _checked(cuda, name, output, data, filter, want)
                for name in NAMES[1:]:
                    (start, verdict), (plain, right) = ready[name], ready[PLAIN]
                    found = timing.compare(
                        start,
                        plain,
                        verdicts=(verdict, right),
                        names=(name, PLAIN),
                        budget_s=budget_s,
                    )
                    yield {"series": name, **common, "timing": found.a}
                    if name == NAMES[1]:
                        yield {"series": PLAIN, **common, "timing": found.b}
                    ratio = {"ratio": found.ratio, "low": found.low, "high": found.high}
                    yield {"series": "ratio", "kernel": name, **common, **ratio, "timing": None}
    finally:
        for array in arrays:
            array.free()


def _checked(
    cuda: Any, name: str, output: int, data: conv1d.PeriodicData, filter: np.ndarray, want: int
) -> checking.Verdict:
    """Compare every output with the plainest kernel's, and both ends with the oracle."""
    outputs, radius = data.n - filter.size + 1, filter.size // 2
    atol = conv1d.conv1d_atol(data.period, filter)
    # Output i of a kernel without ghost cells is output i + radius of one that has them.
    wrong = checking.DeviceCounter().wrong(output, want + 4 * radius, 2 * atol, outputs)
    if wrong:
        text = f"{wrong:,} of {outputs:,} outputs differ from {conv1d.PLAINEST} or are NaN"
        kind = checking.Diagnosis("outside the windows", text)
        raise checking.CheckError(f"FAIL {name}: {text}", name=name, wrong=wrong, diagnosis=kind)
    count = min(conv1d.WINDOW, outputs)
    got = np.empty(2 * count, np.float32)
    cuda.memcpy_dtoh(got[:count], output)
    cuda.memcpy_dtoh(got[count:], output + 4 * (outputs - count))
    places = ((radius, radius + count), (radius + outputs - count, radius + outputs))
    expected = np.concatenate([data.outputs(*place, filter) for place in places])
    return checking.check(got, expected, rtol=0.0, atol=atol, name=name)


def record(gpu: Device, lab: str) -> results.Record:
    """Measure on the GPU, or return the recorded run where there is none."""
    return results.record(NAME, measure, device=gpu, lab=lab)


def picture(axes: Sequence[Any], data: results.Record, tile: int = TILES[-1]) -> None:
    """Draw the time over the filter's width, one of the axes for each number of blocks."""
    rows = [row for row in data.rows() if row.get("tile") == tile and row["series"] in NAMES]
    counts = sorted({row["blocks"] for row in rows})
    for ax, per in zip(axes, counts, strict=False):
        for number, name in enumerate(NAMES):
            chosen = [row for row in rows if row["series"] == name and row["blocks"] == per]
            chosen.sort(key=lambda row: row["filter_width"])
            keys = ("filter_width", "median_ms")
            widths, medians = ([row[key] for row in chosen] for key in keys)
            ax.plot(widths, medians, STYLES[name], color=COLOURS[number], label=name)
        style(ax, f"{per} block{'s' if per > 1 else ''} on a multiprocessor")
        ax.set(xlabel="filter width", ylabel="time (ms)", ylim=(0, None))
    axes[0].legend(frameon=False)
    caption(axes[0], data)
