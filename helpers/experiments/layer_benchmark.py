"""The recorded benchmark of the convolution layer: every kernel on every layer, and the accuracy of a network with each.

    python -m helpers.tools.benchmarks conv2d [--budget-s S]

For each layer of `conv2d.LAYERS` and 100, 1,000 and 10,000 images: the time of every kernel of
`conv2d.CONV2D` with cold caches, after its outputs have been checked, and its relative error
against float64. Beside them, in the same run: cuDNN's best FP32 through PyTorch, where that is
installed, and the driver's device-to-device copy of as many bytes as the layer must move.

Then the whole network, both of its convolutions by one kernel, with the labs' weights and with the
course's where COURSE_WEIGHTS names them: how many of the first 100, 1,000 and 10,000 test images
are classified right. Each kernel must get exactly as many right as is known of these weights
(`KNOWN_RIGHT` and the record of the training): else nothing is recorded.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import checking, device, launch, limits, tables, timing
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d, cudnn, datasets
from helpers.problems.conv2d import Conv2d, LayerError, Problem
from helpers.problems.lenet import network, pipeline
from helpers.problems.lenet import times as lenet_times

NAME = "benchmark_conv2d"
ACCURACY = "accuracy"
COPY = "device-to-device copy"
BATCHES = network.ACCURACY_SIZES
BUDGET_S = 0.2
SLOWEST_MS = 100.0  # a launch that takes longer is not timed, which the record says
COURSE = "the course's LeNet"
KNOWN_RIGHT = {100: 86, 1_000: 886, 10_000: 8_714}  # by the course's weights, as five reports say
ONE = 0x3F800000  # the bits of 1.0f


class AccuracyError(RuntimeError):
    """A network with a kernel in its convolutions classified another number of images right than is known."""


def sized(spec: Conv2d, shape: ConvShape, free: int) -> Conv2d:
    """Return the record, with as many images per launch as half of ``free`` bytes hold scratch for."""
    if not isinstance(spec, conv2d.Im2colGemm):
        return spec
    fitting = max(1, free // 2 // spec.scratch(dataclasses.replace(shape, B=1)))
    return spec if fitting >= shape.B else dataclasses.replace(spec, images=fitting)


# --------------------------------------------------------------------------------------------------
# Times


class LayerBenchmark:
    """The measurements of ``conv2d``: `measure()` is what ``results.record`` wants.

    layers: names of `conv2d.LAYERS`; batches: numbers of images; budget_s: seconds for each timing.
    """

    def __init__(
        self,
        layers: Sequence[str] = tuple(conv2d.LAYERS),
        batches: Sequence[int] = BATCHES,
        budget_s: float = BUDGET_S,
    ):
        import pycuda.driver as cuda

        self._cuda, self._layers, self._batches, self._budget_s = (
            cuda,
            tuple(layers),
            tuple(batches),
            budget_s,
        )
        self._yardstick = cudnn.why_not()

    def measure(self) -> Iterator[dict[str, Any]]:
        """Check and time everything. Raises checking.CheckError where a kernel is wrong, AccuracyError as `accuracies`."""
        if self._yardstick:
            print(f"{cudnn.NAME} is left out: {self._yardstick}")
        compile_ahead(
            conv2d.shape_of(name, batch) for name in self._layers for batch in self._batches
        )
        for name in self._layers:
            x, filter = conv2d.inputs(name, max(self._batches))
            for batch in self._batches:
                print(f"{name}, {batch:,} images", flush=True)
                with Problem(conv2d.shape_of(name, batch), x[:batch], filter) as problem:
                    yield from self._problem(problem, {"layer": name, "batch": batch})
        yield from accuracies(self._batches)

    def _problem(self, problem: Problem, told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        yield self._copy(problem.shape, told)
        for spec in conv2d.CONV2D:
            row = {"series": spec.name, **told, "kernel": spec.sources[-1]}
            try:
                yield row | self._kernel(spec, problem)
            except LayerError as error:
                print(f"{spec.name} is left out: {error}")
                yield row | {"left_out": str(error).partition(". ")[0], "timing": None}
        if not self._yardstick:
            of_problem = problem.shape, problem.x, problem.filter, problem.want, problem.atol
            yield from (
                {**row, **told} for row in cudnn.measure(*of_problem, budget_s=self._budget_s)
            )

    def _kernel(self, spec: Conv2d, problem: Problem) -> dict[str, Any]:
        """Poison, launch, check, then time. Raises LayerError for a shape that the kernel does not take."""
        run = conv2d.compile(
            sized(spec, problem.shape, self._cuda.mem_get_info()[0]), problem.shape
        )

        def launch(stream: Any) -> None:
            run.launch(problem.y, problem.x, problem.filter, stream)

        try:
            problem.poison()
            launch(None)
            verdict, told = (
                problem.check(spec.name),
                {"relative_error": problem.relative_error(spec.name)},
            )
            took = self._milliseconds(launch)
            if took > SLOWEST_MS:
                return told | {
                    "left_out": f"a launch takes {took:.0f} ms, more than {SLOWEST_MS:.0f}",
                    "timing": None,
                }
            return told | {
                "timing": timing.time_gpu(
                    launch, verdict=verdict, name=spec.name, budget_s=self._budget_s
                )
            }
        finally:
            run.free()

    def _milliseconds(self, launch: Any) -> float:
        """Roughly, by the host's clock."""
        begin = time.perf_counter()
        launch(None)
        self._cuda.Context.synchronize()
        return 1e3 * (time.perf_counter() - begin)

    def _copy(self, shape: ConvShape, told: Mapping[str, Any]) -> dict[str, Any]:
        """Time a copy of half the layer's bytes: reading and writing them moves as many as the layer does at least."""
        moved = limits.conv2d(shape).bytes
        words = moved // 8
        source, target = (self._cuda.mem_alloc(4 * words) for _ in range(2))

        def launch(stream: Any) -> None:
            self._cuda.memcpy_dtod_async(int(target), int(source), 4 * words, stream)

        try:
            counter = checking.DeviceCounter()
            self._cuda.memset_d32(int(source), ONE, words)
            counter.poison(int(target), words)
            launch(None)
            self._cuda.Context.synchronize()
            if counter.wrong(int(target), int(source), 0.0, words):
                raise RuntimeError(
                    "the device-to-device copy did not copy: the GPU or its driver is at fault"
                )
            got = np.empty(min(words, 4096), np.float32)
            self._cuda.memcpy_dtoh(got, int(target))
            verdict = checking.check(got, np.ones(got.size), rtol=0.0, name=COPY)
            timed = timing.time_gpu(launch, verdict=verdict, name=COPY, budget_s=self._budget_s)
            return {"series": COPY, **told, "bytes": moved, "timing": timed}
        finally:
            source.free()
            target.free()


def compile_ahead(shapes: Iterable[ConvShape]) -> None:
    """Fill PyCUDA's cache with all kernels for ``shapes``; nothing in the simulator.

    What does not compile is left for the one who needs it to say.
    """
    plans = [plan for shape in shapes for spec in conv2d.CONV2D if (plan := _plan(spec, shape))]
    if count := launch.compile_ahead(plans, ignored=(Exception,), workers=8):
        print(f"compiled {count} kernels", flush=True)


def _plan(spec: Conv2d, shape: ConvShape) -> Plan:
    """The launches that `conv2d.compile` will ask for; none for a shape that the kernel does not take."""
    try:
        spec.require(shape)
    except LayerError:
        return ()
    return spec.plan(shape)


# --------------------------------------------------------------------------------------------------
# Accuracy of the whole network


def accuracies(batches: Sequence[int] = BATCHES) -> Iterator[dict[str, Any]]:
    """Rows of the accuracy with every kernel: {"series": "accuracy", "with": kernel, "network", "images", "right"}.

    Raises AccuracyError where a kernel gets another number of images right than is known of the
    weights, and what `lenet_times.right_answers`, `datasets.fashion_mnist` and the weights' readers
    raise.
    """
    images = datasets.fashion_mnist("test", max(batches))
    for weights, known in _networks():
        print(f"accuracy of {weights.name} on {images.source}", flush=True)
        for spec in conv2d.CONV2D:
            told = {
                "series": ACCURACY,
                "with": spec.name,
                "kernel": spec.sources[0],
                "network": weights.name,
            }
            for row in lenet_times.right_answers(
                weights, images, spec.name, _both_layers(spec, max(batches)), batches
            ):
                found = network.Accuracy(row["right"], row["images"])
                _require_known(spec.name, weights.name, found, known.get(found.count))
                yield {
                    **told,
                    "images": found.count,
                    "right": found.right,
                    "data": images.source,
                    "timing": None,
                }


def _both_layers(spec: Conv2d, batch: int) -> list[Conv2d]:
    """The record for either convolution of a network: the scratch of both takes half of the free memory at most."""
    device.select()
    import pycuda.driver as cuda

    free = cuda.mem_get_info()[0]
    return [sized(spec, conv2d.shape_of(name, batch), free // 2) for name in pipeline.LAYERS]


def _networks() -> list[tuple[datasets.Weights, dict[int, int]]]:
    """The networks that are here, and how many images each is known to classify right."""
    trained = {
        int(count): right for count, right in datasets.lenet_record()["test"]["right"].items()
    }
    found = [(datasets.lenet_weights(), trained)]
    if os.environ.get(datasets.WEIGHTS_VARIABLE, "").strip():
        found.append((datasets.course_weights(), KNOWN_RIGHT))
    else:
        print(f"{COURSE} is left out: {datasets.WEIGHTS_VARIABLE} does not name its file")
    return found


def _require_known(kernel: str, name: str, found: network.Accuracy, known: int | None) -> None:
    if known is not None and found.right != known:
        raise AccuracyError(
            f"with {kernel} in both convolutions, {name} classifies {found.right:,} of the first "
            f"{found.count:,} images right; with exact sums it is {known:,}. "
            "Its outputs passed their check: look at images whose two best classes are close."
        )


# --------------------------------------------------------------------------------------------------
# Tables


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A text table of the record's rows: ms by kernel, layer and batch."""
    places = list(
        dict.fromkeys((row["layer"], row["batch"]) for row in rows if row["series"] == COPY)
    )
    names = list(dict.fromkeys(row["series"] for row in rows if row["series"] != ACCURACY))
    head = ["ms, cold caches\nimages", *(f"{which}\n{batch:,}" for which, batch in places)]
    times = [[_shortest(rows, name, *place) for place in places] for name in names]
    cells = [["-" if ms is None else f"{ms:.4g}" for ms in line] for line in times]
    return tables.text(head, [[name, *line] for name, line in zip(names, cells, strict=True)])


def _shortest(rows: Sequence[Mapping[str, Any]], name: str, which: str, batch: int) -> float | None:
    """The shortest time of a series for a layer and batch: cuDNN has one for each layout."""
    of_series = [
        row
        for row in rows
        if row["series"] == name and (row["layer"], row["batch"]) == (which, batch)
    ]
    return min(
        (row["median_ms"] for row in of_series if row.get("median_ms") is not None), default=None
    )


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """What was left out, the largest relative error, and the accuracies: a line each."""
    left = [row for row in rows if row.get("left_out")]
    lines = [
        f"left out: {row['series']}, {row['layer']}, {row['batch']:,} images: {row['left_out']}"
        for row in left
    ]
    errors = [row for row in rows if row.get("relative_error") is not None]
    if errors:
        worst = max(errors, key=lambda row: row["relative_error"])
        place = f"{worst['series']}, {worst['layer']}, {worst['batch']:,} images"
        lines.append(
            f"largest relative error against float64: {worst['relative_error']:.2g} ({place})"
        )
    counted = [row for row in rows if row["series"] == ACCURACY]
    for name, count in dict.fromkeys((row["network"], row["images"]) for row in counted):
        right = {
            row["with"]: row["right"]
            for row in counted
            if (row["network"], row["images"]) == (name, count)
        }
        told = " or ".join(f"{number:,}" for number in sorted(set(right.values())))
        lines.append(f"{name}: {told} of {count:,} images right with each of {len(right)} kernels")
    return "\n".join(lines)
