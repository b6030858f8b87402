"""What the threads of a %%kernel cell do in a small launch, step by step.

    bench.replay(reverse, d, s, grid=(1,), block=(8,))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.kernel_cells import is_cell
from helpers.simulator.explain.pictures import Replay
from helpers.simulator.explain.replays import replay_of


def replay(
    kernel: Any,
    *args: Any,
    grid: Sequence[int],
    block: Sequence[int],
    changes: Sequence[tuple[str, str]] = (),
    **more: Any,
) -> Replay:
    """Return a small launch of a %%kernel function, which a notebook shows step by step.

    args: NumPy arrays and numbers, which stay unchanged; changes: pairs of a text of the kernel and
    what stands in its place here, such as a smaller tile; more: shown, want, title, shared and
    constants of simulator.explain.replays.replay_of, whose exceptions these are. The launch runs in
    the simulator, wherever the lab runs.
    Raises TypeError for anything but a %%kernel function, ValueError for a text that is not there.
    """
    if not is_cell(kernel):
        raise TypeError(
            f"replay() takes the function that a %%kernel cell makes, got "
            f"{type(kernel).__name__}: run that cell, and pass its name"
        )
    source = kernel.source
    for old, new in changes:
        if old not in source:
            raise ValueError(f"{kernel.name} has no text {old!r} to change")
        source = source.replace(old, new)
    return replay_of(
        source, kernel.name, *args, grid=grid, block=block, options=tuple(kernel.options), **more
    )
