"""What several test modules share: wrong kernels as patches on the kernels as they stand, the
runners of a plan, and nvcc.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whatthepatch

from helpers import checking, device, kernels, launch, reference, simulator
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.programs import Program
from tests import golden

ROOT = Path(__file__).resolve().parents[1]
MUTANTS = ROOT / "tests" / "kernels" / "mutants"
GUARD = 64  # cells of NaN on either side of an output on a GPU, which must stay NaN


@dataclass(frozen=True)
class Mutant:
    """One wrong kernel: its source, the kernel it is made from, and who must reject it for what.

    `judge` is "check" for a diagnosis of checking.check and "simulator" for one of its findings;
    `kind` is that of the diagnosis or finding, `detail` an array's name or a part of the message.
    """

    name: str
    source: str
    original: str
    lab: str
    judge: str
    kind: str
    detail: str

    @classmethod
    def read(cls, file: Path) -> Mutant:
        """A mutant from its patch, which names on its line "Mutant of" the kernel that it changes.

        Raises whatthepatch.exceptions.HunkApplyException where the patch does not fit the kernel.
        """
        text = file.read_text(encoding="utf-8")
        original = re.search(r"^Mutant of  (\w+) \(lab (\d+)\)$", text, re.MULTILINE)
        message = re.search(
            r"^Message    (check|simulator): ([\w -]+?)(?:, array ([\w|]+)| \((.+)\))?$", text, re.M
        )
        assert original and message, f"{file.name} lacks its line 'Mutant of' or 'Message'"
        (patch,) = whatthepatch.parse_patch(text[text.index("\n--- ") + 1 :])
        changed = whatthepatch.apply_diff(patch, kernels.source(original[1]))
        # The mutant has a name of its own: findings and errors then tell which one they are of.
        source = re.sub(rf"\b{original[1]}\b", file.stem, "\n".join(changed) + "\n")
        judge, kind, array, part = message.groups()
        return cls(file.stem, source, original[1], original[2], judge, kind, array or part or "")


def mutants(*prefixes: str) -> list[Mutant]:
    """The mutants whose names start with one of the prefixes, in the order of their names."""
    return [
        Mutant.read(file)
        for file in sorted(MUTANTS.glob("*.patch"))
        if file.stem.startswith(prefixes)
    ]


def require_named(mutant: Mutant, findings: tuple[simulator.Finding, ...]) -> None:
    """One of the findings has the mutant's kind and array, and its message tells where."""
    arrays = mutant.detail.split("|")
    fitting = [
        f for f in findings if f.kind == mutant.kind and (not mutant.detail or f.array in arrays)
    ]
    said = "\n".join(map(str, findings))
    golden.require("mutants", mutant.name, [golden.of_finding(one) for one in findings])
    assert fitting, f"{mutant.name} must give {mutant.kind} {mutant.detail}, not:\n{said}"
    first = fitting[0]
    assert first.file == f"{mutant.name}.cu"
    assert first.line > 0
    assert "thread (" in first.message
    if mutant.detail:
        assert re.search(rf"\b{first.array}\b", first.message)


def require_rejected(
    mutant: Mutant,
    findings: Iterable[simulator.Finding],
    check: Callable[[], object],
    beside: Sequence[str] = (),
) -> None:
    """The simulator names what is wrong with a mutant; or it finds nothing, and `check` fails with
    the mutant's diagnosis. beside: kinds of findings that come with a wrong result.
    """
    findings = tuple(findings)
    if mutant.judge == "simulator":
        require_named(mutant, findings)
        return
    others = [finding for finding in findings if finding.kind not in beside]
    assert not others, "nothing but the result is wrong with it:\n" + "\n".join(map(str, others))
    with pytest.raises(checking.CheckError) as error:
        check()
    assert error.value.diagnosis.kind == mutant.kind, error.value
    assert mutant.detail in str(error.value)
    golden.require("mutants", mutant.name, {"check": str(error.value)})


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
