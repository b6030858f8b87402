"""Fixtures for the tests of helpers."""

from __future__ import annotations

import pytest

from helpers import device


@pytest.fixture
def cuda(monkeypatch):
    """PyCUDA's driver module, in the simulator."""
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    device.select()
    import pycuda.driver

    return pycuda.driver
