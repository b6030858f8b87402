"""The sweep of conv2d_register_tiled: its space, the checks before a timing, and the replay of its
records by Kernel Tuner.
"""

from __future__ import annotations

import dataclasses
import math
import random
import sys

import numpy as np
import pytest

from evidence import tune
from helpers import device, kernels
from helpers.bench import results
from helpers.experiments import sweep, sweep_replay
from helpers.problems import conv2d
from tests.support import changed_kernel

LAYER = "layer E1"  # the smallest
# Unroll 1 and 7.
FEW = tuple(one for one in sweep.space(LAYER) if one[:7] == (2, 2, 12, 22, 22, 1, 1))


@pytest.fixture
def record() -> results.Record:
    return sweep.recorded(LAYER)


@pytest.fixture
def simulated(monkeypatch):
    """The simulator, with a clock: each launch takes 1.5 ms."""
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    if device.select().kind != "simulator":
        pytest.skip("a GPU was chosen before, in this process")
    import pycuda.driver as cuda

    monkeypatch.setattr(cuda.Event, "time_since", lambda self, event: 1.5)


@pytest.mark.parametrize("name", sweep.SIZES)
def test_a_space_holds_what_the_kernel_takes_and_what_is_known_to_be_best(name):
    shape, space = conv2d.shape_of(name, 100), sweep.space(name)
    assert 20 <= len(space) == len(set(space)) <= 200
    for one in space:
        spec = sweep.spec_of(one)
        spec.require(shape)
        assert spec.threads(shape)[0] == one[-1]
        assert sweep.configuration_of(spec, shape) == one
    assert sweep.configuration_of(conv2d.conv2d_named(sweep.KERNEL), shape) in space


def test_what_does_not_fit_is_not_in_a_space():
    space = sweep.space("layer 2")
    assert not [
        one for one in space if one[3] % one[0] or one[4] % one[1] or one[2] not in (4, 8, 16)
    ]
    assert sweep._fitting((4, 2, 8, 36, 34, 1, 4, 1), conv2d.shape_of("layer 2", 1)) is not None
    for wrong in (
        (3, 2, 8, 35, 34, 1, 4, 1),  # 35 columns in patches of 3
        (4, 2, 32, 36, 34, 1, 4, 1),  # more maps than there are
        (4, 2, 8, 36, 34, 1, 3, 1),  # 3 of 4 channels at a time
        (4, 2, 8, 36, 34, 2, 1, 1),  # several images need all channels
        (4, 2, 8, 20, 14, 1, 4, 1),  # too few threads
        (4, 2, 8, 64, 34, 1, 4, 1),  # half of the columns are not there
    ):
        assert sweep._fitting(wrong, conv2d.shape_of("layer 2", 1)) is None, wrong


def test_an_unknown_layer_is_refused():
    with pytest.raises(conv2d.LayerError, match="no layer 'layer 9'"):
        sweep.space("layer 9")


def test_kernel_tuner_times_what_is_right_and_rejects_what_is_wrong(simulated, monkeypatch):
    wrong = "weight = (UNROLL == 7 ? 1.01f : 1.0f) * filter["
    changed_kernel(monkeypatch, sweep.KERNEL, "weight = filter[", wrong)
    assert len(FEW) == 2
    tuned = tune.tune(LAYER, 1, FEW)
    assert [sweep.key(row) for row in tuned] == list(FEW)
    assert {row["series"] for row in tuned} == {sweep.KERNEL}
    rows = {row["unroll"]: row for row in tuned}
    assert (rows[1]["tuner_ms"], rows[1]["rejected"]) == (1.5, None)
    assert rows[7]["tuner_ms"] is None
    assert rows[7]["rejected"].startswith("FAIL patch 2x2x12, tile 22x22, 128 threads, unroll 7")


def test_a_sweep_with_nothing_right_is_an_error(simulated, monkeypatch):
    right = kernels.source
    assert "weight = filter[" in right(sweep.KERNEL)
    monkeypatch.setattr(
        kernels,
        "source",
        lambda name: right(name).replace("weight = filter[", "weight = 2.0f * filter["),
    )
    with pytest.raises(
        sweep.SweepError, match="all 1 configurations were rejected, the first one for: FAIL"
    ):
        tune.tune(LAYER, 1, FEW[:1])


@pytest.mark.parametrize("name", sweep.SIZES)
def test_the_records_are_of_the_spaces_of_today_and_small(name):
    record = sweep.recorded(name)
    assert [sweep.key(row) for row in record.rows()] == list(sweep.space(name))
    assert (results.MEASURED / f"{sweep.record_name(name)}.json").stat().st_size < 300_000
    assert {row["layer"] for row in record.rows()} == {name}


def test_a_replay_of_everything_finds_what_the_record_holds(record):
    tried = sweep_replay.replay(record)
    assert dict(tried) == {sweep.key(row): row["tuner_ms"] for row in record.rows()}
    assert sweep_replay.best_so_far(tried)[-1] == sweep.ranking(record)[0][1]


@pytest.mark.parametrize("strategy", sweep_replay.STRATEGIES[1:])
def test_a_strategy_is_replayed_alike_from_the_same_seed(record, strategy):
    before = random.getstate(), np.random.get_state()[1].tolist()
    first, again, other = (
        sweep_replay.replay(record, strategy, evaluations=12, seed=seed) for seed in (3, 3, 4)
    )
    assert first == again != other
    assert len(first) == len(dict(first)) == 12
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def with_first_rejected(record: results.Record) -> results.Record:
    first, *others = record.measurements
    first = dataclasses.replace(
        first, parameters={**first.parameters, "tuner_ms": None, "rejected": "FAIL"}
    )
    return dataclasses.replace(record, measurements=(first, *others))


def test_a_rejected_configuration_is_replayed_without_a_time(record):
    changed = with_first_rejected(record)
    lost = sweep.key(changed.rows()[0])
    assert dict(sweep_replay.replay(changed))[lost] is None
    assert lost not in dict(sweep.ranking(changed))
    assert sweep_replay.best_so_far([(lost, None), (lost, 2.0), (lost, 3.0)]) == [
        math.inf,
        2.0,
        2.0,
    ]


def test_what_cannot_be_replayed_is_said(record):
    with pytest.raises(
        sweep.SweepError,
        match="'luck' is none of the strategies to replay: brute_force, random_sample",
    ):
        sweep_replay.replay(record, "luck")
    empty = dataclasses.replace(record, measurements=())
    with pytest.raises(sweep.SweepError, match="has no configurations to replay"):
        sweep_replay.replay(empty)
    with pytest.raises(sweep.SweepError, match="holds no time: make it on a GPU"):
        sweep.ranking(empty)


def test_a_missing_kernel_tuner_is_named(record, monkeypatch):
    monkeypatch.setitem(sys.modules, "kernel_tuner", None)
    with pytest.raises(sweep.SweepError, match="pip install kernel-tuner"):
        sweep_replay.replay(record)


def test_the_command_needs_a_known_layer_and_a_gpu(simulated, capsys):
    assert tune.main(["layer 9"]) == 2
    assert "no layer 'layer 9' to sweep; there are: 'layer 1'" in capsys.readouterr().err
    assert tune.main([LAYER]) == 2
    assert "the simulator has no clock" in capsys.readouterr().err


@pytest.mark.gpu
def test_kernel_tuner_times_on_the_gpu():
    rows = tune.tune(LAYER, 1000, FEW)
    assert all(0 < row["tuner_ms"] < 10 and row["registers"] > 20 for row in rows)
