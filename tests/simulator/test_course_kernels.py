"""The faults of `course_kernels` are found, each as one finding that names its cause and its line;
its right kernels have none.
"""

from __future__ import annotations

import re

import course_kernels
import numpy as np
import pytest

from helpers import simulator

pytestmark = pytest.mark.long


def by_name(case: course_kernels.Course) -> str:
    return case.name


def findings(case: course_kernels.Course) -> tuple[simulator.Finding, ...]:
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments]
    grid, block = (
        (extent,) if isinstance(extent, int) else extent for extent in (case.grid, case.block)
    )
    launched = simulator.profile(
        case.source, "k", *arguments, grid=grid, block=block, shared=case.shared
    )
    return launched.findings


@pytest.mark.parametrize("case", course_kernels.FAULTS, ids=by_name)
def test_a_fault_is_one_finding_with_its_cause(case):
    found = findings(case)
    assert len(found) == 1, "\n".join(map(str, found)) or "no finding"
    (finding,) = found
    assert re.search(case.kind, finding.kind), str(finding)
    assert re.search(case.cause, f"{finding.message} {finding.cause}"), str(finding)
    assert finding.line in case.lines, str(finding)


@pytest.mark.parametrize("case", course_kernels.RIGHT, ids=by_name)
def test_a_right_kernel_has_no_finding(case):
    assert findings(case) == ()
