"""The mistakes of conv1d_three."""

from helpers.exercises.kit import mutant

WINDOW = "c < width + 2"
OUTPUTS = "o < 3; ++o) if (c >= o"

MUTANTS = (
    mutant("All sums are 0: the gap adds the cells of the tile to them.", (WINDOW, "c < 0")),
    mutant(
        "It is right with 31 weights only: their number is the argument width.",
        ("c - o < width", "c - o < 31"),
    ),
    mutant(
        "Only the first of three outputs is right: the others start at 0 and stay there.",
        (OUTPUTS, OUTPUTS.replace("3", "1")),
    ),
    mutant(
        "The third output of each thread is 0: a cell belongs to up to three outputs.",
        (OUTPUTS, OUTPUTS.replace("3", "2")),
    ),
    mutant(
        "The filter runs backwards: output o reads cell c with filter[c - o].",
        ("filter[c - o]", "filter[width - 1 - c + o]"),
    ),
    mutant(
        "Outputs 0 and 2 of a thread have each other's weights: cell c and output o have weight "
        "c - o.",
        ("c >= o && c - o < width", "c - 2 + o >= 0 && c - 2 + o < width"),
        ("filter[c - o]", "filter[c - 2 + o]"),
    ),
    mutant(
        "Cell c and output o have weight c - o, and yours have c + o.",
        ("c >= o && c - o < width", "c + o < width"),
        ("filter[c - o]", "filter[c + o]"),
    ),
    mutant(
        "The window of thread t begins at cell 3 * t of the tile, which is `mine`.",
        ("tile[mine +", "tile[threadIdx.x +"),
    ),
    mutant(
        "Only the first output of each thread is wrong: cell 0 of its window belongs to it.",
        ("int c = 0", "int c = 1"),
    ),
    mutant(
        "The last two cells of the window are left out: three outputs need width + 2 cells.",
        (WINDOW, "c < width"),
    ),
    mutant(
        "The last cell of the window is left out: three outputs need width + 2 cells.",
        (WINDOW, "c < width + 1"),
    ),
    mutant(
        "Weight c - o exists only from 0 to width - 1: test it before you use it. Cell 0, for "
        "instance, belongs to output 0 alone.",
        ("c >= o && ", ""),
    ),
    mutant(
        "No thread has loaded this cell of the tile. A thread's window has width + 2 cells, and "
        "width is an argument, which is not always 31.",
        (WINDOW, "c < 33"),
        ("c - o < width", "c - o < 31"),
    ),
)
