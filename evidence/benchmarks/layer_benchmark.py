"""The recorded benchmark of the convolution layer: the times and the accuracy of every kernel.

    python -m evidence.benchmarks conv2d [--budget-s S]

For each layer of `conv2d.LAYERS` and 100, 1,000 and 10,000 images, it checks the outputs of every
kernel of `conv2d.CONV2D`, then measures its time with cold caches and its relative error against
float64, by the bench. The same run times cuDNN's best FP32 through PyTorch, if that is installed,
and the driver's device-to-device copy of as many bytes as the layer must move.

Then it runs the whole network with each kernel in both convolutions, and counts how many of the
first 100, 1,000 and 10,000 test images it classifies right: with the labs' weights, and with the
course's if COURSE_WEIGHTS names them. The number must be the known one (`KNOWN_RIGHT` and the
record of the training). Otherwise, nothing is recorded.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evidence.benchmarks import cells, shortest
from helpers import bench, device, programs, tables
from helpers.bench import contenders, lenet_times
from helpers.bench.layers import LIBRARY, Layer
from helpers.bench.on_device import NoLibraryError
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d, datasets
from helpers.problems.conv2d import Conv2d, LayerError
from helpers.problems.lenet import network, pooled, trained_weights

NAME = "benchmark_conv2d"
ACCURACY = "accuracy"
COPY = contenders.COPY[False]
BATCHES = network.ACCURACY_SIZES
BUDGET_S = 0.2
COURSE = "the course's LeNet"
KNOWN_RIGHT = {100: 86, 1_000: 886, 10_000: 8_714}  # course's weights; five reports agree


class AccuracyError(RuntimeError):
    """A network with a kernel in its convolutions does not classify the known number right."""


def sized(spec: Conv2d, shape: ConvShape, free: int) -> Conv2d:
    """Return the record with so many images a launch that scratch takes half of ``free`` bytes."""
    if not isinstance(spec, conv2d.Im2colGemm):
        return spec
    fitting = max(1, free // 2 // spec.scratch(dataclasses.replace(shape, B=1)))
    return spec if fitting >= shape.B else dataclasses.replace(spec, images=fitting)


# --------------------------------------------------------------------------------------------------
# Times


def measure(
    layers: Sequence[str] = tuple(conv2d.LAYERS),
    batches: Sequence[int] = BATCHES,
    budget_s: float = BUDGET_S,
) -> Iterator[dict[str, Any]]:
    """Check and time everything.

    Raises bench.NotReadyError for a wrong kernel, and AccuracyError as `accuracies` does.
    """
    compile_ahead(conv2d.shape_of(name, batch) for name in layers for batch in batches)
    for name in layers:
        for batch in batches:
            print(f"{name}, {batch:,} images", flush=True)
            yield from _times(bench.layer(name, images=batch), budget_s)
    yield from accuracies(batches)


def _times(layer: Layer, budget_s: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of a copy of as many bytes, of all kernels and of cuDNN, on one layer."""
    with contenders.copy(layer.shape, halves=False).on_device() as there:
        copy, row = contenders.copied(there, halves=False)
        yield {**row, **layer.where, "timing": copy.time(budget_s)}
    with layer.on_device() as there:
        specs = (sized(spec, layer.shape, _free_memory()) for spec in conv2d.CONV2D)
        for one in map(layer.kernel, (*specs, LIBRARY)):
            try:
                ready = there.ready(one)
            except NoLibraryError as missing:
                print(missing)
            except LayerError as error:
                print(f"{one.name} is left out: {error}")
                reason = str(error).partition(". ")[0]
                yield {"series": one.name, **layer.where, "left_out": reason, "timing": None}
            else:
                row = layer.row(ready)
                if "kernel" in row:  # of several sources the last one, whose hash the record gets
                    row["kernel"] = one.spec.sources[-1]
                yield row | {"timing": ready.time(budget_s)}


def compile_ahead(shapes: Iterable[ConvShape]) -> None:
    """Compile all kernels for ``shapes`` into PyCUDA's cache. It does nothing in the simulator.

    A kernel that does not compile raises its error later, when it is needed.
    """
    plans = [plan for shape in shapes for spec in conv2d.CONV2D if (plan := _plan(spec, shape))]
    if count := programs.compile_ahead(plans, ignored=(Exception,), workers=8):
        print(f"compiled {count} kernels", flush=True)


def _plan(spec: Conv2d, shape: ConvShape) -> Plan:
    """Return the launches that `conv2d.compile` compiles; none for a shape that the kernel refuses.
    """
    try:
        spec.require(shape)
    except LayerError:
        return ()
    return spec.plan(shape)


# --------------------------------------------------------------------------------------------------
# Accuracy of the whole network


def accuracies(batches: Sequence[int] = BATCHES) -> Iterator[dict[str, Any]]:
    """Yield rows of the accuracy with every kernel.

    A row: {"series": "accuracy", "with": kernel, "network", "images", "right"}. Raises
    AccuracyError if a network does not classify the known number of images right, and what
    `lenet_times.right_answers`, `datasets.fashion_mnist` and the readers of the weights raise.
    """
    images = datasets.fashion_mnist("test", max(batches))
    for weights, known in _networks():
        print(f"accuracy of {weights.name} on {images.source}", flush=True)
        for spec in conv2d.CONV2D:
            entries = {
                "series": ACCURACY,
                "with": spec.name,
                "kernel": spec.sources[0],
                "network": weights.name,
            }
            for row in lenet_times.right_answers(
                weights, images, spec.name, _both_layers(spec, max(batches)), batches
            ):
                accuracy = network.Accuracy(row["right"], row["images"])
                _require_known(spec.name, weights.name, accuracy, known.get(accuracy.count))
                yield {
                    **entries,
                    "images": accuracy.count,
                    "right": accuracy.right,
                    "data": images.source,
                    "timing": None,
                }


def _both_layers(spec: Conv2d, batch: int) -> list[Conv2d]:
    """Return the records of both convolutions: their scratch fits half of the free memory."""
    free = _free_memory() // 2
    return [sized(spec, conv2d.shape_of(name, batch), free) for name in pooled.LAYERS]


def _free_memory() -> int:
    """Return the free bytes of the selected device."""
    device.select()
    import pycuda.driver as cuda

    return cuda.mem_get_info()[0]


def _networks() -> list[tuple[trained_weights.Weights, dict[int, int]]]:
    """Return the available networks, each with the known numbers of right images."""
    trained = {
        int(count): right
        for count, right in trained_weights.lenet_record()["test"]["right"].items()
    }
    networks = [(trained_weights.lenet_weights(), trained)]
    if os.environ.get(trained_weights.WEIGHTS_VARIABLE, "").strip():
        networks.append((trained_weights.course_weights(), KNOWN_RIGHT))
    else:
        print(f"{COURSE} is left out: {trained_weights.WEIGHTS_VARIABLE} does not name its file")
    return networks


def _require_known(kernel: str, name: str, accuracy: network.Accuracy, known: int | None) -> None:
    if known is not None and accuracy.right != known:
        raise AccuracyError(
            f"with {kernel} in both convolutions, {name} classifies "
            f"{accuracy.right:,} of the first {accuracy.count:,} images right; "
            f"with exact sums it is {known:,}. Its outputs passed their check: "
            "look at images whose two best classes are close."
        )


# --------------------------------------------------------------------------------------------------
# Tables


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the record's rows as a text table: ms by kernel, layer and batch."""
    times = shortest(rows, "series", "layer", "batch")
    places = [place for name, *place in times if name == COPY]
    lines = [
        [name, *cells(times, [(name, *place) for place in places])]
        for name in dict.fromkeys(row["series"] for row in rows if row["series"] != ACCURACY)
    ]
    head = ["ms, cold caches\nimages", *(f"{which}\n{batch:,}" for which, batch in places)]
    return tables.text(head, lines)


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a line for each kernel left out, for the largest relative error and each accuracy."""
    left_out = [row for row in rows if row.get("left_out")]
    lines = [
        f"left out: {row['series']}, {row['layer']}, {row['batch']:,} images: {row['left_out']}"
        for row in left_out
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
        numbers = " or ".join(f"{number:,}" for number in sorted(set(right.values())))
        lines.append(
            f"{name}: {numbers} of {count:,} images right with each of {len(right)} kernels"
        )
    return "\n".join(lines)
