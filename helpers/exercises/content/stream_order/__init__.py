"""Issue orders over streams: the waits that two buffers need, and no more, so that all overlap
stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.exercises import kit
from helpers.exercises.judge.python_exercise import Judgement, PythonExercise, of_findings
from helpers.limits import ConvShape
from helpers.problems import streams
from helpers.quantities import quantity
from helpers.reference import conv2d

LAB = "113_streams"
BUFFERS = (3, 2, 1)
SHAPE = ConvShape(1, 1, 4, 20, 22, 7)  # of one image


def inputs(seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return images for each number of buffers, a drawn number of them and then one more each
    time, and a filter.
    """
    rng = np.random.default_rng(seed)
    pieces = int(rng.integers(5, 8))
    images = kit.whole_numbers(rng, (pieces + len(BUFFERS) - 1, 1, SHAPE.H, SHAPE.W), 3)
    batches = [images[: pieces + more] for more in range(len(BUFFERS))]
    return batches, kit.whole_numbers(rng, SHAPE.filter_shape, 3)


def made(issue: Callable[[Any], None], seed: int) -> list[dict[str, Any]]:
    """Return what comes of an issue order with 3, 2 and 1 buffers, as plain values."""
    batches, filter = inputs(seed)
    results = []
    for buffers, x in zip(BUFFERS, batches, strict=True):
        with streams.simulated() as sim:
            there, y = (
                sim.cuda.pagelocked_empty(shape, np.float32)
                for shape in (x.shape, (len(x), *SHAPE.y_shape[1:]))
            )
            there[:], y[:] = x, np.nan
            launch = streams.launcher(
                "conv2d_register_tiled", SHAPE, filter, sim.cuda, sim.compiler
            )
            with streams.Pipeline(sim.cuda, launch, y, there, images=1, buffers=buffers) as pipe:
                try:
                    pipe.run(issue)
                except IndexError as error:
                    tried = ", ".join(map(str, BUFFERS))
                    error.args = (
                        f"{error}, with {quantity(buffers, 'buffer')} and "
                        f"{quantity(len(x), 'piece')}: the check tries {tried} buffers, and other "
                        "numbers of pieces, so let pipe.buffers and pipe.pieces choose. (No piece "
                        "has had the buffers of the first ones before.)",
                    )
                    raise
                order = pipe.order() if pipe._issued else ()
        found = [pipe.words(finding) for finding in sim.findings]
        steps = max((span.end for span in order), default=0)
        used = len({span.stream for span in order})
        results.append(
            {
                "steps": steps, "works": len(order), "streams": used, "findings": found,
                "y": np.array(y),
            }
        )  # fmt: skip
    return results


_ONE_STREAM = (
    "All works are in one stream, so each of them waits for the one before. Give piece k the "
    "stream of its buffer, streams[k % pipe.buffers]."
)
_WAITS = (
    "Everything is in order, and works wait that need not: a copy in, a kernel and a copy out of "
    "three pieces can run at the same time. Let a stream wait for an event, and not the host, nor "
    "a stream for more than it needs."
)


def _hint(findings: list[str], buffers: int) -> str:
    text = findings[0]
    with_buffers = "With 1 buffer" if buffers == 1 else f"With {quantity(buffers, 'buffer')}"
    if "reads memory" in text and "HtoD" in text:
        return (
            "A kernel reads images that are still being copied in: let its stream wait for the "
            "event after the copy of its own piece."
        )
    if "reads memory" in text and "DtoH" in text:
        return (
            "An output is copied out that its kernel may still be writing: let the copy's stream "
            "wait for the event after that kernel."
        )
    if "HtoD" in text and "kernel" in text:
        return (
            f"{with_buffers} piece k + {buffers} is copied over what piece k's kernel "
            f"may still read: let the copy's stream wait "
            "for the event after that kernel."
        )
    if "DtoH" in text and "kernel" in text:
        return (
            f"{with_buffers} the kernel of piece k + {buffers} overwrites an output that "
            f"is still being copied out: let its stream "
            "wait for the event after that copy."
        )
    return (
        "An event orders two streams: the later one waits for the event that the other "
        "one has recorded."
    )


def judged(
    results: list[dict[str, Any]],
    seed: int,
    *,
    overlapped: Sequence[int] = (3, 2),
    hint_of: Callable[[list[str], int], str] = _hint,
) -> Judgement:
    """Return whether all three runs are ordered, right, and as short as they can be.

    overlapped: the numbers of buffers with which all overlap must stay. hint_of: the hint for the
    findings of a run with so many buffers.
    """
    batches, filter = inputs(seed)
    wants = [conv2d(x, filter) for x in batches]
    for buffers, want, one in zip(BUFFERS, wants, results, strict=True):
        words, pieces = quantity(buffers, "buffer"), len(want)
        if one["works"] == 0:
            hint = (
                "Each piece needs pipe.h2d(), pipe.kernel() and pipe.d2h(), each with a "
                "stream; begin with the stub."
            )
            return Judgement("wrong", f"{words}: nothing is enqueued, so nothing is computed", hint)
        if one["works"] != 3 * pieces:
            hint = "Each piece needs one pipe.h2d(), one pipe.kernel() and one pipe.d2h()."
            if buffers != BUFFERS[0]:
                hint += " There are pipe.pieces of them: the number is another one in each run."
            return Judgement(
                "wrong",
                f"{words}: {one['works']} works are enqueued for {quantity(pieces, 'piece')}, not "
                f"{3 * pieces}",
                hint,
            )
        if one["findings"]:
            return of_findings(words, one["findings"], hint_of(one["findings"], buffers))
        if not np.array_equal(one["y"], want):
            bad = [k for k in range(pieces) if not np.array_equal(one["y"][k], want[k])]
            return Judgement(
                "wrong",
                f"{words}: piece {bad[0]} is wrong ({len(bad)} of {pieces} are)",
                "Do all three works of a piece use that piece?",
            )
        if buffers in overlapped and one["steps"] > pieces + 2:
            hint = _ONE_STREAM if one["streams"] == 1 else _WAITS
            return Judgement(
                "budget",
                f"right, but {words}: {one['steps']:.0f} steps for {quantity(pieces, 'piece')}; "
                "the budget "
                f"is {pieces + 2}",
                hint,
            )
    fewest, most = len(wants[0]), len(wants[-1])
    values = sum(want.size for want in wants)
    checked = f"3 numbers of buffers, {fewest} to {most} pieces, {values:,} values"
    return Judgement(
        "pass",
        f"{checked}, no finding; {results[0]['steps']:.0f} steps with 3 buffers (budget "
        f"{fewest + 2})",
        checked=checked,
    )


EXERCISE = PythonExercise(
    name="stream_order",
    lab=LAB,
    place=2,
    title="The waits that two buffers need",
    answer="mend",
    made=made,
    judged=judged,
    limit_s=10.0,
    hints=(
        "With two buffers, which piece had the buffers of piece 2 before? Which of its works "
        "must be done before piece 2 is copied in?",
        "Keep the events that pipe.kernel() and pipe.d2h() return, by piece.",
        "For piece k, with k >= pipe.buffers: `into` waits for the kernel of piece k - "
        "pipe.buffers, and `compute` for its copy out.",
    ),
)
