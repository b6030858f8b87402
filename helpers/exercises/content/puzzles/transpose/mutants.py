"""The mistakes of transpose."""

from helpers.exercises.kit import mutant

LOAD_GUARD = "x < width && y < height"
STORE_GUARD = "column < height && row < width"
TURNED = "tile[threadIdx.x][threadIdx.y]"

MUTANTS = (
    mutant(
        "The cells are copied in their order. P[x * height + y] is N[y * width + x].",
        ("column = blockIdx.y", "column = blockIdx.x"),
        ("row = blockIdx.x", "row = blockIdx.y"),
        (STORE_GUARD, "column < width && row < height"),
        ("row * height", "row * width"),
        (TURNED, "tile[threadIdx.y][threadIdx.x]"),
    ),
    mutant(
        "A cell of the tile is read that another thread fills: a __syncthreads() belongs between "
        "filling the tile and reading it.",
        ("    __syncthreads();\n", ""),
    ),
    mutant(
        "The store has the guards of the load, but P has width rows of height cells: there the "
        "two change places.",
        (STORE_GUARD, LOAD_GUARD),
    ),
    mutant(
        "P has width rows of height cells: threads outside of it must not store.",
        (f"if ({STORE_GUARD}) P", "P"),
    ),
    mutant(
        "N has height rows of width cells: threads outside of it must not load.",
        (f"    if ({LOAD_GUARD}) tile", "    tile"),
    ),
    mutant(
        "The block's tile of P lies where its tile of N lies: for the store the .x and .y of "
        "blockIdx change places.",
        ("column = blockIdx.y", "column = blockIdx.x"),
        ("row = blockIdx.x", "row = blockIdx.y"),
    ),
    mutant(
        "The tile is read as it was filled: for the store its two indices change places.",
        (TURNED, "tile[threadIdx.y][threadIdx.x]"),
    ),
    mutant(
        "P has width rows of height cells: each row begins `height` cells after the row before.",
        ("row * height", "row * width"),
    ),
)
