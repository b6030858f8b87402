"""The mistakes of swizzled_fragments."""

from helpers.exercises.kit import mutant

OF_A = "place_of(lane % 16, first / 8 + lane / 16)"
OF_X = "place_of(first + lane % 16, s + lane / 16)"
PLACE = "row * 8 + (piece ^ row % 8)"
IN_ORDER_OF_A = "lane % 16 * 8 + first / 8 + lane / 16"
IN_ORDER_OF_X = "(first + lane % 16) * 8 + s + lane / 16"

MUTANTS = (
    mutant(
        "All lanes name the same row: each of 32 lanes names its own row of a square.",
        (OF_A, "place_of(0, 0)"),
        (OF_X, "place_of(0, 0)"),
        (PLACE, "row * 8 + piece"),
    ),  # the stub
    mutant(
        "All lanes name the same row of X: each of 32 lanes names its own row of a square.",
        (OF_X, "place_of(0, 0)"),
    ),
    mutant(
        "All lanes name the same row of A: each of 32 lanes names its own row of a square.",
        (OF_A, "place_of(0, 0)"),
    ),
    mutant(
        "The lower squares of A are copies of the upper ones: lanes 8 to 15, and 24 to 31, name "
        "rows 8 to 15.",
        (OF_A, OF_A.replace("lane % 16", "lane % 8")),
    ),
    mutant(
        "The right squares of A are copies of the left ones: lanes 16 to 31 name the next piece.",
        (OF_A, OF_A.replace(" + lane / 16", "")),
    ),
    mutant(
        "Each step of 16 terms takes the first 16 terms of A: they begin with piece first / 8.",
        (OF_A, OF_A.replace("first / 8 + ", "")),
    ),
    mutant(
        "A piece has 8 terms, so the 16 terms from `first` on begin with piece first / 8 of A.",
        (OF_A, OF_A.replace("first / 8", "first / 16")),
    ),
    mutant(
        "A's second and third square are exchanged: the second one is below the first, and the "
        "third one beside it.",
        (OF_A, "place_of(lane % 8 + lane / 16 * 8, first / 8 + lane / 8 % 2)"),
    ),
    mutant(
        "Neighbouring lanes name both pieces of one row of A. Eight neighbouring lanes name the "
        "same piece of eight rows.",
        (OF_A, OF_A.replace("lane % 16", "lane / 2").replace("lane / 16", "lane % 2")),
    ),
    mutant(
        "The lower squares of X are copies of the upper ones: lanes 8 to 15, and 24 to 31, name "
        "the last 8 of the 16 terms.",
        (OF_X, OF_X.replace("lane % 16", "lane % 8")),
    ),
    mutant(
        "Two neighbouring pieces of X are the same: lanes 16 to 31 name piece s + 1.",
        (OF_X, OF_X.replace(" + lane / 16", "")),
    ),
    mutant(
        "All columns are those of the first two pieces of X: a turn of the inner loop takes pieces "
        "s and s + 1.",
        (OF_X, OF_X.replace("s + ", "")),
    ),
    mutant(
        "Each step takes the first 16 rows of X: its 16 terms are the rows from `first` on.",
        (OF_X, OF_X.replace("first + ", "")),
    ),
    mutant(
        "X's second and third square are exchanged: the second one is below the first, and the "
        "third one beside it.",
        (OF_X, "place_of(first + lane % 8 + lane / 16 * 8, s + lane / 8 % 2)"),
    ),
    mutant(
        "Neighbouring lanes name both pieces of one row of X. Eight neighbouring lanes name the "
        "same piece of eight rows.",
        (OF_X, OF_X.replace("lane % 16", "lane / 2").replace("lane / 16", "lane % 2")),
    ),
    mutant(
        "The tile of A is stored swizzled and read in order: gap 2 needs place_of, too.",
        (OF_A, IN_ORDER_OF_A),
    ),
    mutant(
        "The tile of X is stored swizzled and read in order: gap 3 needs place_of, too.",
        (OF_X, IN_ORDER_OF_X),
    ),
    mutant(
        "Both tiles are stored swizzled and read in order: gaps 2 and 3 need place_of, too.",
        (OF_A, IN_ORDER_OF_A),
        (OF_X, IN_ORDER_OF_X),
    ),
    mutant(
        "A row has 8 pieces, 0 to 7: piece ^ row leaves the row from row 8 on. Take row % 8.",
        (PLACE, "row * 8 + (piece ^ row)"),
    ),
    mutant(
        "Two rows share a place: a row begins 8 pieces after the row before.",
        (PLACE, "row + (piece ^ row % 8)"),
    ),
    mutant(
        "A piece is 8 halves, and the tile is an array of pieces: a row begins 8 pieces after the "
        "row before, not 64.",
        (PLACE, "row * 64 + (piece ^ row % 8) * 8"),
    ),
    mutant(
        "Two pieces of a row share a place: each row needs all of its 8 places.",
        (PLACE, "row * 8 + (piece | row % 8)"),
    ),
)
