"""The network in PyTorch, a yardstick: layer by layer, as a CUDA graph, or compiled.

    for net in pytorch.networks(weights, cells, batch, "CUDA graph"):   # cells: a device address
        verdict = net.check(classes)
        timing.time_gpu(net.launch, verdict=verdict, name=net.name)

It gets what favours it: cuDNN's own search, its input in either layout and already in the mode's
type, no copy of the answer. A CUDA graph is recorded once and replayed: small batches then do not
wait for Python. `Graph` does the same for our network. `torch.compile` joins the steps between the
products, and chooses among Triton's kernels and cuDNN's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from helpers import checking
from helpers.bench import cudnn
from helpers.problems.lenet import network
from helpers.problems.lenet.trained_weights import Weights
from helpers.problems.resizing import NETWORK_SIDE

GRAPH, COMPILED = "CUDA graph", "torch.compile, CUDA graph"
WAYS = ("eager", GRAPH, COMPILED)
CLOSE = {
    "FP32": 0.999,
    "TF32": 0.99,
    "FP16": 0.98,
}  # the least share of classes that are ours: a rounded tie may go either way
_WARM_UP = 3  # runs before a graph is recorded: cuDNN searches, PyTorch allocates


class Graph:
    """What ``launch(stream)`` enqueues, recorded once as a CUDA graph.

    launch: must not wait for the stream, and must have run before. PyTorch does the recording:
    raises cudnn.TorchMissing.
    """

    def __init__(self, launch: Callable[[Any], Any]):
        torch = cudnn.require()
        import pycuda.driver as cuda

        self._torch, self._stream, self.graph = torch, cuda.Stream(), torch.cuda.CUDAGraph()
        launch(self._stream)
        self._stream.synchronize()
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.ExternalStream(self._stream.handle)):
            self.graph.capture_begin()
            launch(self._stream)
            self.graph.capture_end()

    def launch(self, stream: Any = None) -> None:
        """Enqueue all of it on a PyCUDA stream; None is the default stream."""
        with self._torch.cuda.stream(cudnn.on_stream(self._torch, stream)):
            self.graph.replay()


class TorchNetwork:
    """The network in PyTorch.

    cells: device address of float32, (batch, 1, 86, 86), which must stay allocated. mode:
    of `cudnn.MODES`; layout: of `cudnn.LAYOUTS`; way: of WAYS. Raises cudnn.TorchMissing.
    """

    def __init__(self, weights: Weights, cells: int, batch: int, mode: str, layout: str, way: str):
        self._torch, self.mode, self.layout, self.way = cudnn.require(mode), mode, layout, way
        torch = self._torch
        dtype = torch.float16 if mode == "FP16" else torch.float32

        def on_device(array: np.ndarray) -> Any:
            return torch.as_tensor(array, device="cuda").to(dtype)

        shape = (batch, 1, NETWORK_SIDE, NETWORK_SIDE)
        self._x = cudnn.borrowed(cells, shape).to(dtype)
        if mode == "FP16":
            self._x = (
                self._x / 256
            )  # sums of raw pixels would leave float16's range; a power of two loses no digit
        self._x = cudnn.laid_out(self._x, layout)
        self._filters = [
            cudnn.laid_out(on_device(f), layout) for f in (weights.conv1, weights.conv2)
        ]
        fc3, fc4 = map(on_device, (weights.fc3, weights.fc4))
        bias3, bias4 = map(on_device, (weights.fc3_bias, weights.fc4_bias))
        if mode == "FP16":
            bias3, bias4 = bias3 / 256, bias4 / 256
        self._dense = [fc3, bias3, fc4, bias4]
        self.classes: Any = None
        self._graph = None
        self._call = cudnn.compiled(self._forward) if way == COMPILED else self._forward
        if way != "eager":
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(_WARM_UP):
                    self._run()
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, stream=side):
                self._run()

    @property
    def name(self) -> str:
        """What it is, for a table."""
        return f"PyTorch, {self.mode}, {self.layout}, {self.way}"

    def _run(self) -> None:
        with self._torch.no_grad():
            self.classes = self._call(self._x, *self._filters, *self._dense)

    def _forward(
        self, x: Any, conv1: Any, conv2: Any, fc3: Any, bias3: Any, fc4: Any, bias4: Any
    ) -> Any:
        functional = self._torch.nn.functional
        for filter, pool in ((conv1, network.POOL1), (conv2, network.POOL2)):
            x = functional.max_pool2d(functional.conv2d(x, filter).relu_(), pool, ceil_mode=True)
        hidden = functional.linear(x.flatten(1), fc3, bias3).relu_()
        return functional.linear(hidden, fc4, bias4).argmax(1)

    def launch(self, stream: Any = None) -> None:
        """Enqueue the network on a PyCUDA stream; None is the default stream."""
        torch = cudnn.require(self.mode)  # TF32 is a setting of the process
        with torch.cuda.stream(cudnn.on_stream(torch, stream)):
            if self._graph is None:
                self._run()
            else:
                self._graph.replay()

    def classes_on_host(self) -> np.ndarray:
        """Return the classes, when all that was enqueued before is done."""
        self._torch.cuda.synchronize()
        return self.classes.cpu().numpy()

    def check(self, classes: np.ndarray) -> checking.Verdict:
        """Launch, and compare the classes with ours.

        All but the few that the mode's rounding may turn must be the same. Raises
        checking.CheckError.
        """
        self.launch(None)
        same = self.classes_on_host() == classes
        return checking.check(
            np.array([float(same.mean() >= CLOSE[self.mode])]), np.ones(1), rtol=0.0, name=self.name
        )


def networks(
    weights: Weights,
    cells: int,
    batch: int,
    way: str,
    modes: Sequence[str] = cudnn.MODES,
    layouts: Sequence[str] = cudnn.LAYOUTS,
) -> Iterator[TorchNetwork]:
    """Yield the network in every mode and layout, one at a time.

    What PyTorch refuses is left out with a printed line.
    """
    for mode, layout in itertools.product(modes, layouts):
        try:
            yield TorchNetwork(weights, cells, batch, mode, layout, way)
        except RuntimeError as error:
            print(f"PyTorch, {mode}, {layout}, {way} is left out: {cudnn.first_line(error)}")
