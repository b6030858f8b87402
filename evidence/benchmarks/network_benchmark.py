"""The recorded benchmark of the whole network, ours and PyTorch's: from images to classes.

    python -m evidence.benchmarks lenet [--budget-s S]

For 100, 1,000 and 10,000 images: the time of each of our forms, and of PyTorch in FP32, TF32 and
FP16 in either layout; each launched kernel by kernel, and replayed as one CUDA graph. For 10,000
images in FP16, PyTorch's faster layout is also compiled by `torch.compile`, and replayed as a CUDA
graph. "device" is the time between two events on the stream, the host's work left out; "host" is
the time from the first call until the classes are there, by the host's clock: for few images most
of it is Python. Every network is checked before it is timed. Then ours and PyTorch's fastest of
each mode are timed in turn, as a ratio with its interval.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evidence.benchmarks import cells, shortest
from helpers import checking, tables
from helpers.bench import cudnn, lenet_times, pytorch, timing
from helpers.bench.ratios import Ratio
from helpers.problems import datasets
from helpers.problems.lenet import checks, network, network_plan, pipeline, trained_weights

NAME = lenet_times.BENCHMARK
BATCHES = network.ACCURACY_SIZES
BUDGET_S = 0.1
AS_IT_IS, GRAPH = "launches", "CUDA graph"
# torch.compile is tried in PyTorch's fastest mode, for the largest batch: its search takes 20 s or
# more.
COMPILED_MODE = "FP16"
RATIO = lenet_times.RATIO

Row = dict[str, Any]
Forms = Mapping[str, Sequence[Any]]


class NetworkBenchmark:
    """The measurements of ``lenet``: `measure()` is what ``results.record`` wants.

    forms: layers of a `pipeline.Network` by name; the first is compared with PyTorch. budget_s:
    seconds for each timing.
    """

    def __init__(self, forms: Forms, batches: Sequence[int] = BATCHES, budget_s: float = BUDGET_S):
        self._forms, self._batches, self._budget_s = dict(forms), tuple(batches), budget_s
        self._yardstick = cudnn.why_not()

    def measure(self) -> Iterator[Row]:
        """Check and time everything, and count right answers.

        Raises checking.CheckError where a network is wrong.
        """
        if self._yardstick:
            print(f"PyTorch and CUDA graphs are left out: {self._yardstick}")
        images = datasets.images_at_hand(max(self._batches))
        weights, *others = trained_weights.at_hand()
        for trained in (weights, *others):
            for form, layers in self._forms.items():
                counted = lenet_times.right_answers(trained, images, form, layers, self._batches)
                yield from counted
        for batch in self._batches:
            print(f"{batch:,} images", flush=True)
            with checks.Checker(weights, images.repeated(batch)) as checker:
                yield from self._batch(checker)

    def _batch(self, checker: checks.Checker) -> Iterator[Row]:
        first = next(iter(self._forms))
        for form, layers in self._forms.items():
            with pipeline.Network(checker.weights, checker.batch, layers) as net:
                verdict = checker.check(checker.ready(net), form)
                ways = self._ways(net.launch)
                for way, launch in ways.items():
                    where = {"series": form, "way": way, "batch": checker.batch}
                    yield from self._times(launch, verdict, net.classes_on_host, where)
                if form == first and not self._yardstick:
                    yield from self._pytorch(checker, net.input, ways[GRAPH], verdict)

    def _ways(self, launch: Callable[..., None]) -> dict[str, Callable[..., None]]:
        return (
            {AS_IT_IS: launch}
            if self._yardstick
            else {AS_IT_IS: launch, GRAPH: pytorch.Graph(launch).launch}
        )

    def _pytorch(
        self,
        checker: checks.Checker,
        cells: int,
        ours: Callable[..., None],
        verdict: checking.Verdict,
    ) -> Iterator[Row]:
        """Yield rows of PyTorch in every mode and way, and of the ratios of the fastest to ours."""
        layouts: dict[str, list[str]] = {}  # of each mode, the faster one first
        for way, mode in itertools.product(pytorch.WAYS, cudnn.MODES):
            compiled = way == pytorch.COMPILED
            if compiled and (mode, checker.batch) != (COMPILED_MODE, max(self._batches)):
                continue
            tried = layouts.get(mode, []) if compiled else cudnn.LAYOUTS
            where: Row = {"way": way, "batch": checker.batch}
            fastest, least = None, np.inf
            for net in pytorch.networks(checker.weights, cells, checker.batch, way, (mode,), tried):
                right = net.check(checker.classes)
                of_net = {"series": f"PyTorch, {mode}", "layout": net.layout} | where
                for row in self._times(net.launch, right, net.classes_on_host, of_net):
                    if row["clock"] == "device" and row["timing"].median < least:
                        fastest, least = (net, right), row["timing"].median
                    yield row
                if compiled:
                    break  # the first layout that PyTorch could compile
            if fastest is None:
                continue
            net, right = fastest
            layouts[mode] = sorted(cudnn.LAYOUTS, key=lambda layout: layout != net.layout)
            pair = timing.compare(
                net.launch,
                ours,
                verdicts=(right, verdict),
                names=(net.name, "ours"),
                budget_s=4 * self._budget_s,
            )
            ratio = Ratio.of(pair)
            where |= {"mode": mode, "layout": net.layout}
            found = {**ratio.to_row(), "different": ratio.different}
            yield {"series": RATIO, **where, **found, "timing": None}

    def _times(
        self,
        launch: Callable[..., None],
        verdict: checking.Verdict,
        answer: Callable[[], Any],
        where: Row,
    ) -> Iterator[Row]:
        """Yield the time between two events, and that from the call to the classes on the host."""
        name = f"{where['series']}, {where['way']}"
        timed = timing.time_gpu(launch, verdict=verdict, name=name, budget_s=self._budget_s)
        yield {**where, "clock": "device", "timing": timed}
        call = functools.partial(_answered, launch, answer)
        timed = timing.time_end_to_end(call, verdict=verdict, name=name, budget_s=self._budget_s)
        yield {**where, "clock": "host", "timing": timed}


def forms() -> dict[str, Sequence[Any]]:
    """Return the forms of the network that are timed, by name: the fastest first.

    All have the accuracy of FP32: the checks compare their classes with a plain network's.
    """
    return {
        "FP32 accuracy": network_plan.FASTEST,
        "FP32 accuracy, portable": network_plan.TENSOR_CORES,
        "FP32 units": network_plan.FUSED,
    }


def _answered(launch: Callable[..., None], answer: Callable[[], Any]) -> None:
    launch(None)
    answer()


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a text table of the rows: ms by series, way and clock, of PyTorch's layouts the
    faster.
    """
    times = shortest([row for row in rows if row.get("clock")], "series", "way", "clock", "batch")
    batches = sorted({batch for *_, batch in times})
    lines = [
        [*kind, *cells(times, [(*kind, batch) for batch in batches], ".4f")]
        for kind in dict.fromkeys(key[:3] for key in times)
    ]
    return tables.text(
        ["ms", "how", "clock", *(f"{batch:,}" for batch in batches)], lines, left=(0, 1, 2)
    )


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the ratios of PyTorch's times to ours, and the right answers: a line each."""
    lines = []
    for row in rows:
        if row["series"] == RATIO:
            lines.append(
                f"{row['batch']:,} images: PyTorch, {row['mode']}, {row['way']}, takes "
                f"{row['ratio']:.2f} times as long "
                f"({row['low']:.2f} to {row['high']:.2f})"
            )
        if row["series"] == "accuracy":
            count = f"{row['right']:,} of {row['images']:,} images right"
            lines.append(f"{row['network']}, {row['form']}: {count}")
    return "\n".join(lines)
