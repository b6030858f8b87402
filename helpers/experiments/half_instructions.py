"""What a warp executes for one row of a filter, in half precision and in float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from helpers import plotting, tables
from helpers.bench import loop_code, results
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
from helpers.simulator.listing import Instruction

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
    code = loop_code.code_of(profile(kernel, LAYERS[0]))
    most = terms // 2 if kernel == PAIRS else terms
    instructions = loop_code.turn(code, _multiplies, most)
    kinds = {PRODUCTS: _multiplies, LOADS: lambda one: one.root == "LDG", CONVERSIONS: _converts}
    return FilterRow(kernel, terms, loop_code.by_kind(instructions, kinds, OTHERS))


def row_table() -> str:
    """Return what a warp executes for one row of the filter, by kind of instruction."""
    head = ("for one row of the filter", "products\nof a lane", *KINDS, "all", "all,\na product")
    rows = []
    for kernel in KERNELS:
        row = row_of_filter(kernel)
        numbers = (row.terms, *row.counts.values(), row.total)
        rows.append((kernel, *map(str, numbers), f"{row.total / row.terms:.2f}"))
    return tables.text(head, rows)


def over(kernel: str, other: str) -> float:
    """Return a kernel's instructions for one product over those of another kernel."""
    one, two = row_of_filter(kernel), row_of_filter(other)
    return (one.total / one.terms) / (two.total / two.terms)


def counted_by_hardware(layer: str = "layer 1") -> tuple[int, int]:
    """Return the instructions of one warp of conv2d_basic: all of them, by Nsight Compute's record
    of a layer, and those in the rows of the filter."""
    row = results.recorded("112_counters").one(series=BASIC, layer=layer)
    shape = conv2d.shape_of(layer, row["batch"])
    warps = shape.outputs // WARP_SIZE  # layer 1: its tiles have no idle threads
    return round(row["instructions"] / warps), shape.C * shape.K * row_of_filter(BASIC).total


def rows_figure() -> Figure:
    """Draw the instructions for one product of each lane, by kind."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(10, 3.8), layout="constrained")
    looks: Sequence[styles.Look] = (
        {"facecolor": styles.COLOURS[0]},
        {"facecolor": styles.LIGHT[0], "hatch": "////"},
        {"facecolor": styles.COLOURS[1], "hatch": "...."},
        {"facecolor": "white"},
    )
    for place, kernel in enumerate(KERNELS):
        row, left = row_of_filter(kernel), 0.0
        for kind, look in zip(KINDS, looks, strict=True):
            label = kind if place == 0 else None
            ax.barh(
                place, row.each(kind), 0.6, left=left, edgecolor=styles.INK, label=label, **look
            )
            left += row.each(kind)
        styles.beside(ax, left, place, f"{left:.1f}")
    styles.name_bars(ax, KERNELS)
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
            interval = f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
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
