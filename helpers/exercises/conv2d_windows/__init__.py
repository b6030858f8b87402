"""The convolution layer on tensor cores: windows of an image are fragments of B as they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.limits import ConvShape
from helpers.problems import conv2d

WARPS = 4
BLOCKS = 5  # of a launch, at most; a block takes every fifth image
RECORD = conv2d.mma_pairs()  # whose fragments of A the answer takes


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield layers with a full and with a spare tile, fewer maps than rows of A, three widths, and
    many images: more outputs than a short index counts.
    """
    yield layer(rng, ConvShape(1, 2, 16, 10, 14, 7))
    yield layer(rng, ConvShape(3, 4, 16, 12, 16 + 2 * int(rng.integers(0, 6)), 7))
    yield layer(rng, ConvShape(2, 2, 11, 14, 20, 5))
    yield layer(rng, ConvShape(2, 4, 16, 6, 12, 3))
    yield layer(rng, ConvShape(53, 2, 16, 6, 12, 3))


def layer(rng: np.random.Generator, shape: ConvShape, warps: int = WARPS) -> kit.Case:
    """Return a layer whose cells need two halves, and whose sums are exact in float32."""
    x = kit.whole_numbers(rng, shape.x_shape, 9) + rng.integers(1, 8, shape.x_shape) / np.float32(
        4096
    )
    filter = kit.whole_numbers(rng, shape.filter_shape)
    sizes = {
        **shape.constants,
        "WARPS": warps,
    }
    return layers.layer_case(
        rng,
        shape,
        (min(BLOCKS, shape.B),),
        (32 * warps,),
        drawn=(x.astype(np.float32), filter),
        arguments=("y", "x", np.int32(shape.B)),
        constants={"filter": RECORD.arrange(filter)},
        options=tuple(f"-D{name}={value}" for name, value in sizes.items()),
    )


def large(rng: np.random.Generator) -> kit.Case:
    """Return what a GPU times."""
    return layer(rng, ConvShape(500, 4, 16, 40, 40, 7), 12)


def products(case: kit.Case) -> int:
    """Return how many `mma` a launch cannot do without."""
    shape = case["shape"]
    tiles = kit.ceil_div(shape.out_h // 2 * (shape.out_w // 2), 8)
    return shape.B * tiles * (shape.C * shape.K // 2) * 2 * 2 * 3


def _where(
    rows: Callable[[np.ndarray], np.ndarray],
) -> Callable[[kit.Case], np.ndarray]:
    """Return what comes out of another order of the filter's rows, of shape (maps, channels * K,
    K).
    """

    def made(case: kit.Case) -> np.ndarray:
        flat = case["filter"].reshape(case["shape"].M, -1, case["shape"].K)
        changed = rows(flat).reshape(case["filter"].shape)
        return layers.conv2d(case["x"], np.ascontiguousarray(changed))

    return made


def _exchanged(flat: np.ndarray) -> np.ndarray:
    return flat.reshape(flat.shape[0], -1, 2, flat.shape[2])[:, :, ::-1].reshape(flat.shape)


def _rows_below(case: kit.Case) -> np.ndarray:
    """Return what comes out if the filter's rows of all channels lie below each other in x."""
    shape = case["shape"]
    rows = case["x"].reshape(shape.B, shape.C * shape.H, shape.W)
    windows = [rows[:, c * shape.K : c * shape.K + shape.H] for c in range(shape.C)]
    return layers.conv2d(np.stack(windows, axis=1), case["filter"])


def _moved(
    window: Callable[[ConvShape, np.ndarray], np.ndarray] | None = None,
    place: Callable[[ConvShape, int], tuple[int, int]] | None = None,
) -> Callable[[kit.Case], np.ndarray | None]:
    """Return a function of a case: what comes out of other Pairs, None where one leaves the image.

    window: the Pair at which the windows of the columns of B begin; place: the channel and the row
    in it of filter row n.
    """

    def made(case: kit.Case) -> np.ndarray | None:
        s = case["shape"]
        across, columns = s.out_w // 2, np.arange(s.out_h // 2 * (s.out_w // 2))
        first = columns // across * 2 * (s.W // 2) + columns % across
        if window is not None:
            first = window(s, columns)
        cells, y = case["x"].reshape(s.B, -1), np.zeros((s.B, s.M, columns.size, 2, 2))
        for n, q, row, shift in np.ndindex(s.C * s.K, s.K, 2, 2):
            channel, down = place(s, n) if place is not None else (n // s.K, n % s.K)
            at = (channel * s.H + down + row) * s.W + 2 * first + q + shift
            if at.max() >= cells.shape[1]:
                return None
            weights = case["filter"][:, n // s.K, n % s.K, q].astype(float)
            y[..., row, shift] += cells[:, None, at] * weights[:, None]
        y = y.reshape(s.B, s.M, s.out_h // 2, across, 2, 2).swapaxes(3, 4)
        return y.reshape(case["y"].shape)

    return made


def _by_width(s: ConvShape, columns: np.ndarray) -> np.ndarray:
    """Return the windows' Pairs if a row of columns has OUT_W of them."""
    return columns // s.out_w * 2 * (s.W // 2) + columns % s.out_w


def _below_low(s: ConvShape, n: int) -> tuple[int, int]:
    """Return the place of row n if the second row of a step lies below the first one."""
    first = n // 2 * 2
    return first // s.K, first % s.K + n % 2


def _by_step(s: ConvShape, n: int) -> tuple[int, int]:
    """Return the place of row n if a step takes the rows `step` and step + 1."""
    row = n // 2 + n % 2
    return row // s.K, row % s.K


def _first_for_low(s: ConvShape, n: int) -> tuple[int, int]:
    """Return the place of row n if the first row of a step is always taken from channel 0."""
    return (0 if n % 2 == 0 else n // s.K), n % s.K


def _registers(case: kit.Case, changed: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return what comes out if lanes take their registers for other outputs.

    changed: of the right outputs of one tile, shape (..., half of the maps, g, q, column of two,
    row, shift), what stands in their places.
    """
    shape = case["shape"]
    rows, across = shape.out_h // 2, shape.out_w // 2
    maps, columns = 16 - shape.M, -rows * across % 8
    y = layers.convolved(case).reshape(shape.B, shape.M, rows, 2, across, 2)
    y = y.swapaxes(3, 4).reshape(shape.B, shape.M, rows * across, 2, 2)
    # Maps that are not there have weights of 0, and columns that are not there repeat the last one.
    y = np.pad(y, ((0, 0), (0, maps), (0, 0), (0, 0), (0, 0)))
    y = np.pad(y, ((0, 0), (0, 0), (0, columns), (0, 0), (0, 0)), mode="edge")
    tiles = y.reshape(shape.B, 2, 8, -1, 4, 2, 2, 2).transpose(0, 3, 1, 2, 4, 5, 6, 7)
    tiles = changed(tiles).transpose(0, 2, 3, 1, 4, 5, 6, 7)
    y = tiles.reshape(y.shape)[:, : shape.M, : rows * across]
    y = y.reshape(shape.B, shape.M, rows, across, 2, 2).swapaxes(3, 4)
    return np.ascontiguousarray(y.reshape(case["y"].shape))


def _transposed(tile: np.ndarray) -> np.ndarray:
    """Return a tile with g in place of the column, and the column in place of g."""
    squares = tile.reshape(*tile.shape[:4], 8, *tile.shape[6:])
    return squares.swapaxes(3, 4).reshape(tile.shape)


def _apart(tile: np.ndarray) -> np.ndarray:
    """Return a tile whose two columns of a lane are q and q + 4."""
    return tile.swapaxes(4, 5).reshape(tile.shape)


def _maps_in_turn(tile: np.ndarray) -> np.ndarray:
    """Return a tile whose two maps of a lane are 2 g and 2 g + 1."""
    return tile.swapaxes(2, 3).reshape(tile.shape)


def _one_pair(case: kit.Case) -> np.ndarray:
    """Return what comes out if all lanes of a column take its first Pair: even and odd columns of
    the filter are added.
    """
    even, odd = (case["filter"][..., k::2].sum(axis=-1) for k in (0, 1))
    first, second = np.zeros_like(case["filter"]), np.zeros_like(case["filter"])
    first[..., 0], first[..., 1] = even, odd
    second[..., 0], second[..., 1] = odd, even
    y = layers.conv2d(case["x"], first)
    y[..., 1::2] = layers.conv2d(case["x"], second)[..., ::2]
    return y


EXERCISE = kit.Exercise(
    name="conv2d_windows",
    lab="305_fastest_layer",
    title="Windows of an image as fragments of B",
    points=5,
    place=1,
    cases=cases,
    reference=layers.convolved,
    rtol=1e-6,
    atol=2e-3,
    counts=layers.COUNTS,
    budgets=(
        kit.Budget(
            "products by tensor cores (mma), over those of the layer",
            lambda case, one: kit.executed("mma.", per="launch")(case, one) / products(case),
            1,
            "A warp multiplies each tile once.",
            least=1,
        ),
        kit.Budget(
            "loads of x, in floats over its cells",
            lambda case, one: one.total("bytes_used", "global", "load", "x") / 4 / case["x"].size,
            1,
            "Each cell is loaded and split once; fragments come from hi and lo.",
        ),
        kit.Budget(
            "sectors of x for a request",
            lambda case, one: (
                kit.all_of("sectors", "global", "load", "x")(case, one)
                / kit.all_of("requests", "global", "load", "x")(case, one)
            ),
            9,
            quiet=True,
        ),
        kit.ONE_STORE,
        *kit.elsewhere(10**6),
        *kit.NO_DETOURS,
    ),
    mistakes=(
        kit.Mistake(
            "Windows begin one row of x apart: a column of B serves two rows of outputs, so the "
            "next row of columns begins 2 * ROW Pairs further on.",
            gives=layers.taken(rows=lambda case, row: row // 2 + row % 2),
        ),
        kit.Mistake(
            "All four lanes of a group take the same Pair: lane 4 g + q is q Pairs further on.",
            gives=_one_pair,
        ),
        kit.Mistake(
            "Both rows of outputs are the same: for `row` = 1 the window begins one row lower.",
            gives=layers.taken(rows=lambda case, row: row // 2 * 2),
        ),
        kit.Mistake(
            "All channels take the cells of the first one: filter row n belongs to channel n / K, "
            "which begins n / K * PLANE Pairs further on.",
            gives=lambda case: layers.convolved(
                case, x=np.broadcast_to(case["x"][:, :1], case["x"].shape)
            ),
        ),
        kit.Mistake(
            "Row n of the filter takes the cells n rows below the window. Only n % K of these rows "
            "belong to its channel, and the channel begins n / K * PLANE Pairs further on.",
            gives=_rows_below,
        ),
        kit.Mistake(
            "A row of outputs has ACROSS columns of B, one for each pair, and not OUT_W.",
            gives=_moved(window=_by_width),
        ),
        kit.Mistake(
            "`high` lies one row below `low`, which is wrong where the second row of a step "
            "belongs to the next channel: work out n + 1 as you did n.",
            gives=_moved(place=_below_low),
        ),
        kit.Mistake(
            "A step takes two rows of the filter: its first one is 2 * step, and not `step`.",
            gives=_moved(place=_by_step),
        ),
        kit.Mistake(
            "`low` is always taken from channel 0: filter row n belongs to channel n / K, which "
            "begins n / K * PLANE Pairs further on.",
            gives=_moved(place=_first_for_low),
        ),
        kit.Mistake(
            "low and high are exchanged: b_low holds the first of the two filter rows.",
            gives=_where(_exchanged),
        ),
        kit.Mistake(
            "The maps are exchanged: registers 0 and 1 belong to row g of A, registers 2 and 3 to "
            "row g + 8.",
            gives=lambda case: _registers(case, lambda tile: tile[:, :, ::-1]),
        ),
        kit.Mistake(
            "g and q are exchanged in gap 3: a lane has loaded column g of B, and it gets the sums "
            "of columns 2 q and 2 q + 1. The maps are g and g + 8.",
            gives=lambda case: _registers(case, _transposed),
        ),
        kit.Mistake(
            "Registers 1 and 2 are exchanged: register 1 is the next column of B, 2 q + 1, and "
            "register 2 is the map g + 8.",
            gives=lambda case: _registers(case, lambda tile: tile.swapaxes(2, 5)),
        ),
        kit.Mistake(
            "The two columns of a lane are neighbours, 2 q and 2 q + 1. Yours are q and q + 4.",
            gives=lambda case: _registers(case, _apart),
        ),
        kit.Mistake(
            "The two maps of a lane are g and g + 8. Yours are 2 g and 2 g + 1.",
            gives=lambda case: _registers(case, _maps_in_turn),
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "Several lanes store the same output. A lane loads column g of B, but it gets the sums "
            "of columns 2 q and 2 q + 1, of the rows g and g + 8 of A.",
            when=lambda found: found.array == "y",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A window leaves the image: a column of B is a pair of outputs in two rows, so it "
            "begins in row column / ACROSS * 2 and Pair column % ACROSS. Within a channel the "
            "filter's rows are n % K. The lane's place in its group, q, moves it on by q Pairs, "
            "and g by nothing: g has chosen the column.",
            when=lambda found: found.array in ("hi", "lo"),
        ),
        kit.FindingHint(
            "out-of-bounds",
            "An output lies outside y: there are 16 maps, g and g + 8 for a lane.",
            when=lambda found: found.array == "y",
        ),
    ),
    hints=(
        "Gap 1: the windows of columns 0 to ACROSS - 1 begin in row 0 of x, the next ones in row "
        "2. Neighbouring columns begin one Pair apart: column / ACROSS * 2 * ROW + column % ACROSS "
        "+ q.",
        "Gap 2: with n = 2 * step, low is window + n / K * PLANE + (n % K + row) * ROW, and high "
        "the same of n + 1: it may belong to the next channel.",
        "Gap 3: the lane gets columns 2 q and 2 q + 1 of the tile: pair = first + 2 * q + i % 2. "
        "Registers 2 and 3 belong to row g + 8 of A, which is that map.",
    ),
    timed=large,
)
