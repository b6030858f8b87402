"""What the simulator counts in the layer on tensor cores: instructions and bank conflicts."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from helpers import limits, plotting, tables
from helpers.experiments import loop_code, ncu
from helpers.experiments.tensor_cores import (
    HALVES,
    LAYERS,
    NO_SKEW,
    ONE_BUFFER,
    TF32,
    VARIANTS,
    WMMA,
)
from helpers.plotting import styles
from helpers.problems import conv2d
from helpers.simulator.bounds.machine_code import Instruction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.simulator import Profile


MULTIPLY = "multiply (mma of 16 x 8 x 16)"
# What is done in each step -> the beginning of the instruction's name in the machine code.
KINDS = {
    "gather a cell (2 bytes)": "LDS.U16",
    "pack two halves into a register": "PRMT",
    "store gathered cells (16 bytes)": "STS.128",
    "load fragments (ldmatrix)": "LDSM",
    MULTIPLY: "HMMA",
}


def _starts(name: str, one: Instruction) -> bool:
    return one.opcode.startswith(name)


@cache
def step(layer: str) -> dict[str, float]:
    """Return a warp's instructions in one step of `HALVES`, by KINDS: the mean over all steps.

    A step has 16 terms of 32 outputs. All steps stand one after the other in the machine code.
    Instructions that a warp executes once for its 32 outputs are left out: what finds the first
    cell before the steps, and what stores the sums behind them.
    """
    code = loop_code.code_of(profile(HALVES, layer))
    steps = VARIANTS[HALVES].depth(conv2d.shape_of(layer, 1)) // 16
    kinds = {name: partial(_starts, opcode) for name, opcode in KINDS.items()}

    def wanted(one: Instruction) -> bool:
        return _starts(KINDS[MULTIPLY], one) or _starts("LDS.U16", one)

    most = sum(wanted(one) for block in code.blocks for one in block.instructions)
    found = loop_code.by_kind(loop_code.turn(code, wanted, most), kinds, "")
    return {name: found[name] / steps for name in KINDS}


def step_figure(layer: str = "layer 2") -> Figure:
    """Draw what a warp executes in one step."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
    counts = step(layer)
    hatches = {name: "" if name == MULTIPLY else "////" for name in counts}
    for place, (name, count) in enumerate(counts.items()):
        color = styles.COLOURS[0] if name == MULTIPLY else styles.LIGHT[0]
        ax.barh(place, count, 0.6, color=color, edgecolor=styles.INK, hatch=hatches[name])
        styles.beside(ax, count, place, f"{count:.1f}")
    styles.name_bars(ax, list(counts))
    ax.set_xlabel("instructions of a warp in one step")
    share = counts[MULTIPLY] / sum(counts.values())
    plotting.style(ax, f"{layer}: {share:.0%} of the instructions in a step multiply")
    return figure


@cache
def profile(variant: str, layer: str) -> Profile:
    """Return the profile of a variant for one image."""
    x, filter = conv2d.inputs(layer, 1)
    return conv2d.simulate(VARIANTS[variant], x, filter, checks=False)[1][0]


# What `order` calls an instruction: a cell is gathered (g), gathered cells are stored (S),
# fragments are loaded (F) and multiplied (M), lanes wait for each other (|).
LETTERS = {"LDS.U16": "g", "STS.128": "S", "LDSM": "F", "HMMA": "M", "WARPSYNC": "|", "NOP": "|"}


def order(variant: str, layer: str) -> str:
    """Return the instructions of a warp's steps in the order of the machine code, as LETTERS.

    It begins with the first cell of the first step and ends with the last product. In the machine
    code of ptxas a barrier of a warp is a NOP, but for the first one of a kernel.
    """
    found = [
        letter
        for block in loop_code.code_of(profile(variant, layer)).blocks
        for one in block.instructions
        for opcode, letter in LETTERS.items()
        if _starts(opcode, one)
    ]
    text = "".join(found)
    return text[text.index("g") : text.rindex("M") + 1]


def step_order(variant: str, layer: str, step: int = 4) -> str:
    """Return the part of `order` from the fragments of a step to those of the next step."""
    parts = order(variant, layer).split("FFF")
    return "FFF" + parts[step]


def shared_table() -> str:
    """Return requests to shared memory and conflicts for one image, and what a block takes.

    The last column is what shared memory alone allows: registers may allow fewer blocks.
    """
    head = (
        "one image", "load\nrequests", "\nconflicts", "store\nrequests", "\nconflicts",
        "bytes of\na block", "blocks that\nthis allows",
    )  # fmt: skip
    lines = []
    for layer in LAYERS:
        for variant in (HALVES, NO_SKEW, ONE_BUFFER, TF32):
            seen = profile(variant, layer)
            counts = (
                seen.shared_load_requests, seen.shared_load_conflicts,
                seen.shared_store_requests, seen.shared_store_conflicts,
                VARIANTS[variant].shared(conv2d.shape_of(layer, 1)),
            )  # fmt: skip
            each = counts[-1] + limits.RESERVED_SHARED_BYTES
            fit = limits.MULTIPROCESSOR_SHARED_BYTES // each
            lines.append((f"{layer}, {variant}", *(f"{n:,}" for n in counts), str(fit)))
    return tables.text(head, lines)


def shared_beside(layer: str) -> str:
    """Return the counters of shared memory of `HALVES` beside those that Nsight Compute read."""
    return ncu.beside(profile(HALVES, layer), f"{WMMA}, {layer}", ncu.SHARED, f"metric, {layer}")


def stored(seen: Profile) -> int:
    """Return the number, from 1, of the watched warp's first store of 16 bytes to shared memory."""
    stores = [
        one for one in seen.requests
        if (one.array, one.kind, one.space) == ("memory", "store", "shared")
    ]  # fmt: skip
    return 1 + next(n for n, one in enumerate(stores) if one.size == 16)


def banks_figure(layer: str = "layer 2") -> Figure:
    """Draw the banks that one store of gathered cells asks, without and with the skew."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(14, 6), layout="constrained")
    for ax, variant in zip(axes, (NO_SKEW, HALVES), strict=True):
        seen = profile(variant, layer)
        words = "no skew" if variant == NO_SKEW else "a skew of 16 bytes"
        lost = seen.shared_store_conflicts
        plotting.bank_conflicts(
            ax, seen, array="memory", kind="store", request=stored(seen),
            title=f"{words}: {lost:,} wavefronts of an image are lost to conflicts",
        )  # fmt: skip
    return figure
