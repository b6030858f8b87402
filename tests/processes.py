"""Programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(
    *command: str | Path, folder: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. It finds the modules of this repository, and has none of the
    variables of a `make` that runs the tests. environment: variables in place of this process's.
    """
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    here = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**here, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def python(
    *arguments: str | Path, folder: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run this Python with these arguments, as `run` does."""
    return run(sys.executable, *arguments, folder=folder, **environment)
