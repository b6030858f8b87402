"""The implicit product on layers of well-known networks, where cuDNN is at home.

    python -m evidence.benchmarks known [--budget-s S] [--limit-s S]

Six convolutions of ResNet-50, VGG-16 and GoogLeNet, in the three ways of the tensor cores and in
halves with channels last, beside cuDNN as in `tensor_benchmark`. x arrives with its border of
zeros, so that the outputs have the sizes of the networks: 58 x 58 cells give 56 x 56 outputs with K
= 3. Layers of one channel at a time ("depthwise") are left out: they are no product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evidence.benchmarks import tensor_benchmark
from helpers import bench, tables
from helpers.bench.contenders import HALF_IO, HALVES, MODES, SPLIT
from helpers.bench.layers import Layer
from helpers.problems import conv2d
from helpers.problems.conv2d import Conv2d

NAME = "benchmark_known_layers"
CHANNELS_LAST = "FP16 in and out, channels last"
WAYS = {way: MODES[way] for way in (SPLIT, HALVES, HALF_IO)} | {CHANNELS_LAST: MODES[HALF_IO]}


class KnownLayers(tensor_benchmark.TensorBenchmark):
    """The measurements of ``known``, of all `conv2d.KNOWN_LAYERS`."""

    def problems(self) -> Iterator[tuple[str, Layer]]:
        for name, shape in conv2d.KNOWN_LAYERS.items():
            yield name, bench.layer(shape=shape, images=shape.B)

    def ways(self, layer: str) -> dict[str, tuple[Conv2d, ...]]:
        return {
            SPLIT: (conv2d.implicit_mma(2),),
            HALVES: (conv2d.implicit_mma(),),
            HALF_IO: (conv2d.implicit_mma(1, True), conv2d.implicit_wgmma()),
            CHANNELS_LAST: conv2d.CHANNELS_LAST,
        }

    def mode(self, way: str) -> str:
        return WAYS[way]


def shares(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of our share of cuDNN's speed, measured in turn: layers by ways."""
    ratios = [row for row in rows if row["series"] == tensor_benchmark.RATIO]
    lines = []
    for layer in dict.fromkeys(row["layer"] for row in ratios):
        cells = []
        for way, mode in WAYS.items():
            of_layer = [row for row in ratios if (row["layer"], row["way"]) == (layer, way)]
            found = [row["ratio"] for row in of_layer if f"PyTorch, {mode})" in row["of"]]
            cells.append(f"{found[0]:.2f}" if found else "-")
        lines.append([layer, *cells])
    head = [
        "our speed / cuDNN's",
        *(f"{way} / {mode}" for way, mode in WAYS.items()),
    ]
    return tables.text(head, lines, left=(0,))
