"""A patch of 4 x 2 outputs of several maps in registers, fed from a tile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.patches import LAB, REGISTERS
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

MAPS, FEWER = 4, 2  # output maps of a patch; FEWER: in one case
ACROSS, DOWN = 20, 8  # patches of a block along both axes
COLUMNS, ROWS = 4, 2  # of a patch
BLOCK_COLUMNS, BLOCK_ROWS = COLUMNS * ACROSS, ROWS * DOWN  # of outputs


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield several channels and maps, ragged tiles, one output alone, many outputs, and fewer maps
    of a patch, in whole tiles side by side.
    """
    height, width = int(rng.integers(24, 38)), int(rng.integers(88, 104))
    yield layer(rng, ConvShape(2, 3, 4, 22, 86, 7))
    yield layer(rng, ConvShape(1, 2, 5, height, width, 7))
    yield layer(rng, ConvShape(1, 1, 1, 7, 7, 7))
    yield layer(rng, ConvShape(1, 1, 2, 276, 269, 7))
    yield layer(rng, ConvShape(1, 1, 3, 40, 166, 7), FEWER)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield an output, a patch, patches of two channels and five maps, two tiles, and fewer maps of
    a patch.
    """
    yield layer(rng, ConvShape(1, 1, 1, 7, 7, 7))
    yield layer(rng, ConvShape(1, 1, 1, 8, 10, 7))
    yield layer(rng, ConvShape(1, 2, 5, 11, 14, 7))
    yield layer(rng, ConvShape(1, 1, 1, 24, 88, 7))
    yield layer(rng, ConvShape(1, 1, 3, 8, 10, 7), FEWER)


def layer(rng: np.random.Generator, shape: ConvShape = layers.LARGE, maps: int = MAPS) -> kit.Case:
    """Return a layer, by default a large one; its sizes are constants of the source."""
    x, filter = layers.draw(rng, shape)
    weights = np.pad(filter.transpose(1, 2, 3, 0), ((0, 0),) * 3 + ((0, -shape.M % maps),))
    tiles = kit.ceil_div(shape.out_h, BLOCK_ROWS) * kit.ceil_div(shape.out_w, BLOCK_COLUMNS)
    sizes = {"CHANNELS": shape.C, "OUTPUT_MAPS": shape.M, "HEIGHT": shape.H, "WIDTH": shape.W}
    return kit.one_launch(
        layers.words(shape),
        {"y": kit.unwritten(shape.y_shape), "x": x},
        (tiles, kit.ceil_div(shape.M, maps), shape.B), (ACROSS, DOWN),
        constants={"filter": weights},
        kinds={"layer": shape},
        facts={"shape": shape, "filter": filter, "maps": maps},
        options=(*(f"-D{name}={value}" for name, value in sizes.items()), f"-DMAPS={maps}"),
        budgeted=(shape.H, shape.W) == (22, 86),
    )


def of_a_filter_row(space: str):
    """Return the lanes of loads for a thread, a channel and a row of the filter."""

    def counted(case: kit.Case, one) -> float:
        shape = case["shape"]
        threads = one.blocks * ACROSS * DOWN
        return one.total("lanes", space, "load") / (threads * shape.C * shape.K)

    return counted


EXERCISE = kit.Exercise(
    name="conv2d_register_2d",
    lab=LAB,
    place=1,
    title="Compute a patch of outputs from registers",
    points=5,
    timed=layer,
    cases=cases,
    small=small,
    reference=layers.convolved,
    counts={"layer": "layers"},
    budgets=(
        kit.Budget(
            "shared loads of a thread per row of the filter",
            of_a_filter_row("shared"),
            20,
            "The patch needs 2 x 10 cells for a row of the filter: copy each to a register once, "
            "before the loops over q and m.",
            least=2,  # three loads of 16 bytes for each of eight rows of cells, in seven rows
        ),
        kit.Budget(
            "weights that a thread loads per row of the filter",
            of_a_filter_row("constant"),
            7 * MAPS,
            "Take a weight once, into a variable, and use it for all eight outputs of the patch.",
        ),
        REGISTERS,
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: (
        BLOCK_COLUMNS * BLOCK_ROWS * min(case["maps"], case["shape"].M)
    ),
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Begin with two loops, h below 2 and i below 10, that copy a cell of the tile to "
        "cell[h][i].",
        "Four loops, from the outside: q below K, m below MAPS, h below 2, w below 4. Between the "
        "second and the third, take the weight.",
        "Output w of a row meets weight q with the cell q columns to its right: cell[h][w + q].",
    ),
)
