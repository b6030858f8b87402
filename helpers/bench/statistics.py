"""Medians and ratios with their intervals: plain functions of samples.

* :func:`interval_of_median`: the order-statistic interval. The number of samples below the true
  median is binomial (n, 1/2), so two order statistics enclose the median with a known probability,
  whatever the distribution (e.g. W. J. Conover, *Practical Nonparametric Statistics*, section 3.2).
* :func:`ratio_interval`: the Hodges-Lehmann estimate of the logarithm of a/b over pairs, with the
  interval that inverts Wilcoxon's signed-rank test (J. L. Hodges and E. L. Lehmann, Ann. Math.
  Stat. 34, 1963).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from helpers.quantities import quantity

FEWEST_PAIRS = 10


def interval_of_median(samples: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Return (median, low, high): the sample median and its order-statistic interval.

    The interval encloses the true median with probability >= ``level`` if the samples are
    independent. The level of 95 % needs six samples. With too few, low and high are the smallest
    and the largest sample, and the true level is 1 - 2 / 2**n. Raises ValueError for no samples,
    and for one that is not finite.
    """
    ordered = sorted(float(s) for s in samples)
    if not ordered:
        raise ValueError("interval_of_median got no samples; it needs at least one")
    if not all(math.isfinite(s) for s in ordered):
        raise ValueError(
            "interval_of_median got a sample that is not a finite number; times are finite"
        )
    rank = _binomial_rank(len(ordered), (1 - level) / 2)
    return float(np.median(ordered)), ordered[rank], ordered[len(ordered) - 1 - rank]


@lru_cache(maxsize=2048)
def _binomial_rank(n: int, tail: float) -> int:
    """Return the 0-based rank of the lower end: the largest r with P(Bin(n, 1/2) <= r) <= tail."""
    from scipy import special  # here, since most notebooks get by without its import

    # This is scipy.stats.binom.cdf, but importing scipy.stats takes ten times as long as importing
    # scipy.special.
    below = special.bdtr(np.arange(n // 2), n, 0.5)
    return max(0, int(np.searchsorted(below, tail, side="right")) - 1)


def ratio_interval(
    a: Sequence[float], b: Sequence[float], level: float = 0.95
) -> tuple[float, float, float]:
    """Return (ratio, low, high) of a/b from pairs: ``a[i]`` and ``b[i]`` belong together.

    The ratio is exp(median of all (d[i] + d[j]) / 2, i <= j) with d = log(a) - log(b). It is close
    to the ratio of the medians, and outliers and drift hardly change it. Raises ValueError for
    different lengths, fewer than ten pairs, and times that are not > 0.
    """
    firsts, seconds = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if firsts.shape != seconds.shape or firsts.ndim != 1:
        raise ValueError(
            f"ratio_interval got {firsts.size} and {quantity(seconds.size, 'sample')}; "
            "it needs pairs, as many of a as of b"
        )
    if firsts.size < FEWEST_PAIRS:
        raise ValueError(
            f"ratio_interval got {quantity(firsts.size, 'pair')}; fewer than {FEWEST_PAIRS} say "
            "nothing, "
            "take more samples"
        )
    if not all(np.isfinite(times).all() and (times > 0).all() for times in (firsts, seconds)):
        raise ValueError("ratio_interval got a time that is not a positive finite number")
    d = np.log(firsts) - np.log(seconds)
    i, j = np.triu_indices(d.size)
    means = np.sort((d[i] + d[j]) / 2)
    rank = _signed_rank(d.size, (1 - level) / 2)
    return math.exp(np.median(means)), math.exp(means[rank]), math.exp(means[means.size - 1 - rank])


@lru_cache(maxsize=256)
def _signed_rank(n: int, tail: float) -> int:
    """Return the 0-based rank of the lower end: the largest r with P(W <= r) <= tail, or 0.

    W is Wilcoxon's signed-rank sum of n pairs. The rank is exact up to 100 pairs. Above, it is a
    normal approximation that errs by less than one rank in these tails.
    """
    if n > 100:
        mean, deviation = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        from scipy import special

        return max(0, math.floor(mean + float(special.ndtri(tail)) * deviation - 0.5))
    probability = np.zeros(n * (n + 1) // 2 + 1)
    probability[0] = 1.0
    for rank in range(1, n + 1):  # W includes each rank with probability 1/2.
        shifted = np.zeros_like(probability)
        shifted[rank:] = probability[:-rank]
        probability = (probability + shifted) / 2
    return max(0, int(np.searchsorted(np.cumsum(probability), tail, side="right")) - 1)
