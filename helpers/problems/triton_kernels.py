"""Three kernels in Triton, which lab 503 sets beside CUDA: a chain, a product, a layer.

A Triton kernel says what one *program* does with whole blocks of cells. Triton's compiler chooses
the threads, the shared memory and the tensor cores' instructions. Importing this module imports
Triton: ask `at_work.missing()` first.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def chain(y, x, n, BLOCK: tl.constexpr):
    """Compute y = max(2 x + 1, 0) / 2 of n floats; a program has BLOCK of them."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < n
    cells = tl.load(x + place, mask=inside)
    tl.store(y + place, tl.maximum(2 * cells + 1, 0.0) * 0.5, mask=inside)


@triton.jit
def product(
    Y, A, X, rows, cols, inner,
    HIGH: tl.constexpr, WIDE: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
):
    """Compute Y = A X of halves; a program has a tile of HIGH x WIDE outputs.

    GROUP tiles below each other follow each other, so that they find columns of X in L2.
    """
    tile = tl.program_id(0)
    down, across = tl.cdiv(rows, HIGH), tl.cdiv(cols, WIDE)
    first = tile // (GROUP * across) * GROUP
    high = min(down - first, GROUP)
    left_over = tile % (GROUP * across)
    row = (first + left_over % high) * HIGH + tl.arange(0, HIGH)
    col = left_over // high * WIDE + tl.arange(0, WIDE)

    total = tl.zeros((HIGH, WIDE), dtype=tl.float32)
    for start in range(0, inner, DEPTH):
        i = start + tl.arange(0, DEPTH)
        of_a = (row[:, None] < rows) & (i[None, :] < inner)
        of_x = (i[:, None] < inner) & (col[None, :] < cols)
        a = tl.load(A + row[:, None] * inner + i[None, :], mask=of_a, other=0.0)
        x = tl.load(X + i[:, None] * cols + col[None, :], mask=of_x, other=0.0)
        total = tl.dot(a, x, total)
    inside = (row[:, None] < rows) & (col[None, :] < cols)
    tl.store(Y + row[:, None] * cols + col[None, :], total.to(tl.float16), mask=inside)


@triton.jit
def layer(
    y, x, filter, n, H, W, out_h, out_w, M,
    C: tl.constexpr, K: tl.constexpr,
    HIGH: tl.constexpr, WIDE: tl.constexpr, DEPTH: tl.constexpr,
):
    """Compute a convolution layer of halves as a product that is never stored (lab 202).

    x: (images, H, W, C); filter: (K K C, M); y: (n, M), with n = images * out_h * out_w. A program
    has HIGH outputs of WIDE maps.
    """
    row = tl.program_id(0) * HIGH + tl.arange(0, HIGH)
    map = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    h, w = row // out_w % out_h, row % out_w
    corner = ((row // (out_h * out_w) * H + h) * W + w) * C  # of the window

    total = tl.zeros((HIGH, WIDE), dtype=tl.float32)
    for start in range(0, K * K * C, DEPTH):
        term = start + tl.arange(0, DEPTH)
        p, q, c = term // C // K, term // C % K, term % C
        of_x = (row[:, None] < n) & (term[None, :] < K * K * C)
        of_filter = (term[:, None] < K * K * C) & (map[None, :] < M)
        move = (p * W + q) * C + c
        cells = tl.load(x + corner[:, None] + move[None, :], mask=of_x, other=0.0)
        weights = tl.load(filter + term[:, None] * M + map[None, :], mask=of_filter, other=0.0)
        total = tl.dot(cells, weights, total)
    inside = (row[:, None] < n) & (map[None, :] < M)
    tl.store(y + row[:, None] * M + map[None, :], total.to(tl.float16), mask=inside)
