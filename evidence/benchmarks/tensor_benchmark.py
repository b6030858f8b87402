"""The recorded benchmark of the layers on tensor cores, beside cuDNN and copies.

    python -m evidence.benchmarks tensor [--budget-s S]

For each layer of `conv2d.LAYERS` and 100, 1,000 and 10,000 images: our kernels in each way
(`contenders.ways`), cuDNN in FP32, TF32 and FP16, called in every way of `cudnn.contenders`, and
the driver's device-to-device copy of as many bytes as the layer must move, as floats and as halves.
All are checked before they are timed. Then the fastest of ours in each way and its yardsticks are
timed in turn, A B A B: as ratios with intervals. Each layer has a limit of time, and so has each of
our ways and each mode of cuDNN: what would begin later is left out, and a row says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from evidence.benchmarks import cells, shortest
from helpers import bench, tables
from helpers.bench import contenders, cudnn, results
from helpers.bench.contenders import MODES
from helpers.bench.layers import Layer, LayerOnDevice
from helpers.bench.on_device import Ready
from helpers.bench.sources import Kernel
from helpers.bench.task import Library
from helpers.bench.timing import OutOfTimeError, TimeLimit
from helpers.launch import LaunchError
from helpers.problems import conv2d
from helpers.problems.conv2d import Conv2d, LayerError
from helpers.problems.lenet import network

NAME = contenders.RECORD
BUDGET_S = 0.05
LIMIT_S, SHARE = 120.0, 0.25  # of a layer and batch; the part of it for each way, and mode of cuDNN
# torch.compile is tried for one batch and mode of each layer, because its search takes up to 15 s.
COMPILED = (1_000, "FP16")
RATIO = "ratio"

Row = dict[str, Any]


class TensorBenchmark:
    """The measurements of ``tensor``: ``results.record`` takes `measure`.

    layers: names of `conv2d.LAYERS`; batches: numbers of images; budget_s: seconds for each timing;
    limit_s: seconds of a layer and batch in which something may begin; share: of these, for each of
    our ways and each mode of cuDNN.
    """

    def __init__(
        self,
        layers: Sequence[str] = tuple(conv2d.LAYERS),
        batches: Sequence[int] = network.ACCURACY_SIZES,
        budget_s: float = BUDGET_S,
        limit_s: float = LIMIT_S,
        share: float = SHARE,
    ):
        self._layers, self._batches, self._budget_s = tuple(layers), tuple(batches), budget_s
        self._limit_s, self._share = limit_s, share
        self._yardstick = cudnn.why_not()  # why cuDNN is left out, or ""

    def measure(self) -> Iterator[Mapping[str, Any]]:
        """Check and time everything. Raises NotReadyError for a wrong kernel."""
        for _, rows in self.parts():
            yield from rows()

    def parts(self) -> Iterator[results.Part]:
        """Yield the parts of a record, for `results.continued`: one for each layer and batch."""
        if self._yardstick:
            print(f"{cudnn.NAME} is left out: {self._yardstick}")
        for name, layer in self.problems():
            where = {"layer": name, "batch": layer.shape.B}
            yield where, partial(self._problem, name, layer)

    def problems(self) -> Iterator[tuple[str, Layer]]:
        """Yield the name of each layer, and its problem for each batch."""
        for name in self._layers:
            for batch in self._batches:
                yield name, bench.layer(name, images=batch)

    def ways(self, layer: str) -> dict[str, tuple[Conv2d, ...]]:
        """Return the kernels of each way for a layer."""
        return contenders.ways(layer)

    def mode(self, way: str) -> str:
        """Return the mode of cuDNN that a way is compared with."""
        return MODES[way]

    def _problem(self, name: str, layer: Layer) -> Iterator[Row]:
        told = {"layer": name, "batch": layer.shape.B}
        print(f"{name}: {layer.shape}", flush=True)
        limit = TimeLimit(self._limit_s)
        vendors: dict[str, Ready] = {}
        with (
            layer.on_device() as there,
            contenders.copy(layer.shape, halves=False).on_device() as floats,
            contenders.copy(layer.shape, halves=True).on_device() as halves,
        ):
            copies = [contenders.copied(floats, False), contenders.copied(halves, True)]
            for ready, row in copies:
                yield told | row | {"timing": ready.time(self._budget_s)}
            for mode in cudnn.MODES if not self._yardstick else ():
                fastest = np.inf
                try:
                    for ready, row in self._cudnn(there, mode, self._part(limit)):
                        yield told | row
                        if row["timing"].median < fastest:
                            fastest, vendors[mode] = row["timing"].median, ready
                except OutOfTimeError as error:
                    yield told | _left_out(error, series=cudnn.NAMES[mode])
            for way, specs in self.ways(name).items():
                copy, _ = copies[self.mode(way) == "FP16"]
                modes = {self.mode(way): 0, "FP16": 0}
                yardsticks = [copy, *(vendors[mode] for mode in modes if mode in vendors)]
                rows = self._way(way, specs, there, yardsticks, self._part(limit))
                yield from (told | row for row in rows)

    def _part(self, limit: TimeLimit) -> TimeLimit:
        """Return the limit of a way, or of a mode of cuDNN, within that of the layer."""
        return TimeLimit(self._share * self._limit_s, within=limit)

    def _way(
        self,
        way: str,
        specs: Sequence[Conv2d],
        there: LayerOnDevice,
        yardsticks: Sequence[Ready],
        limit: TimeLimit,
    ) -> Iterator[Row]:
        """Yield rows of our kernels in one way, and of the ratios of the fastest to its yardsticks.
        """
        found: list[tuple[float, Ready]] = []
        for spec in specs:
            try:
                limit.require(f"{spec.name}, {way}")
                ours, row = contenders.ours(way, spec, there)
            except (LayerError, LaunchError, OutOfTimeError) as error:
                yield _left_out(error, series=spec.name, way=way, kernel=spec.sources[-1])
                continue
            timed = ours.time(self._budget_s)
            found.append((timed.median, ours))
            yield row | {"timing": timed}
        if not found:
            return
        _, best = min(found, key=lambda pair: pair[0])
        for other in yardsticks:
            pair = other.beside(best, 4 * self._budget_s)
            ratio = bench.Ratio.of(pair)
            yield {
                "series": RATIO,
                "way": way,
                "of": other.kernel.title,
                "to": best.kernel.title,
                **ratio.to_row(),
                "different": ratio.different,
                "median_ours_ms": pair.b.median,
                "median_other_ms": pair.a.median,
                "timing": None,
            }

    def _cudnn(
        self, there: LayerOnDevice, mode: str, limit: TimeLimit
    ) -> Iterator[tuple[Ready, Row]]:
        """Yield cuDNN in one mode, called in every way, timed; the rows name its kernels."""
        layer = there.layer
        for one, verdict, timed in cudnn.contenders(
            layer.shape,
            *(layer.x, layer.filter, layer.want, layer.atol),
            mode=mode,
            budget_s=self._budget_s,
            compile_fastest=(layer.shape.B, mode) == COMPILED,
            limit=limit,
        ):
            library = Kernel(one.name, Library(one.name))
            row = one.row | {"kernels": "; ".join(one.kernels()), "timing": timed}
            yield Ready(library, one.launch, verdict, 0, verdict.max_error), row


def _left_out(error: Exception, **named: Any) -> Row:
    """Print why something is left out, and return its row."""
    print(f"{named['series']} is left out: {error}")
    return {**named, "left_out": str(error).partition(". ")[0], "timing": None}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a text table of the rows: ms of each kernel and way; of cuDNN's ways the fastest."""
    times = shortest(rows, "series", "way", "layer", "batch")
    places = list(dict.fromkeys(key[2:] for key in times))
    lines = [
        [*kind, *cells(times, [kind + place for place in places])]
        for kind in dict.fromkeys(key[:2] for key in times)
    ]
    head = [
        "ms, cold caches",
        "way",
        *(f"{layer.removeprefix('layer ')}: {batch:,}" for layer, batch in places),
    ]
    return tables.text(head, lines, left=(0, 1))


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the ratios to the yardsticks, measured in turn, and the largest errors: a line each.
    """
    lines = [
        f"{row['layer']}, {row['batch']:,} images: {row['of']} takes {row['ratio']:.2f} times as "
        f"long as {row['to']} "
        f"({row['low']:.2f} to {row['high']:.2f}), {row['median_other_ms']:.4f} and "
        f"{row['median_ours_ms']:.4f} ms"
        for row in rows
        if row["series"] == RATIO
    ]
    for way in dict.fromkeys(row["way"] for row in rows if "way" in row):
        errors = [
            row for row in rows if row.get("way") == way and row.get("relative_error") is not None
        ]
        if errors:
            worst = max(errors, key=lambda row: row["relative_error"])
            where = f"{worst['series']}, {worst['layer']}"
            lines.append(f"{way}: largest relative error {worst['relative_error']:.2g} ({where})")
    return "\n".join(lines)
