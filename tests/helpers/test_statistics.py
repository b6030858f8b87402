"""Intervals against hand-worked cases, exact sums and published tables."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.bench import statistics


def test_interval_of_median_by_hand():
    # P(no or all of 6 samples below the median) = 2/64: the extremes enclose it with 97 %.
    assert statistics.interval_of_median([6, 1, 3, 2, 5, 4]) == (3.5, 1, 6)
    # n = 10: 2 (1 + 10) / 1024 = 2.1 % lie beyond the second smallest and largest, 10.9 % beyond
    # the third.
    assert statistics.interval_of_median(range(10)) == (4.5, 1, 8)
    assert statistics.interval_of_median([7.0]) == (7, 7, 7)
    for wrong in ([], [1.0, math.nan], [math.inf]):
        with pytest.raises(ValueError):
            statistics.interval_of_median(wrong)


@pytest.mark.parametrize("n", [6, 11, 40, 500, 5000])
def test_interval_of_median_against_the_binomial_sum(n):
    _, low, high = statistics.interval_of_median(range(n))
    rank = int(low)
    tail = sum(math.comb(n, k) for k in range(rank + 1)) / 2**n
    assert high == n - 1 - rank and tail <= 0.025 < tail + math.comb(n, rank + 1) / 2**n


def test_signed_rank_by_hand():
    # Three pairs: W has the values 0..6 with counts 1 1 1 2 1 1 1 of 8.
    assert [statistics._signed_rank(3, tail) for tail in (0.1, 0.125, 0.3, 0.4, 0.7)] == [
        0,
        0,
        1,
        2,
        3,
    ]
    # Critical values of the published tables, two-sided 1 %.
    assert statistics._signed_rank(10, 0.005) == 3 and statistics._signed_rank(25, 0.005) == 68
    # The approximation that takes over beyond 100 pairs continues the exact values.
    assert abs(statistics._signed_rank(101, 0.005) - statistics._signed_rank(100, 0.005) - 37) <= 2


@given(st.lists(st.floats(0.5, 2), min_size=10, max_size=30), st.floats(0.1, 10))
def test_ratio_interval_is_equivariant(times, factor):
    a, b = np.array(times), np.array(times[::-1])
    ratio, low, high = statistics.ratio_interval(a, b)
    assert low <= ratio <= high
    assert statistics.ratio_interval(factor * a, b) == pytest.approx(
        (factor * ratio, factor * low, factor * high)
    )
    assert statistics.ratio_interval(b, a) == pytest.approx((1 / ratio, 1 / high, 1 / low))


def test_ratio_interval_refuses_what_are_no_pairs():
    ones = [1.0] * 12
    for a, b in (
        (ones, ones[1:]),
        (ones[:9], ones[:9]),
        ([0.0] * 12, ones),
        (ones, [math.nan] * 12),
    ):
        with pytest.raises(ValueError):
            statistics.ratio_interval(a, b)
