"""precision: each bound holds for the worst that a kernel of that precision may do, and rejects the
next lower precision.
"""

from __future__ import annotations

import numpy as np
import pytest

from helpers import checking, reference
from helpers.limits import ConvShape
from helpers.problems import conv2d, precision
from helpers.problems.precision import (
    FLOAT,
    HALF,
    HALF_ROWS,
    HALF_SUMS,
    HALF_TENSOR,
    TF32_TENSOR,
    RangeError,
)
from tests.support import layer_problem

SHAPES = (
    ConvShape(1, 1, 4, 12, 13, 7),
    ConvShape(2, 4, 3, 10, 11, 7),
    ConvShape(1, 3, 2, 6, 9, 1),
    ConvShape(1, 12, 2, 8, 9, 5),
)
ALL = (HALF, HALF_ROWS, HALF_SUMS, HALF_TENSOR, TF32_TENSOR)


def terms(x: np.ndarray, filter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(cells of each output, weights of each map), terms first: (N, outputs) and (N, M)."""
    K = filter.shape[2]
    windows = np.lib.stride_tricks.sliding_window_view(x, (K, K), axis=(2, 3))
    return windows.transpose(1, 4, 5, 0, 2, 3).reshape(filter[0].size, -1), filter.reshape(
        len(filter), -1
    ).T


def shaped(sums: np.ndarray, x: np.ndarray, filter: np.ndarray) -> np.ndarray:
    out_h, out_w = (side - filter.shape[2] + 1 for side in x.shape[2:])
    return sums.reshape(len(filter), len(x), out_h, out_w).swapaxes(0, 1)


def summed(x: np.ndarray, filter: np.ndarray, chain: int, inputs=np.float16) -> np.ndarray:
    """y by sums that stay in half for ``chain`` products, rounded at each addition, and go on in
    float32.
    """
    cells, weights = (part.astype(inputs).astype(np.float64) for part in terms(x, filter))
    y = np.zeros((len(filter), cells.shape[1]), np.float32)
    for first in range(0, len(cells), max(chain, 1)):
        if chain:
            part = np.zeros(y.shape, np.float16)
            for cell, weight in zip(
                cells[first : first + chain], weights[first : first + chain], strict=True
            ):
                # One rounding, as of a fused multiply-add.
                part = (part + weight[:, None] * cell).astype(np.float16)
            y += part
        else:
            y += (weights[first][:, None] * cells[first]).astype(np.float32)
    return shaped(y, x, filter)


def cut(x: np.ndarray, filter: np.ndarray, rounded, step: int) -> np.ndarray:
    """y by sums that cut each of ``step`` products and the sum before them at the exponent of the
    largest: 24 bits stay.
    """
    cells, weights = (part.astype(np.float64) for part in terms(rounded(x), rounded(filter)))
    total = np.zeros((len(filter), cells.shape[1]))
    for first in range(0, len(cells), step):
        rows = zip(cells[first : first + step], weights[first : first + step], strict=True)
        parts = np.stack([total, *(weight[:, None] * cell for cell, weight in rows)])
        unit = np.exp2(np.floor(np.log2(np.abs(parts).max(axis=0) + 1e-300)) - 23)
        total = np.trunc(parts / unit).sum(axis=0) * unit
        total = (
            np.trunc(total / (own := np.exp2(np.floor(np.log2(np.abs(total) + 1e-300)) - 23))) * own
        )
    return shaped(total.astype(np.float32), x, filter)


def made(kind: precision.Precision, x: np.ndarray, filter: np.ndarray) -> np.ndarray:
    """What a kernel of a precision may put out."""
    if kind.tensor:
        return cut(x, filter, kind.rounded, 4)
    if kind.inputs == "float32":
        return summed(x, filter, 0, np.float32)
    return summed(x, filter, {"none": 0, "row": filter.shape[3], "all": filter[0].size}[kind.chain])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", [FLOAT, *ALL], ids=lambda kind: kind.name)
@pytest.mark.parametrize("size", [1.0, 255.0, 1e-3])
def test_a_kernel_of_the_precision_keeps_its_tolerance(kind, shape, size):
    x, filter = layer_problem(shape)
    x *= np.float32(size)
    conv2d.check(made(kind, x, filter), x, filter, precision=kind)


NEXT_LOWER = [
    *((FLOAT, kind) for kind in (HALF, HALF_TENSOR, TF32_TENSOR)),
    *((kind, lower) for kind in (HALF, HALF_TENSOR) for lower in (HALF_ROWS, HALF_SUMS)),
    (TF32_TENSOR, HALF_SUMS),
]


@pytest.mark.parametrize("shape", SHAPES[:2], ids=str)
@pytest.mark.parametrize(("promised", "given"), NEXT_LOWER, ids=lambda kind: kind.name)
def test_the_next_lower_precision_is_rejected(promised, given, shape):
    x, filter = layer_problem(shape)
    with pytest.raises(checking.CheckError) as error:
        conv2d.check(made(given, x, filter), x, filter, precision=promised)
    assert error.value.diagnosis.kind == "precision"


def test_the_bound_of_the_inputs_alone_would_let_sums_in_half_pass():
    """Why a check has two parts."""
    x, filter = layer_problem(SHAPES[1])
    checking.check(
        summed(x, filter, 10**6), reference.conv2d(x, filter), rtol=0.0, atol=HALF.atol(x, filter)
    )


def test_inputs_cut_and_not_rounded_are_rejected():
    x, filter = layer_problem(SHAPES[1])
    unit = np.uint32(0xFFFFE000)  # 10 bits behind the point
    cells, weights = ((array.view(np.uint32) & unit).view(np.float32) for array in (x, filter))
    y = reference.conv2d(cells, weights).astype(np.float32)
    with pytest.raises(checking.CheckError):
        conv2d.check(y, x, filter, precision=HALF)
    with pytest.raises(checking.CheckError):
        conv2d.check(y, x, filter, precision=TF32_TENSOR)


def test_bounds_by_hand():
    x = np.array([[[[1.0, -2.0], [0.5, 1.0]]]], np.float32)
    # X = 2, S = 10, N = 4.
    filter = np.array([[[[1.0, -4.0], [5.0, 0.0]]], [[[-1.0, 1.0], [1.0, 1.0]]]], np.float32)
    u, eta = 2.0**-11, 2.0**-25
    assert (
        HALF.sum_atol(x, filter)
        == conv2d.conv2d_atol(x, filter)
        == pytest.approx(5 * 2.0**-24 * 20)
    )
    # |x| df = 2 (10 u and one subnormal), |f| dx = 10 * 2 u, df dx
    assert HALF.input_atol(x, filter) == pytest.approx(
        2 * (10 * u + eta) + 10 * 2 * u + 2 * u * (10 * u + eta)
    )
    assert TF32_TENSOR.input_atol(x, filter) == pytest.approx(20 * u + 20 * u + 20 * u * u)
    assert HALF_SUMS.sum_atol(x, filter) == pytest.approx(4 * u / (1 - 4 * u) * 20, rel=1e-3)
    assert HALF_ROWS.sum_atol(x, filter) == pytest.approx(2 * u / (1 - 2 * u) * 20, rel=1e-3)
    assert HALF_TENSOR.sum_atol(x, filter) == pytest.approx((4 + 2 + 1) * 2.0**-23 * 20)
    assert FLOAT.input_atol(x, filter) == 0.0
    assert HALF.atol(x, filter) == HALF.input_atol(x, filter) + HALF.sum_atol(x, filter)


def test_what_half_cannot_hold_is_refused():
    with pytest.raises(
        RangeError, match=r"the largest value is 70000; half holds up to 65,504: scale the values"
    ):
        HALF.rounded(np.array([1.0, 7e4], np.float32))
    assert np.isfinite(TF32_TENSOR.rounded(np.array([7e4], np.float32))).all()


def test_a_chain_that_promises_nothing_is_refused():
    x, filter = np.ones((1, 42, 7, 7), np.float32), np.ones((1, 42, 7, 7), np.float32)
    with pytest.raises(ValueError, match="2,058 products are added up in half"):
        HALF_SUMS.sum_atol(x, filter)


def test_tf32_by_hand():
    step = 2.0**-10  # of TF32 between 1 and 2
    values = np.array(
        [1.0, 1 + step, 1 + step / 2, -1 - step / 2, 1 + 0.49 * step, 3.0, 0.0], np.float32
    )
    assert precision.to_tf32(values).tolist() == [1.0, 1 + step, 1 + step, -1 - step, 1.0, 3.0, 0.0]


def test_a_problem_checks_each_precision(monkeypatch):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    shape = ConvShape(B=9, C=2, M=4, H=12, W=13, K=5)
    with conv2d.Problem(shape, *layer_problem(shape)) as wanted:
        for spec in conv2d.REDUCED:
            run = conv2d.compile(spec, shape)
            wanted.poison()
            run.launch(wanted.y, wanted.x, wanted.filter)
            assert wanted.check(spec.name, spec.precision).count == shape.outputs
            assert 0 < wanted.relative_error(spec.name, spec.precision) < 2e-3
            with pytest.raises(checking.CheckError, match="FP16 where FP32 was asked"):
                wanted.check(spec.name)
            run.free()


def test_halves_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    from helpers import device

    device.select()
    import pycuda.driver as cuda

    spec, shape = conv2d.conv2d_named("conv2d_half"), conv2d.shape_of("layer 1", 10)
    assert spec.scratch(shape) == 2 * (10 * 86 * 86 + 4 * 49)
    monkeypatch.setattr(cuda, "mem_get_info", lambda: (1000, 1000))
    with pytest.raises(conv2d.LayerError,
        match="needs 148,312 bytes for the halves of x, and 1,000 are free"):
        conv2d.compile(spec, shape)


def test_to_half_is_compiled_once(monkeypatch):
    """PyCUDA runs nvcc's preprocessor at every compilation of a source with #include, cached or
    not.
    """
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    shape = ConvShape(B=1, C=1, M=2, H=4, W=5, K=2)
    from helpers import device

    device.select()
    import pycuda.compiler

    sources, compile = [], pycuda.compiler.compile
    monkeypatch.setattr(
        pycuda.compiler,
        "compile",
        lambda source, **how: sources.append(source) or compile(source, **how),
    )
    for _ in range(2):
        for kernel in ("conv2d_half", "conv2d_half2"):
            conv2d.compile(kernel, shape).free()
    assert sum(source.startswith("// to_half.cu") for source in sources) <= 1


def test_a_conversion_is_exactly_numpy_s():
    from helpers import kernels, simulator

    rng = np.random.default_rng(2)
    for n in (1, 2, 255, 1025):
        values = (rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-9, 5, n)).astype(np.float32)
        half = np.full(n, np.nan, np.float16)
        launch = {"grid": (2, 1, 1), "block": (64, 1, 1)}
        assert not simulator.check(
            kernels.source("to_half"), "to_half", half, values, np.int64(n), **launch
        )
        with np.errstate(over="ignore"):
            assert np.array_equal(half, values.astype(np.float16))


# --------------------------------------------------------------------------------------------------
# Their records in conv2d.REDUCED


def test_pairs_of_maps_are_innermost_and_padded_to_whole_tiles():
    filter = np.arange(5 * 2 * 3 * 3, dtype=np.float32).reshape(5, 2, 3, 3)
    arranged = conv2d.half2(maps=4).arrange(filter)
    assert (arranged.shape, arranged.dtype) == ((2, 2, 3, 3, 4), np.float16)
    assert (arranged[0, 1, 2, 0] == filter[:4, 1, 2, 0]).all()
    assert arranged[1, 0, 1, 2].tolist() == [filter[4, 0, 1, 2], 0, 0, 0]


def test_a_paired_filter_is_arranged_when_its_address_is_new(monkeypatch):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    shape = ConvShape(B=1, C=1, M=2, H=4, W=5, K=2)
    x, filter = layer_problem(shape)
    with conv2d.Problem(shape, x, filter) as wanted:
        run = conv2d.compile(conv2d.half2(maps=2), shape)
        run.launch(wanted.y, wanted.x, wanted.filter)
        wanted.check("first", HALF_ROWS)
        run.upload(2 * filter)
        run.launch(wanted.y, wanted.x, wanted.filter, only=(run.spec.name,))
        with pytest.raises(checking.CheckError):
            wanted.check("of other weights", HALF_ROWS)
        run.free()


def test_wmma_by_hand():
    shape = conv2d.shape_of("layer 2", 7)
    half, tf32 = conv2d.wmma(), conv2d.wmma(tf32=True)
    assert (half.depth(shape), tf32.depth(shape), half.depth(conv2d.shape_of("layer 1", 1))) == (
        208,
        200,
        64,
    )
    assert (half.grid(shape), half.threads(shape)) == ((1, 1, 7), (256, 1, 1))
    assert conv2d.wmma(rows=8).grid(shape) == (1, 2, 7)
    assert half.shared(shape) == 16 * (208 + 8) * 2 + 8 * 2 * 32 * 24 * 2 + 4 * 40 * 40 * 2
    assert tf32.shared(shape) == 16 * (200 + 4) * 4 + 8 * 2 * 32 * 12 * 4 + 4 * 40 * 40 * 4


def test_a_skew_of_16_bytes_removes_bank_conflicts():
    x, filter = layer_problem(ConvShape(1, 4, 16, 20, 20, 7))
    seen = {skew: conv2d.simulate(conv2d.wmma(skew=skew), x, filter)[1][0] for skew in (0, 16)}
    assert seen[0].shared_load_conflicts > 0
    assert seen[0].shared_store_conflicts > 0
    assert seen[16].shared_load_conflicts == seen[16].shared_store_conflicts == 0
    assert seen[0].shared_load_requests == seen[16].shared_load_requests
