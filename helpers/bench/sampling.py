"""How many samples a timing takes, for any clock: `sample()` returns one time in ms."""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from helpers.bench.statistics import FEWEST_PAIRS, interval_of_median, ratio_interval

MAX_SAMPLES = 500
FEWEST_SAMPLES = 6  # their extremes enclose the median with more than 96 %: 1 - 2 / 2**6

# Sampling may stop after each of these numbers of samples, if the interval is narrow. That favours
# intervals that are narrow by luck: 95 % intervals then enclose the median in only 94.4 % of
# simulated timings. With 96 % intervals it is 95 %.
LOOKS = (10, 30, 100, 250, MAX_SAMPLES)
MEDIAN_LEVEL = 0.96

# timing.compare() must not report a difference between equal launches, so that its guarantee is
# proved and not simulated: five looks at 99 % keep 95 % over the whole comparison, for any reason
# to stop (Bonferroni's inequality).
PAIR_LOOKS = (25, 50, 100, 200, 400)
PAIR_LEVEL = 1 - 0.05 / len(PAIR_LOOKS)
SHORTEST_SAMPLE_MS = 0.05  # 1 % of it is one step of the event clock; perf_counter is finer
# Far below the number of launches after which a stream blocks the host.
MAX_LAUNCHES = 200


def take(
    sample: Callable[[], float], budget_s: float, precision: float, step: float = 0.0
) -> list[float]:
    """Take samples until the interval is narrow, the budget is spent, or there are MAX_SAMPLES.

    The interval is narrow if its half-width is below ``precision`` times the median, or below the
    clock's ``step``. The function looks only after 10, 30, 100 and 250 samples. It takes at least
    six samples, even if the budget is spent.
    """
    end = time.perf_counter() + budget_s
    samples: list[float] = []
    while len(samples) < MAX_SAMPLES:
        samples.append(sample())
        if len(samples) >= FEWEST_SAMPLES and time.perf_counter() > end:
            break
        if len(samples) in LOOKS:
            median, low, high = interval_of_median(samples, MEDIAN_LEVEL)
            if (high - low) / 2 <= max(precision * median, step):
                break
    return samples


def take_pairs(
    a: Callable[[], float],
    b: Callable[[], float],
    budget_s: float,
    precision: float,
    rng: np.random.Generator,
) -> tuple[list[float], list[float]]:
    """Sample a and b in pairs, in an order from ``rng``; stop as `timing.compare` says."""
    end = time.perf_counter() + budget_s
    samples: tuple[list[float], list[float]] = ([], [])
    while len(samples[0]) < PAIR_LOOKS[-1]:
        for side in rng.permutation(2):
            samples[side].append((a, b)[side]())
        pairs = len(samples[0])
        if pairs >= FEWEST_PAIRS and time.perf_counter() > end:
            break
        if pairs in PAIR_LOOKS:
            ratio, low, high = ratio_interval(*samples, level=PAIR_LEVEL)
            if (high - low) / 2 <= precision * ratio:
                break
    return samples


def warm_up(call: Callable[[], Any], budget_s: float) -> None:
    """Call for a tenth of the budget, at least once, to warm up caches, pages, modules, clocks."""
    end = time.perf_counter() + budget_s / 10
    call()
    while time.perf_counter() < end:
        call()


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Switch Python's garbage collector off during the samples, and restore it afterwards."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def launches_per_sample(one_ms: float) -> int:
    """Return how many launches of `one_ms` ms fill SHORTEST_SAMPLE_MS, at most MAX_LAUNCHES."""
    return min(MAX_LAUNCHES, max(1, math.ceil(SHORTEST_SAMPLE_MS / max(one_ms, 1e-6))))
