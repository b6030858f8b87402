"""The LeNet on the bench: `bench.network(images=10_000)`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, device, limits
from helpers.bench import plan_bounds
from helpers.bench.on_device import OnDevice, Ready
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel, KernelError
from helpers.launch import Plan
from helpers.problems import conv2d, datasets, resizing
from helpers.problems.lenet import checks, network_plan, trained_weights
from helpers.problems.lenet.pipeline import Network
from helpers.problems.lenet.pooled import LAYERS, POOLS, chosen
from helpers.quantities import quantity

FEW = 2  # images of a check
# Kernels of both convolutions, by the name of the form.
FORMS: Mapping[str, tuple[str, str]] = {
    "plain": network_plan.PLAIN,
    "fused": network_plan.FUSED,
    "tensor cores": network_plan.TENSOR_CORES,
    "fastest": network_plan.FASTEST,
}


def network(images: int = 10_000) -> LeNet:
    """Return the LeNet with its trained weights, from resized images on the device to classes.

    Its kernels are forms of the whole network: a name of FORMS, or a kernel of the layer, which
    then computes both convolutions. Raises ValueError for no image.
    """
    limits.require_count(images, "images", "the number of images")
    return LeNet(images)


@dataclass(frozen=True)
class Form:
    """The network with these kernels for its convolutions, by name or by their records."""

    name: str
    layers: tuple[Any, Any]

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the kernels of the convolutions."""
        specs = (chosen(layer, pool) for layer, pool in zip(self.layers, POOLS, strict=True))
        return tuple(spec.sources[-1] for spec in specs)


@dataclass(frozen=True)
class LeNet(Problem):
    """The network for so many images: "x" to "classes"."""

    images: int

    @property
    def title(self) -> str:
        return f"LeNet, {quantity(self.images, 'image')}"

    @property
    def where(self) -> Mapping[str, Any]:
        return {"batch": self.images}

    @property
    def few(self) -> LeNet:
        return dataclasses.replace(self, images=min(FEW, self.images))

    @property
    def one(self) -> LeNet:
        return dataclasses.replace(self, images=1)

    @property
    def size(self) -> int:
        """Its images."""
        return self.images

    def of_size(self, size: int) -> LeNet:
        return dataclasses.replace(self, images=size)

    def counted_sizes(self, kernel: Kernel) -> tuple[int, int]:
        return plan_bounds.whole_blocks(lambda images: self.of_size(images).plan(kernel))

    def pixels(self) -> np.ndarray:
        """Return the images, uint8, (images, 28, 28)."""
        return datasets.images_at_hand(self.images).repeated(self.images)

    def arrays(self) -> dict[str, np.ndarray]:
        inputs = network_plan.constants(trained_weights.lenet_weights())
        inputs["x"] = resizing.network_input(self.pixels())
        names = {one.name: one for form in FORMS.values() for one in self._of(form)}
        for name, one in names.items():
            if name not in inputs:
                fill = 255 if np.dtype(one.dtype) == np.uint8 else np.nan
                inputs[name] = np.full(one.shape, fill, one.dtype)
        return inputs

    def _of(self, layers: tuple[Any, Any]) -> list[Any]:
        return [array for one in self._stages(layers) for array in one.arrays]

    def _stages(self, layers: tuple[Any, Any]) -> Plan:
        stages = network_plan.stages(layers, self.images, pixels=False)
        return tuple(one for stage in stages for one in stage.plan)

    def named(self, name: str) -> Form:
        if name in FORMS:
            return Form(name, FORMS[name])
        try:
            for pool in POOLS:
                chosen(name, pool)
        except (KeyError, ValueError) as error:
            raise KernelError(
                f"there is no form {name!r} of the network; choose from {', '.join(FORMS)}, or "
                f"give a kernel of the layer ({error})"
            ) from None
        return Form(name, (name, name))

    def sized(self, spec: Form, constants: Mapping[str, Any]) -> tuple[Form, dict[str, Any]]:
        """Return a form with other kernels: first="...", second="..."."""
        first, second = spec.layers
        if unknown := [key for key in constants if key not in ("first", "second")]:
            raise KernelError(f"the network has no size {unknown[0]!r}; it has first, second")
        layers = constants.get("first", first), constants.get("second", second)
        settings = {key: str(getattr(value, "name", value)) for key, value in constants.items()}
        return Form(spec.name, layers), settings

    def macros(self, spec: Form) -> frozenset[str]:
        options = (option for one in self._stages(spec.layers) for option in one.options)
        return frozenset(option.removeprefix("-D").partition("=")[0] for option in options)

    def plan(self, kernel: Kernel) -> Plan:
        return kernel.rewritten(self._stages(kernel.spec.layers), {})

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        verdict = checks.stage_by_stage(
            arrays.__getitem__, arrays["x"], trained_weights.lenet_weights(), name
        )
        return dataclasses.replace(verdict, count=self.images)

    def passed(self, verdict: checking.Verdict) -> str:
        return (
            f"PASS {verdict.name}: the classes of {quantity(verdict.count, 'image')}, stage by "
            "stage"
        )

    @property
    def outputs(self) -> int:
        return self.images

    def covered(self, kernel: Kernel) -> int:
        return self.images

    @property
    def work(self) -> limits.Work:
        shapes = [conv2d.shape_of(layer, self.images) for layer in LAYERS]
        weights = network_plan.constants(trained_weights.lenet_weights())
        dense = self.images * (weights["fc3"].size + weights["fc4"].size)
        flops = 2 * (dense + sum(shape.outputs * shape.terms for shape in shapes))
        cells = int(np.prod(shapes[0].x_shape)) + sum(array.size for array in weights.values())
        return limits.Work(bytes=4 * cells + self.images, flops=flops)

    def on_device(self) -> LeNetOnDevice:
        return LeNetOnDevice(self)


class LeNetOnDevice(OnDevice):
    """The network on the GPU: pools and classes of all images against the plainest kernels'."""

    problem: LeNet

    def __init__(self, problem: LeNet):
        super().__init__(problem)
        device.select()
        self._checker = checks.Checker(trained_weights.lenet_weights(), problem.pixels())
        self._networks: list[Network] = []

    def ready(self, kernel: Any) -> Ready:
        """Compile a form, run it, and check it. Raises NotReadyError and LayerError."""
        one = self.problem.kernel(kernel)
        if not one.is_ours:
            raise KernelError(
                "a kernel of your own cannot be timed in the whole network: time it on its layer, "
                "bench.layer(...)"
            )
        net = Network(self._checker.weights, self.problem.images, one.spec.layers)
        self._networks.append(net)
        verdict = self._checker.check(self._checker.ready(net), one.title)
        return Ready(one, net.launch, verdict, 0, verdict.max_error)

    def free(self) -> None:
        for net in self._networks:
            net.free()
        self._checker.free()
