"""The recorded benchmark of the layers on tensor cores, beside cuDNN and copies.

    python -m helpers.tools.benchmarks tensor [--budget-s S]

For each layer of `conv2d.LAYERS` and 100, 1,000 and 10,000 images: our kernels in each way
(`ways`), cuDNN in FP32, TF32 and FP16, called in every way of `cudnn.contenders`, and the driver's
device-to-device copy of as many bytes as the layer must move, as floats and as halves. All are
checked before they are timed. Then the fastest of ours in each way and its yardsticks are timed in
turn, A B A B: as ratios with intervals.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import checking, limits, reference, tables
from helpers.bench import cudnn, timing
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import (
    Conv2d,
    ImplicitMma,
    ImplicitWgmma,
    LayerError,
    Problem,
    TensorLayer,
)
from helpers.problems.lenet import network
from helpers.tools.benchmarks.benchmark_base import BenchmarkBase

NAME = "benchmark_tensor"
BATCHES = network.ACCURACY_SIZES
BUDGET_S = 0.05
# torch.compile is tried for one batch and mode of each layer, because its search takes up to 15 s.
COMPILED = (1_000, "FP16")
COPY = {False: "device-to-device copy", True: "device-to-device copy, halves"}
RATIO = "ratio"
UNITS, SPLIT, HALVES, HALF_IO = "FP32 units", "FP32 accuracy", "halves", "FP16 in and out"
# What each way is compared with, of cuDNN: the mode that rounds as it does, or less.
MODES = {UNITS: "FP32", SPLIT: "FP32", HALVES: "TF32", HALF_IO: "FP16"}

Row = dict[str, Any]
Launch = Callable[[Any], None]


def ways(layer: str) -> dict[str, tuple[Conv2d, ...]]:
    """Return the kernels of each way for a layer of `conv2d.LAYERS`.

    Those that refuse its shape are left out of the benchmark, with their reason.
    """
    tiled = conv2d.conv2d_named("conv2d_register_tiled")
    changes = conv2d.OCCUPANCY.get(layer)
    resident = (dataclasses.replace(tiled, **changes),) if changes else ()
    units = (tiled, *resident, *conv2d.SMALL)
    if conv2d.LAYERS[layer].C == 1:
        return {
            UNITS: units,
            SPLIT: (conv2d.mma_quads(), conv2d.implicit_mma(2)),
            HALVES: (conv2d.mma_quads(1), conv2d.implicit_mma()),
            HALF_IO: (conv2d.mma_quads(1, True), conv2d.implicit_mma(1, True)),
        }
    return {
        UNITS: units,
        SPLIT: (conv2d.mma_wgmma(), conv2d.mma_pairs(), conv2d.implicit_mma(2)),
        HALVES: (conv2d.mma_wgmma(1), conv2d.mma_halves(), conv2d.wmma(), conv2d.implicit_mma()),
        HALF_IO: (
            conv2d.mma_wgmma(1, True),
            conv2d.mma_halves(True),
            conv2d.implicit_mma(1, True),
        ),
    }


@dataclasses.dataclass(frozen=True)
class Contender:
    """Something checked that can be timed. free: gives back what it holds."""

    name: str
    launch: Launch
    verdict: checking.Verdict
    free: Callable[[], None]
    row: Row


class TensorBenchmark(BenchmarkBase):
    """The measurements of ``tensor``: ``results.record`` takes `measure`."""

    BUDGET_S = BUDGET_S

    def measure(self) -> Iterator[Row]:
        """Check and time everything.

        Raises checking.CheckError where a kernel is wrong: nothing wrong is timed.
        """
        self.say_what_is_left_out()
        for name, problem, x in self.problems():
            yield from self._problem(name, problem, x)

    def ways(self, layer: str) -> dict[str, tuple[Conv2d, ...]]:
        """Return the kernels of each way for a layer."""
        return ways(layer)

    def _problem(self, name: str, problem: Problem, x: np.ndarray) -> Iterator[Row]:
        told = {"layer": name, "batch": problem.shape.B}
        copies = {halves: self.copy(problem.shape, halves) for halves in (False, True)}
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
        """Rows of our kernels in one way, and of the ratios of the fastest to its yardsticks."""
        found: list[tuple[Contender, Row]] = []
        for spec in specs:
            try:
                ours = self.contender(way, spec, problem, x)
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
            ratio = {
                "ratio": pair.ratio,
                "low": pair.low,
                "high": pair.high,
                "different": pair.different,
            }
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

    def contender(self, way: str, spec: Conv2d, problem: Problem, x: np.ndarray) -> Contender:
        """One of our kernels, checked. Raises LayerError for a shape that it does not take."""
        row: Row = {"series": spec.name, "way": way, "kernel": spec.sources[-1]}
        name = f"{spec.name}, {way}"
        if isinstance(spec, conv2d.RegisterTiled):
            row |= {"resident": spec.resident, "weights_shared": spec.weights_shared}
            if spec.resident:
                name = f"{spec.name}, {spec.resident} blocks, {way}"
        run = conv2d.compile(spec, problem.shape)
        if isinstance(spec, (TensorLayer, ImplicitMma, ImplicitWgmma)) and spec.half_io:
            return self._halves(spec, run, problem, x, row)

        def launch(stream: Any) -> None:
            run.launch(problem.y, problem.x, problem.filter, stream)

        problem.poison()
        launch(None)
        verdict = problem.check(spec.name, spec.precision)
        row["relative_error"] = problem.relative_error(spec.name, spec.precision)
        return Contender(name, launch, verdict, run.free, row)

    def _halves(
        self,
        spec: TensorLayer | ImplicitMma | ImplicitWgmma,
        run: conv2d.Compiled,
        problem: Problem,
        x: np.ndarray,
        row: Row,
    ) -> Contender:
        """A kernel with halves in and out, on arrays of its own; the oracle checks some images."""
        shape, images = problem.shape, conv2d.some_images(problem.shape.B)
        cells, y = (
            self._cuda.to_device(x.astype(np.float16)),
            self._cuda.mem_alloc(2 * problem.shape.outputs),
        )
        self._cuda.memset_d16(y, 0x7E00, shape.outputs)  # NaN

        def launch(stream: Any) -> None:
            run.launch(int(y), int(cells), problem.filter, stream)

        launch(None)
        self._cuda.Context.synchronize()
        got = np.empty((len(images), *shape.y_shape[1:]), np.float16)
        for place, image in zip(got, images, strict=True):
            self._cuda.memcpy_dtoh(place, int(y) + image * place.nbytes)
        some = np.ascontiguousarray(x[list(images)])
        want = reference.conv2d(some, problem.filter_on_host, shape.stride)
        largest = np.full((1, 1, 1, 1), np.abs(x).max())
        # y is rounded, too.
        atol = spec.precision.atol(largest, problem.filter_on_host) + 2.0**-11 * float(
            np.abs(want).max()
        )
        verdict = checking.check(got.astype(np.float32), want, rtol=0.0, atol=atol, name=spec.name)
        row["relative_error"] = float(
            np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()
        )

        def free() -> None:
            run.free()
            cells.free()
            y.free()

        return Contender(f"{spec.name}, {row['way']}", launch, verdict, free, row)

    def _cudnn(self, problem: Problem, mode: str) -> Iterator[tuple[Contender, Row]]:
        """cuDNN in one mode, called in every way, timed; the rows name the kernels that it took."""
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

    def copy(self, shape: ConvShape, halves: bool) -> Contender:
        """A copy of half the layer's bytes: reading and writing moves what the layer must move."""
        size = limits.conv2d(shape).bytes // (4 if halves else 2)
        source, target = (self._cuda.mem_alloc(size) for _ in range(2))
        self._cuda.memset_d8(source, 1, size)
        self._cuda.memset_d8(target, 0, size)

        def launch(stream: Any) -> None:
            self._cuda.memcpy_dtod_async(int(target), int(source), size, stream)

        def free() -> None:
            source.free()
            target.free()

        launch(None)
        got = np.empty(min(size, 4096), np.uint8)
        self._cuda.memcpy_dtoh(got, int(target) + size - got.size)
        verdict = checking.check(got, np.ones(got.size, np.uint8), rtol=0, name=COPY[halves])
        return Contender(
            COPY[halves], launch, verdict, free, {"series": COPY[halves], "bytes": 2 * size}
        )


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A text table of the rows: ms of each kernel and way; of cuDNN's ways the fastest."""
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
    """The ratios to the yardsticks, measured in turn, and the largest errors: a line each."""
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
