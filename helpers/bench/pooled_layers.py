"""A layer with its ReLU and max-pool on the bench: `bench.pooled("layer 1", images=1_000)`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, launch, limits
from helpers.bench import plan_bounds
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel, KernelError
from helpers.launch import Array, Launch, Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.lenet import network, network_plan
from helpers.problems.lenet.pooled import LAYERS, POOLS, pooled_named, pooled_shape

APART, FUSED, WINDOWS = "apart", "lenet_conv_pool", "conv_pool"
SIDE = 16  # threads of a block of WINDOWS along either axis, a window each


def pooled(name: str = "layer 1", images: int = 1_000) -> Pooled:
    """Return one of the LeNet's convolutions with its ReLU and max-pool, to "y" of "x".

    Its kernels: "apart", which is conv2d_basic and lenet_pool; lenet_conv_pool, which does both;
    and a cell called conv_pool, whose threads compute a window each, in blocks of 16 x 16.
    """
    return Pooled(name, conv2d.shape_of(name, images), POOLS[LAYERS.index(name)])


@dataclass(frozen=True)
class Form:
    """One way to compute the pooled layer. sources: the names of its kernels."""

    name: str
    sources: tuple[str, ...]


FORMS = {
    APART: Form(APART, (conv2d.PLAINEST, "lenet_pool")),
    FUSED: Form(FUSED, (FUSED,)),
    WINDOWS: Form(WINDOWS, (WINDOWS,)),
}


@dataclass(frozen=True)
class Pooled(Problem):
    """A layer with windows of pool x pool; the last ones are cut."""

    name: str
    shape: ConvShape
    pool: int

    @property
    def title(self) -> str:
        return f"{self.name} with its pool"

    @property
    def where(self) -> Mapping[str, Any]:
        return {"layer": self.name, "batch": self.shape.B}

    @property
    def few(self) -> Pooled:
        return self._with(min(2, self.shape.B))

    @property
    def one(self) -> Pooled:
        return self._with(1)

    @property
    def size(self) -> int:
        """Its images."""
        return self.shape.B

    def of_size(self, size: int) -> Pooled:
        return self._with(size)

    def counted_sizes(self, kernel: Kernel) -> tuple[int, int]:
        return plan_bounds.whole_blocks(lambda images: self._with(images).plan(kernel))

    def _with(self, images: int) -> Pooled:
        return dataclasses.replace(self, shape=dataclasses.replace(self.shape, B=images))

    @property
    def y_shape(self) -> tuple[int, int, int, int]:
        """The shape of y."""
        return pooled_shape(self.shape, self.pool)

    def arrays(self) -> dict[str, np.ndarray]:
        x, filter = conv2d.inputs(self.name, self.shape.B)
        empty = {"y": self.y_shape, "conv": self.shape.y_shape}
        inputs = {"x": x.copy(), "filter": filter.copy()}
        return inputs | {key: np.full(one, np.nan, np.float32) for key, one in empty.items()}

    def named(self, name: str) -> Form:
        if name not in FORMS:
            raise KernelError(f"there is no form {name!r} of it; choose from {', '.join(FORMS)}")
        return FORMS[name]

    def sized(self, spec: Form, constants: Mapping[str, Any]) -> tuple[Form, dict[str, Any]]:
        """Raise KernelError: the forms have no sizes."""
        raise KernelError(f"{spec.name} has no size {next(iter(constants))!r}: it has none")

    def macros(self, spec: Form) -> frozenset[str]:
        return frozenset()

    def plan(self, kernel: Kernel) -> Plan:
        shape, y = self.shape, Array("y", self.y_shape)
        if kernel.spec.name == APART:
            conv = launch.renamed(conv2d.conv2d_named(conv2d.PLAINEST).plan(shape), {"y": "conv"})
            plan = (*conv, network_plan.pooling(Array("conv", shape.y_shape), "y", self.pool))
        elif kernel.spec.name == FUSED:
            plan = pooled_named(FUSED, self.pool).fitted(shape).plan(shape)
        else:
            x, filter = Array("x", shape.x_shape), Array("filter", shape.filter_shape)
            sizes = (shape.B, shape.C, shape.M, shape.H, shape.W, shape.K, self.pool)
            tiles = -(-self.y_shape[2] // SIDE) * -(-self.y_shape[3] // SIDE)
            grid = tiles, shape.M, shape.B
            arguments: tuple[Any, ...] = (y, x, filter, *map(np.int32, sizes))
            plan = (Launch("", WINDOWS, (), grid, (SIDE, SIDE, 1), arguments=arguments),)
        return kernel.rewritten(plan, {})

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        want, atol = _right(self)
        return checking.check(arrays["y"], want, rtol=0.0, atol=atol, name=name)

    @property
    def outputs(self) -> int:
        return int(np.prod(self.y_shape))

    def covered(self, kernel: Kernel) -> int:
        return self.outputs

    @property
    def work(self) -> limits.Work:
        whole = limits.conv2d(self.shape)
        spared = 4 * (self.shape.outputs - self.outputs)  # y is smaller by this
        return limits.Work(bytes=whole.bytes - spared, flops=whole.flops)


@functools.lru_cache(maxsize=4)
def _right(problem: Pooled) -> tuple[np.ndarray, float]:
    """Return the right outputs, and the error bound of a direct sum, which a maximum does not
    enlarge.
    """
    from helpers import reference

    x, filter = conv2d.inputs(problem.name, problem.shape.B)
    sums = network.relu(reference.conv2d(x, filter))
    return network.max_pool(sums, problem.pool), conv2d.conv2d_atol(x, filter)
