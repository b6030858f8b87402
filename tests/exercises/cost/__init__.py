"""Answers to cost, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right_python, wrong_python

RIGHT = (
    right_python("requests"),
    right_python("requests and wavefronts", "right_wavefronts.py"),
    right_python("instructions", "right_instructions.py"),
    right_python("lanes launched, by the shape alone", "right_lanes.py"),
)


WRONG = (
    wrong_python("the stub", "loses 35%", file="stub.py", status="not_begun"),
    wrong_python("the measured widths in a table", "table", file="wrong_table.py"),
    wrong_python(
        "a table by the height, times the maps", "must cost more", file="wrong_heights.py"
    ),
    wrong_python("a distance from 16 or 17", "grow with the work", file="wrong_distance.py"),
    wrong_python("the same for all", "loses", file="wrong_constant.py"),
    wrong_python("NaN", "infinite or nan", file="wrong_nan.py"),
    wrong_python(
        "nothing is returned",
        "return a number",
        ("    return", "    _ ="),
        file="solution.py",
        status="refused",
    ),
    wrong_python("sectors alone", "loses", file="wrong_sectors.py", status="budget"),
    wrong_python(
        "a counter that is not there",
        "it has",
        ("shared_load_requests", "shared_loads"),
        status="refused",
    ),
    wrong_python(
        "a loop that never ends",
        "still running",
        ("    return", "    while True: pass\n    return"),
        status="time",
    ),
    wrong_python(
        "a text",
        "return a number",
        ("return seen.shared_load_requests", "return str(seen.shared_load_requests"),
        ("2 * seen.global_load_requests", "2 * seen.global_load_requests)"),
        status="refused",
    ),
)
