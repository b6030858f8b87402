"""Answers to stream_order, right and wrong."""

from tests.exercises.answers import broken_python, right_python, wrong_python

RIGHT = (
    right_python("events by piece"),
    right_python("a dictionary of pairs", file="right_pairs.py"),
    right_python("lists of events", file="right_lists.py"),
)


WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("pass", file="wrong_pass.py"),
    wrong_python("one stream for all", file="wrong_one_stream.py", status="budget"),
    wrong_python("the host waits", file="wrong_host.py", status="budget"),
    wrong_python(
        "the copy in does not wait",
        ("            into.wait_for_event(computed[before])\n", ""),
        status="finding",
    ),
    wrong_python(
        "the kernel does not wait",
        ("            compute.wait_for_event(back[before])\n", ""),
        status="finding",
    ),
    wrong_python(
        "the kernel does not wait for its images",
        ("compute.wait_for_event(pipe.h2d(piece, into))", "pipe.h2d(piece, into)"),
        status="finding",
    ),
    wrong_python(
        "the copy out does not wait for its kernel",
        ("        out.wait_for_event(computed[piece])\n", ""),
        status="finding",
    ),
    wrong_python("only two pieces", ("range(pipe.pieces)", "range(2)")),
    wrong_python("a number of pieces written into it", ("range(pipe.pieces)", "range(6)")),
    wrong_python(
        "the events before the first piece", file="wrong_before_the_first.py", status="refused"
    ),
    *broken_python("mend", error=("computed, back = {}, {}", "computed, back = {}, 1 / 0")),
)
