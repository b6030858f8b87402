"""Lab 303: what a lane gathers, the banks of a pitch, and the floors of a kernel's time."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import plotting, tables
from helpers.bench import layers, loop_code, plan_bounds
from helpers.bench.counts import NOT_YET, Count, Counts
from helpers.launch import Plan
from helpers.limits import BANKS
from helpers.plotting import boxes, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.sources import Kernel
    from helpers.bench.times import Times

WORD_BYTES, HALF_BYTES = 4, 2
STEP = 16  # terms of one product
PRODUCT = "wmma.mma"  # of fragments, of 16 x 16 x 16 or as large

# --------------------------------------------------------------------------------------------------
# What a lane gathers

WIDTH, HEIGHT, K = 10, 6, 3  # of the drawing: its 8 x 4 outputs are those of one warp


def gather_figure(lane: int = 5) -> Figure:
    """Draw a warp's outputs, the cells that one lane gathers, and its column of the matrix."""
    figure, axes = styles.subplots(13, 4.2, columns=3, width_ratios=(10, 8, 20))
    out_w = WIDTH - K + 1
    row, column = divmod(lane, out_w)
    cells, outputs, matrix = axes
    _grid(outputs, HEIGHT - K + 1, out_w)
    for number in range(32):
        _cell(outputs, *divmod(number, out_w), str(number), number == lane)
    named: styles.Look = {"loc": "left", "fontsize": "medium"}  # the frames stay whole
    outputs.set_title("outputs of a warp,\nand the lane of each", **named)
    _grid(cells, HEIGHT, WIDTH)
    for term in range(K * K):
        _cell(cells, row + term // K, column + term % K, str(term), True)
    cells.set_title(f"image: lane {lane} reads the cells\nunder its filter", **named)
    _grid(matrix, STEP, 32)
    for term in range(STEP):
        for other in range(32):
            words = (str(term) if term < K * K else "0") if other == lane else ""
            _cell(matrix, term, other, words, other == lane, empty=term >= K * K)
    rest = STEP - K * K
    terms = f"{K * K} terms and {rest} zeros"
    matrix.set_title(f"a step of X: lane {lane} stores its column, {terms}", **named)
    matrix.set_xlabel("lane, one column each: part 0 left of the line, part 1 right of it")
    matrix.set_ylabel("term")
    matrix.set_xticks([0.5 + one for one in (0, 5, 15, 16, 31)], ["0", "5", "15", "16", "31"])
    matrix.axvline(16, color=styles.INK, linewidth=2)
    title = "Each lane gathers the column of its own output"
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    return figure


def _grid(ax: Axes, rows: int, columns: int) -> None:
    ax.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", xticks=[], yticks=[])
    ax.hlines(range(rows + 1), 0, columns, color="#cccccc", linewidth=0.5)
    ax.vlines(range(columns + 1), 0, rows, color="#cccccc", linewidth=0.5)


def _cell(ax: Axes, row: int, column: int, text: str, lit: bool, empty: bool = False) -> None:
    fill = "#e4e4e4" if empty else styles.LIGHT[1] if lit else "none"
    look: styles.Look = {"facecolor": fill, "edgecolor": "#999999", "linewidth": 0.5}
    boxes.box(ax, column, row, text, words={"fontsize": 7}, **look)


# --------------------------------------------------------------------------------------------------
# Banks


def bank_table(
    first_bank: Callable[[int, int], Any],
    pitches: Sequence[int] = (16, 24, 32, 40, 48),
    *,
    unit: str = "halves",
    unit_bytes: int = HALF_BYTES,
    row: str = "lane",
) -> str:
    """Return the banks in which eight rows of 16 bytes begin, and the wavefronts of 32 of them.

    first_bank: a student's function of the number of a row, and a pitch in units of `unit_bytes`.
    Until it is right, the answer says for which row it is not. row: what the table calls a row.
    """
    rows = []
    for pitch in pitches:
        begins = []
        for number in range(8):
            bank = first_bank(number, pitch)
            if bank is None or bank is ...:
                return NOT_YET
            right = number * pitch * unit_bytes // WORD_BYTES % BANKS
            if bank != right:
                return (
                    f"not yet: what {row} {number} has begins {number * pitch} {unit} of "
                    f"{unit_bytes} bytes behind {row} 0, at a pitch of {pitch}. That is bank "
                    f"{right}, and you say {bank!r}. A bank has {WORD_BYTES} bytes, and there are "
                    f"{BANKS}."
                )
            begins.append(bank)
        rows.append((str(pitch), ", ".join(map(str, begins)), str(_wavefronts(begins))))
    head = (f"pitch, {unit}", f"{row}s 0 to 7 begin in banks", f"wavefronts of\n32 {row}s")
    return tables.text(head, rows, left=(1,))


def _wavefronts(begins: Sequence[int]) -> int:
    """Return the wavefronts of a store of 16 bytes by 32 lanes: by eight lanes, four times."""
    words = np.zeros(BANKS, int)
    for bank in begins:
        words[(bank + np.arange(4)) % BANKS] += 1
    return 4 * int(words.max())


# --------------------------------------------------------------------------------------------------
# Products


def conflict_table(one: Count) -> str:
    """Return the bank conflicts of a kernel by array of shared memory and access, or "yours: not
    yet" where it has not passed.
    """
    if one.kernel.yours and not one.passed:
        return NOT_YET
    conflicts = {
        (row.array, row.access): one.total("conflicts", "shared", row.access, row.array)
        for profile in one.profiles
        for row in profile.lines
        if row.space == "shared"
    }
    head = (f"{one.kernel.title}: array", "access", "conflicts,\nper 32 outputs")
    rows = [(*where, f"{32 * n / one.outputs:.1f}") for where, n in sorted(conflicts.items())]
    return tables.text(head, rows, left=(0, 1))


def product_table(counts: Counts, layer: layers.Layer) -> str:
    """Return how many multiply-adds the tensor cores make, and which part the formula needs."""
    needed = layer.shape.terms * layer.one.outputs
    rows = []
    for one in counts:
        if one.kernel.yours and not one.passed:
            rows.append((counts.not_yet(one), "-", ""))
            continue
        made = STEP**3 * one.executed(PRODUCT)
        rows.append((one.kernel.title, f"{made:,}", f"{needed / made:.0%}"))
    return tables.text((f"{layer.title}, one image", "multiply-adds", "needed"), rows)


# --------------------------------------------------------------------------------------------------
# Floors

DRAM, SHARED, ISSUE, UNITS = "DRAM", "shared memory", "issue slots", "arithmetic units"
MARKS = {DRAM: "o", SHARED: "D", ISSUE: "s", UNITS: "^"}
_RESOURCES = {
    "dram": DRAM,
    "l1_data": SHARED,
    "issue": ISSUE,
    "tensor_half": UNITS,
    "tensor_tf32": UNITS,
    "fp32": UNITS,
}


@functools.cache
def floors(layer: layers.Layer, kernel: Kernel) -> Mapping[str, float]:
    """Return the least ms in which an H200 gives a launch what it asks of each resource.

    The launch is counted in the simulator; the rates are the best that were measured.
    """

    def plan(images: int) -> Plan:
        shape = dataclasses.replace(layer.shape, B=images)
        return dataclasses.replace(layer, shape=shape).plan(kernel)

    last = plan(1)[-1].name
    found = plan_bounds.bounds_of(plan, layer.shape.B, plan_bounds.IMAGES, parts=(last,))
    least = dict.fromkeys(MARKS, 0.0)
    for share in found.shares:
        if (name := _RESOURCES.get(share.resource)) is not None:
            least[name] = max(least[name], share.microseconds / 1e3)
    return least


def highest(least: Mapping[str, float]) -> str:
    """Return the resource of the highest floor among `floors`: one of MARKS."""
    return max(least, key=lambda name: least[name])


def floor_table(times: Times) -> str:
    """Return the floors of each kernel beside its time."""
    lines = []
    for one in times:
        if one.state == NOT_YET:
            lines.append((times.name(one), *["-"] * (len(MARKS) + 2), ""))
            continue
        least = floors(times.problem, one.kernel)
        top = highest(least)
        measured = ("-", "-") if one.ms is None else (f"{one.ms:.2f}", f"{least[top] / one.ms:.0%}")
        values = (f"{least[name]:.2f}" for name in MARKS)
        lines.append((one.kernel.title, *values, *measured, top))
    head = (
        f"{times.problem.title}: ms, at least, for", "DRAM", "shared\nmemory", "issue\nslots",
        "arithmetic\nunits", "measured", "highest over\nmeasured", "highest",
    )
    return tables.text(head, lines, left=(0, 7))


def floor_figure(times: Sequence[Times], title: str) -> Figure:
    """Draw the times of kernels, a picture for each problem, and the floors of each kernel."""
    height = 0.5 * sum(map(len, times)) + 2.4
    figure, axes = styles.subplots(10, height, len(times), sharex=True)
    for ax, one in zip(np.ravel(axes), times, strict=True):
        _draw_floors(ax, one)
    first, last = np.ravel(axes)[0], np.ravel(axes)[-1]
    plotting.style(first, title)
    why = "the kernel cannot be faster than its mark, because of"
    styles.legend_below(figure, first, columns=len(MARKS), title=why)
    plotting.caption(last, times[-1].record)
    return figure


def _draw_floors(ax: Axes, times: Times) -> None:
    plotting.style(ax)
    names = []
    for place, one in enumerate(times):
        names.append(times.name(one))
        if one.ms is not None:
            ax.barh(place, one.ms, 0.7, color=styles.LIGHT[5], edgecolor=styles.INK)
            styles.beside(ax, one.ms, place, f"{one.ms:.2f}")
    passed = {k: one for k, one in enumerate(times) if one.state != NOT_YET}
    for number, (name, marker) in enumerate(MARKS.items()):
        at = [floors(times.problem, one.kernel)[name] for one in passed.values()]
        ax.plot(at, list(passed), marker, color=styles.COLOURS[number], label=name, ms=7)
    styles.name_bars(ax, names)
    ax.set_xlim(0)
    ax.set_xlabel(f"{times.problem.title}: time (ms), {times.problem.where['batch']:,} images")


# --------------------------------------------------------------------------------------------------
# The order of a step, from the machine code

# What is done in a step -> the beginning of the instruction's name in the machine code.
KINDS = {
    "gather a cell (2 bytes)": "LDS.U16",
    "pack two halves into a register": "PRMT",
    "store gathered cells (16 bytes)": "STS.128",
    "load fragments (ldmatrix)": "LDSM",
    "multiply (mma of 16 x 8 x 16)": "HMMA",
}
LETTERS = {"LDS.U16": "g", "STS.128": "S", "LDSM": "F", "HMMA": "M", "WARPSYNC": "|", "NOP": "|"}


def step_table(counts: Sequence[Count], layer: layers.Layer) -> str:
    """Return the instructions of a warp in a step of 16 terms, by kind: the mean of all steps."""
    steps = -(-layer.shape.terms // STEP)
    rows = []
    for one in counts:
        code = [
            instruction.opcode
            for block in loop_code.code_of(one.profile).blocks
            for instruction in block.instructions
        ]
        # Behind the first cell that is gathered, and before the last product, there are only steps.
        cells = [k for k, name in enumerate(code) if name.startswith("LDS.U16")]
        last = max(k for k, name in enumerate(code) if name.startswith("HMMA"))
        inside = code[cells[0] : last + 1]
        each = [sum(name.startswith(kind) for name in inside) / steps for kind in KINDS.values()]
        rows.append((one.kernel.title, *(f"{number:.1f}" for number in each)))
    heads = ("gather\n2 bytes", "pack", "store\n16 bytes", "load\nfragments", "multiply")
    return tables.text((f"{layer.title}, a step", *heads), rows)


def step_order(one: Count) -> str:
    """Return the fourth step's instructions in the order of the machine code, as LETTERS.

    From the fragments of a step to those of the next. In the machine code of ptxas a barrier of a
    warp is a NOP, but for the first one of a kernel.
    """
    text = "".join(
        letter
        for block in loop_code.code_of(one.profile).blocks
        for instruction in block.instructions
        for opcode, letter in LETTERS.items()
        if instruction.opcode.startswith(opcode)
    )
    parts = text[text.index("g") : text.rindex("M") + 1].split("FFF")
    return "FFF" + parts[4]
