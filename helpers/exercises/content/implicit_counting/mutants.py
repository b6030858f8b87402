"""The mistakes of implicit_counting."""

from helpers.exercises.content.gemm_flat.mutants import NO_WAIT
from helpers.exercises.kit import mutant

START = "int c = ty / (K * K), p = ty % (K * K) / K, q = ty % K;"
STEP = "c += dc, p += dp, q += dq;"
TO_ROWS = "if (q >= K) { q -= K; ++p; }"
TO_CHANNELS = "if (p >= K) { p -= K; ++c; }"
ONE_BY_ONE = (STEP, "q += TILE;")  # the sixteen cells are left to carries

AT_0 = (
    "c and p begin at 0 for every row: row ty of the matrix is channel ty / (K * K), row "
    "ty / K % K and column ty % K of the filter, before the loop."
)
TOO_LATE = (
    "A carry comes one too late: q and p go from 0 to K - 1, so they carry when they reach K."
)
NOT_IN_X = "An index left x. Load only below `inner` and `cols`, and 0 elsewhere."


def while_beyond(q: str = ">=", p: str = ">=") -> tuple[tuple[str, str], ...]:
    """Return the edits that carry as often as needed. q, p: when they do, compared with K."""
    return (
        ONE_BY_ONE,
        (TO_ROWS, f"while (q {q} K) {{ q -= K; ++p; }}"),
        (TO_CHANNELS, f"while (p {p} K) {{ p -= K; ++c; }}"),
    )


MUTANTS = (
    mutant(
        "All sums are 0: load the tiles, wait at a barrier, and add up the products.",
        ("sum += tile_a", "sum += 0 * tile_a"),
    ),
    mutant(AT_0, (START, "int c = 0, p = 0, q = ty;"), *while_beyond()),
    mutant(AT_0, (START, "int c = 0, p = 0, q = ty;")),
    mutant(AT_0, (START, "int c = 0, p = 0, q = 0;")),
    mutant(TOO_LATE, ("q >= K", "q > K")),
    mutant(TOO_LATE, ("p >= K", "p > K")),
    mutant(TOO_LATE, ("q >= K", "q > K"), ("p >= K", "p > K")),
    mutant(TOO_LATE, *while_beyond(q=">")),
    mutant(TOO_LATE, *while_beyond(p=">")),
    mutant(TOO_LATE, *while_beyond(q=">", p=">")),
    mutant(
        "Only a filter of 11 x 11 is wrong: a product with 1.0f / (K * K) is rounded, and 121 "
        "times 1.0f / 121 is less than 1. Count in whole numbers.",
        (
            STEP,
            "c = (first + TILE + ty) * (1.0f / (K * K)), q = first + TILE + ty - c * K * K;\n"
            "        p = q / K, q %= K;",
        ),
        (TO_ROWS, ""),
        (TO_CHANNELS, ""),
    ),
    mutant("A carry from rows to channels is missing.", (TO_CHANNELS, "")),
    mutant("A carry from columns to rows is missing.", (TO_ROWS, "")),
    mutant("q falls by K, and p must rise then.", ("q -= K; ++p;", "q -= K;")),
    mutant("p falls by K, and c must rise then.", ("p -= K; ++c;", "p -= K;")),
    mutant("p rises, and q must fall by K then.", ("q -= K; ++p;", "++p;")),
    mutant("c rises, and p must fall by K then.", ("p -= K; ++c;", "++c;")),
    mutant(
        "16 cells can be several rows of the filter, and several channels, so that one carry is "
        "not enough. Work out before the loop how many channels, rows and cells they are.",
        ONE_BY_ONE,
    ),
    mutant("(c, p, q) stay those of the first step.", (STEP, "")),
    mutant(NO_WAIT, ("        __syncthreads();\n        for (int k", "        for (int k")),
    mutant(NO_WAIT, ("tile_x[k][tx];\n        __syncthreads();", "tile_x[k][tx];")),
    mutant(NOT_IN_X, ("first + ty < inner && col", "col")),
    mutant(NOT_IN_X, ("first + ty < inner && col < cols", "first + ty < inner")),
)
