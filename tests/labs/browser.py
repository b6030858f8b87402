"""A real JupyterLab in a real browser, for tests: Chromium through playwright. Where there is none
they are skipped.

Debian: apt install chromium; pip install playwright (its own browsers are not needed). Screenshots
are kept in the folder that SCREENSHOTS names, if it names one.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from helpers.simulator.machine import library

ROOT = Path(__file__).resolve().parents[2]

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
WAIT_MS = 60_000
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    """The one browser of all tests: playwright does not start twice in a process."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on the PATH")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def server(browser, tmp_path_factory):
    """The address of a JupyterLab that serves the project, its own settings in another folder."""
    # A first use compiles the simulator's machine, which may take longer than a page waits for a
    # cell.
    library.build()
    home = tmp_path_factory.mktemp("jupyter")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
    }
    variables = {name: str(home / folder) for name, folder in folders.items()}
    options = ["--no-browser", f"--port={port}", "--ServerApp.port_retries=0", "--allow-root"]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "helpers.jupyterlab", *options, "--IdentityProvider.token=key"],
            cwd=ROOT,
            env={**os.environ, **variables, "LAB_DEVICE": "simulator"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/status?token=key", process, home / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)  # the server ends its kernels, too
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(address: str, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + 180  # on a machine that is busy
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:  # urllib.error.URLError is one
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="session")
def page(server, browser):
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    yield page
    context.close()


def open_file(page, server: str, path: str) -> None:
    """Open a notebook, and wait for its kernel."""
    page.goto(f"{server}/lab/tree/{path}?reset&token=key")
    # The notebook's own indicator says "idle" before the kernel is there; the status bar does not.
    page.locator(".jp-StatusBar-TextItem", has_text="| Idle").wait_for()


def prompt(page, number: int) -> None:
    """Wait until a cell has its number: until it has run. The code of a check is hidden."""
    page.wait_for_selector(f'.jp-InputPrompt:has-text("[{number}]:")', state="attached")


def cell(page, number: int):
    """A code cell, counted from 0."""
    return page.locator(".jp-Notebook .jp-CodeCell").nth(number)


def screenshot(page, name: str) -> None:
    """Keep a picture of the page, where SCREENSHOTS names a folder."""
    if folder := os.environ.get("SCREENSHOTS", ""):
        page.screenshot(path=f"{folder}/{name}.png")
