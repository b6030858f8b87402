"""Your own rung of the ladder: fewer load sectors than conv2d_tiled, on both of LeNet's layers."""

from __future__ import annotations

from pathlib import Path

from helpers.exercises import competition, layers
from helpers.exercises.kit import ONE_STORE, Budget, Case, Exercise, Mistake, none_of, right, wrong
from helpers.kernel_cells import KernelCell

SECTORS = {
    "layer 1": 0.363,
    "layer 2": 1.259,
}  # per output, that conv2d_tiled loads; a test counts them again


def fit(case: Case, cell: KernelCell) -> Case:
    """Blocks of 16 x 16 threads, MAPS output maps each."""
    return competition.fitted(case, 16, 1, competition.options(cell, {"MAPS": 1})["MAPS"])


EXERCISE = Exercise(
    name="my_rung",
    lab="500_conv2d_ladder",
    title="Your own rung: fewer sectors than conv2d_tiled",
    folder=Path(__file__).parent,
    timed=competition.large,
    cases=competition.cases,
    fit=fit,
    reference=layers.convolved,
    counts=layers.COUNTS,
    limit_s=20.0,
    budgets=(
        Budget(
            "load sectors per output",
            lambda case, one: one.total("sectors", "global", "load") / case.count,
            lambda case: SECTORS[case["name"]],
            "conv2d_tiled brings each cell of x to shared memory once a block and map. With "
            "several maps a block, and the weights in "
            "shared memory, too, fewer sectors are left.",
        ),
        Budget(
            "shuffles per output and tap",
            lambda case, one: 32 * one.executed("shfl", "redux") / case.count / case["shape"].terms,
            1,
            "An exchange by shuffles for each product costs more than the load that it saves.",
            quiet=True,
        ),
        Budget(
            "accesses to local memory per output and tap",
            lambda case, one: (
                one.total("lanes", "local", "load") / case.count / case["shape"].terms
            ),
            1,
            "Sums that the compiler cannot keep in registers go to memory: unroll the loop over "
            "maps.",
            quiet=True,
        ),
        ONE_STORE,
        none_of("global", "atomic", what="atomics"),
    ),
    mistakes=(
        layers.TURNED,
        competition.LAST_CHANNEL,
        Mistake("The first channel is left out.", gives=layers.without_channel(0)),
        competition.OTHER_SHAPES,
    ),
    findings=competition.FINDINGS,
    hints=(
        "How many cells of x does a block of 16 x 16 outputs need, and how often does the kernel "
        "load them now?",
        "Stage a channel's tile of (15 + K) x (15 + K) cells in shared memory, and the weights "
        "of MAPS maps beside it.",
        "Let each thread keep MAPS sums in registers: one cell from the tile serves all of them. "
        "Two barriers a channel.",
    ),
    right=(
        right("a tile and the weights of four maps"),
        right("eight maps", "solution.cu", ("-DMAPS=4", "-DMAPS=8")),
    ),
    wrong=(
        wrong("the stub", "load sectors per output", file="stub.cu", status="not_begun"),
        wrong(
            "one map a block, no weights staged",
            "load sectors per output",
            file="wrong_one_map.cu",
            status="budget",
        ),
        wrong(
            "no barrier after the sums",
            "barrier",
            ("        __syncthreads();   // not before all have read\n", ""),
            status="finding",
        ),
        wrong(
            "no barrier before the sums",
            "barrier",
            ("        __syncthreads();   // others loaded what is read now\n", ""),
            status="finding",
        ),
        wrong(
            "K = 7 written into the kernel",
            "sizes from the arguments",
            ("int H, int W, int K)\n{", "int H, int W, int)\n{\n    const int K = 7;"),
            status="finding",
        ),
        wrong(
            "no guard of maps",
            "guard",
            ("maps = min(MAPS, M - first)", "maps = MAPS"),
            status="finding",
        ),
        wrong(
            "MAPS that the launch cannot have",
            "must be 1 or more",
            ("-DMAPS=4", "-DMAPS=0"),
            status="refused",
        ),
        wrong("the last channel left out", "last channel", ("c < C", "c < (C > 1 ? C - 1 : C)")),
        wrong(
            "nothing is written",
            "nothing is written",
            (
                "    for (int m = 0; m < maps && inside; ++m)\n        y",
                "    for (int m = 0; m < maps && K < 0; ++m)\n        y",
            ),
        ),
    ),
)
