"""One lab from top to bottom in a new Jupyter kernel of this Python, and what its outputs say."""

from __future__ import annotations

import asyncio
import os
import re
import sysconfig
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import helpers.labs.jsonschema_import  # noqa: F401

# isort: split
import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from helpers.bench.results import ROOT
from helpers.tools.outcomes import Failure, Outcome
from helpers.tools.progress import Progress

CELL_LIMIT_S = 900  # far above any cell of a lab, so that a hanging cell ends

_CELL_FILE = re.compile(r" \(\d+\.py, line \d+\)")  # IPython's name of a cell in a SyntaxError
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class _Execution:
    """One notebook in one kernel. current: the index of the running cell, None before the first."""

    def __init__(self, notebook: NotebookNode, folder: Path, results: Path, progress: Progress):
        self.current: int | None = None
        self._progress = progress
        self._environment = {
            **os.environ,
            "LAB_RESULTS": str(results),
            "PYTHONPATH": _python_path(),
        }
        self._sockets = TemporaryDirectory(prefix="lab-")
        self._client = NotebookClient(
            notebook,
            km=AsyncKernelManager(
                kernel_name="python3",
                # This finds the kernel of this Python; a user's "python3" may belong to another.
                kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
                # Without TCP ports, no other user of the machine can connect. The path of a socket
                # must be short.
                transport="ipc",
                connection_file=str(Path(self._sockets.name, "kernel.json")),
            ),
            resources={"metadata": {"path": str(folder)}},
            timeout=CELL_LIMIT_S,
            record_timing=False,
            on_cell_start=self._cell_started,
            on_cell_executed=self._cell_executed,
        )
        self._client.log.disabled = True  # The caller reports an error once.
        self._began = threading.Event()
        # It ends the task of `_execute` from another thread.
        self._cancel: Callable[[], object] = lambda: None

    def run(self) -> None:
        """Run the notebook. Raises KeyboardInterrupt after Ctrl-C, else the errors of nbclient.

        nbclient runs on a thread of its own. On the main thread, it would answer Ctrl-C by ending
        the kernel during the cell, which looks like a crash of the kernel.
        """
        with self._sockets, ThreadPoolExecutor(max_workers=1) as thread:
            running = thread.submit(asyncio.run, self._execute())
            try:
                running.result()
            except KeyboardInterrupt:
                self._client.shutdown_kernel = "immediate"
                self._began.wait()
                self._cancel()
                raise

    async def _execute(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "asyncio.run() runs this coroutine in a task"
        self._cancel = partial(loop.call_soon_threadsafe, task.cancel)
        self._began.set()
        clock = asyncio.create_task(self._tick())
        try:
            await self._client.async_execute(env=self._environment, cleanup_kc=True)
        finally:
            clock.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._progress.interval_s)
            self._progress.tick()

    def _cell_started(self, cell: NotebookNode, cell_index: int) -> None:
        self.current = cell_index
        self._progress.cell(cell.source)
        if cell.cell_type != "code" or not cell.source.strip():
            self._progress.cell_done()

    def _cell_executed(self, cell: NotebookNode, cell_index: int, execute_reply: dict) -> None:
        self._progress.cell_done()


def _python_path() -> str:
    """Return a PYTHONPATH with which labs find `helpers` from every folder."""
    inherited = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(ROOT), inherited] if inherited else [str(ROOT)])


def run_lab(lab: Path, results: Path, progress: Progress) -> Outcome:
    """Execute one notebook, write it to `results` as far as it ran, and return its outcome."""
    started = time.perf_counter()
    try:
        notebook = nbformat.read(lab, as_version=4)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        return Outcome(lab, failure=Failure(f"the notebook cannot be read: {error}"))
    failure = _execute(notebook, lab, results, progress)
    return Outcome(
        lab,
        notebook=results / lab.name,
        device=_device(notebook),
        checks=_count_checks(notebook),
        headline=_headline(notebook),
        seconds=time.perf_counter() - started,
        figures=_figures(notebook),
        failure=failure,
    )


def _execute(
    notebook: NotebookNode, lab: Path, results: Path, progress: Progress
) -> Failure | None:
    metadata = dict(notebook.metadata)
    _forget_outputs(notebook)
    execution = _Execution(notebook, lab.parent, results, progress)
    failure, verdict = None, "stopped"
    progress.start(lab, len(notebook.cells))
    try:
        execution.run()
        verdict = "passed"
    except (CellExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
        failure, verdict = _failure(notebook, execution.current, error), "FAILED"
    finally:
        progress.end(verdict)
        # nbclient adds the version of this Python, which would change every file.
        notebook.metadata = nbformat.from_dict(metadata)
        _drop_paths(notebook)
        nbformat.write(notebook, results / lab.name)
    return failure


def _forget_outputs(notebook: NotebookNode) -> None:
    """Remove the outputs of an earlier run, so that a cell that does not run shows none."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None


def _drop_paths(notebook: NotebookNode) -> None:
    """Shorten the paths of tracebacks to those inside the repository or the packages' folders."""
    folders = [str(ROOT), *{sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib")}]
    home = str(Path.home())
    for folder in sorted(folders, key=len, reverse=True):
        # IPython writes "~" for the home folder.
        shortened = "~" + folder.removeprefix(home) if folder.startswith(home + os.sep) else folder
        for output in (
            out
            for cell in notebook.cells
            for out in cell.get("outputs", [])
            if out.output_type == "error"
        ):
            output.traceback = [
                line.replace(folder + os.sep, "").replace(shortened + os.sep, "")
                for line in output.traceback
            ]


def _failure(notebook: NotebookNode, index: int | None, error: Exception) -> Failure:
    if index is None:
        return Failure(f"its Jupyter kernel did not start: {error}")
    if isinstance(error, DeadKernelError):
        return Failure(
            "the Jupyter kernel died (out of memory, or a crash in native code)", index + 1
        )
    if isinstance(error, CellTimeoutError):
        return Failure(f"the cell did not end within {CELL_LIMIT_S} s", index + 1)
    if not isinstance(error, CellExecutionError):
        return Failure(str(error), index + 1)
    cell = notebook.cells[index]
    raised = next((out for out in cell.outputs if out.output_type == "error"), None)
    line = None if raised is None else _line_in_cell("\n".join(raised.traceback))
    lines = cell.source.splitlines()
    source = lines[line - 1].strip() if line is not None and line <= len(lines) else ""
    message = _CELL_FILE.sub("", f"{error.ename}: {error.evalue}")
    return Failure(message, index + 1, line, source)


def _line_in_cell(traceback: str) -> int | None:
    """Return the line of the failing cell, which comes first in IPython's traceback."""
    place = re.search(r"Cell In\[\d+\], line (\d+)", _ANSI.sub("", traceback))
    return None if place is None else int(place[1])


def _printed(cells: Sequence[NotebookNode]) -> list[str]:
    """Return the text lines in the outputs of the cells."""
    lines: list[str] = []
    for cell in cells:
        for output in cell.get("outputs", []):
            text = (
                output.get("text")
                if output.output_type == "stream"
                else output.get("data", {}).get("text/plain")
            )
            lines += (text or "").splitlines()
    return lines


def _first_after(prefix: str, lines: Sequence[str]) -> str:
    return next(
        (line.removeprefix(prefix).strip() for line in lines if line.startswith(prefix)), "-"
    )


def _device(notebook: NotebookNode) -> str:
    """Return the device without the reason, which follows in brackets."""
    return _first_after("Device:", _printed(notebook.cells)).split(" (")[0]


def _headline(notebook: NotebookNode) -> str:
    tagged = [cell for cell in notebook.cells if "headline" in cell.metadata.get("tags", [])]
    return _first_after("Result:", _printed(tagged))


def _count_checks(notebook: NotebookNode) -> int:
    return sum(line.startswith("PASS ") for line in _printed(notebook.cells))


def _figures(notebook: NotebookNode) -> tuple[str, ...]:
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    pictures = (output.get("data", {}).get("image/png") for output in outputs)
    return tuple("".join(picture.split()) for picture in pictures if picture)
