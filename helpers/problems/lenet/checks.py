"""Whether a network on the device is right: every stage against float64 on the host."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from helpers import checking
from helpers.checking import device_counter, diagnosis
from helpers.problems import conv2d
from helpers.problems.lenet import network
from helpers.problems.lenet.network_plan import CELLS, HIDDEN, PLAIN
from helpers.problems.lenet.pipeline import Network, Pipeline
from helpers.problems.lenet.pooled import POOLS
from helpers.problems.lenet.trained_weights import Weights
from helpers.problems.precision import FLOAT_UNIT
from helpers.programs import DeviceOwner

Loaded = TypeVar("Loaded", bound=Network | Pipeline)


class Checker(DeviceOwner):
    """Checks networks of the same weights on the same images.

    images: uint8, (n, 28, 28). For some images it compares each stage with float64 on the host,
    from the device's outputs of the stage before, so that each tolerance is that of one sum and not
    of a chain of sums. For all images it compares pool 1, pool 2 and the classes with a network of
    the plainest kernels on the device; the first comparison checks that network at the start.
    """

    def __init__(self, weights: Weights, images: np.ndarray):
        self.weights, self.pixels, self.batch = weights, images, len(images)
        self.some = conv2d.some_images(self.batch)
        self._plain = Network(weights, self.batch, PLAIN)
        self._counter = device_counter.DeviceCounter()
        self.cells = self._plain.prepared(images)
        self._plain.load(self.cells)
        self._plain.launch()
        self._stage_by_stage(self._plain, "the plain network")
        self.classes = self._plain.read("classes")
        self.tolerances = self._tolerances()

    def ready(self, net: Loaded) -> Loaded:
        """Return ``net`` with the images loaded."""
        net.load(self.pixels if net.pixels else self.cells)
        return net

    def check(self, net: Network, name: str) -> checking.Verdict:
        """Launch ``net`` on the images (`ready`), into poisoned memory, and return a Verdict.

        Raises checking.CheckError for a wrong stage, and for a class that differs from the plain
        network's.
        """
        net.poison()
        net.launch()
        verdict = self._stage_by_stage(net, name)
        for what, tolerance in self.tolerances.items():
            count = math.prod(net.outputs()[what][0])
            if wrong := self._counter.wrong(
                net.address(what), self._plain.address(what), tolerance, count
            ):
                raise _failed(
                    name,
                    wrong,
                    f"{wrong:,} of {count:,} values of {what} differ from the "
                    "plain network's or are NaN",
                )
        classes = net.read("classes")
        if wrong := int((classes != self.classes).sum()):
            raise _failed(
                name, wrong, f"{wrong:,} of {self.batch:,} classes differ from the plain network's"
            )
        return dataclasses.replace(verdict, count=self.batch)

    def free(self) -> None:
        """Free the plain network."""
        self._plain.free()

    def _tolerances(self) -> dict[str, float]:
        """Return the largest difference between two right networks: twice the error bound of one.

        The error of pool 2 includes that of pool 1, times the largest sum of |weights|.
        """
        one = conv2d.conv2d_atol(self.cells, self.weights.conv1)
        first = self._plain.read("pool 1")
        two = conv2d.conv2d_atol(first, self.weights.conv2)
        return {
            "pool 1": 2 * one,
            "pool 2": 2 * (two + one * float(np.abs(self.weights.conv2).sum(axis=(1, 2, 3)).max())),
        }

    def _stage_by_stage(self, net: Network, name: str) -> checking.Verdict:
        cells = np.ascontiguousarray(self.cells[list(self.some)])
        return stage_by_stage(lambda what: net.read(what, self.some), cells, self.weights, name)


def stage_by_stage(
    read: Callable[[str], np.ndarray], cells: np.ndarray, weights: Weights, name: str
) -> checking.Verdict:
    """Compare each stage of a network with float64 on the host; return a Verdict on the logits.

    read: returns the outputs of "pool 1", "pool 2", "logits" and "classes" for `cells`, the input
    after resizing. Raises checking.CheckError for a wrong stage.
    """
    for number, (filter, pool) in enumerate(
        zip((weights.conv1, weights.conv2), POOLS, strict=True), 1
    ):
        got = read(f"pool {number}")
        exact = network.conv2d(cells.astype(np.float64), filter.astype(np.float64))
        want = network.max_pool(network.relu(exact), pool)
        atol = conv2d.conv2d_atol(cells, filter)
        checking.check(got, want, rtol=0.0, atol=atol, name=f"{name}, pool {number}")
        cells = got
    want, bound = dense(cells.reshape(len(cells), -1), weights)
    logits = read("logits")
    verdict = checking.check(
        logits, want, rtol=0.0, atol=float(bound.max()), name=f"{name}, logits"
    )
    classes = network.classify(logits)
    checking.check(read("classes"), classes, rtol=0, name=f"{name}, classes")
    return dataclasses.replace(verdict, name=name)


def _failed(name: str, wrong: int, text: str) -> checking.CheckError:
    return checking.CheckError(
        f"FAIL {name}: {text}",
        name=name,
        wrong=wrong,
        diagnosis=diagnosis.Diagnosis("other images", text),
    )


def dense(cells: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Return (logits, bound), float64, (n, 10), of pool 2's cells, (n, 1296).

    bound: the largest error of the logits in float32. A sum of n products, in any order, errs by at
    most (n + 1) 2^-24 times the sum of their absolute values (see `conv2d.conv2d_atol`). The second
    layer adds the errors of the first, times its weights.
    """
    x, fc3, fc4 = (array.astype(np.float64) for array in (cells, weights.fc3, weights.fc4))
    hidden = network.relu(network.dense(x, fc3, weights.fc3_bias.astype(np.float64)))
    errors = (CELLS + 2) * FLOAT_UNIT * (np.abs(x) @ np.abs(fc3).T + np.abs(weights.fc3_bias))
    bound = errors @ np.abs(fc4).T + (HIDDEN + 2) * FLOAT_UNIT * (
        (hidden + errors) @ np.abs(fc4).T + np.abs(weights.fc4_bias)
    )
    return network.dense(hidden, fc4, weights.fc4_bias.astype(np.float64)), bound
