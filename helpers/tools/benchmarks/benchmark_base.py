"""What the benchmarks of convolution layers share: their layers, their batches, the yardstick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from helpers.bench import cudnn
from helpers.problems import conv2d
from helpers.problems.conv2d import Problem
from helpers.problems.lenet import network


class BenchmarkBase:
    """Layers by batches, on the selected GPU.

    layers: names of `conv2d.LAYERS`; batches: numbers of images; budget_s: seconds for each timing,
    by default `BUDGET_S` of the benchmark.
    """

    BUDGET_S: ClassVar[float]

    def __init__(
        self,
        layers: Sequence[str] = tuple(conv2d.LAYERS),
        batches: Sequence[int] = network.ACCURACY_SIZES,
        budget_s: float | None = None,
    ):
        import pycuda.driver as cuda

        self._cuda = cuda
        self._layers, self._batches = tuple(layers), tuple(batches)
        self._budget_s = self.BUDGET_S if budget_s is None else budget_s
        self._yardstick = cudnn.why_not()  # why cuDNN is left out, or ""

    def say_what_is_left_out(self) -> None:
        """Print why cuDNN is not measured, if it is not."""
        if self._yardstick:
            print(f"{cudnn.NAME} is left out: {self._yardstick}")

    def problems(self) -> Iterator[tuple[str, Problem, np.ndarray]]:
        """Yield the name of each layer, its problem on the device for each batch, and its cells."""
        for name in self._layers:
            x, filter = conv2d.inputs(name, max(self._batches))
            for batch in self._batches:
                print(f"{name}, {batch:,} images", flush=True)
                with Problem(conv2d.shape_of(name, batch), x[:batch], filter) as problem:
                    yield name, problem, x[:batch]
