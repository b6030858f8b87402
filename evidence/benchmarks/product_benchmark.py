"""Products of matrices beside cuBLAS, in FP32 and in halves.

    python -m evidence.benchmarks products [--budget-s S]

Square matrices, and two products whose sides no tile divides. Each kernel is timed in turns with
cuBLAS, as PyTorch calls it, after all of its outputs were checked with NumPy's product in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helpers import bench, tables
from helpers.bench import gemms
from helpers.bench.gemms import LIBRARY, SIZES, Gemm
from helpers.bench.ratios import Ratio
from helpers.problems import gemm
from helpers.programs import compile_ahead

NAME = gemms.RECORD
KERNELS = {
    False: ("gemm_pipelined", "gemm_warp"),
    True: tuple(spec.name for spec in gemm.HALVES),
}


def problems() -> Iterator[Gemm]:
    """Return the products, first all those in FP32."""
    for halves in KERNELS:
        for sizes in SIZES:
            yield bench.gemm(*sizes, halves=halves)


def measure(budget_s: float) -> Iterator[dict[str, Any]]:
    """Return the rows of a record: for each product cuBLAS, and its kernels over it."""
    specs = [(one, one.kernel(name)) for one in problems() for name in KERNELS[one.halves]]
    compile_ahead(one.plan(kernel) for one, kernel in specs)
    for product in problems():
        print(f"{product.title}, {product.dtype.__name__}", flush=True)
        with product.on_device() as there:
            library = there.ready(LIBRARY)
            for number, name in enumerate(KERNELS[product.halves]):
                one = there.ready(name)
                pair = one.beside(library, budget_s)
                if number == 0:
                    yield product.row(library) | {"timing": pair.b}
                tile = " x ".join(map(str, one.kernel.spec.tile))
                ratio = {"over": LIBRARY, **Ratio.of(pair).to_row()}
                yield product.row(one) | {"tile": tile} | ratio | {"timing": pair.a}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return our speed over cuBLAS', kernels by products."""
    found = {_place(row): 1 / row["ratio"] for row in rows if row.get("ratio")}
    lines = []
    for halves, names in KERNELS.items():
        for name in names:
            shares = (found.get((name, halves, sizes)) for sizes in SIZES)
            kind = "halves" if halves else "FP32"
            lines.append((kind, name, *("-" if one is None else f"{one:.2f}" for one in shares)))
    sizes = (" x ".join(map(str, dict.fromkeys(one))) for one in SIZES)
    return tables.text(("speed / cuBLAS'", "kernel", *sizes), lines, left=(0, 1))


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the times of cuBLAS and of our fastest, the floor, and the largest error of ours."""
    lines = []
    for product in problems():
        of_product = {
            row["series"]: row
            for row in rows
            if _place(row)[1:] == (product.halves, (product.rows, product.cols, product.inner))
        }
        if not {LIBRARY, KERNELS[product.halves][-1]} <= set(of_product):
            continue
        library, ours = (of_product[name] for name in (LIBRARY, KERNELS[product.halves][-1]))
        lines.append(
            (
                f"{product.title}, {'halves' if product.halves else 'FP32'}",
                *(f"{1e3 * row['median_ms']:,.1f}" for row in (library, ours)),
                f"{product.work.flops / (1e9 * ours['median_ms']):,.0f}",
                ours["tile"],
                f"{ours['relative_error']:.1e}",
            )
        )
    head = ("product", "cuBLAS (us)", "ours (us)", "ours (Tflop/s)", "tile", "largest error")
    return tables.text(head, lines, left=(0,))


def _place(row: Mapping[str, Any]) -> tuple[str, bool, tuple[int, int, int]]:
    return row["series"], row["halves"], (row["rows"], row["cols"], row["inner"])
