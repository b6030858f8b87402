"""GPUArray's arithmetic, views and reductions: NumPy's results where PyCUDA gives them, PyCUDA's
where it does not.
"""

from __future__ import annotations

import operator
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

# Importing it makes the context.
from helpers.simulator.pycuda_api import (
    autoprimaryctx,  # noqa: F401
    cumath,
    curandom,
    gpuarray,
)
from helpers.simulator.pycuda_api import driver as cuda

DTYPES = [np.int32, np.int64, np.float32, np.float64, np.complex64, np.complex128]


def draw(dtype, shape=(6, 4), seed=0):
    generator = np.random.default_rng(seed)
    values = generator.integers(1, 40, shape) + (
        1j * generator.integers(1, 40, shape) if np.dtype(dtype).kind == "c" else 0
    )
    return values.astype(dtype)


def test_no_other_library_takes_an_array_for_one_of_a_gpu():
    with pytest.raises(TypeError, match=r"give them a copy, array.get\(\)"):
        getattr(gpuarray.to_gpu(draw(np.float32)), "__cuda_array_interface__", None)


# ---- arithmetic ----


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
@pytest.mark.parametrize(
    "operation", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
)
def test_two_arrays(left, right, operation):
    a, b = draw(left), draw(right, seed=1)
    if operation is operator.pow:
        a, b = (a / 8 + 1).astype(left), (b / 8 + 1).astype(right)
    got = operation(gpuarray.to_gpu(a), gpuarray.to_gpu(b)).get()
    integers = np.dtype(left).kind + np.dtype(right).kind == "ii"
    # C divides integers so.
    want = a // b if operation is operator.truediv and integers else operation(a, b)
    assert got.dtype == want.dtype and not np.array_equal(got, a)
    np.testing.assert_allclose(got, want, rtol=5e-5)


def test_integers_are_divided_as_in_c():
    a, b = np.array([7, -7, 7, -7, 6], np.int32), np.array([2, 2, -2, -2, 3], np.int32)
    np.testing.assert_array_equal(
        (gpuarray.to_gpu(a) / gpuarray.to_gpu(b)).get(), [3, -3, -3, 3, 2]
    )


SCALARS = [
    (lambda x: x + 2, np.float32), (lambda x: 2 + x, np.float32), (lambda x: x - 2.5, np.float32),
    (lambda x: 2.5 - x, np.float32), (lambda x: x * 3, np.float32), (lambda x: 3 * x, np.float32),
    (lambda x: x / 2, np.float32), (lambda x: 2 / x, np.float32), (lambda x: x**2, np.float32),
    (lambda x: 2.0**x, np.float64), (lambda x: x + 0, np.int32), (lambda x: x + 3, np.int32),
    (lambda x: x * np.float64(2), np.float32), (lambda x: x * 2j, np.complex64),
    (lambda x: -x, np.int64), (abs, np.int32), (abs, np.complex64), (lambda x: +x, np.float32),
    (lambda x: np.float32(2) * x, np.float32),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(SCALARS)))
def test_an_array_and_a_number(case):
    operation, dtype = SCALARS[case]
    values = draw(dtype)
    got, want = operation(gpuarray.to_gpu(values)).get(), operation(values)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_numbers_that_an_integer_array_cannot_take():
    array = gpuarray.to_gpu(np.arange(4, dtype=np.int32))
    for operation in (
        lambda: array / 2,
        lambda: operator.iadd(array, 1.5),
        lambda: array.fill(0.5),
        lambda: operator.imul(array, 2**40),
    ):
        with pytest.raises(struct.error):
            operation()
    np.testing.assert_array_equal(array.get(), np.arange(4))


@pytest.mark.parametrize(
    "operation", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]
)
@pytest.mark.parametrize("other", ["array", "number"])
def test_in_place(operation, other):
    values = draw(np.float32) / 8 + 1
    array = same = gpuarray.to_gpu(values)
    argument = draw(np.float64, seed=2) % 3 + 1
    array = operation(array, gpuarray.to_gpu(argument) if other == "array" else 1.5)
    assert array is same and array.dtype == np.float32
    want = operation(
        values.copy(), argument.astype(np.float32) if other == "array" else np.float32(1.5)
    )
    np.testing.assert_allclose(array.get(), want, rtol=1e-6)


def test_shapes_must_agree_or_be_empty():
    a, one = gpuarray.to_gpu(np.ones((3, 4), np.float32)), gpuarray.to_gpu(np.array(2, np.float32))
    np.testing.assert_array_equal((a + one).get(), 3)
    np.testing.assert_array_equal((one / a).get(), 2)
    for operation in (
        lambda: a + gpuarray.zeros(4, np.float32),
        lambda: a * gpuarray.zeros((4, 3), np.float32),
    ):
        with pytest.raises(NotImplementedError, match="equal shapes"):
            operation()
    with pytest.raises(AssertionError, match="do not agree"):
        a += gpuarray.zeros(4, np.float32)
    with pytest.raises(RuntimeError, match="needs contiguous"):
        a[:, ::2] + 1


def test_elements_pair_up_as_they_lie_in_memory():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    c, f = gpuarray.to_gpu(rows), gpuarray.to_gpu(np.asfortranarray(rows))
    with pytest.warns(cuda.SimulatorWarning, match="C order and in Fortran order"):
        got = (c + f).get()
    assert not np.array_equal(got, 2 * rows)
    np.testing.assert_array_equal(got.ravel(), rows.ravel() + rows.ravel("F"))
    assert (f + f).flags.f_contiguous
    np.testing.assert_array_equal((f + f).get(), 2 * rows)


# ---- comparing and choosing ----


@pytest.mark.parametrize(
    "operation", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
)
def test_comparisons_give_numbers(operation):
    a, b = np.array([1, 2, 3], np.float32), np.array([3, 2, 1], np.float64)
    got = operation(gpuarray.to_gpu(a), gpuarray.to_gpu(b))
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got.get(), operation(a, b).astype(np.float64))
    got = operation(gpuarray.to_gpu(a), 2)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.get(), operation(a, 2))
    with pytest.raises(AssertionError, match="compared"):
        operation(gpuarray.to_gpu(a), [2])


def test_choices():
    crit, then, other = (
        np.array(v, np.float32) for v in ([1, 0, -1, np.nan], [1, 2, 3, 4], [5, 6, 7, 8])
    )
    c, t, e = map(gpuarray.to_gpu, (crit, then, other))
    np.testing.assert_array_equal(gpuarray.if_positive(c, t, e).get(), [1, 6, 7, 8])
    np.testing.assert_array_equal(gpuarray.where(c, t, e).get(), [1, 6, 3, 4])
    np.testing.assert_array_equal(gpuarray.maximum(c, t).get(), [1, 2, 3, 4])  # a NaN loses
    np.testing.assert_array_equal(gpuarray.minimum(2, c).get(), [1, 0, -1, 2])
    with pytest.raises(ValueError, match="arrays of one dtype, got"):
        gpuarray.if_positive(c, t, e.astype(np.float64))
    with pytest.raises(NotImplementedError, match="shape"):
        gpuarray.where(c, t, gpuarray.zeros(3, np.float32))


def test_logic():
    x, y = (gpuarray.to_gpu(np.array(v, np.float32)) for v in ([0, 0, 0.5, 1], [0, 2, 0, 1]))
    np.testing.assert_array_equal(gpuarray.logical_and(x, y).get(), [False, False, False, True])
    np.testing.assert_array_equal(gpuarray.logical_or(x, 0).get(), [False, False, True, True])
    assert gpuarray.logical_not(x).dtype == np.bool_ and gpuarray.logical_not(x).get().tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert bool(gpuarray.logical_and(1, 2)) and not bool(gpuarray.logical_not(3))
    with pytest.raises(NotImplementedError, match="one shape"):
        gpuarray.logical_and(x, gpuarray.zeros(3, np.float32))


# ---- reductions ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype):
    a, b = draw(dtype, 1000), draw(dtype, 1000, seed=3)
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    for got, want in [
        (gpuarray.sum(x), a.sum(dtype=dtype)),
        (gpuarray.dot(x, y), np.sum(a * b, dtype=dtype)),
    ]:
        assert got.shape == () and got.dtype == dtype
        np.testing.assert_allclose(got.get(), want, rtol=1e-5)
    if np.dtype(dtype).kind != "c":
        assert (gpuarray.min(x).get(), gpuarray.max(x).get()) == (a.min(), a.max())
    # Int32 wraps around.
    assert gpuarray.sum(gpuarray.to_gpu(np.full(3, 2**30, np.int32))).get() == np.int32(-(2**30))
    assert gpuarray.sum(x, dtype=np.complex128).dtype == np.complex128


def test_reductions_of_subsets():
    values, subset = np.array([5, 1, 9, 3], np.float32), np.array([0, 2, 0], np.int32)
    x, s = gpuarray.to_gpu(values), gpuarray.to_gpu(subset)
    assert gpuarray.subset_sum(s, x).get() == 19 and gpuarray.subset_dot(s, x, x).get() == 131
    assert gpuarray.subset_min(s, x).get() == 5 and gpuarray.subset_max(s, x).get() == 9
    with pytest.raises(cuda.LaunchError, match=r"index 4 \(at 1\) of an array with 4 elements"):
        gpuarray.subset_sum(gpuarray.to_gpu(np.array([0, 4], np.int32)), x)
    with pytest.raises(cuda.LaunchError, match="index -1"):
        gpuarray.subset_min(gpuarray.to_gpu(np.array([-1], np.int32)), x)


def test_any_and_all():
    for values in ([0, 0], [0, 0.5], [1, 2]):
        array = gpuarray.to_gpu(np.array(values, np.float32))
        assert array.any().get() == np.any(values) and array.all().get() == np.all(values)
        assert array.any().dtype == np.bool_


def test_nan_loses_in_min_and_max():
    array = gpuarray.to_gpu(np.array([np.nan, 2, 1], np.float32))
    assert (gpuarray.min(array).get(), gpuarray.max(array).get()) == (1, 2)
    with pytest.raises(ValueError, match="without elements"):
        gpuarray.max(gpuarray.empty(0, np.float32))


# ---- making ----


def test_arange():
    np.testing.assert_array_equal(
        gpuarray.arange(2, 20, 3, dtype=np.int32).get(), np.arange(2, 20, 3)
    )
    np.testing.assert_array_equal(gpuarray.arange(5, np.dtype("f4")).get(), np.arange(5))
    np.testing.assert_allclose(
        gpuarray.arange(0, 1, 0.25, dtype=np.float32).get(), np.arange(0, 1, 0.25)
    )
    with pytest.warns(UserWarning, match="give dtype="):
        assert gpuarray.arange(3).dtype == np.int64
    for wrong in (
        lambda: gpuarray.arange(),
        lambda: gpuarray.arange(1, stop=2),
        lambda: gpuarray.arange(1, width=2),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_making():
    assert gpuarray.zeros(3).dtype == np.float64 and not gpuarray.zeros(3).get().any()
    assert gpuarray.ones((2, 3), np.int16, order="F").flags.f_contiguous
    np.testing.assert_array_equal(
        gpuarray.ones_like(gpuarray.zeros((2, 2), np.complex64), dtype=np.float32).get(), 1
    )
    assert gpuarray.empty(np.array([2, 3]), np.float32).shape == (2, 3)
    assert gpuarray.empty(np.int64(4), np.float32).shape == (4,)
    with pytest.raises(AssertionError, match="a shape is an int"):
        gpuarray.empty(2.5, np.float32)
    values = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(gpuarray.to_gpu(values))).get(), values)


def test_random_numbers():
    floats, ints = curandom.rand((50, 20)), curandom.rand(1000, np.uint32)
    assert (
        floats.dtype == np.float32
        and floats.get().min() >= 0
        and floats.get().max() < 1
        and floats.get().std() > 0.2
    )
    assert ints.get().max() > 2**31
    with pytest.raises(NotImplementedError):
        curandom.rand(3, np.complex64)


# ---- views and copies ----


@given(st.data())
def test_views_are_numpys(data):
    shape = data.draw(st.tuples(*[st.integers(1, 5)] * data.draw(st.integers(1, 3))))
    host = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    index = []
    for extent in shape:
        start, stop = data.draw(st.integers(0, extent - 1)), data.draw(st.integers(1, extent))
        index.append(
            data.draw(
                st.sampled_from(
                    [start, slice(start, max(stop, start + 1)), slice(None, None, 2), slice(None)]
                )
            )
        )
    view = gpuarray.to_gpu(host)[tuple(index)]
    assert view.shape == host[tuple(index)].shape
    try:
        got = view.get()
    except (ValueError, RuntimeError) as error:  # gaps that PyCUDA's Memcpy3D cannot skip
        assert "gaps along at most 2 axes" in str(error) or "largest stride" in str(error)
        return
    np.testing.assert_array_equal(got, host[tuple(index)])


def test_other_views():
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    device = gpuarray.to_gpu(host)
    np.testing.assert_array_equal(device.T.get(), host.T)
    np.testing.assert_array_equal(device.transpose((1, 0, 2)).get(), host.transpose(1, 0, 2))
    np.testing.assert_array_equal(
        gpuarray.transpose(device, (2, 0, 1)).get(), host.transpose(2, 0, 1)
    )
    assert device[:, None].shape == (2, 1, 3, 4) and device[0:1].squeeze().shape == (3, 4)
    assert device.view(np.float64).shape == (2, 3, 2) and device.view(np.int16).shape == (2, 3, 8)
    np.testing.assert_array_equal(device.view(np.int32).get(), host.view(np.int32))
    for shape in ((6, -1), (3, -1, 4), (-1,)):
        np.testing.assert_array_equal(device.reshape(*shape).get(), host.reshape(shape))
    np.testing.assert_array_equal(gpuarray.reshape(device, 6, -1).get(), host.reshape(6, 4))
    for wrong in (
        lambda: device[3],
        lambda: device[0, 0, 0, 0],
        lambda: device[[0, 1]],
        lambda: device[1.5],
    ):
        with pytest.raises(IndexError):
            wrong()
    for wrong in (
        lambda: device.reshape(-1, -1),
        lambda: device.transpose((0, 1)),
        lambda: gpuarray.zeros(3, np.int8).view(np.int16),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_copies_that_pycuda_cannot_make():
    device = gpuarray.to_gpu(np.zeros((4, 4, 4, 4), np.float32))
    with pytest.raises(ValueError, match="gaps along at most 2 axes"):
        device[::2, ::2, ::2, ::2].get()
    with pytest.raises(ValueError, match="same shape"):
        device[0] = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="same dtype"):
        device[0] = np.zeros((4, 4, 4))
    with pytest.raises(ValueError, match="the same order"):
        device[0, 0, :, ::2] = np.zeros((2, 4), np.float32).T
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.warns(cuda.SimulatorWarning, match="as they lie"):
        gpuarray.empty((2, 3), np.float32, order="F").set(host)


def test_putting_together():
    a, b = (
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(10, 13, dtype=np.float32).reshape(1, 3),
    )
    np.testing.assert_array_equal(
        gpuarray.concatenate((gpuarray.to_gpu(a), gpuarray.to_gpu(b))).get(), np.concatenate((a, b))
    )
    stacked = gpuarray.stack([gpuarray.to_gpu(a), gpuarray.to_gpu(a + 1)])
    np.testing.assert_array_equal(stacked.get(), np.stack([a, a + 1]))
    with pytest.raises(ValueError, match="different number of axes"):
        gpuarray.concatenate((gpuarray.to_gpu(a), gpuarray.to_gpu(b[0])))
    with pytest.raises(ValueError, match="differ in shape"):
        gpuarray.stack([gpuarray.to_gpu(a), gpuarray.to_gpu(b)])


def test_putting():
    x = gpuarray.to_gpu(np.array([5, 6, 7, 8], np.float32))
    (put,) = gpuarray.multi_put(
        [x], gpuarray.to_gpu(np.array([1, 3], np.uint32)), out=[gpuarray.zeros(4, np.float32)]
    )
    np.testing.assert_array_equal(put.get(), [0, 5, 0, 6])
    with pytest.raises(cuda.LaunchError, match="writes out of bounds"):
        gpuarray.multi_put(
            [x], gpuarray.to_gpu(np.array([4], np.uint32)), out=[gpuarray.zeros(4, np.float32)]
        )


@pytest.mark.parametrize("name", ["take", "multi_take", "multi_take_put"])
def test_what_reads_by_textures_is_refused(name):
    x, at = gpuarray.to_gpu(np.ones(4, np.float32)), gpuarray.to_gpu(np.zeros(2, np.uint32))
    with pytest.raises(cuda.CompileError, match=rf"gpuarray\.{name} reads by texture references"):
        getattr(gpuarray, name)(x, at)


def test_complex_parts():
    values = draw(np.complex64)
    array = gpuarray.to_gpu(np.asfortranarray(values))
    for got, want in [
        (array.real, values.real),
        (array.imag, values.imag),
        (array.conj(), values.conj()),
    ]:
        assert got.flags.f_contiguous and got.dtype == want.dtype
        np.testing.assert_array_equal(got.get(), want)
    real = gpuarray.to_gpu(values.real.copy())
    assert real.real is real and real.conj() is real and not real.imag.get().any()


def test_casts():
    values = np.array([1.7, -1.7, 300.2], np.float32)
    np.testing.assert_array_equal(gpuarray.to_gpu(values).astype(np.int32).get(), [1, -1, 300])
    assert gpuarray.to_gpu(values).astype(np.float32).dtype == np.float32
    with pytest.warns(cuda.SimulatorWarning, match="transposes"):
        got = gpuarray.to_gpu(
            np.asfortranarray(values.reshape(3, 1) + np.arange(2, dtype=np.float32))
        ).astype(np.float64)
    assert got.flags.c_contiguous


# ---- functions ----


FUNCTIONS = (
    "fabs", "ceil", "floor", "exp", "log", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh"
)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_functions_of_every_element(name, dtype):
    values = (np.linspace(0.1, 0.9, 50) + (0.3j if dtype is np.complex64 else 0)).astype(dtype)
    function = getattr(cumath, name)
    array = gpuarray.to_gpu(values)
    if dtype is np.complex64 and name in ("fabs", "ceil", "floor", "asin", "acos", "atan"):
        with pytest.raises(cuda.CompileError, match="complex"):
            function(array)
        return
    want = getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name))(
        values
    )
    got = function(array)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.get(), want, rtol=1e-6)
    out = gpuarray.empty_like(array)
    assert function(array, out=out, stream=cuda.Stream()) is out
    with pytest.raises(AssertionError, match="out must have"):
        function(array, out=gpuarray.empty(50, np.int8))


def test_functions_of_two():
    a, b = (gpuarray.to_gpu(np.array(v, np.float32)) for v in ([7.5, -7.5, 0.75], [2, 2, 3.9]))
    np.testing.assert_array_equal(cumath.fmod(a, b).get(), [1.5, -1.5, 0.75])
    np.testing.assert_array_equal(cumath.ldexp(a, b).get(), [30, -30, 6])
    fraction, whole = cumath.modf(a)
    np.testing.assert_array_equal(fraction.get() + whole.get(), [7.5, -7.5, 0.75])
    significand, exponent = cumath.frexp(a)
    np.testing.assert_array_equal(significand.get() * 2 ** exponent.get(), [7.5, -7.5, 0.75])
    with pytest.raises(TypeError, match="reads float32"):
        cumath.fmod(a.astype(np.float64), b)
    with pytest.warns(DeprecationWarning, match="not used"):
        cumath.exp(a, cuda.Stream())


def test_mul_add_reverse_and_truth():
    a, b = (gpuarray.to_gpu(np.array(v, np.float32)) for v in ([1, 2, 3], [10, 20, 30]))
    np.testing.assert_array_equal(a.mul_add(2, b, 3).get(), [32, 64, 96])
    np.testing.assert_array_equal(a.reverse().get(), [3, 2, 1])
    assert bool(gpuarray.ones((1, 1))) and not bool(gpuarray.zeros(()))
    with pytest.raises(ValueError, match="neither true nor false"):
        bool(a)
