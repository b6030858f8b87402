"""A filter that does not fit into constant memory: some maps and some channels a launch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.constant import LAB, TILE
from helpers.exercises.judge import indices
from helpers.limits import ConvShape
from helpers.quantities import quantity

WORDS = 16_384


def chunks(case: kit.Case) -> list[tuple[int, int, int, int]]:
    """Return (first map, maps, first channel, channels) of each launch."""
    shape, (maps, channels) = case["shape"], case["most"]
    return [
        (m, min(maps, shape.M - m), c, min(channels, shape.C - c))
        for m in range(0, shape.M, maps)
        for c in range(0, shape.C, channels)
    ]


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield layers split by maps, by channels, by both, and not at all: at most so many maps and
    channels a launch.
    """
    drawn = (int(n) for n in rng.integers(0, 6, 5))
    yield split(rng, ConvShape(2, 3, 12, 9 + next(drawn), 19 + next(drawn), 5), (7, 3))
    yield split(rng, ConvShape(1, 11, 3, 8, 9 + next(drawn), 7), (1, 6))
    # As wide as the first filter.
    yield split(rng, ConvShape(2, 3, 4, 8, 9 + next(drawn), 5), (3, 1))
    yield split(rng, ConvShape(2, 2, 2, 18, 32, 1), (2, 2))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield layers split by maps, and by both, with a chunk that begins with channel 1."""
    yield split(rng, ConvShape(1, 2, 3, 4, 5, 2), (2, 2))
    yield split(rng, ConvShape(2, 3, 4, 4, 5, 2), (3, 2))
    yield split(rng, ConvShape(1, 3, 3, 4, 5, 2), (2, 1))


def split(rng: np.random.Generator, shape: ConvShape, most: tuple[int, int]) -> kit.Case:
    """Return a layer in launches of at most so many maps and channels. The symbol is NaN beyond the
    weights of a launch.
    """
    x, filter = layers.draw(rng, shape)
    arrays = {"y": kit.unwritten(shape.y_shape), "x": x}
    facts = {"shape": shape, "filter": filter, "most": most}
    grid = kit.ceil_div(shape.out_h, TILE) * kit.ceil_div(shape.out_w, TILE)
    steps = []
    for m, maps, c, channels in chunks(kit.Case("", arrays, ("y",), (), {}, facts)):
        sizes = map(np.int32, (m, c, channels, shape.C, shape.M, shape.H, shape.W, shape.K))
        symbol = layers.symbol(filter[m : m + maps, c : c + channels], WORDS)
        steps.append(kit.Step((grid, maps, shape.B), (TILE, TILE), ("y", "x", *sizes), symbol))
    title = (
        f"{shape.C} -> {quantity(shape.M, 'map')} of {shape.out_h} x {shape.out_w} in "
        f"{len(steps)} launch{'es' * (len(steps) > 1)}"
    )
    kinds = {"layer": shape, "filter width": shape.K}
    return kit.Case(title, arrays, ("y",), tuple(steps), kinds, facts)


def reads_of_unset_outputs(case: kit.Case, one: kit.Outcome) -> float:
    """Return requests that read y in the first launch of a map."""
    first = [c == 0 for _, _, c, _ in chunks(case)]
    return sum(
        n.total("requests", "global", "load", "y")
        for n, is_first in zip(one.counts, first, strict=True)
        if is_first
    )


EXERCISE = kit.Exercise(
    name="conv2d_chunk",
    lab=LAB,
    place=2,
    title="A filter in chunks: some maps and some channels a launch",
    most_of_a_block=lambda case: TILE * TILE,
    reads_outputs=True,
    cases=cases,
    small=small,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        kit.Budget(
            "reads of y in a map's first launch",
            reads_of_unset_outputs,
            0,
            "Where first_channel is 0 there is nothing to add to: start from 0 and do not read y.",
        ),
        kit.Budget(
            "loads of x per output and tap",
            lambda case, one: (
                one.total("lanes", "global", "load", "x") / case.count / case["shape"].terms
            ),
            1,
            "Each cell is loaded once for each of its taps.",
        ),
        kit.Budget(
            "constant requests per warp and tap",
            lambda case, one: (
                one.total("requests", "constant", "load")
                / sum(
                    kit.warps(kit.Case("", case.arrays, case.outputs, (s,)))
                    * int(s.arguments[4])
                    * case["shape"].K ** 2
                    for s in case.steps
                )
            ),
            1,
            quiet=True,
        ),
        kit.none_of("shared"),
        kit.none_of("local", what="accesses to local memory"),
        kit.none_of(
            "global",
            "atomic",
            what="atomics",
            hint="One thread owns an output: it can add without an atomic.",
        ),
        kit.shuffles(),
    ),
    mistakes=indices.WRONG_INDICES,
    hints=(
        "The symbol holds `channels` channels for each of this launch's maps. How far apart do "
        "two maps lie in it?",
        "Of x and y the kernel sees everything: there, channel and map are first_channel + c and "
        "first_map + m.",
        "Start from *output where first_channel > 0, and from 0 where it is 0.",
    ),
)
