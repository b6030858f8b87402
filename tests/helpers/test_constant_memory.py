"""What the deeper notebook on constant memory says of look-ups, loops and times."""

from __future__ import annotations

from helpers import bench
from helpers.bench import results, sass
from helpers.experiments import constant_memory
from helpers.experiments.constant_memory import CONSTANT, DIVERGENT, KERNELS, ROLLED_WIDTHS
from helpers.problems import conv1d

WIDTHS = (3, 7, 15, 31, 63, 255)


def line(width: int, counted: int = 1_000) -> bench.Problem:
    return bench.conv1d(10**8, width, counted=counted)


def times_of(name: str, widths: tuple[int, ...]) -> constant_memory.ByWidth:
    record = results.load(results.MEASURED / f"{name}.json")
    found = {}
    for width in widths:
        names = {row["series"] for row in record.comparable()}
        kernels = [line(width).kernel(name) for name in KERNELS if name in names]
        found[width] = bench.Times.read(record, line(width), kernels, kernels[0])
    return found


def test_nsight_compute_saw_the_look_ups_serialised():
    seen = {w: line(w, constant_memory.COUNTED_CELLS).count(*KERNELS) for w in (3, 31)}
    for row in constant_memory.beside_ncu(seen).splitlines()[2:]:
        ours, theirs = (int(word.replace(",", "")) for word in row.split()[-2:])
        # Those of the kernel's arguments come on top, at most seven for each of 313 warps and
        # one for each of the 40 blocks, or a few percent of many.
        assert ours <= theirs <= 1.04 * ours + 7 * 313 + 40, row


def test_the_slowdown_stays_below_the_words_in_a_request():
    as_is, unrolled = times_of("102_constant", WIDTHS), times_of("102_unrolled", ROLLED_WIDTHS)
    for width, one in (as_is | unrolled).items():
        assert 1 < one.ms(DIVERGENT) / one.ms(CONSTANT) < min(width, 32)


def test_a_pragma_makes_straight_code_of_wide_filters_and_leaves_narrow_ones():
    for width in WIDTHS:
        (plain,), (straight,) = (
            spec.plan(1, width)
            for spec in (
                conv1d.conv1d_named(CONSTANT),
                conv1d.unrolled(conv1d.conv1d_named(CONSTANT)),
            )
        )
        codes = [sass.assembled(p.name, p.options, source=p.source) for p in (plain, straight)]
        rolled = width in ROLLED_WIDTHS
        assert [len(code.loops) for code in codes] == [int(rolled), 0]
        assert codes[1].count("multiply-adds") == width
        assert bool(sass.difference(*codes)) == rolled


def test_the_loop_turns_the_verdict():
    """Deeper 102 says that constant memory is slower with nvcc's loop, and faster without it."""
    as_is = times_of("102_deeper_loop", ROLLED_WIDTHS)
    unrolled = times_of("102_deeper_unrolled", ROLLED_WIDTHS)
    for width in ROLLED_WIDTHS:
        assert as_is[width].ratio(CONSTANT).verdict == "slower"
        assert unrolled[width].ratio(CONSTANT).verdict == "faster"
