"""The implicit product on layers of well-known networks, where cuDNN is at home.

    python -m helpers.tools.benchmarks known [--budget-s S]

Six convolutions of ResNet-50, VGG-16 and GoogLeNet, in the three ways of the tensor cores, beside
cuDNN as in `tensor_benchmark`. x arrives with its border of zeros, so that the outputs have the
sizes of the networks: 58 x 58 cells give 56 x 56 outputs with K = 3. Layers of one channel at a
time ("depthwise") are left out: they are no product of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import tables
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import Conv2d, Problem
from helpers.tools.benchmarks import tensor_benchmark
from helpers.tools.benchmarks.tensor_benchmark import HALF_IO, HALVES, RATIO, SPLIT, TensorBenchmark

NAME = "benchmark_known_layers"
BUDGET_S = 0.05
LAYERS = {
    "ResNet-50, first": ConvShape(64, C=3, M=64, H=230, W=230, K=7, stride=2),
    "ResNet-50, 56 x 56": ConvShape(128, C=64, M=64, H=58, W=58, K=3),
    "ResNet-50, 56 to 28": ConvShape(128, C=128, M=128, H=58, W=58, K=3, stride=2),
    "ResNet-50, 14 x 14": ConvShape(256, C=256, M=256, H=16, W=16, K=3),
    "VGG-16, 224 x 224": ConvShape(16, C=64, M=64, H=226, W=226, K=3),
    "GoogLeNet, 5 x 5": ConvShape(256, C=16, M=32, H=32, W=32, K=5),
}


def inputs(shape: ConvShape) -> tuple[np.ndarray, np.ndarray]:
    """Return (x, filter), float32, random: x with a standard deviation of 1, and outputs, too."""
    rng = np.random.default_rng([shape.C, shape.M, shape.H, shape.K])
    x = rng.standard_normal(shape.x_shape, np.float32)
    filter = rng.standard_normal(shape.filter_shape, np.float32)
    return x, filter / np.float32(math.sqrt(shape.terms))


class KnownLayers(TensorBenchmark):
    """The measurements of ``known``; layers: names of `LAYERS`."""

    BUDGET_S = BUDGET_S

    def __init__(self, layers: Sequence[str] = tuple(LAYERS), budget_s: float | None = None):
        super().__init__(layers, (), budget_s)

    def problems(self) -> Iterator[tuple[str, Problem, np.ndarray]]:
        for name in self._layers:
            print(f"{name}: {LAYERS[name]}", flush=True)
            x, filter = inputs(LAYERS[name])
            with Problem(LAYERS[name], x, filter) as problem:
                yield name, problem, x

    def ways(self, layer: str) -> dict[str, tuple[Conv2d, ...]]:
        return {
            SPLIT: (conv2d.implicit_mma(2),),
            HALVES: (conv2d.implicit_mma(),),
            HALF_IO: (conv2d.implicit_mma(1, True), conv2d.implicit_wgmma()),
        }


def shares(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of our share of cuDNN's speed, measured in turn: layers by ways."""
    ratios = [row for row in rows if row["series"] == RATIO]
    lines = []
    for layer in dict.fromkeys(row["layer"] for row in ratios):
        cells = []
        for way in (SPLIT, HALVES, HALF_IO):
            mode = tensor_benchmark.MODES[way]
            of_layer = [row for row in ratios if (row["layer"], row["way"]) == (layer, way)]
            found = [row["ratio"] for row in of_layer if f"PyTorch, {mode})" in row["of"]]
            cells.append(f"{found[0]:.2f}" if found else "-")
        lines.append([layer, *cells])
    modes = tensor_benchmark.MODES
    head = [
        "our speed / cuDNN's",
        *(f"{way} / {modes[way]}" for way in (SPLIT, HALVES, HALF_IO)),
    ]
    return tables.text(head, lines, left=(0,))
