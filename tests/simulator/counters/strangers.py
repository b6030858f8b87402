"""Launches of kernels as strangers write them, in the manner of `evidence.counters.LAUNCHES`.

`LAUNCHES` is data: source strangers/NAME.cu, arguments, grid, block. Two shapes or more of each
kernel, ragged ones too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import strangers_course
import strangers_patterns
from stranger_cases import (
    ORDER,
    Stranger,
    blocks,
    csr,
    f16,
    f32,
    f64,
    filled,
    floats,
    i8,
    i16,
    i32,
    i64,
    ints,
    launch,
    over,
    permutation,
    sprinkled,
    table_of,
    u8,
    u16,
    u32,
    zeros,
)


def _structures() -> Iterable[Stranger]:
    for n, block in ((1000, 128), (77, 64)):
        yield over("particles_step", f"n = {n}", [floats(7 * n), *i32(n), f32(0.01)], n, block)
    for n, block in ((500, 128), (33, 32)):
        arguments = [zeros(32 * n, u8), ints(32 * n, 0, 256, dtype=u8), *i32(n)]
        yield over("records_swap", f"n = {n}", arguments, n, block)
    for w, h, block in ((100, 37, (32, 4)), (64, 64, (16, 16))):
        grid = (blocks(w, block[0]), blocks(h, block[1]))
        yield launch(
            "pixels_packed", f"{w} x {h}",
            [zeros(w * h, u8), ints(3 * w * h, 0, 256, dtype=u8), *i32(w, h)], grid, block
        )  # fmt: skip
        picture = ints(w * h, 0, 256, seed=3, dtype=u8)
        yield launch("sobel", f"{w} x {h}", [zeros(w * h, u8), picture, *i32(w, h)], grid, block)
    for n, count, block in ((300, 7, 96), (1024, 1, 256)):
        arguments = [zeros(3 * n), floats(3 * n), floats(9 * count, -2, 2, 2), *i32(n, count)]
        yield over("matrix3_apply", f"n = {n}, {count} matrices", arguments, n, block)
    for n, block in ((512, 128), (126, 64)):
        arguments = [
            zeros(4 * n), floats(2 * n), floats(4 * n, seed=2), ints(2 * n, -99, 99, 3, i16),
            ints(4 * n, 0, 256, 4, u8), floats(2 * n, seed=5, dtype=f64), *i32(n),
        ]  # fmt: skip
        yield over("vector_mix", f"n = {n}", arguments, n, block)
    for rows, columns, ld, grid, block in (
        (20, 30, 33, (3, 8, 1), (8, 4, 2)),
        (19, 29, 29, (7, 6, 2), (3, 5, 2)),
    ):
        depth = grid[2] * block[2]
        arguments = [
            zeros(depth * rows * columns, f64),
            floats(rows * ld),
            i64(rows),
            i64(columns),
            i64(ld),
        ]
        yield launch("strided_cube", f"{rows} x {columns}, block {block}", arguments, grid, block)


def _branches() -> Iterable[Stranger]:
    for n, most, block in ((1000, 100_000, 256), (50, 30, 32)):
        arguments = [zeros(n, np.int32), zeros(n, u32), ints(n, 1, most, dtype=u32), *i32(n)]
        yield over("collatz", f"n = {n}", arguments, n, block)
    for n, block in ((1000, 128), (33, 32)):
        arguments = [zeros(n), floats(n, -3, 3), floats(n, -3, 3, 2), zeros(1, np.int32), *i32(n)]
        yield over("clamp_branches", f"n = {n}", arguments, n, block)
    for n, block in ((500, 128), (45, 32)):
        x = sprinkled(floats(16 * n, -1, 2), 37, np.nan)
        arguments = [zeros(n, np.int32), zeros(n), x, *i32(n), f32(1.5)]
        yield over("early_returns", f"n = {n}", arguments, n, block)
    for n, length, block in ((256, 40, 64), (33, 90, 64)):
        code = ints(length, 0, 11, dtype=u8)
        arguments = [zeros(2 * n, np.int32), code, ints(n, -1000, 1000, 2), *i32(n, length)]
        yield over("switch_machine", f"n = {n}, {length} bytes", arguments, n, block)
    for w, h, block in ((64, 48, (16, 8)), (33, 17, (32, 2))):
        arguments = [
            zeros(4 * w * h, u8),
            *i32(w, h),
            f64(-2),
            f64(-1.25),
            f64(2.5 / h),
            np.int32(60),
        ]
        yield over("mandelbrot", f"{w} x {h}", arguments, (w, h), block)
    for dim, block in ((48, 48), (20, 32)):
        yield launch(
            "complex_julia", f"dim = {dim}", [zeros(4 * dim * dim, u8), *i32(dim)], (dim, 1), block
        )
    for grid, block, steps in ((3, 128, 100), (1, 50, 1000)):
        yield launch(
            "lcg_walk",
            f"{grid} x {block}, {steps} steps",
            [zeros(64, u32), *i32(steps), u32(12345)],
            grid,
            block,
        )
    for n, capacity in ((400, 512), (33, 40)):
        keys = np.unique(ints(n, 1, 5000, dtype=u32))[: capacity * 7 // 8]
        asked = ints(n, 1, 5000, 2, u32)
        asked[::2] = keys[ints(len(asked[::2]), 0, len(keys), 3)]
        arguments = [zeros(n, np.int32), table_of(keys, capacity), asked, *i32(n, capacity)]
        yield over("hash_lookup", f"n = {n}", arguments, n, 128)
    for n, length in ((2000, 5), (100, 3)):
        text = ints(n, 97, 99, dtype=i8)
        pattern = np.frombuffer(b"abbab" + bytes(11), i8)
        arguments = [filled(1, 2**31 - 1, np.int32), zeros(1, np.int32), text, *i32(n, length)]
        yield over(
            "find_bytes",
            f"n = {n}, {length} bytes",
            arguments,
            n,
            128,
            constants={"pattern": pattern},
        )
    for la, lb, n in ((30, 40, 100), (64, 10, 33)):
        arguments = [
            zeros(n, np.int32),
            ints(la * n, 0, 4, 1, u8),
            ints(lb * n, 0, 4, 2, u8),
            *i32(la, lb, n),
        ]
        yield over("lcs_bits", f"{la} and {lb}", arguments, n, 64)
    for n, count, block in ((63, 40, 32), (15, 70, 64)):
        trees = ints(n * count, -1, 9)
        yield launch("recursive_walk", f"{count} trees of {n}",
            [zeros(2 * count, np.int32), trees, *i32(n, count)],
                      blocks(count, block), block)  # fmt: skip


def _atomics() -> Iterable[Stranger]:
    groups = {"own": permutation(32), "pairs": ints(32, 0, 16, 3) // 1, "one": zeros(32, np.int32)}
    for what, group in groups.items():
        yield launch(
            "atomic_max_float",
            f"a warp, {what}",
            [filled(32, -9), floats(32, -5, 5), group, *i32(32)],
            1,
            32,
        )
    arguments = [filled(7, -9), floats(1000, -5, 5), ints(1000, 0, 7, 2), *i32(1000)]
    yield launch("atomic_max_float", "n = 1000", arguments, 4, 256, varies=ORDER)
    # Whole numbers: any order gives the same sums.
    for n, block, varies in ((32, 32, ""), (1000, 128, ORDER)):
        arguments = [zeros(16, f64), ints(n, -99, 99).astype(f64), ints(n, 0, 16, 2), *i32(n)]
        yield launch("shared_double_sum", f"n = {n}", arguments, 1, block, varies=varies)
    text = permutation(64).astype(u8)
    yield launch("count16", "64 different bytes", [zeros(256, u16), text, *i32(64, 30)], 2, 32)
    yield launch(
        "count16",
        "pairs of neighbours",
        [zeros(256, u16), (text // 2).astype(u8), *i32(32, 30)],
        1,
        32,
    )
    arguments = [zeros(256, u16), ints(500, 0, 20, dtype=u8), *i32(500, 20)]
    yield launch("count16", "n = 500", arguments, 4, 128, varies=ORDER)
    for n, groups_, varies in ((32, 32, ""), (1000, 7, "sums of floats by order")):
        group = permutation(32) if n == 32 else ints(n, 0, groups_)
        arguments = [
            zeros(groups_),
            zeros(groups_, f64),
            zeros(n // 4 + 1),
            floats(n),
            group,
            *i32(n),
        ]
        yield over("float_sums", f"n = {n}", arguments, n, 128, varies=varies)
    for n, block in ((32, 32), (300, 128)):
        arguments = [
            zeros(16 + 2 * n, np.int32), filled(9, 2**32 - 1, u32), zeros(4, np.uint64),
            zeros(n, np.int32), ints(n, -500, 500), *i32(n),
        ]  # fmt: skip
        yield over("atomic_kinds", f"n = {n}", arguments, n, block)
    for n, capacity, varies in ((32, 4096, ""), (200, 512, ORDER)):
        items = np.stack([permutation(n, 4) * 7919 + 5, ints(n, 0, 999)], axis=1).astype(u32)
        arguments = [filled(2 * capacity, 2**32 - 1, u32), items, *i32(n), u32(capacity)]
        yield launch(
            "hash_insert", f"n = {n}", arguments, blocks(n, 128), min(n, 128), varies=varies
        )
    yield launch(
        "append_aggregated",
        "a warp",
        [zeros(32, np.int32), zeros(1, np.int32), ints(32, 0, 100), *i32(32, 40)],
        1,
        32,
    )
    arguments = [zeros(1000, np.int32), zeros(1, np.int32), ints(1000, 0, 100), *i32(1000, 40)]
    yield launch("append_aggregated", "n = 1000", arguments, 8, 128, varies=ORDER, unordered=(0,))
    for n, most, block in ((500, 10, 128), (40, 100, 64)):
        arguments = [zeros(most, np.int32), zeros(n, np.int32), ints(n, 0, most), *i32(n)]
        yield over("match_count", f"n = {n}, {most} keys", arguments, n, block)
    for n4, grid, most in ((1000, 2, 256), (100, 1, 12)):
        arguments = [zeros(64, u32), ints(4 * n4, 0, most, dtype=u8), *i32(n4)]
        yield launch("histogram_warps", f"n = {4 * n4}, bytes below {most}", arguments, grid, 128)
    for n, dim in ((500, 3), (100, 2)):
        arguments = [
            zeros(n, np.int32), zeros(10 * dim, np.uint64), zeros(10, np.int32), floats(n * dim),
            floats(10 * dim, seed=2), *i32(n),
        ]  # fmt: skip
        yield over(
            "kmeans_assign",
            f"n = {n}, {dim} dimensions",
            arguments,
            n,
            128,
            options=(f"-DDIM={dim}",),
        )
    for vertices, most, block in ((300, 12, 128), (65, 3, 64)):
        start, edges, _ = csr(vertices, vertices, most)
        frontier = ints(vertices, 0, 4, 9) == 0
        arguments = [
            np.where(frontier, 1, -1).astype(np.int32),
            zeros(vertices, bool),
            frontier,
            start,
            edges,
            *i32(vertices, 2),
        ]
        yield over("bfs_step", f"{vertices} vertices", arguments, vertices, block, varies=ORDER)
    for vertices, count, block, varies in ((300, 250, 128, ORDER), (40, 30, 32, "")):
        arguments = [zeros(vertices, np.int32), ints(2 * count, 0, vertices), *i32(vertices, count)]
        yield launch("union_find", f"{vertices} vertices", arguments, 1, block, varies=varies)
    for n, grid in ((3000, 5), (100, 1)):
        arguments = [zeros(grid), zeros(1), floats(n), *i32(n)]
        yield launch("last_block_sum", f"n = {n}", arguments, grid, 128)


def _scans() -> Iterable[Stranger]:
    for n, block in ((1000, 256), (100, 64)):
        grid = blocks(n, block)
        arguments = [zeros(n, np.int32), zeros(grid, np.int32), ints(n, -9, 10), *i32(n)]
        yield launch("block_scan", f"n = {n}", arguments, grid, block, shared=8 * block)
        yield launch("warp_scan", f"n = {n}", [zeros(n), floats(n), *i32(n)], grid, block)
        x = ints(n, -9, 10)
        arguments = [filled(grid * block, -1, np.int32), zeros(grid, np.int32), x, *i32(n)]
        yield launch("ballot_compact", f"n = {n}", arguments, grid, block)
        arguments = [
            zeros(grid * block // 16 + 1, np.int32),
            zeros(grid * block // 8, np.int32),
            x,
            *i32(n),
        ]
        yield launch("group_tiles", f"n = {n}", arguments, grid, block)
        grid = max(1, grid // 2)
        yield launch(
            "redux_stats",
            f"n = {n}",
            [zeros(4 * grid, np.int32), ints(n, -999, 999), *i32(n)],
            grid,
            block,
        )
    for n, grid in ((256, 3), (64, 2)):
        arguments = [zeros(n * grid), floats(n * grid), *i32(n)]
        yield launch(
            "scan_padded", f"{grid} of {n}", arguments, grid, n // 2, shared=4 * (n + n // 32)
        )
    for size, grid in ((256, 2), (64, 3)):
        arguments = [ints(size * grid, 0, 5000, dtype=u32), np.arange(size * grid, dtype=u32)]
        yield launch(
            "bitonic_sort",
            f"{grid} of {size}",
            arguments,
            grid,
            size // 2,
            options=(f"-DSIZE={size}",),
        )
    for rows, width, block in ((5, 1000, 256), (3, 33, 64)):
        arguments = [zeros(rows, np.int32), zeros(rows), floats(rows * width), *i32(width)]
        yield launch("argmax_rows", f"{rows} x {width}", arguments, rows, block)
    for n, grid in ((3000, 3), (300, 1)):
        yield launch(
            "volatile_reduce",
            f"n = {n}",
            [zeros(grid, np.int32), ints(n, -9, 10), u32(n)],
            grid,
            256,
        )
    for bits, block in ((10, 128), (5, 32)):
        yield over("bit_reverse", f"2^{bits}", [floats(2 << bits), *i32(bits)], 1 << bits, block)


def _local() -> Iterable[Stranger]:
    yield launch("spills", "n = 1500", [zeros(1500), floats(1500), *i32(1500, 3)], 2, 1024)
    yield launch("spills", "n = 999", [zeros(999), floats(999), *i32(999, 1)], 1, 1000)
    for width, count, block in ((24, 100, 32), (7, 65, 64)):
        yield launch("insertion_sort", f"{count} of {width}",
            [floats(width * count), *i32(width, count)],
                      blocks(count, block), block)  # fmt: skip
    for n, block in ((1000, 128), (45, 64)):
        arguments = [zeros(n, u8), ints(n, 0, 2**32, dtype=u32), *i32(n)]
        yield over("digit_counts", f"n = {n}", arguments, n, block)
    for count, block in ((50, 32), (33, 64)):
        arguments = [
            zeros(25 * count, f64),
            floats(25 * count, dtype=f64),
            ints(count, 0, 12),
            *i32(count),
        ]
        yield over("matrix_power", f"{count} matrices", arguments, count, block)
    for rows, columns, block in ((50, 300, 128), (9, 33, 32)):
        arguments = [zeros(8 * columns), floats(rows * columns), *i32(rows, columns)]
        yield over("top_k", f"{rows} x {columns}", arguments, columns, block)
    for rows, columns, pitch in ((9, 100, 112), (4, 33, 33)):
        arguments = [
            zeros(rows * pitch),
            zeros(columns),
            floats(rows * pitch),
            *i32(rows, columns, pitch),
        ]
        yield over("functor_map", f"{rows} x {columns}, pitch {pitch}", arguments, columns, 64)


def _tables() -> Iterable[Stranger]:
    for length, count, block in ((13, 100, 64), (64, 33, 32)):
        arguments = [zeros(count, u32), ints(length * count, 0, 256, dtype=u8), *i32(length, count)]
        yield over("crc_table", f"{count} of {length}", arguments, count, block)
    lut = (255 * (np.arange(256) / 255) ** 2).astype(u8)
    for n4, grid in ((500, 2), (77, 1)):
        arguments = [zeros(4 * n4, u8), ints(4 * n4, 0, 256, dtype=u8), *i32(n4)]
        yield launch("gamma_lookup", f"n = {4 * n4}", arguments, grid, 128, constants={"lut": lut})
    for w, h in ((128, 12), (64, 4)):
        arguments = [zeros(w * h), floats(w * h), *i32(w, h, w)]
        taps = np.linspace(0.01, 0.1, 17).astype(f32)
        yield launch(
            "gaussian_rows",
            f"{w} x {h}",
            arguments,
            (w // 64, h // 4),
            (16, 4),
            constants={"c_Kernel": taps},
        )
    for sentences, longest, width, block in ((6, 10, 100, 64), (3, 4, 33, 32)):
        words, lengths = ints(sentences * longest, -3, 50), ints(sentences, 0, longest + 1, 2)
        arguments = [
            zeros(sentences * width),
            floats(50 * width),
            words,
            lengths,
            *i32(longest, width),
        ]
        yield launch("ldg_gather", f"{sentences} of width {width}", arguments, sentences, block)
    for rows, columns, most, block in ((300, 200, 40, 128), (50, 60, 5, 64)):
        starts, column, values = csr(rows, columns, most)
        arguments = [zeros(rows), starts, column, values, floats(columns), *i32(rows)]
        yield over("spmv_scalar", f"{rows} x {columns}", arguments, rows, block)
        yield over("spmv_vector", f"{rows} x {columns}", arguments, rows * 32, block)


def _tiles() -> Iterable[Stranger]:
    for n in (1000, 256):
        yield launch(
            "tile_neighbours", f"n = {n}", [zeros(n), floats(n), *i32(n)], blocks(n, 256), 64
        )
    for kind, dtype, w, h in (
        ("float", f32, 100, 67),
        ("double", f64, 64, 96),
        ("short", i16, 70, 33),
        ("char", i8, 33, 65),
    ):
        arguments = [zeros(w * h, dtype), ints(w * h, -99, 99).astype(dtype), *i32(w, h)]
        yield launch("transpose_tile", f"{kind}, {w} x {h}", arguments,
            (blocks(w, 32), blocks(h, 32)), (32, 8),
                      options=(f"-DELEMENT={kind}",))  # fmt: skip
    for n, block in ((128, 128), (64, 96)):
        yield launch("swizzled_tile", f"{n} x {n}",
            [zeros(n * n, u16), ints(n * n, 0, 65536, dtype=u16), *i32(n)],
                      (n // 64, n // 64), block)  # fmt: skip
    for n, block in ((200, 64), (128, 128)):
        yield over(
            "nbody_tile",
            f"n = {n}",
            [zeros(4 * n), floats(4 * n), *i32(n)],
            n,
            block,
            shared=16 * block,
        )
    for nx, ny, nz, block in ((34, 20, 9, (32, 4)), (67, 13, 5, (16, 8))):
        cells = nx * ny * nz
        yield over(
            "jacobi3d",
            f"{nx} x {ny} x {nz}",
            [zeros(cells), floats(cells), *i32(nx, ny, nz), f32(0.1)],
            (nx - 2, ny - 2),
            block,
        )
    for w, h, grid, block in ((64, 40, 4, 128), (33, 21, 1, 96)):
        arguments = [ints(w * h, 0, 2, dtype=u8), u32(w), u32(h), zeros(w * h, u8)]
        yield launch("life_bytes", f"{w} x {h}", arguments, grid, block)
    for la, lb, grid, block in ((40, 50, 4, 64), (7, 3, 1, 32)):
        arguments = [
            zeros(grid, np.int32),
            ints(la, 97, 100, 1, i8),
            ints(lb * grid, 97, 100, 2, i8),
            *i32(la, lb),
        ]
        yield launch(
            "edit_distance", f"{la} and {lb}", arguments, grid, block, shared=12 * (block + 1)
        )
    for n2 in (200, 33):
        arguments = [
            zeros(2 * n2, f64),
            floats(2 * n2, dtype=f64),
            floats(2 * n2, seed=2, dtype=f64),
            *i32(n2),
            f64(0.25),
        ]
        yield over("wave_double", f"n = {2 * n2}", arguments, n2, 32)
    for m, n, k in ((128, 64, 32), (64, 128, 8)):
        arguments = [
            *i32(m, n, k),
            f32(1.5),
            floats(m * k),
            floats(k * n, seed=2),
            f32(-0.5),
            floats(m * n, seed=3),
        ]
        yield launch("sgemm_blocked", f"{m} x {n} x {k}", arguments, (n // 64, m // 64), 256)
    for chunks, grid in ((5, 3), (1, 1)):
        cells = 128 * chunks * grid
        yield launch(
            "async_stencil",
            f"{grid} of {chunks} chunks",
            [zeros(cells), floats(cells), *i32(chunks)],
            grid,
            128,
        )
    for n, bins, grid, block in ((300, 20, 3, 64), (31, 5, 2, 32)):
        arguments = [
            zeros(grid, f64),
            zeros(grid, np.int32),
            ints(n * grid, 0, 999, dtype=i16),
            *i32(n, bins),
        ]
        yield launch(
            "carved_shared",
            f"n = {n}, {bins} bins",
            arguments,
            grid,
            block,
            shared=8 * block + 4 * bins + 2 * n + bins,
        )


def _learning() -> Iterable[Stranger]:
    for rows, cols, warps in ((9, 100, 4), (4, 33, 1)):
        arguments = [zeros(rows * cols), floats(rows * cols, -5, 5), *i32(rows, cols)]
        yield launch(
            "softmax_rows", f"{rows} x {cols}", arguments, blocks(rows, warps), (32, warps)
        )
    for rows, width4, block in ((5, 64, 64), (3, 25, 96)):
        arguments = [
            zeros(4 * rows * width4), floats(4 * rows * width4), floats(4 * width4, 0, 2, 2),
            floats(4 * width4, seed=3), *i32(width4), f32(1e-5),
        ]  # fmt: skip
        yield launch("layer_norm", f"{rows} x {4 * width4}", arguments, rows, block)
    for n, grid in ((1001, 2), (64, 1)):
        arguments = [floats(n, dtype=f16), floats(n, seed=2, dtype=f16), f32(1.7), *i32(n)]
        yield launch("saxpy_half2", f"n = {n}", arguments, grid, 128)
    for rows, columns, words4, block in ((33, 20, 5, (16, 8)), (8, 8, 3, (8, 8))):
        arguments = [
            zeros(rows * columns, np.int32), ints(4 * rows * words4, -(2**31), 2**31),
            ints(4 * columns * words4, -(2**31), 2**31, 2), *i32(rows, columns, words4),
        ]  # fmt: skip
        yield over(
            "dot_int8", f"{rows} x {columns} x {16 * words4}", arguments, (columns, rows), block
        )
    for m, n, k in ((32, 48, 64), (16, 16, 16)):
        arguments = [
            zeros(m * n),
            floats(m * k, dtype=f16),
            floats(n * k, seed=2, dtype=f16),
            *i32(m, n, k),
        ]
        yield launch("wmma_tiles", f"{m} x {n} x {k}", arguments, (1, n // 16), (2 * m, 1))
    for n, grid, options in ((1000, 2, ()), (500, 4, ("-use_fast_math",))):
        arguments = [
            zeros(n), zeros(n), floats(n, 5, 30), floats(n, 1, 100, 2), floats(n, 0.25, 10, 3),
            f32(0.02), f32(0.3), *i32(n),
        ]  # fmt: skip
        what = f"n = {n}{', fast' if options else ''}"
        yield launch("black_scholes", what, arguments, grid, 128, options=options)


def _sgemm() -> Iterable[Stranger]:
    """Products of matrices: rungs of a well-known ladder."""
    for m, n, k, block in ((40, 70, 33, (16, 16)), (64, 32, 16, (32, 4))):
        arguments = [zeros(m * n), floats(m * k), floats(k * n, seed=2), *i32(m, n, k)]
        yield over("sgemm_by_rows", f"{m} x {n} x {k}", arguments, (m, n), block)
    for name, tile_m, tile_n, threads in (
        ("sgemm_column_of_eight", 64, 64, 512),
        ("sgemm_eight_by_eight", 128, 128, 256),
        ("sgemm_turned_vectors", 64, 64, 256),
        ("sgemm_warp_tiles", 64, 128, 128),
    ):
        for across, down, k in ((1, 1, 48), (2, 1, 16)):
            m, n = down * tile_m, across * tile_n
            arguments = [floats(m * n, seed=3), floats(m * k), floats(k * n, seed=2), *i32(n, k)]
            arguments += [f32(1.5), f32(-0.5)] if name == "sgemm_warp_tiles" else []
            yield launch(name, f"{m} x {n} x {k}", arguments, (across, down), threads)
    for n, k in ((64, 96), (32, 32)):
        arguments = [zeros(32 * n), floats(32 * k), floats(k * n, seed=2), *i32(n, k)]
        yield launch("sgemm_two_buffers", f"32 x {n} x {k}", arguments, (n // 32, 1), (32, 8))


def _turns_and_stencils() -> Iterable[Stranger]:
    for w4, h4, block in ((20, 9, (8, 8)), (16, 16, (32, 4))):
        arguments = [zeros(16 * w4 * h4), floats(16 * w4 * h4), *i32(w4, h4)]
        yield over("transpose_in_registers", f"{4 * w4} x {4 * h4}", arguments, (w4, h4), block)
    for w, h in ((48, 48), (40, 23)):
        arguments = [zeros(w * h, f64), floats(w * h, dtype=f64), *i32(w, h)]
        grid = (blocks(w, 16), blocks(h, 16))
        yield launch("transpose_diagonal", f"{w} x {h}", arguments, grid, (16, 4))
    for nx, ny, nz in ((68, 20, 9), (50, 13, 7)):
        cells = nx * ny * nz
        arguments = [zeros(cells), floats(cells), *i32(nx, ny, nz)]
        yield over("stencil_25d", f"{nx} x {ny} x {nz}", arguments, (nx - 4, ny - 4), (32, 8))
    for w, h, steps in ((40, 30, 2), (17, 25, 3)):
        arguments = [zeros(w * h), floats(w * h), *i32(w, h, steps), f32(0.1)]
        inner = 16 - 2 * steps
        grid = (blocks(w, inner), blocks(h, inner))
        yield launch("heat_in_shared", f"{w} x {h}, {steps} steps", arguments, grid, (16, 16))
    for w, h in ((48, 40), (32, 27)):
        arguments = [zeros(w * h), floats(w * h), *i32(h, w)]
        yield launch(
            "blur_columns", f"{w} x {h}", arguments, (w // 16, blocks(h, 16)), (16, 4),
            constants={"taps": np.linspace(0.01, 0.2, 9).astype(f32)},
        )  # fmt: skip
    for w, h, block in ((70, 20, (32, 4)), (33, 9, (16, 8))):
        arguments = [zeros(w * h, u8), ints(w * h, 0, 256, dtype=u8), *i32(w, h)]
        yield over("median_of_nine", f"{w} x {h}", arguments, (w, h), block)
    cosines = np.cos(np.arange(8)[:, None] * (2 * np.arange(8) + 1) * np.pi / 16).astype(f32)
    arguments = [zeros(32 * 16), ints(32 * 16, 0, 256, dtype=u8), *i32(32)]
    yield launch(
        "dct_of_blocks", "32 x 16", arguments, (4, 2), (8, 8),
        constants={"cosines": cosines.reshape(-1)},
    )  # fmt: skip
    for dim, count, block in ((40, 12, (16, 16)), (33, 5, (32, 8))):
        values = floats(7 * 12, 0, 1, 4).reshape(12, 7)
        values[:, 3:] = values[:, 3:] * f32(20) - f32(6)
        values[:, 3] = np.abs(values[:, 3])
        grid = (blocks(dim, block[0]), blocks(dim, block[1]))
        yield launch(
            "spheres_traced", f"{dim} x {dim}, {count} spheres",
            [zeros(4 * dim * dim, u8), *i32(dim, count)], grid, block,
            constants={"spheres": values.reshape(-1)},
        )  # fmt: skip


def _scans_and_sorts() -> Iterable[Stranger]:
    for n in (1200, 512):
        arguments = [zeros(n), ints(n, -9, 10).astype(f32), *i32(n)]
        yield launch("scan_brent_kung", f"n = {n}", arguments, blocks(n, 512), 256)
    for n, block in ((600, 256), (90, 96)):
        heads = (ints(n, 0, 9, 3) == 0).astype(u8)
        arguments = [zeros(n, np.int32), ints(n, -9, 10), heads, *i32(n)]
        yield over("scan_of_segments", f"n = {n}", arguments, n, block, shared=5 * block)
    for block, grid, bits in ((256, 2, 12), (64, 1, 7)):
        keys = ints(block * grid, 0, 1 << bits, dtype=u32)
        yield launch(
            "radix_sort_block", f"{grid} of {block}", [keys, *i32(bits)], grid, block,
            shared=4 * block,
        )  # fmt: skip
    for block, grid in ((256, 2), (64, 3)):
        yield launch(
            "merge_sort_block", f"{grid} of {block}", [ints(block * grid, 0, 99)], grid, block,
            shared=8 * block,
        )  # fmt: skip
    for n, block in ((500, 128), (64, 32)):
        arguments = [ints(n, -999, 999), *i32(n)]
        yield launch("bitonic_of_a_warp", f"n = {n}", arguments, blocks(n, 2 * block), block)
    for n, length, block in ((40, 13, 64), (100, 30, 32)):
        yield launch(
            "quicksort_calls_itself", f"{n} of {length}",
            [ints(n * length, 0, 99), *i32(length, n)], blocks(n, block), block,
        )  # fmt: skip
    for n, w, h in ((40, 7, 5), (20, 9, 9)):
        pictures = (ints(n * w * h, 0, 3) > 0).astype(u8)
        arguments = [zeros(n, np.int32), pictures, *i32(w, h, n)]
        yield over("flood_calls_itself", f"{n} of {w} x {h}", arguments, n, 32)
    n = 700
    yield launch(
        "lookback_sums", f"n = {n}",
        [zeros(n, np.int32), zeros(3, np.int32), zeros(3, np.int32), ints(n, -9, 10), *i32(n)],
        3, 256, varies="how often a block looks",
    )  # fmt: skip


def _shared_solvers() -> Iterable[Stranger]:
    for n, k, dims, block in ((200, 5, 6, 128), (70, 9, 11, 64)):
        arguments = [zeros(n, np.int32), floats(n * dims), floats(k * dims, seed=2)]
        yield launch(
            "kmeans_nearest", f"n = {n}, {k} of {dims} dimensions", [*arguments, *i32(n, k, dims)],
            blocks(n, block), block, shared=4 * k * dims,
        )  # fmt: skip
    for n, grid in ((32, 1), (19, 2)):
        half = floats(grid * n * n, dtype=f32).reshape(grid, n, n)
        matrices = half @ half.transpose(0, 2, 1) + f32(n) * np.eye(n, dtype=f32)
        yield launch(
            "cholesky_by_a_warp", f"{grid} of {n}", [matrices.reshape(-1), *i32(n)], grid, 32
        )
    for n, block, grid in ((20, 32, 2), (45, 64, 1)):
        systems = floats(grid * n * (n + 1), dtype=f64)
        yield launch(
            "gauss_rows", f"{grid} of {n}", [zeros(grid * n, f64), systems, *i32(n)], grid, block,
            shared=8 * n * (n + 1),
        )  # fmt: skip
    distance = ints(2 * 24 * 24, 1, 99)
    yield launch("floyd_block", "2 of 24", [distance], 2, (24, 24))
    for items, capacity, block in ((9, 100, 64), (5, 300, 128)):
        arguments = [zeros(capacity + 1, np.int32), ints(items, 1, 40), ints(items, 1, 99, 2)]
        yield launch(
            "knapsack_rows", f"{items} items, {capacity}", [*arguments, *i32(items, capacity)],
            1, block, shared=8 * (capacity + 1),
        )  # fmt: skip
    for la, lb, grid, block in ((30, 40, 2, 32), (50, 21, 1, 64)):
        texts = ints(la, 97, 100, 1, i8), ints(lb * grid, 97, 100, 2, i8)
        yield launch(
            "alignment_diagonals", f"{la} and {lb}",
            [zeros(grid, np.int32), *texts, *i32(la, lb)], grid, block,
            shared=6 * (la + 1),
        )  # fmt: skip
    start, edges, _ = csr(60, 60, 5)
    yield launch(
        "waves_of_queue", "60 vertices", [zeros(60, np.int32), start, edges, *i32(60, 3)], 1, 64,
        shared=8 * 60, varies=ORDER,
    )  # fmt: skip
    for rows, width in ((200, 5), (64, 9)):
        columns = ints(rows * width, -4, rows)
        arguments = [zeros(rows), columns, floats(rows * width), floats(rows, seed=2)]
        yield over("spmv_ell", f"{rows} of {width}", [*arguments, *i32(rows, width)], rows, 128)
    for rows, width in ((30, 40), (9, 64)):
        starts, column, values = csr(rows, 50, 12)
        arguments = [zeros(rows * width), starts, column, values, floats(50 * width, seed=2)]
        yield launch(
            "spmm_rows", f"{rows} by {width}", [*arguments, *i32(rows, width)],
            blocks(rows, 4), (32, 4),
        )  # fmt: skip


def _calls_and_lanes() -> Iterable[Stranger]:
    for n, steps, block in ((100, 6, 64), (33, 11, 32)):
        code = ints(n * steps, 0, 4, 3, u8)
        arguments = [zeros(n, np.int32), ints(n, -9, 10), code, *i32(steps, n)]
        yield over("operations_by_table", f"n = {n}, {steps} steps", arguments, n, block)
    for n in (100, 32):
        arguments = [zeros(2 * n), floats(2 * n + 1), ints(n, 0, 3), *i32(n)]
        yield over("shapes_virtual", f"n = {n}", arguments, n, 64)
    for grid, block, points in ((2, 64, 20), (1, 32, 7)):
        states = ints(grid * block, 1, 2**31, dtype=u32)
        arguments = [zeros(grid * block // 32, np.int32), states, *i32(points)]
        yield launch("pi_by_chance", f"{grid} x {block}", arguments, grid, block)
    for rows in (13, 32):
        cells = ints(32 * rows, 0, 2**32, dtype=u32)
        yield launch(
            "life_in_words", f"{rows} rows", [zeros(32 * rows, u32), cells, *i32(32, rows)],
            blocks(rows, 4), (32, 4),
        )  # fmt: skip
    for n, groups_ in ((32, 5), (27, 30)):
        arguments = [zeros(32, np.int32), zeros(2 * n, np.int32), ints(n, -9, 10)]
        yield launch(
            "groups_by_label", f"n = {n}, {groups_} labels",
            [*arguments, ints(n, 0, groups_, 2), *i32(n)], 1, 32,
        )  # fmt: skip
    for k in (16, 64):
        A, B = floats(16 * k, dtype=f16), floats(16 * k, seed=2, dtype=f16)
        yield launch("mma_of_halves", f"16 x 16 x {k}", [zeros(256), A, B, *i32(k)], 1, 32)
    for m, n, k in ((32, 16, 48), (16, 48, 16)):
        arguments = [zeros(m * n, np.int32), ints(m * k, -9, 10, 1, i8), ints(n * k, -9, 10, 2, i8)]
        yield launch(
            "wmma_of_bytes", f"{m} x {n} x {k}", [*arguments, *i32(n, k)], (n // 16, m // 16), 32
        )
    for batches, grid in ((5, 2), (2, 1)):
        cells = floats(128 * batches * grid)
        yield launch(
            "ring_of_three", f"{batches} batches", [zeros(128 * grid), cells, *i32(batches)],
            grid, 128,
        )  # fmt: skip


def _more_atomics() -> Iterable[Stranger]:
    for n, grid, block, varies in ((32, 1, 32, ""), (900, 2, 128, ORDER)):
        arguments = [zeros(64, u32), ints(n, 0, 20, dtype=u8), *i32(n)]
        yield launch("histogram_by_match", f"n = {n}", arguments, grid, block, varies=varies)
    for n, groups_, block, varies in ((32, 32, 32, ""), (32, 5, 32, ""), (200, 7, 64, ORDER)):
        arguments = [filled(32, 2**64 - 1, np.uint64), ints(n, 0, 99, dtype=u32)]
        yield launch(
            "minima_of_64_bits", f"n = {n}, {groups_} groups", [*arguments, *i32(n, groups_)],
            1, block, varies=varies,
        )  # fmt: skip
    for n, groups_ in ((32, 32), (32, 4), (20, 13), (32, 1)):
        arguments = [zeros(groups_, i64), ints(n, -9, 10).astype(f32), *i32(n, groups_)]
        yield launch(
            "sums_of_64_bits", f"n = {n}, {groups_} groups", arguments, 1, 32, shared=8 * groups_
        )
    for n, columns in ((32, 32), (30, 4)):
        arguments = [zeros(2 * columns, f16), zeros(32, f16), ints(2 * n, -9, 10).astype(f32)]
        yield launch(
            "halves_added", f"n = {n}, {columns} columns", [*arguments, *i32(n, columns)], 1, 32
        )
    for n in (32, 21):
        arguments = [zeros(1, f64), filled(n, 2, f64), ints(n, 1, 10).astype(f64), *i32(n)]
        yield launch("doubles_added", f"n = {n}", arguments, 1, 32)


_RUNTIME = "the heap and the buffer of printf belong to the runtime"


def _runtime() -> Iterable[Stranger]:
    arguments = [zeros(32, np.int32), ints(32, -9, 10), *i32(32, 3)]
    yield launch("nodes_allocated", "n = 32", arguments, 1, 32, varies=_RUNTIME)
    arguments = [zeros(100), floats(128), *i32(100)]
    yield launch("prints_first", "n = 100", arguments, 2, 64, varies=_RUNTIME)


# What stands in a loop, around it and behind it: forms of lanes_spin.cu.
_SPINS = (
    *("AFTER_LOOP", "IN_BRANCH", "BEFORE_SYNCWARP", "VOLATILE_LOAD", "BEFORE_BRANCH", "IN_LOOP"),
    *("STORE_AND_BREAK", "SHARED_ATOMIC", "IN_FUNCTION", "BEFORE_LOOP", "IN_TWO_BRANCHES"),
    *("UNUSED_RESULT", "BOUNDED", "PLAIN_LOAD", "BEFORE_SHUFFLE", "BEFORE_BARRIER", "TWO_LOOPS"),
    *("IN_LOOP_BY_THREAD", "BRANCH_IN_LOOP", "ONE_LANE", "COMPARE_AND_SWAP", "BEFORE_TWO_WAYS"),
    *("BEFORE_CALL", "SLEEPING", "VOLATILE_IN_LOOP"),
)


def _spins() -> Iterable[Stranger]:
    """Yield loops whose end depends on another thread, as far as the compiler knows."""
    order = (np.arange(64) * 13 % 32).astype(np.int32)
    for form in _SPINS:
        turns = (np.arange(96) * 5 % 7).astype(np.uint32)
        if form == "PLAIN_LOAD":
            turns = (np.arange(7)[:, None] < turns[:32]).astype(np.uint32)
        arrays = [zeros(96, np.int32), turns, order]
        yield launch("lanes_spin", form, arrays, 1, 32, options=(f"-DFORM={form}",))


_PARTS = (
    _structures, _branches, _atomics, _scans, _local, _tables, _tiles, _learning, _sgemm,
    _turns_and_stencils, _scans_and_sorts, _shared_solvers, _calls_and_lanes, _more_atomics,
    _runtime, _spins,
)  # fmt: skip
LAUNCHES: tuple[Stranger, ...] = tuple(
    one for part in (*_PARTS, *strangers_course.PARTS, *strangers_patterns.PARTS) for one in part()
)

# Counters in which the simulator differs from the GPU, by launch, with the reason. The numbers of
# the GPU, an H200 or the one that a row names, are in data/measured/counters_strangers.json.
# `varies` of a launch says what the order of its threads decides; that is no difference.
_COPIES = (
    "ptxas copies the turns of the loop (NVVM has made turns of one and of four): 16, 8 and 4 at a "
    "time in spmv_scalar (LDG at 04a0 to 0b00, then the copies behind it), 4, 2 and 1 at a time in "
    "spmv_vector (0200, @P1 and @P0 from 0470 on). Lanes of a warp with different numbers of turns "
    "take different copies, one after another. In PTX they share one loop."
)
_TURNS = (
    "ptxas copies the turns of the loop: 4, 2 and 1 at a time in softmax_warps (LDG from 0350, "
    "0550 and 0640 on), 16, 8, 4 and 1 in union_of_stages (LDS from 0380, 0560, 0690 and 0770 on). "
    "Lanes of a warp with different numbers of turns take different copies, one after another. In "
    "PTX they share one loop."
)
_PEELED = (
    "ptxas joins value and index of a turn to LDS.64 in the first of the last three turns, which "
    "it takes out of the loop (1220), and leaves them two LDS in its copies of the loop (1300, "
    "1520, 1670). In PTX all are one pair of loads, so that the simulator counts two each time."
)
_CHOLESKY = (
    "ptxas copies the turns of the loop over k: 16 at a time (LDS from 1ca0 to 2180), then 8 "
    "(2240), 4 and single ones in front (1aa0). Lane k has k - j turns, so that lanes of one warp "
    "take different copies, one after another. In PTX they share one loop."
)
_RECURSION = (
    "the sectors that are loaded are nearly the same, in other groups of lanes: calls of all "
    "depths keep the lanes that meet in one register (BMOV, BSSY), so that lanes of different "
    "depths go on together. recursion/order.py has the GPU's order, and gives its counters; the "
    "simulator lets the lanes of a call meet at its end"
)
_TRIES = (
    "the machine code tries additions of halves at a generic address by an instruction that ncu "
    "counts among the wavefronts of atomics of shared memory, also where it adds in global memory"
)
_REPEATED = (
    "the readings differ (41, 42): the hardware repeats passes while other stores or loads are "
    "under way"
)
_MET = "warps that meet at one word repeat a pass; the simulator runs one warp after another"
_JOINED = (
    "ptxas loads own_count and base, which are neighbours, by one LDS.64 (0620) above the test of "
    "the loop. In PTX the load of base stands behind the branch of that test."
)
_PATHS = (
    "lanes come to the loop's YIELD again after they have left it, or to that of a second loop, "
    "while others go round the first: in which order a GPU runs these paths is known only in part"
)
_FIRM = (
    "ptxas lets the lanes meet behind the loop by WARPSYNC.ALL, because a barrier follows the "
    "store: it waits for the lane in the loop. In PTX nothing stands between loop and store."
)
_LOADS = ("global_load_requests", "global_load_sectors")
_STORES = ("global_store_requests", "global_store_sectors")
_ATOMICS = ("global_atomic_requests", "global_atomic_sectors")
_BY_DEPTH = ("global_load_requests", "global_store_requests", "global_store_sectors")
_SHARED = (
    "shared_load_wavefronts", "shared_load_conflicts", "shared_store_wavefronts",
    "shared_store_conflicts",
)  # fmt: skip
KNOWN: Mapping[str, Mapping[str, str]] = {
    "argmax_rows, 5 x 1000": {"shared_load_wavefronts": _PEELED},
    "argmax_rows, 3 x 33": {"shared_load_wavefronts": _PEELED},
    "spmv_scalar, 300 x 200": dict.fromkeys(_LOADS, _COPIES),
    "spmv_vector, 300 x 200": dict.fromkeys(_LOADS, _COPIES),
    "softmax_warps, 11 x 45": dict.fromkeys(_LOADS, _TURNS),
    "union_of_stages, one block": {"shared_load_wavefronts": _TURNS},
    "redux_stats, n = 1000": {"shared_atomic_wavefronts": _MET},
    **{
        f"cholesky_by_a_warp, {what}": dict.fromkeys(_SHARED, _CHOLESKY)
        for what in ("1 of 32", "2 of 19")
    },
    **{
        f"quicksort_calls_itself, {what}": dict.fromkeys(_BY_DEPTH, _RECURSION)
        for what in ("40 of 13", "100 of 30")
    },
    "flood_calls_itself, 20 of 9 x 9": dict.fromkeys(_BY_DEPTH, _RECURSION),
    "flood_calls_itself, 40 of 7 x 5": dict.fromkeys((*_BY_DEPTH, _LOADS[1]), _RECURSION),
    **{
        f"halves_added, n = {what} columns": {"shared_atomic_wavefronts": _TRIES}
        for what in ("32, 32", "30, 4")
    },
    "bfs_queue, 60 vertices": {"shared_load_wavefronts": _JOINED},
    "lanes_spin, TWO_LOOPS": dict.fromkeys(_ATOMICS, _PATHS),
    "lanes_spin, IN_LOOP_BY_THREAD": dict.fromkeys((*_LOADS, *_STORES), _PATHS),
    "lanes_spin, VOLATILE_IN_LOOP": dict.fromkeys((_LOADS[1], *_STORES), _PATHS),
    "lanes_spin, ONE_LANE": dict.fromkeys(_STORES, _FIRM),
    "dct_of_blocks, 32 x 16": dict.fromkeys(_SHARED[2:], _REPEATED),
}
