"""Answers to in_turn, right and wrong."""

from tests.exercises.answers import broken_python, right_python, wrong_python

STREAM = "streams[piece % pipe.buffers]"
COPY_BACK = "        pipe.d2h(piece, stream)\n"

RIGHT = (
    right_python("a piece to its end"),
    right_python("all copies in of a group first", file="right_groups.py"),
    right_python("a stream for each engine", file="right_engines.py"),
)

WRONG = (
    wrong_python(
        "the copy back in another stream",
        ("pipe.d2h(piece, stream)", "pipe.d2h(piece, streams[(piece + 1) % pipe.buffers])"),
        status="finding",
    ),
    wrong_python(
        "the kernel before its images",
        (
            "        pipe.h2d(piece, stream)\n        pipe.kernel(piece, stream)\n",
            "        pipe.kernel(piece, stream)\n        pipe.h2d(piece, stream)\n",
        ),
        status="finding",
    ),
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("one stream for all", (STREAM, "streams[0]"), status="budget"),
    wrong_python(
        "the host waits after each piece",
        (COPY_BACK, COPY_BACK + "        stream.synchronize()\n"),
        status="budget",
    ),
    wrong_python(
        "a stream for each piece",
        ("pipe.streams(pipe.buffers)", "pipe.streams(pipe.pieces)"),
        (STREAM, "streams[piece]"),
        status="finding",
    ),
    wrong_python(
        "a stream for each engine, and no event",
        ("        pipe.h2d(piece, stream)", "        pipe.h2d(piece, streams[-1])"),
        (STREAM, "streams[0]"),
        status="finding",
    ),
    wrong_python(
        "three streams for any number of buffers", (STREAM, "streams[piece % 3]"), status="refused"
    ),
    wrong_python(
        "piece 0 for all", ("pipe.h2d(piece, stream)", "pipe.h2d(0, stream)"), status="refused"
    ),
    wrong_python("no copy back", (COPY_BACK, "")),
    wrong_python(
        "the copy back before the kernel",
        (
            "        pipe.kernel(piece, stream)\n" + COPY_BACK,
            COPY_BACK + "        pipe.kernel(piece, stream)\n",
        ),
        status="finding",
    ),
    wrong_python("only two pieces", ("range(pipe.pieces)", "range(2)")),
    wrong_python("a number of pieces written into it", ("range(pipe.pieces)", "range(6)")),
    *broken_python(
        "in_turn", error=("for piece in range(pipe.pieces)", "for piece in range(1 // 0)")
    ),
    wrong_python(
        "a piece too many", ("range(pipe.pieces)", "range(1, pipe.pieces + 1)"), status="refused"
    ),
)
