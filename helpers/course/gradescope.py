"""autograder.zip for Gradescope: setup.sh installs what grading needs, run_autograder grades one
submission.

The zip holds this repository's helpers and the labs asked for. Gradescope unpacks it into
/autograder/source, puts a submission into /autograder/submission, and reads
/autograder/results/results.json.
"""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

from helpers import labs
from helpers.course import policy, submissions
from helpers.course.release import ReleaseError

ROOT = labs.ROOT
_SETUP = """#!/usr/bin/env bash
# Runs once, when Gradescope builds the container.
set -e
is_new_enough() {
    command -v "$1" >/dev/null && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
}
if command -v apt-get >/dev/null; then
    apt-get update
    apt-get install -y --no-install-recommends python3 python3-venv g++
    # The box also has a level without it.
    apt-get install -y --no-install-recommends bubblewrap || true
    # Ubuntu 22.04 has Python 3.10 as python3, and 3.11 in packages of its own.
    if ! is_new_enough python3; then
        apt-get install -y --no-install-recommends python3.11 python3.11-venv || true
    fi
fi
python=
for one in python3 python3.14 python3.13 python3.12 python3.11; do
    if is_new_enough "$one"; then python="$one"; break; fi
done
if [ -z "$python" ]; then
    echo "Python 3.11 or newer is needed, and here is $(python3 --version 2>&1)." \\
        "Choose a newer base image, Ubuntu 22.04 at least, in the autograder's settings." >&2
    exit 1
fi
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
"$python" -m venv "$here/.venv"
"$here/.venv/bin/python" -m pip install --quiet -r "$here/requirements.txt"
# Build the simulator's machine now, so that the first submission does not wait for it.
cd "$here"
HALO_CACHE="$here/.cache" "$here/.venv/bin/python" \\
    -c "from helpers.simulator.machine import library; library.machine()"
chmod -R a+rX "$here"
"""
_RUN = """#!/usr/bin/env bash
# Runs for each submission.
base="${AUTOGRADER_ROOT:-/autograder}"
here="$base/source"
mkdir -p "$base/results"
cd "$here" && HALO_CACHE="$here/.cache" LAB_DEVICE=simulator \\
    "$here/.venv/bin/python" -m helpers.course.gradescope_run @LAB@ \\
    "$base/submission" "$base/results/results.json"
"""
_LEFT_OUT = ("comm", "ipykernel", "ipython", "jupyter-client", "jupyterlab", "kernel-tuner",
             "nbclient", "nbformat", "scipy")
_FOLDERS = ("helpers", "kernels", "data")
_KEPT = (".py", ".cu", ".cuh", ".cpp", ".h", ".hpp", ".json", ".csv", ".npz", ".npy", ".gz", ".md",
         ".txt", ".bin", ".idx", ".png")


def write(lab: str, to: Path, course: Path | None = None) -> int:
    """Write the zip for a lab; how many files. course: a course.toml, for points and cases; its
    deadlines are Gradescope's own. Raises release.ReleaseError, policy.PolicyError.
    """
    places = [p for p in submissions.places() if lab in (p.lab, labs.number(p.lab))]
    if not places:
        raise ReleaseError(f"lab {lab} has no exercise to grade")
    name = places[0].lab
    counted = [one.number for one in policy.read(course).labs] if course is not None else []
    if counted and labs.number(name) not in counted:
        number = labs.number(name)
        raise ReleaseError(f"{course} has no lab {number}: to count it, write [labs.{number}]")
    files = {
        path: path.relative_to(ROOT).as_posix()
        for part in _FOLDERS
        for path in sorted((ROOT / part).rglob("*"))
        if _is_kept(path)
    }
    files |= {
        ROOT / one: one
        for one in ("pyproject.toml", "README.md", "LICENSE")
        if (ROOT / one).exists()
    }
    files[labs.LABS / f"{name}.ipynb"] = f"labs/{name}.ipynb"
    if course is not None:
        files[course] = "course.toml"
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for script, text in (("setup.sh", _SETUP), ("run_autograder", _RUN.replace("@LAB@", name))):
            entry = zipfile.ZipInfo(script, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, text)
        archive.writestr("requirements.txt", "\n".join(requirements()) + "\n")
        for path, inside in files.items():
            archive.write(path, inside)
    return len(files) + 3


def requirements() -> list[str]:
    """Return what grading needs of the packages in pyproject.toml: neither Jupyter nor tuners."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        every = tomllib.load(file)["project"]["dependencies"]
    return [one for one in every if re.split(r"[^\w-]", one)[0] not in _LEFT_OUT]


def _is_kept(path: Path) -> bool:
    hidden = any(part.startswith((".", "__pycache__")) for part in path.relative_to(ROOT).parts)
    return path.is_file() and not hidden and path.suffix in _KEPT
