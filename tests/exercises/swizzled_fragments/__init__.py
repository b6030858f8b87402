"""Answers to swizzled_fragments, right and wrong."""

from tests.exercises.answers import right, wrong

PLACE = "row * 8 + (piece ^ row % 8)"
OF_A = "place_of(lane % 16, first / 8 + lane / 16)"
OF_X = "place_of(first + lane % 16, s + lane / 16)"
TILES = "tile_a[16 * 8], tile_x[DEPTH * 8]"

RIGHT = (
    right("an exclusive or, as in the ladder"),
    right("the pieces of a row turned", (PLACE, "8 * row + (piece + row) % 8")),
    right(
        "a gap after each row",
        (PLACE, "9 * row + piece"),
        (TILES, "tile_a[16 * 9], tile_x[DEPTH * 9]"),
    ),
    right(
        "lanes by squares",
        (OF_A, "place_of(lane % 8 + (lane & 8), (first >> 3) + (lane >> 4))"),
        (OF_X, "place_of((lane & 15) | first, lane < 16 ? s : s + 1)"),
    ),
    right("two ldmatrix for the squares of X, each of two", file="right_two_by_two.cu"),
)

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the pieces stay in order", (PLACE, "row * 8 + piece"), status="budget"),
    wrong("a swizzle of four rows", (PLACE, "row * 8 + (piece ^ row % 4)"), status="budget"),
    wrong(
        "neighbouring rows share an order",
        (PLACE, "row * 8 + (piece ^ row / 2 % 8)"),
        status="budget",
    ),
    wrong("no tensor cores", file="wrong_no_tensor.cu", status="budget"),
    wrong("fragments cell by cell", file="wrong_by_cells.cu", status="budget"),
    wrong("no __syncwarp()", ("    __syncwarp();\n", ""), status="finding"),
    wrong("the lanes that march together", ("__syncwarp();", "__syncwarp(__activemask());")),
)
