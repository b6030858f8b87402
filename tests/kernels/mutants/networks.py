"""Wrong kernels of the LeNet."""

from tests.kernels.mutants.mutant import Mutant, without, wrong

MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "lenet_conv_pool": (
        # The barrier before the store is left out: a window may still lack the sums of another
        # patch.
        wrong("lenet_conv_pool_no_barrier", "race", without("a window may have sums of several")),
        # Sums past the last row and column are made of other cells, and go into the maximum of
        # the cut windows.
        wrong(
            "lenet_conv_pool_overhang",
            "scattered",
            (
                (
                    "                        const bool row_inside = EVEN_H || top + row + h "
                    "+ i < OUT_H;\n"
                    "                        const bool column_inside = EVEN_W || left + "
                    "column + w + j < OUT_W;\n"
                    "                        if (row_inside && column_inside) {\n"
                ),
                "",
            ),
            ("                        }\n                    }", "                    }"),
        ),
        # Shared memory is not set to 0 first: the maximum starts at leftovers.
        wrong(
            "lenet_conv_pool_unset",
            "uninitialised",
            (
                (
                    "    for (int i = t; i < MAPS * WINDOWS; i += THREADS) {\n"
                    "        largest[i] = 0;   // the ReLU\n"
                    "    }\n"
                ),
                "",
            ),
        ),
    ),
    "lenet_dense": (
        # The barrier at the head of the loop is left out.
        wrong("lenet_dense_no_barrier", "race", without("not before all have used the chunk that")),
        # The ReLU between the two layers is left out.
        wrong("lenet_dense_no_relu", "all", without("ReLU; NaN stays")),
        # The last block has fewer than its images, and stores the class of all.
        wrong("lenet_dense_unguarded", "out-of-bounds", ("0 && b < B", "0")),
    ),
    "lenet_dense_split": (
        # The barrier between the first sums and their addition is left out.
        wrong("lenet_dense_split_no_barrier", "race", without("a warp adds what all warps have")),
        # The sums of the other warps are not added.
        wrong("lenet_dense_split_one_warp", "scattered", ("w < WARPS", "w < 1")),
        # The last block has fewer than its images, and stores the class of all.
        wrong("lenet_dense_split_unguarded", "out-of-bounds", ("0 && b < B", "0")),
    ),
    "lenet_mma_1": (
        # The copies in the background are not waited for.
        wrong("lenet_mma_1_no_wait", "race", without("wait_for_copies();")),
        # Lanes 8 apart hold other maps; both rows of a window are 4 apart.
        wrong(
            "lenet_mma_1_wrong_lanes",
            "scattered",
            (
                (
                    "4));\n"
                    "                const int right = max(right_row, __shfl_xor_sync(~0u, "
                    "right_row, 4"
                ),
                (
                    "8));\n"
                    "                const int right = max(right_row, __shfl_xor_sync(~0u, "
                    "right_row, 8"
                ),
            ),
        ),
    ),
    "lenet_mma_2": (
        # The barrier after the copy is left out: a fast warp splits the next image over cells
        # that others still multiply.
        wrong("lenet_mma_2_no_barrier", "race", without("the image is complete; nobody reads the")),
        # The product of the weights with the cells' residuals is missing: FP16's error.
        wrong(
            "lenet_mma_2_one_part",
            "scattered",
            (
                "        __syncthreads();   // products",
                (
                    "        for (int i = t; i < IMAGE_VECTORS && PARTS == 2; i += THREADS) {\n"
                    "            cells[PART + 2 * i] = 0;\n"
                    "            cells[PART + 2 * i + 1] = 0;\n"
                    "        }\n"
                    "        __syncthreads();   // products"
                ),
            ),
        ),
        # The pool has four rows, and the loop ends after two.
        wrong("lenet_mma_2_two_rows", "scattered", ("2; ++rows", "1; ++rows")),
    ),
    "lenet_pool": (
        # Windows are counted rounded down: rows and columns of y that stand over the edge are
        # never written.
        wrong(
            "lenet_pool_floor",
            "scattered",
            (
                ("(HEIGHT + POOL - 1) / POOL;\nconstexpr int COLUMNS = (WIDTH + POOL - 1)"),
                "HEIGHT / POOL;\nconstexpr int COLUMNS = WIDTH",
            ),
        ),
        # The maximum starts below all numbers, not at 0: the ReLU is missing.
        wrong("lenet_pool_no_relu", "scattered", ("0.0f;   // the ReLU", "-3e38f;")),
        # The guard of the last windows is left out: they reach into the next row, and past the
        # end of x.
        wrong(
            "lenet_pool_over_the_edge",
            "out-of-bounds",
            ("if ((EVEN_H || row + r < HEIGHT) && (EVEN_W || column + c < WIDTH)) ", ""),
        ),
    ),
    "lenet_resize": (
        # Cells outside of the image count as 0; here the border holds the nearest cell of the
        # image.
        wrong(
            "lenet_resize_clamped",
            "halo",
            (
                (
                    "bool inside = row >= 0 && row < LENGTH && column >= 0 && column < LENGTH;\n"
                    "        cells[i] = inside ? images[(b * LENGTH + row) * LENGTH + column] : 0"
                ),
                (
                    "int near_row = min(max(row, 0), LENGTH - 1);\n"
                    "        const int near_column = min(max(column, 0), LENGTH - 1);\n"
                    "        cells[i] = images[(b * LENGTH + near_row) * LENGTH + near_column]"
                ),
            ),
        ),
        # The barrier after the image is staged is left out: a thread reads bytes that another one
        # has not stored yet.
        wrong("lenet_resize_no_barrier", "race", without("a thread needs bytes that others")),
        # The network was trained on truncated values; half a unit is added before the division.
        wrong(
            "lenet_resize_rounded",
            "precision",
            ("lower) / (UNIT", "lower + UNIT * UNIT / 2)\n                       / (UNIT"),
        ),
    ),
}
