"""A filter that does not fit into constant memory: some maps and some channels a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers import reference
from helpers.exercises import indices, kit, layers
from helpers.exercises.cases import is_unwritten
from helpers.exercises.constant import LAB, TILE
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
    """Yield layers split by maps, by channels, by both, and not at all. The symbol is NaN beyond
    the weights of a launch.
    """
    drawn = (int(n) for n in rng.integers(0, 6, 5))
    layouts = (
        (
            ConvShape(2, 3, 12, 9 + next(drawn), 19 + next(drawn), 5),
            (7, 3),
        ),  # at most 7 maps, 3 channels a launch
        (ConvShape(1, 11, 3, 8, 9 + next(drawn), 7), (1, 6)),
        (ConvShape(2, 3, 4, 8, 9 + next(drawn), 5), (3, 1)),  # as wide as the first filter
        (ConvShape(2, 2, 2, 18, 32, 1), (2, 2)),
    )
    for shape, most in layouts:
        x, filter = layers.draw(rng, shape)
        arrays, facts = (
            {"y": kit.unwritten(shape.y_shape), "x": x},
            {"shape": shape, "filter": filter, "most": most},
        )
        grid = kit.ceil_div(shape.out_h, TILE) * kit.ceil_div(shape.out_w, TILE)
        steps = []
        for m, maps, c, channels in chunks(kit.Case("", arrays, ("y",), (), {}, facts)):
            symbol = np.full(WORDS, np.nan, np.float32)
            some = filter[m : m + maps, c : c + channels].ravel()
            symbol[: some.size] = some
            sizes = map(np.int32, (m, c, channels, shape.C, shape.M, shape.H, shape.W, shape.K))
            steps.append(
                kit.Step(
                    (grid, maps, shape.B), (TILE, TILE), ("y", "x", *sizes), {"filter": symbol}
                )
            )
        kinds = {"layer": shape, "filter width": shape.K}
        title = (
            f"{shape.C} -> {quantity(shape.M, 'map')} of {shape.out_h} x {shape.out_w} in "
            f"{len(steps)} "
            f"launch{'es' * (len(steps) > 1)}"
        )
        yield kit.Case(title, arrays, ("y",), tuple(steps), kinds, facts)


def without_channels(
    left_out: Callable[[kit.Case, int, int], slice],
) -> Callable[[kit.Case], np.ndarray]:
    """Return a function of a case: what comes out if each chunk leaves out some of its channels.

    left_out: which, of the chunk's first channel and its number of channels.
    """

    def made(case: kit.Case) -> np.ndarray:
        filter = case["filter"].copy()
        for m, maps, c, channels in chunks(case):
            filter[m : m + maps, left_out(case, c, channels)] = 0
        return layers.convolved(case, filter)

    return made


def before_last(case: kit.Case, c: int, channels: int) -> slice:
    """Return all channels of each chunk of a map but the last one."""
    return slice(c, c + channels if c + channels < case["shape"].C else c)


def first_channels(case: kit.Case) -> np.ndarray:
    """Return what comes out if each chunk reads the channels of x from 0 on."""
    x, y = case["x"], np.zeros(case["shape"].y_shape)
    for m, maps, c, channels in chunks(case):
        part = np.ascontiguousarray(case["filter"][m : m + maps, c : c + channels])
        y[:, m : m + maps] += reference.conv2d(np.ascontiguousarray(x[:, :channels]), part)
    return y


def reads_of_unset_outputs(case: kit.Case, one: kit.Outcome) -> float:
    """Return requests that read y in the first launch of a map."""
    first = [c == 0 for _, _, c, _ in chunks(case)]
    return sum(
        n.total("requests", "global", "load", "y")
        for n, is_first in zip(one.counts, first, strict=True)
        if is_first
    )


def whole_maps_missing(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether some whole maps were never written, and others were."""
    missing = is_unwritten(got).all(axis=(0, 2, 3))
    return bool(missing.any() and not missing.all())


def added_by_map(case: kit.Case) -> np.ndarray:
    """Return what comes out if a launch adds to y where first_map > 0, and sets it otherwise."""
    y = without_channels(before_last)(case)
    for m, maps, *_ in chunks(case):
        if m > 0:
            y[:, m : m + maps] = np.nan  # nothing was there that could be added to
    return y


EXERCISE = kit.Exercise(
    name="conv2d_chunk",
    lab=LAB,
    place=2,
    title="A filter in chunks: some maps and some channels a launch",
    most_of_a_block=lambda case: TILE * TILE,
    reads_outputs=True,
    cases=cases,
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
    mistakes=(
        kit.Mistake(
            "Each launch leaves out the first of its channels.",
            gives=without_channels(lambda case, c, channels: slice(c, c + 1)),
        ),
        kit.Mistake(
            "Each launch leaves out the last of its channels: there are `channels` of them.",
            gives=without_channels(lambda case, c, channels: slice(c + channels - 1, c + channels)),
        ),
        kit.Mistake(
            "Each launch overwrites what the one before has made of the same map: add to y, "
            "except where first_channel is 0.",
            gives=without_channels(before_last),
        ),
        kit.Mistake(
            "Only the first launch of each map adds something to it. In every launch c counts this "
            "launch's own channels, from 0 to channels - 1.",
            gives=without_channels(lambda case, c, channels: slice(c, c + channels if c else 0)),
        ),
        kit.Mistake(
            "Each launch reads x from channel 0 on: channel c of the chunk is channel "
            "first_channel + c of x.",
            gives=first_channels,
        ),
        kit.Mistake(
            "The symbol holds only this launch's channels, `channels` channels a map: tap (m, c) "
            "lies at (m * channels + c) * K * K.",
            when=lambda case, got, want: (
                case["most"][1] < case["shape"].C
                and bool(np.isnan(got).any() and not np.isnan(got).all())
            ),
        ),
        kit.Mistake(
            "Whole maps are never written: blockIdx.y counts the maps of this launch, and the "
            "output map is first_map + blockIdx.y.",
            when=whole_maps_missing,
        ),
        kit.Mistake(
            "All outputs are NaN: a map's first launch (first_channel == 0) must set y. It holds "
            "nothing yet that could be added to.",
            gives=lambda case: np.full(case["y"].shape, np.nan),
        ),
        kit.Mistake(
            "Whether there is something to add to depends on first_channel, not on first_map: a "
            "map's first launch (first_channel == 0) must set y.",
            gives=added_by_map,
        ),
        kit.Mistake(
            "Cells of the symbol are read that this launch has not filled. It begins with map "
            "first_map and channel first_channel, and has `channels` channels a map.",
            when=lambda case, got, want: bool(np.isnan(got).any() and not is_unwritten(got).any()),
        ),
        kit.Mistake(
            "A launch that begins with channel 1 overwrites what the one before has made: add to y "
            "where first_channel > 0.",
            gives=without_channels(lambda case, c, channels: slice(0, int(c == 1))),
        ),
        *indices.WRONG_INDICES,
    ),
    hints=(
        "The symbol holds `channels` channels for each of this launch's maps. How far apart do "
        "two maps lie in it?",
        "Of x and y the kernel sees everything: there, channel and map are first_channel + c and "
        "first_map + m.",
        "Start from *output where first_channel > 0, and from 0 where it is 0.",
    ),
)
