"""What lab 307 shows: where its rungs are timed, the rounds of tiles, and a student's order."""

import dataclasses
from types import SimpleNamespace

import pytest

from helpers import bench, device, kernel_cells
from helpers.bench import cudnn, gemms
from helpers.bench.gemms import LIBRARY
from helpers.exercises.content.tile_order import EXERCISE
from helpers.experiments import half_ladder
from helpers.problems import gemm


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
    def bound(text):
        return SimpleNamespace(name="tile_order", cell=kernel_cells.parse(text))

    right = bound(EXERCISE.solution)
    for band in (1, 8):
        assert (half_ladder.order(band, right, side=12) == half_ladder.order(band, side=12)).all()
    assert half_ladder.strips(half_ladder.order(8, right)) == (8, 9)
    rows = bound(EXERCISE.solution.replace("first + within % rows", "tile / wide"))
    with pytest.raises(ValueError, match="tile_order: race"):
        half_ladder.order(8, rows)
