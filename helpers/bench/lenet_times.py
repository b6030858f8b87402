"""Times of the network on a GPU, as rows of a record.

It times the stages, the whole network, the layers with their copies, and the way from host memory.

    rows = lenet_times.measure(weights, images, {"fused": network_plan.FUSED}, batches=(100, 1_000))

A network must pass `checks.Checker` before it is timed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import checking
from helpers.bench import timing
from helpers.problems.datasets import Images
from helpers.problems.lenet import network
from helpers.problems.lenet.checks import Checker
from helpers.problems.lenet.network_plan import CLASSES
from helpers.problems.lenet.pipeline import Network, Pipeline
from helpers.problems.lenet.pooled import LAYERS
from helpers.problems.lenet.trained_weights import Weights
from helpers.quantities import quantity

BUDGET_S = 0.15  # of one timing
RECORD = "501_lenet"  # the record of `measure` in data/measured/
BENCHMARK, RATIO = "benchmark_lenet", "ratio"  # the record beside PyTorch, and its ratios
PARTS = (1, 10)  # chunks that a batch in host memory is cut into

Row = dict[str, Any]
Forms = Mapping[str, Sequence[Any]]  # name -> layers of a pipeline.Network


def measure(
    weights: Weights,
    images: Images,
    forms: Forms,
    batches: Sequence[int],
    *,
    host: str,
    others: Sequence[Weights] = (),
) -> Iterator[Row]:
    """Yield all rows of a record.

    host: the form to time from host memory. others: further networks, for the accuracy only.

    Series: "accuracy" (network, form, images, right), and, each with a batch: "stage" (form, stage,
    kernel) and "whole" (form), which start from floats on the device, except for the stage
    "resize"; "layer" (`layer_times`); "host" and "copy" (`host_times`).
    """
    for trained in (weights, *others):
        for form, layers in forms.items():
            yield from right_answers(trained, images, form, layers, batches, RECORD)
    for batch in batches:
        with Checker(weights, images.repeated(batch)) as checker:
            for form, layers in forms.items():
                yield from stage_times(checker, form, layers)
            yield from host_times(checker, host, forms[host])


def right_answers(
    weights: Weights,
    images: Images,
    form: str,
    layers: Sequence[Any],
    batches: Sequence[int],
    record: str | None = None,
) -> list[Row]:
    """Return how many of the first images are classified right, for each number of ``batches``.

    For more images than `images` has, it returns the rows of data/measured/<record>.json, see
    `network.right_rows`. Raises ValueError for an image without a class because of a NaN, which is
    the sign of a kernel that does not write all outputs.
    """
    most = min(max(batches), len(images))
    with Network(weights, min(1_000, most), layers, pixels=True) as net:
        net.poison()
        classes = net.classify(images.pixels[:most])
    if broken := int((classes >= CLASSES).sum()):
        raise ValueError(
            f"{form}: {broken:,} of {quantity(most, 'image')} have NaN among their outputs: "
            "they have no class"
        )
    good = classes == images.labels[:most]
    return network.right_rows(good, batches, record, network=weights.name, form=form)


def stage_times(checker: Checker, form: str, layers: Sequence[Any]) -> Iterator[Row]:
    """Yield the op time of each stage, of the whole network from floats on, and the layer times."""
    for pixels in (True, False):
        with Network(checker.weights, checker.batch, layers, pixels=pixels) as net:
            verdict = checker.check(checker.ready(net), form)
            entries = {"form": form, "batch": checker.batch}
            for stage in net.stages:
                if pixels == (stage.name == "resize"):
                    timed = timing.time_gpu(
                        stage.launch, verdict=verdict, name=stage.name, budget_s=BUDGET_S
                    )
                    yield {
                        "series": "stage",
                        **entries,
                        "stage": stage.name,
                        "kernel": stage.kernel,
                        "timing": timed,
                    }
            if not pixels:
                timed = timing.time_gpu(net.launch, verdict=verdict, name=form, budget_s=BUDGET_S)
                yield {"series": "whole", **entries, "timing": timed}
                for row in layer_times(net, verdict):
                    yield row | entries


def layer_times(net: Network, verdict: checking.Verdict) -> Iterator[Row]:
    """Yield the time of each convolution with both copies, like the reports' layer time.

    The input comes from pinned memory, and the outputs of the kernel go there.
    """
    import pycuda.driver as cuda

    convolutions = [stage for stage in net.stages if stage.name.startswith("conv")]
    for name, stage, x in zip(LAYERS, convolutions, ("x", "pool 1"), strict=True):
        # "conv 1", or "pool 1" if the kernel pools its own outputs.
        y = stage.name.replace("conv + ", "")
        cells, outputs = (cuda.pagelocked_empty(net.sizes[array], np.uint8) for array in (x, y))
        cuda.memcpy_dtoh(cells, net.address(x))
        call = functools.partial(
            _there_and_back, stage.launch, outputs, net.address(y), cells, net.address(x)
        )
        timed = timing.time_end_to_end(call, verdict=verdict, name=name, budget_s=BUDGET_S)
        yield {"series": "layer", "layer": name, "kernel": stage.kernel, "timing": timed}


def host_times(checker: Checker, form: str, layers: Sequence[Any]) -> Iterator[Row]:
    """Yield the time from pinned to pinned memory ("host") and of the input's copy ("copy").

    The input is floats or bytes, in one piece or in chunks on two streams (PARTS).
    """
    for pixels in (False, True):
        for parts in PARTS:
            chunk = checker.batch // parts
            with Pipeline(
                checker.weights, checker.batch, chunk, 2, layers=layers, pixels=pixels
            ) as line:
                verdict = checking.check(
                    checker.ready(line).run(), checker.classes, rtol=0, name=form
                )
                entries = {
                    "form": form,
                    "batch": checker.batch,
                    "input": "bytes" if pixels else "floats",
                    "parts": parts,
                }
                entries["megabytes"] = line.cells.nbytes / 1e6
                for series, call in (("host", line.run), ("copy", line.copy_in)):
                    timed = timing.time_end_to_end(
                        call, verdict=verdict, name=series, budget_s=BUDGET_S
                    )
                    yield {"series": series, **entries, "timing": timed}


def _there_and_back(
    launch: Callable[[Any], None], outputs: np.ndarray, y: int, cells: np.ndarray, x: int
) -> None:
    import pycuda.driver as cuda

    cuda.memcpy_htod_async(x, cells)
    launch(None)
    cuda.memcpy_dtoh_async(outputs, y)
