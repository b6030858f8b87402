"""Products beside cuBLAS: what the record has, and what the tables make of it."""

import pytest

from evidence.benchmarks import product_benchmark
from evidence.benchmarks.product_benchmark import KERNELS, LIBRARY, SIZES
from helpers.bench import results
from helpers.problems import gemm


@pytest.fixture(scope="module")
def rows():
    return results.load(results.MEASURED / f"{product_benchmark.NAME}.json").rows()


def test_the_record_has_every_kernel_at_every_size_with_the_tile_that_the_host_chooses(rows):
    seen = {(row["series"], row["halves"], row["rows"], row["cols"], row["inner"]) for row in rows}
    assert len(seen) == len(rows)
    assert seen == {
        (name, halves, *sizes)
        for halves, names in KERNELS.items()
        for name in (LIBRARY, *names)
        for sizes in SIZES
    }
    for row in rows:
        if row["series"] in ("gemm_warp", "gemm_overlapped"):
            chosen = gemm.fastest(row["rows"], row["cols"], halves=row["halves"])
            assert row["tile"] == " x ".join(map(str, chosen.tile)), row


def test_the_error_of_each_product_is_that_of_its_type(rows):
    """Half a unit in the last place of a half is 2^-12 of a number; sums in FP32 add far less."""
    for row in rows:
        assert 0 < row["relative_error"] < (2**-11 if row["halves"] else 1e-5), row


def test_a_ratio_is_told_as_our_speed(rows):
    row = {"series": "gemm_warp", "halves": False, "rows": 2048, "cols": 2048, "inner": 2048}
    (line,) = [
        line
        for line in product_benchmark.table([row | {"ratio": 2.0}]).splitlines()
        if "gemm_warp" in line
    ]
    assert line.split() == ["FP32", "gemm_warp", "-", "0.50", "-", "-", "-"]
    assert len(product_benchmark.summary(rows).splitlines()) == 1 + 2 * len(SIZES)
    of_some = [row for row in rows if row["halves"] and row["rows"] == 1000]
    assert len(product_benchmark.summary(of_some).splitlines()) == 2
