"""What goes wrong with several cards: a work that fails on some pieces, and misuses of two cards.

`wrong_card` is the program of one misuse.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers import cards
from helpers.experiments.wrong_card import ANSWER, CASES
from helpers.launch import Launch, Plan

Row = dict[str, Any]

BROKEN = """
extern "C" __global__ void far_away(float *y, const float *x)
{
    y[(1ull << 36) + threadIdx.x] = x[threadIdx.x];
}
"""
TOO_MANY = 70_000  # blocks along y: a grid has 65,535 at most


def failing(work: cards.Work, images: int, *, fault: bool = False) -> cards.Work:
    """Return a work that goes wrong on pieces of so many images: the driver refuses its launch.

    fault: the launch runs, and writes far outside of its arrays.
    """
    grid = (1, 1, 1) if fault else (1, TOO_MANY, 1)

    def plan(count: int) -> Plan:
        if count != images:
            return work.plan(count)
        y, x = (work.arrays(count)[name] for name in (work.y, work.x))
        return (Launch(BROKEN, "far_away", (), grid, (32, 1, 1), arguments=(y, x)),)

    return replace(work, plan=plan)


def misuse() -> Iterator[Row]:
    """Yield what the driver answers to each misuse, each in a process of its own: a fault would end
    all that follow.
    """
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "helpers.experiments.wrong_card", name],
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in CASES
    ]
    for name, process in zip(CASES, running, strict=True):
        said, _ = process.communicate(timeout=120)
        none = f"{ANSWER}none: the process ended with status {process.returncode}"
        (answer,) = [line for line in said.splitlines() if line.startswith(ANSWER)] or [none]
        yield {
            "series": "misuse",
            "case": name,
            "answer": answer.removeprefix(ANSWER),
            "timing": None,
        }


def answers(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what the driver answered, by case."""
    return {row["case"]: row["answer"] for row in rows if row["series"] == "misuse"}


def misuse_table(simulated: Mapping[str, str], measured: Mapping[str, str]) -> str:
    """Return a table of the first words that the simulator and a GPU answer to each misuse."""

    def short(answer: str) -> str:
        return answer.partition(" - ")[0].partition(": kernel")[0][:66]

    lines = []
    for case, answer in simulated.items():
        lines += [
            case,
            f"    simulator  {short(answer)}",
            f"    GPU        {short(measured.get(case, 'not recorded'))}",
        ]
    return "\n".join(lines)
