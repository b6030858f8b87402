"""The kernels of kernels/rates/ do what the rates are made of, and the record is of them."""

import dataclasses
import json
import re
from functools import cache

import numpy as np
import pytest

from evidence.rates import __main__ as rates
from evidence.rates import kernels as rate_kernels
from helpers import launch, simulator
from helpers.bench import results
from helpers.checking import CheckError
from helpers.simulator import bounds
from helpers.simulator.program import assembly

RECORD = json.loads((results.MEASURED / f"{rates.NAME}.json").read_text())
TURNS = 3
BLOCKS = 2
# Of a turn of the arithmetic. With the 127 that are measured, compiling takes most of the time:
# only FP32 has them here.
STEPS = 31
MEASURED = "arithmetic FP32"


def different() -> dict[str, rate_kernels.Variant]:
    """Of each kernel one variant of each -D, block and resource; the others differ in sizes."""
    shorter = {one.name: one for one in rate_kernels._arithmetic(STEPS)}
    shorter |= {one.name: one for one in rate_kernels._dram(1 << 14, (8,))}
    found = {}
    for one in rate_kernels.variants():
        what = one.kernel, one.options, one.block, tuple(one.asks)
        if one.name == MEASURED or (one.name not in shorter and "DRAM" not in one.name):
            found.setdefault((*what, *one.asks.values()), one)
    return shorter | {one.name: one for one in found.values()}


VARIANTS = different()


def small(one: rate_kernels.Variant) -> rate_kernels.Variant:
    """The variant with few blocks: what a warp asks for is the same."""
    return one if "DRAM" in one.name else dataclasses.replace(one, grid=min(one.grid, BLOCKS))


def run(one: rate_kernels.Variant, source: str = ""):
    """The output and the profile of a few blocks of a variant."""
    few = small(one)
    y = np.zeros(few.cells, few.dtype)
    plan = few.plan(TURNS)
    if source:
        plan = launch.replaced(plan, {few.kernel: (few.kernel, source)})
    arrays = {"y": y} | ({"x": np.ones(few.filled, np.float32)} if few.filled else {})
    (seen,) = launch.simulate(plan, arrays, simulator.profile)
    assert seen.findings == ()
    return few, y, seen


@cache
def run_of(name: str):
    """The run of a variant of the kernel as it stands: two tests look at it."""
    return run(VARIANTS[name])


def checked(few: rate_kernels.Variant, y: np.ndarray, whole: rate_kernels.Variant) -> None:
    """Compare what few blocks have written: their threads' cells, or those of a stride that they
    came to."""
    if few.kernel == "rate_atomics":
        return  # the number of updates of a cell depends on the grid: see below
    if few.cells == whole.grid * whole.block and "DRAM" not in few.name:
        y = y[: few.grid * few.block]
    elif few.kernel == "rate_cache":
        y = y[y != 0]
        few = dataclasses.replace(few, want=lambda turns, want=few.want: want(turns)[:1])
    few.check(y, TURNS)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_kernel_computes_what_its_head_says(name):
    few, y, _ = run_of(name)
    assert y.any()
    checked(few, y, VARIANTS[name])


def test_atomics_add_up():
    names = [name for name in VARIANTS if name.startswith("atomics")]
    assert len(names) == 4  # strides 0, 1, 2, 8
    for name in names:
        few, y, seen = run_of(name)
        updates = few.grid * few.block * 8 * TURNS
        assert y.sum() == updates and seen.global_atomic_requests == updates / 32


def test_a_wrong_output_is_no_rate():
    one = VARIANTS["arithmetic FP32"]
    wrong = rate_kernels.source(one.kernel).replace("return fmaf(a, x, b);", "return a * x;")
    few, y, _ = run(one, wrong)
    with pytest.raises(CheckError):
        checked(few, y, one)


# What the counters of a profile, and its bounds, say of what `asks` says.
COUNTED = {
    "l1": lambda seen: seen.global_load_sectors,
    "l2_read": lambda seen: seen.global_load_sectors,
    "l2_write": lambda seen: seen.global_store_sectors,
    "shared": lambda seen: seen.shared_load_wavefronts + seen.shared_store_wavefronts,
    "constant": lambda seen: seen.constant_load_requests + seen.constant_load_replays,
    "atomics": lambda seen: seen.global_atomic_sectors,
    **{
        name: lambda seen, name=name: seen.counts.asks[name]
        for name in ("fp32", "fp64", "half", "shuffle", "tensor_half", "tensor_tf32", "tensor_fp64",
                     "tensor_int8", "dram_read", "dram_write")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_a_kernel_asks_for_what_is_said(name):
    few, _, seen = run_of(name)
    for resource, amount in few.amounts(1 if "DRAM" in name else TURNS).items():
        if resource == "atomics" and "stride 0" in name:
            continue  # one lane in 32 of the first turns: the simulator lets one update for all
        if resource in COUNTED and not resource.startswith("dram"):
            # Beside its loop a kernel fills its array and writes its sums.
            assert 0.98 * amount <= COUNTED[resource](seen) <= amount + 400, resource
    if "DRAM" in name:
        read, written = (seen.counts.totals[f"sectors_{way}"] for way in ("read", "written"))
        total = sum(few.amounts(1).values())
        moved = {"READ": 32 * read, "WRITE": 32 * written, "COPY": 32 * (read + written)}
        assert moved[few.options[0].partition("=")[2]] == total


@pytest.mark.parametrize(
    ("variant", "opcode", "each"),
    [
        (MEASURED, "FFMA", 127 * 8), ("arithmetic FP64", "DFMA", STEPS * 8),
        ("arithmetic HALF2", "HFMA2", STEPS * 8), ("arithmetic LOGIC", "LOP3", STEPS * 8),
        ("arithmetic ADD", "IADD3", STEPS * 8), ("arithmetic PRODUCT", "IMAD", STEPS * 8),
        ("arithmetic SHIFT", "SHF", STEPS * 8), ("arithmetic MINIMUM", "VIMNMX", STEPS * 8),
        ("arithmetic ROOT", "MUFU", STEPS * 8), ("arithmetic CONVERSION", "F2I", STEPS * 8),
        ("constant, 1 words a request", "LDC", 32), ("shuffle", "SHFL", 15 * 8),
    ],
)  # fmt: skip
def test_ptxas_leaves_every_operation_of_a_loop(variant, opcode, each):
    _, _, seen = run_of(variant)
    listing = assembly.with_lines_of_ptx(seen.counts.kernel.compiled)  # as the counts read it
    if listing is None:
        pytest.skip("nvdisasm is not installed")
    there = len(re.findall(rf"/\*[0-9a-f]{{4,}}\*/\s+(?:@!?U?P\w+\s+)?{opcode}\b", listing))
    assert each <= there <= 1.2 * each + 20


def test_the_record_is_of_these_kernels_and_has_every_resource():
    rows = [row["parameters"] for row in RECORD["measurements"]]
    for row in rows:
        kernel = row["cu_file"].removeprefix("rates/").removesuffix(".cu")
        assert row["sha256"] == rate_kernels.sha256(kernel), row["variant"]
    found = bounds.rates_of(RECORD)
    assert set(found) == set(bounds.RESOURCES)
    assert RECORD["device"]["name"] == "NVIDIA H200"


def test_no_rate_exceeds_what_is_published_and_units_come_close():
    for name, rate in bounds.rates_of(RECORD).items():
        published = bounds.RESOURCES[name].published
        if published is not None:
            assert 0.6 * published <= rate.per_second <= published, name
            if bounds.RESOURCES[name].source.startswith("CUDA"):  # so much a cycle
                assert rate.per_second >= 0.985 * published, name


def test_l1_and_shared_memory_share_a_way():
    """As many passes of one as of the other take as long as all of them in one of the two."""
    best = {
        row["parameters"]["variant"]: row["parameters"]["amount"] / min(row["timing"]["samples"])
        for row in RECORD["measurements"]
        if row["series"] == "l1_data"
    }
    both = best["shared both, 4 floats a lane, stride 1, 1 for one of L1"]
    alone = max(best.values())
    assert 0.95 * alone <= both <= alone


def test_the_table_has_the_published_figure_beside_each_rate():
    text = rates.table(results.load(results.MEASURED / f"{rates.NAME}.json"))
    assert len(text.splitlines()) == 2 + len(bounds.RESOURCES)
    assert "4.8e+12" in text and "data sheet" in text
