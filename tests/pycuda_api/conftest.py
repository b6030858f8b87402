"""Fixtures for the tests of PyCUDA's surface."""

from __future__ import annotations

import pytest

from helpers.simulator import pycuda_api


@pytest.fixture(autouse=True)
def forget_findings() -> None:
    """Let each test begin without the findings of the launches before."""
    pycuda_api.findings(clear=True)
