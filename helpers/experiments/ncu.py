"""Nsight Compute's command line: where it is, and how a program of this repository runs under it."""

from __future__ import annotations

import os
import shutil

from helpers import results


class NcuError(RuntimeError):
    """Nsight Compute is missing, may not read the counters, or answered something else."""


def program() -> str:
    """Return the path of ncu. Raises NcuError where there is none."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise NcuError(
            "ncu (Nsight Compute) is not on the PATH. It is part of the CUDA toolkit, often in "
            "/usr/local/cuda/bin."
        )
    return ncu


def environment() -> dict[str, str]:
    """Return the environment of a program under ncu: it runs on the GPU and finds this package."""
    paths = [str(results.ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "LAB_DEVICE": "gpu", "PYTHONPATH": os.pathsep.join(paths)}
