"""What several test modules share: wrong kernels as patches on the kernels as they stand, and
nvcc.
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

from helpers import checking, kernels, launch, simulator

ROOT = Path(__file__).resolve().parents[1]
MUTANTS = ROOT / "tests" / "kernels" / "mutants"


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


def simulated(
    plan: launch.Plan,
    output: str,
    arrays: Mapping[str, np.ndarray],
    entry: Callable[..., Any] = simulator.check,
    instead: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[Any, ...]:
    """Run a plan in the simulator; return its output, and what `entry` returned for each launch.

    The output begins as NaN, unless it is among the arrays. instead: another (name, source) for a
    kernel.
    """
    (like,) = {array for one in plan for array in one.arrays if array.name == output}
    made = {output: np.full(like.shape, np.nan, like.dtype), **arrays}
    found = launch.simulate(launch.replaced(plan, instead), made, entry)
    return made[output], *found


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH")


def nvcc(kernel: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Compile a kernel of kernels/ to machine code in a folder."""
    command = ["nvcc", "-cubin", *options, "-o", str(folder / "out.cubin")]
    return subprocess.run(
        [*command, str(kernels.path(kernel))], capture_output=True, text=True, check=False
    )
