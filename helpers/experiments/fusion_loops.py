"""The loop over products in the kernels of lab 202: its instructions, divisions and look-ups."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from helpers import kernels, tables
from helpers.experiments.im2col_gemm import GEMM, LENET, TILE
from helpers.problems import conv2d

if TYPE_CHECKING:
    from helpers.simulator import Profile

FUSED, FAST = "conv2d_implicit_gemm", "conv2d_implicit_gemm_fast"


@cache
def profiles(kernel: str, layer: str, tile: int = TILE) -> tuple[Profile, ...]:
    """Return the simulator's counters of each launch on one image of a layer."""
    spec = conv2d.conv2d_named(kernel).with_tile(tile)
    return conv2d.simulate(spec, *conv2d.inputs(layer, 1), checks=False)[1]


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
    by_launch = {
        seen.kernel: seen for way in ("im2col_gemm", FUSED, FAST) for seen in profiles(way, layer)
    }
    return {kernel: loop_of(by_launch[kernel]) for kernel in (GEMM, FUSED, FAST)}


def loop_table() -> str:
    """Return what the loops of the three kernels consist of, in the source and in machine code."""
    head = (
        f"the loop, tiles of {TILE}", "/ and % in\nthe source", "instruc-\ntions",
        "multiply-\nadds", "recip-\nrocals",
    )
    rows = [
        (kernel, *map(str, (operators(kernel), *vars(loop).values())))
        for kernel, loop in loops().items()
    ]
    return tables.text(head, rows)
