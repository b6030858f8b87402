"""Answers to two_cards, right and wrong."""

from tests.exercises.answers import broken_python, right_python, wrong_python

GIVE = "    cards.streams[0].wait_for_event(cards.give(1, 0))\n"
PUT = "    cards.streams[1].wait_for_event(cards.put(0, 1))\n"

RIGHT = (
    right_python("three works and two waits"),
    right_python("events by name", file="right_events.py"),
    right_python("card 1 adds", file="right_other.py"),
)

WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("card 0 does not wait", (GIVE, "    cards.give(1, 0)\n"), status="finding"),
    wrong_python("card 1 does not wait", (PUT, "    cards.put(0, 1)\n"), status="finding"),
    wrong_python("no sum on card 1", (PUT, "")),
    wrong_python("nothing is added", ("    cards.add(0)\n", "")),
    wrong_python("the host waits", (GIVE, "    cards.give(1, 0).synchronize()\n"), status="budget"),
    *broken_python("both", error=("    cards.add(0)\n", "    cards.add(0 // 0)\n")),
)
