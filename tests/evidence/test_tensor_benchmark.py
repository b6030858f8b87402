"""The benchmarks of the layers on tensor cores and of the network, with a clock of 2 ms."""

import itertools
import re

import pytest

from evidence.benchmarks import (
    cells,
    known_layers,
    network_benchmark,
    shortest,
    tensor_benchmark,
)
from evidence.benchmarks.network_benchmark import NetworkBenchmark
from evidence.benchmarks.tensor_benchmark import RATIO, TensorBenchmark
from helpers import bench, device
from helpers.bench import contenders, cudnn, results, timing
from helpers.bench.contenders import COPY, HALF_IO, HALVES, MODES, SPLIT, UNITS
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.lenet import network_plan, pooled
from tests import clock
from tests.support import changed_kernel


@pytest.fixture
def cuda(monkeypatch):
    clock.install(monkeypatch)
    device.select()
    import pycuda.driver

    return pycuda.driver


def only(monkeypatch, layer, *chosen):
    """Leave these ways of a layer, each with its last kernels (first: 0 for all, -1 for one)."""
    left = {way: contenders.ways(layer)[way][first:] for way, first in chosen}
    monkeypatch.setattr(contenders, "ways", lambda _: left)


def flat(rows):
    """Rows as a record gives them back."""
    return [results._measurement(row).row() for row in rows]


def test_every_way_of_a_layer_is_checked_and_timed(cuda):
    free = cuda.mem_get_info()[0]
    rows = list(TensorBenchmark(("layer E1",), (1, 2), budget_s=0.0).measure())
    assert cuda.mem_get_info()[0] == free
    one = [row for row in rows if row["batch"] == 1]
    assert [row["series"] for row in one] == [
        *COPY.values(),
        *("conv2d_register_tiled", "conv2d_register_images", RATIO),
        *("conv2d_mma_quads", "conv2d_implicit_mma_split", RATIO),
        *("conv2d_mma_quads", "conv2d_implicit_mma_async", RATIO),
        *("conv2d_mma_quads", "conv2d_implicit_mma_async", RATIO),
    ]
    floats, halves = 3 * [COPY[False]], [COPY[True]]
    assert [row["of"] for row in one if row["series"] == RATIO] == floats + halves
    (left_out,) = (row["left_out"] for row in one if "left_out" in row)
    assert "484 outputs are no multiple of 8" in left_out
    errors = {row["way"]: row["relative_error"] for row in one if "relative_error" in row}
    assert errors["FP32 units"] < 1e-6 and errors["FP32 accuracy"] < 1e-6 < errors["halves"] < 2e-3
    table = tensor_benchmark.table(flat(rows))
    assert "E1: 1" in table and "E1: 2" in table and "FP32 accuracy" in table
    assert "takes 2.00 times as long as conv2d_mma_quads" in tensor_benchmark.summary(flat(rows))


def test_a_table_has_the_fastest_of_the_layouts():
    rows = [{"series": "cuDNN", "layer": "layer 1", "batch": 1, "median_ms": ms} for ms in (2.5, 4)]
    rows.append({"series": "cuDNN", "layer": "layer 2", "batch": 1, "median_ms": None})
    times = shortest(rows, "series", "way", "layer", "batch")
    assert times == {("cuDNN", "", "layer 1", 1): 2.5}
    assert cells(times, [*times, ("cuDNN", "", "layer 2", 1)]) == ["2.5", "-"]


def test_halves_in_and_out_are_measured_on_arrays_of_their_own(cuda, monkeypatch):
    only(monkeypatch, "layer 1", (HALF_IO, 0))
    free = cuda.mem_get_info()[0]
    rows = list(TensorBenchmark(("layer 1",), (1,), budget_s=0.0).measure())
    assert cuda.mem_get_info()[0] == free
    assert [row["of"] for row in rows if row["series"] == RATIO][-1] == COPY[True]
    found = [row for row in rows if row.get("way") == HALF_IO and row["timing"]]
    assert [row["series"] for row in found] == ["conv2d_mma_quads", "conv2d_implicit_mma_async"]
    assert all(1e-6 < row["relative_error"] < 2e-3 for row in found)


def test_what_refuses_a_layer_is_said(cuda, monkeypatch):
    only(monkeypatch, "layer E2", (UNITS, -1), (SPLIT, 0), (HALVES, 0), (HALF_IO, 0))
    rows = list(TensorBenchmark(("layer E2",), (1,), budget_s=0.0).measure())
    left_out = {row["series"]: row["left_out"] for row in rows if "left_out" in row}
    assert set(left_out) == {"conv2d_wgmma", "conv2d_mma_pairs", "conv2d_mma_halves"}
    assert left_out["conv2d_wgmma"].startswith("conv2d_wgmma is made for layer 2")
    assert [row["way"] for row in rows if row["series"] == RATIO] == list(MODES)


def test_a_wrong_kernel_is_not_timed(cuda, monkeypatch):
    right, wrong = "first.x, first.y, second.x, second.y", "first.x, first.y, second.y, second.x"
    changed_kernel(monkeypatch, "conv2d_mma_quads", right, wrong)
    only(monkeypatch, "layer 1", (SPLIT, 0))
    with pytest.raises(bench.NotReadyError, match="FAIL conv2d_mma_quads"):
        list(TensorBenchmark(("layer 1",), (1,), budget_s=0.0).measure())


def test_layers_of_networks_are_measured_with_their_strides(cuda, monkeypatch):
    layers = {"tiny": ConvShape(2, C=3, M=4, H=9, W=10, K=3, stride=2)}
    monkeypatch.setattr(conv2d, "KNOWN_LAYERS", layers)
    rows = list(known_layers.KnownLayers(budget_s=0.0).measure())
    timed = [row["series"] for row in rows if row["timing"] and "way" in row]
    assert timed == ["conv2d_implicit_mma_split", *(2 * ["conv2d_implicit_mma_async"])]
    assert rows[-1]["layer"] == "tiny" and rows[-1]["batch"] == 2
    ratio = {"series": RATIO, "layer": "tiny"}
    ours = [
        ratio | {"way": HALVES, "of": "cuDNN (PyTorch, TF32), NCHW", "ratio": 0.75},
        ratio | {"way": HALVES, "of": "cuDNN (PyTorch, FP16), NCHW", "ratio": 0.5},
        ratio | {"way": HALF_IO, "of": "cuDNN (PyTorch, FP16), channels_last", "ratio": 0.625},
    ]
    assert known_layers.shares(ours).splitlines()[-1].split() == ["tiny", "-", "0.75", "0.62", "-"]


def test_what_would_begin_too_late_is_left_out_and_said(cuda, monkeypatch):
    """A second passes with each look at the clock: only the first kernel begins within 3 s."""
    only(monkeypatch, "layer 1", (HALVES, 0), (HALF_IO, 0))
    looks = itertools.count()
    monkeypatch.setattr(timing, "monotonic", lambda: float(next(looks)))
    benchmark = TensorBenchmark(("layer 1",), (1,), budget_s=0.0, limit_s=6.0, share=0.5)
    rows = list(benchmark.measure())
    timed = [(row["way"], row["series"]) for row in rows if row["timing"] and "way" in row]
    assert timed == [(HALVES, "conv2d_mma_quads")]
    late = [row for row in rows if "did not begin within" in str(row.get("left_out"))]
    assert all(row["layer"] == "layer 1" and row["batch"] == 1 for row in late)
    assert {(row["way"], row["series"]) for row in late} | set(timed) == {
        (way, name)
        for way in (HALVES, HALF_IO)
        for name in ("conv2d_mma_quads", "conv2d_implicit_mma_async")
    }
    assert "left out" not in tensor_benchmark.table(flat(rows))
    tensor_benchmark.summary(flat(rows))


def test_a_library_that_takes_too_long_is_stopped_between_its_ways(monkeypatch):
    looks = itertools.count(0, 10)
    monkeypatch.setattr(timing, "monotonic", lambda: next(looks))
    monkeypatch.setattr(cudnn, "ways", lambda mode, shape: ["NCHW", "channels_last", "padded"])
    monkeypatch.setattr(cudnn, "Convolution", lambda shape, x, filter, way, mode: Fake(way))
    monkeypatch.setattr(timing, "time_gpu", lambda *_, name, **__: clock.timed(name))
    limit = timing.TimeLimit(15)
    found = []
    with pytest.raises(timing.OutOfTimeError, match="channels_last did not begin within 15 s"):
        for one, *_ in cudnn.contenders(None, 0, 0, want=0, atol=0.0, limit=limit):
            found.append(one.way)
    assert found == ["NCHW"]


class Fake:
    """A way to call cuDNN that is right."""

    def __init__(self, way):
        self.way = self.name = way
        self.launch = None

    def check(self, want, atol):
        return None


def test_the_network_is_timed_from_device_to_device_and_to_the_host(cuda):
    forms = {"tensor cores": network_plan.TENSOR_CORES}
    rows = list(NetworkBenchmark(forms, batches=(1,), budget_s=0.0).measure())
    times = [(row["batch"], row["clock"]) for row in rows if row["series"] == "tensor cores"]
    assert times == [(1, "device"), (1, "host")]
    assert [row["images"] for row in rows if row["series"] == "accuracy"] == [1]
    table = network_benchmark.table(flat(rows))
    assert "tensor cores" in table and "launches" in table
    assert "images right" in network_benchmark.summary(flat(rows))


def test_the_forms_are_the_fastest_and_the_portable():
    forms = network_benchmark.forms()
    assert next(iter(forms)) == "FP32 accuracy"
    assert "FP32 accuracy, portable" in forms
    for layers in forms.values():
        for kernel, pool in zip(layers, pooled.POOLS, strict=True):
            assert pooled.chosen(kernel, pool).pool == pool


def test_all_layers_have_all_ways():
    for layer in conv2d.LAYERS:
        assert list(contenders.ways(layer)) == list(MODES)
        assert all(contenders.ways(layer).values())


def fastest_of_each():
    """Yield (layer, images, way, our least time, cuDNN's fastest row in the mode beside it)."""
    rows = results.load(results.MEASURED / f"{tensor_benchmark.NAME}.json").rows()
    for layer, batch in sorted({(row["layer"], row["batch"]) for row in rows if "way" in row}):
        here = [row for row in rows if (row.get("layer"), row.get("batch")) == (layer, batch)]
        for way, mode in MODES.items():
            ours = min(r["median_ms"] for r in here if r.get("way") == way and "median_ms" in r)
            # A compiled way has a longer name.
            theirs = [row for row in here if row["series"].startswith(f"cuDNN (PyTorch, {mode})")]
            yield layer, batch, way, ours, min(theirs, key=lambda row: row["median_ms"])


def test_ours_are_faster_in_all_cases_as_the_front_page_says():
    cases = {}
    for layer, batch, way, ours, theirs in fastest_of_each():
        factors = cases.setdefault((layer, batch, MODES[way]), [])
        factors.append(theirs["median_ms"] / ours)
    assert len(cases) == 36 and all(max(factors) > 1 for factors in cases.values())
    assert "in all 36 cases" in (results.ROOT / "kernels/README.md").read_text(encoding="utf-8")


def test_the_front_page_says_which_kernels_cudnn_took_where_a_factor_is_above_5():
    """Each such row ran a kernel that the paragraph names, and each name is in one of them."""
    page = (results.ROOT / "kernels/README.md").read_text(encoding="utf-8")
    (paragraph,) = re.findall(r"Where a factor is above 5.*?\n\n", page, re.DOTALL)
    names, seen = set(re.findall(r"`(\w+)`", paragraph)), set()
    for layer, batch, way, ours, theirs in fastest_of_each():
        if theirs["median_ms"] > 5 * ours:
            ran = {name for name in names if name in theirs["kernels"]}
            assert ran, (layer, batch, way, theirs["kernels"])
            seen |= ran
    assert seen == names


def test_the_front_page_says_where_torch_compile_was_tried():
    rows = results.load(results.MEASURED / f"{tensor_benchmark.NAME}.json").rows()
    tried = {
        (row["batch"], row["series"])
        for row in rows
        if "torch.compile" in str(row.get("layout")) and row["series"] != RATIO
    }
    images, mode = tensor_benchmark.COMPILED
    assert tried == {(images, f"cuDNN (PyTorch, {mode})")}
    page = " ".join((results.ROOT / "kernels/README.md").read_text(encoding="utf-8").split())
    assert f"and `torch.compile` for {images:,} images in {mode}" in page
