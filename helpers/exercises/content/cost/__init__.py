"""A model of costs for conv2d_tiled that chooses the width of its tiles, from counters and shapes.

The model is asked for LeNet's two layers, whose times are on record; for these with drawn numbers
of maps, which must cost more; and for layers of other sizes, where of two widths the one that has
more of everything must cost more. A table of answers knows nothing of those.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from helpers.bench import results
from helpers.exercises.judge.python_exercise import Judgement, PythonExercise
from helpers.limits import ConvShape
from helpers.problems.conv2d.tile_counters import SHAPES, UNTIMED, WIDTHS, Seen, counted

MOST_LOST = 0.25
# A width has more of everything if each of these counters is larger by this factor.
MORE = 1.15
EVERYTHING = (
    "barriers", "blocks", "constant_load_requests", "global_load_requests", "global_load_sectors",
    "instructions", "shared_load_requests", "shared_load_wavefronts", "shared_store_requests",
    "shared_store_wavefronts",
)
# The share of pairs of widths that a model must rank so. Not all: a model may count how many
# multiprocessors one image keeps busy, and then a few large blocks cost more than many small ones.
RANKED = 0.75


@cache
def measured() -> dict[tuple[str, int], float]:
    """Return the recorded times, ms."""
    rows = results.recall("203_tiles").rows()
    return {
        (row["layer"], row["tile_width"]): row["median_ms"]
        for row in rows
        if row["series"] == "conv2d_tiled"
    }


def scaled(seed: int) -> list[tuple[ConvShape, int, Seen, int]]:
    """Return layers that nobody has timed: those of LeNet with drawn numbers of maps, and their
    counters, which grow with the maps.
    """
    rng, made = np.random.default_rng(seed), []
    for layer, shape in SHAPES.items():
        for times in sorted(rng.choice(np.arange(2, 9), 2, replace=False).tolist()):
            larger = ConvShape(1, shape.C, shape.M * times, shape.H, shape.W, shape.K)
            width = int(rng.choice(WIDTHS))
            made.append(
                (
                    larger,
                    width,
                    Seen(**{name: n * times for name, n in vars(counted()[layer, width]).items()}),
                    times,
                )
            )
            made.append((shape, width, counted()[layer, width], 1))
    return made


@cache
def pairs() -> tuple[tuple[str, int, int], ...]:
    """Return untimed layers with two widths, of which the first has more of everything."""
    seen = counted()
    return tuple(
        (layer, more, less)
        for layer in UNTIMED
        for more in WIDTHS
        for less in WIDTHS
        if all(
            getattr(seen[layer, more], name) >= MORE * getattr(seen[layer, less], name)
            for name in EVERYTHING
        )
    )


def _number(cost: object) -> float:
    """Return a cost as a float. Raises TypeError for anything else, None for instance."""
    if not isinstance(cost, int | float | np.number):
        raise TypeError(f"cost returned {cost!r}: return a number")
    return float(cost)


def made(cost: Callable[[ConvShape, int, Any], float], seed: int) -> dict[str, Any]:
    """Return the costs of all widths for both layers, and of the scaled layers."""
    known = {
        f"{layer}, {width}": _number(cost(shape, width, counted()[layer, width]))
        for layer, shape in SHAPES.items()
        for width in WIDTHS
    }
    try:
        larger = [_number(cost(shape, width, seen)) for shape, width, seen, _ in scaled(seed)]
        untimed = [
            _number(cost(shape, width, counted()[layer, width]))
            for layer, shape in UNTIMED.items()
            for width in WIDTHS
        ]
    except (KeyError, IndexError) as error:
        said = f"{type(error).__name__}: {error}"
        return {"known": known, "larger": [], "untimed": [], "said": said}
    return {"known": known, "larger": larger, "untimed": untimed, "said": ""}


def judged(one: dict[str, Any], seed: int) -> Judgement:
    """Return whether the widths of least cost are good ones by the record, and the costs grow with
    the work.
    """
    chosen, ms = {}, measured()
    if not all(map(math.isfinite, [*one["known"].values(), *one["larger"], *one["untimed"]])):
        return Judgement("wrong", "a cost is infinite or NaN", "A division by a counter that is 0?")
    for layer in SHAPES:
        costs = {width: one["known"][f"{layer}, {width}"] for width in WIDTHS}
        chosen[layer] = min(costs, key=costs.__getitem__)
        lost = ms[layer, chosen[layer]] / min(ms[layer, width] for width in WIDTHS) - 1
        if lost > MOST_LOST:
            hint = (
                "What does a tap cost? A request of a warp that has work, however few of its "
                "lanes take part. Print the counters beside the "
                "times, and look for one that is least where the time is least."
            )
            text = (
                f"{layer}: the model takes width {chosen[layer]}, and loses {lost:.0%} "
                f"against the fastest; the budget is {MOST_LOST:.0%}"
            )
            status = "budget" if len(set(one["known"].values())) > 2 else "wrong"
            return Judgement(status, text, hint)
    if one["said"]:
        hint = (
            "A table of LeNet's layers is no model: compute the cost from the shape, the "
            "width and the counters."
        )
        return Judgement(
            "wrong",
            f"asked for a layer with more output maps, the model fails: {one['said']}",
            hint,
        )
    for k in range(0, len(one["larger"]), 2):
        shape, width, _, times = scaled(seed)[k]
        if not one["larger"][k] > one["larger"][k + 1]:
            hint = (
                "A cost must grow with the work. One that names the good widths of two layers "
                "knows nothing of a third."
            )
            return Judgement(
                "wrong",
                f"{times} times the output maps ({shape.M}) cost no more than before, at width "
                f"{width}",
                hint,
            )
    keys = [(layer, width) for layer in UNTIMED for width in WIDTHS]
    untimed = dict(zip(keys, one["untimed"], strict=True))
    wrong_way = [
        (layer, more, less)
        for layer, more, less in pairs()
        if not untimed[layer, more] > untimed[layer, less]
    ]
    if len(wrong_way) > (1 - RANKED) * len(pairs()):
        layer, more, less = wrong_way[0]
        hint = (
            "The good widths of two layers say nothing of a third: compute the cost from the "
            "shape, the width and the counters."
        )
        return Judgement(
            "wrong",
            f"a layer of {layer} cells: width {more} has at least {MORE - 1:.0%} more "
            "of every "
            f"request, instruction and barrier than width {less}, and must cost more",
            hint,
        )
    words = ", ".join(f"{layer} {width}" for layer, width in chosen.items())
    checked = (
        f"2 layers, {len(WIDTHS)} widths, {len(one['larger']) // 2 + len(UNTIMED)} layers that "
        "nobody has timed"
    )
    return Judgement("pass", f"{checked}; chosen: {words}", checked=checked)


EXERCISE = PythonExercise(
    name="cost",
    lab="203_conv2d_sweep",
    title="A model of costs that chooses the tile",
    place=2,
    answer="cost",
    made=made,
    judged=judged,
    hints=(
        "Which counters fall from width 16 to 17 in layer 2, where the time falls, and rise in "
        "layer 1, where it rises?",
        "A warp with one lane at work takes as long as a full one: count warps that have work, "
        "or their requests.",
        "Try single counters first, and print which width each of them would choose on both "
        "layers. None sees all of the work: what does a block do besides adding up products?",
    ),
)
