"""A patch of 4 columns and 2 rows in registers, whose rows share six of eight rows of cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.patches import LAB, REGISTERS
from helpers.exercises.judge import indices
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


EXERCISE = kit.Exercise(
    name="conv2d_patch",
    lab=LAB,
    place=2,
    title="Share the rows of cells of a patch in registers",
    timed=image,
    cases=cases,
    small=lambda rng: (image(rng, *size) for size in ((7, 7), (8, 10), (9, 13), (22, 38))),
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
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Which rows of x does the upper row of outputs read, and which the lower one? Which of "
        "them are the same?",
        "Let the outer loop go over the eight rows of the window, and load each once.",
        "Row r is row r of the filter for output row 0, and row r - 1 for output row 1, if that "
        "lies between 0 and 6.",
    ),
)
