"""Answers to gradient_sum, right and wrong."""

from tests.exercises.answers import broken_python, right_python, wrong_python

RIGHT = (
    right_python("events, one after another"),
    right_python("a ring of whole vectors", file="right_chain.py"),
    right_python("events of streams", file="right_events.py"),
)


WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("pass", file="wrong_pass.py"),
    wrong_python("the host waits", file="wrong_host.py", status="budget"),
    wrong_python(
        "the next copy does not wait for the add",
        ("            cards.streams[k].wait_for_event(added)", "            pass"),
        status="finding",
    ),
    wrong_python(
        "the cards go on at once",
        (
            "        cards.streams[k].wait_for_event(cards.put(0, k))\n",
            "        cards.put(0, k)\n",
        ),
        status="finding",
    ),
    wrong_python(
        "only card 0 has the sum",
        ("        cards.streams[k].wait_for_event(cards.put(0, k))\n", "        pass\n"),
    ),
    wrong_python("two cards, whatever there are", file="wrong_two.py"),
    *broken_python("total", error=("    added = None\n", "    added = 1 / 0\n")),
)
