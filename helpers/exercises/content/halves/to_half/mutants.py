"""The mistakes of to_half."""

from helpers.exercises.kit import mutant

GUARD = "if (i < n / 2) {"
LOAD = "const float2 two = reinterpret_cast<const float2*>(from)[i];"
MADE = "__floats2half2_rn(two.x, two.y)"
STORE = f"reinterpret_cast<__half2*>(to)[i] = {MADE};"

MUTANTS = (
    mutant(
        "Each thread has rounded one number, and the others are as they were: thread i takes two, "
        "numbers 2 i and 2 i + 1.",
        (GUARD, "if (i < n) {"),
        (LOAD, ""),
        (STORE, "to[i] = __float2half(from[i]);"),
    ),
    mutant(
        "Half of the pairs are as they were: thread i has a pair if i < n / 2.",
        (GUARD, "if (i < n / 4) {"),
    ),
    mutant(
        "The last pair is as it was: thread i has a pair if i < n / 2.",
        (GUARD, "if (i < n / 2 - 1) {"),
    ),
    mutant(
        "Digits are cut off: round to the nearest half (__floats2half2_rn).",
        (MADE, "__halves2half2(__float2half_rz(two.x), __float2half_rz(two.y))"),
    ),
    mutant(
        "The two numbers of a pair are exchanged: the first one goes into the low half, .x.",
        (MADE, "__floats2half2_rn(two.y, two.x)"),
    ),
    mutant("Both halves of a pair hold its first number.", (MADE, "__float2half2_rn(two.x)")),
    mutant("Both halves of a pair hold its second number.", (MADE, "__float2half2_rn(two.y)")),
    mutant(
        "The second number of each pair is that of the second half of `from`: a pair is numbers 2 "
        "i and 2 i + 1.",
        (LOAD, "const float2 two = make_float2(from[i], from[i + n / 2]);"),
    ),
    mutant(
        "The first numbers of all pairs stand in the first half of `to`, the second ones in the "
        "other: number 2 i and number 2 i + 1 are neighbours there, too.",
        (STORE, "to[i] = __float2half(two.x);\nto[i + n / 2] = __float2half(two.y);"),
    ),
    mutant(
        "A thread takes two numbers, so there are n / 2 pairs: thread i has one if i < n / 2.",
        (GUARD, "if (i < n) {"),
    ),
    mutant(
        "A pair is two numbers, and `from` is seen as pairs: pair i has number i there, and not "
        "2 i.",
        ("(from)[i]", "(from)[2 * i]"),
    ),
    mutant(
        "Pairs overlap: pair i begins at number 2 i, and yours at number i.",
        (LOAD, "const float2 two = make_float2(from[i], from[i + 1]);"),
    ),
)
