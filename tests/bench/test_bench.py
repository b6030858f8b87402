"""The bench: kernels of a problem are checked, counted, compared; cells go where names go."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import bench, checking, device, kernel_cells, kernels, simulator
from helpers.bench import figures, old_records, on_device, plan_bounds, problem, results, timing
from helpers.bench.counts import NOT_YET
from helpers.bench.memory import Memcpy
from helpers.bench.products import Copies
from helpers.experiments import channel_sums, gemm_ladder, tiles
from helpers.limits import ConvShape
from helpers.plotting import descriptions, memory, styles
from helpers.problems import conv2d
from helpers.simulator import bounds

SMALL = ConvShape(B=2, C=2, M=3, H=21, W=30, K=4)
TILED = "conv2d_tiled"


@pytest.fixture(scope="module", autouse=True)
def _selected():
    device.select()


@pytest.fixture
def small():
    return bench.layer(images=2, shape=SMALL)


def cell_of(name: str, *changes: tuple[str, str], of: str = TILED, options: str = ""):
    """What a student would write: a kernel of ours under a name, with changes."""
    text = kernels.source(of).replace(f" {of}(", f" {name}(")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return kernel_cells.parse(f"%%kernel {name} {options}\n{text}")


# ---- Kernels


def test_a_size_is_a_constant_of_the_source_or_a_field_of_the_record(small):
    wide = small.kernel(TILED, TILE_WIDTH=20)
    assert wide.spec == conv2d.conv2d_named(TILED).with_tile(20)
    assert wide.title == "conv2d_tiled, tile_width 20"
    flat = small.kernel("conv2d_basic", block=(32, 8))
    assert flat.spec.block == (32, 8) and flat.spec.tile == (32, 8, 1)
    assert dict(flat.settings) == {"block": "32 x 8"}
    patch = small.kernel("conv2d_register", PATCH_WIDTH=2)
    assert ("PATCH_WIDTH", 2) in patch.spec.constants


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda small: small.kernel("conv2d_tild"), "there is no convolution layer kernel"),
        (lambda small: small.kernel(TILED, WIDTH=3), "conv2d_tiled has no size 'WIDTH'; it has"),
        (lambda small: small.kernel(TILED, tile=32), "tile of conv2d_tiled is several whole"),
        (lambda small: small.kernel(TILED, block=(32, 8.5)), "block of conv2d_tiled is several"),
        (lambda small: small.kernel(TILED, TILE_WIDTH=2.5), "TILE_WIDTH of conv2d_tiled is a"),
        (lambda small: small.kernel("conv2d_tiled_maps", MAPS="all"), "MAPS of conv2d_tiled_maps"),
        (lambda small: small.kernel("conv2d_wmma", skew=1.5), "skew of conv2d_wmma is a whole"),
        (lambda small: small.sweep(TILED, TILE_WIDTH=8), "TILE_WIDTH of a sweep is several values"),
        (lambda small: bench.conv1d(n=99).kernel("conv1d_basic", threads="all"), "threads of"),
        (lambda small: bench.conv1d(n=99).check(small), "is no kernel: give a name"),
        (lambda small: small.kernel(7), "7 is no kernel: give a name of kernels/"),
        (lambda small: small.kernel(TILED).changed("no such line", ""), "has no 'no such line'"),
        (lambda small: small.kernel(TILED).changed("one"), "give the old text and the new one"),
        (lambda small: small.kernel(cell_of("mine")), 'like="conv2d_constant"'),
        (
            lambda small: small.check(
                small.kernel(cell_of("mine"), like=TILED, arguments="y x Height")
            ),
            "yours: mine wants 'Height'; its arguments can be y, x, filter, B,",
        ),
    ],
)
def test_what_is_no_kernel_is_refused_with_what_to_type(small, make, words):
    with pytest.raises(bench.KernelError, match=words.replace("(", r"\(")):
        make(small)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bench.conv1d(n=0), "n is 0; the number of cells is at least 1"),
        (lambda: bench.conv1d(n="a"), "n is 'a'; the number of cells is a whole number"),
        (lambda: bench.gemm(64, 0), "cols is 0; a side of a matrix is at least 1"),
        (lambda: bench.product(steps=0), "the number of steps is at least 1"),
        (lambda: bench.axpy(-5), "n is -5; the number of elements is at least 1"),
        (lambda: bench.memcpy(True), "n is True; the number of floats is a whole number"),
        (lambda: bench.network(0), "the number of images is at least 1"),
        (lambda: bench.layer("layer 2", 0), "the number of images is at least 1"),
        (lambda: bench.bars(3), "got 3, and a figure draws what compare"),
        (lambda: bench.bars(["layer 1"]), "a figure draws what compare"),
        (lambda: bench.curve({}, by="maps"), "there are no times to draw"),
    ],
)
def test_what_is_no_problem_and_no_times_is_refused(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


# ---- Checks


@pytest.mark.parametrize("name", [TILED, "conv2d_basic", "conv2d_register_tiled", "im2col_gemm"])
def test_right_kernels_pass(small, name):
    passed = small.check(name)
    assert passed and str(passed).startswith(f"PASS {name}, ")


def test_a_cell_has_the_launch_of_the_kernel_of_its_name_and_the_sizes_of_the_problem(small):
    cell = cell_of(TILED, options="-DFILTER_WORDS=1 -DTILE_WIDTH=4")
    assert small.check(cell) and bench.layer("layer 2").check(cell)
    assert small.check(small.kernel(cell_of("mine"), like=TILED))


def test_a_cell_may_have_a_launch_of_its_own(small):
    text = """%%kernel flat
    __constant__ float filter[FILTER_WORDS];
    __global__ void flat(float* y, const float* x, int C, int M, int H, int W, int K)
    {
        const int w = blockIdx.x % ((W - K + 8) / 8) * 8 + threadIdx.x;
        const int h = blockIdx.x / ((W - K + 8) / 8) * 4 + threadIdx.y;
        if (w > W - K || h > H - K) return;
        float sum = 0;
        for (int c = 0; c < C; ++c)
            for (int p = 0; p < K; ++p)
                for (int q = 0; q < K; ++q)
                    sum += x[((blockIdx.z * C + c) * H + h + p) * W + w + q]
                         * filter[((blockIdx.y * C + c) * K + p) * K + q];
        y[((blockIdx.z * M + blockIdx.y) * (H - K + 1) + h) * (W - K + 1) + w] = sum;
    }"""
    cell = kernel_cells.parse(text)
    mine = small.kernel(cell, like="conv2d_constant", arguments="y x C M H W K", block=(8, 4))
    assert small.check(mine)
    assert not small.check(small.kernel(cell, like="conv2d_constant", arguments="y x M C H W K"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([("c < C", "c < C - 1")], "only the first channel is summed"),
        ([("        __syncthreads();   // the next channel overwrites", "   //")], "race: "),
        ([("p < K; ++p", "p < K - 1; ++p")], "the last row of the filter is left out"),
        ([("if (h < out_h && w < out_w", "if (h < out_h")], "FAIL yours"),
    ],
)
def test_wrong_cells_are_rejected_with_the_reason(small, changes, words):
    wrong = small.check(cell_of(TILED, *changes))
    assert not wrong and words in str(wrong)
    assert (wrong.wrong > 0) == ("values are wrong" in str(wrong))


def test_a_text_that_does_not_compile_is_a_failed_check(small):
    wrong = small.check(cell_of(TILED, ("float sum", "flot sum")))
    assert not wrong and "flot" in str(wrong)


def test_a_cell_that_has_not_run_is_not_there_yet(small):
    missing = bench.yours("conv2d_tiled")
    assert "has not run" in str(small.check(missing))
    assert NOT_YET in small.count("conv2d_constant", missing).table()
    changed = small.kernel(missing).changed("[PITCH]", "[48]", label="another pitch")
    assert "has not run" in str(small.check(changed))


def test_a_text_with_arrays_of_its_own_sizes_gets_no_dynamic_shared_memory(small):
    (ours,) = small.plan(small.kernel(TILED))
    own_size = ("extern __shared__ float tile[]", "__shared__ float tile[484]")
    (static,) = small.plan(small.kernel(cell_of(TILED, own_size)))
    (dynamic,) = small.plan(small.kernel(cell_of(TILED, ("extern __", "extern  __align__(8) __"))))
    assert ours.shared == dynamic.shared > static.shared == 0


def test_a_cell_of_the_notebook_is_found_by_its_name(monkeypatch):
    cell = cell_of(TILED)
    shell = SimpleNamespace(user_ns={TILED: cell, "x": 1})
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    assert bench.yours(TILED) is cell
    assert isinstance(bench.yours("x"), type(bench.yours("nothing")))


# ---- Counts


def test_counts_are_those_of_the_simulator_for_32_outputs(small):
    seen = small.count(TILED)[0]
    x, filter = small.one.inputs()
    y, (want,) = conv2d.simulate(TILED, x, filter)
    assert seen.profile.counters() == want.counters()
    assert seen.per(32, "global_load_requests") == 32 * want.global_load_requests / y.size
    row = small.count(TILED).table("requests", "idle").splitlines()[-1].split()
    assert row == [TILED, f"{seen.per(32, 'global_load_requests'):.1f}", f"{seen.idle:.0%}"]


def test_a_students_kernel_is_counted_once_it_is_right(small):
    right, wrong = cell_of(TILED), cell_of(TILED, ("c < C", "c < C - 1"))
    table = small.count(TILED, right, wrong).table()
    ours, mine, other = (line.split("  ") for line in table.splitlines()[-3:])
    assert ours[-6:] == mine[-6:] and mine[0] == f"yours: {TILED}"
    assert other[0] == NOT_YET and {part.strip() for part in other[1:]} == {"", "-"}


def test_a_counter_that_there_is_not_is_named(small):
    with pytest.raises(KeyError, match="there is no counter 'lods'; choose from instructions"):
        small.count(TILED).table("lods")
    with pytest.raises(KeyError, match="nothing was counted of 'conv2d_basic'"):
        small.count(TILED)["conv2d_basic"]


def test_pictures_say_how_many_sectors(small):
    figure = small.count("conv2d_constant", TILED).picture("x")
    asked, different = small.count("conv2d_constant")[0].sectors("x")
    assert f"asks for {asked} sectors of x, {different} different" in figure.axes[0].get_title(
        loc="left"
    )
    assert "wavefront" in small.count(TILED).picture("tile").axes[0].get_title(loc="left")
    with pytest.raises(ValueError, match="no warp that was watched makes a load of 'tile'"):
        small.count("conv2d_constant").picture("tile")


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (bench.conv1d(10**6, 7), ("conv1d_constant", "conv1d_tiled_input", "conv1d_vector")),
        (bench.product(100, 4), ("split_product", "gemm_tiled")),
        (bench.mma(), ("mma_one_warp", "mma_ldmatrix")),
        (bench.copies(10**6, 7), ("copy_plain", "copy_async", "copy_bulk")),
        (bench.axpy(10**6), ("axpy_basic",)),
    ],
)
def test_other_problems_are_checked_and_counted_alike(other, names):
    assert all(map(other.check, names)) and len(other.count(*names)) == len(names)
    with pytest.raises(bench.KernelError, match=f"choose from .*{names[0]}"):
        other.kernel("no_such_kernel")
    with pytest.raises(bench.KernelError, match="has no size 'MAPS'"):
        other.kernel(names[0], MAPS=2)
    assert other.work.bytes > 4 * other.outputs


def test_a_wrong_kernel_of_another_problem_is_rejected():
    line = bench.conv1d(10**6, 7)
    for wide in (
        line.kernel("conv1d_tiled_steps", TILE_WIDTH=64),
        line.kernel("conv1d_tiled_input", TILE_WIDTH=128),
        line.kernel("conv1d_outputs", OUTPUTS=3),
    ):
        assert line.check(wide), "a block has the threads of its tile"
    wrong = line.kernel("conv1d_constant").changed("filter[j]", "filter[FILTER_WIDTH - 1 - j]")
    assert "the filter is flipped" in str(line.check(wrong))
    sums = bench.axpy(10**6)
    wrong = sums.kernel("axpy_basic").changed("+ y[i]", "")
    assert "a * x alone, without y" in str(sums.check(wrong))
    product = bench.product(10, 4)
    assert not product.check(product.kernel("gemm_tiled").changed("sum +=", "sum ="))
    one = bench.mma()
    rows = one.kernel("mma_ldmatrix").changed(".x2.trans.", ".x2.")
    assert "both squares of B are transposed" in str(one.check(rows))


def test_a_table_counts_for_as_many_outputs_as_it_is_asked():
    seen = bench.mma().count("mma_one_warp")
    assert seen.table("requests", outputs=128).split()[-1] == "8.0"
    assert seen.table("requests").split()[-1] == "2.0"


# ---- Times

MS = {"conv2d_constant": 2.0, TILED: 1.0}


class FakeDevice(on_device.OnDevice):
    """A device on which a kernel computes what it computes in the simulator."""

    def ready(self, kernel):
        one = self.problem.kernel(kernel)
        if not one.is_ours and not (first := self.problem.check(one)):
            raise on_device.NotReadyError(str(first))
        verdict = checking.check(np.ones(3), np.ones(3), rtol=0)
        return on_device.Ready(one, lambda stream=None: None, verdict, 32, 1e-7)


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    """A GPU whose clock says MS for each kernel, and half of it for a student's."""

    def timed(name, *_, **__):
        ms = MS.get(name.split(",")[0].removeprefix("yours: "), 3.0)
        ms = ms / 2 if name.startswith("yours") else ms
        return timing.Timing.of(name, [ms] * 10, what="kernel", device="a GPU", cache="cold")

    def compared(a, b, *, verdicts, names, **_):
        one, other = map(timed, names)
        ratio = one.median / other.median
        return timing.Comparison(ratio, 0.99 * ratio, 1.01 * ratio, one, other)

    chosen = dataclasses.replace(device.select(), kind="gpu", name="a GPU")
    monkeypatch.setattr(device, "select", lambda: chosen)
    monkeypatch.setattr(results, "_software", lambda _: {})
    monkeypatch.setattr(results, "_begun", {})
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path))
    monkeypatch.setattr(timing, "compare", compared)
    monkeypatch.setattr(timing, "time_gpu", lambda run, *, name, **_: timed(name))
    for kind in ("problem.Problem", "layers.Layer", "convolutions.Convolution"):
        monkeypatch.setattr(f"helpers.bench.{kind}.on_device", lambda self: FakeDevice(self))
    return chosen


def test_a_comparison_writes_a_record_with_one_schema(small, gpu, tmp_path):
    times = small.compare("conv2d_constant", TILED, record="111_try")
    assert times.ratio(TILED).value == 0.5 and times.ms("conv2d_constant") == 2.0
    record = results.load(tmp_path / "111_try.json")
    assert record.lab == "111_conv2d_tiles" and set(record.sources) == {"conv2d_constant", TILED}
    row = record.one(series=TILED)
    assert (row["over"], row["ratio"], row["low"]) == ("conv2d_constant", 0.5, 0.495)
    assert row["registers"] == 32 and row["channels"] == SMALL.C
    again = bench.Times.read(record, small, [small.kernel(TILED)], small.kernel("conv2d_constant"))
    assert again.ratio(TILED) == times.ratio(TILED)


def test_a_second_experiment_goes_to_the_same_record_and_a_repeated_one_takes_its_place(small, gpu):
    small.compare("conv2d_constant", TILED, record="111_try")
    times = small.sweep(TILED, TILE_WIDTH=(8, 16), record="111_try")
    assert len(times.record.measurements) == 4
    times = small.sweep(TILED, TILE_WIDTH=(8, 16), record="111_try")
    assert len(times.record.measurements) == 4
    assert times.ms(TILED, tile_width=8) == 1.0
    with pytest.raises(KeyError, match="2 times of 'conv2d_tiled'"):
        times.ms(TILED)


def test_a_students_kernel_is_timed_beside_ours_and_not_before_it_has_passed(small, gpu):
    right, wrong = cell_of(TILED), cell_of(TILED, ("c < C", "c < C - 1"))
    with pytest.raises(bench.KernelError, match="two kernels are called 'yours: conv2d_tiled'"):
        small.compare("conv2d_constant", TILED, right, wrong, record="111_try")
    other = small.kernel(wrong, label="yours: the second")
    times = small.compare("conv2d_constant", TILED, right, other, record="111_try")
    lines = times.table().splitlines()
    assert any(line.startswith(NOT_YET) for line in lines)
    assert any("4.00 x as fast" in line and "yours" in line for line in lines)
    assert sum(m.series.startswith("yours") for m in times.record.measurements) == 1
    figure = bench.bars(times)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[-1] == f"{NOT_YET} (the second)"
    assert len(figure.axes[0].patches) == len(labels) - 1
    hatch = styles.BARS["yours"]["hatch"]
    for drawn in (figure, bench.ladder(times)):
        assert [bar.get_hatch() for bar in drawn.axes[0].patches].count(hatch) == 1


def test_a_time_of_an_earlier_text_of_a_cell_is_not_shown_for_a_wrong_one(small, gpu):
    small.compare("conv2d_constant", cell_of(TILED), record="111_try")
    times = small.compare("conv2d_constant", cell_of(TILED, ("c < C", "c < 1")), record="111_try")
    assert times[1].state == NOT_YET and times[1].ratio is None


def test_our_own_kernel_that_is_wrong_is_never_timed(small, gpu):
    wrong = small.kernel(TILED).changed("c < C", "c < C - 1", label="a channel less")
    with pytest.raises(bench.NotReadyError, match="only the first channel is summed"):
        small.compare("conv2d_constant", wrong, record="111_try")
    with pytest.raises(bench.NotReadyError):
        small.sweep(wrong, record="111_try")


def test_a_ready_without_a_verdict_is_not_timed():
    one = on_device.Ready(bench.layer().kernel(TILED), lambda stream=None: None, None, 32, 0.0)
    for timed in (one.time, lambda: one.beside(one)):
        with pytest.raises(timing.NotCheckedError, match="conv2d_tiled has not passed a check"):
            timed()


def test_the_device_refuses_what_is_wrong_there(small, monkeypatch):
    """OnDevice.ready itself, on the simulator's driver: a right kernel, then a wrong verdict."""
    with on_device.OnDevice(bench.product(3, 2)) as there:
        assert there.ready("split_product").registers > 0
        wrong = there.problem.kernel("split_product").changed("int steps", "int stepss")
        with pytest.raises(bench.NotReadyError, match="has not passed its check"):
            there.ready(wrong)
        none = checking.CheckError(
            "FAIL here", name="x", wrong=1, diagnosis=checking.Diagnosis("x", "x")
        )
        monkeypatch.setattr(
            there.problem.__class__, "verdict", lambda *_: (_ for _ in ()).throw(none)
        )
        with pytest.raises(bench.NotReadyError, match="is wrong on this GPU"):
            there.ready("split_product")


def test_the_layer_on_a_device_checks_every_output():
    with bench.layer(images=3, shape=SMALL).on_device() as there:
        ready = there.ready(TILED)
        assert ready.verdict.count == 3 * SMALL.M * 18 * 27 and 0 < ready.error < 1e-5
        error = there.ready(conv2d.implicit_mma(1, half_io=True)).error
        assert 1e-5 < error < 2e-3, "halves in and out, on arrays of their own"
    with bench.conv1d(5_000, 5).on_device() as there:
        assert there.ready("conv1d_tiled_input").verdict


# ---- Without a GPU, from the records of both schemas


def test_the_record_with_low_and_high_is_read():
    layer = bench.layer("layer 1")
    maps = [layer.kernel("conv2d_tiled_maps", MAPS=count) for count in (2, 4)]
    times = layer.compare("conv2d_constant", TILED, *maps, record="111_tiles")
    old = {
        row.get("maps", 1): row
        for row in results.load(results.MEASURED / "111_tiles.json").rows()
        if row.get("layer") == "layer 1"
        and row.get("ratio") is not None
        and row["series"] in ("ratio", row["kernel"])
    }
    assert times.ratio(TILED).value == old[1]["ratio"]
    assert times.ratio("conv2d_tiled_maps", maps=4).low == old[4]["low"]
    assert times.record.recalled and "Recorded on" in repr(times)


def test_series_of_the_form_a_over_b_are_read():
    over = "conv2d_channels_tree over conv2d_basic"
    old = results.load(results.MEASURED / "401_deeper.json").series(over)
    for one in old:
        new = old_records.comparable("401_deeper", one.row())
        assert (new["series"], new["over"]) == tuple(over.split(" over "))
        assert new["ratio"] == one.row()["ratio"]


RECORDS = [
    path
    for path in sorted(results.MEASURED.glob("*.json"))
    if "measurements" in json.loads(path.read_text())
]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_ratio_of_every_record_has_one_schema(path):
    raw = json.loads(path.read_text())["measurements"]
    for row, old in zip(results.load(path).rows(), raw, strict=True):
        for end in ("low", "high"):
            if f"ratio_{end}" in old["parameters"]:
                assert row[end] == old["parameters"][f"ratio_{end}"]
    for row in results.load(path).comparable():
        assert "ratio_low" not in row and "ratio_high" not in row
        if row.get("ratio") is not None and "low" in row:
            assert 0 < row["low"] <= row["ratio"] <= row["high"]


def test_ratios_in_words_are_read():
    line = bench.axpy(10**7)
    ours = line.kernel("axpy_basic")
    block = ours.named("lanes 8 apart in a block")
    record = results.load(results.MEASURED / "114_timing_traps.json")
    times = bench.Times.read(record, line, [ours, block], ours)
    ratio = times.ratio(block.label)
    assert 1 < ratio.low < ratio.value < ratio.high < 2 and ratio.over == "axpy_basic"
    assert times.ms("axpy_basic") > line.floor_ms(record.device)


def test_several_kernels_of_a_student_are_told_apart_before_they_pass():
    layer = bench.layer("layer 1")
    one, two = (cell_of(name, ("c < C", "c < C - 1")) for name in ("one", "two"))
    kernels = [layer.kernel(cell, like=TILED) for cell in (one, two)]
    names = ["yours: not yet (one)", "yours: not yet (two)"]
    assert [line.split("  ")[0] for line in str(layer.count(*kernels)).splitlines()[-2:]] == names
    times = layer.compare("conv2d_constant", *kernels, record="111_tiles")
    assert [line.split("  ")[0] for line in str(times).splitlines()[-2:]] == names
    for figure in (bench.bars(times), bench.ladder(times)):
        labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert labels[-2:] == names
    (line,) = str(layer.count("conv2d_constant", kernels[0])).splitlines()[-1:]
    assert line.split("  ")[0] == NOT_YET


def test_the_only_kernel_of_a_student_without_a_time_needs_no_name_in_a_figure():
    layer = bench.layer("layer 1")
    mine = cell_of(TILED)
    alone = layer.compare("conv2d_constant", mine, record="111_tiles")
    other = layer.kernel(mine, label="yours: the second", TILE_WIDTH=8)
    both = layer.compare("conv2d_constant", mine, other, record="111_tiles")
    names = {
        "yours: not timed here": alone,
        f"yours: {TILED}: not timed here": both,
    }
    for name, times in names.items():
        (ax,) = bench.bars(times).axes
        assert name in [label.get_text() for label in ax.get_yticklabels()]
    (ax,) = bench.bars(alone, labels=["the tile"]).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["the tile: not timed here"]


@pytest.mark.parametrize(
    ("make", "baseline", "name", "record"),
    [
        (lambda: bench.layer("layer 1"), "conv2d_constant", TILED, "111_tiles"),
        (lambda: bench.layer("layer 1"), "", "conv2d_basic", "107_layer"),
        (lambda: bench.conv1d(10**8, 3), "conv1d_constant", "conv1d_tiled_steps", "104_unrolled"),
        (lambda: bench.axpy(10**7), "", "axpy_basic", "114_timing_traps"),
        (lambda: bench.memcpy(2**25), "", "copy_in_flight", "106_waiting"),
        (lambda: bench.copies(10**8, 15, 1, tile=4096), "copy_plain", "copy_bulk", "302_copies"),
    ],
)
def test_a_right_kernel_without_a_time_has_the_outline_of_its_bound(make, baseline, name, record):
    one, mine = make(), cell_of(name, of=name)
    kernels = [*filter(None, (baseline,)), name, mine]
    times = (one.compare if baseline else one.sweep)(*kernels, record=record)
    ours, least = times[name], times.at_least(times[-1])
    unit = times.ms(baseline) if baseline else 1
    assert least.value == 1e-3 * one.bounds(times[-1].kernel).microseconds / unit
    assert least.ours == (ours.ratio.value if baseline else ours.ms)
    assert 0.05 * least.ours < least.value < least.ours
    assert times.at_least(ours) is None
    words = " ".join(str(times).split())
    limit = f"no H200 takes less than {least.value:.3g} {'x the time of' if baseline else 'ms.'}"
    assert "a bound, not a time" in words and limit in words
    assert max(map(len, str(times).splitlines()[1:])) <= 100, "below the caption"
    (ax,) = bench.bars(times).axes
    bar = ax.patches[-1]
    assert (bar.get_width(), bar.get_linestyle()) == (least.value, "--")
    assert any(text.get_text().startswith("at least ") for text in ax.texts)
    assert least.ours in [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "D"]
    assert "not a time" in descriptions.description(ax.figure)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: bench.gemm(256, 192, 256), "gemm_column"),
        (lambda: bench.gemm(256, 256, 256, halves=True), "gemm_mma"),
        (lambda: Memcpy(5 * 32_768, 4), "copy_in_flight"),
        (lambda: bench.pooled("layer 1", images=9), "lenet_conv_pool"),
        (lambda: bench.network(32), "plain"),
        (lambda: Copies(64 * 1024, 7, blocks=1, launched=8), "copy_plain"),
        (lambda: channel_sums.small(64), "conv2d_channels_tree"),
    ],
)
def test_a_bound_by_few_is_that_of_the_whole_launch(make, name):
    one = make()
    kernel = one.kernel(name)
    found = one.bounds(kernel)
    counts = plan_bounds.counted(one.plan(kernel))
    caches = ["cold", *["hot"] * (len(counts) - 1)]
    whole = [bounds.bounds(each, "H200", cache) for each, cache in zip(counts, caches, strict=True)]
    assert found.microseconds == pytest.approx(sum(one.microseconds for one in whole), rel=0.02)
    assert found.resource == bounds.in_a_row(whole, name).resource


def test_what_few_do_otherwise_has_no_bound():
    """A product whose tiles are cut, and a network whose last launch is another one for few."""
    for one, name in ((bench.gemm(250, 192, 256), "gemm_column"), (bench.network(48), "plain")):
        assert one.bounds(one.kernel(name)) is None


def test_a_ladder_has_the_bounds_of_the_students_steps_below_their_times():
    product = bench.gemm()
    rungs = gemm_ladder.rungs(product)
    base, rung = rungs["block tile"], rungs["thread tile 8 x 8"]
    mine = cell_of("gemm_patch", of="gemm_patch")
    times = product.compare(base, rung, mine, record="201_gemm")
    least = times.at_least(times[-1], in_ms=True)
    assert 0.3 * times.ms(rung.title) < least.value < times.ms(rung.title)
    assert least.value == pytest.approx(times.at_least(times[-1]).value * times.ms(base.title))
    (ax,) = bench.ladder(times).axes
    assert ax.patches[-1].get_width() == least.value
    assert ax.patches[-1].get_linestyle() == "--" and "not a time" in ax.get_xlabel()


def test_a_curve_has_the_bounds_of_each_size():
    layer, mine = bench.layer("layer 2"), cell_of("conv2d_tiled_maps", of="conv2d_tiled_maps")
    kernels = [layer.kernel(one, MAPS=m) for one in ("conv2d_tiled_maps", mine) for m in (2, 4)]
    times = layer.compare("conv2d_constant", *kernels, record="111_tiles")
    (ax,) = bench.curve(times, by="maps").axes
    (bounds,) = [line for line in ax.lines if line.get_marker() == "^"]
    assert list(bounds.get_ydata()) == [times.at_least(one).value for one in times[-2:]]
    ours = [one.ratio.value for one in times[1:3]]
    assert all(0 < low < high for low, high in zip(bounds.get_ydata(), ours, strict=True))
    assert "a bound, not a time" in bounds.get_label()


@pytest.mark.parametrize(
    ("names", "scale"),
    [
        (("conv1d_constant",), "linear"),
        # A bound that is many times the measured ratios would squeeze them.
        (("conv1d_fft_overlap_add", "conv1d_constant_divergent"), "log"),
    ],
)
def test_a_figure_across_problems_has_bounds_of_a_few_of_them(names, scale):
    *timed, own = names
    mine = cell_of(own, of=own)
    times = [
        bench.conv1d(10**7, width).compare(
            "conv1d_vector", *timed, mine, record="402_crossover"
        )
        for width in range(15, 15 + 16 * 9, 16)
    ]
    (ax,) = bench.across(times, "filter_width").axes
    assert ax.get_yscale() == scale
    (bounds,) = [line for line in ax.lines if line.get_marker() == "^"]
    assert list(bounds.get_xdata()) == [15, 47, 79, 111, 143]
    assert list(bounds.get_ydata()) == [one.at_least(one[-1]).value for one in times[::2]]


def test_shares_of_a_copys_speed_have_the_bound_of_a_students_kernel():
    name = "conv1d_tiled_steps"
    copy = bench.memcpy(10**8).sweep(tiles.COPY, record="104_deeper_tiles")[0]
    best = {
        width: bench.conv1d(10**8, width).sweep(
            name, "conv1d_vector", cell_of(name, of=name), record="104_deeper_tiles"
        )
        for width in (3, 31)
    }
    (ax,) = tiles.shares_figure(best, copy).axes
    outlines = [bar.get_width() for bar in ax.patches if bar.get_linestyle() == "--"]
    assert outlines == [100 * copy.ms / one.at_least(one[-1]).value for one in best.values()]
    shares = [tiles.share(one, name, copy) for one in best.values()]
    assert all(most > share for most, share in zip(outlines, shares, strict=True))
    assert "not a speed" in ax.get_xlabel()


def test_a_bound_follows_the_text_of_the_student():
    """Twice the loads of a kernel that the loads hold up, and twice the bound."""
    line, name = bench.conv1d(10**8, 31), "conv1d_constant"
    load = "sum += N[cell] * filter[j];"
    again = cell_of(name, (load, f"{load} sum += 0.0f * N[cell + (filter[j] > 9.0f)];"), of=name)
    once, twice = (
        line.sweep(cell, record="104_deeper_tiles") for cell in (cell_of(name, of=name), again)
    )
    assert twice.at_least(twice[0]).value > 1.3 * once.at_least(once[0]).value


def test_no_bound_stands_for_a_wrong_kernel_or_another_gpu():
    layer = bench.layer("layer 1")
    wrong = layer.compare(
        "conv2d_constant", cell_of(TILED, ("c < C", "c < C - 1")), record="111_tiles"
    )
    right = layer.compare("conv2d_constant", cell_of(TILED), record="111_tiles")
    other = dataclasses.replace(right.record.device, name="NVIDIA L4")
    elsewhere = bench.Times(
        dataclasses.replace(right.record, device=other), layer, list(right), right.over
    )
    for times in (wrong, elsewhere):
        assert times.at_least(times[-1]) is None
        (ax,) = bench.bars(times).axes
        assert not ax.patches and "bound" not in ax.get_xlabel() + str(times)


def test_a_small_problem_is_bounded_by_its_launch():
    few = bench.layer("layer 1", images=1)
    times = few.sweep(cell_of(TILED), record="111_tiles")
    assert times.at_least(times[-1]).resource == "launch"


def test_a_kernel_that_is_not_in_the_record_has_no_time_and_nothing_fails():
    layer = bench.layer("layer 1")
    right, wrong = cell_of(TILED), cell_of(TILED, ("c < C", "c < C - 1"))
    basic = layer.kernel("conv2d_basic", TILE_WIDTH=4)
    times = layer.compare("conv2d_constant", basic, right, record="111_tiles")
    assert [one.state for one in times[1:]] == ["not timed here"] * 2
    wrong_there = bench.layer("layer 2").compare("conv2d_constant", wrong, record="111_tiles")
    assert wrong_there[1].state == NOT_YET
    with pytest.raises(KeyError, match="conv2d_basic, tile_width 4 has no ratio: not timed here"):
        times.ratio("conv2d_basic")
    bench.bars(times)


def test_a_recorded_row_is_never_the_time_of_a_students_text():
    layer = bench.layer("layer 1")
    record = dataclasses.replace(results.recorded("111_tiles"), committed=False)
    mine, over = layer.kernel(cell_of(TILED)).named(TILED), layer.kernel("conv2d_constant")
    for recalled, state in ((True, "not timed here"), (False, "measured")):
        record = dataclasses.replace(record, recalled=recalled)
        times = bench.Times.read(record, layer, [mine], over)
        assert [one.state for one in times] == [state]


def test_a_committed_row_is_recorded_on_a_gpu_too():
    layer = bench.layer("layer 1")
    baseline, mine = layer.kernel("conv2d_constant"), layer.kernel(cell_of(TILED)).named(TILED)
    ours = layer.kernel(TILED)
    times = bench.Times.read(results.recorded("111_tiles"), layer, [baseline, ours], baseline)
    assert [one.state for one in times] == ["recorded"] * 2
    times = bench.Times.read(results.recorded("111_tiles"), layer, [mine], baseline)
    assert [one.state for one in times] == ["not timed here"]


def test_one_and_by_name_what_is_ambiguous():
    record = results.load(results.MEASURED / "111_deeper.json")
    assert record.one(series=TILED, layer="layer 1", maps=1)["kernel"] == TILED
    assert set(record.by("tile_width", series=TILED, layer="layer 2")) == {8, 16, 20, 32}
    with pytest.raises(KeyError, match=r"has \d+ rows with .*: name one more entry, of .*layer, "):
        record.one(series=TILED)
    with pytest.raises(KeyError, match="has no row with"):
        record.one(series="conv2d_none")
    with pytest.raises(KeyError, match=r"several rows with .* and layer 'layer 1'"):
        record.by("layer", series=TILED)


def test_times_by_the_entries_that_name_them():
    record = results.load(results.MEASURED / "115_sizes.json")
    every, kernel = record.ms("series", "n"), record.ms("n", series="kernel only")
    assert kernel == {n: ms for (series, n), ms in every.items() if series == "kernel only"}
    assert kernel[1000] == record.one(series="kernel only", n=1000)["median_ms"]
    with pytest.raises(KeyError, match=r"record 115_sizes has no row of 7; it has: 1000, 10000"):
        kernel[7]
    with pytest.raises(KeyError, match="has no row with"):
        record.ms("n", series="no way")
    with pytest.raises(KeyError, match=r"several rows with \{\} and n 1000: name more"):
        record.ms("n")


# ---- Ratios and figures


@pytest.mark.parametrize(
    ("numbers", "words", "verdict"),
    [
        ((1.0, 0.99, 1.01), "no measurable difference", "no measurable difference"),
        ((0.5, 0.49, 0.51), "2.00 x as fast", "faster"),
        ((1.5, 1.49, 1.51), "1.50 x the time", "slower"),
        ((1.003, 1.002, 1.004), "1.003 x the time", "slower"),
        ((1.01, 1.0, 1.02), "no measurable difference", "no measurable difference"),
        ((1 / 60.96, 1 / 61.2, 1 / 60.8), "61.0 x as fast", "faster"),
        ((123.4, 122.0, 125.0), "123 x the time", "slower"),
        ((1234.5, 1230.0, 1240.0), "1234 x the time", "slower"),
    ],
)
def test_a_ratio_has_one_direction_in_words(numbers, words, verdict):
    ratio = bench.Ratio("a", "b", *numbers)
    assert (ratio.words(), ratio.verdict) == (words, verdict)
    assert ratio.row()[0] == "a" and ratio.row()[2] == words


def test_a_ratio_outside_of_its_interval_is_refused():
    with pytest.raises(ValueError, match="0 < low <= value <= high"):
        bench.Ratio("a", "b", 1.2, 0.9, 1.1)


def test_figures_follow_the_times():
    layer = bench.layer("layer 1")
    maps = [layer.kernel("conv2d_tiled_maps", MAPS=count) for count in (2, 4)]
    times = layer.compare("conv2d_constant", *maps, record="111_tiles")
    (bars,) = bench.bars(times, floor=True).axes
    floor = layer.floor_ms(times.record.device) / times.ms("conv2d_constant")
    drawn = {text.get_text(): text.xy[0] for text in bars.texts}
    assert drawn[f"floor: {floor:.2g}"] == floor
    (curve,) = bench.curve(times, by="maps").axes
    assert "maps 4 is best, 1.56 x as fast as conv2d_constant" in curve.get_title(loc="left")
    assert curve.get_ylim()[0] == 0
    beside = bench.curve({"one": times, "another": times}, by="maps").axes
    assert all(ax.get_title(loc="left").count("\n") == 1 for ax in beside), "titles do not meet"
    widths = layer.sweep("conv2d_constant", TILED, TILE_WIDTH=(8, 16, 20, 32), record="111_deeper")
    assert len(bench.curve(widths, by="tile_width").axes[0].get_legend().get_texts()) == 2
    assert len(bench.ladder(widths).axes[0].get_yticklabels()) == 8
    assert bench.roofline(widths).axes[0].get_xscale() == "log"
    with pytest.raises(ValueError, match="no kernel of these times has a size 'stride'"):
        bench.curve(widths, by="stride")


def test_several_problems_share_the_scale_of_the_longest_bar():
    layers = {name: bench.layer(name) for name in ("layer 1", "layer 2")}
    names = ("conv2d_basic", "im2col_gemm")
    ratios = {name: one.compare(*names, record="200_im2col_gemm") for name, one in layers.items()}
    times = {name: one.sweep(*names, record="200_im2col_gemm") for name, one in layers.items()}
    for each in (ratios, times):
        for named in (each, dict(reversed(each.items()))):  # the longest bar first, and last
            axes = bench.bars(named).axes
            ((left, right),) = {ax.get_xlim() for ax in axes}
            longest = max(bar.get_width() for ax in axes for bar in ax.patches)
            assert left == 0 and 1.05 * longest < right < 1.3 * longest


def test_two_pictures_of_one_array_have_the_same_scale():
    line = bench.conv1d(n=4096, filter_width=31)
    both = line.count("conv1d_constant", "conv1d_constant_divergent", watch=((1, 0, 0), 0))
    words = [memory.touched(one.profile, "filter", space="constant", first=3) for one in both]
    assert [len(one) for one in words] == [3, 31]
    left, right = both.picture("filter", first=3).axes
    assert left.get_xlim() == right.get_xlim()
    product = bench.mma()
    gap = product.kernel("mma_ldmatrix").changed("a_rows[16][2]", "a_rows[16][3]", label="a gap")
    crowded, free = product.count("mma_ldmatrix", gap).picture("a_rows").axes
    assert crowded.get_yticklabels()[0].get_text() == "words of\nthe bank"
    assert crowded.get_ylim() == free.get_ylim()


def test_each_bar_says_whose_program_it_is():
    layer = bench.layer("layer 1")
    times = layer.sweep("conv2d_basic", "cuDNN", record="107_layer")
    assert [figures._kind(one) for one in times] == ["ours", "library"]
    mine = dataclasses.replace(times[0], kernel=dataclasses.replace(times[0].kernel, yours=True))
    assert figures._kind(mine) == "yours"


def test_a_row_of_bars_has_the_same_height_in_every_figure():
    layer = bench.layer("layer 1")
    names = ("conv2d_basic", "conv2d_constant")
    over = layer.compare(*names, record="109_constant")  # the baseline has no bar
    alone = layer.sweep(*names, record="109_constant")
    heights = [bench.bars(one).get_figheight() for one in (over, alone)]
    assert heights[1] - heights[0] == pytest.approx(0.45)


def test_small_ratios_are_dots_on_a_logarithmic_axis():
    image = channel_sums.small(256)
    kernels = [channel_sums.fitted_to(image, name) for name in channel_sums.KERNELS]
    (ax,) = bench.bars(image.compare(*kernels, record="401_channels")).axes
    assert ax.get_xscale() == "log" and not ax.patches
    (ax,) = bench.bars(image.compare(*kernels[:2], record="401_channels")).axes
    assert ax.get_xscale() == "log"
    assert ax.texts[0].get_text() == "0.0164"


def test_a_new_lab_without_a_record_runs_to_its_end():
    layer = bench.layer("layer 1")
    shapes = [layer.kernel("conv2d_basic", block=shape) for shape in ((64, 4), (16, 16))]
    assert repr(shapes[1]) == "conv2d_basic, block 16 x 16"
    assert layer.count(*shapes)["conv2d_basic, block 16 x 16"].kernel == shapes[1]
    times = layer.compare(*shapes, record="no such record")
    alone = layer.sweep("conv2d_basic", block=((64, 4), (16, 16)), record="no such record")
    assert "not timed here" in str(times) and "not timed here" in str(alone)
    assert bench.bars(times).axes[0].get_yticklabels()
    for found in (times, alone):
        (ax,) = bench.curve(found, by="block").axes
        assert [text.get_text() for text in ax.texts[:1]] == ["not timed here"]
    with pytest.raises(bench.KernelError, match=r"it has STRIDE, block, tile$"):
        layer.kernel("conv2d_basic", blocks=(32, 8))


def test_times_of_one_problem_join_for_a_figure():
    line = bench.conv1d(10**8, 3)
    tiled = line.sweep("conv1d_tiled_steps", record="104_deeper_tiles")
    both = line.sweep("conv1d_constant", record="104_unrolled") + tiled
    assert [one.kernel.label for one in both] == ["conv1d_constant", "conv1d_tiled_steps"]
    assert both[1].ms == tiled[0].ms and both.record.name == "104_unrolled"
    with pytest.raises(ValueError, match="filter of 3 and n = 100,000,000, filter of 31"):
        tiled + bench.conv1d(10**8, 31).sweep("conv1d_tiled_steps", record="104_deeper_tiles")


def test_the_names_of_the_bench_are_found():
    assert {name for name in dir(bench) if name in bench.__all__} == set(bench.__all__)
    assert all(getattr(bench, name) is not None for name in bench.__all__)
    with pytest.raises(AttributeError, match=r"helpers\.bench has no 'layr'; it has"):
        _ = bench.layr


def test_findings_of_all_launches_are_there(small):
    racing = small.kernel(TILED).changed(
        "        __syncthreads();   // the next channel overwrites", "   //"
    )
    seen = small.count(TILED, racing)
    assert {found.kind for found in seen.findings} == {"race"} and not seen[0].findings
    assert isinstance(seen.findings[0], simulator.Finding)


def test_a_part_of_a_kernel_has_passed_with_the_whole():
    with bench.layer(images=2, shape=SMALL).on_device() as there:
        whole = there.ready("conv2d_half")
        part = whole.only("to_half")
        assert part.verdict == whole.verdict
        there.poison()
        part.run()
        with pytest.raises(checking.CheckError):  # the conversion alone writes no output
            there.verdict(whole.kernel)
        whole.run()
        assert there.verdict(whole.kernel)
        fitted = conv2d.conv2d_named(TILED).with_tile(8)
        assert there.ready(fitted).kernel.spec is fitted


def test_a_kernel_of_several_launches_is_counted_whole(small):
    seen = small.count("im2col_gemm")[0]
    x, filter = small.one.inputs()
    _, profiles = conv2d.simulate("im2col_gemm", x, filter)
    assert len(seen.profiles) == len(profiles) == 2
    want = sum(32 * one.global_load_sectors for one in profiles) / seen.outputs
    assert seen.per(32, "global_load_sectors") == want
    assert seen.total("sectors", "global", "load") == sum(p.global_load_sectors for p in profiles)


def test_the_network_is_checked_stage_by_stage():
    net = bench.network(50)
    mixed = net.kernel("conv2d_basic", second="conv2d_register")
    assert all(net.check("fused", mixed))
    wrong = net.check(net.kernel("conv2d_basic").changed("p < K; ++p", "p < K - 1; ++p"))
    assert not wrong and "LeNet, 2 images, pool 1" in str(wrong)
    with bench.network(3).on_device() as there:
        assert there.ready("fused").verdict.count == 3
        with pytest.raises(bench.KernelError, match="time it on its layer"):
            there.ready(net.kernel("conv2d_basic").changed("p < K", "K > p"))
    with pytest.raises(bench.KernelError, match="there is no form 'fusedd' of the network"):
        net.kernel("fusedd")


def test_an_experiment_of_ones_own_needs_no_record(small, gpu, tmp_path, monkeypatch):
    assert small.compare("conv2d_constant", TILED).ratio(TILED).value == 0.5
    assert results.load(tmp_path / "bench.json").one(series=TILED)["output_maps"] == SMALL.M
    monkeypatch.setattr(device, "select", lambda: dataclasses.replace(gpu, kind="simulator"))
    times = small.compare("conv2d_constant", TILED)
    assert [one.state for one in times] == ["not timed here"] * 2
    assert "Nothing was timed (no GPU here)" in repr(times)


# ---- Products of matrices


def test_the_ladder_of_products_passes_on_sizes_that_no_tile_divides():
    product = bench.gemm(150, 140, 70)
    names = "gemm_basic", "gemm_tiled", "gemm_column", "gemm_patch", "gemm_vector", "gemm_pipelined"
    assert all(product.check(*names))
    wrong = product.kernel("gemm_patch").changed("a[r] * x[s]", "a[s] * x[r]", label="wrong")
    assert not product.check(wrong)
    assert product.title == "150 x 70 by 70 x 140"


HALVES = """%%kernel gemm_wgmma
#include <cuda_fp16.h>
__global__ void gemm_wgmma(half* Y, const half* A, const half* X, int rows, int cols, int inner)
{
    for (int i = threadIdx.x; i < 128 * 256; i += blockDim.x) {
        const int row = blockIdx.y * 128 + i / 256, col = blockIdx.x * 256 + i % 256;
        float sum = 0.0f;
        if (row >= rows || col >= cols) continue;
        for (int k = 0; k < inner; ++k)
            sum += __half2float(A[row * inner + k]) * __half2float(X[k * cols + col]);
        Y[row * cols + col] = __float2half(sum);
    }
}
"""


@pytest.mark.parametrize("sizes", [(256, 256, 128), (64, 64, 32)])
def test_a_product_of_halves_is_checked_at_sizes_that_its_kernel_takes(sizes):
    product = bench.gemm(*sizes, halves=True)
    assert "the simulator cannot run" in product.check("gemm_wgmma").message
    right = product.kernel(kernel_cells.parse(HALVES))
    assert product.check(right)
    assert not product.check(right.changed("k < inner", "k < inner - 1"))


def test_a_library_is_compared_and_not_counted():
    product = bench.gemm(20, 20, 20)
    with pytest.raises(bench.KernelError, match="cuBLAS is a library without a source"):
        product.count("cuBLAS")
    with pytest.raises(bench.KernelError, match=r"choose from gemm_mma, gemm_wgmma, .*, cuBLAS"):
        bench.gemm(halves=True).kernel("gemm_tiled")


def test_a_library_that_is_not_here_is_left_out(capsys):
    product = bench.gemm(20, 20, 20)
    with product.on_device() as there:
        assert problem._ready_or_not_yet(there, product.kernel("cuBLAS")) is None
        assert problem._ready_or_not_yet(there, product.kernel("gemm_tiled")) is not None
    assert "cuBLAS is left out" in capsys.readouterr().out


def test_overlap_add_is_a_kernel_of_the_1d_problem():
    signal = bench.conv1d(n=2_000, filter_width=31, counted=2_000)
    ours = signal.kernel("conv1d_fft_overlap_add", LOG_SIZE=8, STAGES=2)
    one = signal.kernel(ours, segments=1)
    assert ours.spec.segments == 2 and signal.facts(ours.spec)["stages"] == 2
    assert signal.covered(one) == 9 * (256 - 30) and signal.covered(ours) == 5 * 2 * (256 - 30)
    assert signal.check(ours)
    assert not signal.check(ours.changed("conjugate(w)", "w"))
    assert signal.slack(ours.spec, np.ones(9)) > 1 == signal.slack(
        signal.named("conv1d_vector"), np.ones(9)
    )
    with pytest.raises(bench.KernelError, match=r"choose from .*conv1d_vector$"):
        bench.conv1d(filter_width=4099).kernel("conv1d_fft_overlap_add")


def test_times_from_problem_to_problem():
    times = [
        bench.conv1d(n=10**7, filter_width=width).compare(
            "conv1d_vector", "conv1d_fft_overlap_add", record="402_crossover"
        )
        for width in (15, 127, 255)
    ]
    assert bench.faster_from(times, "conv1d_fft_overlap_add", "filter_width") == 255
    assert bench.faster_from(times[:2], "conv1d_fft_overlap_add", "filter_width") is None
    (ax,) = bench.across(times, "filter_width", floor=True, title="Wide filters gain").axes
    assert ax.get_ylim()[0] == 0 and ax.get_title(loc="left") == "Wide filters gain"
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["conv1d_fft_overlap_add", "floor of a direct sum"], "in the order of drawing"
    ratios = [one.ratio("conv1d_fft_overlap_add").value for one in times]
    assert ax.containers[0].lines[0].get_ydata().tolist() == ratios
    with pytest.raises(ValueError, match="differ in 'mass'"):
        bench.across(times, "mass")


def test_sizes_and_ratios_far_apart_get_logarithmic_axes():
    shapes = [ConvShape(1, C, 24, 11, 11, 7) for C in (1, 4, 256)]
    times = [
        bench.layer(shape=shape, images=1).compare(
            "conv2d_basic", "conv2d_channels_tree", record="401_channels"
        )
        for shape in shapes
    ]
    (ax,) = bench.across(times, "channels").axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "4", "256"]
