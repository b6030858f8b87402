"""results: records round-trip, also out of a picture, and every broken file is refused for its own
reason.
"""

import hashlib
import io
import json
import os
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from helpers import kernels, labs
from helpers.bench import png, reports, results
from helpers.bench.results import RecordError
from helpers.bench.timing import Timing
from helpers.device import Device

CPU = Device("simulator", "simulator", (9, 0), 132, 49152, 50 << 20, None, None, "no GPU here")
GPU = replace(
    CPU, kind="gpu", name="NVIDIA H200", dram_bandwidth=4.8e12, fp32_peak=6.7e13, why="found a GPU"
)
TIMING = Timing.of(
    "conv1d_basic", [0.1 / 3, 0.2, 0.15] * 5, what="kernel", device="NVIDIA H200", cache="cold"
)
HOST = Timing.of("numpy", [1.5, 1.25, 1.75] * 5, what="cpu", device="Some CPU")


def rows():
    return [
        {"series": "conv1d_basic", "n": np.int64(1000), "width": 3, "timing": TIMING},
        {
            "series": "numpy",
            "n": 1000,
            "note": "naïve",
            "ok": np.bool_(True),
            "share": np.float32(0.5),
            "timing": None,
        },
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty results folder, kernels/ with one kernel, and an empty data/measured/."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "measured").mkdir()
    (tmp_path / "kernels" / "conv1d_basic.cu").write_text("int one;\n")
    monkeypatch.setattr(kernels, "FOLDER", tmp_path / "kernels")
    monkeypatch.setattr(results, "MEASURED", tmp_path / "measured")
    monkeypatch.setattr(results, "_software", lambda device: {"python": "3.12.0", "pycuda": None})
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path / "out"))
    return tmp_path / "out"


@pytest.fixture
def made(folder):
    return results.record("conv1d", rows, device=GPU, lab="101_blocks")


# --------------------------------------------------------------------------------------------------
# Making one


def test_a_record_holds_what_was_measured_and_where_it_came_from(made, folder):
    assert made.caption() == f"Measured on NVIDIA H200, {made.created[:10]}"
    assert (
        made.measurements[0].parameters == {"n": 1000, "width": 3}
        and made.measurements[0].timing == TIMING
    )
    assert made.measurements[1].parameters == {"n": 1000, "note": "naïve", "ok": True, "share": 0.5}
    assert made.sources == {"conv1d_basic": hashlib.sha256(b"int one;").hexdigest()}
    assert not made.recalled and [f.name for f in folder.iterdir()] == ["conv1d.json"]
    with pytest.raises(FrozenInstanceError):
        made.lab = "other"


def test_rows_are_flat(made):
    first, second = made.rows()
    assert first["series"] == "conv1d_basic" and first["n"] == 1000
    assert (first["median_ms"], first["low_ms"], first["high_ms"]) == (
        TIMING.median,
        TIMING.low,
        TIMING.high,
    )
    assert first["samples"] == 15 and first["cache"] == "cold" and "median_ms" not in second
    assert made.series("numpy")[0].parameters["note"] == "naïve"
    with pytest.raises(KeyError, match=r"no series 'cupy'.*conv1d_basic, numpy"):
        made.series("cupy")


def test_a_changed_source_is_noticed(made):
    assert made.changed_sources() == ()
    kernels.path("conv1d_basic").write_text("// A comment is no change.\nint  one;\n")
    assert made.changed_sources() == ()
    kernels.path("conv1d_basic").write_text("int two;\n")
    assert made.changed_sources() == ("conv1d_basic",)
    kernels.path("conv1d_basic").unlink()
    assert made.changed_sources() == ("conv1d_basic",)


def test_a_changed_header_is_noticed(made, folder):
    header = kernels.path("conv1d_basic").with_name("shared.cuh")
    header.write_text("int one;\n")
    kernels.path("conv1d_basic").write_text('#include "shared.cuh"   // what it shares\n')
    made = results.record("conv1d", rows, device=GPU, lab="101_blocks")
    assert made.changed_sources() == ()
    header.write_text("int two;\n")
    assert made.changed_sources() == ("conv1d_basic",)


def test_a_changed_header_of_a_header_is_noticed(made):
    folder = kernels.path("conv1d_basic").parent
    inner = folder / "inner.cuh"
    inner.write_text('#include "outer.cuh"\nint one;\n')  # each includes the other one
    (folder / "outer.cuh").write_text('#include "inner.cuh"\n')
    kernels.path("conv1d_basic").write_text('#include "outer.cuh"\n')
    made = results.record("conv1d", rows, device=GPU, lab="101_blocks")
    assert made.changed_sources() == ()
    inner.write_text('#include "outer.cuh"\nint two;\n')
    assert made.changed_sources() == ("conv1d_basic",)


def test_an_entry_kernel_names_a_source_too(folder):
    row = {"series": "8 outputs per thread", "kernel": "conv1d_basic", "timing": None}
    assert set(results.record("r", lambda: [row], device=GPU, lab="x").sources) == {"conv1d_basic"}


def test_tables_are_made_of_the_rows(made):
    text, page = repr(made), made._repr_html_()
    assert text.splitlines()[0] == f"conv1d. {made.caption()}"
    assert "1,000" in text and "0.15" in text and "-" in text
    assert page.count("<tr>") == 3 and "<td>naïve</td>" in page and "style" not in page


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ({"n": 3}, ValueError, "series"),
        ({"series": "a", "timing": 0.5}, TypeError, "timing is a float"),
        ({"series": "a", "n": [1]}, TypeError, "n is a list"),
        ({"series": "a", "n": np.zeros(2)}, TypeError, "ndarray"),
        ({"series": "a", "n": float("nan")}, ValueError, "nan; use None"),
        ({"series": "a", "n": float("-inf")}, ValueError, "inf; use None"),
        ({"series": "a", "samples": 3}, ValueError, "samples would hide"),
    ],
)
def test_malformed_measurements_are_refused_and_nothing_is_written(folder, row, error, words):
    with pytest.raises(error, match=words):
        results.record("bad", lambda: [row], device=GPU, lab="x")
    assert list(folder.iterdir()) == []


def test_names_and_empty_measurements(folder):
    for name in ("", "../up", "a b", "a.json"):
        with pytest.raises(ValueError, match="cannot name a record"):
            results.record(name, rows, device=GPU, lab="x")
    with pytest.raises(ValueError, match="no measurements"):
        results.record("none", list, device=GPU, lab="x")


# --------------------------------------------------------------------------------------------------
# Reading it again


def test_a_record_round_trips(made, folder):
    assert results.load(folder / "conv1d.json") == made
    text = (folder / "conv1d.json").read_text()
    assert text == made.to_json() == results.load(folder / "conv1d.json").to_json()
    assert json.loads(text)["schema"] == 1
    assert len([line for line in text.splitlines() if '"samples"' in line and "]" in line]) == 1


def test_a_record_round_trips_through_a_picture(made, folder):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1), facecolor="none")
    figure.subplots().plot([0, 1])
    path = results.save_figure(figure, "conv1d_times", made)
    assert path == folder / "conv1d_times.png"
    assert png.text(path.read_bytes(), results.PNG_KEY) == made.to_json()
    from PIL import Image

    with Image.open(path) as image:
        assert image.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
    bare = results.save_figure(figure, "bare")
    assert png.text(bare.read_bytes(), results.PNG_KEY) is None


def test_a_saved_figure_keeps_its_layout(folder):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 2), layout="constrained")
    ax = figure.subplots()
    ax.set_ylabel("time\n(ms)", fontsize="xx-large")
    at_first = ax.get_position().bounds
    results.save_figure(figure, "layout")
    saved = ax.get_position().bounds
    ax.set_ylabel("more\nlines\nthan\nbefore", fontsize="xx-large")
    figure.draw_without_rendering()
    assert at_first != saved == ax.get_position().bounds


def test_ipython_shows_the_saved_picture_until_the_figure_changes(folder, made):
    from IPython.core.pylabtools import print_figure
    from matplotlib.figure import Figure
    from PIL import Image

    def shown(**how):
        with Image.open(io.BytesIO(print_figure(figure, **how))) as image:
            return image.info.keys(), image.size, image.tobytes()

    figure = Figure(figsize=(3, 2), layout="constrained", facecolor="white")
    figure.subplots().plot([0, 1])
    with Image.open(results.save_figure(figure, "shown", made)) as image:
        saved = image.size, image.tobytes()
    draws: list = []
    figure.canvas.mpl_connect("draw_event", draws.append)
    keys, *picture = shown()
    assert not draws and keys == {"dpi"} and tuple(picture) == saved
    assert shown(metadata={"Title": "drawn"})[1:] == saved and draws
    assert shown(dpi=2 * figure.dpi)[1] != saved[0]
    figure.stale = False  # Drawing in another size sets it.
    figure.axes[0].set_title("another")
    assert shown()[1:] != saved


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace('"schema": 1', '"schema": 0'), "older schema 0"),
        (lambda text: text.replace('"schema": 1', '"schema": 2'), "newer schema 2"),
        (lambda text: text.replace('"schema": 1', '"edition": 1'), "no schema version"),
        (lambda text: "[1, 2]", "no schema version"),
        (lambda text: text[: len(text) // 2], "cut off after"),
        (lambda text: text[: text.rindex("}")], "cut off after"),
        (lambda text: "", "cut off after 0"),
        (lambda text: text.replace(":", "=", 1), "is not JSON"),
        (lambda text: "hello", "is not JSON"),
        (lambda text: text.replace('"sources"', '"source"'), "lacks or garbles.*sources"),
        (lambda text: text.replace('"launches"', '"launched"'), "lacks or garbles"),
        (lambda text: text.replace('"fp32_peak"', '"fp16_peak"'), "lacks or garbles"),
    ],
)
def test_each_broken_file_has_its_own_reason(made, folder, change, words):
    path = folder / "conv1d.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(RecordError, match=words) as caught:
        results.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("share", np.linspace(0.0, 0.999, 40))
def test_a_record_cut_off_anywhere_is_refused(made, folder, share):
    path = folder / "conv1d.json"
    path.write_text(path.read_text()[: int(share * len(path.read_text()))].rstrip())
    with pytest.raises(RecordError, match="cut off"):
        results.load(path)


def test_missing_and_unreadable_files(folder, tmp_path):
    with pytest.raises(RecordError, match="there is no record"):
        results.load(tmp_path / "absent.json")
    with pytest.raises(RecordError, match="cannot be read"):
        results.load(tmp_path)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="cannot be read"):
        results.load(tmp_path / "binary.json")


# --------------------------------------------------------------------------------------------------
# Without a GPU


def not_called():
    raise AssertionError("measured on a simulator")


@pytest.mark.parametrize("here", [CPU, GPU], ids=lambda one: one.kind)
def test_rows_are_added_to_a_record_where_there_is_a_gpu(here, made, folder, tmp_path, monkeypatch):
    (folder / "conv1d.json").rename(tmp_path / "measured" / "conv1d.json")
    monkeypatch.setattr("helpers.device.select", lambda: here)
    monkeypatch.setattr(results, "_begun", {})
    row = {"series": "one more", "n": 10, "timing": HOST}
    found = results.extended("conv1d", (lambda: [row]) if here is GPU else not_called)
    assert found.recalled == (here is CPU)
    if here is GPU:
        assert [one["series"] for one in found.rows()] == ["one more"]
        assert results.load(folder / "conv1d.json") == found
    else:
        assert found == made


def test_the_simulator_recalls_the_recorded_measurement(made, folder, tmp_path):
    (folder / "conv1d.json").rename(tmp_path / "measured" / "conv1d.json")
    recalled = results.record("conv1d", not_called, device=CPU, lab="101_blocks")
    assert recalled.recalled and recalled == made and recalled.device.name == "NVIDIA H200"
    assert recalled.caption() == f"Recorded on NVIDIA H200, {made.created[:10]} (no GPU here)"
    assert list(folder.iterdir()) == []


def test_nothing_recorded_says_how_to_make_it(folder):
    with pytest.raises(
        RecordError, match=r"measured/conv1d\.json.*NVIDIA GPU and copy results/conv1d\.json"
    ):
        results.record("conv1d", not_called, device=CPU, lab="101_blocks")


def test_host_measurements_are_made_anywhere(folder):
    row = {"series": "numpy", "n": 10, "timing": HOST}
    made = results.record("cpu", lambda: [row], device=CPU, lab="400_cpu", needs_gpu=False)
    assert not made.recalled and made.caption() == f"Measured on Some CPU, {made.created[:10]}"
    assert results.load(folder / "cpu.json") == made


def test_a_caption_names_the_processor_only_where_its_programs_are_shown(folder):
    kernel, program = ({"series": one.name, "n": 10, "timing": one} for one in (TIMING, HOST))
    both = results.record("both", lambda: [kernel, program], device=GPU, lab="101_blocks")
    day = both.created[:10]
    assert both.caption() == f"Measured on NVIDIA H200, {day}"
    assert both.caption(cpu=True) == f"Measured on NVIDIA H200 and Some CPU, {day}"
    alone = results.record("alone", lambda: [program], device=GPU, lab="400_cpu")
    assert alone.caption() == alone.caption(cpu=True) == f"Measured on Some CPU, {day}"


# --------------------------------------------------------------------------------------------------
# Files


def test_a_folder_that_cannot_be_written_is_named_before_measuring(folder):
    folder.write_text("a file where the folder should be")
    with pytest.raises(RecordError, match="LAB_RESULTS") as caught:
        results.record("conv1d", not_called, device=GPU, lab="101_blocks")
    assert str(folder) in str(caught.value)


def test_a_failed_write_leaves_the_old_record(made, folder, monkeypatch):
    old = (folder / "conv1d.json").read_text()

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(RecordError, match=r"No space left.*LAB_RESULTS"):
        results.record("conv1d", lambda: rows()[:1], device=GPU, lab="other")
    assert (folder / "conv1d.json").read_text() == old and len(list(folder.iterdir())) == 1


def test_the_folder_is_results_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("LAB_RESULTS", raising=False)
    assert results.folder() == results.ROOT / "results"


def test_software_without_a_gpu():
    versions = results._software(CPU)
    assert versions["numpy"] == np.__version__
    assert versions["pycuda"] is versions["cuda_driver"] is versions["cuda_runtime"] is None


def test_reported_numbers_have_types(tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "REPORTED", tmp_path)
    (tmp_path / "a.csv").write_text('kernel,n,ms,note\n"x, y",1000,3,\nz,20,0.5,7\n')
    assert reports.rows("a") == [
        {"kernel": "x, y", "n": 1000, "ms": 3.0, "note": None},
        {"kernel": "z", "n": 20, "ms": 0.5, "note": 7},
    ]
    with pytest.raises(RecordError, match=r"no reported numbers 'b'; there are: a"):
        reports.rows("b")
    (tmp_path / "ragged.csv").write_text("a,b\n1\n")
    with pytest.raises(RecordError, match="line 2: 1 value for 2 columns"):
        reports.rows("ragged")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(RecordError, match="is empty"):
        reports.rows("empty")
    (tmp_path / "heads.csv").write_text("a,b\n")
    assert reports.rows("heads") == []


# What compute-sanitizer said and the bounds beside times have forms of their own, which
# tests/simulator/test_corpus.py and tests/helpers/test_bound_ratios.py read.
OTHERS = ("sanitizer", "bounds")
RECORDS = sorted(path for path in results.MEASURED.glob("*.json") if path.stem not in OTHERS)


def made_where_it_belongs(record) -> bool:
    """On a GPU; without one a record may hold times of the host, or counts of right answers."""
    of_host = all(
        m.series == "accuracy" if m.timing is None else m.timing.what == "cpu"
        for m in record.measurements
    )
    return record.device.kind == "gpu" or (record.device.kind == "simulator" and of_host)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_committed_record_can_be_read_and_was_made_where_it_belongs_from_these_sources(path):
    record = results.load(path)
    assert (
        record.name == path.stem
        and made_where_it_belongs(record)
        and record.changed_sources() == ()
    )


CARD = "NVIDIA H200"
OF_ANOTHER_CARD = {"device_functions"}


def unnamed(record: str, card: str, cells: list[dict]) -> list[str]:
    """The ids of the cells that show a record without the name of its card in their output."""
    shown = [cell for cell in cells if record in "".join(cell["source"]) and cell.get("outputs")]
    return [cell["id"] for cell in shown if card not in json.dumps(cell["outputs"])]


def test_all_records_are_of_one_card_and_what_shows_another_names_it():
    """Numbers of two cards in one lab contradict each other: the floors differ."""
    cards = {path.stem: results.load(path).device for path in RECORDS}
    names = {name: one.name for name, one in cards.items() if one.kind == "gpu"}
    others = {name: card for name, card in names.items() if card != CARD}
    assert others.keys() == OF_ANOTHER_CARD
    for path in labs.every():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for name, card in others.items():
            assert unnamed(name, card, cells) == [], path.stem


def test_a_cell_that_hides_another_card_is_found():
    cell = {"id": "a", "source": ["x = load('known.json')"], "outputs": [{"text": ["0.1 ms"]}]}
    assert unnamed("known", "NVIDIA H100", [cell]) == ["a"]
    cell["outputs"][0]["text"] = ["Recorded on NVIDIA H100 80GB HBM3"]
    assert unnamed("known", "NVIDIA H100", [cell]) == []


@pytest.mark.parametrize(
    ("device", "timings", "right"),
    [
        (CPU, (HOST, HOST), True),
        (GPU, (HOST, HOST), True),  # the CPU beside a GPU
        (GPU, (HOST, None), True),
        (CPU, (HOST, None), False),  # counters of a GPU that no GPU has counted
        (CPU, (None,), False),
    ],
)
def test_a_record_made_elsewhere_would_be_seen(folder, device, timings, right):
    rows = [{"series": f"row {k}", "timing": timing} for k, timing in enumerate(timings)]
    record = results.record("elsewhere", lambda: rows, device=device, lab="x", needs_gpu=False)
    assert made_where_it_belongs(record) == right


def test_published_times_stand_above_ours():
    pair = "sweep (tile 20)", "tiled shared memory"
    one, other = (reports.kernel("C", name) for name in pair)
    table = reports.ratios([("C", *pair)], {"ours": (1.234, 5)})
    *_, theirs, mine = table.splitlines()
    assert theirs.split()[-2:] == [f"{one[op] / other[op]:.2f}" for op in ("op1_ms", "op2_ms")]
    assert mine.split() == ["ours", "1.23", "5.00"]
    with pytest.raises(KeyError, match=r"C has no 'tiles' for 10,000 images; it has .*sweep"):
        reports.kernel("C", "tiles")


@pytest.mark.parametrize("path", sorted(reports.REPORTED.glob("*.csv")), ids=lambda path: path.stem)
def test_every_reported_table_can_be_read(path):
    assert reports.rows(path.stem)


@pytest.mark.gpu
def test_software_on_a_gpu():
    from helpers import device

    versions = results._software(device.select())
    assert all(versions[key] for key in ("pycuda", "cuda_driver", "cuda_runtime"))


def test_a_record_of_the_repository_is_recorded_wherever_it_is_read(tmp_path):
    """Nobody measured it just now, on a GPU or without one."""
    path = results.MEASURED / "305_fastest.json"
    record = results.load(path)
    assert record.caption() == f"Recorded on NVIDIA H200, {record.created[:10]}"
    copied = tmp_path / path.name
    copied.write_bytes(path.read_bytes())
    assert results.load(copied).caption() == f"Measured on NVIDIA H200, {record.created[:10]}"
    assert "committed" not in record.to_json()


# --------------------------------------------------------------------------------------------------
# Going on where a run stopped


def layer_rows(name, count, asked, stops=None):
    """A part of a record: rows of one layer. asked: gets its name each time it is measured; stops:
    the number of the row before which the run is stopped.
    """

    def measure():
        asked.append(name)
        for number in range(count):
            if number == stops:
                raise KeyboardInterrupt
            yield {"series": "conv1d_basic", "layer": name, "number": number, "timing": TIMING}

    return {"layer": name}, measure


def kept(folder):
    text = json.loads((folder / "known.json").read_text(encoding="utf-8"))
    return [(m["parameters"]["layer"], m["parameters"]["number"]) for m in text["measurements"]]


@pytest.mark.parametrize("stops_at", [0, 1])
def test_a_stopped_run_leaves_its_rows_and_the_next_one_goes_on_there(folder, stops_at):
    asked = []
    whole = [layer_rows(name, 2, asked) for name in ("first", "second", "third")]
    stops = [whole[0], layer_rows("second", 2, asked, stops_at), whole[2]]
    with pytest.raises(KeyboardInterrupt):
        results.continued("known", stops, device=GPU, lab="benchmarks")
    left = [("first", 0), ("first", 1), ("second", 0)][: 2 + stops_at]
    assert kept(folder) == left
    assert len(results.load(folder / "known.json").measurements) == len(left), "it can be read"
    asked.clear()
    record = results.continued("known", whole, device=GPU, lab="benchmarks")
    assert asked == ["second", "third"]
    assert len(record.measurements) == 6 and len(set(kept(folder))) == 6
    asked.clear()
    results.continued("known", whole, device=GPU, lab="benchmarks")
    assert asked == ["first", "second", "third"], "a whole record is measured anew"


@pytest.mark.parametrize("other", ["device", "source", "lab's file"])
def test_a_run_goes_on_with_its_own_device_and_sources_alone(folder, other, capsys):
    asked = []
    stops = [layer_rows("first", 2, asked), layer_rows("second", 2, asked, stops=1)]
    with pytest.raises(KeyboardInterrupt):
        results.continued("known", stops, device=GPU, lab="benchmarks")
    device = replace(GPU, name="NVIDIA H100") if other == "device" else GPU
    if other == "source":
        (kernels.FOLDER / "conv1d_basic.cu").write_text("int two;\n")
    if other == "lab's file":
        (folder / "known.json").write_text("{")
    asked.clear()
    whole = [layer_rows(name, 2, asked) for name in ("first", "second")]
    results.continued("known", whole, device=device, lab="benchmarks")
    assert asked == ["first", "second"]
    assert "measured again" in capsys.readouterr().out


def test_without_a_gpu_the_recorded_run_is_not_continued(folder):
    with pytest.raises(RecordError, match="no recorded measurement"):
        results.continued("known", [layer_rows("first", 2, [])], device=CPU, lab="benchmarks")
