"""The mistakes of store_rows."""

from helpers.exercises.kit import mutant

STAGE = "*reinterpret_cast<float4*>(&staged[g][n * 16 + q * 4])"
SUM = "sums[n * 32 + lane];"
TAKE = "staged[i / 34][i % 34]"
WAIT = "    __syncwarp();   // lanes read what others staged\n"

BEYOND = (
    "Columns from 34 on do not exist: leave them out, or give the staged tile 8 rows of 48 "
    "columns. y has 8 x 34 = 272 floats."
)

MUTANTS = (
    mutant(
        "The rows of the staged tile have 48 columns, and the rows of y 34: they must be counted "
        "apart.",
        (TAKE, "staged[i / 48][i % 48]"),
    ),
    mutant(
        "The sums are stored in the order of the lanes: lane 4 g + q of tile n holds columns "
        "16 n + 4 q and on of map g.",
        (STAGE, "reinterpret_cast<float4*>(staged)[n * 32 + lane]"),
        (TAKE, "(&staged[0][0])[i]"),
    ),
    mutant(
        "The four floats of a lane stand the wrong way round: .x is the first column.",
        (f"= {SUM}", f"= make_float4({', '.join(f'{SUM[:-1]}.{part}' for part in 'wzyx')});"),
    ),
    mutant(
        "The places of a group lie 12 columns apart, and its tiles 4: lane 4 g + q of tile n holds "
        "columns 16 n + 4 q and on.",
        ("n * 16 + q * 4", "n * 4 + q * 12"),
    ),
    mutant(
        "g and q are mixed up: lane 4 g + q holds columns of row g, so g is lane / 4 and q is "
        "lane % 4.",
        ("g = lane / 4, q = lane % 4", "g = lane % 8, q = lane / 8"),
    ),
    mutant(
        "The last 16 floats are never written: 32 lanes store 272 floats, eight each and then 16 "
        "more.",
        ("i < 8 * 34", "i < 8 * 32"),
    ),
    mutant(
        "Two lanes stage different floats in one place: columns from 34 on do not exist, and "
        "belong to no row; or rows of 48 columns lie in the staged tile.",
        ("staged[8][48]", "staged[8 * 34 + 16]"),
        (
            f"{STAGE} = {SUM}",
            "for (int i = 0; i < 4; ++i)\n            staged[34 * g + n * 16 + q * 4 + i] = "
            "reinterpret_cast<const float*>(&sums[n * 32 + lane])[i];",
        ),
        (TAKE, "staged[i]"),
    ),
    mutant(
        "Lanes read what other lanes have staged: a __syncwarp() must lie between staging and "
        "reading.",
        (WAIT, ""),
    ),
    mutant(
        "Nobody has staged this place: all 34 columns come from the three tiles.",
        ("n < 3", "n < 2"),
    ),
    mutant(BEYOND, ("staged[8][48]", "staged[8][34]")),
    mutant(BEYOND, ("i < 8 * 34", "i < 8 * 48")),
)
