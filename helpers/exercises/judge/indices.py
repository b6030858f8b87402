"""What comes out of a layer if the index of a cell or of a weight is wrong, or products are left
out, for every exercise that adds up products of cells and weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.exercises import kit
from helpers.limits import ConvShape

# An index of all outputs at once; b, c, m, h, w, p, q are whole numbers, or arrays of them.
Cell = Callable[..., Any]  # (shape, b, c, h, w, p, q)
Weight = Callable[..., Any]  # (shape, m, c, p, q)
Taps = Callable[[Any, Any], tuple[Any, Any]]  # (p, q)
Kept = Callable[[ConvShape, int, int, int], bool]  # (shape, c, p, q)
Then = Callable[[kit.Case, np.ndarray], np.ndarray]  # (case, y)


def right_cell(s: ConvShape, b: Any, c: Any, h: Any, w: Any, p: Any, q: Any) -> Any:
    """Return the index of the cell under tap (p, q) of output (h, w)."""
    return ((b * s.C + c) * s.H + h + p) * s.W + w + q


def right_weight(s: ConvShape, m: Any, c: Any, p: Any, q: Any) -> Any:
    """Return the index of weight (m, c, p, q)."""
    return ((m * s.C + c) * s.K + p) * s.K + q


def indexed(
    cell: Cell = right_cell,
    weight: Weight = right_weight,
    taps: Taps = lambda p, q: (p, q),
    same: bool = False,
    kept: Kept = lambda s, c, p, q: True,
    then: Then = lambda case, y: y,
) -> Callable[[kit.Case], Any]:
    """Return a function of a case: what comes out with these indices, None where one of them leaves
    its array, or no product is added.

    taps: p and q as they stand in the index of a cell; same: whether outputs are as many as cells,
    and cells outside of the image count as 0; kept: which products are added; then: what a kernel
    makes of the sums.
    """

    def made(case: kit.Case) -> np.ndarray | None:
        s: ConvShape = case["shape"]
        cells, weights = case["x"].ravel(), case["filter"].ravel()
        rows, columns, radius = (s.H, s.W, s.K // 2) if same else (s.out_h, s.out_w, 0)
        y = np.zeros((s.B, s.M, rows, columns))
        b, h, w = np.ogrid[: s.B, :rows, :columns]
        h, w, m, every = h - radius, w - radius, np.arange(s.M), np.zeros((s.B, rows, columns), int)
        added = [at for at in np.ndindex(s.C, s.K, s.K) if kept(s, *at)]
        for c, p, q in added:
            down, right = taps(p, q)
            inside = (h + down >= 0) & (h + down < s.H) & (w + right >= 0) & (w + right < s.W)
            of_x = np.where(inside, cell(s, b, c, h, w, down, right) + every, 0)
            of_filter = weight(s, m, c, p, q) + 0 * m
            if of_x.min() < 0 or of_x.max() >= cells.size or of_filter.max() >= weights.size:
                return None
            taken = np.where(inside, cells[of_x], 0)
            y += taken[:, None] * weights[of_filter][:, None, None].astype(np.float64)
        return then(case, y.astype(np.float32)) if added else None

    return made


# What a student may write, and the index that it gives: of a cell, or of a weight.
_WEIGHTS: tuple[tuple[str, Weight], ...] = (
    (
        "Every map has the weights of map 0: m belongs to the index of a weight.",
        lambda s, m, c, p, q: right_weight(s, 0, c, p, q),
    ),
    (
        "Every channel has the weights of channel 0: c belongs to the index of a weight.",
        lambda s, m, c, p, q: right_weight(s, m, 0, p, q),
    ),
    (
        "Weights of map m begin at m * C * K * K. Yours are only one channel apart.",
        lambda s, m, c, p, q: ((m + c) * s.K + p) * s.K + q,
    ),
    (
        "Weights of map m begin at m * C * K * K, and yours at m * K * K. Channel c of map m is "
        "number m * C + c.",
        lambda s, m, c, p, q: (m * s.K + p) * s.K + q,
    ),
    (
        "Weights of map m begin at m * C * K * K, and those of its channel c at c * K * K behind. "
        "Yours has m and c exchanged.",
        lambda s, m, c, p, q: ((c * s.M + m) * s.K + p) * s.K + q,
    ),
    (
        "The row of a weight stands for its column, too: weight (p, q) is p * K + q.",
        lambda s, m, c, p, q: right_weight(s, m, c, p, p),
    ),
    (
        "The column of a weight stands for its row, too: weight (p, q) is p * K + q.",
        lambda s, m, c, p, q: right_weight(s, m, c, q, q),
    ),
    (
        "A row of weights has K of them: weight (p, q) is p * K + q, and not p + q.",
        lambda s, m, c, p, q: (m * s.C + c) * s.K * s.K + p + q,
    ),
    (
        "A row of weights has K of them: weight (p, q) is p * K + q, and not p + q.",
        lambda s, m, c, p, q: (m * s.C + c) * s.K + p + q,
    ),
    (
        "Channel c of a filter begins c * K * K weights further on. Yours begin one row apart.",
        lambda s, m, c, p, q: (m * s.C + c + p) * s.K + q,
    ),
    (
        "All rows of a filter have the weights of row 0: p belongs to the index of a weight.",
        lambda s, m, c, p, q: right_weight(s, m, c, 0, q),
    ),
    (
        "All columns of a filter have the weights of column 0: q belongs to the index of a weight.",
        lambda s, m, c, p, q: right_weight(s, m, c, p, 0),
    ),
    (
        "The filter is turned by half a turn.",
        lambda s, m, c, p, q: right_weight(s, m, c, s.K - 1 - p, s.K - 1 - q),
    ),
)
CELLS: tuple[tuple[str, Cell], ...] = (
    (
        "Every image has the cells of image 0: image b begins with channel b * C.",
        lambda s, b, c, h, w, p, q: right_cell(s, 0, c, h, w, p, q),
    ),
    (
        "Every channel of every image has the cells of channel 0 of image 0: channel c of image b "
        "is number b * C + c.",
        lambda s, b, c, h, w, p, q: right_cell(s, 0, 0, h, w, p, q),
    ),
    (
        "Only the first image is right: image b begins with channel b * C, not with channel b.",
        lambda s, b, c, h, w, p, q: ((b + c) * s.H + h + p) * s.W + w + q,
    ),
    (
        "Every channel has the cells of channel 0: channel c begins c * H rows further on.",
        lambda s, b, c, h, w, p, q: right_cell(s, b, 0, h, w, p, q),
    ),
    (
        "A row of the image has W cells: row r of the image begins at r * W.",
        lambda s, b, c, h, w, p, q: (b * s.C + c) * s.H * s.W + h + p + w + q,
    ),
    (
        "A row of the image has W cells: row r of the image begins at r * W.",
        lambda s, b, c, h, w, p, q: (b * s.C + c) * s.H + h + p + w + q,
    ),
    (
        "A row of the image has W cells: row r of the image begins at r * W.",
        lambda s, b, c, h, w, p, q: b * s.C * s.H * s.W + c * s.H + h + p + w + q,
    ),
    (
        "The next row of the image begins W cells further on. Yours are 1 cell apart: row h + p "
        "is multiplied by W as a whole.",
        lambda s, b, c, h, w, p, q: right_cell(s, b, c, h, w, 0, q) + p,
    ),
    (
        "The next row of the image begins W cells further on, and not out_w.",
        lambda s, b, c, h, w, p, q: right_cell(s, b, c, h, w, 0, q) + p * s.out_w,
    ),
    (
        "Square images are right, others are not: a row has W cells, and a channel H rows. Yours "
        "has rows of H cells.",
        lambda s, b, c, h, w, p, q: ((b * s.C + c) * s.H + h + p) * s.H + w + q,
    ),
    (
        "Square images are right, others are not: a row has W cells, and a channel H rows. Yours "
        "has channels of W rows.",
        lambda s, b, c, h, w, p, q: ((b * s.C + c) * s.W + h + p) * s.W + w + q,
    ),
    (
        "Channel c of an image begins c * H rows further on. Yours begin one row apart.",
        lambda s, b, c, h, w, p, q: (b * s.C + c + h + p) * s.W + w + q,
    ),
    (
        "Channel c of an image begins c * H rows of W cells further on. Yours begin H cells apart.",
        lambda s, b, c, h, w, p, q: (b * s.C + c) * s.H + (h + p) * s.W + w + q,
    ),
    *(
        ("Rows of the image lie W apart. Yours lie out_w apart, as rows of outputs do.", narrow)
        for narrow in (
            lambda s, b, c, h, w, p, q: ((b * s.C + c) * s.H + h + p) * s.out_w + w + q,
            lambda s, b, c, h, w, p, q: (b * s.C + c) * s.H * s.W + (h + p) * s.out_w + w + q,
            lambda s, b, c, h, w, p, q: (
                b * s.C * s.H * s.W + (c * s.H + h + p) * s.out_w + w + q
            ),
        )
    ),
)
TAPS: tuple[tuple[str, Taps], ...] = (
    (
        "Rows and columns are exchanged, of the filter or of the cells under it: weight "
        "p * K + q belongs to the cell p rows below and q columns right.",
        lambda p, q: (q, p),
    ),
    (
        "The cell under weight (p, q) lies p rows below and q columns right of that under weight "
        "(0, 0). Yours lies as many columns right as rows below: p stands for both.",
        lambda p, q: (p, p),
    ),
    (
        "The cell under weight (p, q) lies p rows below and q columns right of that under weight "
        "(0, 0). Yours lies as many columns right as rows below: q stands for both.",
        lambda p, q: (q, q),
    ),
    (
        "All weights of a column meet the same cell: the cell's row depends on p, too.",
        lambda p, q: (0, q),
    ),
    (
        "All weights of a row meet the same cell: the cell's column depends on q, too.",
        lambda p, q: (p, 0),
    ),
)


_KEPT: tuple[tuple[str, Kept], ...] = (
    (
        "Only the last product of each output counts: add each product to the sum, do not replace "
        "it.",
        lambda s, c, p, q: (c, p, q) == (s.C - 1, s.K - 1, s.K - 1),
    ),
    (
        "The last row of the filter is left out: p goes from 0 to K - 1.",
        lambda s, c, p, q: p < s.K - 1,
    ),
    (
        "The last column of the filter is left out: q goes from 0 to K - 1.",
        lambda s, c, p, q: q < s.K - 1,
    ),
    (
        "Only the last channel is in the sum: it begins with 0 once, before the loop over "
        "channels.",
        lambda s, c, p, q: c == s.C - 1,
    ),
    (
        "Channel 0 alone is added up: the sum goes over all C channels.",
        lambda s, c, p, q: c == 0,
    ),
    (
        "The last channel is left out: c goes from 0 to C - 1.",
        lambda s, c, p, q: c < s.C - 1,
    ),
    ("The first channel is left out: c goes from 0 to C - 1.", lambda s, c, p, q: c > 0),
)


def wrong_indices(**layer: Any) -> tuple[kit.Mistake, ...]:
    """Return the mistakes of an index or a loop's end in a layer. layer: `same` and `then`, as in
    `indexed`.
    """
    return (
        *(kit.Mistake(hint, indexed(weight=weight, **layer)) for hint, weight in _WEIGHTS),
        *(kit.Mistake(hint, indexed(cell=cell, **layer)) for hint, cell in CELLS),
        *(kit.Mistake(hint, indexed(taps=taps, **layer)) for hint, taps in TAPS),
        *(kit.Mistake(hint, indexed(kept=kept, **layer)) for hint, kept in _KEPT),
    )


WRONG_INDICES = wrong_indices()
