"""The ladder of matrix products: right at every size, without a finding; its wrong versions."""

import numpy as np
import pytest

from helpers import bench, checking, simulator
from helpers.experiments import gemm_ladder
from helpers.problems import gemm
from helpers.problems.gemm import GEMM, HALVES, MMA, WGMMA, GemmError
from tests.kernels.mutants import mutants, require_rejected
from tests.support import in_simulator, on_gpu, simulated

# Its loops unrolled, gemm_pipelined is long in the sizes of the labs: they run with one size only.
SMALL = gemm.pipelined(patch=8, depth=8, stages=3)
WARP = gemm.warp_tiles((8, 4), (2, 1), depth=16, stages=2, blocks=2)
EVERY = (*GEMM[:-1], SMALL, WARP)
FAST = (
    *HALVES,
    gemm.overlapped(cluster=1),
    *(spec for of in gemm.CHOICES.values() for spec, _ in of),
)
# One output; primes around a tile; multiples of 4, which are copied 16 bytes at a time; thin ones.
SIZES = [(1, 1, 1), (131, 67, 37), (136, 132, 40), (5, 257, 8), (257, 3, 9)]
MUTANTS = [
    mutant
    for mutant in mutants("gemm_")
    if mutant.original != "gemm_tiled"  # test_mutants.py runs them, as a layer's
]


def label(spec) -> str:
    return "-".join((spec.name, *(f"{name}{value}" for name, value in spec.constants)))


def product(run, spec, A, X, **how):
    """What a runner returns of a product."""
    return run(spec.plan(len(A), X.shape[1], len(X)), "Y", {"A": A, "X": X}, **how)


def require_right(Y, A, X, name):
    want = gemm.reference(A, X)
    got = Y.astype(np.float32)
    return checking.check(got, want, rtol=0.0, atol=gemm.atol(A, X, want), name=name)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("spec", EVERY, ids=label)
def test_products_are_right_and_without_a_finding(spec, sizes):
    A, X = gemm.matrices(*sizes)
    require_right(product(in_simulator, spec, A, X), A, X, spec.name)


@pytest.mark.parametrize("sizes", [(1, 8, 8), (131, 72, 136), (257, 264, 72)], ids=str)
def test_products_of_halves_are_right_and_without_a_finding(sizes):
    A, X = gemm.matrices(*sizes, np.float16)
    require_right(product(in_simulator, MMA, A, X), A, X, MMA.name)


@pytest.mark.parametrize("spec", (*EVERY, GEMM[-1], gemm.warp_tiles()), ids=label)
def test_an_example_by_hand(spec):
    """1 * 1 + 10 * 3 + 100 * 5 and so on: no two cells may change places."""
    A = np.array([[1, 10, 100], [2, 20, 200]], np.float32)
    X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    Y = product(in_simulator, spec, A, X)
    assert Y.tolist() == [[531, 642], [1062, 1284]]


def test_vectors_are_copied_only_where_rows_begin_at_16_bytes():
    spec = gemm.pipelined()
    for sizes, copy in (((9, 8, 12), 4), ((9, 7, 12), 1), ((9, 8, 13), 1)):
        (one,) = spec.plan(*sizes)
        assert f"-DCOPY={copy}" in one.options, sizes


def test_each_rung_reads_less():
    """Words from shared memory for one product: the reason of the ladder. gemm_vector reads as many
    as gemm_patch by a quarter of the instructions."""
    A, X = gemm.matrices(128, 128, 64)
    by_name = {spec.name: spec for spec in GEMM}

    def shared(name: str) -> tuple[int, int]:
        _, seen = product(simulated, by_name[name], A, X, entry=simulator.profile)
        return seen.total("bytes_used", "shared", "load"), seen.shared_load_requests

    tiled, column, patch, vector = map(
        shared, ("gemm_tiled", "gemm_column", "gemm_patch", "gemm_vector")
    )
    assert tiled[0] > 1.7 * column[0] > 3 * patch[0]
    assert vector[0] == patch[0] and 4 * vector[1] == patch[1]


@pytest.mark.parametrize(
    ("spec", "sizes", "message"),
    [
        (GEMM[0], (0, 3, 3), "each size must be at least 1"),
        (GEMM[-1], (2**16, 2**16, 2), r"fewer than 2\^31 cells"),
        (WGMMA, (64, 12, 64), "multiples of 8"),
    ],
)
def test_sizes_that_are_refused(spec, sizes, message):
    with pytest.raises(GemmError, match=message):
        spec.plan(*sizes)


@pytest.mark.parametrize("spec", HALVES[1:], ids=lambda spec: spec.name)
def test_the_simulator_refuses_products_of_warpgroups(spec):
    A, X = gemm.matrices(8, 8, 8, np.float16)
    with pytest.raises(simulator.CompileFailed, match="the simulator cannot run "):
        product(in_simulator, spec, A, X)


@pytest.mark.parametrize(
    ("sizes", "halves", "tile"),
    [
        ((1000, 1016, 1048), False, (64, 128)),  # 128 tiles, the others would leave 100 idle
        ((4096, 4096, 4096), False, (128, 256)),
        ((4096, 4104, 4112), False, (256, 128)),  # 528 tiles, 4 for each of 132; else 544
        ((1000, 1016, 1048), True, (128, 128)),
        ((8192, 8192, 8192), True, (128, 256)),
        ((4096, 4104, 4112), True, (256, 128)),
    ],
)
def test_the_host_chooses_tiles_by_the_sizes(sizes, halves, tile):
    assert gemm.fastest(*sizes[:2], halves=halves).tile == tile
    with pytest.raises(GemmError, match="each size must be at least 1"):
        gemm.fastest(0, 8, halves=halves).plan(0, 8, 8)


@pytest.mark.parametrize(
    ("spec", "sizes", "grid"),
    [
        (HALVES[3], (300, 304, 64), (2, 4, 1)),  # three rows of tiles: clusters have two each
        (HALVES[4], (300, 304, 64), (8, 1, 1)),
        (HALVES[4], (4096, 4096, 64), (132, 1, 1)),
        (gemm.overlapped(cluster=1), (300, 304, 64), (6, 1, 1)),
    ],
)
def test_clusters_are_whole_and_no_more_blocks_stay_than_there_are_multiprocessors(
    spec, sizes, grid
):
    (one,) = spec.plan(*sizes)
    assert one.grid == grid


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    spec = next(spec for spec in (*EVERY, MMA) if spec.name == mutant.original)
    sizes = (131, 72, 136) if spec.halves else (131, 67, 75)
    A, X = gemm.matrices(*sizes, spec.dtype)
    instead = {mutant.original: (mutant.name, mutant.source)}
    Y, findings = product(simulated, spec, A, X, instead=instead)
    require_rejected(mutant, findings, lambda: require_right(Y, A, X, mutant.name))


@pytest.mark.gpu
@pytest.mark.parametrize("spec", (*GEMM, SMALL, *FAST), ids=label)
def test_sanitize_products(spec):
    """On a GPU, also under compute-sanitizer: every kernel, ragged sizes."""
    for sizes in ((131, 72, 40), (300, 520, 136)):
        A, X = gemm.matrices(*sizes, spec.dtype)
        require_right(product(on_gpu, spec, A, X), A, X, spec.name)


@pytest.mark.parametrize("name", gemm_ladder.LADDER)
def test_every_rung_of_the_ladder_is_right_and_has_the_sizes_that_its_table_names(name):
    product = bench.gemm(150, 140, 70)
    kernel = gemm_ladder.rungs(product)[name]
    verdict = product.check(kernel)
    assert str(verdict).startswith("PASS "), verdict
    rung, macros = gemm_ladder.LADDER[name], dict(kernel.spec.constants)
    assert rung.depth == macros.get("DEPTH", macros.get("TILE_WIDTH", rung.depth))


def test_an_unknown_peak_and_a_ladder_without_times_are_said():
    product = bench.gemm()
    made = list(gemm_ladder.rungs(product).values())[:2]
    times = product.compare(*made)  # the simulator has no times
    with pytest.raises(ValueError, match=r"the FP32 peak of .* is not known"):
        gemm_ladder.peak_table(product, product.count(*made), times)
    assert gemm_ladder.claim(times) == "No rung is timed yet"
