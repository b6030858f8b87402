"""The sum of a vector over cards, by copies between them: what must wait for what across cards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from helpers import cards
from helpers.exercises import kit
from helpers.exercises.judge.python_exercise import Judgement, PythonExercise, of_findings
from helpers.quantities import quantity

LAB = "502_several_gpus"
COUNTS = (2, 3, 4)  # of cards
STEPS = 2  # of training: in each, the cards' vectors are made anew and summed
LENGTH = 300
MAKE = """
extern "C" __global__ void gradient(float *vector, const float *data, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) vector[i] = data[i];
}
extern "C" __global__ void learn(float *weights, const float *vector, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) weights[i] += vector[i];
}
"""
HOW: dict[str, Any] = {"block": (128, 1, 1), "grid": (-(-LENGTH // 128), 1)}


def inputs(seed: int, count: int) -> np.ndarray:
    """Return the vectors of all steps and cards, small whole numbers, so that every order of
    summing gives the same.
    """
    rng = np.random.default_rng(seed)
    return np.stack([kit.whole_numbers(rng, (count, LENGTH), 5) for _ in range(STEPS)])


def made(
    total: Callable[[Any], None], seed: int, counts: Sequence[int] = COUNTS
) -> list[dict[str, Any]]:
    """Return what comes of an answer on so many cards: findings, weights, whether the host waited.
    """
    return [_trained(total, inputs(seed, count)) for count in counts]


def _trained(total: Callable[[Any], None], data: np.ndarray) -> dict[str, Any]:
    count = data.shape[1]
    with (
        cards.simulated(count) as sim,
        cards.Exchange(sim.cuda, sim.compiler, LENGTH, range(count)) as ring,
    ):
        kernels, held, weights = [], [], []
        for card in range(count):
            with ring.on(card):
                module = sim.compiler.SourceModule(MAKE, no_extern_c=True)
                kernels.append([module.get_function(name) for name in ("gradient", "learn")])
                held.append([sim.cuda.to_device(data[step, card]) for step in range(STEPS)])
                weights.append(sim.cuda.to_device(np.zeros(LENGTH, np.float32)))
                sim.cuda.Context.synchronize()
        asked = SimpleNamespace(
            count=count,
            streams=tuple(ring.streams),
            give=ring.give,
            put=ring.put,
            add=ring.add,
            event=ring.event,
        )
        waited = False
        for step in range(STEPS):
            marks = []
            for card in range(count):
                with ring.on(card):
                    kernels[card][0](
                        ring.vectors[card],
                        held[card][step],
                        np.int32(LENGTH),
                        stream=ring.streams[card],
                        **HOW,
                    )
                    marks.append(ring.event(ring.streams[card]))
            total(asked)
            waited = waited or any(map(_host_knows, marks))
            for card in range(count):
                with ring.on(card):
                    kernels[card][1](
                        weights[card],
                        ring.vectors[card],
                        np.int32(LENGTH),
                        stream=ring.streams[card],
                        **HOW,
                    )
        ring.wait()
        got = np.stack([_read(sim.cuda, ring, card, weights[card]) for card in range(count)])
    return {"weights": got, "findings": list(map(cards.words, sim.findings)), "waited": waited}


def _host_knows(event: Any) -> bool:
    """Return whether the host has waited for an event: the simulator keeps account of it."""
    from helpers.simulator.pycuda_api import _order

    return _order.host_knows(event._clock)


def _read(cuda: Any, ring: cards.Exchange, card: int, there: Any) -> np.ndarray:
    values = np.empty(LENGTH, np.float32)
    with ring.on(card):
        cuda.memcpy_dtoh(values, there)
    return values


def judged(
    results: list[dict[str, Any]], seed: int, counts: Sequence[int] = COUNTS
) -> Judgement:
    """Return whether all cards have the sums, everything is ordered, and the host has not waited.
    """
    for count, one in zip(counts, results, strict=True):
        words, findings = f"{quantity(count, 'card')}", one["findings"]
        want = inputs(seed, count).sum(axis=(0, 1))
        bad = [card for card in range(count) if not np.array_equal(one["weights"][card], want)]
        if bad:  # each call's work is done in its turn here: no wait could make this right
            several = f" ({len(bad)} of {quantity(count, 'card')})" if len(bad) > 1 else ""
            return Judgement(
                "wrong",
                f"{words}: card {bad[0]} does not have the sum of all cards{several}",
                "The sum of all vectors must be in the vector of every card, in every step. Is "
                "each vector given to an inbox, added once before the next one comes, and does "
                "put() copy the sum to every card?",
            )
        if findings:
            return of_findings(words, findings, _hint(findings[0]))
        if one["waited"]:
            return Judgement(
                "budget",
                f"right, but {words}: the host waits, and with it every card",
                "Let a stream wait for an event: cards.streams[k].wait_for_event(event).",
            )
    checked = f"{', '.join(map(str, counts))} cards, {STEPS} steps, {LENGTH} floats"
    return Judgement(
        "pass",
        f"{checked}: the same sum on every card, no finding, and the host did not wait",
        checked=checked,
    )


def _hint(finding: str) -> str:
    finding = " ".join(finding.split())
    if finding.count("cuMemcpyPeerAsync") == 2 or "kernel axpy_basic" in finding:
        return (
            "add() on a card must wait for the copy into its inbox; and the next copy into the "
            "same inbox must wait for that add()."
        )
    if "kernel learn" in finding or "kernel gradient" in finding:
        return (
            "Each card continues with its vector after your function: its own stream must wait for "
            "whatever another card's stream reads from it or writes to it."
        )
    return (
        "An event orders two streams, also of two cards: the later one waits for the event "
        "that the other has recorded."
    )


EXERCISE = PythonExercise(
    name="gradient_sum",
    lab=LAB,
    place=2,
    title="The waits of a sum over cards",
    answer="total",
    made=made,
    judged=judged,
    limit_s=8.0,
    hints=(
        "give(), put() and add() return the event after them. Each runs on a stream: give() and "
        "put() on that of the card that sends, add() on that of the card that adds. Which of them "
        "touch the same memory on different streams?",
        "The stream of card 0 must wait for each give() before it adds. The next card may not give "
        "into the inbox before that add() is done: let its stream wait for the event of add().",
        "After put(0, k) the stream of card k must wait for its event: what follows on card k "
        "reads the vector.",
    ),
)
