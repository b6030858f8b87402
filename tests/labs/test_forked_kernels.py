"""Kernels that are forks of one process: each has its own variables, folder and environment."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from jupyter_client.manager import KernelManager

from helpers.tools import forked_kernels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux alone")


@pytest.fixture
def kernels(monkeypatch) -> Iterator:
    """A function that starts a kernel and returns its manager and client."""
    factory = forked_kernels.KernelProvisionerFactory.instance()
    monkeypatch.setattr(factory, "default_provisioner_name", factory.default_provisioner_name)
    forked_kernels.use()
    managers = []

    def started(**how):
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(**how)
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        managers.append((manager, client))
        return manager, client

    yield started
    for manager, client in managers:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def value(client, expression: str) -> str:
    """The value of an expression in a kernel, as repr writes it."""
    reply = client.execute_interactive(
        "", user_expressions={"value": expression}, timeout=60, output_hook=lambda message: None
    )["content"]["user_expressions"]["value"]
    return reply["data"]["text/plain"] if reply["status"] == "ok" else reply["ename"]


def test_each_kernel_is_its_own(kernels, tmp_path):
    environment = {**os.environ, "LAB_RESULTS": "here"}
    (_, first), (_, second) = kernels(cwd=str(tmp_path), env=environment), kernels()
    first.execute_interactive("left = 1", timeout=60)
    assert value(first, "left") == "1" and value(second, "left") == "NameError"
    ask = "__import__('os').environ.get('LAB_RESULTS')"
    assert value(first, ask) == "'here'" and value(second, ask) == repr(os.getenv("LAB_RESULTS"))
    folders = [value(client, "__import__('os').getcwd()") for client in (first, second)]
    assert folders == [repr(str(tmp_path)), repr(os.getcwd())]
    assert len({value(client, "__import__('os').getpid()") for client in (first, second)}) == 2
    assert {value(client, "'scipy.signal' in __import__('sys').modules") for client in
            (first, second)} == {"True"}  # fmt: skip


def test_a_kernel_draws_in_the_notebook_and_can_be_interrupted(kernels):
    manager, client = kernels()
    shown = []
    client.execute_interactive(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()",
        timeout=60,
        output_hook=lambda message: shown.extend(message["content"].get("data", ())),
    )
    assert "image/png" in shown
    threading.Timer(0.3, manager.interrupt_kernel).start()
    # Without stop_on_error=False the kernel answers what comes soon after the error with "aborted".
    reply = client.execute(
        "import time\nwhile True: time.sleep(0.01)", reply=True, timeout=60, stop_on_error=False
    )
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert value(client, "1 + 1") == "2"


def test_a_kernel_that_draws_no_pixels_still_meets_what_cannot_be_drawn(kernels):
    with forked_kernels.importing("helpers.tools.undrawn_figures"):
        _, quick = kernels()
    _, usual = kernels()
    size = "__import__('io').BytesIO()"
    drawn = "from matplotlib.figure import Figure\nfrom io import BytesIO\nfigure = Figure()"
    saved = f"(file := {size}, figure.savefig(file), len(file.getvalue()))[2]"
    for client, least, most in ((quick, 20, 20), (usual, 500, 10_000)):
        client.execute_interactive(drawn, timeout=60)
        assert least <= int(value(client, saved)) <= most
    quick.execute_interactive("_ = figure.text(0, 0, '$\\\\nothing$')", timeout=60)
    assert value(quick, saved) == "ValueError"


def test_the_status_of_a_kernel_that_died_is_known(kernels):
    manager, client = kernels()
    client.execute("__import__('os')._exit(3)")
    process = manager.provisioner.process
    while process.poll() is None:
        time.sleep(0.02)
    assert process.poll() == 3 and not manager.is_alive()


def test_kernels_end_with_the_process_that_they_come_from(kernels):
    manager, _ = kernels()
    prepared = forked_kernels.start(os.environ)
    pid = manager.provisioner.process.pid
    os.kill(prepared._process.pid, signal.SIGKILL)
    with pytest.raises(forked_kernels.EndedError, match=r"has ended \(status -9\)"):
        prepared.ask(poll=pid)
    deadline = time.monotonic() + 30
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}") and not manager.is_alive()
    _, client = kernels()  # of a new process
    assert value(client, "1 + 1") == "2"
