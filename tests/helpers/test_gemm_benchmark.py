"""The benchmark of matrix products, in the simulator with a clock that always says 2 ms."""

import numpy as np
import pytest

from helpers import checking, device
from helpers.bench import results
from helpers.problems import gemm
from helpers.tools.benchmarks import gemm_benchmark
from tests import clock

SIZES = (5, 12, 8)


@pytest.fixture
def no_clock(monkeypatch):
    clock.install(monkeypatch)
    monkeypatch.setattr(gemm_benchmark, "SIZES", (SIZES,))
    monkeypatch.setattr(gemm, "GEMM", gemm.GEMM[:2])
    device.select()


def test_every_kernel_is_checked_and_timed(no_clock):
    rows = [results._measurement(row).row() for row in gemm_benchmark.measure()]
    assert [row["series"] for row in rows] == ["gemm_basic", "gemm_tiled"]
    assert {(row["rows"], row["cols"], row["inner"]) for row in rows} == {SIZES}
    # 2 * 5 * 12 * 8 operations in 2 ms
    assert gemm_benchmark.tflops(rows[0]) == pytest.approx(480e-12 * 1e3)
    assert "5 x 8 by 12" in gemm_benchmark.table(rows)


def test_a_wrong_product_is_not_timed(no_clock, monkeypatch):
    monkeypatch.setattr(gemm, "reference", lambda A, X: np.zeros((len(A), X.shape[1])))
    with pytest.raises(checking.CheckError):
        list(gemm_benchmark.measure())


def test_the_share_of_cublas_is_said():
    row = {"series": gemm_benchmark.RATIO, "rows": 4096, "cols": 4096, "inner": 4096}
    row |= {"of": "cuBLAS", "to": "gemm_pipelined", "ratio": 0.917, "low": 0.91, "high": 0.92}
    assert "gemm_pipelined reaches 0.92 of the speed of cuBLAS" in gemm_benchmark.summary([row])
