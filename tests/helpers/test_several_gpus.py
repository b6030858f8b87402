"""The measurement of several GPUs on simulated cards, its tables and its figures."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers import cards, checking
from helpers.bench import results, timing
from helpers.experiments import between_gpus, card_mistakes, several_gpus, wrong_card
from helpers.plotting import several_gpus as drawn
from helpers.problems import conv2d
from tests import clock

IMAGES = 3  # of the layer: pieces of 2 and 1 on a card, and a share for each of 3 cards


def timed(name: str, ms: float = 1.0) -> timing.Timing:
    samples = [ms + 0.001 * k for k in range(10)]
    return timing.Timing.of(name, samples, what="end to end", device="no clock")


@pytest.fixture
def no_clock(monkeypatch):
    """Timings that make one call, so that everything runs on simulated cards."""
    clock.install(monkeypatch)
    for module, sizes in (
        (
            several_gpus,
            {
                "LAYER": "layer E1",  # as layer 1, on images of a tenth of the pixels
                "NETWORK_IMAGES": (2,),
                "PIECE": 2,
                "NETWORK_PIECE": 1,
                "RESIDENT_PIECE": 2,
            },
        ),
        (between_gpus, {"MEGABYTES": 1 / 250, "FLOATS": (1_000,)}),
    ):
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)


def measured(count: int) -> tuple[list[dict], list]:
    """(rows, findings) of simulated cards."""
    with (
        cards.simulated(count) as sim,
        cards.Cards(cuda=sim.cuda, compiler=sim.compiler) as group,
    ):
        rows = list(several_gpus.of_cards(group, images=IMAGES, budget_s=0.0))
    return rows, sim.findings


def series(rows, name, **entries):
    return [r for r in rows if r["series"] == name and all(r[k] == v for k, v in entries.items())]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_everything_is_measured_without_a_finding(no_clock, count, monkeypatch):
    works = [several_gpus.LAYER, "LeNet, 2 images"]
    if count != 2:  # the network takes seconds a run in the simulator
        layer = next(several_gpus.jobs(IMAGES))
        monkeypatch.setattr(several_gpus, "jobs", lambda images: [layer])
        works = works[:1]
    rows, findings = measured(count)
    assert findings == []
    json.dumps([{**row, "timing": None} for row in rows])
    counts = {1: [1], 2: [1, 2], 3: [1, 2, 3]}[count]
    assert len(series(rows, "card")) == count
    assert len(series(rows, "bus")) == 3 * (count + (count > 1))
    for way in ("host to host", "resident"):
        for work in works:
            found = series(rows, way, work=work, pinned=True)
            assert sorted(row["cards"] for row in found) == counts
            assert len({row["sha256"] for row in found}) == 1
    assert sorted(r["cards"] for r in series(rows, "host to host", pinned=False)) == counts
    assert len(series(rows, "gain")) == 2 * len(works) * (count - 1)
    ways = {row["way"] for row in series(rows, "peer")}
    assert len(ways) == (4 if count > 1 else 0) and len(series(rows, "peer")) == 4 * (count - 1)
    assert len(series(rows, "sum")) == 3 * (count - 1)


def test_the_sum_of_a_bus_is_of_all_cards(no_clock):
    with (
        cards.simulated(2) as sim,
        cards.Cards(cuda=sim.cuda, compiler=sim.compiler) as group,
    ):
        rows = list(several_gpus.buses(group, 5, 0.0))
    one, both = (series(rows, "bus", way="D2H", cards=name)[0]["bytes"] for name in ("0", "all"))
    assert both == 2 * one == 2 * 4 * conv2d.shape_of(several_gpus.LAYER, 5).outputs


def test_other_bits_are_refused():
    want = np.arange(4, dtype=np.float32)
    between_gpus.require_same(want.copy(), want, "k")
    for got in (
        want + np.float32(1e-7),
        want[:-1],
        np.where(want == 0, -0.0, want).astype(np.float32),
    ):
        with pytest.raises(checking.CheckError, match="its bits are not those of one card"):
            between_gpus.require_same(got, want, "k")


def test_a_zero_of_the_other_sign_is_counted_as_one_value():
    want = np.zeros((2, 3), np.float32)
    got = want.copy()
    got[1, 2] = -0.0
    with pytest.raises(checking.CheckError, match=r"in 1 value$"):
        between_gpus.require_same(got, want, "k")


def test_a_wrong_batch_is_not_timed(no_clock, monkeypatch):
    wrong = np.zeros(conv2d.shape_of(several_gpus.LAYER, IMAGES).y_shape, np.float32)
    monkeypatch.setattr(cards.Batch, "result", lambda batch: wrong)
    with pytest.raises(checking.CheckError):
        measured(1)


# ---- misuse ----

REFUSED = {
    "no context in the thread",
    "a module of the other card",
    "a pointer of the other card",
    "a stream of the other card, for a kernel",
    "an event of the other card, recorded",
    "a memset of the other card",
    "a peer copy from the other card, without contexts",
    "a peer copy within a card, without contexts",
}
WARNED = {
    "a stream of the other card, for a copy": 1,
    "a copy from the host to the other card": 1,
    "a copy within a card, between cards": 1,
    "a peer copy with the contexts exchanged": 2,
    "free from another thread": 1,
}


@pytest.mark.parametrize("case", wrong_card.CASES)
def test_each_misuse_is_refused_or_warned_of_or_fine(case):
    with cards.simulated(2) as sim:
        answer = wrong_card.answer(sim.cuda, sim.compiler, case)
    found = [finding for finding in sim.findings if finding.kind.startswith("wrong-")]
    if case in REFUSED:
        assert "Error: " in answer
        alone = case == "no context in the thread" or "without contexts" in case
        assert [one.severity for one in found] == ["error"] * (not alone)
        return
    assert answer.startswith("no error")
    assert [finding.severity for finding in found] == ["warning"] * WARNED.get(case, 0)


def test_the_table_of_misuses():
    table = card_mistakes.misuse_table(
        {"a": "LogicError: x failed - why"}, {"a": "LogicError: x failed"}
    )
    assert table.splitlines() == [
        "a",
        "    simulator  LogicError: x failed",
        "    GPU        LogicError: x failed",
    ]
    assert "not recorded" in card_mistakes.misuse_table({"a": "no error"}, {})


def test_the_links_without_their_legend():
    lines = ["GPU0 GPU1", "GPU0 X NV18", "Legend:", "X = Self"]
    rows = [{"series": "topology", "line": line} for line in lines] + [{"series": "bus"}]
    assert several_gpus.links(rows) == lines[:2]
    assert several_gpus.links(rows[:1]) == lines[:1] and several_gpus.links([]) == []


def test_beyond_one_host_by_hand():
    common = {"cards": 2, "median_ms": 10.0}
    rows = [
        {"series": "host to host", "work": "layer 1", "images": 10, "pinned": True, **common,
         "bytes_in": 100_000_000, "bytes_out": 500_000_000},
        {"series": "sum", "way": "peer access", "floats": 100_000_000, **common},
    ]  # fmt: skip
    lines = several_gpus.beyond(rows, network=25.0).splitlines()
    assert lines[1].split()[-4:] == ["10.00", "ms", "20.00", "ms"]  # 500 MB at 25 GB/s
    assert lines[2].split()[-2:] == ["16.00", "ms"]  # 2 hosts: the whole vector once, 400 MB
    assert lines[3].split()[-2:] == ["30.00", "ms"]  # 16 hosts: 15/8 of it


def test_a_work_that_fails_keeps_its_other_pieces():
    work = several_gpus.lenet(several_gpus.trained_weights.lenet_weights())
    broken = card_mistakes.failing(work, 3)
    assert [one.name for one in broken.plan(2)] == [one.name for one in work.plan(2)]
    assert [one.name for one in broken.plan(3)] == ["far_away"]


def test_one_gpu_shows_the_recorded_numbers(monkeypatch, capsys):
    """Where one GPU is here alone, the record of several is read."""
    import sys
    from types import ModuleType, SimpleNamespace

    driver = ModuleType("pycuda.driver")
    driver.Device = SimpleNamespace(count=lambda: 1)
    package = ModuleType("pycuda")
    package.driver = driver
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    record = several_gpus.record(SimpleNamespace(kind="gpu"), lab="502_several_gpus")
    assert record.name == several_gpus.RECORD and "One GPU here" in capsys.readouterr().out


# ---- the record ----


@pytest.fixture(scope="module")
def recorded():
    return results.load(results.MEASURED / f"{several_gpus.RECORD}.json").rows()


def test_the_record_has_the_bits_of_one_card_on_two(recorded):
    for work in {row["work"] for row in recorded if row["series"] == "gain"}:
        rows = [row for row in recorded if row.get("sha256") and row["work"] == work]
        assert {row["cards"] for row in rows} >= {1, 2}
        assert len({row["sha256"] for row in rows}) == 1


def test_gpus_refuse_what_the_simulator_refuses(recorded):
    """What stops a program on a GPU stops it here; the rest runs here, too."""
    answers = card_mistakes.answers(recorded)
    assert set(answers) == set(wrong_card.CASES)
    with cards.simulated(2) as sim:
        ours = {case: wrong_card.answer(sim.cuda, sim.compiler, case) for case in answers}
    no_error = [
        {case for case, said in some.items() if said.startswith("no error")}
        for some in (answers, ours)
    ]
    assert no_error[0] == no_error[1]


# ---- figures ----


@pytest.mark.parametrize(
    "draw", [drawn.buses, lambda ax, rows: drawn.counts(ax, rows, {}), drawn.between]
)
def test_nothing_to_draw(draw):
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="nothing to draw"):
        draw(ax, [])
