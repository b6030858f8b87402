"""A job in the box has the modules that it imports.

Without one of them no box starts. The tests that need a box are then skipped, as on a computer that
has none, so that this must fail by itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.course import box

# An editable installation finds the modules of helpers/ that the copy lacks; a box has none.
_ONLY_HERE = """import sys
sys.meta_path = [one for one in sys.meta_path if "editable" not in repr(one).lower()]"""


def import_error(kind: str, folder: Path, leave_out: str = "") -> str:
    """The last line of Python's error when all modules of a job are imported from a copy of a box's
    files; "" if there is none.
    """
    (folder / "kernels").mkdir()  # as in the box: it is looked for, and empty
    for name in box._FILES[kind]:
        source, target = box.ROOT / name, folder / name
        if name == leave_out:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    modules = (path.relative_to(folder) for path in sorted(folder.rglob("*.py")))
    names = (".".join(path.with_suffix("").parts) for path in modules if path.stem[0] != "_")
    lines = "\n".join([_ONLY_HERE, *(f"import {name}" for name in names)])
    ended = subprocess.run(
        [sys.executable, "-c", lines],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stderr.strip().rpartition("\n")[2]


@pytest.mark.parametrize("kind", box.KINDS)
def test_a_job_has_every_module_that_its_modules_import(kind, tmp_path):
    assert import_error(kind, tmp_path) == ""


def test_a_module_that_is_left_out_is_missed(tmp_path):
    error = import_error("kernel", tmp_path, leave_out="helpers/quantities.py")
    assert error == "ModuleNotFoundError: No module named 'helpers.quantities'"
