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
    right(
        "two ldmatrix for the squares of X, each of two",
        (
            "The same, with rows and columns of each square exchanged.\n"
            "__device__ uint4 load_turned(const Piece* row)\n",
            "Two squares with rows and columns exchanged; lanes 0 to 15 name their rows.\n"
            "__device__ uint2 load_two_turned_squares(const Piece* row)\n",
        ),
        (
            "    uint4 s;\n"
            '    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, '
            '%3}, [%4];"\n'
            '                 : "=r"(s.x), "=r"(s.y), "=r"(s.z), "=r"(s.w)\n',
            "    uint2 s;\n"
            '    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"\n'
            '                 : "=r"(s.x), "=r"(s.y)\n',
        ),
        (
            "s += 2) {\n"
            "            // Gap 3: this lane's row and piece of X. A row is a term. The "
            "first two squares are\n"
            "            // piece s of 16 terms, the others piece s + 1.\n"
            "            const uint4 x = load_turned(tile_x + place_of(first + lane % 16, s "
            "+ lane / 16));\n",
            "++s) {\n"
            "            const uint2 x = load_two_turned_squares(tile_x + place_of(first + "
            "lane % 16, s));\n",
        ),
        ("            multiply(sum[s + 1], a, x.z, x.w);\n", ""),
    ),
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
    wrong(
        "fragments cell by cell",
        (
            "__device__ void multiply(",
            "// The pair of rows `row` and row + 1, column `column` of the tile of X.\n"
            "__device__ unsigned pair_of(const Piece* tile, int row, int column)\n"
            "{\n"
            "    const unsigned short* cells = reinterpret_cast<const unsigned short*>(tile);\n"
            "    const unsigned low = cells[place_of(row, column / 8) * 8 + column % 8];\n"
            "    return low\n"
            "        | (unsigned)cells[place_of(row + 1, column / 8) * 8 + column % 8] << 16;\n"
            "}\n\n"
            "__device__ void multiply(",
        ),
        (
            "const uint4 x = load_turned(tile_x + place_of(first + lane % 16, s + lane / 16));\n",
            "uint4 x = load_turned(\n"
            "                tile_x + place_of(first + lane % 16, s + lane / 16));   // not used\n"
            "            const int row = first + lane % 4 * 2, column = s * 8 + lane / 4;\n"
            "            x.x = pair_of(tile_x, row, column);\n"
            "            x.y = pair_of(tile_x, row + 8, column);\n"
            "            x.z = pair_of(tile_x, row, column + 8);\n"
            "            x.w = pair_of(tile_x, row + 8, column + 8);\n",
        ),
        status="budget",
    ),
    wrong("no __syncwarp()", ("    __syncwarp();\n", ""), status="finding"),
    wrong("the lanes that march together", ("__syncwarp();", "__syncwarp(__activemask());")),
)
