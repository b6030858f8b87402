"""Launches in the manner of a course's assignments: counting, sorting, graphs, solvers, pictures,
layers of networks. `strangers.LAUNCHES` holds them beside the others.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from stranger_cases import (
    ORDER,
    Stranger,
    blocks,
    f16,
    f32,
    f64,
    filled,
    floats,
    i8,
    i32,
    ints,
    launch,
    over,
    permutation,
    u8,
    u16,
    u32,
    zeros,
)


def graph(vertices: int, most: int, seed: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """The first edge of each vertex, and the ends of the edges: 1 to `most` - 1 a vertex."""
    starts = np.concatenate([[0], np.cumsum(ints(vertices, 1, most, seed))]).astype(np.int32)
    return starts, ints(int(starts[-1]), 0, vertices, seed + 1)


def counts_and_sums() -> Iterable[Stranger]:
    for n, grid in ((3000, 3), (100, 1)):
        text = ints(n, 97, 123, dtype=i8)
        yield launch("hist_runs", f"n = {n}", [text, u32(n), zeros(7, u32)], grid, 128)
    for n in (600, 200):
        arguments = [ints(n, -5, 6).astype(f32), zeros(n), *i32(n)]
        yield over("scan_two_buffers", f"n = {n}", arguments, n, 256)
    for n, grid in ((256, 2), (64, 1)):
        arguments = [zeros(n * grid, np.int32), ints(n * grid, 0, 9), zeros(grid, np.int32)]
        yield launch(
            "blelloch", f"{grid} of {n}", arguments, grid, n // 2, shared=4 * (n + n // 32)
        )
    for n, grid in ((2500, 3), (900, 1)):
        arguments = [ints(n, -9, 10).astype(f32), zeros(1), *i32(n)]
        yield launch("reduce_coarse", f"n = {n}", arguments, grid, 128)
    for n, grid in ((450, 2), (200, 1)):
        arguments = [ints(n, 0, 50), zeros(grid, np.int32), zeros(1, np.int32), *i32(n)]
        yield launch("cg_reduce", f"n = {n}", arguments, grid, 256)
    for rows, width in ((7, 100), (3, 33)):
        arguments = [zeros(rows * width, np.int32), ints(rows * width, 0, 255, dtype=u8)]
        yield launch("row_sums", f"{rows} x {width}", [*arguments, *i32(width)], rows, 128)
    for n, h in ((300, 0.01), (65, 0.05)):
        yield launch("simpson", f"{n} steps", [zeros(1, f64), f64(0), f64(h), *i32(n)], 1, 128)


def sorts_and_words() -> Iterable[Stranger]:
    for bit in (3, 0):
        arguments = [zeros(256, u32), ints(256, 0, 64, dtype=u32), *i32(bit)]
        yield launch("radix_bit", f"bit {bit}", arguments, 1, 256)
    for m, n in ((130, 100), (33, 5)):
        A, B = np.sort(ints(m, 0, 50)), np.sort(ints(n, 0, 50, 2))
        arguments = [zeros(m + n, np.int32), A, np.int32(m), B, np.int32(n)]
        yield launch("merge_corank", f"{m} and {n}", arguments, 2, 16)
    for rows, grid in ((7, 2), (4, 1)):
        yield launch(
            "rows_bitonic", f"{rows} rows", [ints(32 * rows, 0, 99), *i32(rows)], grid, 128
        )
    for n, m, block in ((40, 30, 64), (20, 27, 32)):
        arguments = [zeros((n + 1) * (m + 1), np.int32), ints(n, 65, 69, dtype=i8)]
        yield launch(
            "needleman_wave", f"{n} and {m}", [*arguments, ints(m, 65, 69, 2, i8), *i32(n, m)],
            1, block,
        )  # fmt: skip
    for n, block, varies, unordered in ((60, 64, ORDER, (0, 1)), (32, 32, "", ())):
        keys = (permutation(1000, 5)[:n] + 1).astype(u32)
        tables = [zeros(128, u32), zeros(128, u32)]
        arguments = [*tables, keys, np.arange(n, dtype=u32), *i32(n, 128)]
        yield launch(
            "hash_put", f"n = {n}", arguments, 1, block, varies=varies, unordered=unordered
        )
    pattern = np.frombuffer(b"abba" + bytes(4), i8)
    for n, grid, block, varies, unordered in ((400, 2, 256, ORDER, (4,)), (34, 1, 32, "", ())):
        arguments = [ints(n, 97, 99, 8, i8), *i32(n, 4), zeros(1, np.int32), zeros(n, np.int32)]
        yield launch(
            "search_all", f"n = {n}", arguments, grid, block, constants={"pattern": pattern},
            varies=varies, unordered=unordered,
        )  # fmt: skip


def sparse_and_graphs() -> Iterable[Stranger]:
    for rows, most in ((50, 7), (33, 3)):
        lengths = np.sort(ints(rows, 0, most, 4))[::-1]
        longest = int(lengths.max())
        counts = [int((lengths > turn).sum()) for turn in range(longest)]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        cells = int(starts[-1])
        arguments = [
            starts, ints(cells, 0, rows, 5), ints(cells, -3, 4, 6).astype(f32),
            permutation(rows, 7), ints(rows, -4, 5, 8).astype(f32), zeros(rows),
            *i32(rows, longest),
        ]  # fmt: skip
        yield launch("spmv_jds", f"{rows} rows", arguments, 2, 32)
    for cells, rows, grid in ((300, 20, 2), (50, 40, 1)):
        arguments = [
            ints(cells, 0, rows), ints(cells, 0, 30, 2), ints(cells, -3, 4, 3).astype(f32),
            ints(30, -3, 4, 4).astype(f32), zeros(rows), *i32(cells),
        ]  # fmt: skip
        yield launch("spmv_coo", f"{cells} cells", arguments, grid, 64)
    starts, edges = graph(60, 5)
    level = filled(60, -1, np.int32)
    level[[3, 9]] = 0
    yield launch(
        "bfs_queue", "60 vertices",
        [starts, edges, level, np.array([3, 9], np.int32), *i32(2), zeros(60, np.int32),
         zeros(1, np.int32), *i32(1)],
        1, 32, unordered=(5,),
    )  # fmt: skip
    for vertices, grid in ((40, 2), (17, 1)):
        starts, edges = graph(vertices, 5, 7)
        distance = filled(vertices, 10**6, np.int32)
        distance[[0, 5]] = 0, 3
        arguments = [starts, edges, ints(len(edges), 1, 9, 8), distance, distance.copy()]
        yield launch(
            "relax", f"{vertices} vertices", [*arguments, zeros(1, np.int32), *i32(vertices)],
            grid, 32,
        )  # fmt: skip
    for vertices, grid in ((20, 5), (9, 3)):
        pairs = np.triu(ints(vertices * vertices, 0, 10, 9).reshape(vertices, -1) < 3, 1)
        joined = pairs | pairs.T
        starts = np.concatenate([[0], np.cumsum(joined.sum(1))]).astype(np.int32)
        arguments = [starts, np.nonzero(joined)[1].astype(np.int32), zeros(1, u32)]
        yield launch("triangles", f"{vertices} vertices", [*arguments, *i32(vertices)], grid, 128)
    for edges_, grid in ((40, 2), (20, 1)):
        arguments = [np.arange(50, dtype=np.int32), ints(edges_, 0, 50, 12), ints(edges_, 0, 50)]
        yield launch(
            "hook", f"{edges_} edges", [*arguments, zeros(1, np.int32), *i32(edges_)], grid, 32
        )
    for vertices in (30, 64):
        starts, sources = graph(vertices, 6, 3)
        degrees = np.maximum(np.bincount(sources, minlength=vertices), 1).astype(np.int32)
        ranks = ints(vertices, 1, 9).astype(f32)
        yield launch(
            "pagerank_pull", f"{vertices} vertices",
            [zeros(vertices), starts, sources, ranks, degrees, *i32(vertices)], 1, 64,
        )  # fmt: skip
    for n in (6, 4):
        yield launch("queens", f"{n} queens", [zeros(1, np.int32), *i32(n)], 1, 32)


def solvers() -> Iterable[Stranger]:
    for nz, ny, nx in ((6, 10, 12), (3, 7, 9)):
        cells = nz * ny * nx
        arguments = [zeros(cells), ints(cells, -9, 10).astype(f32), *i32(nz, ny, nx)]
        yield launch("stencil_registers", f"{nx} x {ny} x {nz}", arguments, (2, 2), (8, 8))
    for n, grid in ((100, 2), (64, 1)):
        arguments = [zeros(4 * n), floats(4 * n, 0, 1), *i32(n)]
        yield launch("nbody_tiles", f"n = {n}", arguments, grid, 64, shared=1024)
    matrix = floats(256, 0, 1).reshape(16, 16) + 16 * np.eye(16, dtype=f32)
    yield launch("lu_block", "16 x 16", [matrix.reshape(-1)], 1, (16, 16))
    now = 4 * ints(18 * 34, 0, 64).astype(f32)
    arguments = [now.copy(), now, zeros(1), *i32(18, 34)]
    yield launch("jacobi_residual", "18 x 34", arguments, (2, 2), (16, 8))
    for n, colour in ((12, 0), (16, 1)):
        arguments = [ints(n * n, 0, 9).astype(f32), *i32(n, colour)]
        yield launch("red_black", f"{n} x {n}", arguments, (2, 2), (8, 8))
    for systems in (2, 1):
        cells = 32 * systems
        bands = floats(cells, 0, 1), floats(cells, 4, 5, 2), floats(cells, 0, 1, 3)
        arguments = [zeros(cells), *bands, floats(cells, 0, 1, 4)]
        yield launch("tridiagonal_pcr", f"{systems} of 32", arguments, systems, 32)
    for signals in (2, 1):
        arguments = [zeros(64 * signals, np.complex64), floats(128 * signals).view(np.complex64)]
        yield launch("fft_shared", f"{signals} of 64", arguments, signals, 32)
    for n, colour in ((16, 0), (12, 1)):
        spins = (2 * ints(n * n, 0, 2) - 1).astype(i8)
        arguments = [spins, floats(n * n, 0, 1, 3), *i32(n, colour), f32(0.4)]
        yield launch("ising_step", f"{n} x {n}", arguments, (2, 2), (8, 8))
    steps = {
        "cx": np.array([0, 1, 0, -1, 0, 1, -1, -1, 1], np.int32),
        "cy": np.array([0, 0, 1, 0, -1, 1, 1, -1, -1], np.int32),
    }
    for rows, columns in ((6, 10), (8, 16)):
        cells = 9 * rows * columns
        arguments = [zeros(cells), floats(cells), *i32(rows, columns)]
        yield launch(
            "boltzmann_stream", f"{rows} x {columns}", arguments, (2, 2), (8, 4), constants=steps
        )


def pictures() -> Iterable[Stranger]:
    weights = np.array([1, 4, 6, 4, 1], f32)
    for rows, width in ((9, 100), (2, 64)):
        arguments = [zeros(rows * width), ints(rows * width, 0, 9).astype(f32), *i32(width)]
        yield launch(
            "separable_rows", f"{rows} x {width}", arguments, (blocks(width, 64), rows), 64,
            constants={"weight": weights},
        )  # fmt: skip
    for w, h, grid in ((20, 15, (2, 2)), (16, 8, (1, 1))):
        picture = ints(w * h, 0, 255, dtype=u8)
        arguments = [zeros(w * h, u8), picture, *i32(w, h), f32(0.6), f32(0.8)]
        yield launch("rotate", f"{w} x {h}", arguments, grid, (16, 8))
    nearness = np.array([0.1, 0.5, 1, 0.5, 0.1], f32)
    for w, h, grid in ((13, 9, (1, 2)), (32, 8, (2, 1))):
        arguments = [zeros(w * h), floats(w * h, 0, 1), *i32(w, h), f32(2)]
        yield launch(
            "bilateral", f"{w} x {h}", arguments, grid, (16, 8), constants={"nearness": nearness}
        )
    for rows, columns in ((6, 8), (4, 6)):
        cells = rows * columns
        arguments = [filled(cells, 7), floats(cells), floats(cells // 4, seed=2)]
        yield launch(
            "pool_gradient", f"{rows} x {columns}", [*arguments, *i32(rows, columns)], 1, (8, 4)
        )


def layers() -> Iterable[Stranger]:
    for n, grid in ((200, 2), (60, 1)):
        arguments = [ints(3 * n, 0, 9).astype(f32), ints(n, 0, 4, 2), zeros(12)]
        yield launch(
            "kmeans_sums", f"n = {n}", [*arguments, zeros(4, np.int32), *i32(n)], grid, 128,
            varies="how often an addition is tried again",
        )  # fmt: skip
    for rows, width in ((5, 70), (3, 32)):
        arguments = [zeros(rows * width), floats(rows * width, 0, 1), *i32(width)]
        yield launch("layernorm_welford", f"{rows} x {width}", arguments, rows, 32)
    for n, grid in ((50, 2), (32, 1)):
        three = [floats(16 * n, 0, 1, seed) for seed in (1, 2, 3)]
        yield launch("attention_tiles", f"n = {n}", [zeros(16 * n), *three, *i32(n)], grid, 32)
    for m, n, quads in ((20, 18, 6), (32, 16, 3)):
        A, B = (ints(4 * rows * quads, -128, 128, rows, i8) for rows in (m, n))
        arguments = [zeros(m * n, np.int32), A.view(np.int32), B.view(np.int32)]
        yield launch(
            "dp4a_product", f"{m} x {n} x {4 * quads}", [*arguments, *i32(m, n, quads)],
            (2, 2), (16, 16),
        )  # fmt: skip
    for pairs in (150, 64):
        x, y = (
            (ints(2 * pairs, 0, 16, seed).astype(f32).view(u32) >> 16).astype(u16)
            for seed in (1, 2)
        )
        yield launch("bf16_axpy", f"{pairs} pairs", [x, y, f32(2), *i32(pairs)], 1, 64)
    for m, n, k in ((32, 48, 32), (16, 16, 64)):
        A, B = ints(m * k, -3, 4).astype(f16), ints(k * n, -3, 4, 2).astype(f16)
        yield launch(
            "wmma_shared", f"{m} x {n} x {k}", [zeros(m * n), A, B, *i32(n, k)],
            (n // 16, m // 16), 32,
        )  # fmt: skip
    for tiles, grid in ((5, 2), (1, 3)):
        arguments = [zeros(128 * grid), floats(128 * grid * tiles), *i32(tiles)]
        yield launch("pipeline_two", f"{tiles} tiles", arguments, grid, 128)
    for rounds in (5, 2):
        arguments = [zeros(32), ints(32 * rounds, 0, 9).astype(f32), *i32(rounds)]
        yield launch("warp_specialised", f"{rounds} rounds", arguments, 1, 64)
    for images, channels, cells in ((4, 3, 25), (2, 5, 16)):
        arguments = [
            zeros(channels), zeros(channels), ints(images * channels * cells, 0, 5).astype(f32),
            *i32(images, channels, cells),
        ]  # fmt: skip
        yield launch("batchnorm_stats", f"{images} x {channels} x {cells}", arguments, channels, 64)
    for m, n in ((90, 70), (64, 128)):
        A, x = ints(m * n, -4, 5).astype(f32), ints(n, -4, 5, 2).astype(f32)
        arguments = [zeros(m), A, x, *i32(m, n)]
        yield over("gemv_tiles", f"{m} x {n}", arguments, m, 64)
    for n, grid in ((301, 3), (128, 1)):
        arguments = [zeros(n), filled(n, 1), u32(7), f32(0.5), *i32(n)]
        yield launch("dropout", f"n = {n}", arguments, grid, 64)
    for n, dims, grid in ((20, 11, (2, 2)), (16, 8, (1, 1))):
        arguments = [zeros(n * n), floats(n * dims, 0, 1), *i32(n, dims)]
        yield launch("distances", f"{n} points of {dims}", arguments, grid, (16, 16))


PARTS = (counts_and_sums, sorts_and_words, sparse_and_graphs, solvers, pictures, layers)
