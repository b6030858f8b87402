"""Answers to loops_swapped, right and wrong."""

from tests.exercises.answers import right_python, wrong_python

RIGHT = (
    right_python("conditional expressions"),
    right_python("std::max and std::min", file="right_max.py"),
    right_python("pointers", file="right_pointers.py"),
    right_python("the middle tap first", file="right_middle_first.py"),
    right_python("the last tap first", file="right_last_tap_first.py"),
)


WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("the last output left out", file="wrong_last.py"),
    wrong_python("loops not swapped", file="wrong_not_swapped.py", status="budget"),
    wrong_python(
        "loops not swapped, without a test", file="wrong_not_swapped_bounds.py", status="budget"
    ),
    wrong_python(
        "loops not swapped, added to P itself",
        file="wrong_not_swapped_in_place.py",
        status="budget",
    ),
    wrong_python(
        "loops not swapped, from the last output on",
        file="wrong_not_swapped_backwards.py",
        status="budget",
    ),
    wrong_python("swapped for few cells only", file="wrong_swapped_for_few.py", status="budget"),
    wrong_python("no lower end", ("shift < 0 ? -shift : 0", "0")),
    wrong_python("no upper end", ("shift > 0 ? n - shift : n", "n")),
    wrong_python("outputs beyond P", ("shift > 0 ? n - shift : n", "n - shift")),
    wrong_python("the filter flipped", ("filter[j];", "filter[width - 1 - j];")),
    wrong_python("only the middle weight", ("P[i] += N", "if (shift == 0) P[i] += N")),
    wrong_python("a loop that never ends", ("++j) {", "j += 0) {"), status="time"),
    wrong_python("it does not compile", ("last = shift", "last = shifted"), status="compile"),
    wrong_python("a crash", ("P[i] += N[i + shift]", "P[i - (1LL << 40)] += N[i + shift]")),
    wrong_python(
        "a test in the inner loop",
        (
            "for (long long i = first; i < last; ++i) P[i]",
            "for (long long i = 0; i < n; ++i) if (i >= first && i < last) P[i]",
        ),
        status="budget",
    ),
    wrong_python(
        "a choice in the inner loop",
        (
            "for (long long i = first; i < last; ++i) P[i] += N[i + shift] * filter[j];",
            "for (long long i = 0; i < n; ++i) {\n"
            "            P[i] += i >= first && i < last ? N[i + shift] * filter[j] : 0;\n        }",
        ),
        status="budget",
    ),
    wrong_python(
        "outputs counted by a short",
        ("for (long long i = first; i < last; ++i)", "for (short i = first; i < (short)last; ++i)"),
    ),
    wrong_python("at most 31 weights", ("j < width; ++j", "j < width && j < 31; ++j")),
)
