"""What a warp executes for one row of a filter, in half precision and in float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from helpers import plotting, tables
from helpers.bench import loop_code, results
from helpers.bench.counts import Count, Counts
from helpers.bench.ratios import Ratio
from helpers.experiments.half_precision import (
    BASIC,
    HALF,
    INSIDE,
    KERNELS,
    LAYERS,
    PAIRED,
    PAIRS,
    PATCH,
    WARP_SIZE,
    profile,
)
from helpers.plotting import styles
from helpers.problems import conv2d
from helpers.simulator import Profile
from helpers.simulator.ptx.listing import Instruction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

FILTER_WIDTH = 7

LOADS, PRODUCTS, CONVERSIONS, OTHERS = "loads", "multiply-adds", "conversions", "everything else"
KINDS = (PRODUCTS, LOADS, CONVERSIONS, OTHERS)


def _multiplies(one: Instruction) -> bool:
    # ptxas sets a register to 0 by an HFMA2 of zeros.
    return one.root in ("FFMA", "HFMA2") and not one.operands.partition(", ")[2].startswith("-RZ")


def _converts(one: Instruction) -> bool:
    # F2FP rounds two floats to halves; HADD2.F32 widens a half to a float (it adds it to -0).
    return one.root == "F2FP" or one.opcode.startswith("HADD2.F32")


@dataclass(frozen=True)
class FilterRow:
    """What a warp executes for one row of a filter: instructions by KINDS.

    terms: products of each lane, so that of pairs an instruction makes two.
    """

    kernel: str
    terms: int
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """All instructions."""
        return sum(self.counts.values())

    def each(self, kind: str) -> float:
        """Return the instructions of a kind for one product of each lane."""
        return self.counts[kind] / self.terms


@cache
def row_of_filter(kernel: str) -> FilterRow:
    """Return the instructions of a kernel for one row of 7 weights, in the installed machine code.

    Both layers have the same code. Raises ValueError where there is no machine code.
    """
    spec = conv2d.conv2d_named(kernel)
    outputs = 1 if kernel in (BASIC, INSIDE, HALF) else spec.tile[0] // 16 * spec.tile[2]
    terms = FILTER_WIDTH * outputs
    most = terms // 2 if kernel == PAIRS else terms
    return _row(kernel, profile(kernel, LAYERS[0]), most)


def _row(label: str, counted: Profile, most: int) -> FilterRow:
    """Return the instructions for one row. most: multiply-adds that a warp executes for it."""
    turn = loop_code.turn(loop_code.code_of(counted), _multiplies, most)
    terms = sum(2 if one.root == "HFMA2" else 1 for one in turn if _multiplies(one))
    kinds = {PRODUCTS: _multiplies, LOADS: lambda one: one.root == "LDG", CONVERSIONS: _converts}
    return FilterRow(label, terms, loop_code.by_kind(turn, kinds, OTHERS))


def _own_row(one: Count) -> FilterRow | None:
    """Return the row of a kernel with 7 multiply-adds for each row of the filter.

    None for code without a loop over such rows.
    """
    try:
        return _row(one.kernel.title, one.profile, FILTER_WIDTH)
    except ValueError:
        return None


def row_table(own: Counts) -> str:
    """Return what a warp executes for one row of the filter, by kind of instruction.

    own: counts of kernels with 7 multiply-adds for each row of the filter, such as a student's,
    which stand below ours.
    """
    head = ("for one row of the filter", "products\nof a lane", *KINDS, "all", "all,\na product")
    rows: list[tuple[str, ...]] = []
    for name, row in _every_row(own):
        if row is None:
            rows.append((name, *["-"] * (len(head) - 1)))
            continue
        numbers = (row.terms, *row.counts.values(), row.total)
        rows.append((name, *map(str, numbers), f"{row.total / row.terms:.2f}"))
    return tables.text(head, rows)


def _every_row(own: Counts) -> list[tuple[str, FilterRow | None]]:
    """Return the rows of ours and of `own` by name; None for one without a row."""
    rows: list[tuple[str, FilterRow | None]] = [(name, row_of_filter(name)) for name in KERNELS]
    for one in own:
        is_missing = one.kernel.yours and not one.passed
        name = own.not_yet(one) if is_missing else one.kernel.title
        rows.append((name, None if is_missing else _own_row(one)))
    return rows


def over(kernel: str, other: str) -> float:
    """Return a kernel's instructions for one product over those of another kernel."""
    one, two = row_of_filter(kernel), row_of_filter(other)
    return (one.total / one.terms) / (two.total / two.terms)


def counted_by_hardware() -> tuple[int, int]:
    """Return the instructions of one warp of conv2d_basic: all of them, by Nsight Compute's record
    of layer 1, and those in the rows of the filter."""
    row = results.recorded("112_counters").one(series=BASIC, layer=LAYERS[0])
    shape = conv2d.shape_of(LAYERS[0], row["batch"])
    warps = shape.outputs // WARP_SIZE  # the tiles of layer 1 have no idle threads
    return round(row["instructions"] / warps), shape.C * shape.K * row_of_filter(BASIC).total


def rows_figure(own: Counts) -> Figure:
    """Draw the instructions for one product of each lane, by kind. own: as for `row_table`."""
    figure, ax = styles.subplots(10, 3.4 + 0.4 * len(own))
    looks: Sequence[styles.Look] = (
        {"facecolor": styles.COLOURS[0]},
        {"facecolor": styles.LIGHT[0], "hatch": "////"},
        {"facecolor": styles.COLOURS[1], "hatch": "...."},
        {"facecolor": "white"},
    )
    every = _every_row(own)
    for place, (_, row) in enumerate(every):
        if row is None:
            continue
        left = 0.0
        for kind, look in zip(KINDS, looks, strict=True):
            label = kind if place == 0 else None
            ax.barh(
                place, row.each(kind), 0.6, left=left, edgecolor=styles.INK, label=label, **look
            )
            left += row.each(kind)
        styles.beside(ax, left, place, f"{left:.1f}")
    styles.name_bars(ax, [name for name, _ in every])
    ax.set_xlabel("instructions of a warp for one product of each lane")
    plotting.style(
        ax,
        f"Converting inside takes {over(INSIDE, BASIC):.2f} times the instructions of {BASIC}, "
        f"pairs {over(PAIRS, PATCH):.2f} times those of {PATCH}",
    )
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


def ratio_table(record: Record) -> str:
    """Return the measured ratios with their intervals, beside the ratios of instructions."""
    lines = []
    for kernel, part, other in PAIRED:
        for layer in LAYERS:
            row = record.one(series=kernel, part=part, layer=layer, over=other)
            _, interval, _ = Ratio.of_row(row, other).row()
            executed = f"{over(kernel, other):.2f}" if part != "whole" or kernel == INSIDE else ""
            lines.append((f"{layer}, {kernel}, {part}", interval, executed))
    head = ("over float32", "time (95 % interval)", "instructions,\na product")
    return tables.text(head, lines)


def whole_warp(kernel: str) -> int:
    """Return the instructions of one warp of layer 1, for a kernel of conv2d_basic's form.

    The rows of the filter are those of the kernel's code. Before and after them, the kernel does
    what conv2d_basic does, and Nsight Compute counted that.
    """
    everything, in_rows = counted_by_hardware()
    return everything - in_rows + FILTER_WIDTH * row_of_filter(kernel).total
