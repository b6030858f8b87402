"""The loop over products in the kernels of lab 202: its instructions, divisions and look-ups."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers import kernel_cells, kernels, tables
from helpers.experiments.fusion import FAST, FUSED, TILES, WAYS, profiles
from helpers.experiments.im2col_gemm import GEMM, LENET, TILE, useful_share
from helpers.problems import conv2d

if TYPE_CHECKING:
    from helpers.exercises.kit import Exercise
    from helpers.simulator import Profile


@dataclass(frozen=True)
class Loop:
    """The machine instructions of a kernel's loop.

    multiply_adds: FFMA; reciprocals: MUFU.RCP, with which a division by a variable begins.
    """

    instructions: int
    multiply_adds: int
    reciprocals: int


def loop_of(seen: Profile) -> Loop:
    """Return the loop with the most multiply-adds in the machine code of a launch.

    A loop is a group of basic blocks that lead to each other. Raises ValueError if the launch has
    no machine code or no loop.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    code = seen.counts.code if seen.counts else None
    if code is None:
        raise ValueError(f"{seen.kernel} has no machine code: it was stopped at a finding")
    leads = np.zeros((len(code.blocks),) * 2, bool)
    for one, following in enumerate(code.following):
        leads[one, list(following)] = True
    _, groups = connected_components(csr_matrix(leads), connection="strong")
    loops = []
    for group in range(groups.max() + 1):
        (members,) = np.nonzero(groups == group)
        if not leads[np.ix_(members, members)].any():
            continue
        body = [one for member in members for one in code.blocks[member].instructions]
        if len(body) == 1:
            continue  # the jump to itself behind the end of each kernel
        adds = sum(one.root == "FFMA" for one in body)
        loops.append(Loop(len(body), adds, sum(one.opcode == "MUFU.RCP" for one in body)))
    if not loops:
        raise ValueError(f"{seen.kernel} has no loop in its machine code")
    return max(loops, key=lambda loop: loop.multiply_adds)


def operators(kernel: str) -> int:
    """Return how often a kernel's source divides in a pass of its loop, before the barrier."""
    text = re.sub(r"//.*", "", kernels.source(kernel))
    body = text[text.index("for (int first") :]
    return len(re.findall(r"[/%]", body[: body.index("__syncthreads")]))


def loops() -> dict[str, Loop]:
    """Return the loops of gemm_tiled and of both fused kernels, tiles of 16."""
    layer = LENET[0]
    by_launch = {seen.kernel: seen for way in WAYS for seen in profiles(way, layer)}
    return {kernel: loop_of(by_launch[kernel]) for kernel in (GEMM, FUSED, FAST)}


def loop_table() -> str:
    """Return what the loops of the three kernels consist of, in the source and in machine code."""
    head = (
        f"the loop, tiles of {TILE}", "/ and % in\nthe source", "instruc-\ntions",
        "multiply-\nadds", "recip-\nrocals",
    )  # fmt: skip
    rows = [
        (kernel, *map(str, (operators(kernel), *vars(loop).values())))
        for kernel, loop in loops().items()
    ]
    return tables.text(head, rows)


_OF_COLUMN = "            const int h = col / out_w;\n            const int w = col % out_w;\n"
_CONDITION = "        if (i_x < inner && col < cols) {\n"
_BEFORE_LOOP = "    float sum = 0.0f;\n"


def moved_source(before: str) -> str:
    """Return the fused kernel with the divisions by out_w moved in front of a piece of its text.

    Raises ValueError if the source does not contain the divisions, or the piece.
    """
    source = kernels.source(FUSED)
    if _OF_COLUMN not in source or before not in source:
        raise ValueError(f"{FUSED} has no such lines to move: it has changed since")
    without = source.replace(_OF_COLUMN, "")
    return without.replace(before, _OF_COLUMN.replace("            ", "    ") + before, 1)


def moved_loops() -> dict[str, Loop]:
    """Return the loop of the fused kernel by the place where it divides by out_w."""
    places = {
        "inside of the if": kernels.source(FUSED),
        "in the loop, before the if": moved_source(_CONDITION),
        "before the loop": moved_source(_BEFORE_LOOP),
    }
    found = {}
    for place, source in places.items():
        arrays = conv2d.inputs(LENET[0], 1)
        y, (seen,) = conv2d.simulate(FUSED, *arrays, instead={FUSED: (FUSED, source)})
        conv2d.check(y, *arrays, name=place)
        found[place] = loop_of(seen)
    return found


def moved_table() -> str:
    """Return the loops of `moved_loops` as a table."""
    head = ("the source divides by out_w", "instruc-\ntions", "multiply-\nadds", "recip-\nrocals")
    rows = [(place, *map(str, vars(loop).values())) for place, loop in moved_loops().items()]
    return tables.text(head, rows)


def solution_loop(exercise: Exercise) -> Loop:
    """Return the loop of the exercise's own answer, for tiles of 16 and any filter width."""
    cell = kernel_cells.parse(exercise.solution)
    source = f"#define TILE {TILE}\n{cell.source}"
    instead = {FUSED: (cell.kernel, source)}
    _, (seen,) = conv2d.simulate(FUSED, *conv2d.inputs(LENET[0], 1), instead=instead)
    return loop_of(seen)


def lookups(layer: str, tile: int = TILE) -> float:
    """Return how many cells of x the fused kernel looks up for an output, as counted."""
    (seen,) = profiles(FUSED, layer, tile)
    return seen.total("lanes", "global", "load", "x") / conv2d.shape_of(layer, 1).outputs


def lookup_lines() -> str:
    """Return how many divisions the fused kernel's source makes for an output."""
    lines = []
    for layer in LENET:
        cells, terms = lookups(layer), conv2d.LAYERS[layer].terms
        lines.append(
            f"{layer}: {cells:.2f} cells looked up for an output, "
            f"{operators(FUSED) * cells:.0f} divisions for {terms} needed multiplications"
        )
    return "\n".join(lines)


def tile_table() -> str:
    """Return how much padding and how many lookups an output costs, by the width of the tile."""
    head = (
        "for one output", "multiplications,\npadding included", "of them\nneeded",
        "cells\nlooked up",
    )  # fmt: skip
    rows = []
    for layer in LENET:
        for tile in TILES:
            share = useful_share(layer, tile)
            made = f"{conv2d.LAYERS[layer].terms / share:.0f}"
            cells = made, f"{share:.0%}", f"{lookups(layer, tile):.2f}"
            rows.append((f"{layer}, tiles of {tile}", *cells))
    return tables.text(head, rows)
