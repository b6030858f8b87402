"""Wrong answers of which the golden rows hold what is told: edits of a solution, by exercise."""

from __future__ import annotations

from tests.exercises.answers import Edit

EDITS: dict[str, tuple[Edit, ...]] = {
    "above_lowest": (
        ("(i < n)", "(i <= n)"),
        ("__shfl_xor_sync", "__shfl_down_sync"),
    ),
    "add_arrays": (
        ("blockDim.x + threadIdx.x", "blockDim.x - threadIdx.x"),
        ("blockIdx.x * blockDim.x", "blockIdx.x + blockDim.x"),
    ),
    "axpy_basic": (
        ("i < n", "i < n - 1"),
        # the condition that is there is no fault
        ("i < n", "true"),
        ("i < n", "i <= n"),
        # the updates of two blocks meet, and no atomic function would make that right
        ("blockIdx.x * blockDim.x", "blockIdx.x * gridDim.x"),
    ),
    "axpy_two": (
        ("k < 2; ++k)", "k < 1; ++k)"),
        ("first + k", "first - k"),
        ("2 * blockIdx.x", "2 + blockIdx.x"),
        ("2 * blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x * blockDim.x + threadIdx.x"),
    ),
    "block_histograms": (
        ("P[256 * blockIdx.x", "P[257 * blockIdx.x"),
    ),
    "block_max": (
        ("128", "129"),
        # of the only output, another decision makes the value right by chance
        ("fmaxf(s[t], s[t + half])", "s[t] + s[t + half]"),
        ("fmaxf(s[t], s[t + half])", "s[t + half]"),
    ),
    "block_sums": (
        ("stride >= 1;", "stride > 1;"),
    ),
    "conv1d_basic": (
        ("cell >= 0 && cell < n", "cell > 0 && cell < n"),
        ("cell >= 0 && cell < n", "cell >= 0 && cell < n && (j > 0 || threadIdx.x > 0)"),
        ("filter[j]", "filter[2 - j]"),
        # another line's fault would explain the first output as well
        ("i - 1 + j", "i + j"),
        ("if (i < n)", "if (i > 0 && i < n - 1)"),
        ("blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x + threadIdx.x * blockDim.x"),
        ("cell >= 0 && cell < n", "0 <= cell < n"),
        ("j = 0; j < 3", "j = 1; j < 3"),
        # either of two guards, one in the other, could keep the thread inside
        ("if (cell >= 0 && cell < n)", "if (cell >= -1) if (cell < n)"),
        ("if (cell >= 0 && cell < n)", "if (cell >= 0) if (cell <= n)"),
        # outside of the array stands filter[-1], and filter[0] next to it is wrong as well
        (
            "(int j = 0; j < 3; ++j) {\n            const int cell = i - 1 + j",
            "(int j = -1; j <= 1; ++j) {\n            const int cell = i + j",
        ),
        # the first output may have the cells or the weights in the wrong order
        ("i - 1 + j", "i + 1 - j"),
        # what the variable held is gone; that of a product is no loss, but the decision below it is
        ("sum += N[cell]", "sum = N[cell]"),
        (
            "sum += N[cell] * filter[j];",
            "float product; product = N[cell] * filter[j];\n if (j != 1) sum += product;",
        ),
    ),
    "conv1d_constant_divergent": (
        ("(threadIdx.x + j) % FILTER_WIDTH", "(threadIdx.x + j) % (FILTER_WIDTH - 1)"),
    ),
    "conv1d_edge": (
        ("min(max(i - 1 + j,", "min(max(i + 1 + j,"),
        ("sum += N[cell]", "sum = N[cell]"),
    ),
    "conv1d_symmetric": (
        ("(i < n)", "(i <= n)"),
        ("blockIdx.x * blockDim.x", "blockIdx.x + blockDim.x"),
        # no cell is in the place of a ghost: its term is left out
        ("(left >= 0 ? N[left] : 0.0f)", "N[left]"),
    ),
    "conv1d_three": (
        ("c < width", "c <= width"),
        ("start - width / 2 + s", "start + s"),
    ),
    "conv1d_tiled_steps": (
        ("TILE_WIDTH + 2 * RADIUS; s", "TILE_WIDTH + RADIUS; s"),
        ("blockIdx.x * TILE_WIDTH - RADIUS", "blockIdx.x * TILE_WIDTH"),
        ("tile[threadIdx.x + j]", "tile[threadIdx.x + RADIUS - j]"),
        # what a thread reads is right; where it stores in the tile is not
        ("tile[s] = cell", "tile[TILE_WIDTH + 2 * RADIUS - 1 - s] = cell"),
        ("tile[s] = cell", "tile[(s + RADIUS) % (TILE_WIDTH + 2 * RADIUS)] = cell"),
    ),
    "conv2d_basic": (
        ("image[(c * H + h", "image[(c + H + h"),
        # what a thread computes is right; where it stores is not
        ("out_h + h) * out_w + w]", "out_h + w) * out_w + h]"),
    ),
    "conv2d_channels_tree": (
        ("if (z < half) partial", "if (z <= half) partial"),
    ),
    "conv2d_chunk": (
        ("W + w + q]", "W + h + q]"),
    ),
    "conv2d_columns": (
        ("filter + (m * 7 + p) * 7", "filter + (m * 7 + p) * 8"),
    ),
    "conv2d_constant": (
        ("W + w", "W - w"),
    ),
    "conv2d_half": (
        ("(c * H + h + p) * W + w + q", "(c * H + h) * W + w + q"),
        ("(c * K + p) * K + q", "(c * K + p) * q + K"),
    ),
    "conv2d_implicit_gemm": (
        ("const int h = col / out_w", "const int h = col / W"),
    ),
    "conv2d_implicit_gemm_fast": (
        ("col / out_w * W", "col / W * W"),
    ),
    "conv2d_maps": (
        ("blockIdx.x", "blockIdx.y"),
    ),
    "conv2d_patch": (
        # many steps: only some of the wrong cells are followed
        ("r < 8; ++r", "r < 7; ++r"),
        ("h + r < H && w + i < W", "h + r <= H && w + i < W"),
        # what an element of a local array held is gone
        ("sum[o][i] += ", "sum[o][i] = "),
    ),
    "conv2d_register_2d": (
        ("tile[row + h + p]", "tile[row + p]"),
    ),
    "conv2d_same": (
        ("row < 0", "row < 1"),
        ("row >= H", "row > H"),
        ("w >= W)", "w > W)"),
        ("filter[((m * C", "filter[((c * C"),
        ("sum += ", "sum = "),
        ("column >= W", "column >= H"),
        ("w - K / 2 + q", "w - K + q"),
    ),
    "conv2d_tensor": (
        ("part * COLUMNS * PITCH", "part * 32 * PITCH"),
    ),
    "conv2d_tiled": (
        ("r < SPAN", "r <= SPAN"),
    ),
    "conv2d_tiled_maps": (
        ("o < MAPS; ++o)\n            if (first", "o < MAPS - 1; ++o)\n            if (first"),
        ("sum[o] += ", "sum[o] = "),
    ),
    "conv2d_two": (
        ("p < 8; ++p", "p < 7; ++p"),
        ("top + r < H && left + s < W", "top + r < H"),
        ("x[(top + r) * W + left + s]", "x[(top + r) * H + left + s]"),
        ("row = 2 * threadIdx.y", "row = threadIdx.y"),
    ),
    "conv2d_unrolled": (
        ("W + q]", "W - q]"),
    ),
    "conv2d_windows": (
        # too many steps for formulas, and an index that the source writes by a pointer
        ("const int map = g + i / 2 * 8;", "const int map = g;"),
        ("first + 2 * q + i % 2", "first + q + i % 2"),
    ),
    "conv_pool": (
        ("h >= out_h || w >= out_w", "h >= out_h && w >= out_w"),
        ("(out_h + pool - 1) / pool", "out_h / pool"),
        # largest of some: a turned decision makes one of them right by chance
        ("max(largest, sum)", "largest + sum"),
        ("w = column * pool + s;", "w = column + s;"),
        ("const int h = row * pool + r,", "const int h = row + r,"),
    ),
    "copy_async": (
        ("start_copy(tiles[0],", "start_copy(tiles[1],"),
        ("WAIT_BUT(1);", "WAIT_BUT(2);"),
    ),
    "copy_bulk": (
        ("turn / 2 % 2", "turn % 2"),
    ),
    "copy_in_flight": (
        ("(i < n)", "(i <= n)"),
        ("value[k] = i < n ? in[i]", "value[k] = i <= n ? in[i]"),
        ("blockIdx.x * THREADS * LOADS + threadIdx.x", "blockIdx.x * THREADS + threadIdx.x"),
        ("gridDim.x * THREADS * LOADS", "gridDim.x * THREADS"),
        ("out[i] = value[k]", "out[first] = value[k]"),
    ),
    "deal_cells": (
        ("__syncthreads();", "__syncthreads;"),
        ("t) % 256]", "t) % 257]"),
        ("cells[(step * t) % 256]", "cells[(step + t) % 256]"),
        ("cells[t] =", "cells[255 - t] ="),
    ),
    # cells of two floats
    "fft_back": (
        ("span *= 2", "span *= 4"),
    ),
    "flip_rows": (
        ("threadIdx.y", "threadIdx.x"),
        ("blockIdx.x", "blockIdx.y"),
    ),
    "gemm_column": (
        ("row < rows && col < cols", "row < cols && col < rows"),
        ("        __syncthreads();\n    }\n    //", "    }\n    //"),
    ),
    "gemm_flat": (
        ("i += ROWS", "i += STEP"),
        # the wait that is missing is that at the top of the loop
        ("tile_x[k][tx];\n        __syncthreads();", "tile_x[k][tx];"),
        # no single wait is enough
        (
            "        __syncthreads();\n        for (int k = 0; k < STEP; ++k) "
            "sum += tile_a[ty][k] * tile_x[k][tx];\n        __syncthreads();",
            "        for (int k = 0; k < STEP; ++k) sum += tile_a[ty][k] * tile_x[k][tx];",
        ),
        ("A[row * inner + first + tx]", "A[row * STEP + first + tx]"),
    ),
    "gemm_patch": (
        ("tile_a[ty + p * ACROSS][i]", "tile_a[ty + p][i]"),
    ),
    "im2col_basic": (
        ("h = pixel / out_w, w", "h = pixel / W, w"),
        ("w = pixel % out_w", "w = pixel % out_h"),
        ("out_w + pixel]", "out_w + pixel / 2]"),
    ),
    "implicit_counting": (
        ("q -= K; ++p;", "q -= K;"),
    ),
    "my_entry": (
        ("r < 11 + K", "r < 10 + K"),
    ),
    "one_ldmatrix": (
        ("lane < 16", "lane < 8"),
        ("a_rows[lane % 16][lane / 16]", "a_rows[lane / 2][lane % 2]"),
    ),
    "one_mma": (
        ("lane % 4 * 2", "lane % 4"),
        ("lane % 4 * 2", "lane % 5 * 2"),
    ),
    "rung": (
        # all outputs are right, but for what no thread has stored
        ("if (m < maps) sum[m]", "sum[m]"),
        (
            "[threadIdx.y + i / K][threadIdx.x + i % K]",
            "[threadIdx.y + i % K][threadIdx.x + i / K]",
        ),
        ("sum[m] += ", "sum[m] = "),
    ),
    "running_sums": (
        ("s[t - far]", "s[t + far]"),
        ("s[t] = i", "s[t ^ 1] = i"),
    ),
    "second_difference": (
        ("127)", "126)"),
        # in a small case the store that is outside of the array is not needed
        ("tile[130]", "tile[129]"),
        ("tile[t + 1] = i", "tile[128 - t] = i"),
        # the cells of the halo change places
        (
            "tile[0] = first > 0 ? N[first - 1] : 0.0f;\n    if (t == 127) tile[129]",
            "tile[129] = first > 0 ? N[first - 1] : 0.0f;\n    if (t == 127) tile[0]",
        ),
    ),
    "small_product": (
        # no wait helps two threads with one cell
        ("PITCH = 72", "PITCH = 56"),
        ("a[row * TERMS + term]", "a[row * DEPTH + term]"),
        # through a fragment, whose accesses are not on the record
        ("a[row * TERMS + term]", "a[row * 48 + term]"),
    ),
    "split_product": (
        ("first - kept.x, second - kept.y", "first - kept.y, second - kept.x"),
    ),
    "split_sum": (
        ("step % SHORT == SHORT - 1", "step % SHORT == SHORT"),
    ),
    "store_rows": (
        ("n * 16 + q * 4", "n * 16 + q"),
        ("&staged[g][n * 16 + q * 4]", "&staged[q][n * 16 + g * 4]"),
        ("&staged[g][n * 16 + q * 4]", "&staged[g][n * 4 + q * 12]"),
        ("&staged[g][", "&staged[7 - g]["),
        ("y[i] = staged", "y[i % 8 * 34 + i / 8] = staged"),
    ),
    "sum_in_y": (
        ("cell[p * W", "cell[p + W"),
    ),
    "sum_table": (
        ("(x < width && y", "(x < height && y"),
    ),
    "taps_split": (
        # a lane without an output reads all the same in the right kernel
        ("c = t / (K * K)", "c = t / K"),
        ("half > 0; half", "half > 1; half"),
        ("t / K % K", "t / K"),
    ),
    "tile_order": (
        ("tile - first * wide", "tile - first"),
        ("within / rows", "within % wide"),
        ("within / rows", "within / BAND"),
    ),
    "tile_product": (
        ("k < 16; ++k", "k < inner; ++k"),
        ("    __syncthreads();    // the next", "    // the next"),
        ("first + y < inner && c < cols", "first + x < inner && c < cols"),
        ("r < rows && first", "r < cols && first"),
        ("a[y][x] = r", "a[x][y] = r"),
        ("b[y][x] = first", "b[x][y] = first"),
    ),
    "to_half": (
        ("i < n / 2", "i < n"),
        ("[i] = __floats2half2_rn", "[i / 2] = __floats2half2_rn"),
        ("[i] = __floats2half2_rn", "[n / 2 - 1 - i] = __floats2half2_rn"),
    ),
    "transpose": (
        # what a thread reads is right; where it stores is not
        ("column < height && row < width", "x < width && y < height"),
        (
            "height + column] = tile[threadIdx.x][threadIdx.y]",
            "height + row] = tile[threadIdx.x][threadIdx.y]",
        ),
        ("height + column]", "height - column]"),
        ("tile[threadIdx.y][threadIdx.x] = N", "tile[threadIdx.x][threadIdx.y] = N"),
        ("P[row * height + column] =", "P[column * width + row] ="),
        ("tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.y][threadIdx.y]"),
    ),
    "turned_tiles": (
        ("start + stride < n", "start + 2 * stride < n"),
        ("wait_group 1", "wait_group 2"),
    ),
    "two_products": (
        ("step < 2; ++step", "step < 1; ++step"),
    ),
    "unrolled_by_two": (
        ("if (q < K) sum", "if (q <= K) sum"),
    ),
    "wgmma_taps": (
        ("b_first + 16 * tap", "b_first + 8 * tap"),
    ),
}
TOLD = [(name, edit) for name, every in EDITS.items() for edit in every]
