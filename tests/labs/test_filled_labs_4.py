"""A share of the labs, run with every gap filled by its solution; see filled.py."""

import pytest

from tests.labs import filled

pytestmark = pytest.mark.long


@filled.share(4)
def test_a_lab_runs_with_its_solutions(path, tmp_path):
    assert filled.faults(path, tmp_path) == []
