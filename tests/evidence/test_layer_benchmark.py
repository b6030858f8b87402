"""The benchmark of the convolution layer, run in the simulator with a clock that always says 2 ms.
"""

import dataclasses
from types import SimpleNamespace

import pytest

from evidence.benchmarks import __main__ as benchmarks
from evidence.benchmarks import layer_benchmark
from evidence.benchmarks.layer_benchmark import ACCURACY, COPY, AccuracyError
from helpers import bench, checking, device, launch
from helpers.bench import cudnn, reports, results
from helpers.bench.layers import LIBRARY
from helpers.problems import conv2d, datasets
from helpers.problems.lenet import network, network_plan, pipeline, pooled, trained_weights
from tests import clock
from tests.support import changed_kernel

COMMITTED = results.MEASURED / f"{layer_benchmark.NAME}.json"
SMALL = "layer E2"
# In the place of all: the filter in global and in constant memory, another kernel first, sums from
# zero.
SEVERAL = ("conv2d_basic", "conv2d_tiled_maps", "im2col_gemm", "conv2d_channels_atomics")
FLIPPED = "conv2d_restrict", "(c * K + p) * K + q]", "(c * K + p) * K + K - 1 - q]"


@pytest.fixture
def cuda(monkeypatch):
    clock.install(monkeypatch)
    monkeypatch.delenv(trained_weights.WEIGHTS_VARIABLE, raising=False)
    device.select()
    import pycuda.driver

    return pycuda.driver


def only(monkeypatch, *names):
    monkeypatch.setattr(conv2d, "CONV2D", tuple(conv2d.conv2d_named(name) for name in names))


def times(*batches):
    """The rows of a small layer, timed."""
    return list(layer_benchmark.measure((SMALL,), batches, budget_s=0.0))


@pytest.fixture
def without_accuracies(monkeypatch):
    monkeypatch.setattr(layer_benchmark, "accuracies", lambda batches: iter(()))


# --------------------------------------------------------------------------------------------------
# times


def test_every_kernel_is_checked_and_timed(cuda, without_accuracies, monkeypatch):
    only(monkeypatch, *SEVERAL)
    free = cuda.mem_get_info()[0]
    rows = times(1, 2)
    assert cuda.mem_get_info()[0] == free
    assert [row["series"] for row in rows] == 2 * [COPY, *(spec.name for spec in conv2d.CONV2D)]
    assert all(row["timing"].median == 2.0 for row in rows)
    assert {(row["layer"], row["batch"]) for row in rows} == {(SMALL, 1), (SMALL, 2)}
    assert all(0 < row["relative_error"] <= 1e-6 for row in rows if row["series"] != COPY)
    made = [results._measurement(row) for row in rows]  # plain scalars, as a record holds them
    assert set(results._sources(made)) == {
        name for spec in conv2d.CONV2D for name in spec.sources
    } - {"im2col_basic"}


def test_a_wrong_kernel_is_not_timed(cuda, without_accuracies, monkeypatch):
    only(monkeypatch, "conv2d_basic", "conv2d_restrict")
    changed_kernel(monkeypatch, *FLIPPED)
    with pytest.raises(bench.NotReadyError, match="FAIL conv2d_restrict"):
        times(2)


def test_what_a_kernel_does_not_take_is_said(cuda, without_accuracies, monkeypatch):
    narrow = dataclasses.replace(conv2d.conv2d_named("conv2d_constant"), largest_width=3)
    monkeypatch.setattr(conv2d, "CONV2D", (conv2d.conv2d_named("conv2d_basic"), narrow))
    _, basic, constant = times(1)
    assert basic["timing"] is not None
    assert constant["timing"] is None
    assert constant["left_out"].startswith("conv2d_constant takes filters up to K = 3, got 7")


def test_scratch_takes_half_of_the_free_memory_at_most():
    spec, shape = conv2d.conv2d_named("im2col_gemm"), conv2d.shape_of("layer 2", 100)
    one = spec.scratch(dataclasses.replace(shape, B=1))
    assert layer_benchmark.sized(spec, shape, 1000 * one) is spec
    assert layer_benchmark.sized(spec, shape, 20 * one).images == 10
    assert layer_benchmark.sized(spec, shape, one).images == 1
    basic = conv2d.conv2d_named("conv2d_basic")
    assert layer_benchmark.sized(basic, shape, 1) is basic


def test_the_yardstick_is_measured_where_it_is(cuda, without_accuracies, monkeypatch):
    only(monkeypatch, "conv2d_basic")
    verdict = checking.check([1.0], [1.0], rtol=0)

    def contenders(shape, *arrays, budget_s):
        for ms in (3.0, 2.0):
            launch = SimpleNamespace(launch=lambda stream: None, ms=ms)
            yield launch, verdict, SimpleNamespace(median=ms)

    monkeypatch.setattr(cudnn, "contenders", contenders)
    *_, last = times(2)
    assert (last["series"], last["layer"], last["batch"]) == (LIBRARY, SMALL, 2)
    assert last["timing"].median == 2.0 and "kernel" not in last


# --------------------------------------------------------------------------------------------------
# accuracy


@pytest.fixture
def agreed(cuda, monkeypatch):
    """Two images whose labels are what NumPy's network says of them: of these it is known that both
    are classified right.
    """
    weights, images = trained_weights.lenet_weights(), datasets.fashion_mnist("test", 2)
    images = dataclasses.replace(images, labels=network.predict(images.pixels, weights))
    monkeypatch.setattr(datasets, "fashion_mnist", lambda split, count=None: images)
    monkeypatch.setattr(layer_benchmark, "_networks", lambda: [(weights, {1: 1, 2: 2})])


def test_with_every_kernel_the_network_is_the_network(cuda, agreed, monkeypatch):
    only(monkeypatch, *SEVERAL)
    free = cuda.mem_get_info()[0]
    rows = list(layer_benchmark.accuracies((1, 2)))
    assert cuda.mem_get_info()[0] == free
    assert [(row["with"], row["images"], row["right"]) for row in rows] == [
        (spec.name, count, count) for spec in conv2d.CONV2D for count in (1, 2)
    ]
    assert set(rows[0]) == {
        "series",
        "with",
        "kernel",
        "network",
        "images",
        "right",
        "data",
        "timing",
    }
    assert {row["kernel"] for row in rows} == {spec.sources[0] for spec in conv2d.CONV2D}
    assert all(row["series"] == ACCURACY and row["timing"] is None for row in rows)


def test_a_wrong_kernel_gets_another_count_than_is_known(agreed, monkeypatch):
    only(monkeypatch, "conv2d_basic", "conv2d_restrict")
    changed_kernel(monkeypatch, *FLIPPED)
    with pytest.raises(
        AccuracyError,
        match=r"with conv2d_restrict in both .* [01] of the first [12] images right; .* it is [12]",
    ):
        list(layer_benchmark.accuracies((1, 2)))


def test_outputs_that_a_kernel_leaves_are_no_class(cuda, agreed, monkeypatch):
    only(monkeypatch, "conv2d_restrict")
    alloc = cuda.mem_alloc

    # As with what another kernel has left there, nothing in the memory itself tells.
    def with_zeros(size):
        array = alloc(size)
        cuda.memset_d8(array, 0, size)
        return array

    monkeypatch.setattr(cuda, "mem_alloc", with_zeros)
    changed_kernel(monkeypatch, "conv2d_restrict", "h < out_h && w", "h < out_h - 1 && w")
    with pytest.raises(ValueError, match="conv2d_restrict: 2 of 2 images have NaN"):
        list(layer_benchmark.accuracies((2,)))


def test_the_scratch_of_both_layers_takes_half_of_the_free_memory_at_most(
    cuda, agreed, monkeypatch
):
    only(monkeypatch, "im2col_gemm")
    (whole,) = conv2d.CONV2D
    one = [whole.scratch(conv2d.shape_of(name, 1)) for name in pooled.LAYERS]
    monkeypatch.setattr(cuda, "mem_get_info", lambda: (8 * max(one), 10**12))
    asked, stages = [], network_plan.stages

    def watched(*given, **how):
        steps = stages(*given, **how)
        asked.extend(launch.scratch_bytes(step.plan) for step in steps if step.kernel == whole.name)
        return steps

    monkeypatch.setattr(pipeline, "stages", watched)
    assert [spec.images for spec in layer_benchmark._both_layers(whole, 100)] == [
        8 * max(one) // 4 // each for each in one
    ]
    monkeypatch.setattr(cuda, "mem_get_info", lambda: (4 * max(one), 10**12))
    assert [row["right"] for row in layer_benchmark.accuracies((1, 2))] == [1, 2]
    assert asked == one


def test_a_network_counts_the_scratch_of_its_layers(cuda, monkeypatch):
    scratch = [
        conv2d.conv2d_named("im2col_gemm").scratch(conv2d.shape_of(name, 4))
        for name in pooled.LAYERS
    ]
    monkeypatch.setattr(cuda, "mem_get_info", lambda: (sum(scratch), 10**12))
    with pytest.raises(conv2d.LayerError, match=r"4 images need .* take a batch of [23],"):
        pipeline.Network(trained_weights.lenet_weights(), 4, ("im2col_gemm", "im2col_gemm"))


def test_another_count_than_is_known_is_an_error(cuda, monkeypatch):
    only(monkeypatch, "conv2d_basic")
    weights = trained_weights.lenet_weights()
    (row,) = layer_benchmark.accuracies((2,))
    right = row["right"]
    assert row["data"] == "Fashion-MNIST" and 0 <= right <= row["images"] == 2
    monkeypatch.setattr(layer_benchmark, "_networks", lambda: [(weights, {2: right})])
    assert [row["right"] for row in layer_benchmark.accuracies((2,))] == [right]
    monkeypatch.setattr(layer_benchmark, "_networks", lambda: [(weights, {2: right + 1})])
    with pytest.raises(
        AccuracyError,
        match=f"with conv2d_basic in both convolutions.*{right} of the first 2 images.*{right + 1}",
    ):
        list(layer_benchmark.accuracies((2,)))


def test_what_is_known_of_the_networks(monkeypatch, capsys):
    monkeypatch.delenv(trained_weights.WEIGHTS_VARIABLE, raising=False)
    ((ours, known),) = layer_benchmark._networks()
    assert ours.name == "the labs' LeNet"
    assert set(known) == set(layer_benchmark.BATCHES)
    assert known[10_000] >= 8_900
    assert (
        "the course's LeNet is left out: COURSE_WEIGHTS does not name its file"
        in capsys.readouterr().out
    )
    monkeypatch.setenv(trained_weights.WEIGHTS_VARIABLE, "somewhere")
    monkeypatch.setattr(trained_weights, "course_weights", lambda: ours)
    assert layer_benchmark._networks()[1][1] == {100: 86, 1_000: 886, 10_000: 8_714}
    for row in reports.rows("course_reports"):
        if row["report"] != "E" and row["optimization"] == "constant memory":
            assert layer_benchmark.KNOWN_RIGHT[row["batch"]] == round(
                row["accuracy"] * row["batch"]
            )


@pytest.mark.gpu
def test_every_kernel_gets_the_known_counts_and_a_wrong_one_does_not(monkeypatch):
    layer_benchmark.compile_ahead(conv2d.shape_of(name, 1_000) for name in pooled.LAYERS)
    rows = list(layer_benchmark.accuracies((100, 1_000)))
    known = {weights.name: of_weights for weights, of_weights in layer_benchmark._networks()}
    assert {(row["network"], row["with"]) for row in rows} == {
        (name, spec.name) for name in known for spec in conv2d.CONV2D
    }
    assert all(row["right"] == known[row["network"]][row["images"]] for row in rows)
    only(monkeypatch, "conv2d_restrict")
    changed_kernel(monkeypatch, *FLIPPED)
    with pytest.raises(AccuracyError, match="with conv2d_restrict in both convolutions"):
        list(layer_benchmark.accuracies((100, 1_000)))


# --------------------------------------------------------------------------------------------------
# record and table


def test_the_committed_record_is_whole():
    record = results.load(COMMITTED)
    assert COMMITTED.stat().st_size < 600_000
    rows = record.rows()
    places = {(name, batch) for name in conv2d.LAYERS for batch in layer_benchmark.BATCHES}
    for spec in conv2d.CONV2D:
        of_kernel = [row for row in rows if row["series"] == spec.name]
        assert {(row["layer"], row["batch"]) for row in of_kernel} == places
        assert all("median_ms" in row or row["left_out"] for row in of_kernel)
        assert all(row["relative_error"] <= 1e-6 for row in of_kernel if "median_ms" in row)
    for row in rows:
        if row["series"] == ACCURACY and row["network"] == layer_benchmark.COURSE:
            assert row["right"] == layer_benchmark.KNOWN_RIGHT[row["images"]]


def test_the_command_prints_the_recorded_run(capsys):
    assert benchmarks.main(["conv2d"]) == 0
    text = capsys.readouterr().out
    assert "Recorded on" in text
    assert "conv2d_register_tiled" in text
    assert "largest relative error against float64" in text


def test_a_timing_of_the_layers_gets_less_time_than_others():
    assert benchmarks._arguments(["conv2d"]).budget_s == layer_benchmark.BUDGET_S
    assert benchmarks._arguments(["conv2d", "--budget-s", "0.5"]).budget_s == 0.5


def test_summary_tells_what_differs():
    rows = [
        {"series": "a", "layer": "layer 1", "batch": 100, "relative_error": 2e-7, "median_ms": 1.0},
        {"series": "b", "layer": "layer 1", "batch": 100, "left_out": "it is slow"},
        {"series": ACCURACY, "with": "a", "network": "net", "images": 10, "right": 8},
        {"series": ACCURACY, "with": "b", "network": "net", "images": 10, "right": 9},
    ]
    assert layer_benchmark.summary(rows).splitlines() == [
        "left out: b, layer 1, 100 images: it is slow",
        "largest relative error against float64: 2e-07 (a, layer 1, 100 images)",
        "net: 8 or 9 of 10 images right with each of 2 kernels",
    ]
