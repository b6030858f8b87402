"""What several test modules share: the runners of a plan, and nvcc."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import checking, device, kernels, launch, reference, simulator
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.programs import Program

ROOT = Path(__file__).resolve().parents[1]
GUARD = 64  # cells of NaN on either side of an output on a GPU, which must stay NaN


def _begun(plan: launch.Plan, output: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The output of a plan before its launches: NaN, unless it is among the arrays."""
    if output in arrays:
        return arrays[output]
    like = next(array for one in plan for array in one.arrays if array.name == output)
    return np.full(like.shape, np.nan, like.dtype)


def simulated(
    plan: launch.Plan,
    output: str,
    arrays: Mapping[str, np.ndarray],
    entry: Callable[..., Any] = simulator.check,
    instead: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[Any, ...]:
    """Run a plan in the simulator; return its output, and what `entry` returned for each launch.

    instead: another (name, source) for a kernel.
    """
    made = {**arrays, output: _begun(plan, output, arrays)}
    found = launch.simulate(launch.replaced(plan, instead), made, entry)
    return made[output], *found


def in_simulator(plan: launch.Plan, output: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The output of a plan by the simulator; fails on any finding."""
    made, *found = simulated(plan, output, arrays)
    said = [str(finding) for findings in found for finding in findings]
    assert not said, "\n".join(said)
    return made


def on_gpu(plan: launch.Plan, output: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The output of a plan by PyCUDA; fails if cells beside it are written."""
    selected = device.select()
    if selected.kind != "gpu":
        pytest.skip(f"no GPU: {selected.why}")
    import pycuda.driver as cuda

    begun = _begun(plan, output, arrays)
    edge = np.full(GUARD, np.nan, begun.dtype)
    guarded = np.concatenate([edge, begun.ravel(), edge])
    there = {name: cuda.to_device(array) for name, array in arrays.items() if name != output}
    outputs = cuda.to_device(guarded)
    with Program(plan) as program:
        program.launch({**there, output: int(outputs) + edge.nbytes})
        cuda.memcpy_dtoh(guarded, outputs)
    names = ", ".join(one.name for one in plan)
    assert np.isnan(guarded[:GUARD]).all(), f"{names} wrote before {output}"
    assert np.isnan(guarded[-GUARD:]).all(), f"{names} wrote behind {output}"
    return guarded[GUARD:-GUARD].reshape(begun.shape)


def layer_problem(shape: ConvShape, size: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Random x and filter of a layer: float32, x from -1 to 1, the filter up to `size`."""
    rng = np.random.default_rng([shape.B, shape.C, shape.M, shape.H, shape.W, shape.K])
    x, filter = (
        rng.uniform(-1, 1, array).astype(np.float32)
        for array in (shape.x_shape, shape.filter_shape)
    )
    return x, filter * np.float32(size)


def run_layer(spec: Any, x: np.ndarray, filter: np.ndarray, stride: int = 1) -> np.ndarray:
    """y of a layer's kernel in the simulator; fails on any finding."""
    return layer_by(in_simulator, spec, x, filter, stride)


def layer_by(
    run: Callable[..., np.ndarray], spec: Any, x: np.ndarray, filter: np.ndarray, stride: int = 1
) -> np.ndarray:
    """y of a layer's kernel by one of the runners."""
    shape = conv2d.shape_for(x, filter, stride)
    spec.require(shape)
    return run(spec.plan(shape), "y", {"x": x, "filter": filter})


def require_halves(
    spec: Any, y: np.ndarray, x: np.ndarray, filter: np.ndarray, stride: int = 1
) -> None:
    """y, float16, is the layer of x rounded to float16, within a kernel's precision."""
    rounded = spec.precision.rounded(filter)
    want = reference.conv2d(x.astype(np.float16).astype(np.float32), rounded, stride)
    atol = spec.precision.sum_atol(x, filter)
    checking.check(y.astype(np.float32), want, rtol=2.0**-11, atol=atol, name=spec.name)


def changed_kernel(monkeypatch: pytest.MonkeyPatch, name: str, right: str, wrong: str) -> None:
    """Let a kernel of kernels/ be a wrong one, with another text in place of the right one."""
    original = kernels.source
    assert right in original(name)

    def source(of: str) -> str:
        return original(of).replace(right, wrong) if of == name else original(of)

    monkeypatch.setattr(kernels, "source", source)


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH")


def nvcc(kernel: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Compile a kernel of kernels/ to machine code in a folder."""
    command = ["nvcc", "-cubin", *options, "-o", str(folder / "out.cubin")]
    return subprocess.run(
        [*command, str(kernels.path(kernel))], capture_output=True, text=True, check=False
    )


def require_lean(kernel: str, folder: Path, options: Iterable[str]) -> None:
    """nvcc spills no registers of a kernel with products of warpgroups, and serializes none."""
    done = nvcc(kernel, folder, "-Xptxas", "-v", *options)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "warning" not in said
    assert "serialized" not in said  # ptxas then waits for each product
    spilled = re.search(r"(\d+) bytes spill loads", said)
    assert spilled and spilled[1] == "0", said
