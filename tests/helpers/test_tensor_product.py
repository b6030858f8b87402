"""Products of small matrices on tensor cores: fragments, split numbers, short sums, wrong ones."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers import checking, simulator
from helpers.plotting import fragments
from helpers.problems import tensor_product
from helpers.problems.tensor_product import LDMATRIX, ONE_WARP, OneProduct, ProductError, Split
from tests.kernels.mutants import Mutant, mutants, require_rejected
from tests.support import on_gpu

MUTANTS = mutants("mma_", "split_")
STEPS = 10  # of the products that mutants run: not a multiple of the default's short sums


def halves(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A, B = (rng.uniform(-1, 1, shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    return A, B


def floats(steps: int, batch: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([steps, batch])
    A = rng.uniform(-1, 1, (16, 16 * steps)).astype(np.float32)
    return A, rng.uniform(-1, 1, (batch, 16 * steps, 8)).astype(np.float32)


def squares(matrix: np.ndarray) -> np.ndarray:
    """A view of a matrix as squares of 8 x 8: [row of squares, column of squares, row, column]."""
    rows, columns = matrix.shape
    return matrix.reshape(rows // 8, 8, columns // 8, 8).swapaxes(1, 2)


def require_product(D: np.ndarray, A: np.ndarray, B: np.ndarray, name: str) -> None:
    """Products of halves are exact in float32; 16 sums are rounded or cut, each below 2^-23."""
    crossed, turned = A.copy(), B.copy()
    squares(crossed)[...] = squares(A).swapaxes(0, 1)
    squares(turned)[...] = squares(B).swapaxes(2, 3)
    suspects = {
        "two squares of A are exchanged": tensor_product.reference(crossed, B),
        "the squares of B are transposed": tensor_product.reference(A, turned),
        "A is transposed": tensor_product.reference(A.T, B),
    }
    want = tensor_product.reference(A, B)
    atol = 17 * 2.0**-23 * float(np.abs(A).max()) * float(np.abs(B).astype(np.float64).sum(0).max())
    checking.check(D, want, rtol=0.0, atol=atol, name=name, suspects=suspects)


def counted_again(A: np.ndarray, B: np.ndarray, short: int) -> np.ndarray:
    """D of a kernel that never sets its short sum to zero: the first one is in all that follow."""
    ends = [k + 16 * short for k in range(0, A.shape[1], 16 * short)]
    return sum(tensor_product.reference(A[:, :end], B[:, :end]) for end in ends)


def require_split(D: np.ndarray, A: np.ndarray, B: np.ndarray, spec: Split) -> None:
    """Within `Split.atol`; what a missing product and a missing short sum would give is told."""
    want = tensor_product.reference(A, B)
    a_hi, b_hi = (one.astype(np.float16).astype(np.float64) for one in (A, B))
    whole = A.shape[1] // (16 * max(1, spec.short)) * 16 * max(1, spec.short)
    suspects = {
        "the residuals of B are missing": np.matmul(A.astype(np.float64), b_hi),
        "the residuals of A are missing": np.matmul(a_hi, B.astype(np.float64)),
        "short sums are counted again": counted_again(A, B, max(1, spec.short)),
        "the last short sum is missing": tensor_product.reference(A[:, :whole], B[:, :whole]),
    }
    checking.check(D, want, rtol=0.0, atol=spec.atol(A, B), name=spec.name, suspects=suspects)


def product(run, spec: OneProduct | Split, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """D by a runner."""
    return run(spec.plan_for(A, B), "D", {"A": A, "B": B})


@pytest.mark.parametrize("spec", [ONE_WARP, LDMATRIX], ids=lambda spec: spec.name)
def test_one_product(run, spec):
    A, B = halves()
    require_product(product(run, spec, A, B), A, B, spec.name)


@pytest.mark.parametrize("spec", [ONE_WARP, LDMATRIX], ids=lambda spec: spec.name)
def test_every_cell_of_both_matrices_counts(run, spec):
    """A row of A and a column of B with one 1 each: D is 1 in one cell, or 0 where they miss."""
    for row, inner, column in ((0, 0, 0), (3, 5, 2), (15, 15, 7), (8, 7, 0), (7, 8, 5)):
        A, B = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)
        A[row, inner] = B[inner, column] = 1
        want = np.zeros((16, 8), np.float32)
        want[row, column] = 1
        np.testing.assert_array_equal(product(run, spec, A, B), want)


@pytest.mark.parametrize("spec", [Split(1, 0), Split(3, 0), Split(3, 1), Split(3, 4)], ids=str)
@pytest.mark.parametrize("steps", [1, 3, 4, 41])
def test_split_products(run, spec, steps):
    A, B = floats(steps)
    require_split(product(run, spec, A, B), A, B, spec)


def test_whole_numbers_are_exact(run):
    """Whole numbers up to 2,048 are halves, and their sums here stay below 2^24."""
    rng = np.random.default_rng(1)
    A = rng.integers(-9, 10, (16, 320)).astype(np.float32)
    B = rng.integers(-9, 10, (2, 320, 8)).astype(np.float32)
    for spec in (Split(1, 0), Split(3, 0), Split(3, 4)):
        np.testing.assert_array_equal(product(run, spec, A, B), tensor_product.reference(A, B))


def test_short_sums_err_less(run):
    """Numbers of one sign: every cut goes the same way, and a long sum strays."""
    rng = np.random.default_rng(2)
    A = rng.uniform(0, 1, (16, 4096)).astype(np.float32)
    B = rng.uniform(0, 1, (2, 4096, 8)).astype(np.float32)
    want = tensor_product.reference(A, B)
    long, short = (float(np.abs(product(run, Split(3, k), A, B) / want - 1).mean()) for k in (0, 1))
    assert long > 10 * short


def test_holders_are_those_that_the_kernel_loads_and_stores():
    """Each cell of A, B and D, as lanes of mma_one_warp touch them, in the order of registers."""
    _, seen = tensor_product.simulate(ONE_WARP, *halves(), simulator.profile)
    holders = {
        ("A", "load"): (tensor_product.holder_of_a, 16, 2, (0, 1, 2, 3)),
        ("B", "load"): (tensor_product.holder_of_b, 8, 2, (0, 0, 1, 1)),
        ("D", "store"): (tensor_product.holder_of_d, 8, 4, (0, 1, 2, 3)),
    }
    for (array, kind), (holder, columns, size, registers) in holders.items():
        requests = [one for one in seen.requests if (one.array, one.kind) == (array, kind)]
        touched = {}
        for register, one in zip(registers, requests, strict=True):
            for lane, offset in zip(one.lanes, one.offsets, strict=True):
                for byte in range(offset, offset + one.size, size):
                    touched[divmod(byte // size, columns)] = (lane, register)
        assert len(touched) == 16 * columns
        assert all(holder(*cell) == owner for cell, owner in touched.items()), array


def test_picture_of_a_fragment():
    _, ax = plt.subplots()
    fragments.fragment(ax, (16, 8), tensor_product.holder_of_b, "B", lane=13)
    assert [text.get_text() for text in ax.texts][:3] == ["0", "4", "8"]
    framed = [patch.get_xy() for patch in ax.patches if patch.get_linewidth() > 1]
    assert framed == [(3, 2), (3, 3), (3, 10), (3, 11)]


@pytest.mark.gpu
def test_sanitize_tensor_products():
    """For compute-sanitizer: all three kernels."""
    for spec in (ONE_WARP, LDMATRIX):
        require_product(product(on_gpu, spec, *halves()), *halves(), spec.name)
    require_split(product(on_gpu, Split(), *floats(STEPS)), *floats(STEPS), Split())


def run_mutant(mutant: Mutant):
    """Run it in the place of its original: (findings, function that checks the result)."""
    instead = {mutant.original: (mutant.name, mutant.source)}
    if mutant.original == "split_product":
        A, B = floats(STEPS)
        D, findings = tensor_product.simulate(Split(), A, B, instead=instead)
        return findings, lambda: require_split(D, A, B, Split())
    A, B = halves()
    D, findings = tensor_product.simulate(OneProduct(mutant.original), A, B, instead=instead)
    return findings, lambda: require_product(D, A, B, mutant.name)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    require_rejected(mutant, *run_mutant(mutant))


@pytest.mark.parametrize("steps", [1, 4, 10])
def test_tolerance_rejects_halves(steps):
    A, B = floats(steps)
    D = np.matmul(A.astype(np.float16).astype(np.float64), B.astype(np.float16).astype(np.float64))
    with pytest.raises(checking.CheckError):
        require_split(D.astype(np.float32), A, B, Split(3, 4))
    require_split(D.astype(np.float32), A, B, Split(1, 0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Split(2), "1 or 3 products"),
        (lambda: Split(3, -1), "0 or more steps, not -1"),
        (lambda: Split().plan(0, 4), "at least one"),
        (lambda: Split().plan(2**20, 16), "fewer than 2\\^31"),
        (lambda: tensor_product.simulate(Split(), *(one[..., :8] for one in floats(1))), "16"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ProductError, match=message):
        make()


def test_split_products_have_the_range_that_lab_304_names():
    """As exact as FP32 from 1/100 to 65,504; below, the error grows; above, there is no number."""
    rng = np.random.default_rng(28)
    A = rng.uniform(0, 1, (16, 640)).astype(np.float32)
    B = rng.uniform(0, 1, (1, 640, 8)).astype(np.float32)
    exact = tensor_product.reference(A, B)

    def error_at(power: int) -> float:
        scale = np.float32(2.0**power)
        D, _ = tensor_product.simulate(Split(3, 4), A * scale, B)
        return float(np.sqrt(np.mean((D / scale / exact - 1) ** 2)))

    for power in (-6, 0, 8, 15):
        assert error_at(power) < 4e-7
    small = [error_at(power) for power in (-30, -25, -20, -15)]
    assert all(one > 5 * other for one, other in itertools.pairwise(small[1:]))
    assert small[0] > 1e-3
    for power in (17, 30):
        assert np.isnan(error_at(power))
