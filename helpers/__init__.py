"""Halo Labs: the notebooks' shared Python, which checks, times, plots and records CUDA kernels.

They run on a GPU or in a simulator.

Importing this package, or any module of it, imports no CUDA: `device.select()` decides what `import
pycuda` means. `%load_ext helpers` gives a notebook the cell magic `%%kernel`.
"""

from __future__ import annotations

from pathlib import Path

if not (Path(__file__).resolve().parents[1] / "kernels").is_dir():
    raise ImportError(
        "Halo Labs works from its repository: kernels/, data/ and labs/ lie beside helpers/ and "
        "are not part of the installed package. Clone the repository, and type in its folder: "
        "python -m pip install -e ."
    )


def load_ipython_extension(shell) -> None:
    """Register the cell magic `%%kernel` with IPython's `shell`: `%load_ext helpers` calls this."""
    from .jupyterlab import kernel_magic

    kernel_magic.load_ipython_extension(shell)
