"""Wrong kernels of the convolution layer, and of what prepares its arrays."""

from tests.kernels.mutants.mutant import Mutant, without, wrong

MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "conv2d_basic": (
        # p = 0 .. K in place of 0 .. K - 1. A published course report has this bug, unrolled by
        # hand; its accuracy went up.
        wrong("conv2d_basic_extra_row", "out-of-bounds", ("0; p < K;", "0; p <= K;")),
        # The layer of a network is a cross-correlation: weight (0, 0) meets the cell above and
        # left of all others.
        wrong(
            "conv2d_basic_flipped_filter",
            "suspect",
            ("(c * K + p) * K + q", "(c * K + K - 1 - p) * K + K - 1 - q"),
        ),
        # The host counts them rounded up: blocks then find other tiles than they should, and
        # nobody computes the last columns.
        wrong(
            "conv2d_basic_floor_grid",
            "last block",
            ("(out_w + blockDim.x - 1) / blockDim.x", "max(1, out_w / blockDim.x)"),
        ),
        # Right for layer 1, which has one channel; layer 2 has four.
        wrong("conv2d_basic_one_channel", "suspect", ("0; c < C;", "0; c < 1;")),
        # Threads right of the output map own no output. They write the first outputs of the next
        # row, and the very last ones write past the end of y.
        wrong("conv2d_basic_unguarded", "out-of-bounds", ("B && h < out_h && w < out_w", "B")),
    ),
    "conv2d_channels_atomics": (
        # blockIdx.y is m * C + c, and is read as c * M + m.
        wrong(
            "conv2d_channels_atomics_one_map",
            "all",
            ("/ C;\n    const int c = blockIdx.y % C", "% M;\n    const int c = blockIdx.y / M"),
            ("m * C + c", "m * C + blockIdx.y % C"),
        ),
        # y += reads, adds and writes in three steps: what another block adds between them is
        # lost.
        wrong(
            "conv2d_channels_atomics_plain",
            "race",
            (
                (
                    "// y += sum would lose what other blocks add at the same time.\n"
                    "    atomicAdd(&y[(((long long)b * M + m) * out_h + h) * out_w + w], sum)"
                ),
                "y[(((long long)b * M + m) * out_h + h) * out_w + w] += sum",
            ),
        ),
    ),
    "conv2d_channels_shuffle": (
        # The mask of a shuffle names all 32 lanes, but with fewer channels than lanes some have
        # returned: undefined.
        wrong(
            "conv2d_channels_shuffle_early_return",
            "mask",
            ("w < out_w;\n", "w < out_w;\n    if (threadIdx.y >= C) return;\n"),
        ),
        # Lanes of one output lie COLUMNS apart, and the shuffle takes the lane `half` on.
        wrong("conv2d_channels_shuffle_stride", "all", ("sum, half * COLUMNS", "sum, half")),
    ),
    "conv2d_channels_tree": (
        # In a ragged tile some threads of the block never come to them, which is undefined; two
        # course reports did this.
        wrong(
            "conv2d_channels_tree_barrier_in_branch",
            "barrier",
            ("for (int half", "if (inside) for (int half"),
        ),
        # A thread adds a sum that another one may not have stored yet.
        wrong("conv2d_channels_tree_no_barrier", "race", without("__syncthreads();")),
    ),
    "conv2d_constant": (
        # The loop over the filter's columns runs to q <= K: the sum takes the first weight of the
        # next row, and the last sum of the last map reads the word behind the filter.
        wrong("conv2d_constant_extra_tap", "out-of-bounds", ("0; q < K;", "0; q <= K;")),
        # The map is left out of the filter's index, as happens when only a part of the filter
        # fits into constant memory: map 0 is right, all others repeat it.
        wrong(
            "conv2d_constant_first_map",
            "suspect",
            (
                "Nothing in the filter's index depends on threadIdx: one broadcast",
                "One broadcast, and one map for all",
            ),
            ("(m * C + c)", "c"),
        ),
        # The weights lie as (M, C, K, K), and the index reads them as (C, M, K, K): every weight
        # is one of the filter, but of another map.
        wrong(
            "conv2d_constant_transposed_maps",
            "all",
            (
                "Nothing in the filter's index depends on threadIdx: one broadcast",
                "Still a broadcast, of the wrong word",
            ),
            ("m * C + c", "c * M + m"),
        ),
    ),
    "conv2d_fft_tiles": (
        # Pairs of whole rows turn by places, too, as if the tile were one long row.
        wrong(
            "fft_tiles_columns_only",
            "scattered",
            ("/ SIDE * (CELLS / 2 / span)", "* (SIDE / 2) / span"),
        ),
        # With an odd number of images the last block loads past the end of x.
        wrong("fft_tiles_two_images", "out-of-bounds", ("b + 1 < B ? 1 : 0", "1")),
        # Tiles of SIDE - K + 2 outputs: the first row and column of each is what wrapped around.
        wrong(
            "fft_tiles_wrapped_row",
            "suspect",
            ("1;   // of", "2;   // of"),
            (
                "1);\n            const int w = column + i % SIDE - (K - 1",
                "2);\n            const int w = column + i % SIDE - (K - 2",
            ),
        ),
    ),
    "conv2d_half": (
        # The conversion to float32 comes one operation too late: the product has lost half of its
        # digits by then.
        wrong(
            "conv2d_half_converted_late",
            "precision",
            (
                (
                    "// Both are widened first: the product is exact, the sum is float32.\n"
                    "                    sum += __half2float(cell) * __half2float(tap)"
                ),
                "sum += __half2float(__hmul(cell, tap))",
            ),
        ),
        # Every addition is rounded to 11 bits; float32 is only what the result is stored as.
        wrong(
            "conv2d_half_sum_in_half",
            "precision",
            ("float sum = 0.0f", "__half sum = __float2half(0.0f)"),
            (
                (
                    "// Both are widened first: the product is exact, the sum is float32.\n"
                    "                    sum += __half2float(cell) * __half2float(tap)"
                ),
                "sum = __hfma(cell, tap, sum)",
            ),
            ("sum;", "__half2float(sum);"),
        ),
    ),
    "conv2d_half2": (
        # The low half of a pair is the even map; here it is stored as the odd one.
        wrong("conv2d_half2_exchanged", "scattered", ("y : two.x", "x : two.y")),
        # Each row of the filter is added once more for every row behind it.
        wrong(
            "conv2d_half2_not_cleared",
            "scattered",
            ("                        half_sum[m][o] = zero;\n", ""),
        ),
        # The number of the pair is left out where its weights are read.
        wrong("conv2d_half2_one_pair", "scattered", ("MAP_PAIRS + m", "MAP_PAIRS")),
    ),
    "conv2d_half_inside": (
        # The weight is made an int before it is made a half: its fraction is gone.
        wrong(
            "conv2d_half_inside_integers",
            "all",
            (
                "__float2half(weights[(c * K + p) * K + q])",
                "__int2half_rn(int(weights[(c * K + p) * K + q]))",
            ),
        ),
        # __float2half_rz rounds towards zero: errors are twice as large, and all of one sign.
        wrong(
            "conv2d_half_inside_truncated",
            "precision",
            (
                (
                    "__float2half(image[(c * H + h + p) * W + w + q]);\n"
                    "                    const __half tap = __float2half"
                ),
                (
                    "__float2half_rz(image[(c * H + h + p) * W + w + q]);\n"
                    "                    const __half tap = __float2half_rz"
                ),
            ),
        ),
    ),
    "conv2d_implicit_gemm": (
        # blockIdx.z chooses the outputs, but not the image that is unrolled.
        wrong(
            "conv2d_implicit_gemm_one_image", "suspect", ("x + (size_t)blockIdx.z * C * H * W", "x")
        ),
        # The unrolled matrix has out_w columns to an output row, but its cells stand in x, whose
        # rows are W long.
        wrong("conv2d_implicit_gemm_output_pitch", "all", ("W + w + q", "out_w + w + q")),
    ),
    "conv2d_implicit_gemm_fast": (
        # The unrolled matrix is looked up with its rows in reverse order: a convolution with a
        # flipped filter.
        wrong(
            "conv2d_implicit_gemm_fast_flipped",
            "suspect",
            ("i % (K * K) / K) * W + i", "K - 1 - i % (K * K) / K) * W + K - 1 - i"),
        ),
        # i / K counts the filter rows of all channels, so that from the second channel on the
        # cell is c*K rows too far down; past the end of x in the last image.
        wrong("conv2d_implicit_gemm_fast_no_wrap", "out-of-bounds", ("i % (K * K) / K", "i / K")),
    ),
    "conv2d_implicit_mma": (
        # No barrier stands between the staging of a chunk and its fragments.
        wrong("conv2d_implicit_mma_no_barrier", "race", without("fragments hold cells that")),
        # No barrier stands between the products of a chunk and the staging of the next one.
        wrong("conv2d_implicit_mma_no_second_barrier", "race", without("not before all have read")),
        # Lanes 16 to 31 must name the rows of the second slice; here they name the first again.
        wrong(
            "conv2d_implicit_mma_one_slice",
            "scattered",
            ("lane_offset(step)", "threadIdx.x % 32 < 16 ? lane_offset(step) : 0"),
        ),
        # a.y holds rows 8 to 15 of the first slice, a.z rows 0 to 7 of the second one; here they
        # are given the wrong way round.
        wrong(
            "conv2d_implicit_mma_rows_swapped",
            "scattered",
            ("a, b[n].x", "make_uint4(a.x, a.z, a.y, a.w), b[n].x"),
        ),
    ),
    "conv2d_implicit_mma_async": (
        # The cells of the next chunk are on their way, and the weights of this one again.
        wrong("conv2d_implicit_mma_async_late_weights", "scattered", ("next_chunk *", "chunk *")),
        # With one buffer for cells all must have read them before the next ones are stored.
        wrong(
            "conv2d_implicit_mma_async_no_second_barrier",
            "race",
            (
                (
                    "            if (CELL_BUFFERS == 1) {\n"
                    "                __syncthreads();   // not before all have read what is "
                    "stored next\n"
                    "            }\n"
                ),
                "",
            ),
        ),
        # The copies run in the background: without a wait a thread may multiply what was there
        # before.
        wrong("conv2d_implicit_mma_async_no_wait", "race", without("wait_for_copies();")),
        # With two buffers the next chunk belongs into the other one.
        wrong("conv2d_implicit_mma_async_same_buffer", "race", ("(buffer ^ 1)", "buffer")),
    ),
    "conv2d_implicit_mma_split": (
        # A short sum begins at 0 again after it was added to the total.
        wrong("conv2d_implicit_mma_split_kept_sum", "scattered", without("sum[m][n][i] = 0.0f;")),
        # The steps of a chunk are no whole number of short sums.
        wrong("conv2d_implicit_mma_split_lost_end", "scattered", ("1 || step == STEPS - 1", "1")),
        # No barrier stands between the store of the cells and their fragments.
        wrong(
            "conv2d_implicit_mma_split_no_barrier", "race", ("            __syncthreads();\n", "")
        ),
        # A residual lies CELLS octets behind its cell.
        wrong("conv2d_implicit_mma_split_no_residuals", "scattered", ("part * CELLS + ", "")),
    ),
    "conv2d_implicit_wgmma": (
        # The first product of a chunk overwrites the sums of the channels before.
        wrong("conv2d_implicit_wgmma_lost_chunk", "scattered", ("chunk > 0 || tap", "tap")),
        # A tile that overhangs writes over the next row, or behind y.
        wrong("conv2d_implicit_wgmma_overhang", "race", ("OUT_W - tile.left", "TILE_W")),
        # The window of the tap (p, q) begins q rows and p columns on.
        wrong(
            "conv2d_implicit_wgmma_taps_exchanged", "scattered", ("/ K, tap % K", "% K, tap / K")
        ),
        # The producer does not wait for the consumers.
        wrong("conv2d_implicit_wgmma_too_early", "race", without("at first nobody reads")),
    ),
    "conv2d_mma_halves": (
        # The sums that lanes with q = 2 and 3 hold are exchanged before they are stored.
        wrong(
            "conv2d_mma_halves_exchanged",
            "scattered",
            (
                "            store_pairs",
                (
                    "            for (int row = 0; row < 2; ++row) {\n"
                    "                for (int shift = 0; shift < 2; ++shift) {\n"
                    "                    Accumulator& registers = sum[0][row][shift];\n"
                    "                    if (q >= 2) {\n"
                    "                        const float4 r = {registers[0], registers[1], "
                    "registers[2], registers[3]};\n"
                    "                        registers[0] = r.y;\n"
                    "                        registers[1] = r.x;\n"
                    "                        registers[2] = r.w;\n"
                    "                        registers[3] = r.z;\n"
                    "                    }\n"
                    "                }\n"
                    "            }\n"
                    "            store_pairs"
                ),
            ),
        ),
        # Lane 4 g + q takes column q and rows of g: the fragment's indices are exchanged.
        wrong(
            "conv2d_mma_halves_layout",
            "scattered",
            ("/ 4;\n    const int q = lane % 4", "% 8;\n    const int q = lane / 8"),
        ),
        # The barrier between the last output and the copy is missing.
        wrong("conv2d_mma_halves_not_gathered", "race", without("all outputs of the image are in")),
        # The last tile is moved back to end with the map, but its sums belong to later columns.
        wrong(
            "conv2d_mma_halves_overhang", "race", ("first, g, q", "min(first, COLUMNS - 8), g, q")
        ),
    ),
    "conv2d_mma_pairs": (
        # Lane 4 g + q takes column q and rows of g: the fragment's indices are exchanged.
        wrong(
            "conv2d_mma_pairs_layout",
            "scattered",
            ("/ 4;\n    const int q = lane % 4", "% 8;\n    const int q = lane / 8"),
        ),
        # Of the three products one is left out: the residuals of the weights are taken as 0.
        wrong(
            "conv2d_mma_pairs_low_half",
            "precision",
            (
                "filter[blockIdx.y * WEIGHTS + i]",
                "i / 32 % PARTS == 0 ? filter[blockIdx.y * WEIGHTS + i] : uint4()",
            ),
        ),
        # Cells are split before they have arrived.
        wrong("conv2d_mma_pairs_no_wait", "race", without("wait_for_copies();")),
        # Outputs w and w + 1 are exchanged when they are gathered.
        wrong(
            "conv2d_mma_pairs_shift_sign",
            "all",
            (
                "                store_pairs",
                (
                    "                for (int row = 0; row < 2; ++row) {\n"
                    "                    for (int i = 0; i < 4; ++i) {\n"
                    "                        const float left = total[tile][row][0][i];\n"
                    "                        total[tile][row][0][i] = total[tile][row][1][i];\n"
                    "                        total[tile][row][1][i] = left;\n"
                    "                    }\n"
                    "                }\n"
                    "                store_pairs"
                ),
            ),
        ),
    ),
    "conv2d_mma_quads": (
        # a.x and a.z hold columns 2 q and 2 q + 8: here they are given the wrong way round.
        wrong(
            "conv2d_mma_quads_layout",
            "all",
            (
                "weights[step][part] = fragments[(step * PARTS + part) * 32]",
                (
                    "const uint4 a = fragments[(step * PARTS + part) * 32];\n"
                    "            weights[step][part] = make_uint4(a.z, a.w, a.x, a.y)"
                ),
            ),
        ),
        # The barrier behind the wait is missing: a wait is for a thread's own copies.
        wrong(
            "conv2d_mma_quads_no_barrier",
            "race",
            (
                (
                    "        // The image is complete, nobody reads the previous one's "
                    "cells, and its last band has left.\n"
                    "        __syncthreads();\n"
                ),
                "",
            ),
        ),
        # The barrier between the last output and the copy is missing.
        wrong("conv2d_mma_quads_not_gathered", "race", without("all outputs of the band are in")),
        # What the host multiplied the weights by is not taken back.
        wrong(
            "conv2d_mma_quads_unscaled",
            "all",
            ("__uint_as_float(filter[MAP_GROUPS * WEIGHTS].x)", "1.0f"),
        ),
    ),
    "conv2d_register": (
        # The index of the map is left out where the weight is read: of each MAPS maps only the
        # first is right.
        wrong("conv2d_register_one_map", "planes", ("min(first + m, M - 1)", "first")),
        # M is not a multiple of MAPS, and the guard of the maps is missing at the store: a
        # patch's spare maps land in the next image, and behind y.
        wrong("conv2d_register_spare_maps", "out-of-bounds", ("first + m < M && w", "w")),
        # The tile overhangs the last row of outputs, and only the columns are guarded: the cells
        # of those rows lie in the next channel, or behind x.
        wrong("conv2d_register_spare_rows", "out-of-bounds", ("h >= out_h || w", "w")),
    ),
    "conv2d_register_2d": (
        # The maps of this filter lie innermost.
        wrong(
            "conv2d_register_2d_maps_outermost",
            "all",
            (
                "((c * K + p) * K + q) * PADDED_MAPS + map + m",
                "(((map + m) % OUTPUT_MAPS * CHANNELS + c) * K + p) * K + q",
            ),
        ),
        # No barrier stands between the load of the tile and the sums.
        wrong("conv2d_register_2d_no_barrier", "race", without("patches need cells that other")),
        # The last tile overhangs the image.
        wrong(
            "conv2d_register_2d_unguarded_load",
            "out-of-bounds",
            ("h < HEIGHT && w < WIDTH ? channel[h * WIDTH + w] : 0.0f", "channel[h * WIDTH + w]"),
        ),
    ),
    "conv2d_register_images": (
        # The threads do not wait for their own copies.
        wrong(
            "conv2d_register_images_no_wait",
            "race",
            without('asm volatile("cp.async.wait_all;" ::: "memory");'),
        ),
        # The offset of the group in the weights is left out.
        wrong("conv2d_register_images_one_group", "planes", ("weights + group * MAPS", "weights")),
        # The last block has fewer images, and stores the outputs of all.
        wrong("conv2d_register_images_unguarded", "out-of-bounds", (" && first + image < B", "")),
    ),
    "conv2d_register_tiled": (
        # The threads that fill up the last warp return at the top: the cells that they would have
        # loaded stay unset.
        wrong(
            "conv2d_register_tiled_idle_return",
            "barrier",
            ("threadIdx.x;\n", "threadIdx.x;\n    if (t >= PATCHES) return;\n"),
        ),
        # The host has put the maps innermost, and the kernel still looks for them outermost:
        # every address is right, every weight is another's.
        wrong(
            "conv2d_register_tiled_maps_outermost",
            "all",
            (
                "float weight = filter[tap * PADDED_MAPS + map + m]",
                (
                    "int channel = (map + m) % PADDED_MAPS * CHANNELS + c + s;\n"
                    "                        const float weight = filter[(channel * K + p) * K + q]"
                ),
            ),
        ),
        # A patch reads cells of the tile that other threads may not have stored yet.
        wrong("conv2d_register_tiled_no_barrier", "race", without("patches read cells, and")),
    ),
    "conv2d_restrict": (
        # An odd K has no second tap in its last step: it reads the next row's, and behind the
        # last row of the last filter there is nothing.
        wrong(
            "conv2d_restrict_by_two",
            "out-of-bounds",
            ("q < K; ++q", "q < K; q += 2"),
            (
                ";\n                }",
                (
                    ";\n"
                    "                    sum += image[(c * H + h + p) * W + w + q + 1] * "
                    "weights[(c * K + p) * K + q + 1];\n"
                    "                }"
                ),
            ),
        ),
        # The weight of tap (p, q) is read at (q, p): right for symmetric filters only.
        wrong(
            "conv2d_restrict_exchanged", "suspect", ("(c * K + p) * K + q", "(c * K + q) * K + p")
        ),
    ),
    "conv2d_tiled": (
        # The second barrier stands inside the branch, where threads past the last row or column
        # of the output never come.
        wrong(
            "conv2d_tiled_barrier_in_branch",
            "barrier",
            (
                "        }\n        __syncthreads();   // the",
                (
                    "            __syncthreads();   // the next channel overwrites the tile: "
                    "not before all have read it\n"
                    "        }\n"
                    "        __syncthreads();   // the"
                ),
            ),
            (
                (
                    "        __syncthreads();   // the next channel overwrites the tile: not "
                    "before all have read it\n"
                    "    }"
                ),
                "    }",
            ),
        ),
        # The guard stands at the top, as in a kernel without a tile: the cells that those threads
        # would have loaded stay unset.
        wrong(
            "conv2d_tiled_early_return",
            "barrier",
            (
                "    float sum",
                ("    if (h >= out_h || w >= out_w) {\n        return;\n    }\n    float sum"),
            ),
        ),
        # The channel is left out of the load, so the weights of all channels meet the cells of
        # channel 0.
        wrong("conv2d_tiled_first_channel", "all", ("((size_t)b * C + c)", "(size_t)b * C")),
        # The loading loop stops one row early, so the last outputs of a tile read a row of shared
        # memory that nothing has written.
        wrong("conv2d_tiled_halo_short", "uninitialised", ("&& top + r", "- 1 && top + r")),
        # A thread sums over cells that other threads may not have loaded yet.
        wrong("conv2d_tiled_no_first_barrier", "race", without("outputs read cells that other")),
        # A fast warp loads the next channel into the tile while a slow one still reads this one.
        # With one channel nothing is wrong.
        wrong("conv2d_tiled_no_second_barrier", "race", without("the next channel overwrites the")),
        # Span lacks the last column of the halo. Index span of a row is the first cell of the
        # next one: inside the array, so that only the row below the last one is seen to be
        # missing.
        wrong("conv2d_tiled_pitch_short", "uninitialised", ("1;    // the", "2;    // the")),
    ),
    "conv2d_tiled_maps": (
        # The index of the sum is forgotten at the store: every MAPS-th map is right, the others
        # repeat it.
        wrong("conv2d_tiled_maps_one_sum", "planes", ("w] = sum[o", "w] = sum[0")),
        # M is not a multiple of MAPS, and the last block of maps has no guard: it reads weights
        # behind the filter, and its stores land in the next image or behind y.
        wrong(
            "conv2d_tiled_maps_unguarded",
            "out-of-bounds",
            ("min(first + o, M - 1)", "first + o"),
            without("if (first + o < M) {"),
            ("}\n    }\n}\n", "}\n    }\n"),
        ),
    ),
    "conv2d_uncoalesced": (
        # The guards compare the row with out_w and the column with out_h: right for square output
        # maps only.
        wrong(
            "conv2d_uncoalesced_half_swapped",
            "out-of-bounds",
            ("out_h && w < out_w", "out_w && w < out_h"),
        ),
        # Lanes go down a column, and y is written as if they went along a row: each output map
        # comes out transposed.
        wrong(
            "conv2d_uncoalesced_transposed",
            "scattered",
            ("out_h + h) * out_w + w", "out_w + w) * out_h + h"),
        ),
    ),
    "conv2d_unrolled": (
        # p runs to FILTER_WIDTH inclusive: the eighth row of a filter of seven is the first one
        # of the next filter, and behind the last there is nothing.
        wrong(
            "conv2d_unrolled_extra_row", "out-of-bounds", ("p < FILTER_WIDTH", "p <= FILTER_WIDTH")
        ),
        # q ends one tap early.
        wrong("conv2d_unrolled_short", "suspect", ("q < FILTER_WIDTH", "q < FILTER_WIDTH - 1")),
    ),
    "conv2d_wmma": (
        # The columns lie one behind the other, each with its cells in a row; row_major reads them
        # as if rows did.
        wrong("conv2d_wmma_layout", "all", ("col_major", "row_major")),
        # A fragment is loaded from columns that other lanes of the warp have yet to write.
        wrong("conv2d_wmma_no_barrier", "race", without("the fragment's lanes read columns of")),
        # The next step overwrites what lanes may still read; the barrier that one buffer needs is
        # not compiled.
        wrong("conv2d_wmma_one_buffer", "race", ("columns + step % BUFFERS * BUFFER", "columns")),
        # C K K is rounded up to whole steps of a fragment; what stands behind the last weight is
        # multiplied, too.
        wrong(
            "conv2d_wmma_padding",
            "uninitialised",
            ("round_to(weights", "if (term < TERMS) round_to(weights"),
        ),
        # Accumulators are float32; here each step ends in half, as an accumulator of __half
        # would.
        wrong(
            "conv2d_wmma_sum_in_half",
            "precision",
            (
                "sum[part]);\n",
                (
                    "sum[part]);\n"
                    "                for (float& one : sum[part].x) one = "
                    "__half2float(__float2half(one));\n"
                ),
            ),
        ),
    ),
    "im2col_basic": (
        # Row (p, q) holds cell (K-1-p, K-1-q), so that the product convolves with the filter
        # turned by half a circle.
        wrong("im2col_flipped", "suspect", ("p * W + q", "(K - 1 - p) * W + K - 1 - q")),
        # The threads past the last output copy cells too: into the next row of the matrix, and
        # past the end of the last one.
        wrong("im2col_unguarded", "out-of-bounds", ("if (pixel < out_h * out_w) ", "")),
    ),
    "to_half": (
        # The first argument of __floats2half2_rn is the low half, which lies first in memory.
        wrong("to_half_exchanged", "all", ("two.x, two.y", "two.y, two.x")),
        # Values are converted in pairs; the one that is left alone is never written.
        wrong(
            "to_half_whole_pairs",
            "planes",
            (
                (
                    "    if (n % 2 && first == 0) {\n"
                    "        to[n - 1] = __float2half(from[n - 1]);\n"
                    "    }\n"
                    "}"
                ),
                "}",
            ),
        ),
    ),
}
