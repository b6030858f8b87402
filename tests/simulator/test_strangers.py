"""Kernels as strangers write them: the counters that an H200 or an H100 gave, and the reasons of
those that the simulator counts differently.
"""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from evidence.counters import readings as counter_readings
from helpers import simulator
from helpers.bench import results

sys.path.insert(0, str(Path(__file__).resolve().parent / "counters"))

import stranger_cases
import strangers

LAUNCHES = {launch.label: launch for launch in strangers.LAUNCHES}
# The order of threads decides something of the others.
SETTLED = [label for label, launch in LAUNCHES.items() if not launch.varies]
# The first launch of each kernel. The simulator must not blame it; the others are only counted.
CHECKED = {
    launch.kernel: label for label, launch in reversed(LAUNCHES.items()) if label in SETTLED
}.values()
# They race on purpose: by labels that only fall, and in a warp without barriers, as before Volta.
RACING = {"union_find", "volatile_reduce"}
# It compares a plain char, which is signed for compilers on x86-64, as the record's was.
SIGNED_CHAR = {"records_swap"}
# Their program must give a larger stack than the usual one.
DEEP = {"flood_calls_itself"}


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict]:
    rows = results.load(results.MEASURED / "counters_strangers.json").rows()
    return {row["launch"]: row for row in rows}


def counted(label: str) -> tuple[dict[str, int], dict[str, str]]:
    """The counters of a launch, and the digests of its outputs."""
    launch = LAUNCHES[label]
    arguments = launch.arguments()
    profile = simulator.profile(
        launch.path.read_text(), launch.kernel, *arguments, grid=launch.grid,
        block=launch.block, shared=launch.shared, options=launch.options,
        constants=launch.constants, checks=label in CHECKED,
    )  # fmt: skip
    assert profile.completed
    kinds = {finding.kind for finding in profile.findings}
    expected = {"race"} if label in CHECKED and launch.kernel in RACING else set()
    assert kinds == expected | ({"resources"} if launch.kernel in DEEP else set())
    outputs = launch.outputs(arguments)
    return profile.counters(), {f"sha256 {k}": stranger_cases.digest(a) for k, a in outputs.items()}


def test_the_record_has_every_launch(recorded):
    assert set(recorded) == set(LAUNCHES)
    assert set(strangers.KNOWN) <= set(SETTLED)


@pytest.mark.parametrize("label", SETTLED)
def test_the_counters_and_outputs_are_those_of_the_gpu(recorded, label):
    if LAUNCHES[label].kernel in SIGNED_CHAR and platform.machine() == "aarch64":
        pytest.skip("a plain char is unsigned on 64-bit Arm")
    (found, outputs), row = counted(label), recorded[label]
    assert outputs == {key: value for key, value in row.items() if key.startswith("sha256")}
    known = strangers.KNOWN.get(label, {})
    differ = {name for name in counter_readings.COMPARED if found[name] != row[name]}
    assert differ == set(known), {name: (found[name], row[name]) for name in differ}


ROW = re.compile(r"^ *\| (\w+) \| ([^|]+) \| (\w+) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)


def test_the_readme_has_the_counters_of_recursion_that_differ(recorded):
    text = Path(simulator.__file__).with_name("README.md").read_text(encoding="utf-8")
    table: dict[str, dict[str, tuple[int, int]]] = {}
    for kernel, what, counter, ours, theirs in ROW.findall(text):
        numbers = int(ours.replace(",", "")), int(theirs.replace(",", ""))
        table.setdefault(f"{kernel}, {what}", {})[counter] = numbers
    assert set(table) == {label for label in strangers.KNOWN if "calls_itself" in label}
    for label, rows in table.items():
        found, row = counted(label)[0], recorded[label]
        differ = [name for name in counter_readings.COMPARED if found[name] != row[name]]
        assert rows == {name: (found[name], row[name]) for name in differ}


# ---- the reasons, in numbers ----


def turns_of_rows(label: str) -> np.ndarray:
    """How many elements each row of the sparse matrix has."""
    return np.diff(LAUNCHES[label].arguments()[1])


@pytest.mark.parametrize("label", ["spmv_scalar, 300 x 200", "spmv_scalar, 50 x 60"])
def test_a_thread_a_row_takes_copies_of_16_8_and_4_turns(recorded, label):
    requests = 0
    turns = turns_of_rows(label)
    for warp in (turns[first : first + 32] for first in range(0, len(turns), 32)):
        single, rest = (warp % 4).max(), warp - warp % 4
        of_16, of_8, of_4 = rest // 16, rest % 16 > 4, rest % 16 // 4 % 2
        copies = 16 * of_16.max() + 8 * of_8.any() + 4 * of_4.any()
        requests += 3 + 3 * (single + copies)  # two bounds and y; column, x and value
    assert requests == recorded[label]["global_load_requests"]


@pytest.mark.parametrize("label", ["spmv_vector, 300 x 200", "spmv_vector, 50 x 60"])
def test_a_warp_a_row_takes_copies_of_4_2_and_1_turns(recorded, label):
    requests = 0
    for length in turns_of_rows(label).tolist():
        turns = -(-np.maximum(length - np.arange(32), 0) // 32)
        copies = 4 * (turns // 4).max() + 2 * (turns % 4 > 1).any() + (turns % 2).any()
        requests += 2 + 3 * copies
    assert requests == recorded[label]["global_load_requests"]


@pytest.mark.parametrize(
    ("label", "turns"), [("argmax_rows, 5 x 1000", 7), ("argmax_rows, 3 x 33", 1)]
)
def test_the_best_of_the_warps_is_joined_in_one_turn_of_the_rest(recorded, label, turns):
    whole, rest = divmod(turns, 4)
    loads = 3 * whole + (1 + 2 * (rest - 1) if rest else 0)
    rows = LAUNCHES[label].grid[0]
    assert rows * loads == recorded[label]["shared_load_wavefronts"]
