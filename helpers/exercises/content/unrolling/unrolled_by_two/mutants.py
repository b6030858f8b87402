"""The mistakes of unrolled_by_two."""

from helpers.exercises.kit import mutant

WHILE_TWO = "q + 1 < K;"
LAST = "if (q < K) sum += cell[q] * tap[q];"

MUTANTS = (
    mutant(
        "Where K is odd, tap q + 1 of the last pair lies past the row: of the last row, past "
        "the array. The last tap has no partner.",
        (WHILE_TWO, "q < K;"),  # the stub
        (LAST, ""),
    ),
    mutant("Where K is odd, the last tap of each row is left out.", (LAST, "")),
    mutant(
        "Where K is even, the last tap of each row is left out: the loop continues while two taps "
        "are left, q + 1 < K.",
        (WHILE_TWO, "q + 2 < K;"),
    ),
    mutant(
        "Where K is even, the last tap of each row is added twice: there it has a partner, and "
        "the pairs are all.",
        ("if (q < K) sum", "q = K - 1; sum"),
    ),
    mutant(
        "Where K is even, no tap is left after the loop, and yours takes one past the row.",
        ("if (q < K)", "if (q <= K)"),
    ),
    mutant(
        "Odd and even are exchanged: the last tap of a row is alone where K is odd.",
        ("if (q < K)", "q = K - 1; if (K % 2 == 0)"),
    ),
    mutant("Tap 0 of each row is left out: q begins at 0.", ("int q = 0", "int q = 1")),
)
