"""Run labs headless: `python -m helpers.tools.run_labs [LAB ...] [--results DIR] [--keep]`.

Each lab runs from top to bottom in a new Jupyter kernel of this Python, as in JupyterLab; on Linux
the kernels are forks of one process (helpers.tools.forked_kernels). The executed notebooks, the
records and figures of the labs, and summary.html go to the results folder. If a lab fails, the
summary names its cell, source line and error, and the other labs still run.

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
import difflib
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

from helpers import labs
from helpers.bench.results import MEASURED
from helpers.bench.results import folder as results_folder
from helpers.tools import forked_kernels, summary
from helpers.tools.lab_execution import run_lab
from helpers.tools.outcomes import Outcome
from helpers.tools.progress import Progress


class RunnerError(Exception):
    """An unknown lab, or a results folder that cannot be written: no lab can run."""


# --------------------------------------------------------------------------------------------------
# labs


def find_labs(wanted: Sequence[str], folder: Path = labs.LABS) -> tuple[Path, ...]:
    """Return the notebooks to run, by default all of `folder`, the labs before the deeper ones.

    wanted: files, names, or the start of a name such as "10"; "104" is the lab, "104_deeper" its
    deeper notebook. Raises RunnerError for a name of no lab, and for one of several labs.
    """
    every = labs.every(folder)
    if not wanted:
        if not every:
            raise RunnerError(f"there is no notebook in {folder}")
        return every
    return tuple(_find_lab(name, every) for name in wanted)


def _find_lab(name: str, every: Sequence[Path]) -> Path:
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path.resolve()
    stem = path.stem if path.suffix == ".ipynb" else path.name
    begun = [lab for lab in every if lab.stem.startswith(stem)]
    matches = (
        [lab for lab in begun if lab.stem == stem]
        or [lab for lab in begun if not labs.is_deeper(lab)]
        or begun
    )
    if len(matches) == 1:
        return matches[0]
    names = [lab.stem for lab in matches or every]
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
# paths


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

    since: seconds of the epoch; the function copies the records that are newer. Returns the written
    files.
    """
    executed = [(one.notebook, one.lab) for one in outcomes if one.notebook is not None]
    copied = [Path(shutil.copyfile(notebook, lab)) for notebook, lab in executed]
    measured.mkdir(parents=True, exist_ok=True)
    for path in sorted(results.glob("*.json")):
        if path.stat().st_mtime >= since:
            copied.append(Path(shutil.copyfile(path, measured / path.name)))
    return copied


# --------------------------------------------------------------------------------------------------
# main


def main(
    arguments: Sequence[str] | None = None, prog: str = "python -m helpers.tools.run_labs"
) -> int:
    """Run the labs of the command line; return the exit status."""
    options = _parser(prog).parse_args(arguments)
    outcomes: list[Outcome] = []
    try:
        chosen = find_labs(options.lab)
        results = writable_folder(options.results)
    except RunnerError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    began = time.time()
    stopped = False
    forked_kernels.use()
    progress = Progress(chosen)
    try:
        for lab in chosen:
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
        left = len(chosen) - len(outcomes)
        print(f"Stopped by Ctrl-C; {left} of {len(chosen)} labs did not finish.")
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


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog, description="Run labs headless and sum up."
    )
    parser.add_argument(
        "lab",
        nargs="*",
        help="notebook, name, or start of a name (101); by default all labs and deeper notebooks",
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
