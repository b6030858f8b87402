"""Fixtures and rules for all tests."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from helpers import device
from tests.labs.browser import browser
from tests.support import in_simulator, on_gpu

__all__ = ["browser"]  # one for all tests in a browser

# The first draw of a shape compiles something; time says nothing here.
settings.register_profile("labs", deadline=None)
settings.load_profile("labs")


@pytest.fixture
def gpu() -> device.Device:
    """The selected GPU; a test that asks for it is skipped without one."""
    selected = device.select()
    if selected.kind != "gpu":
        pytest.skip(f"no GPU: {selected.why}")
    return selected


@pytest.fixture(
    params=[
        pytest.param(in_simulator, id="simulator"),
        pytest.param(on_gpu, marks=pytest.mark.gpu, id="gpu"),
    ]
)
def run(request) -> Callable[..., np.ndarray]:
    """Both runners of a plan, one after the other: `run(plan, output, arrays)`."""
    return request.param


@pytest.fixture
def cuda(monkeypatch):
    """PyCUDA's driver module, in the simulator."""
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    device.select()
    import pycuda.driver

    return pycuda.driver


@pytest.fixture(autouse=True)
def no_figures_left() -> Iterator[None]:
    """Close the figures of a test: pyplot keeps each of them until then."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_collection(session):
    """Import a part of the modules first, and in each worker another part.

    pytest rewrites and compiles a new or changed module, and keeps the result in a file. Workers
    that import all modules in the same order would do the same work at the same time.
    """
    folder = Path(__file__).resolve().parent
    whole = folder in (Path(argument).resolve() for argument in session.config.args)
    if "PYTEST_XDIST_WORKER" not in os.environ or not whole:
        return
    first = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for path in sorted(folder.rglob("test_*.py"))[first::workers]:
        # The collection meets the same error, or the reason to skip, and reports it.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            _ = pytest.Module.from_parent(session, path=path).obj


def pytest_collection_finish():
    """Take the tests themselves, and all modules, out of what Python's collector looks through: it
    runs in every timing of a CPU program, and took longer there than what is timed.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config, items):
    # A long module that began last would keep one worker busy when the others have ended.
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        needed = [name for marker in item.iter_markers("outside_data") for name in marker.args]
        unset = [name for name in needed if not os.environ.get(name, "").strip()]
        if unset:
            item.add_marker(pytest.mark.skip(reason=f"{' and '.join(unset)} names no data"))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = why_not_gpu(config.option.markexpr) if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def why_not_gpu(marks: str) -> str | None:
    """The reason to skip the tests marked `gpu`; None when they can run. `marks` is the -m
    expression of this run.
    """
    if os.environ.get("LAB_DEVICE") == "simulator":
        return "LAB_DEVICE=simulator"
    if marks.strip() != "gpu":
        # The other tests put the simulator in PyCUDA's place, once for the whole process.
        return (
            "real PyCUDA and the simulator cannot share a process: run these alone, "
            "by `make gpu` or `pytest -m gpu`"
        )
    if os.environ.get("LAB_DEVICE") == "gpu":
        return None  # asked for by name: without one they fail
    return device.problem_of(device.probe()) or None
