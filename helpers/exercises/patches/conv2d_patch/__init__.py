"""A patch of 4 columns and 2 rows in registers, whose rows share six of eight rows of cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.exercises.patches import LAB, REGISTERS
from helpers.limits import ConvShape

MAPS, FAR = 4, 8  # FAR: threads of a block along each axis


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield whole patches for the budgets, and ragged images: H and W differ, so that neither can
    be told from the other.
    """
    ragged = int(rng.integers(24, 36)), int(rng.integers(36, 50))
    for H, W in ((22, 38), ragged, (7, 7), (8, 10), (29, 23)):
        yield image(rng, H, W)
    yield image(rng, 262, 257)  # more cells than 16 bits can count


def image(rng: np.random.Generator, H: int = 1_030, W: int = 1_030) -> kit.Case:
    """Return an image, by default a large one; a block has 16 x 16 patches of one map."""
    shape = ConvShape(1, 1, MAPS, H, W, 7)
    x, filter = layers.draw(rng, shape)
    grid = (kit.ceil_div(W - 6, 4 * FAR), kit.ceil_div(H - 6, 2 * FAR), MAPS)
    step = kit.Step(
        grid, (FAR, FAR), ("y", "x", np.int32(H), np.int32(W)), {"filter": filter.ravel()}
    )
    arrays = {"y": kit.unwritten(shape.y_shape), "x": x}
    facts, budgeted = {"filter": filter, "shape": shape}, (H, W) == (22, 38)
    return kit.Case(f"{H} x {W}", arrays, ("y",), (step,), {"size": (H, W)}, facts, budgeted)


def short_window(rows: int):
    """Return a function of a case: what comes out if only the first rows of the window are read, of
    which the lower outputs use one less.
    """

    def made(case: kit.Case) -> np.ndarray:
        row = np.arange(case["shape"].K)[:, None]
        upper, lower = (np.where(row < end, case["filter"], 0) for end in (rows, rows - 1))
        outputs = layers.convolved(case, upper)
        outputs[:, :, 1::2] = layers.convolved(case, lower)[:, :, 1::2]
        return outputs

    return made


def has_equal_columns(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the four columns of each whole patch are equal."""
    whole = got[..., : got.shape[3] // 4 * 4].reshape(*got.shape[:3], -1, 4)
    return bool(whole.size and (whole == whole[..., :1]).all())


EXERCISE = kit.Exercise(
    name="conv2d_patch",
    lab=LAB,
    place=2,
    title="Share the rows of cells of a patch in registers",
    timed=image,
    cases=cases,
    reference=layers.convolved,
    counts={"size": "sizes"},
    budgets=(
        kit.Budget(
            "global loads per output",
            kit.per_output("global", "load"),
            10,
            "The patch's two rows of outputs need eight rows of cells, not fourteen: load each "
            "row once, and use it for both.",
            least=1,
        ),
        REGISTERS,
        kit.Budget(
            "constant requests per warp",
            lambda case, one: one.total("requests", "constant", "load") / kit.warps(case),
            112,
            "A thread needs each of the 49 weights for both rows of its patch.",
            quiet=True,
        ),
        kit.ONE_STORE,
        kit.none_of("shared", hint="The patch stays in registers here."),
        kit.NO_ATOMICS,
        kit.shuffles(
            hint="Neighbours' cells by shuffles are another exercise: load each row once."
        ),
    ),
    most_of_a_block=lambda case: 8 * FAR * FAR,
    mistakes=(
        kit.all_zero(
            "All sums are 0: load rows of cells, and add up their products with the weights."
        ),
        *(
            kit.Mistake(
                f"Rows {rows} to 7 of the window are left out: it has eight rows of cells, 0 to 7.",
                gives=short_window(rows),
            )
            for rows in range(1, 7)
        ),
        *(
            kit.Mistake(
                f"The filter's {what} from {first} on are left out: it has seven, 0 to 6.",
                gives=of_first(first),
            )
            for first in range(1, 7)
            for what, of_first in (("rows", layers.first_rows), ("columns", layers.first_columns))
        ),
        *layers.LAST_CELLS,
        *indices.WRONG_INDICES,
        kit.Mistake(
            "The four columns of a patch are equal: sum[o][i] belongs to cell[i + q].",
            when=has_equal_columns,
        ),
        kit.Mistake(
            "Only the upper row of each patch is right: row r of the window is row r - 1 of the "
            "filter for the lower one.",
            when=lambda case, got, want: bool(
                (got[:, :, 0::2] == want[:, :, 0::2]).all() and np.isfinite(got).all()
            ),
        ),
        kit.Mistake(
            "Only the lower row of each patch is right: for the upper one the filter's rows are "
            "0 to 6.",
            when=lambda case, got, want: bool((got[:, :, 1::2] == want[:, :, 1::2]).all()),
        ),
        kit.Mistake(
            "22 x 38 cells are right, other sizes are not: out_h follows from H and out_w from W, "
            "which are two numbers. Neither follows from the other.",
            when=lambda case, got, want: case.kinds["size"] != (22, 38),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "The filter has rows 0 to 6: row r of the window is its row r for the upper outputs, "
            "and r - 1 for the lower ones.",
            when=lambda found: found.array == "filter",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A partial patch ends at H and W: cells beyond count as 0, and outputs beyond are not "
            "stored. H and W are two numbers: neither follows from the other.",
            when=lambda found: found.array in ("x", "y"),
        ),
        kit.FindingHint(
            "race",
            "Two threads store the same output. An output in column out_w or more is one of the "
            "next row, which has a thread of its own: store it only where h + o < out_h and "
            "w + i < out_w.",
            when=lambda found: found.array == "y",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A row of the patch has 10 cells and 4 sums.",
            when=lambda found: found.array in ("cell", "sum"),
        ),
    ),
    hints=(
        "Which rows of x does the upper row of outputs read, and which the lower one? Which of "
        "them are the same?",
        "Let the outer loop go over the eight rows of the window, and load each once.",
        "Row r is row r of the filter for output row 0, and row r - 1 for output row 1, if that "
        "lies between 0 and 6.",
    ),
)
