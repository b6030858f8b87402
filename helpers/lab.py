"""What each lab begins with, in one line: the device, NumPy, Matplotlib and the labs' own tools.

    from helpers.lab import *
    import pycuda.driver as cuda

It chooses the device (`gpu`), because that decides what `import pycuda` means; it gives a notebook
the cell magic %%kernel; and it binds `prediction`, which keeps the reader's guesses. PyCUDA's own
lines stay in the lab: a program needs them where this package is not. Running the line again does
nothing.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import helpers
from helpers import (
    bench,
    checking,
    device,
    exercises,
    kernels,
    limits,
    plotting,
    reference,
    simulator,
    tables,
)
from helpers.bench import hardware, results, sass

__all__ = [
    "bench",
    "checking",
    "device",
    "exercises",
    "gpu",
    "hardware",
    "kernels",
    "limits",
    "np",
    "plotting",
    "plt",
    "prediction",
    "reference",
    "results",
    "sass",
    "simulator",
    "tables",
]

gpu = device.select()
prediction = bench.Prediction()


def _load_magics() -> None:
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        helpers.load_ipython_extension(shell)


_load_magics()
