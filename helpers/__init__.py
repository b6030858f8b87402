"""Halo Labs: what the notebooks share, to check, time, plot and record CUDA kernels on a GPU or in a simulator.

Importing this package, or any module of it, imports no CUDA: `device.select()` decides what `import pycuda` means.
`%load_ext helpers` gives a notebook the cell magic `%%kernel`.
"""

from __future__ import annotations


def load_ipython_extension(shell) -> None:
    """What `%load_ext helpers` calls: registers the cell magic `%%kernel` with the IPython `shell`."""
    from . import kernel_magic

    kernel_magic.load_ipython_extension(shell)
