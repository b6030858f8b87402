"""Counters of conv2d_tiled with tiles of several widths, one image each, from the simulator.

They are stored beside this module, because to count all of them takes minutes. A test counts some
of them anew.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from helpers.limits import ConvShape

from .runs import simulate
from .shapes import LAYERS, LENET
from .table import conv2d_named

WIDTHS = (8, 10, 12, 14, 16, 17, 18, 20, 24, 28, 32)
SHAPES = {name: LAYERS[name] for name in LENET}
# Layers that nobody has timed.
UNTIMED = {
    "61 x 61": ConvShape(1, 1, 4, 61, 61, 7),
    "47 x 47": ConvShape(1, 3, 6, 47, 47, 5),
    "94 x 38": ConvShape(1, 1, 6, 94, 38, 7),
    "27 x 27": ConvShape(1, 4, 4, 27, 27, 7),
}


class Seen(SimpleNamespace):
    """Counters of one image, by the names that a Profile of the simulator has. instructions: of all
    warps.
    """

    def __getattr__(self, name: str) -> int:
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(sorted(vars(self)))
        raise AttributeError(f"seen has no {name!r}; it has {known}")


@cache
def counted() -> dict[tuple[str, int], Seen]:
    """Return the counters of conv2d_tiled by layer and width, one image each, as `count` makes
    them.
    """
    stored = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    names = sorted(
        {name for rows in stored.values() for row in rows.values() for name in row}
        | {"shared_load_conflicts"}
    )
    return {
        (layer, int(width)): Seen(**{name: row.get(name, 0) for name in names})
        for layer, rows in stored.items()
        for width, row in rows.items()
    }


def count(layer: str, width: int) -> dict[str, int]:
    """Count one layer and width anew, in the simulator."""
    shape, rng = {**SHAPES, **UNTIMED}[layer], np.random.default_rng(0)
    x, filter = (
        rng.integers(-3, 4, size).astype(np.float32) for size in (shape.x_shape, shape.filter_shape)
    )
    _, (seen,) = simulate(conv2d_named("conv2d_tiled").with_tile(width), x, filter)
    return {
        **seen.counters(),
        "blocks": seen.blocks,
        "instructions": sum(seen.instructions.values()),
    }
