"""Batches split over cards, and sums over them: the bits of one card, nothing lost, no finding."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import cards, checking
from helpers.cards.exchange import ring_sum
from helpers.experiments import card_mistakes, several_gpus
from helpers.limits import ConvShape
from helpers.reference import conv2d
from tests.processes import python

SHAPE = ConvShape(1, C=1, M=2, H=12, W=16, K=3)
KERNEL, IMAGES = "conv2d_register_tiled", 13


@contextlib.contextmanager
def simulated_cards(count, memory=()):
    """(driver and findings, cards) of simulated cards."""
    with (
        cards.simulated(count, memory) as sim,
        cards.Cards(cuda=sim.cuda, compiler=sim.compiler) as group,
    ):
        yield sim, group


@pytest.fixture(scope="module")
def layer():
    """(work, x, the results wanted): small whole numbers, so that the results are exact."""
    rng = np.random.default_rng(0)
    x, filter = (
        rng.integers(-3, 4, size).astype(np.float32)
        for size in ((IMAGES, *SHAPE.x_shape[1:]), SHAPE.filter_shape)
    )
    return several_gpus.layer(KERNEL, SHAPE, filter), x, conv2d(x, filter).astype(np.float32)


def run(layer, count, memory=(), work=None, **how):
    """(report, result, shares, pieces, findings) of a batch on simulated cards."""
    known, x, _ = layer
    how.setdefault("piece", 3)
    with (
        simulated_cards(count, memory) as (sim, group),
        cards.Batch(group, work or known, len(x), **how) as batch,
    ):
        batch.load(x)
        batch.poison()
        report = batch.run()
        told = report, batch.result(), batch.shares, batch.pieces
    return *told, sim.findings


# ---- shares ----


@pytest.mark.parametrize(
    ("images", "weights", "most", "wanted"),
    [
        (10, (1,), (), (10,)),
        (10, (1, 1, 1), (), (4, 3, 3)),
        (10, (3, 1), (), (8, 2)),
        (
            10,
            (1, 3),
            (),
            (3, 7),
        ),  # 2.5 and 7.5: the remainders are equal, the first card gets the image
        (10, (0, 1), (), (0, 10)),
        (10, (1, 1), (2, None), (2, 8)),
        (10, (3, 1, 1), (5, None, None), (5, 3, 2)),
        (10, (1, 1, 1), (1, 2, None), (1, 2, 7)),
        (1, (1, 1), (), (1, 0)),
        (5, (1e-9, 1), (), (0, 5)),
    ],
)
def test_shares_by_hand(images, weights, most, wanted):
    assert cards.shares(images, weights, most) == wanted


@settings(max_examples=200)
@given(
    images=st.integers(1, 10_000),
    cards_=st.lists(
        st.tuples(st.floats(0, 1e6), st.one_of(st.none(), st.integers(0, 10_000))),
        min_size=1,
        max_size=8,
    ),
)
def test_shares_of_anything(images, cards_):
    weights, most = zip(*cards_, strict=True)
    if not sum(weights) > 0:
        weights = [1.0] * len(most)
    room = sum(
        images if one is None else one
        for weight, one in zip(weights, most, strict=True)
        if weight > 0
    )
    if room < images:
        with pytest.raises(ValueError, match="room for"):
            cards.shares(images, weights, most)
        return
    found = cards.shares(images, weights, most)
    assert sum(found) == images
    assert all(
        0 <= share <= (images if one is None else one)
        for share, one in zip(found, most, strict=True)
    )
    assert all(share == 0 for share, weight in zip(found, weights, strict=True) if weight == 0)


def test_equal_weights_differ_by_one_image_at_most():
    for images in range(1, 40):
        for count in range(1, 9):
            found = cards.shares(images, [1] * count)
            assert max(found) - min(found) <= 1


@pytest.mark.parametrize(
    ("images", "weights", "most", "words"),
    [
        (0, (1,), (), "give at least 1"),
        (3, (0, 0), (), "not all of them 0"),
        (3, (-1, 2), (), "from 0 on"),
        (3, (float("nan"), 1), (), "from 0 on"),
        (3, (1,), (1, 1), "at most one number"),
        (3, (1,), (-1,), "from 0 on"),
        (30, (1, 1), (4, 5), "room for 9 images together, not for 30"),
    ],
)
def test_what_cannot_be_split(images, weights, most, words):
    with pytest.raises(ValueError, match=words):
        cards.shares(images, weights, most)


# ---- a batch ----


@pytest.mark.parametrize(
    ("count", "how"),
    [
        (1, {}), (5, {}), (1, {"pinned": False}), (3, {"pinned": False}),
        (1, {"resident": True}), (3, {"resident": True}), (2, {"piece": 1, "lanes": 1}),
        (2, {"piece": 100}),
    ],
)  # fmt: skip
def test_a_batch_has_the_bits_of_one_card(layer, count, how):
    report, got, shares, _, found = run(layer, count, **how)
    assert got.tobytes() == layer[2].tobytes()
    assert found == [] and report.failures == ()
    assert tuple(report.images.values()) == shares == cards.shares(IMAGES, [1] * count)


def test_uneven_shares(layer):
    report, got, shares, _, found = run(layer, 3, weights=(1, 0, 3))
    assert shares == (3, 0, 10) and report.images == {0: 3, 1: 0, 2: 10}
    assert np.array_equal(got, layer[2]) and found == []


def test_a_batch_runs_again_on_other_images(layer):
    work, x, want = layer
    with simulated_cards(2) as (sim, group), cards.Batch(group, work, IMAGES, piece=2) as batch:
        for cells, result in ((x, want), (x[::-1].copy(), want[::-1])):
            batch.load(cells)
            batch.run()
            assert np.array_equal(batch.result(), result)
    assert sim.findings == []


def test_each_card_has_a_thread_and_its_context(layer):
    with simulated_cards(2) as (sim, group):
        names = group.each(lambda card: threading.current_thread().name)
        assert [name.rpartition("_")[0] for name in names] == ["card 0", "card 1"]
        assert group.each(lambda card: sim.cuda.Context.get_device()) == [
            sim.cuda.Device(0),
            sim.cuda.Device(1),
        ]
        assert [card.number for card in group] == [0, 1] and len(group) == 2


def test_what_a_batch_holds_is_freed(layer):
    work, x, _ = layer
    with simulated_cards(2) as (sim, group):
        before = group.each(lambda card: sim.cuda.mem_get_info()[0])
        with cards.Batch(group, work, IMAGES, piece=2) as batch:
            batch.load(x)
            batch.run()
            during = group.each(lambda card: sim.cuda.mem_get_info()[0])
        after = group.each(lambda card: sim.cuda.mem_get_info()[0])
    assert all(a > b for a, b in zip(before, during, strict=True)) and after == before


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((2,), r"cards \(2,\) were asked for; there are 2"),
        ((0, 0), "each to be given once"),
        ((), "HALO_DEVICES=2"),
    ],
)
def test_cards_that_there_are_not(numbers, words):
    with cards.simulated(2) as sim, pytest.raises(cards.CardsError, match=words):
        cards.Cards(numbers, sim.cuda, sim.compiler)


def test_images_that_do_not_fit_the_batch(layer):
    work, x, _ = layer
    with simulated_cards(2) as (_, group):
        with cards.Batch(group, work, IMAGES) as batch:
            for wrong in (x[:-1], x.astype(np.float64), x[:, :, 1:]):
                with pytest.raises(cards.CardsError, match="this batch takes float32"):
                    batch.load(wrong)
        with pytest.raises(cards.CardsError, match="at least 1 of both"):
            cards.Batch(group, work, IMAGES, piece=0)
        with pytest.raises(cards.CardsError, match="no launch takes the array 'z'"):
            cards.Batch(group, replace(work, x="z"), IMAGES)
        with pytest.raises(cards.CardsError, match="0 images cannot be split"):
            cards.Batch(group, work, 0)


# ---- too little memory ----


def test_a_card_with_little_memory_takes_smaller_pieces(layer):
    one = layer[0].bytes_of(1)
    *_, pieces, found = run(layer, 2, (None, 3 * one), piece=6)
    assert pieces == (6, 1) and found == []
    _, got, shares, pieces, _ = run(layer, 2, (None, 8 * one), piece=6)
    assert pieces == (6, 6) and shares == (7, 6) and np.array_equal(got, layer[2])


def test_a_card_with_little_memory_takes_fewer_resident_images(layer):
    one = layer[0].bytes_of(1)
    _, got, shares, *_ = run(layer, 2, (None, int(3.5 * one)), resident=True)
    assert shares == (10, 3) and np.array_equal(got, layer[2])


def test_a_card_without_room_for_one_image_is_an_error_that_says_what_to_do(layer):
    with pytest.raises(
        cards.CardsError,
        match=r"card 1 has [\d,]+ bytes .* one image needs [\d,]+: free memory .*numbers=",
    ):
        run(layer, 2, (None, layer[0].bytes_of(1)))


def test_cards_with_too_little_memory_together(layer):
    one = layer[0].bytes_of(1)
    with pytest.raises(cards.CardsError, match=r"room for \d+ images together, not for 13"):
        run(layer, 2, (4 * one, 4 * one), resident=True)


def test_nothing_is_left_on_a_card_after_an_error(layer):
    work = layer[0]
    with simulated_cards(2, (None, work.bytes_of(1))) as (sim, group):
        before = group.each(lambda card: sim.cuda.mem_get_info()[0])
        with pytest.raises(cards.CardsError):
            cards.Batch(group, work, IMAGES)
        assert group.each(lambda card: sim.cuda.mem_get_info()[0]) == before


# ---- a card that fails ----


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("at", [3, 2, 1])
def test_a_card_that_fails_loses_nothing(layer, failing, at):
    """13 images on 3 cards, pieces of 3: shares of 5 and 4, so that the last pieces have 2 or 1
    image.
    """
    bad = card_mistakes.failing(layer[0], at)
    last = {2: [0], 1: [1, 2], 3: [0, 1, 2]}[at]
    if failing not in last:
        report, got, *_ = run(layer, 3, instead={failing: bad})
        assert report.failures == () and np.array_equal(got, layer[2])
        return
    with pytest.warns(
        cards.CardFailed, match=rf"card {failing} failed \(LogicError: cuLaunchKernel"
    ):
        report, got, shares, *_ = run(layer, 3, instead={failing: bad})
    assert got.tobytes() == layer[2].tobytes()
    (failure,) = report.failures
    kept = shares[failing] - at if at < 3 else 0
    assert failure.card == failing and failure.images == shares[failing] - kept
    assert report.images[failing] == kept and sum(report.images.values()) == IMAGES
    assert "the other cards did" in str(report)


def test_two_of_three_cards_fail(layer):
    bad = card_mistakes.failing(layer[0], 3)
    with pytest.warns(cards.CardFailed):
        report, got, *_ = run(layer, 3, instead={0: bad, 2: bad})
    assert report.images == {0: 0, 1: IMAGES, 2: 0} and np.array_equal(got, layer[2])


def test_a_card_stays_out_after_it_has_failed(layer):
    work, x, want = layer
    with simulated_cards(2) as (_, group):
        with cards.Batch(
            group, work, IMAGES, piece=3, instead={1: card_mistakes.failing(work, 3)}
        ) as batch:
            batch.load(x)
            for _ in range(2):
                batch.poison()
                with pytest.warns(cards.CardFailed):
                    report = batch.run()
                assert report.images == {0: IMAGES, 1: 0} and np.array_equal(batch.result(), want)
        assert [card.number for card in group.living] == [0]
        with pytest.raises(cards.CardsError, match=r"card 1 has failed .*numbers="):
            cards.Batch(group, work, IMAGES)


def test_all_cards_fail(layer):
    bad = card_mistakes.failing(layer[0], 3)
    with pytest.raises(
        cards.CardsFailedError, match=r"no card is left.*card 0: LogicError.*card 1: LogicError"
    ):
        run(layer, 2, work=bad)


def test_resident_images_are_nobody_elses(layer):
    bad = card_mistakes.failing(layer[0], 3)
    with pytest.raises(Exception, match="cuLaunchKernel failed"):
        run(layer, 2, instead={1: bad}, resident=True)


def test_a_fault_ends_all_as_on_a_gpu(layer):
    """An address outside of all arrays ends CUDA for the whole process: nobody can go on."""
    work, x, want = layer
    bad = card_mistakes.failing(work, 1, fault=True)
    with (
        simulated_cards(2) as (_, group),
        cards.Batch(group, work, IMAGES, piece=3, instead={0: bad}) as batch,
    ):
        batch.load(x)
        batch.poison()
        with pytest.raises(
            cards.CardsFailedError, match=r"card 0 faulted.*12 of 13 images are done"
        ):
            batch.run()
        got = batch.result()
        assert np.array_equal(got[:6], want[:6]) and np.array_equal(got[7:], want[7:])
        assert np.isnan(got[6]).all(), "the image that the fault was in"


def test_speeds_need_a_clock(layer):
    with (
        simulated_cards(2) as (_, group),
        pytest.raises(cards.CardsError, match="does not model time"),
    ):
        cards.speeds(group, layer[0], 10)


# ---- between cards ----


@pytest.mark.parametrize(
    ("count", "peer"), [(1, True), (2, True), (2, False), (3, False), (7, True)]
)
def test_a_ring_sums_the_same_bits_on_every_card(count, peer):
    rng = np.random.default_rng(count)
    values = [rng.standard_normal(101).astype(np.float32) for _ in range(count)]
    with (
        cards.simulated(count) as sim,
        cards.Exchange(sim.cuda, sim.compiler, 101, range(count), peer=peer) as ring,
    ):
        ring.load(values)
        ring.sum_ring()
        once = [ring.read(card) for card in range(count)]
        ring.sum_ring()  # again, without a wait of the host between
        ring.sum_ring()
        ring.wait()
    assert all(one.tobytes() == ring_sum(values).tobytes() for one in once)
    checking.check(once[0], np.sum(np.float64(values), axis=0), rtol=1e-5, atol=1e-5)
    assert sim.findings == []


def summed_without(forgotten, count, monkeypatch):
    """The findings of two sums over cards, each used on its card afterwards, without the wait of
    that number.
    """
    from helpers.simulator.pycuda_api.driver import Stream

    original, waits = Stream.wait_for_event, []

    def wait(stream, event):
        waits.append(event)
        if len(waits) - 1 != forgotten:
            original(stream, event)

    with monkeypatch.context() as patch, cards.simulated(count) as sim:
        patch.setattr(Stream, "wait_for_event", wait)
        with cards.Exchange(sim.cuda, sim.compiler, 30, range(count)) as ring:
            ring.load([np.ones(30, np.float32)] * count)
            used = []
            for card in range(count):
                with ring.on(card):
                    used.append(sim.cuda.mem_alloc(120))
            for _ in range(2):
                ring.sum_ring()
                for card in range(count):
                    with ring.on(card):
                        sim.cuda.memcpy_dtod_async(
                            used[card], ring.vectors[card], 120, ring.streams[card]
                        )
            ring.wait()
    return [finding for finding in sim.findings if finding.kind == "unsynchronised"], len(waits)


@pytest.mark.parametrize("count", [2, 4])
def test_every_wait_of_the_ring_is_needed(count, monkeypatch):
    found, waits = summed_without(None, count, monkeypatch)
    assert found == [] and waits == 2 * count * 2 * (count - 1)
    for number in range(waits // 2):
        assert summed_without(number, count, monkeypatch)[0], (
            f"wait {number} is missing, and nothing is found"
        )


def test_an_exchange_that_cannot_be(layer):
    with cards.simulated(2) as sim:
        for n, numbers in ((10, (0, 2)), (1, (0, 1)), (10, (1, 1))):
            with pytest.raises(cards.CardsError, match="at least a float for each card"):
                cards.Exchange(sim.cuda, sim.compiler, n, numbers)
        with (
            cards.Exchange(sim.cuda, sim.compiler, 10, (0, 1)) as ring,
            pytest.raises(cards.CardsError, match="give float32"),
        ):
            ring.load([np.zeros(9, np.float32)])


def test_peer_access_is_given_back():
    with cards.simulated(2) as sim:
        for _ in range(2):  # enabled twice it would be refused
            with cards.Exchange(sim.cuda, sim.compiler, 10, (0, 1)) as ring:
                ring.load([np.ones(10, np.float32)] * 2)


# ---- on GPUs ----


@pytest.fixture
def several(gpu):
    import pycuda.driver as cuda

    if cuda.Device.count() < 2:
        pytest.skip(f"one GPU: {gpu.name}")
    return cuda.Device.count()


@pytest.mark.gpu
@pytest.mark.parametrize("how", [{}, {"pinned": False}, {"resident": True}])
def test_a_batch_over_gpus(several, layer, how):
    work, x, want = layer
    with cards.Cards() as group, cards.Batch(group, work, IMAGES, piece=3, **how) as batch:
        batch.load(x)
        batch.poison()
        report = batch.run()
        assert batch.result().tobytes() == want.tobytes()
        assert len(report.images) == several and report.failures == ()


@pytest.mark.gpu
def test_a_sum_over_gpus(several):
    rng = np.random.default_rng(1)
    values = [rng.standard_normal(100_003).astype(np.float32) for _ in range(several)]
    with (
        cards.Cards() as group,
        cards.Exchange(group.cuda, group.compiler, 100_003, range(several)) as ring,
    ):
        ring.load(values)
        ring.sum_ring()
        for card in range(several):
            assert ring.read(card).tobytes() == ring_sum(values).tobytes()


# In a process of its own, because the context of the card that fails is lost.
FAILS = """
import os, warnings, numpy as np
from helpers import cards
from helpers.experiments import card_mistakes, several_gpus
from helpers.limits import ConvShape
from helpers.reference import conv2d
rng = np.random.default_rng(0)
shape = ConvShape(1, C=1, M=2, H=12, W=16, K=3)
sizes = (101, 1, 12, 16), shape.filter_shape
x, filter = (rng.integers(-3, 4, size).astype(np.float32) for size in sizes)
work = several_gpus.layer("conv2d_register_tiled", shape, filter)
failing = int({failing})
bad = card_mistakes.failing(work, [51, 50][failing] % 4)
warnings.simplefilter("ignore", cards.CardFailed)
with cards.Cards() as group:
    with cards.Batch(group, work, 101, piece=4, instead={{failing: bad}}) as batch:
        batch.load(x)
        for _ in range(2):
            batch.poison()
            report = batch.run()
            assert batch.result().tobytes() == conv2d(x, filter).astype(np.float32).tobytes()
            assert [failure.card for failure in report.failures] == [failing], report
            print(report, flush=True)
print("nothing is lost", flush=True)
os._exit(0)
"""


@pytest.mark.gpu
@pytest.mark.parametrize("failing", [0, 1])
def test_a_gpu_that_fails_loses_nothing(several, failing):
    if several != 2:
        pytest.skip(f"the shares are for 2 GPUs, here are {several}")
    done = python("-c", FAILS.format(failing=failing))
    print(done.stdout, done.stderr)
    assert "nothing is lost" in done.stdout


FAULTS = """
import os, warnings, numpy as np
from helpers import cards
from helpers.experiments import card_mistakes, several_gpus
from helpers.limits import ConvShape
shape = ConvShape(1, C=1, M=2, H=12, W=16, K=3)
work = several_gpus.layer("conv2d_register_tiled", shape, np.ones(shape.filter_shape, np.float32))
bad = card_mistakes.failing(work, 2, fault=True)
with cards.Cards() as group:
    batch = cards.Batch(group, work, 101, piece=4, instead={1: bad})
    batch.load(np.ones((101, 1, 12, 16), np.float32))
    try:
        batch.run()
    except cards.CardsFailedError as error:
        print("said:", error, flush=True)
    os._exit(0)
"""


@pytest.mark.gpu
def test_a_fault_of_a_gpu_is_said(several):
    if several != 2:
        pytest.skip(f"the shares are for 2 GPUs, here are {several}")
    done = python("-c", FAULTS)
    print(done.stdout, done.stderr)
    assert "faulted" in done.stdout and "in a new process" in done.stdout
