"""Launches in the manner of books and talks on patterns: groups, sparse formats, swizzles, last
blocks, asynchronous copies, fragments, carved shared memory. `strangers.LAUNCHES` holds them beside
the others.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from stranger_cases import (
    Stranger,
    blocks,
    f16,
    f32,
    f64,
    floats,
    i32,
    ints,
    launch,
    over,
    u8,
    u32,
    zeros,
)


def sums_and_sorts() -> Iterable[Stranger]:
    for n, block in ((203, 64), (800, 256)):
        arguments = [ints(n, -9, 10).astype(f32), zeros(blocks(n, 8)), *i32(n)]
        yield over("sums_of_eight", f"n = {n}", arguments, n, block)
    for n in (300, 128):
        flags = (ints(n, 0, 10) == 0).astype(np.int32)
        arguments = [flags, ints(n, 0, 9, 2), zeros(n, np.int32), *i32(n)]
        yield over("segmented_scan", f"n = {n}", arguments, n, 128)
    for n in (96, 256):
        arguments = [ints(n, 0, 256, dtype=u32)]
        yield launch("radix_split", f"n = {n}", arguments, 1, n, shared=4 * n)
    for n, grid in ((3000, 6), (500, 4)):
        arguments = [ints(n, -9, 10).astype(f32), zeros(grid), zeros(1), *i32(n)]
        # Which block is the last one is left open; whole numbers give it the same sum.
        yield launch("sum_by_last_block", f"n = {n}", arguments, grid, 128)
    for n in (300, 64):
        arguments = [ints(n, 0, 16, dtype=u8), zeros(256, np.int32), *i32(n)]
        yield over("count_peers", f"n = {n}", arguments, n, 64)
    for n, block in ((180, 64), (90, 32)):
        arguments = [
            ints(n, -9, 10).astype(f32), ints(n, 0, 2, 2, u8), zeros(blocks(n, block), f64), *i32(n)
        ]  # fmt: skip
        yield over("moments_carved", f"n = {n}", arguments, n, block, shared=13 * block)
    yield launch(
        "union_of_stages", "one block", [floats(64, 0, 1), zeros(64), zeros(32, np.int32)], 1, 64
    )
    yield launch("halves_named", "one block", [ints(128, 0, 99), zeros(128, np.int32)], 1, 128)


def graphs_and_grids() -> Iterable[Stranger]:
    for rows, width in ((70, 7), (33, 3)):
        columns, values = ints(rows * width, -1, 40), floats(rows * width)
        arguments = [*i32(rows, width), columns, values, floats(40, seed=2), zeros(rows)]
        yield over("spmv_ell_padded", f"{rows} x {width}", arguments, rows, 32)
    for n, k, block in ((40, 3, (16, 16)), (33, 0, (32, 4))):
        distances = ints(n * n, 1, 99).astype(f32)
        distances[:: n + 1] = 0
        yield over("floyd_step", f"n = {n}, k = {k}", [distances, *i32(n, k)], (n, n), block)
    for h, w in ((30, 45), (16, 64)):
        grid = (blocks(w, 16), blocks(h, 8))
        arguments = [floats(h * w), zeros(h * w), *i32(h, w)]
        yield launch("jacobi_step", f"{h} x {w}", arguments, grid, (16, 8))
        pixels = ints(h * w, 0, 256, dtype=u8)
        arguments = [pixels, zeros(h * w, u8), *i32(w, h)]
        yield launch("median_local", f"{h} x {w}", arguments, grid, (16, 8))
        cells = ints(h * w, 0, 2, 3, u8)
        arguments = [cells, zeros(h * blocks(w, 32), u32), *i32(w, h)]
        yield launch("life_ballot", f"{h} x {w}", arguments, (blocks(w, 64), h), 64)
        pitch = 256
        arguments = [floats(h * pitch // 4), np.uint64(pitch), zeros(h * w), *i32(w, h)]
        yield launch("box_pitched", f"{h} x {w}", arguments, grid, (16, 8))
    for n in (450, 256):
        arguments = [ints(n, 0, 99), zeros(n, np.int32), *i32(n)]
        yield over("stencil_halo", f"n = {n}", arguments, n, 128)
    for n in (150, 128):
        arguments = [floats(4 * n, 0, 1), zeros(3 * n), *i32(n)]
        yield over("nbody_float4", f"n = {n}", arguments, n, 64)


def tiles_and_vectors() -> Iterable[Stranger]:
    for h, w in ((96, 120), (64, 64)):
        arguments = [floats(h * w), zeros(h * w), *i32(w, h)]
        grid = (blocks(w, 32), blocks(h, 32))
        yield launch("transpose_swizzled", f"{h} x {w}", arguments, grid, (32, 8))
    for grid, chunks in ((2, 4), (1, 1)):
        n = 128 * grid * chunks
        arguments = [ints(n, -9, 10).astype(f32), zeros(n), *i32(chunks)]
        yield launch("smooth_async", f"{grid} of {chunks} chunks", arguments, grid, 128)
    for m, n, k in ((32, 64, 48), (16, 16, 16)):
        A, B = ints(m * k, -3, 4).astype(f16), ints(k * n, -3, 4, 2).astype(f16)
        arguments = [A, B, zeros(m * n), *i32(m, n, k)]
        yield launch("wmma_product", f"{m} x {n} x {k}", arguments, (n // 16, m // 16), 32)
    A, B = ints(256, -3, 4).astype(f16), ints(128, -3, 4, 2).astype(f16)
    yield launch("mma_ldmatrix", "16 x 8 x 16", [A, B, zeros(128)], 1, 32)
    for n in (333, 128):
        arguments = [f32(2), ints(n, 0, 99).astype(f16), ints(n, 0, 99, 2).astype(f16), *i32(n)]
        yield launch("axpy_half2", f"n = {n}", arguments, 2, 64)
    for h, w in ((5, 102), (4, 128)):
        arguments = [floats(h * w), floats(h * w, seed=2), zeros(h * w), *i32(h, w)]
        yield launch("add_rows_float4", f"{h} x {w}", arguments, (blocks(w, 128), h), 32)
    for n in (400, 77):
        arguments = [ints(3 * n, 0, 256, dtype=u8), zeros(n, f16), *i32(n)]
        yield over("grey_pixels", f"n = {n}", arguments, n, 256)
    for rows, columns in ((11, 45), (6, 64)):
        arguments = [floats(rows * columns), zeros(rows * columns), *i32(rows, columns)]
        yield launch("softmax_warps", f"{rows} x {columns}", arguments, 3, 64)


def blocks_and_planes() -> Iterable[Stranger]:
    for n, block in ((200, 80), (256, 64)):
        arguments = [ints(n, -9, 10).astype(f32), zeros(blocks(n, block)), *i32(n)]
        yield over("sums_of_any_block", f"n = {n}", arguments, n, block)
    for n in (256, 100):
        grid = blocks(n, 128)
        arguments = [ints(n, 0, 99), zeros(n, np.int32), zeros(grid, np.int32), *i32(n)]
        yield launch("partition_block", f"n = {n}", arguments, grid, 128)
    for depth, rows, columns in ((7, 9, 20), (4, 8, 32)):
        cells = depth * rows * columns
        arguments = [floats(cells), floats(cells, seed=2), *i32(columns, rows, depth)]
        yield over(
            "heat_planes", f"{depth} x {rows} x {columns}", arguments, (columns, rows), (16, 4)
        )
    for n, grid in ((1000, 2), (100, 1)):
        arguments = [ints(n, 0, 256, dtype=u8), zeros(64, np.int32), *i32(n)]
        yield launch("histogram_of_warps", f"n = {n}", arguments, grid, 128)
    for n in (10, 32):
        arguments = [ints(24 * n, 0, 60, dtype=u8), *i32(n)]
        yield launch("move_bodies", f"n = {n}", arguments, 1, 32)
    for h, w in ((10, 50), (3, 64)):
        arguments = [floats(h * w), zeros(h * w), *i32(w, h)]
        yield launch("blur_rows", f"{h} x {w}", arguments, (blocks(w, 32), 3), 32)
    for n in (1000, 320):
        yield launch("sieve_bits", f"n = {n}", [zeros(n // 32 + 1, u32), *i32(n)], 1, 32)
    for m, n, k in ((20, 40, 37), (16, 32, 48)):
        arguments = [floats(m * k), floats(k * n, seed=2), zeros(m * n), *i32(m, n, k)]
        yield over("product_ragged", f"{m} x {n} x {k}", arguments, (n, m), (16, 16))


PARTS = (sums_and_sorts, graphs_and_grids, tiles_and_vectors, blocks_and_planes)
