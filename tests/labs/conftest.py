"""Fixtures for the tests of the labs: in a browser, and in IPython."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers import device
from tests.labs.browser import page, server

__all__ = ["page", "server"]


@pytest.fixture
def shell(monkeypatch):
    """IPython with the magic `%%kernel`, in the simulator."""
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    if device.selected() is None:
        device.select()
    shell = InteractiveShell()
    shell.run_cell("%load_ext helpers")
    yield shell
    shell.history_manager.end_session()
