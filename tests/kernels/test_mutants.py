"""Wrong kernels must be rejected, and for the right reason: a checker that passes one of them is the bug.

Each file in tests/mutants/ says in its header what is wrong, and on its line "Message" what must name it:
"check: KIND" for a diagnosis of checking.check, "simulator: KIND, array NAME" for a finding of the simulator.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from helpers import checking, limits, reference, simulator
from helpers.problems import conv2d
from helpers.problems.conv1d import conv1d_atol, conv1d_named

FOLDER = Path(__file__).resolve().parents[1] / "mutants"
BLOCK = 64
N_CELLS = 3 * BLOCK + 5  # four blocks, the last one partial, and no multiple of 4
WIDTH = 5


@dataclass(frozen=True)
class Mutant:
    """One wrong kernel: its source, the kernel it was made from, and who must reject it for what."""

    name: str
    source: str
    original: str
    judge: str
    kind: str
    detail: str

    @classmethod
    def read(cls, file: Path) -> "Mutant":
        source = file.read_text(encoding="utf-8")
        original = re.search(r"^// Mutant of  (\w+) \(lab \d\d\)$", source, re.MULTILINE)
        message = re.search(r"^// Message    (check|simulator): ([\w -]+?)(?:, array ([\w|]+)| \((.+)\))?$", source, re.M)
        assert original and message, f"{file.name}: the header lacks its line 'Mutant of' or 'Message'"
        judge, kind, array, text = message.groups()
        return cls(file.stem, source, original[1], judge, kind, array or text or "")


MUTANTS = [Mutant.read(file) for file in sorted(FOLDER.glob("*.cu"))]
CONV1D = [mutant for mutant in MUTANTS if mutant.name.startswith("conv1d")]
LAYER = [mutant for mutant in MUTANTS if mutant.name.startswith(("conv2d", "im2col", "gemm", "to_half"))]
LAYER = [mutant for mutant in LAYER if not mutant.name.startswith("conv2d_mma_")]
AXPY = [mutant for mutant in MUTANTS if mutant.name.startswith("axpy")]
FFT = [mutant for mutant in MUTANTS if mutant.name.startswith("fft")]  # test_fft.py runs these
LENET = [mutant for mutant in MUTANTS if mutant.name.startswith("lenet")]  # test_lenet.py runs these
MMA = [mutant for mutant in MUTANTS if mutant.name.startswith("conv2d_mma_")]  # test_fastest_layer.py runs these


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Random N and filter, float32; the filter is not symmetric."""
    rng = np.random.default_rng(7)
    return rng.uniform(-1, 1, N_CELLS).astype(np.float32), rng.uniform(0.2, 1, WIDTH).astype(np.float32)


def run_conv1d(mutant: Mutant) -> tuple[np.ndarray, tuple[simulator.Finding, ...]]:
    N, filter = problem()
    P = np.full_like(N, np.nan)
    constant = conv1d_named(mutant.original).filter_in == "constant"
    words = re.search(r"__constant__ float filter\[(.*?)\]", mutant.source)
    narrow = words is not None and "- 1" in words[1]
    findings = simulator.check(
        mutant.source,
        mutant.name,
        *((P, N, np.int32(N.size)) if constant else (P, N, filter, np.int32(N.size))),
        grid=(-(-N.size // BLOCK), 1),
        block=(BLOCK // 2 if "outputs" in mutant.name else BLOCK, 1, 1),
        options=[f"-DFILTER_WIDTH={WIDTH}"],
        constants={"filter": filter[:-1] if narrow else filter} if constant else {},
    )
    return P, findings


def require_named(mutant: Mutant, findings: tuple[simulator.Finding, ...]) -> None:
    """One of the findings has the kind and the array of the header, and its message tells where."""
    fitting = [f for f in findings if f.kind == mutant.kind and (not mutant.detail or f.array in mutant.detail.split("|"))]
    assert fitting, f"{mutant.name} must give {mutant.kind} {mutant.detail}, not:\n" + "\n".join(map(str, findings))
    first = fitting[0]
    assert first.file == f"{mutant.name}.cu"
    assert first.line > 0
    assert "thread (" in first.message
    if mutant.detail:
        assert re.search(rf"\b{first.array}\b", first.message)


@pytest.mark.parametrize("mutant", CONV1D, ids=lambda mutant: mutant.name)
def test_conv1d_mutants_are_rejected(mutant):
    N, filter = problem()
    P, findings = run_conv1d(mutant)
    if mutant.judge == "simulator":
        require_named(mutant, findings)
        return
    others = [f for f in findings if f.kind != "unwritten"]  # an output that is left out shows as a wrong result, too
    assert not others, "nothing but the result is wrong with it:\n" + "\n".join(map(str, others))
    suspects = {"the filter is flipped": reference.conv1d(N, filter[::-1])}
    with pytest.raises(checking.CheckError) as error:
        checking.check(P, reference.conv1d(N, filter), rtol=0.0, atol=conv1d_atol(N, filter), suspects=suspects)
    assert error.value.diagnosis.kind == mutant.kind, error.value
    assert mutant.detail in str(error.value)


LAYER_SHAPE = limits.ConvShape(B=2, C=3, M=5, H=21, W=26, K=3)  # 19 x 24 outputs: both rows and columns end in part of a tile


def layer_problem() -> tuple[np.ndarray, np.ndarray]:
    """Random x and filter, float32: no two images, channels, output maps, rows or columns are alike."""
    rng = np.random.default_rng(7)
    x, filter = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in (LAYER_SHAPE.x_shape, LAYER_SHAPE.filter_shape))
    return x, filter + np.float32(1.5)


def original_of(mutant: Mutant) -> conv2d.Conv2d:
    return next(spec for spec in (*conv2d.CONV2D, *conv2d.REDUCED) if mutant.original in spec.sources)


def run_layer(mutant: Mutant) -> tuple[np.ndarray, tuple[simulator.Finding, ...]]:
    """Run a mutant with the launch of its original; the other kernel of a pair is the right one."""
    x, filter = layer_problem()
    spec = original_of(mutant)
    more, instead = {}, {mutant.original: (mutant.name, mutant.source)}
    if re.search(r"__constant__ float filter\[.*- 1\]", mutant.source):
        more = {"constants": {"filter": filter.ravel()[:-1]}}
    y, launches = conv2d.simulate(spec, x, filter, entry=simulator.check, instead=instead, **more)
    return y, tuple(finding for findings in launches for finding in findings)


@pytest.mark.parametrize("mutant", LAYER, ids=lambda mutant: mutant.name)
def test_layer_mutants_are_rejected(mutant):
    y, findings = run_layer(mutant)
    if mutant.judge == "simulator":
        require_named(mutant, findings)
        return
    others = [f for f in findings if f.kind not in ("unwritten", "uninitialised")]  # these show as a wrong result, too
    assert not others, "nothing but the result is wrong with it:\n" + "\n".join(map(str, others))
    with pytest.raises(checking.CheckError) as error:
        conv2d.check(y, *layer_problem(), mutant.name, precision=original_of(mutant).precision)
    assert error.value.diagnosis.kind == mutant.kind, error.value
    assert mutant.detail in str(error.value)


@pytest.mark.parametrize("mutant", AXPY, ids=lambda mutant: mutant.name)
def test_axpy_mutants_are_rejected(mutant):
    x = np.arange(N_CELLS, dtype=np.float32)
    launch = {"grid": (4, 1), "block": (BLOCK, 1, 1)}
    findings = simulator.check(mutant.source, mutant.name, x.copy(), x, np.int32(x.size), np.float32(2), **launch)
    require_named(mutant, findings)


def test_there_are_mutants_for_each_lab_with_kernels():
    labs = {re.search(r"\(lab (\d\d)\)", mutant.source)[1] for mutant in MUTANTS}
    listed = (FOLDER.parents[1] / "kernels/README.md").read_text(encoding="utf-8")
    assert labs == set(re.findall(r"\(\.\./labs/(\d\d)_\w+\.ipynb\) \|$", listed, re.MULTILINE))
    assert len(MUTANTS) == len(AXPY) + len(CONV1D) + len(LAYER) + len(FFT) + len(MMA) + len(LENET)


def test_each_lab_of_the_layer_has_two_mutants():
    labs = Counter(re.search(r"\(lab (\d\d)\)", mutant.source)[1] for mutant in LAYER)
    assert labs and min(labs.values()) >= 2, labs


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_headers_say_that_they_are_wrong(mutant):
    first, *rest = mutant.source.splitlines()
    assert re.fullmatch(rf"// {mutant.name}\.cu -- WRONG ON PURPOSE: \S.*", first)
    assert any(line.startswith("// Wrong      ") for line in rest)
