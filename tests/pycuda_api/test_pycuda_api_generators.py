"""Random numbers, and the kernels that PyCUDA makes from a dtype: reductions and combinations."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.simulator.pycuda_api import (
    autoprimaryctx,  # noqa: F401 - it makes the context
    compiler,
    curandom,
    elementwise,
    gpuarray,
    reduction,
)
from helpers.simulator.pycuda_api import driver as cuda

GENERATORS = [curandom.XORWOWRandomNumberGenerator, curandom.MRG32k3aRandomNumberGenerator]
N = 20_000


def seeds(count: int) -> gpuarray.GPUArray:
    return gpuarray.to_gpu(np.arange(count, dtype=np.int32))


# ---- random numbers ----


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_have_their_distributions(kind, dtype):
    generator = kind(seeds)
    uniform = generator.gen_uniform((N,), dtype).get()
    assert uniform.dtype == dtype and uniform.min() > 0 and uniform.max() <= 1
    assert abs(uniform.mean() - 0.5) < 0.02 and abs(uniform.var() - 1 / 12) < 0.005
    normal = generator.gen_normal((2, N // 2), dtype).get()
    assert (
        normal.shape == (2, N // 2) and abs(normal.mean()) < 0.04 and abs(normal.std() - 1) < 0.03
    )
    logarithms = np.log(generator.gen_log_normal(N, dtype, 2.0, 0.5).get())
    assert abs(logarithms.mean() - 2) < 0.02 and abs(logarithms.std() - 0.5) < 0.02


def test_whole_numbers():
    generator = curandom.XORWOWRandomNumberGenerator(seeds)
    bits = generator.gen_uniform(N, np.uint32).get()
    assert bits.max() > 0.99 * 2**32 and np.unique(bits).size > 0.99 * N
    counts = generator.gen_poisson(N, np.uint32, 3.5).get()
    assert counts.dtype == np.uint32 and abs(counts.mean() - 3.5) < 0.1
    means = gpuarray.to_gpu(np.repeat([1.0, 50.0], N // 2))
    generator.fill_poisson(means)
    drawn = means.get().reshape(2, -1).mean(axis=1)
    np.testing.assert_allclose(drawn, [1, 50], rtol=0.05)


@pytest.mark.parametrize("kind", GENERATORS)
def test_the_same_seeds_give_the_same_numbers(kind):
    first, second = (kind(seeds).gen_uniform(100, np.float32).get() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (kind(seeds, offset=7).gen_uniform(100, np.float32).get() != first).any()
    assert (kind().gen_uniform(100, np.float32).get() != first).any()
    skipping = kind(seeds)
    skipping.call_skip_ahead(3)
    assert (skipping.gen_uniform(100, np.float32).get() != first).any()
    far = kind(seeds)
    far.call_skip_ahead_sequence(2)
    assert (far.gen_uniform(100, np.float32).get() != first).any()


QUASIRANDOM = [
    curandom.Sobol32RandomNumberGenerator,
    curandom.Sobol64RandomNumberGenerator,
    curandom.ScrambledSobol32RandomNumberGenerator,
    curandom.ScrambledSobol64RandomNumberGenerator,
]


@pytest.mark.parametrize("kind", QUASIRANDOM)
def test_quasirandom_numbers_fill_their_ranges_evenly(kind):
    assert curandom.get_curand_version() >= (5, 0, 0)
    generator, count = kind(), kind.generators_per_block
    # A power of two of points has one number of each dimension in each of as many intervals.
    points = generator.gen_uniform((64, count), np.float64).get()
    assert (np.sort(np.floor(points * 64), axis=0) == np.arange(64)[:, None]).all()
    assert points.min() > 0 and points.max() < 1
    following = generator.gen_uniform((64, count), np.float64).get()
    assert (np.sort(np.floor(following * 64), axis=0) == np.arange(64)[:, None]).all()
    assert (following != points).any(axis=0).all()


@pytest.mark.parametrize("kind", QUASIRANDOM)
def test_quasirandom_numbers_have_their_distributions(kind):
    generator = kind(offset=1)
    normal = generator.gen_normal(N, np.float32).get()
    assert abs(normal.mean()) < 0.01 and abs(normal.std() - 1) < 0.05
    logarithms = np.log(generator.gen_log_normal(N + 1, np.float64, 2.0, 0.5).get())
    assert abs(logarithms.mean() - 2) < 0.01 and abs(logarithms.std() - 0.5) < 0.03
    counts = generator.gen_poisson(N, np.uint32, 3.5).get()
    assert abs(counts.mean() - 3.5) < 0.05 and abs(counts.var() - 3.5) < 0.3
    bits = generator.gen_uniform(N, np.uint32).get()
    assert abs(bits.mean() / 2**32 - 0.5) < 0.01 and bits.max() > 0.99 * 2**32
    assert (generator.gen_uniform(N, np.int32).get() < 0).mean() == pytest.approx(0.5, abs=0.02)


def test_sobols_sequence_has_its_order():
    generator = curandom.Sobol32RandomNumberGenerator()
    first = generator.gen_uniform((4, generator.generators_per_block), np.float32).get()
    np.testing.assert_allclose(first[:, 0], [0, 0.5, 0.75, 0.25], atol=2**-31)
    later = curandom.Sobol32RandomNumberGenerator(offset=1)
    later.call_skip_ahead_array(gpuarray.to_gpu(np.ones(256, np.uint32)))
    np.testing.assert_array_equal(
        later.gen_uniform(generator.generators_per_block, np.float32).get(), first[2]
    )


def test_what_a_generator_cannot_do_is_said():
    generator = curandom.XORWOWRandomNumberGenerator(curandom.seed_getter_uniform)
    with pytest.raises(NotImplementedError, match="fill_normal takes an array of float32, float64"):
        generator.gen_normal(4, np.int32)
    with pytest.raises(TypeError, match="seed_getter must return a GPUArray of int32"):
        curandom.XORWOWRandomNumberGenerator(lambda n: np.zeros(n, np.int32))
    with pytest.raises(NotImplementedError, match="dir_vector is a table of cuRAND"):
        curandom.Sobol32RandomNumberGenerator(seeds(32))
    with pytest.raises(NotImplementedError, match="scramble_vector is a table of cuRAND"):
        curandom.ScrambledSobol64RandomNumberGenerator(None, seeds(64))
    with pytest.raises(NotImplementedError, match="make a generator without them"):
        curandom.generate_direction_vectors(32)
    with pytest.raises(NotImplementedError, match="fill_uniform takes an array of float32"):
        curandom.Sobol32RandomNumberGenerator().gen_uniform(4, np.uint64)
    with pytest.raises(AttributeError, match="no attribute 'Sobel'"):
        _ = curandom.Sobel
    assert np.unique(curandom.seed_getter_uniform(9).get()).size == 1
    assert np.unique(curandom.seed_getter_unique(9).get()).size > 1


# ---- kernels ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint32, np.int64, np.int16])
@pytest.mark.parametrize("what", ["min", "max"])
def test_smallest_and_largest(what, dtype):
    values = np.random.default_rng(3).integers(0, 9_000, 5_000).astype(dtype)
    values[:2] = 11, 8_000
    if np.dtype(dtype).kind != "u":
        values -= np.array(4_000, dtype)
    array = gpuarray.to_gpu(values)
    kernel = reduction.get_minmax_kernel(what, np.dtype(dtype))
    assert kernel(array).get() == getattr(values, what)()
    one = gpuarray.to_gpu(values[:1])
    assert kernel(one).get() == values[0]
    picks = np.array([4, 70, 12], np.int32)
    subset = reduction.get_subset_minmax_kernel(what, np.dtype(dtype), np.dtype(np.int32))
    assert subset(gpuarray.to_gpu(picks), array).get() == getattr(values[picks], what)()


def test_other_reductions():
    values, picks = np.arange(10, dtype=np.float32), np.array([2, 3, 7], np.int32)
    x, table = gpuarray.to_gpu(values), gpuarray.to_gpu(picks)
    f4, i4, truth = np.dtype(np.float32), np.dtype(np.int32), np.dtype(bool)
    assert (
        reduction.get_any_kernel(truth, f4)(x).get()
        and not reduction.get_all_kernel(truth, f4)(x).get()
    )
    assert not reduction.get_any_kernel(truth, f4)(gpuarray.zeros(4, f4)).get()
    assert reduction.get_subset_sum_kernel(None, i4, f4)(table, x).get() == 12
    assert reduction.get_subset_dot_kernel(None, i4, f4)(table, x, x).get() == 4 + 9 + 49
    assert reduction.get_subset_dot_kernel(f4, i4, f4, f4)(table, x, x).get() == 62
    with pytest.raises(ValueError, match='"min" or "max"'):
        reduction.get_minmax_kernel("mean", f4)
    with pytest.raises(TypeError, match="not supported"):
        reduction.get_minmax_kernel("min", np.dtype(np.complex64))


def test_a_linear_combination():
    x, y = (gpuarray.to_gpu(np.arange(1_000, dtype=np.float32) * k) for k in (1, 3))
    z = gpuarray.empty_like(x)
    f4 = np.dtype(np.float32)
    kernel, textures = elementwise.get_linear_combination_kernel(
        ((False, f4, f4), (False, f4, f4)), f4
    )
    assert textures == []
    kernel.prepared_call(x._grid, x._block, 5, x.gpudata, -2, y.gpudata, z.gpudata, x.mem_size)
    np.testing.assert_array_equal(z.get(), -np.arange(1_000))
    with pytest.raises(NotImplementedError, match="texture"):
        elementwise.get_linear_combination_kernel(((True, f4, f4),), f4)


F4, F8, I4, C8 = map(np.dtype, (np.float32, np.float64, np.int32, np.complex64))
X, Y = np.array([1.5, -2.5, 4, 3]), np.array([2, 3, -1, 3])
OPERATIONS = {
    "copy": (lambda: elementwise.get_copy_kernel(F8, I4), ["out", Y], F8, Y),
    "fill": (lambda: elementwise.get_fill_kernel(F4), [3.5, "out"], F4, [3.5] * 4),
    "reverse": (lambda: elementwise.get_reverse_kernel(F8), [X, "out"], F8, X[::-1]),
    "arange": (lambda: elementwise.get_arange_kernel(F4), ["out", 2, 3], F4, [2, 5, 8, 11]),
    "axpbz": (lambda: elementwise.get_axpbz_kernel(F8, F8), [2, X, 1, "out"], F8, 2 * X + 1),
    "rdivide": (lambda: elementwise.get_rdivide_elwise_kernel(F8, F8), [X, 3, "out"], F8, 3 / X),
    "a scalar": (
        lambda: elementwise.get_scalar_op_kernel(F8, F8, F8, "-"), [X, 3, "out"], F8, X - 3,
    ),
    "a function": (
        lambda: elementwise.get_binary_func_kernel("fmax", F8, I4, F8), [X, Y, "out"], F8,
        np.maximum(X, Y),
    ),
    "minimum": (
        lambda: elementwise.get_binary_minmax_kernel("min", F8, F8, F8, use_scalar=True),
        [X, 2, "out"], F8, np.minimum(X, 2),
    ),
    "real": (lambda: elementwise.get_real_kernel(C8, F4), [Y + 2j, "out"], F4, Y),
    "imag": (lambda: elementwise.get_imag_kernel(C8, F4), [Y + 2j, "out"], F4, [2] * 4),
    "conj": (lambda: elementwise.get_conj_kernel(C8, C8), [Y + 2j, "out"], C8, Y - 2j),
    "if_positive": (
        lambda: elementwise.get_if_positive_kernel(I4, F8), [Y, X, -X, "out"], F8,
        np.where(Y > 0, X, -X),
    ),
    "where": (
        lambda: elementwise.get_where_kernel(I4, F8), [Y - 3, X, -X, "out"], F8,
        np.where(Y != 3, X, -X),
    ),
    "logical_not": (
        lambda: elementwise.get_logical_not_kernel(I4, np.dtype(bool)), [Y - 3, "out"],
        np.dtype(bool), Y == 3,
    ),
    "unary": (lambda: elementwise.get_unary_func_kernel("fabs", F8), [X, "out"], F8, abs(X)),
    "an operator": (
        lambda: elementwise.get_binary_op_kernel(I4, F8, F8, "/"), [Y, X, "out"], F8, Y / X,
    ),
    "a complex product": (
        lambda: elementwise.get_binary_op_kernel(I4, C8, C8, "*"), [Y, Y + 2j, "out"], C8,
        Y * (Y + 2j),
    ),
    "axpbyz": (
        lambda: elementwise.get_axpbyz_kernel(F8, I4, F8, y_is_scalar=True),
        [2, X, 3, Y, "out"], F8, 2 * X + 3 * Y[0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_kernel_of_an_operation(name):
    make, given, dtype, expected = OPERATIONS[name]
    out = gpuarray.empty(4, dtype)
    kinds = {"i": np.int32, "c": np.complex64}
    arrays = [
        gpuarray.to_gpu(np.asarray(one, kinds.get(one.dtype.kind, one.dtype)))
        if isinstance(one, np.ndarray)
        else out if one == "out" else one
        for one in given
    ]  # fmt: skip
    values = [one.gpudata if isinstance(one, gpuarray.GPUArray) else one for one in arrays]
    make().prepared_call(out._grid, out._block, *values, out.mem_size)
    np.testing.assert_allclose(out.get(), expected, rtol=1e-6)
    assert make() is make()


def test_the_kernels_of_functions_of_floats():
    x, y, z = (gpuarray.to_gpu(np.array([5.5, -3], np.float32)) for _ in range(3))
    call = x._grid, x._block, x.gpudata, y.gpudata, z.gpudata, x.mem_size
    y.fill(2)
    elementwise.get_fmod_kernel().prepared_call(*call)
    np.testing.assert_array_equal(z.get(), [1.5, -1])
    elementwise.get_ldexp_kernel().prepared_call(*call)
    np.testing.assert_array_equal(z.get(), [22, -12])
    elementwise.get_modf_kernel().prepared_call(*call)
    np.testing.assert_array_equal([y.get(), z.get()], [[5, -3], [0.5, 0]])
    elementwise.get_frexp_kernel().prepared_call(*call)
    np.testing.assert_array_equal([y.get(), z.get()], [[0.6875, -0.75], [3, 2]])


def test_a_plain_compilation_is_an_image():
    source = 'extern "C" __global__ void k(float* y) { y[threadIdx.x] = N; }'
    image = compiler.compile_plain(source, ["-DN=3"], False, "nvcc", None)
    y = gpuarray.empty(4, np.float32)
    cuda.module_from_buffer(image).get_function("k")(y, block=(4, 1, 1))
    np.testing.assert_array_equal(y.get(), 3)


def test_a_source_is_preprocessed_as_it_is(tmp_path):
    (tmp_path / "square.cuh").write_text("__device__ int square(int a) { return a * a * SIDES; }\n")
    source = '#include "square.cuh"\n#define TWICE(a) (2 * (a))\nint y = TWICE(N); // why\n'
    text = compiler.preprocess_source(source, ["-DN=3", "-DSIDES=4", f"-I{tmp_path}"], "nvcc")
    lines = text.strip().splitlines()
    assert "int square(int a) { return a * a * 4; }" in text
    assert lines[-1] == "int y = (2 * (3));" and "#define" not in text and "# 1" not in text
    with pytest.raises(cuda.CompileError, match=r"kernel.cu:2|kernel.cu\(2\)") as error:
        compiler.preprocess_source("int a;\n#error wrong\n", [], "nvcc")
    assert "wrong" in error.value.stderr


# ---- host memory in the device ----

TWICE = (
    """__global__ void twice(float* y, const float* x) { y[threadIdx.x] = 2 * x[threadIdx.x]; }"""
)


def test_registered_memory_is_mapped_into_the_device():
    twice = compiler.SourceModule(TWICE).get_function("twice")
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    flags = cuda.mem_host_register_flags.DEVICEMAP
    there = [cuda.register_host_memory(a, flags=flags) for a in (y, x)]
    pointers = [np.intp(a.base.get_device_pointer()) for a in there]
    twice(*pointers, block=(8, 1, 1))
    cuda.Context.synchronize()
    np.testing.assert_array_equal(y, 2 * x)
    x[:] = 7
    twice(*pointers, block=(8, 1, 1))
    cuda.Context.synchronize()
    np.testing.assert_array_equal(y, 14)
    with pytest.raises((cuda.LaunchError, cuda.LogicError), match=r"out-of-bounds|outside|bytes"):
        twice(*pointers, block=(9, 1, 1))
    for array in there:
        array.base.unregister()
    with pytest.raises((cuda.LaunchError, cuda.LogicError)):
        twice(*pointers, block=(8, 1, 1))
    np.testing.assert_array_equal(y, 14)


def test_memory_is_mapped_once_and_only_where_asked_for():
    x = np.zeros(8, np.float32)
    plain = cuda.register_host_memory(x)
    with pytest.raises(cuda.LogicError, match=r"mem_host_register_flags\.DEVICEMAP"):
        plain.base.get_device_pointer()
    plain.base.unregister()
    flags = cuda.mem_host_register_flags.DEVICEMAP
    mapped = cuda.register_host_memory(x, flags)
    with pytest.raises(cuda.LogicError, match="device memory already"):
        cuda.register_host_memory(x[2:], flags)
    del mapped
    cuda.register_host_memory(x, flags).base.unregister()


def test_attributes_of_pointers_have_cudas_numbers():
    names = [name for name in dir(cuda.pointer_attribute) if name.isupper()]
    assert sorted(names) == ["CONTEXT", "DEVICE_POINTER", "HOST_POINTER", "MEMORY_TYPE"]
    assert (cuda.pointer_attribute.HOST_POINTER, cuda.memory_type.UNIFIED) == (4, 4)
