"""Products beside cuBLAS: what the record has, and what the tables make of it."""

import dataclasses
from types import SimpleNamespace

import pytest

from helpers import bench, device, kernel_cells
from helpers.bench import cudnn, gemms, results
from helpers.experiments import half_ladder
from helpers.problems import gemm
from helpers.tools.benchmarks import product_benchmark
from helpers.tools.benchmarks.product_benchmark import KERNELS, LIBRARY, SIZES


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


# --------------------------------------------------------------------------------------------------
# Lab 307: the rungs for halves


def test_rounds_are_those_of_the_launch():
    """Tiles of blocks that end are the grid; clusters that stay take 66 tiles of theirs at once."""
    for spec in (gemm.MMA, gemm.TMA, gemm.CLUSTER):
        (launch,) = spec.plan(1000, 1016, 1048)
        assert spec.tiles(1000, 1016) == launch.grid[0] * launch.grid[1]
    assert gemm.PERSISTENT.tiles(4096, 4104) == 2 * 16 * 17
    assert gemm.PERSISTENT.rounds(4096, 4104) == pytest.approx(16 * 17 / 66)


@pytest.mark.parametrize(
    ("capability", "why_not", "names", "measured"),
    [
        ((9, 0), "", ("gemm_mma", "gemm_tma"), True),
        ((9, 0), "no PyTorch", ("gemm_tma",), False),
        ((8, 9), "", ("gemm_mma",), True),
        ((8, 9), "", ("gemm_mma", "gemm_tma"), False),
        ((7, 5), "", ("gemm_mma",), False),
        ((10, 0), "", ("gemm_tma",), False),
    ],
)
def test_rungs_are_timed_where_all_of_them_run(monkeypatch, capability, why_not, names, measured):
    product = bench.gemm(4096, 4096, 4096, halves=True)
    gpu = dataclasses.replace(device.select(), kind="gpu", compute_capability=capability)
    monkeypatch.setattr(device, "select", lambda: gpu)
    monkeypatch.setattr(cudnn, "why_not", lambda: why_not)
    asked = []
    monkeypatch.setattr(gemms.Gemm, "compare", lambda _, *named: asked.append(named))
    times = half_ladder.compare(product, *names)
    if measured:
        assert asked == [(LIBRARY, *names)]
    else:
        assert not asked and len(times) == 1 + len(names)
        assert times.ms(names[0]) > times.ms(LIBRARY) > 0
        assert "Recorded on NVIDIA H200" in str(times)


def test_an_order_is_what_the_cell_stores():
    from helpers.exercises.tile_order import EXERCISE

    def bound(text):
        return SimpleNamespace(name="tile_order", cell=kernel_cells.parse(text))

    right = bound(EXERCISE.solution)
    for band in (1, 8):
        assert (half_ladder.order(band, right, side=12) == half_ladder.order(band, side=12)).all()
    assert half_ladder.strips(half_ladder.order(8, right)) == (8, 9)
    rows = bound(EXERCISE.solution.replace("first + within % rows", "tile / wide"))
    with pytest.raises(ValueError, match="tile_order: race"):
        half_ladder.order(8, rows)
