"""The recorded benchmark of the ladder of matrix products, beside cuBLAS.

    python -m helpers.tools.benchmarks gemm [--budget-s S]

For square matrices, ragged ones and thin ones: each kernel of `gemm.GEMM` in float32, the product
of warpgroups in halves, and cuBLAS through PyTorch (`torch.mm`) in FP32 without TF32, and in FP16.
All are checked before they are timed. The best float32 kernel and the product of warpgroups are
also timed in turn with cuBLAS, A B A B: as ratios with intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import checking, device, tables
from helpers.bench import cudnn, gemms, timing
from helpers.problems import gemm
from helpers.problems.gemm import Gemm, GemmError
from helpers.programs import Program, launcher

NAME = "benchmark_gemm"
# rows, cols, inner
SIZES = ((4096, 4096, 4096), (4095, 4093, 4097), (1000, 4000, 500), (1024, 1024, 1024))
CUBLAS = {False: "cuBLAS (PyTorch, FP32)", True: "cuBLAS (PyTorch, FP16)"}
RATIO = "ratio"
BUDGET_S = 0.1

Row = dict[str, Any]


def measure(budget_s: float = BUDGET_S) -> Iterator[Row]:
    """Check and time everything. Raises checking.CheckError where a product is wrong."""
    missing = cudnn.why_not()
    if missing:
        print(f"cuBLAS is left out: {missing}")
    for sizes in SIZES:
        for halves in (False, True):
            yield from _products(sizes, halves, budget_s, bool(missing))


def _products(
    sizes: tuple[int, int, int], halves: bool, budget_s: float, alone: bool
) -> Iterator[Row]:
    """Yield rows of one size and type: ours, cuBLAS, and the ratio of the best of ours to it."""
    import pycuda.driver as cuda

    rows, cols, inner = sizes
    where = {"rows": rows, "cols": cols, "inner": inner, "halves": halves}
    A, X = gemm.matrices(rows, cols, inner, np.float16 if halves else np.float32)
    want = gemm.reference(A, X)
    atol = gemm.atol(A, X, want)
    Y = np.empty((rows, cols), A.dtype)
    there = {name: cuda.to_device(array) for name, array in (("Y", Y), ("A", A), ("X", X))}
    addresses = {name: int(address) for name, address in there.items()}

    def verdict(launch: Callable[[Any], None], name: str) -> checking.Verdict:
        cuda.memset_d8(there["Y"], 0xFF, Y.nbytes)  # NaN
        launch(None)
        cuda.Context.synchronize()
        cuda.memcpy_dtoh(Y, there["Y"])
        return checking.check(Y.astype(np.float32), want, rtol=0.0, atol=atol, name=name)

    best: tuple[float, str, Callable[[Any], None], checking.Verdict] | None = None
    for spec in _specs(halves):
        row: Row = {"series": spec.name, **where}
        try:
            launch = launcher(Program(spec.plan(*sizes)), addresses)
        except GemmError as error:
            yield row | {"left_out": str(error), "timing": None}
            continue
        passed = verdict(launch, spec.name)
        timed = timing.time_gpu(launch, verdict=passed, name=spec.name, budget_s=budget_s)
        if best is None or timed.median < best[0]:
            best = timed.median, spec.name, launch, passed
        yield row | {"timing": timed}
    if not alone:
        name = CUBLAS[halves]
        vendor = gemms.cublas(addresses, gemms.Gemm(*sizes, halves))
        passed = verdict(vendor, name)
        timed = timing.time_gpu(vendor, verdict=passed, name=name, budget_s=budget_s)
        yield {"series": name, **where, "timing": timed}
        if best is not None:
            _, ours, launch, right = best
            pair = timing.compare(
                vendor, launch, verdicts=(passed, right), names=(name, ours), budget_s=4 * budget_s
            )
            told = {"of": name, "to": ours, "different": pair.different}
            yield {"series": RATIO, **where, **told, **pair.to_row(), "timing": None}
    for address in there.values():
        address.free()


def _specs(halves: bool) -> tuple[Gemm, ...]:
    if not halves:
        return gemm.GEMM
    gpu = device.select()
    runs = gpu.kind == "gpu" and gpu.compute_capability == (9, 0)  # the simulator refuses it
    return (gemm.WGMMA,) if runs else ()


def tflops(row: Mapping[str, Any]) -> float:
    """Return the operations of a timed row, 2 rows cols inner, in 10^12 a second."""
    return 2e-9 * row["rows"] * row["cols"] * row["inner"] / row["median_ms"]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the speeds of all kernels and sizes, in TFLOP/s, as a text table."""
    times = [row for row in rows if row.get("median_ms") is not None]
    places = list(dict.fromkeys((row["rows"], row["cols"], row["inner"]) for row in times))
    lines = []
    for name in dict.fromkeys(row["series"] for row in times):
        speeds = {
            (row["rows"], row["cols"], row["inner"]): tflops(row)
            for row in times
            if row["series"] == name
        }
        lines.append([name, *(f"{speeds[at]:.3g}" if at in speeds else "-" for at in places)])
    heads = (f"{rows:,} x {inner:,} by {cols:,}" for rows, cols, inner in places)
    return tables.text(["TFLOP/s, cold caches", *heads], lines, left=(0,))


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the share of cuBLAS' speed that the best of ours reaches, a line for each size."""
    return "\n".join(
        f"{row['rows']:,} x {row['inner']:,} by {row['cols']:,}: {row['to']} reaches "
        f"{row['ratio']:.2f} of the speed of {row['of']} ({row['low']:.2f} to {row['high']:.2f})"
        for row in rows
        if row["series"] == RATIO
    )
