"""Nsight Compute's command line: its path, and the environment of a program that it runs."""

from __future__ import annotations

import os
import shutil

from helpers import results


class NcuError(RuntimeError):
    """Nsight Compute is missing, may not read the counters, or gave an unexpected answer."""


def program() -> str:
    """Return the path of ncu. Raises NcuError if it is not on the PATH."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise NcuError(
            "ncu (Nsight Compute) is not on the PATH. It is part of the CUDA toolkit; type "
            "export PATH=$PATH:/usr/local/cuda/bin if it lies there."
        )
    return ncu


def environment() -> dict[str, str]:
    """Return the environment of a program under ncu: it runs on the GPU and finds this package."""
    paths = [str(results.ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "LAB_DEVICE": "gpu", "PYTHONPATH": os.pathsep.join(paths)}
