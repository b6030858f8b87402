"""What a lab says of the plainest layer's times: which rows it takes, and what it derives."""

from __future__ import annotations

import re

import pytest

from helpers import bench, limits
from helpers.bench import problem, results
from helpers.experiments import layer_times
from helpers.experiments.layer_times import LAYER_TIME, MANY, OP_TIME
from helpers.problems import conv2d
from tests import records

SWAPPED = "C++, one core, loops swapped"


@pytest.fixture(scope="module")
def record() -> results.Record:
    return results.load(results.MEASURED / "107_layer.json")


@pytest.fixture(scope="module")
def times(record) -> layer_times.LayerTimes:
    return layer_times.LayerTimes(record)


def test_copies_are_what_the_layer_time_has_beyond_the_kernel(times):
    whole = times.ms("layer 2", MANY, LAYER_TIME)
    kernel = times.ms("layer 2", MANY, OP_TIME)
    assert times.copies_ms("layer 2", MANY) == pytest.approx(whole - kernel)


def test_the_floor_is_that_of_the_records_gpu(times, record):
    work = limits.conv2d(conv2d.shape_of("layer 1", MANY))
    assert times.floor("layer 1", MANY).compute_s == work.flops / record.device.fp32_peak


def test_a_slower_cpu_program_changes_the_speedup(record, times):
    before = times.speedup("layer 1", layer_times.FEW, SWAPPED)
    slower = layer_times.LayerTimes(records.slower(record, 2.0, series=SWAPPED))
    assert slower.speedup("layer 1", layer_times.FEW, SWAPPED) == pytest.approx(2 * before)


def test_the_title_of_the_copies_holds_only_where_they_are_most_of_the_time(record, times):
    figure = layer_times.copies_figure(times)
    assert "most of the layer time" in figure.axes[0].get_title(loc="left")
    barely = layer_times.LayerTimes(records.slower(record, 0.3, series=LAYER_TIME))
    other = layer_times.copies_figure(barely)
    title = other.axes[0].get_title(loc="left")
    assert "most" not in title and re.search(r"copies take \d+ % in layer 1 and \d+ % in", title)


def test_the_bench_reads_the_kernel_and_cudnn_from_the_record(record, times):
    here = bench.layer("layer 2").sweep("conv2d_basic", "cuDNN", record="107_layer")
    # Timed twice in one run: for the lab's sweep, and beside the copies.
    assert here.ms("conv2d_basic") == pytest.approx(times.ms("layer 2", MANY, OP_TIME), rel=0.01)
    library = [row["median_ms"] for row in record.rows() if row["series"].startswith("cuDNN")]
    assert here.ms("cuDNN") in library


def test_cudnn_has_no_source_and_is_left_out_where_it_is_missing(capsys):
    layer = bench.layer("layer 1", images=2)
    for act in (layer.count, layer.check):
        with pytest.raises(bench.KernelError, match="cuDNN is a library without a source"):
            act("cuDNN")
    with layer.on_device() as there:
        assert problem._ready_or_not_yet(there, layer.kernel("cuDNN")) is None
        assert problem._ready_or_not_yet(there, layer.kernel("conv2d_basic")) is not None
    assert "cuDNN is left out" in capsys.readouterr().out
