"""Wrong kernels of matrix products."""

from tests.kernels.mutants.mutant import Mutant, without, wrong

MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "gemm_basic": (
        # The sum walks along a row of X instead of down a column: right only where X is
        # symmetric.
        wrong("gemm_basic_transposed", "all", ("i * cols + col", "col * inner + i")),
    ),
    "gemm_column": (
        # Without the barrier behind the sums, a fast warp overwrites tiles that another one still
        # reads.
        wrong("gemm_column_no_second_barrier", "race", without("nobody may overwrite the tiles")),
        # Threads right of Y own no output. They write into the next row, and the last ones behind
        # the end.
        wrong("gemm_column_unguarded_store", "out-of-bounds", ("rows && col < cols", "rows")),
    ),
    "gemm_mma": (
        # Without the barrier, ldmatrix reads what other threads have not copied yet.
        wrong("gemm_mma_no_barrier", "race", without("__syncthreads();")),
        # X lies in rows, and a fragment of B holds columns: without .trans, lanes multiply other
        # cells.
        wrong("gemm_mma_not_turned", "scattered", ("trans.shared", "shared")),
    ),
    "gemm_patch": (
        # The sums take every ACROSS-th row of the tile, the stores PATCH neighbouring ones.
        wrong("gemm_patch_neighbouring_rows", "scattered", ("ty + r * ACROSS", "ty * PATCH + r")),
    ),
    "gemm_pipelined": (
        # Without the barrier, a thread reads what others have not copied yet.
        wrong("gemm_pipelined_no_barrier", "race", without("__syncthreads();")),
        # One more group may still be under way than there are steps ahead: the newest copies are
        # read too early.
        wrong("gemm_pipelined_too_early", "race", ("STAGES - 2", "STAGES - 1")),
    ),
    "gemm_tiled": (
        # A thread past the last row or column has no output, but it has cells of both tiles to
        # load.
        wrong(
            "gemm_tiled_early_return",
            "barrier",
            ("    float sum", "    if (row >= rows || col >= cols) return;\n    float sum"),
        ),
        # Without the barrier after the sum, a fast warp overwrites the tiles that a slow one
        # still multiplies.
        wrong("gemm_tiled_no_second_barrier", "race", without("nobody may overwrite the tiles")),
        # The loop makes inner / TILE_WIDTH whole steps; where TILE_WIDTH does not divide inner,
        # the rest is never added.
        wrong("gemm_tiled_whole_steps", "all", ("first < inner", "first + TILE_WIDTH <= inner")),
    ),
    "gemm_vector": (
        # The second four rows of a patch are read 32 rows below the first ones, not half a tile.
        wrong("gemm_vector_half_tile", "tiles", ("ty + half * HALF", "ty + half * HALF / 2")),
        # The last step loads what lies behind a row of A, and the last row reads behind the
        # matrix.
        wrong("gemm_vector_zero_steps", "out-of-bounds", ("rows && i < inner", "rows")),
    ),
    "gemm_warp": (
        # The last eight steps may lie partly beyond the matrices: taken for whole ones, they add
        # what lies behind.
        wrong("gemm_warp_no_zeros", "out-of-bounds", ("+ EIGHT <=", "<")),
        # One more group may still be under way: the first cells of the next tiles are read too
        # early.
        wrong(
            "gemm_warp_too_early",
            "race",
            (
                "                    wait_for_copies<STAGES - 2",
                "                    wait_for_copies<STAGES - 1",
            ),
        ),
    ),
    "mma_ldmatrix": (
        # The lanes of a warp may run apart: ldmatrix reads rows that other lanes have stored, and
        # nothing orders the two.
        wrong("mma_ldmatrix_no_barrier", "race", without("ldmatrix reads what other lanes have")),
        # Without .trans a register of B holds two columns of one row, and not two rows of one
        # column.
        wrong("mma_ldmatrix_not_transposed", "suspect", ("trans.shared", "shared")),
        # Lanes 8 to 15 must name rows 8 to 15 of the left half, not the right half of the upper
        # rows.
        wrong(
            "mma_ldmatrix_rows_swapped",
            "suspect",
            ("16][lane / 16", "8 + lane / 16 * 8][lane / 8 % 2"),
        ),
    ),
    "mma_one_warp": (
        # It must hold two rows of one column, though only columns are neighbours in memory.
        wrong(
            "mma_one_warp_b_by_rows",
            "suspect",
            (
                (
                    "two + group], B[8 * (two + 1) + group]);\n"
                    "    b[1] = pair(B[8 * (two + 8) + group], B[8 * (two + 9) + group"
                ),
                (
                    "group + two], B[8 * group + two + 1]);\n"
                    "    b[1] = pair(B[8 * (group + 8) + two], B[8 * (group + 8) + two + 1"
                ),
            ),
        ),
        # a[1] must hold rows 8 to 15 of columns 0 to 7, and a[2] rows 0 to 7 of columns 8 to 15.
        wrong(
            "mma_one_warp_rows_swapped",
            "suspect",
            (
                (
                    "(group + 8) + two);\n"
                    "    a[2] = *reinterpret_cast<const Pair*>(A + 16 * group + two + 8"
                ),
                (
                    "group + two + 8);\n"
                    "    a[2] = *reinterpret_cast<const Pair*>(A + 16 * (group + 8) + two"
                ),
            ),
        ),
    ),
    "split_product": (
        # It is added to the total again and again.
        wrong("split_product_kept_sum", "suspect", without("sum[i] = 0.0f;")),
        # Steps need not be a multiple of SHORT: the last short sum is incomplete and was never
        # added to the total.
        wrong("split_product_lost_end", "suspect", ("total[i] + sum[i]", "total[i]")),
        # The residuals of B are never used: the result is no better than that of halves.
        wrong("split_product_one_residual", "suspect", without("multiply(sum, a_hi, b_lo);")),
    ),
}
