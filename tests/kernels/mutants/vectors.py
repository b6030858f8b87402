"""Wrong kernels of arrays in one dimension: axpy, convolutions and Fourier transforms."""

from tests.kernels.mutants.mutant import Mutant, without, wrong

MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "axpy_basic": (
        # The guard asks i <= n, so one thread touches the element after the last.
        wrong("axpy_off_by_one", "out-of-bounds", ("if (i < n)", "if (i <= n)")),
        # There is no guard, so the last block's extra threads read x and read and write y past
        # their ends.
        wrong(
            "axpy_unguarded",
            "out-of-bounds",
            (
                (
                    "\n"
                    "    // The grid is a whole number of blocks, so the last block usually "
                    "has threads past the end:\n"
                    "    // they must do nothing.\n"
                    "    if (i < n) {\n"
                    "        y[i] = a * x[i] + y[i];\n"
                    "    }"
                ),
                "    y[i] = a * x[i] + y[i];",
            ),
        ),
    ),
    "conv1d_basic": (
        # The halo is missing: a cell that another block owns is taken for a ghost cell, so the
        # outputs on both sides of every block boundary are wrong.
        wrong(
            "conv1d_block_is_an_island",
            "tile borders",
            (
                "threadIdx.x;\n",
                (
                    "threadIdx.x;\n"
                    "    const int start = blockIdx.x * blockDim.x;\n"
                    "    const int end = start + blockDim.x;"
                ),
            ),
            (
                (
                    "j;   // [-RADIUS, n + RADIUS): ghosts lie on both sides\n"
                    "            if (cell >= 0"
                ),
                "j;\n            if (cell >= start && cell < end",
            ),
        ),
        # The filter is read from its last tap to its first.
        wrong(
            "conv1d_flipped_filter",
            "suspect",
            ("j;   // [-RADIUS, n + RADIUS): ghosts lie on both sides", "j;"),
            ("filter[j];", "filter[FILTER_WIDTH - 1 - j];"),
        ),
        # The cells before the first and after the last are not there, but nothing stops the sum
        # from reading them.
        wrong(
            "conv1d_no_ghost_guard",
            "out-of-bounds",
            (
                (
                    "const int cell = i - RADIUS + j;   // [-RADIUS, n + RADIUS): ghosts lie on "
                    "both sides\n"
                    "            if (cell >= 0 && cell < n) {\n"
                    "                sum += N[cell] * filter[j];\n"
                    "            }"
                ),
                "sum += N[i - RADIUS + j] * filter[j];",
            ),
        ),
        # Outputs whose filter reaches over an end of N are skipped, so the first and last R
        # outputs are never written. A published course report has this bug.
        wrong(
            "conv1d_unwritten_ends",
            "halo",
            ("\n    if (i < n)", "    if (i - RADIUS >= 0 && i + RADIUS < n)"),
            (
                (
                    "const int cell = i - RADIUS + j;   // [-RADIUS, n + RADIUS): ghosts lie on "
                    "both sides\n"
                    "            if (cell >= 0 && cell < n) {\n"
                    "                sum += N[cell] * filter[j];\n"
                    "            }"
                ),
                "sum += N[i - RADIUS + j] * filter[j];",
            ),
        ),
        # Only whole blocks work: when n is not a multiple of the block, the outputs of the last,
        # partial block are never written. A published course report has this bug.
        wrong(
            "conv1d_unwritten_tail",
            "last block",
            ("\n    if (i < n)", "    if ((blockIdx.x + 1) * blockDim.x <= n)"),
            ("j;   // [-RADIUS, n + RADIUS): ghosts lie on both sides", "j;"),
        ),
    ),
    "conv1d_constant": (
        # The loop runs to j <= FILTER_WIDTH and reads the word behind the filter, as a published
        # course report did with p = 0 .. 7 for a filter of 7.
        wrong(
            "conv1d_constant_extra_tap",
            "out-of-bounds",
            (
                (
                    "j < FILTER_WIDTH; ++j) {\n"
                    "            const int cell = i - RADIUS + j;   // [-RADIUS, n + RADIUS): "
                    "ghosts lie on both sides"
                ),
                ("j <= FILTER_WIDTH; ++j) {\n            const int cell = i - RADIUS + j;"),
            ),
            ("    // j is the same in every lane: one broadcast", ""),
        ),
        # The index of the filter is forgotten: constant memory broadcasts filter[0] for every
        # tap.
        wrong(
            "conv1d_constant_first_tap",
            "all",
            ("j;   // [-RADIUS, n + RADIUS): ghosts lie on both sides", "j;"),
            ("[j];    // j is the same in every lane: one broadcast", "[0];"),
        ),
        # Cells and weights are rounded to the 11 significant bits of FP16 before they are
        # multiplied.
        wrong(
            "conv1d_constant_half",
            "precision",
            ("#ifndef", "#include <cuda_fp16.h>\n\n#ifndef"),
            (
                'extern "C',
                (
                    "// To half precision and back: 11 significant bits are left.\n"
                    "__device__ float rounded(float x)\n"
                    "{\n"
                    "    return __half2float(__float2half(x));\n"
                    "}\n"
                    "\n"
                    'extern "C'
                ),
            ),
            ("j;   // [-RADIUS, n + RADIUS): ghosts lie on both sides", "j;"),
            (
                "N[cell] * filter[j];    // j is the same in every lane: one broadcast",
                "rounded(N[cell]) * rounded(filter[j]);",
            ),
        ),
        # `filter` has room for FILTER_WIDTH - 1 words, so the last tap is read from behind it.
        wrong(
            "conv1d_constant_short",
            "out-of-bounds",
            ("[FILTER_WIDTH]", "[FILTER_WIDTH - 1]"),
            ("j;   // [-RADIUS, n + RADIUS): ghosts lie on both sides", "j;"),
            ("    // j is the same in every lane: one broadcast", ""),
        ),
    ),
    "conv1d_fft_overlap_add": (
        # FFT_SIZE - width / 2 cells: the rest of the tail wraps around and falls on the segment's
        # own first outputs.
        wrong(
            "fft_overlap_add_aliasing",
            "suspect",
            ("width + 1;", "width / 2;"),
            ("segment ?", "segment && i - segment < FFT_SIZE\n            ?"),
        ),
        # The outputs at the end of P that only the last segment's tail reaches are left at zero.
        wrong(
            "fft_overlap_add_lost_tail",
            "halo",
            (
                "        if (out < 0",
                (
                    "        if (blockIdx.x + 1 == gridDim.x && i >= 2 * segment) continue;\n"
                    "        if (out < 0"
                ),
            ),
        ),
        # Two blocks write the same outputs, and the later one wins.
        wrong("fft_overlap_add_no_addition", "race", ("atomicAdd(P + out, sum)", "P[out] = sum")),
        # The inverse reads cells that other threads may not have multiplied yet.
        wrong(
            "fft_overlap_add_no_barrier",
            "race",
            without("a pass groups cells that other threads multiplied"),
        ),
        # The twiddle factor is not conjugated on the way back: a second forward transform, which
        # runs backwards.
        wrong("fft_overlap_add_no_conjugate", "suspect", ("conjugate(w)", "w")),
        # The last block's segments reach over the end of N, and nothing stops the load.
        wrong("fft_overlap_add_unguarded", "out-of-bounds", ("&& b < n ? N", "? N")),
    ),
    "conv1d_outputs": (
        # The outputs go back through the tile for coalesced stores, without waiting until all
        # threads have read their cells.
        wrong("conv1d_outputs_no_second_barrier", "race", without("all reads of the tile are")),
    ),
    "conv1d_tiled_steps": (
        # Threads past the end of P return above the barrier, though the tile still needs the
        # cells that they would have loaded.
        wrong(
            "conv1d_tiled_early_return",
            "barrier",
            (
                "    // Load. Ghost",
                (
                    "    if (blockIdx.x * TILE_WIDTH + threadIdx.x >= n) {\n"
                    "        return;\n"
                    "    }\n"
                    "\n"
                    "    // Load. Ghost"
                ),
            ),
        ),
        # tile[0] should hold cell start - R and holds cell start - R + 1, so every output is that
        # of its right neighbour.
        wrong("conv1d_tiled_halo_off_by_one", "shifted", ("first + s", "first + s + 1")),
        # Only the interior of the tile is loaded; both halos are set to 0 in every block, as if
        # each tile were the whole of N.
        wrong(
            "conv1d_tiled_missing_halo",
            "tile borders",
            ("cell >= 0", "s >= RADIUS && s < TILE_WIDTH + RADIUS"),
        ),
        # A thread reads tile cells that other threads may not have written yet.
        wrong("conv1d_tiled_no_barrier", "race", without("__syncthreads();")),
        # Threads inside N and threads past its end wait at different barriers of one block, which
        # is undefined.
        wrong(
            "conv1d_tiled_two_barriers",
            "barrier",
            (
                "__syncthreads();",
                (
                    "if (blockIdx.x * TILE_WIDTH + threadIdx.x < n) {\n"
                    "        __syncthreads();\n"
                    "    } else {\n"
                    "        __syncthreads();\n"
                    "    }"
                ),
            ),
        ),
        # N is read at every thread's index, also past its end in the last block and before its
        # start in the first. A published course report has this bug.
        wrong(
            "conv1d_tiled_unguarded_load",
            "out-of-bounds",
            ("cell >= 0 && cell < n ? N[cell] : 0.0f", "N[cell]"),
        ),
        # The last tile is partial, but all of its threads store their sum.
        wrong("conv1d_tiled_unguarded_store", "out-of-bounds", ("if (i < n) ", "")),
        # Only the interior of the tile is loaded; the sum reads halo cells that hold whatever was
        # there.
        wrong(
            "conv1d_tiled_unset_halo",
            "uninitialised",
            (
                "for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {",
                "{\n        const int s = threadIdx.x + RADIUS;",
            ),
        ),
    ),
    "conv1d_vector": (
        # The tile is loaded in float4 from cell start - R, which is a multiple of 4 cells only if
        # R is: a 16-byte access needs a 16-byte boundary.
        wrong(
            "conv1d_vector_misaligned",
            "misaligned",
            (
                "(4 * HALO - RADIUS)    // cells of the left halo, in 0 .. 3, that no output wants",
                "0",
            ),
            ("4 * HALO;", "RADIUS;"),
        ),
        # n need not be a multiple of 4, but the last thread loads and stores a whole float4, over
        # the ends of N and P.
        wrong("conv1d_vector_ragged", "out-of-bounds", ("+ TILE_WIDTH + 4 * HALO <= n", "< n")),
        # The four taps of a group meet the cells of the group before.
        wrong("conv1d_vector_window_stands", "all", ("window[o + 4]", "window[o]")),
    ),
    "fft_radix2": (
        # The loop stops at a span of two: transforms of half the points, of even and of odd
        # places.
        wrong("fft_radix2_half_the_stages", "suspect", ("span > 0;", "span > 1;")),
        # A stage reads pairs whose cells other threads may not have written yet in the stage
        # before.
        wrong("fft_radix2_no_barrier", "race", without("the last stage's pairs are made of other")),
        # exp(+i) in place of exp(-i): the inverse transform, without its scale.
        wrong(
            "fft_radix2_twiddle_sign",
            "suspect",
            ("x - d.y * w.y, d.x * w.y + d.y * w.x", "x + d.y * w.y, d.y * w.x - d.x * w.y"),
        ),
    ),
}
