"""Answers to cost, right and wrong."""

from tests.exercises.answers import right_python, wrong_python

RIGHT = (
    right_python("requests"),
    right_python("requests and wavefronts", file="right_wavefronts.py"),
    right_python("instructions", file="right_instructions.py"),
    right_python("lanes launched, by the shape alone", file="right_lanes.py"),
)


WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("the measured widths in a table", file="wrong_table.py"),
    wrong_python("a table by the height, times the maps", file="wrong_heights.py"),
    wrong_python("a distance from 16 or 17", file="wrong_distance.py"),
    wrong_python("the same for all", file="wrong_constant.py"),
    wrong_python("NaN", file="wrong_nan.py"),
    wrong_python(
        "nothing is returned", ("    return", "    _ ="), file="solution.py", status="refused"
    ),
    wrong_python("sectors alone", file="wrong_sectors.py", status="budget"),
    wrong_python(
        "a counter that is not there", ("shared_load_requests", "shared_loads"), status="refused"
    ),
    wrong_python(
        "a loop that never ends", ("    return", "    while True: pass\n    return"), status="time"
    ),
    wrong_python(
        "a text",
        ("return seen.shared_load_requests", "return str(seen.shared_load_requests"),
        ("2 * seen.global_load_requests", "2 * seen.global_load_requests)"),
        status="refused",
    ),
)
