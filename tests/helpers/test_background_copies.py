"""Tiles copied plainly, by cp.async and by bulk copies: results, traffic, and wrong ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import checking, simulator
from helpers.problems import copies
from helpers.problems.conv1d import conv1d_atol
from helpers.problems.copies import Copies, CopiesError
from tests.kernels.mutants import mutants, require_named
from tests.support import in_simulator, on_gpu, simulated

MUTANTS = mutants("copy_")
# (outputs of a tile, threads, filter width, n, blocks): one tile; fewer tiles than blocks; a halo
# wider than a tile; a last tile of one output; outputs that end with a tile.
CASES = (
    (64, 32, 1, 4, 1),
    (256, 64, 15, 1000, 7),
    (8, 32, 31, 500, 3),
    (60, 96, 5, 64, 2),
    (128, 64, 15, 4 * 128 + 16, 2),
)


def problem(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Random N and filter, float32; the filter is not symmetric."""
    rng = np.random.default_rng([n, width])
    return rng.uniform(-1, 1, n).astype(np.float32), rng.uniform(-1, 1, width).astype(np.float32)


def require_right(P: np.ndarray, N: np.ndarray, filter: np.ndarray, name: str) -> None:
    want = copies.reference(N, filter)
    suspects = {"the filter is flipped": copies.reference(N, filter[::-1])}
    atol = conv1d_atol(N, filter)
    checking.check(P, want, rtol=0.0, atol=atol, name=name, suspects=suspects)


def copied(run, spec: Copies, N: np.ndarray, filter: np.ndarray, blocks: int, **how):
    """P of a launch by a runner."""
    return run(spec.plan(N.size, filter.size, blocks), "P", {"N": N, "filter": filter}, **how)


@pytest.mark.parametrize("name", copies.NAMES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_table(run, name, case):
    tile, threads, width, n, blocks = case
    N, filter = problem(n, width)
    P = copied(run, Copies(name, tile, threads), N, filter, blocks)
    require_right(P, N, filter, name)


@pytest.mark.parametrize("name", copies.NAMES)
def test_an_example_by_hand(run, name):
    """1 * 1 + 2 * 10 + 3 * 100 and so on: six outputs of eight cells."""
    N, filter = np.arange(1, 9, dtype=np.float32), np.float32([1, 10, 100])
    P = copied(run, Copies(name, 4, 32), N, filter, 1)
    assert P.tolist() == [321, 432, 543, 654, 765, 876]


@settings(max_examples=6)
@given(
    name=st.sampled_from(copies.NAMES),
    quads=st.integers(1, 40),
    warps=st.integers(1, 4),
    radius=st.integers(0, 20),
    more=st.integers(0, 300),
    blocks=st.integers(1, 5),
)
def test_shapes_beyond_the_table(name, quads, warps, radius, more, blocks):
    width = 2 * radius + 1
    N, filter = problem(4 * (-(-width // 4) + more), width)
    P = copied(in_simulator, Copies(name, 4 * quads, 32 * warps), N, filter, blocks)
    require_right(P, N, filter, name)


@pytest.mark.gpu
def test_sanitize_copies():
    """For compute-sanitizer: all three kernels, the last tile partial."""
    N, filter = problem(2000, 15)
    for name in copies.NAMES:
        P = copied(on_gpu, Copies(name, 256, 64), N, filter, 3)
        require_right(P, N, filter, name)


def test_who_moves_the_cells():
    """A copy in the background stores nothing by a thread; a bulk copy loads nothing by one."""
    N, filter = problem(4096, 15)
    seen = {}
    for name in copies.NAMES:
        spec = Copies(name, 512, 128)
        _, profile = copied(simulated, spec, N, filter, 2, entry=simulator.profile)
        seen[name] = profile.global_load_requests, profile.shared_store_requests
    vectors = 4096 / 4 + 7 * 4  # each of 8 tiles has a halo of 14 cells, in four vectors
    assert seen["copy_plain"][0] >= vectors / 32
    assert seen["copy_plain"] == (seen["copy_plain"][0], seen["copy_plain"][0])
    assert seen["copy_async"] == (seen["copy_plain"][0], 0)
    assert seen["copy_bulk"][0] == 0


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    N, filter = problem(1000, 15)
    instead = {mutant.original: (mutant.name, mutant.source)}
    spec = Copies(mutant.original, 128, 64)
    _, findings = copied(simulated, spec, N, filter, 2, instead=instead)
    require_named(mutant, findings)


def test_a_short_result_is_rejected():
    N, filter = problem(64, 3)
    right = copies.reference(N, filter).astype(np.float32)
    for wrong in (np.roll(right, 1), np.where(np.arange(right.size) < 60, right, np.nan)):
        with pytest.raises(checking.CheckError):
            require_right(wrong.astype(np.float32), N, filter, "wrong")
    with pytest.raises(checking.CheckError, match="flipped"):
        flipped = copies.reference(N, filter[::-1])
        require_right(flipped.astype(np.float32), N, filter, "wrong")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Copies("copy_slow"), "none of copy_plain"),
        (lambda: Copies("copy_bulk", 130), "a multiple of 4 outputs, not 130"),
        (lambda: Copies("copy_bulk", 128, 48), "32, 64"),
        (lambda: Copies("copy_bulk").plan(1001, 3, 1), "a multiple of 4"),
        (lambda: Copies("copy_bulk").plan(100, 101, 1), "at least the filter's width"),
        (lambda: Copies("copy_bulk", 8192).plan(10_000, 3, 1), "Take a smaller tile"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(CopiesError, match=message):
        make()
