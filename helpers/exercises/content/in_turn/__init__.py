"""Pieces over streams, a stream for each buffer: the order of the copies and launches."""

from __future__ import annotations

import functools

from helpers.exercises.content import stream_order
from helpers.exercises.judge.python_exercise import PythonExercise
from helpers.quantities import quantity


def _hint(findings: list[str], buffers: int) -> str:
    if findings[0].startswith(("unwritten", "uninitialised")):
        return "Within its stream a piece is copied in first, then computed, and copied back last."
    if findings[0].startswith("unsynchronised: kernel") and "HtoD" in findings[0]:
        return (
            "A kernel reads the images that a copy in another stream brings: give the three works "
            "of a piece the same stream."
        )
    if findings[0].startswith("unsynchronised: cuMemcpyDtoHAsync") and "kernel" in findings[0]:
        return (
            "A copy back reads the results that a kernel in another stream writes: give the three "
            "works of a piece the same stream."
        )
    return (
        f"With {quantity(buffers, 'buffer')} pieces 0 and {buffers} lie in the same ones. Put "
        "both into the "
        "same stream, that of buffer piece % pipe.buffers: then the second one comes after the "
        "first."
    )


EXERCISE = PythonExercise(
    name="in_turn",
    lab=stream_order.LAB,
    place=1,
    title="Send the pieces over several streams",
    points=4,
    answer="in_turn",
    made=stream_order.made,
    judged=functools.partial(stream_order.judged, overlapped=(3,), hint_of=_hint),
    limit_s=10.0,
    hints=(
        "Each piece has three works: pipe.h2d(piece, stream), pipe.kernel(piece, stream) and "
        "pipe.d2h(piece, stream). In which order must a stream have them?",
        "There is a stream for each buffer, and piece k lies in buffer k % pipe.buffers. So which "
        "of the streams is its own?",
        "stream = streams[piece % pipe.buffers], and then the three calls, all with this stream.",
    ),
)
