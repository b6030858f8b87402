"""Run labs headless: `python -m helpers.tools.run_labs [LAB ...] [--results DIR] [--keep]`.

Each lab runs from top to bottom in a new Jupyter kernel of this Python, as in JupyterLab. The
executed notebooks, the records and figures of the labs, and summary.html go to the results folder.
If a lab fails, the summary names its cell, source line and error, and the other labs still run.

The summary uses only the outputs of a lab:

========  =================================================================================
device    the line that `device.select()` prints ("Device: ...")
verdict   whether every cell ran, and how many checks printed PASS
headline  the line "Result: ..." in the output of the cell with the tag `headline`
figures   the PNGs in the outputs of its cells; only summary.html shows them
========  =================================================================================

The exit status is 0 if every lab passed, 1 if one failed, 2 if no lab could run, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import re
import shutil
import sys
import sysconfig
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from tqdm import tqdm

from helpers.results import MEASURED, ROOT
from helpers.results import folder as results_folder
from helpers.tools import summary
from helpers.tools.outcomes import Failure, Outcome

LABS = ROOT / "labs"

CELL_LIMIT_S = 900  # far above any cell of a lab, so that a hanging cell ends
LOG_INTERVAL_S = 10  # between progress lines if the output is not a terminal

# README.md shows the figures of these names, from data/measured/.
README_FIGURES = "readme_*.png"

_CELL_FILE = re.compile(r" \(\d+\.py, line \d+\)")  # IPython's name of a cell in a SyntaxError
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class RunnerError(Exception):
    """An unknown lab, or a results folder that cannot be written: no lab can run."""


# --------------------------------------------------------------------------------------------------
# labs


def find_labs(wanted: Sequence[str], folder: Path = LABS) -> tuple[Path, ...]:
    """Return the notebooks to run, by default all of `folder`, in order.

    wanted: files, names, or the start of a name such as "02". Raises RunnerError for a name of no
    lab, and for one of several labs.
    """
    labs = tuple(sorted(folder.glob("*.ipynb")))
    if not wanted:
        if not labs:
            raise RunnerError(f"there is no notebook in {folder}")
        return labs
    return tuple(_find_lab(name, labs) for name in wanted)


def _find_lab(name: str, labs: Sequence[Path]) -> Path:
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path.resolve()
    stem = path.stem if path.suffix == ".ipynb" else path.name
    matches = [lab for lab in labs if lab.stem == stem] or [
        lab for lab in labs if lab.stem.startswith(stem)
    ]
    if len(matches) == 1:
        return matches[0]
    names = [lab.stem for lab in matches or labs]
    near = [] if matches else difflib.get_close_matches(stem, names, n=3, cutoff=0.4)
    offered = ", ".join(near or names) or "none"
    raise RunnerError(
        f"{'several labs are' if matches else 'no lab is'} called {name!r}; there is: {offered}"
    )


def writable_folder(folder: Path) -> Path:
    """Create `folder` if it is missing; return its absolute path.

    Raises RunnerError if it cannot be written.
    """
    folder = folder.expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RunnerError(
            f"the results folder {folder} cannot be written ({error.strerror}).\n"
            "Give one that can: --results DIR, or the environment variable LAB_RESULTS."
        ) from error
    return folder


# --------------------------------------------------------------------------------------------------
# progress


class _Lines:
    """A stream for tqdm without a terminal: every redraw becomes a line of its own."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, text: str) -> None:
        for line in text.replace("\r", "\n").split("\n"):
            if line.strip():
                self._stream.write(line.rstrip() + "\n")

    def flush(self) -> None:
        self._stream.flush()


class Progress:
    """A bar over the labs, and one over the cells of the running lab.

    If stderr is not a terminal, it prints plain lines.
    """

    def __init__(self, labs: Sequence[Path]):
        self._labs = labs
        self._terminal = sys.stderr.isatty()
        self.interval_s = 1 if self._terminal else LOG_INTERVAL_S
        self._number = 0
        self._overall: tqdm | None = None
        if self._terminal:
            self._overall = tqdm(
                total=len(labs),
                desc="labs",
                leave=False,
                position=1,
                bar_format="{desc} {n_fmt}/{total_fmt} |{bar:20}| {elapsed}, "
                "about {remaining} left",
            )

    def start(self, lab: Path, cells: int) -> None:
        """Create the bar of the lab's cells. Call it before the other methods."""
        self._number += 1
        self._cells: tqdm = tqdm(
            total=cells,
            desc=f"[{self._number}/{len(self._labs)}] {lab.stem}",
            unit="cell",
            position=0,
            file=sys.stderr if self._terminal else _Lines(sys.stderr),
            mininterval=0.1 if self._terminal else LOG_INTERVAL_S,
            dynamic_ncols=self._terminal,
            bar_format="{desc:<40} {n_fmt:>3}/{total_fmt} cells |{bar:20}| {elapsed}{postfix}",
        )

    def cell(self, source: str) -> None:
        """Show the first line of the running cell."""
        first = next((line for line in source.splitlines() if line.strip()), "")
        self._cells.set_postfix_str(first[:30], refresh=self._terminal)

    def cell_done(self) -> None:
        self._cells.update()

    def tick(self) -> None:
        """Show the time of a long cell."""
        self._cells.refresh()

    def end(self, verdict: str) -> None:
        self._cells.set_postfix_str(verdict, refresh=False)
        if self._overall is not None:
            self._overall.clear()  # The cursor goes to its line next.
        self._cells.close()
        if self._overall is not None:
            self._overall.update()

    def close(self) -> None:
        if self._overall is not None:
            self._overall.close()


# --------------------------------------------------------------------------------------------------
# execution


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


# --------------------------------------------------------------------------------------------------
# outputs of a lab


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


def _shown(path: Path) -> str:
    """Return the shorter one of the path and its path relative to the current folder."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)


# --------------------------------------------------------------------------------------------------
# keep


def why_not_keep(outcomes: Sequence[Outcome]) -> str | None:
    """Return why these runs may not replace the repository's outputs and records, else None."""
    failed = [outcome.name for outcome in outcomes if not outcome.passed]
    if failed:
        return f"not every lab passed ({', '.join(failed)})"
    elsewhere = [outcome.name for outcome in outcomes if not outcome.on_gpu]
    if elsewhere:
        return (
            f"{', '.join(elsewhere)} did not run on a GPU, and the committed "
            "figures are GPU measurements"
        )
    return None


def keep(
    outcomes: Sequence[Outcome], results: Path, since: float, measured: Path = MEASURED
) -> list[Path]:
    """Copy executed notebooks over their labs, and new records to the folder `measured`.

    since: seconds of the epoch; the function copies the records and README.md's figures that are
    newer. Returns the written files.
    """
    executed = [(one.notebook, one.lab) for one in outcomes if one.notebook is not None]
    copied = [Path(shutil.copyfile(notebook, lab)) for notebook, lab in executed]
    measured.mkdir(parents=True, exist_ok=True)
    for pattern in ("*.json", README_FIGURES):
        for path in sorted(results.glob(pattern)):
            if path.stat().st_mtime >= since:
                copied.append(Path(shutil.copyfile(path, measured / path.name)))
    return copied


# --------------------------------------------------------------------------------------------------
# main


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the labs of the command line; return the exit status."""
    options = _parser().parse_args(arguments)
    outcomes: list[Outcome] = []
    try:
        labs = find_labs(options.lab)
        results = writable_folder(options.results)
    except RunnerError as error:
        print(f"helpers.tools.run_labs: {error}", file=sys.stderr)
        return 2
    began = time.time()
    stopped = False
    progress = Progress(labs)
    try:
        for lab in labs:
            outcomes.append(run_lab(lab, results, progress))
    except KeyboardInterrupt:
        stopped = True
    finally:
        progress.close()
    if outcomes:
        print(f"\n{summary.table(outcomes)}")
        if not all(outcome.on_gpu for outcome in outcomes):
            print(f"\n{textwrap.fill(summary.RECORDED, summary.COLUMNS)}")
        print(f"\nThis table with every figure: {_shown(summary.write_page(outcomes, results))}")
    print(f"\nNotebooks, records and figures: {_shown(results)}")
    if stopped:
        print(f"Stopped by Ctrl-C; {len(labs) - len(outcomes)} of {len(labs)} labs did not finish.")
        return 130
    if options.keep and not _keep(outcomes, results, began):
        return 1
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _keep(outcomes: Sequence[Outcome], results: Path, began: float) -> bool:
    reason = why_not_keep(outcomes)
    if reason is not None:
        print(f"--keep: nothing was copied: {reason}.")
        return False
    copied = keep(outcomes, results, began)
    print(
        f"--keep: {len(copied)} files copied: the notebooks over the labs, "
        f"what they measured to {_shown(MEASURED)}."
    )
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.run_labs", description="Run labs headless and sum up."
    )
    parser.add_argument(
        "lab",
        nargs="*",
        help="notebook, name, or start of a name (101); by default all labs",
    )
    parser.add_argument(
        "--results",
        metavar="DIR",
        type=Path,
        default=results_folder(),
        help="folder for executed notebooks, records and figures (default: $LAB_RESULTS, "
        "else results/)",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="if all labs pass on a GPU, copy the executed notebooks to labs/, and "
        "the records to data/measured/",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
