"""Times of the network on a GPU, as rows of a record: its stages, the whole, the layers with their copies, and from host memory.

    rows = lenet_times.measure(weights, images, {"fused": lenet.FUSED}, batches=(100, 1_000))

Every network is checked before it is timed (`lenet.Checker`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import checking, layer, lenet, timing
from helpers.datasets import Images, Weights
from helpers.lenet import LAYERS, Checker, Network, Pipeline

BUDGET_S = 0.15  # of one timing
PARTS = (1, 10)  # chunks of a batch from host memory

Row = dict[str, Any]
Forms = Mapping[str, Sequence[Any]]  # name -> layers of a lenet.Network


def measure(
    weights: Weights, images: Images, forms: Forms, batches: Sequence[int], *, host: str, others: Sequence[Weights] = ()
) -> Iterator[Row]:
    """Yield all rows for a record. host: the form that is timed from host memory; others: networks to count right answers of, too.

    Series: "accuracy" (network, form, images, right), and, each with a batch: "stage" (form, stage, kernel) and "whole" (form),
    from floats on the device on, but for the stage "resize"; "host" and "copy" (`host_times`); "layer" (`layer_time`).
    """
    for trained in (weights, *others):
        for form, layers in forms.items():
            yield from right_answers(trained, images, form, layers, batches)
    first_form = next(iter(forms.values()))
    for batch in batches:
        with Checker(weights, images.pixels[:batch]) as checker:
            for form, layers in forms.items():
                yield from stage_times(checker, form, layers)
            yield from host_times(checker, host, forms[host])
            data = [checker.inputs(name) for name in LAYERS]
        for name, kernel, (x, filter) in zip(LAYERS, first_form, data, strict=True):
            if not lenet.is_pooled(kernel):
                yield layer_time(name, kernel, x, filter)


def right_answers(weights: Weights, images: Images, form: str, layers: Sequence[Any], batches: Sequence[int]) -> list[Row]:
    """Return how many of the first images are classified right, for each number of ``batches``."""
    most = max(batches)
    with Network(weights, min(1_000, most), layers, pixels=True) as net:
        good = net.classify(images.pixels[:most]) == images.labels[:most]
    told = {"series": "accuracy", "network": weights.name, "form": form, "timing": None}
    return [{**told, "images": n, "right": int(good[:n].sum())} for n in batches]


def stage_times(checker: Checker, form: str, layers: Sequence[Any]) -> Iterator[Row]:
    """Yield the op time of each stage, and of all of them in a row from floats on."""
    for pixels in (True, False):
        with Network(checker.weights, checker.batch, layers, pixels=pixels) as net:
            verdict = checker.check(checker.ready(net), form)
            told = {"form": form, "batch": checker.batch}
            for stage in net.stages:
                if pixels == (stage.name == "resize"):
                    timed = timing.time_gpu(stage.launch, verdict=verdict, name=stage.name, budget_s=BUDGET_S)
                    yield {"series": "stage", **told, "stage": stage.name, "kernel": stage.kernel, "timing": timed}
            if not pixels:
                timed = timing.time_gpu(net.launch, verdict=verdict, name=form, budget_s=BUDGET_S)
                yield {"series": "whole", **told, "timing": timed}


def host_times(checker: Checker, form: str, layers: Sequence[Any], streams: int = 2) -> Iterator[Row]:
    """Yield the time from pinned memory to classes in pinned memory ("host"), and of the copy of the input alone ("copy").

    The input as floats and as bytes, at once and in chunks on ``streams`` streams (PARTS).
    """
    for pixels in (False, True):
        for parts in PARTS:
            chunk = checker.batch // parts
            with Pipeline(checker.weights, checker.batch, chunk, streams, layers=layers, pixels=pixels) as line:
                verdict = checking.check(checker.ready(line).run(), checker.classes, rtol=0, name=form)
                told = {"form": form, "batch": checker.batch, "input": "bytes" if pixels else "floats", "parts": parts}
                told["megabytes"] = line.cells.nbytes / 1e6
                for series, call in (("host", line.run), ("copy", line.copy_in)):
                    timed = timing.time_end_to_end(call, verdict=verdict, name=series, budget_s=BUDGET_S)
                    yield {"series": series, **told, "timing": timed}


def layer_time(name: str, kernel: Any, x: np.ndarray, filter: np.ndarray) -> Row:
    """Return the layer time of a kernel of layer.CONV2D, as the reports have it: pinned x in, the kernel, pinned y out."""
    import pycuda.driver as cuda

    shape = layer.shape_for(x, filter)
    run = layer.compile(kernel, shape)
    cells, y = (cuda.pagelocked_empty(size, np.float32) for size in (shape.x_shape, shape.y_shape))
    cells[:] = x
    with layer.Problem(shape, x, filter) as problem:

        def call() -> None:
            cuda.memcpy_htod_async(problem.x, cells)
            run.launch(problem.y, problem.x, problem.filter)
            cuda.memcpy_dtoh_async(y, problem.y)

        call()
        verdict = problem.check(run.spec.name)
        timed = timing.time_end_to_end(call, verdict=verdict, name=name, budget_s=BUDGET_S)
    run.free()
    return {"series": "layer", "layer": name, "kernel": run.spec.name, "batch": len(x), "timing": timed}
