"""One description of a launch: its arrays, its scratch memory, and the same results by both
runners.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import kernels, launch, programs, simulator
from helpers.launch import Array, Launch, LaunchError, Prepared, Scratch
from helpers.limits import ConvShape
from helpers.problems import conv2d, fft, fft_conv1d
from helpers.problems.conv2d import register_tiled
from helpers.programs import Program

SHAPE = ConvShape(B=5, C=2, M=4, H=10, W=12, K=3)
SPECS = (
    *conv2d.CONV2D,
    *conv2d.REDUCED,
    replace(conv2d.conv2d_named("im2col_gemm"), images=2),
)

# y = a x + b, where b is what `shift` holds; and z = 2 y.
LINE = """
__constant__ float shift[4];
extern "C" __global__ void line(float* y, const float* x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + shift[i % 4];
}
"""
TWICE = """
extern "C" __global__ void twice(float* z, const float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] += 2 * y[i];
}
"""
X = np.arange(8, dtype=np.float32)
SHIFT = np.array([10, 20, 30, 40], np.float32)
WANT = 2 * (3 * X + np.tile(SHIFT, 2))


def two_launches(shift=None) -> launch.Plan:
    """z = 2 (3 x + shift), y is scratch memory."""
    y = Scratch("y", (8,))
    held = {"shift": Array("shift", (4,)) if shift is None else shift}
    first = (y, Array("x", (8,)), np.float32(3), np.int32(8))
    second = (Array("z", (8,), zeroed=True), y, np.int32(8))
    return (
        Launch(LINE, "line", (), (1, 1, 1), (32, 1, 1), constants=held, arguments=first),
        Launch(TWICE, "twice", (), (1, 1, 1), (32, 1, 1), arguments=second),
    )


def in_simulator(plan: launch.Plan, **arrays: np.ndarray) -> np.ndarray:
    z = np.full(8, np.nan, np.float32)
    findings = launch.simulate(plan, {"z": z, **arrays}, simulator.check)
    assert findings == ((),) * len(plan)
    return z


def on_device(cuda, program: Program, only=None, **arrays) -> np.ndarray:
    z, there = np.empty(8, np.float32), cuda.to_device(np.full(8, np.nan, np.float32))
    program.launch({"z": there, **arrays}, only=only)
    cuda.memcpy_dtoh(z, there)
    return z


# --------------------------------------------------------------------------------------------------
# Both runners


def test_both_runners_make_the_same_of_a_plan(cuda):
    plan = two_launches()
    assert (in_simulator(plan, x=X, shift=SHIFT) == WANT).all()
    with Program(plan) as program:
        x, shift = map(cuda.to_device, (X, SHIFT))
        assert (on_device(cuda, program, x=x, shift=shift) == WANT).all()
        assert (on_device(cuda, program, x=x, shift=SHIFT) == WANT).all()  # from the host


def test_what_the_host_prepares_is_prepared_for_both(cuda):
    backwards = Prepared(Array("shift", (4,)), lambda values: values[::-1])
    plan, want = two_launches(backwards), 2 * (3 * X + np.tile(SHIFT[::-1], 2))
    assert (in_simulator(plan, x=X, shift=SHIFT) == want).all()
    with Program(plan) as program:
        x = cuda.to_device(X)
        assert (on_device(cuda, program, x=x, shift=SHIFT) == want).all()


def test_a_table_is_part_of_the_plan(cuda):
    plan = two_launches(SHIFT)
    assert (in_simulator(plan, x=X) == WANT).all()
    with Program(plan) as program:
        assert (on_device(cuda, program, x=cuda.to_device(X)) == WANT).all()


def test_another_source_takes_a_place_in_the_plan(cuda):
    thrice = TWICE.replace("2 *", "3 *").replace("twice", "thrice")
    plan = launch.replaced(two_launches(), {"twice": ("thrice", thrice)})
    assert [one.name for one in plan] == ["line", "thrice"]
    assert (in_simulator(plan, x=X, shift=SHIFT) == 1.5 * WANT).all()
    with Program(plan) as program:
        assert (on_device(cuda, program, x=cuda.to_device(X), shift=SHIFT) == 1.5 * WANT).all()


def test_other_names_for_the_arrays():
    plan = launch.renamed(two_launches(), {"x": "cells", "shift": "bias"})
    assert [array.name for one in plan for array in one.arrays] == ["cells", "bias", "z"]
    assert (in_simulator(plan, cells=X, bias=SHIFT) == WANT).all()


def test_one_kernel_of_a_plan_alone(cuda):
    with Program(two_launches()) as program:
        x = cuda.to_device(X)
        on_device(cuda, program, x=x, shift=SHIFT)
        again = on_device(cuda, program, only=["twice"])  # of the y that is there
        assert (again == WANT).all()


def test_new_values_at_the_same_place_want_an_upload(cuda):
    with Program(two_launches()) as program:
        x, shift = map(cuda.to_device, (X, SHIFT))
        on_device(cuda, program, x=x, shift=shift)
        cuda.memcpy_htod(shift, SHIFT + 1)
        assert (on_device(cuda, program, x=x, shift=shift) == WANT).all()
        program.upload({"shift": shift})
        assert (on_device(cuda, program, x=x, shift=shift) == WANT + 2).all()


def test_a_run_on_the_device_takes_and_gives_arrays_of_the_host(cuda):
    arrays = {"z": np.full(8, np.nan, np.float32), "x": X, "shift": SHIFT}
    with programs.DeviceRun(two_launches(), arrays) as run:
        run.launch()
        run.launch()  # on the same arrays
        np.testing.assert_array_equal(run.read("z")["z"], WANT)
    assert np.isnan(arrays["z"]).all()


def test_images_take_the_place_of_a_compiler(cuda):
    from pycuda import compiler

    plan, arrays = two_launches(SHIFT), {"z": np.zeros(8, np.float32), "x": X}
    images = {
        (one.source, one.options): compiler.compile(one.source, no_extern_c=True) for one in plan
    }
    modules = programs.Modules(cuda, programs.Images(images))
    with programs.DeviceRun(plan, arrays, modules) as run:
        run.launch()
        np.testing.assert_array_equal(run.read("z")["z"], WANT)
    with pytest.raises(KeyError, match="line"):
        programs.Program(plan, programs.Modules(cuda, programs.Images({})))


def test_programs_that_share_modules_share_their_constants(cuda):
    plan = two_launches()
    modules = programs.Modules()
    with Program(plan, modules) as one, Program(plan, modules) as other:
        x = cuda.to_device(X)
        one.upload({"shift": SHIFT})
        assert (on_device(cuda, other, x=x) == WANT).all()


# --------------------------------------------------------------------------------------------------
# Refusals


def test_a_missing_array_is_named(cuda):
    with pytest.raises(LaunchError, match="line needs the array 'x'; it was given z, shift"):
        in_simulator(two_launches(), shift=SHIFT)
    with Program(two_launches()) as program:
        with pytest.raises(LaunchError, match="give the array 'shift'"):
            on_device(cuda, program, x=cuda.to_device(X))
        with pytest.raises(LaunchError, match="needs the array 'x'"):
            on_device(cuda, program, shift=SHIFT)


def test_an_array_of_another_kind_is_refused(cuda):
    with pytest.raises(TypeError, match="x is float64"):
        in_simulator(two_launches(), x=X.astype(np.float64), shift=SHIFT)
    with pytest.raises(ValueError, match=r"shift has shape \(3,\)"):
        in_simulator(two_launches(), x=X, shift=SHIFT[:3].copy())
    with Program(two_launches()) as program, pytest.raises(ValueError, match="shift has shape"):
        on_device(cuda, program, x=cuda.to_device(X), shift=SHIFT[:3].copy())


def test_a_kernel_that_is_not_in_the_plan(cuda):
    with Program(two_launches()) as program:
        assert program.kernel("line").function.num_regs > 0
        with pytest.raises(LaunchError, match="no launch of thrice; the plan has line, twice"):
            program.kernel("thrice")


def test_a_program_gives_its_memory_back(cuda):
    free = cuda.mem_get_info()[0]
    with Program(two_launches()):
        assert cuda.mem_get_info()[0] < free
    assert cuda.mem_get_info()[0] == free


# --------------------------------------------------------------------------------------------------
# The plans of the problems


@pytest.mark.parametrize(
    "spec", SPECS, ids=lambda spec: f"{spec.name}-{getattr(spec, 'images', '')}"
)
def test_the_scratch_memory_of_a_layer_is_that_of_its_plan(spec):
    plan = spec.plan(SHAPE)
    assert launch.scratch_bytes(plan) == spec.scratch(SHAPE)
    assert {one.name for one in plan} == set(spec.sources)
    assert all(one.source == kernels.source(one.name) for one in plan)


def test_parts_of_a_batch_take_their_own_entries():
    plan = replace(conv2d.conv2d_named("im2col_gemm"), images=2).plan(SHAPE)
    entries = [array.entries for one in plan for array in one.arrays if array.name == "x"]
    assert entries == [(0, 2), (2, 4), (4, 5)]
    offsets = [array.offset for one in plan for array in one.arrays if array.name == "y"]
    assert offsets == [4 * first * 4 * 8 * 10 for first in (0, 2, 4)]


def test_the_sizes_of_a_register_tiled_layer_are_chosen_once_for_a_plan(monkeypatch):
    chosen, fit = [], register_tiled._fit
    monkeypatch.setattr(register_tiled, "_fit", lambda *how: chosen.append(how) or fit(*how))
    conv2d.conv2d_named("conv2d_register_tiled").plan(SHAPE)
    assert len(chosen) == 1


def test_transforms_are_planned_with_what_they_are_made_of():
    spec, filter = fft_conv1d.OverlapAdd(8), np.ones(31, np.float32)
    transform, convolution = spec.plan(1000, 31)
    assert (transform.name, convolution.name) == (fft.TRANSFORM, spec.name)
    arguments, _ = launch.bound(transform, {"filter": filter})
    assert (arguments[1] == spec.prepared(filter)).all()
