"""Wrong answers of which the golden rows hold what is told: edits of a solution, by exercise."""

from __future__ import annotations

from tests.exercises.answers import Edit

EDITS: dict[str, tuple[Edit, ...]] = {
    "above_lowest": (
        ("(i < n)", "(i <= n)"),
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
    ),
    "axpy_two": (
        ("k < 2; ++k)", "k < 1; ++k)"),
        ("first + k", "first - k"),
        ("2 * blockIdx.x", "2 + blockIdx.x"),
    ),
    "block_histograms": (
        ("P[256 * blockIdx.x", "P[257 * blockIdx.x"),
    ),
    "block_max": (
        ("128", "129"),
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
    ),
    "conv1d_three": (
        ("c < width", "c <= width"),
    ),
    "conv1d_tiled_steps": (
        ("TILE_WIDTH + 2 * RADIUS; s", "TILE_WIDTH + RADIUS; s"),
    ),
    "conv2d_basic": (
        ("image[(c * H + h", "image[(c + H + h"),
    ),
    "conv2d_channels_tree": (
        ("if (z < half) partial", "if (z <= half) partial"),
    ),
    "conv2d_chunk": (
        ("W + w + q]", "W + h + q]"),
    ),
    "conv2d_constant": (
        ("W + w", "W - w"),
        ("p) * W + w", "p) * H + w"),
    ),
    "conv2d_half": (
        ("(c * H + h + p) * W + w + q", "(c * H + h) * W + w + q"),
        ("weights[(c * K", "weights[(m * K"),
    ),
    "conv2d_implicit_gemm": (
        ("const int h = col / out_w", "const int h = col / W"),
        ("w + q]", "w - q]"),
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
    ),
    "conv2d_same": (
        ("row < 0", "row < 1"),
        ("row >= H", "row > H"),
        ("w >= W)", "w > W)"),
        ("filter[((m * C", "filter[((c * C"),
    ),
    "conv2d_tensor": (
        ("part * COLUMNS * PITCH", "part * 32 * PITCH"),
    ),
    "conv2d_tiled": (
        ("r < SPAN", "r <= SPAN"),
        ("p][threadIdx.x + q]", "p][threadIdx.y + q]"),
    ),
    "conv2d_tiled_maps": (
        ("o < MAPS; ++o)\n            if (first", "o < MAPS - 1; ++o)\n            if (first"),
    ),
    "conv2d_two": (
        ("p < 8; ++p", "p < 7; ++p"),
        ("top + r < H && left + s < W", "top + r < H"),
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
        ("largest = max(largest, sum)", "largest = sum"),
    ),
    "copy_async": (
        ("start_copy(tiles[0],", "start_copy(tiles[1],"),
    ),
    "copy_in_flight": (
        ("(i < n)", "(i <= n)"),
        ("value[k] = i < n ? in[i]", "value[k] = i <= n ? in[i]"),
    ),
    "deal_cells": (
        ("__syncthreads();", "__syncthreads;"),
        ("t) % 256]", "t) % 257]"),
        ("cells[(step * t) % 256]", "cells[(step + t) % 256]"),
        ("blockIdx.x * 256", "blockIdx.x * 255"),
    ),
    "flip_rows": (
        ("threadIdx.y", "threadIdx.x"),
        ("blockIdx.x", "blockIdx.y"),
        ("P[(height - 1 - y)", "P[(height + 1 - y)"),
    ),
}
TOLD = [(name, edit) for name, every in EDITS.items() for edit in every]
