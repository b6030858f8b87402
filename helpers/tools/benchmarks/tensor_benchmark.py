"""The recorded benchmark of the layers on tensor cores, beside cuDNN and copies.

    python -m helpers.tools.benchmarks tensor [--budget-s S]

For each layer of `conv2d.LAYERS` and 100, 1,000 and 10,000 images: our kernels in each way
(`contenders.ways`), cuDNN in FP32, TF32 and FP16, called in every way of `cudnn.contenders`, and
the driver's device-to-device copy of as many bytes as the layer must move, as floats and as halves.
All are checked before they are timed. Then the fastest of ours in each way and its yardsticks are
timed in turn, A B A B: as ratios with intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import tables
from helpers.bench import contenders, cudnn, timing
from helpers.bench.contenders import HALF_IO, MODES, Contender
from helpers.problems import conv2d
from helpers.problems.conv2d import Conv2d, LayerError, Problem
from helpers.problems.lenet import network

NAME = contenders.RECORD
BUDGET_S = 0.05
# torch.compile is tried for one batch and mode of each layer, because its search takes up to 15 s.
COMPILED = (1_000, "FP16")
RATIO = "ratio"

Row = dict[str, Any]


class TensorBenchmark:
    """The measurements of ``tensor``: ``results.record`` takes `measure`.

    layers: names of `conv2d.LAYERS`; batches: numbers of images; budget_s: seconds for each timing.
    """

    def __init__(
        self,
        layers: Sequence[str] = tuple(conv2d.LAYERS),
        batches: Sequence[int] = network.ACCURACY_SIZES,
        budget_s: float = BUDGET_S,
    ):
        self._layers, self._batches, self._budget_s = tuple(layers), tuple(batches), budget_s
        self._yardstick = cudnn.why_not()  # why cuDNN is left out, or ""

    def measure(self) -> Iterator[Row]:
        """Check and time everything.

        Raises checking.CheckError where a kernel is wrong: nothing wrong is timed.
        """
        if self._yardstick:
            print(f"{cudnn.NAME} is left out: {self._yardstick}")
        for name, problem, x in self.problems():
            yield from self._problem(name, problem, x)

    def problems(self) -> Iterator[tuple[str, Problem, np.ndarray]]:
        """Yield the name of each layer, its problem on the device for each batch, and its cells."""
        for name in self._layers:
            x, filter = conv2d.inputs(name, max(self._batches))
            for batch in self._batches:
                print(f"{name}, {batch:,} images", flush=True)
                with Problem(conv2d.shape_of(name, batch), x[:batch], filter) as problem:
                    yield name, problem, x[:batch]

    def ways(self, layer: str) -> dict[str, tuple[Conv2d, ...]]:
        """Return the kernels of each way for a layer."""
        return contenders.ways(layer)

    def _problem(self, name: str, problem: Problem, x: np.ndarray) -> Iterator[Row]:
        told = {"layer": name, "batch": problem.shape.B}
        copies = {halves: contenders.copy(problem.shape, halves) for halves in (False, True)}
        vendors: dict[str, Contender] = {}
        try:
            for contender in copies.values():
                yield told | self.timed(contender)
            for mode in cudnn.MODES if not self._yardstick else ():
                fastest = np.inf
                for one, row in self._cudnn(problem, mode):
                    yield told | row
                    if row["timing"].median < fastest:
                        fastest, vendors[mode] = row["timing"].median, one
            for way, specs in self.ways(name).items():
                yield from (
                    told | row for row in self._way(way, specs, problem, x, copies, vendors)
                )
        finally:
            for contender in (*copies.values(), *vendors.values()):
                contender.free()

    def _way(
        self,
        way: str,
        specs: Sequence[Conv2d],
        problem: Problem,
        x: np.ndarray,
        copies: Mapping[bool, Contender],
        vendors: Mapping[str, Contender],
    ) -> Iterator[Row]:
        """Yield rows of our kernels in one way, and of the ratios of the fastest to its yardsticks.
        """
        found: list[tuple[Contender, Row]] = []
        for spec in specs:
            try:
                ours = contenders.ours(way, spec, problem, x)
            except LayerError as error:
                print(f"{spec.name} is left out: {error}")
                left_out = str(error).partition(". ")[0]
                yield {
                    "series": spec.name,
                    "way": way,
                    "kernel": spec.sources[-1],
                    "left_out": left_out,
                    "timing": None,
                }
                continue
            found.append((ours, self.timed(ours)))
            yield found[-1][1]
        if not found:
            return
        best, _ = min(found, key=lambda pair: pair[1]["timing"].median)
        yardsticks = [
            copies[way == HALF_IO],
            *(vendors[mode] for mode in {MODES[way]: 0, "FP16": 0} if mode in vendors),
        ]
        for other in yardsticks:
            pair = timing.compare(
                other.launch,
                best.launch,
                verdicts=(other.verdict, best.verdict),
                names=(other.name, best.name),
                budget_s=4 * self._budget_s,
            )
            ratio = {**pair.to_row(), "different": pair.different}
            both = {"median_ours_ms": pair.b.median, "median_other_ms": pair.a.median}
            yield {
                "series": RATIO,
                "way": way,
                "of": other.name,
                "to": best.name,
                **ratio,
                **both,
                "timing": None,
            }
        for ours, _ in found:
            ours.free()

    def timed(self, contender: Contender) -> Row:
        """Return the row of a contender, with its time."""
        timed = timing.time_gpu(
            contender.launch,
            verdict=contender.verdict,
            name=contender.name,
            budget_s=self._budget_s,
        )
        return {**contender.row, "timing": timed}

    def _cudnn(self, problem: Problem, mode: str) -> Iterator[tuple[Contender, Row]]:
        """Yield cuDNN in one mode, called in every way, timed; the rows name its kernels."""
        arrays = problem.x, problem.filter, problem.want, problem.atol
        compile_fastest = (problem.shape.B, mode) == COMPILED
        for one, verdict, timed in cudnn.contenders(
            problem.shape,
            *arrays,
            mode=mode,
            budget_s=self._budget_s,
            compile_fastest=compile_fastest,
        ):
            row = one.row | {"kernels": "; ".join(one.kernels())}
            contender = Contender(one.name, one.launch, verdict, lambda: None, row)
            yield contender, row | {"timing": timed}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a text table of the rows: ms of each kernel and way; of cuDNN's ways the fastest."""
    times = [row for row in rows if row.get("median_ms") is not None]
    places = list(dict.fromkeys((row["layer"], row["batch"]) for row in times))
    series = list(dict.fromkeys((row["series"], row.get("way", "")) for row in times))
    lines = []
    for name, way in series:
        cells = []
        for place in places:
            of_place = (row for row in times if (row["layer"], row["batch"]) == place)
            same = (r for r in of_place if (r["series"], r.get("way", "")) == (name, way))
            here = [row["median_ms"] for row in same]
            cells.append(f"{min(here):.4g}" if here else "-")
        lines.append([name, way, *cells])
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
    for way in MODES:
        errors = [
            row for row in rows if row.get("way") == way and row.get("relative_error") is not None
        ]
        if errors:
            worst = max(errors, key=lambda row: row["relative_error"])
            where = f"{worst['series']}, {worst['layer']}"
            lines.append(f"{way}: largest relative error {worst['relative_error']:.2g} ({where})")
    return "\n".join(lines)
