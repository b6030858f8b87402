"""The ladder is built from a record, and from a wrong, missing, damaged or partial one there is a
clear error.
"""

import dataclasses
import math

import matplotlib.pyplot as plt
import pytest

from helpers import checking, limits
from helpers.bench import cudnn, results, timing
from helpers.device import Device
from helpers.experiments import ladder, ladder_report, layer_benchmark, traffic
from helpers.experiments.ladder import LadderError
from helpers.experiments.traffic import Counters, TrafficError
from helpers.problems import conv2d

GPU = Device("gpu", "toy GPU", (9, 0), 100, 49152, 2**20, 4e12, 64e12, "made up")
PLAIN = Counters(10.0, 3.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 2.5)
BY_NAME = {
    "conv2d_uncoalesced": dataclasses.replace(PLAIN, load_sectors=28.0),
    "conv2d_constant": dataclasses.replace(
        PLAIN, load_requests=1.5, constant_requests=1.5, passes=1.25
    ),
    "conv2d_tiled": dataclasses.replace(
        PLAIN, load_sectors=0.1, load_requests=0.05, shared_wavefronts=3.0, constant_requests=1.5
    ),
    "conv2d_channels_atomics": dataclasses.replace(PLAIN, store_sectors=0.0, atomic_sectors=0.03),
}


@pytest.fixture
def counters(monkeypatch):
    """No simulator: counters by hand."""
    monkeypatch.setattr(traffic, "counted", lambda name, which: BY_NAME.get(name, PLAIN))


def row(series, ms, which="layer 1", batch=10_000, **parameters):
    timed = (
        None
        if ms is None
        else timing.Timing.of(
            series, [0.99 * ms, *[ms] * 6, 1.01 * ms], what="kernel", device=GPU.name
        )
    )
    return results.Measurement(series, {"layer": which, "batch": batch, **parameters}, timed)


TIMES = {spec.name: 10.0 - 0.5 * number for number, spec in enumerate(conv2d.CONV2D)}


def measurements(times=TIMES, **place):
    """All kernels, the copy, and cuDNN in two layouts."""
    rows = [row(name, ms, relative_error=3e-7, **place) for name, ms in times.items()]
    yardstick = [
        row(cudnn.NAME, ms, layout=layout, **place)
        for layout, ms in (("NCHW", 8.0), ("channels_last", 6.0))
    ]
    return [row(layer_benchmark.COPY, 0.3, bytes=8, **place), *rows, *yardstick]


def made(rows=None, **changes):
    rows = measurements() if rows is None else rows
    software = {"python": "3.12"}
    settings = {
        "name": layer_benchmark.NAME,
        "lab": "benchmarks",
        "created": "2026-11-21T00:00:00Z",
        "device": GPU,
    }
    return results.Record(
        **{**settings, "software": software, "sources": {}, "measurements": tuple(rows), **changes}
    )


# --------------------------------------------------------------------------------------------------
# steps


def test_steps_stand_from_the_slowest_to_the_fastest(counters):
    built = ladder.build(made(), "layer 1")
    assert [step.name for step in built.steps] == sorted(TIMES, key=TIMES.get, reverse=True)
    assert built.best.name == min(TIMES, key=TIMES.get)
    assert built.yardstick["layout"] == "channels_last"
    assert built.copy_ms == 0.3
    work = limits.conv2d(conv2d.shape_of("layer 1", 10_000))
    assert math.isclose(built.floor_ms, 1e3 * max(work.bytes / 4e12, work.flops / 64e12))
    assert math.isclose(built.speed(built.best), work.flops / (1e-3 * built.best.ms))


def test_every_kernel_has_a_place_on_the_ladder():
    assert set(ladder.BUILDS_ON) == {spec.name for spec in conv2d.CONV2D}
    assert {before for before, _ in ladder.BUILDS_ON.values()} <= {"", *ladder.BUILDS_ON}


def test_a_step_is_told_by_what_it_builds_on(counters):
    times = {
        **TIMES,
        "conv2d_uncoalesced": 12.6,
        "conv2d_basic": 5.0,
        "conv2d_constant": 4.1,
        "conv2d_tiled": 4.8,
    }
    times |= {"conv2d_restrict": 5.01, "conv2d_unrolled": 5.6}
    built = ladder.build(made(measurements(times)), "layer 1")
    assert (
        built.step("conv2d_uncoalesced").sentence
        == "conv2d_uncoalesced: it builds on no other kernel that was timed."
    )
    assert (
        built.step("conv2d_basic").sentence
        == "conv2d_basic after conv2d_uncoalesced: 2.5x faster. 2.8x fewer load sectors."
    )
    constant = (
        "2.0x fewer load requests; 1.5 constant requests per output, none before; "
        "in all 2.0x fewer L1 passes"
    )
    assert (
        built.step("conv2d_constant").sentence
        == f"conv2d_constant after conv2d_basic: 1.2x faster. {constant}."
    )
    tiled = (
        "100x fewer load sectors; 3 shared wavefronts per output, none before; "
        "30x fewer load requests; in all 2.0x more L1 passes"
    )
    assert (
        built.step("conv2d_tiled").sentence
        == f"conv2d_tiled after conv2d_constant: 1.2x slower. {tiled[0].upper()}{tiled[1:]}."
    )
    same = (
        "conv2d_restrict after conv2d_basic: no measurable difference. No counter differs, either."
    )
    assert built.step("conv2d_restrict").sentence == same
    unseen = "No counter differs: these counters do not show the reason."
    assert (
        built.step("conv2d_unrolled").sentence
        == f"conv2d_unrolled after conv2d_restrict: 1.1x slower. {unseen}"
    )
    texts = [text.get_text() for text in ladder_report.draw(plt.figure().gca(), built).texts]
    beside = {step.name: text for step, text in zip(built.steps, texts, strict=False)}
    assert beside["conv2d_tiled"] == "4.8 ms   1.2x slower than constant"
    assert beside["conv2d_restrict"] == "5.01 ms   as fast as basic"
    assert beside["conv2d_uncoalesced"] == "12.6 ms"
    with pytest.raises(KeyError, match="no 'conv2d_none'; it has conv2d"):
        built.step("conv2d_none")


def test_what_appears_and_goes_is_told_however_little_it_is():
    after = BY_NAME["conv2d_channels_atomics"]
    assert traffic.changes(PLAIN, after) == (
        "no store sectors any more (0.5 per output before); 0.03 atomic sectors per output, "
        "none before"
    )
    assert traffic.changes(PLAIN, dataclasses.replace(PLAIN, store_sectors=0.51)).startswith(
        "no counter differs"
    )
    assert (
        traffic.changes(PLAIN, dataclasses.replace(PLAIN, load_sectors=10.5))
        == "5 % more load sectors"
    )
    assert (
        traffic.changes(PLAIN, dataclasses.replace(PLAIN, idle_lanes=29.0))
        == "29 % of the lanes idle in place of 0 %"
    )
    assert traffic.changes(PLAIN, dataclasses.replace(PLAIN, threads=4.0)) == "4.0x more threads"
    assert (
        traffic.changes(PLAIN, dataclasses.replace(PLAIN, passes=2.0))
        == "in all 1.2x fewer L1 passes"
    )
    assert [
        traffic.passes_changed(PLAIN, dataclasses.replace(PLAIN, passes=n))
        for n in (2.0, 2.45, 3.0)
    ] == [-1, 0, 1]


def close_rows(ms: float) -> list[results.Measurement]:
    """All rows of a record; of layer 1 conv2d_basic takes 5 ms and conv2d_restrict so many."""
    rows = [m for m in measurements() if m.series not in ("conv2d_basic", "conv2d_restrict")]
    for name, of in (("conv2d_basic", 5.0), ("conv2d_restrict", ms)):
        timed = timing.Timing.of(
            name, [of - 1e-4, *[of] * 6, of + 1e-4], what="kernel", device=GPU.name
        )
        parameters = {"layer": "layer 1", "batch": 10_000, "relative_error": 3e-7}
        rows.append(results.Measurement(name, parameters, timed))
    return rows


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(5.2, ladder.SAME), (4.8, ladder.SAME), (5.4, "1.08x slower"), (4.6, "1.09x faster")],
)
def test_times_taken_one_after_the_other_are_not_told_apart_below_five_percent(
    counters, ms, verdict
):
    assert ladder.build(made(close_rows(ms)), "layer 1").step("conv2d_restrict").verdict == verdict


@pytest.mark.parametrize(
    ("ms", "pair", "verdict"),
    [
        (5.05, (0.99, 0.985, 0.995), "1.01x slower"),  # of the pair, however small
        (5.05, (0.996, 0.995, 0.997), "1.004x slower"),
        (5.05, (1.02, 1.01, 1.03), "1.02x faster"),
        (5.05, (0.99, 0.97, 1.01), ladder.SAME),
        (5.4, (1.02, 1.01, 1.03), "1.02x faster"),
        (5.6, (1.02, 1.01, 1.03), "1.1x slower"),  # the record's times are far apart: another run
    ],
)
def test_times_taken_in_turns_decide_where_the_others_are_close(counters, ms, pair, verdict):
    built = ladder.build(made(close_rows(ms)), "layer 1", pairs={"conv2d_restrict": pair})
    assert built.step("conv2d_restrict").verdict == verdict
    assert built.step("conv2d_basic").paired is None


def test_counters_are_those_of_the_layer():
    found = traffic.counted("conv2d_basic", "layer E1")
    # 22 x 22 outputs in tiles of 16: each output loads 49 cells and 49 weights, a request serves at
    # most 32 lanes.
    assert 2 * 49 / 32 < found.load_requests < 2 * 2 * 49 / 32
    assert (
        found.shared_wavefronts
        == found.barriers
        == found.constant_requests
        == found.atomic_sectors
        == 0
    )
    assert 0 < found.idle_lanes < 50
    assert math.isclose(found.threads, 4 * 256 / 22**2)
    assert found.passes >= 2
    atomics = traffic.counted("conv2d_channels_atomics", "layer E1")
    assert atomics.store_sectors == 0 < atomics.atomic_sectors
    tiled = traffic.counted("conv2d_tiled", "layer E1")
    assert tiled.shared_wavefronts > found.load_requests / 2
    assert tiled.load_sectors < found.load_sectors / 10


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        (
            "__syncthreads();",
            "",
            TrafficError,
            "conv2d_tiled on layer E1 has a finding, so its counters mean nothing: race",
        ),
        ("* filter[", "* 2 * filter[", checking.CheckError, "FAIL conv2d_tiled on layer E1"),
    ],
)
def test_counters_of_a_broken_kernel_are_refused(monkeypatch, old, new, error, message):
    broken = conv2d.kernels.source("conv2d_tiled").replace(old, new)
    monkeypatch.setattr(conv2d.kernels, "source", lambda name: broken)
    traffic.counted.cache_clear()
    with pytest.raises(error, match=message):
        traffic.counted("conv2d_tiled", "layer E1")
    traffic.counted.cache_clear()


# --------------------------------------------------------------------------------------------------
# what is refused


def without(name):
    return [m for m in measurements() if m.series != name]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            lambda: made(name="107_layer"),
            "the record is '107_layer'; the ladder is built from 'benchmark_conv2d'",
        ),
        (
            lambda: made(device=dataclasses.replace(GPU, fp32_peak=None)),
            "toy GPU, has no bandwidth and peak",
        ),
        (lambda: made([]), "no layer 1 with 10,000 images; it has no layer"),
        (
            lambda: made(measurements(which="layer 2")),
            "no layer 1 with 10,000 images; it has layer 2 with 10,000",
        ),
        (
            lambda: made(measurements(batch=100)),
            "no layer 1 with 10,000 images; it has layer 1 with 100",
        ),
        (
            lambda: made(without("conv2d_tiled")),
            "partial, it lacks conv2d_tiled for layer 1 with 10,000 images",
        ),
        (
            lambda: made([*measurements(), row("conv2d_old", 1.0)]),
            "the record has conv2d_old, which conv2d.CONV2D does not have",
        ),
        (
            lambda: made([*measurements(), row("conv2d_basic", 1.0)]),
            "the record has conv2d_basic twice",
        ),
        (
            lambda: made([*without("conv2d_tiled"), row("conv2d_tiled", None)]),
            "no time of conv2d_tiled .* does not say why",
        ),
        (lambda: made(without(layer_benchmark.COPY)), "0 times of the device-to-device copy"),
        (
            lambda: made(
                [
                    row(layer_benchmark.COPY, 1.0),
                    *(row(name, None, left_out="slow") for name in TIMES),
                ]
            ),
            "no time of any kernel for layer 1",
        ),
    ],
)
def test_a_wrong_or_partial_record_is_refused(counters, record, message):
    with pytest.raises(
        LadderError,
        match=f"{message}.*: make a whole one.*python -m helpers.tools.benchmarks conv2d",
    ):
        ladder.build(record(), "layer 1")


def test_a_kernel_that_was_left_out_is_none_of_the_steps(counters):
    rows = [
        *without("conv2d_basic"),
        row("conv2d_basic", None, left_out="a launch takes 120 ms, more than 100"),
    ]
    built = ladder.build(made(rows), "layer 1")
    assert built.left_out == {"conv2d_basic": "a launch takes 120 ms, more than 100"}
    assert "conv2d_basic" not in [step.name for step in built.steps]
    assert built.step("conv2d_restrict").gain is None
    page = ladder_report.markdown(made(rows), [built])
    assert "Not timed: conv2d_basic: a launch takes 120 ms, more than 100." in page


def test_without_cudnn_there_is_no_yardstick(counters):
    built = ladder.build(made(without(cudnn.NAME)), "layer 1")
    assert built.yardstick is None
    assert "cuDNN" not in built.title + ladder_report.table(built)
    assert len(ladder_report.draw(plt.figure().gca(), built).get_yticklabels()) == len(TIMES)


# --------------------------------------------------------------------------------------------------
# figures and the page


def test_title_and_table_say_what_was_measured(counters):
    times = {**TIMES, "conv2d_register_tiled": 0.75}
    built = ladder.build(made(measurements(times)), "layer 1")
    share = round(100 * built.floor_ms / 0.75)
    assert (
        built.title
        == f"layer 1, 10,000 images: conv2d_register_tiled has {share} % of the floor's speed, "
        "8.0x the speed of cuDNN"
    )
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in ladder_report.table(built).splitlines()
    ]
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == 2 + len(TIMES) + 3
    named = {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines}
    assert named["conv2d_basic"]["x basic"] == "1.00"
    assert named["conv2d_basic"]["load sectors"] == "10"
    assert named["conv2d_tiled"]["shared wavefronts"] == "3"
    assert named["conv2d_register_tiled"]["% of floor"] == str(share)
    assert named[f"*{ladder.YARDSTICK}*"]["ms"] == "6"
    slower = ladder.build(made(measurements({name: 12.0 for name in TIMES})), "layer 1")
    assert slower.title.endswith("50 % of cuDNN's speed")


def test_the_l1_roof_is_that_of_the_cycles(counters):
    built = ladder.build(made(), "layer 1")
    # 128 multiply-adds and 128 bytes a cycle: 2 flop for each byte.
    assert math.isclose(ladder_report.l1_bandwidth(GPU), 64e12 / 2)
    points = {name: intensity for name, intensity, _ in ladder_report.l1_points(built)}
    assert math.isclose(points["conv2d_basic"], 64 / (2.5 * 128))
    ax = ladder_report.draw_l1(plt.figure(figsize=(8, 6)).gca(), built)
    assert "L1 and shared memory" in ax.get_xlabel()
    assert not any("DRAM" in text.get_text() for text in ax.texts)


def test_the_command_writes_figure_and_page(counters, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path / "out"))
    right = results.Measurement(
        layer_benchmark.ACCURACY,
        {"with": "conv2d_basic", "network": "net", "images": 100, "right": 86},
        None,
    )
    record = made([*measurements(), *measurements(which="layer 2"), right])
    file = tmp_path / "record.json"
    file.write_text(record.to_json())
    assert ladder_report.main(["--record", str(file)]) == 0
    page = (tmp_path / "out/ladder.md").read_text()
    assert page in capsys.readouterr().out
    for wanted in (
        "Measured on toy GPU, 2026-11-21",
        "## layer 1",
        "## layer 2",
        "| net, 100 images |",
        "- conv2d_tiled after",
    ):
        assert wanted in page
    assert results.from_png(tmp_path / "out/ladder.png") == record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: None, "there is no record"),
        (lambda text: text[:200], "is cut off"),
        (lambda text: text.replace('"schema": 1', '"schema": 2'), "newer schema 2"),
        (
            lambda text: text.replace('"conv2d_tiled"', '"conv2d_tilde"'),
            "the record has conv2d_tilde, which conv2d.CONV2D",
        ),
    ],
)
def test_the_command_says_what_is_wrong_with_a_record(
    counters, monkeypatch, tmp_path, capsys, change, message
):
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path / "out"))
    file = tmp_path / "record.json"
    if text := change(made([*measurements(), *measurements(which="layer 2")]).to_json()):
        file.write_text(text)
    assert ladder_report.main(["--record", str(file)]) == 1
    assert message in (told := capsys.readouterr().out)
    assert told.startswith("no ladder: ")
    assert not (tmp_path / "out").exists()


def test_a_source_that_has_changed_since_is_named(counters):
    record = made(sources={"conv2d_basic": "0" * 64})
    page = ladder_report.markdown(record, [ladder.build(record, "layer 1")])
    assert (
        "The counters are those of the present sources, but the times are older than these: "
        "conv2d_basic." in page
    )


@pytest.mark.parametrize("which", conv2d.LAYERS)
@pytest.mark.parametrize("batch", layer_benchmark.BATCHES)
def test_a_ladder_is_built_from_the_committed_record(counters, which, batch):
    record = ladder.load()
    built = ladder.build(record, which, batch)
    assert len(built.steps) + len(built.left_out) == len(conv2d.CONV2D)
    assert all(step.sentence.endswith(".") for step in built.steps)
    assert built.floor_ms < built.best.ms
