"""The bench: problems, what one does with their kernels, and the figures of the results.

    from helpers import bench

    layer = bench.layer("layer 2", images=10_000)      # or bench.conv1d(n=10**8, filter_width=5)
    print(layer.check(my_cell))
    print(layer.count("conv2d_constant", "conv2d_tiled", my_cell))
    times = layer.compare("conv2d_constant", "conv2d_tiled", my_cell, record="111_tiles")
    bench.bars(times)

Timings, records and predictions are modules of their own: `from helpers.bench import results`.
"""

from __future__ import annotations

import importlib
from typing import Any

# The names that a lab uses, and their modules. Each is imported when it is first used, because a
# module such as `timing` stands below the problems.
_HOME = {
    "layer": "layers",
    "axpy": "vectors",
    "conv1d": "convolutions",
    "copies": "products",
    "product": "products",
    "mma": "products",
    "gemm": "gemms",
    "memcpy": "memory",
    "network": "networks",
    "pooled": "pooled_layers",
    "replay": "replays",
    "yours": "sources",
    "Kernel": "sources",
    "KernelError": "sources",
    "NotReadyError": "on_device",
    "Problem": "problem",
    "Ratio": "ratios",
    "Times": "times",
    "faster_from": "times",
    "Counts": "counts",
    "Prediction": "predictions",
    "Timing": "timing",
    "Record": "results",
    "across": "figures",
    "bars": "figures",
    "curve": "figures",
    "ladder": "figures",
    "roofline": "figures",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"helpers.bench has no {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"helpers.bench.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
