"""Warp operations in the simulator: their values, and what it says where lanes do not meet."""

import instances
import numpy as np
import pytest
from instances import ONE_WARP, Kernels, only

from helpers import simulator
from helpers.simulator.launch.launch import launch
from helpers.simulator.machine import memory
from helpers.simulator.machine.faults import LaunchFault
from helpers.simulator.program.module import load


def kernel(body: str, parameters: str = "int* y", before: str = "") -> str:
    return instances.kernel(f"int lane = threadIdx.x % 32;\n{body}", parameters, before)


def run(
    body: str,
    n: int = 32,
    dtype=np.int32,
    parameters: str = "int* y",
    before: str = "",
    block: int | None = None,
):
    y = np.full(n, 77, dtype)
    findings = simulator.check(
        kernel(body, parameters, before), "k", y, grid=(1,), block=(block or n,)
    )
    return y, findings


# ---- values ----

LANES = np.arange(32)


OPERATIONS = {
    "__shfl_sync(~0u, 10 * lane, 3)": np.full(32, 30),
    "__shfl_sync(~0u, 10 * lane, 35)": np.full(32, 30),  # the source counts modulo the width
    "__shfl_sync(~0u, 10 * lane, 3, 8)": 10 * (LANES // 8 * 8 + 3),
    "__shfl_up_sync(~0u, lane, 4)": np.where(LANES < 4, LANES, LANES - 4),
    "__shfl_up_sync(~0u, lane, 4, 16)": np.where(LANES % 16 < 4, LANES, LANES - 4),
    "__shfl_down_sync(~0u, lane, 4)": np.where(LANES > 27, LANES, LANES + 4),
    "__shfl_down_sync(~0u, lane, 4, 8)": np.where(LANES % 8 > 3, LANES, LANES + 4),
    "__shfl_xor_sync(~0u, lane, 5)": LANES ^ 5,
    # Later segments cannot be read.
    "__shfl_xor_sync(~0u, lane, 16, 16)": np.where(LANES < 16, LANES, LANES ^ 16),
    "__ballot_sync(~0u, lane % 3 == 0)": np.full(32, sum(1 << k for k in range(0, 32, 3))),
    "__any_sync(~0u, lane == 31)": np.ones(32),
    "__any_sync(~0u, lane == 32)": np.zeros(32),
    "__all_sync(~0u, lane < 32)": np.ones(32),
    "__all_sync(~0u, lane < 31)": np.zeros(32),
    "__popc(__match_any_sync(~0u, lane / 10))": np.where(LANES < 30, 10, 2),
    "__reduce_add_sync(~0u, lane)": np.full(32, 496),
    "__reduce_max_sync(~0u, -lane)": np.zeros(32),
    "__reduce_min_sync(~0u, -lane)": np.full(32, -31),
    "__reduce_xor_sync(~0u, (unsigned) lane)": np.zeros(32),
}
OPERATING = Kernels(
    [f"int lane = threadIdx.x;\ny[lane] = {expression};" for expression in OPERATIONS], "int* y"
)


@pytest.mark.parametrize(("expression", "want"), OPERATIONS.items())
def test_warp_operations_give_what_a_gpu_gives(expression, want):
    y = np.full(32, 77, np.int32)
    source, name = OPERATING.of(f"int lane = threadIdx.x;\ny[lane] = {expression};")
    assert simulator.check(source, name, y, **ONE_WARP) == ()
    np.testing.assert_array_equal(y, np.asarray(want, np.int64).astype(np.uint32).view(np.int32))


@pytest.mark.parametrize(
    ("c_type", "dtype"),
    [
        ("float", np.float32),
        ("double", np.float64),
        (("long long"), np.int64),
        ("unsigned", np.uint32),
    ],
)
def test_shuffles_take_every_type(c_type, dtype):
    body = f"{c_type} v = lane * 3;\ny[lane] = __shfl_xor_sync(0xffffffff, v, 1);"
    y, findings = run(body, dtype=dtype, parameters=f"{c_type}* y")
    assert findings == ()
    np.testing.assert_array_equal(y, (LANES ^ 1) * 3)


def test_two_halves_of_a_warp_may_shuffle_apart():
    body = (
        "unsigned mask = lane < 16 ? 0x0000ffff : 0xffff0000;\nint v = lane;\n"
        "if (lane < 16) v = __shfl_sync(mask, v, 5);\nelse v = __shfl_sync(mask, v, 20);\n"
        "y[lane] = v;"
    )
    y, findings = run(body)
    assert findings == ()
    np.testing.assert_array_equal(y, np.where(LANES < 16, 5, 20))


def test_activemask_names_the_lanes_of_the_branch():
    body = "unsigned m = 0;\nif (lane % 4 == 1) m = __activemask();\ny[lane] = m;"
    y, findings = run(body)
    assert findings == ()
    np.testing.assert_array_equal(y, np.where(LANES % 4 == 1, 0x22222222, 0))


def test_a_partial_last_warp_may_sync_with_the_full_mask():
    y, findings = run("__syncwarp();\ny[threadIdx.x] = lane;", n=40)
    assert findings == ()
    np.testing.assert_array_equal(y, np.arange(40) % 32)


# ---- order ----

def test_a_shuffle_does_not_order_memory():
    body = (
        "__shared__ int s[32];\ns[lane] = lane;\nint v = __shfl_sync(~0u, lane, 0);\n"
        "y[lane] = s[31 - lane];"
    )
    _, findings = run(body)
    assert findings[0].kind == "race"


def test_syncwarp_of_half_a_warp_orders_that_half_only():
    body = (
        "__shared__ int s[32];\ns[lane] = lane;\n__syncwarp(lane < 16 ? 0xffff : "
        "0xffff0000);\ny[lane] = s[{}];"
    )
    assert run(body.format("lane ^ 1"))[1] == ()
    assert run(body.format("lane ^ 16"))[1][0].kind == "race"


def test_reads_that_a_syncwarp_has_settled_do_not_race_with_their_readers_write():
    body = (
        "__shared__ int s[1];\nif (lane == 0) s[0] = 5;\n__syncwarp();\nint v = s[0];\n"
        "__syncwarp();\nif (lane == 9) { s[0] = s[0] + 1; }\ny[lane] = v;"
    )
    y, findings = run(body)
    assert findings == ()
    np.testing.assert_array_equal(y, 5)


# ---- findings ----


def test_a_shuffle_from_a_lane_that_does_not_exist():
    body = "int v = 1;\nv += __shfl_down_sync(0xffffffff, v, 4);\ny[lane] = v;"
    finding = only(run(body, n=20)[1], kind="shuffle", severity="error", line=5, thread=(16, 0, 0))
    assert finding.count == 4
    assert "reads the value of lane 20, which takes no part in this shuffle" in finding.message
    assert "neutral value" in finding.cause


def test_a_shuffle_from_a_lane_outside_its_mask():
    body = "int v = lane;\nif (lane < 8) v = __shfl_sync(0xff, v, 12);\ny[lane] = v;"
    only(run(body)[1], kind="shuffle", line=5, count=8)


TAIL = """
{type} v = lane < 20 ? ({type}) y[lane] : ({type}) 0;
const unsigned mask = __ballot_sync(0xffffffff, lane < 20);
if (lane < 20) {{
    for (int step = 16; step > 0; step /= 2) {{
        const {type} w = __shfl_down_sync(mask, v, step);
        {use}
    }}
    if (lane == 0) y[0] = (int) v;
}}
"""


@pytest.mark.parametrize("type", ["int", "unsigned", "float", "double"])
@pytest.mark.parametrize("use", ["if (lane + step < 20) v += w;", "v += lane + step < 20 ? w : 0;"])
def test_a_value_from_no_lane_that_is_thrown_away_is_no_fault(type, use):
    y, findings = run(TAIL.format(type=type, use=use))
    assert findings == () and y[0] == 20 * 77


@pytest.mark.parametrize("type", ["int", "unsigned", "float", "double"])
@pytest.mark.parametrize("use", ["v += w;", "v = v > w ? v : w;", "if (w > 0) v += w;"])
def test_a_value_from_no_lane_that_is_used_is_a_fault(type, use):
    only(run(TAIL.format(type=type, use=use))[1], kind="shuffle", line=9)


def test_a_mask_that_does_not_name_its_caller():
    finding = only(run("y[lane] = __shfl_sync(0xffff, lane, 0);")[1])
    assert (finding.kind, finding.line, finding.thread) == ("mask", 4, (16, 0, 0))
    assert "mask 0x0000ffff, which does not name it" in finding.message


def test_a_full_mask_inside_a_branch():
    body = (
        "int v = lane;\nif (lane < 16)\n v += __shfl_down_sync(0xffffffff, v, "
        "8);\n__syncthreads();\ny[lane] = v;"
    )
    finding = only(run(body)[1], kind="mask", severity="error", line=6, other_line=7)
    assert (
        "thread (16, 0, 0) among them, which waits at the __syncthreads() in line 7"
        in finding.message
    )


def test_a_full_mask_inside_a_branch_that_the_others_leave_by_returning():
    body = "int v = lane;\nif (lane < 16)\n v += __shfl_xor_sync(0xffffffff, v, 8);\ny[lane] = v;"
    finding = only(run(body)[1], kind="mask", severity="warning", line=6)
    assert "thread (16, 0, 0): it has reached the kernel's end without" in finding.message


def test_masks_that_differ_between_the_lanes_that_they_name():
    body = (
        "int v = lane;\nif (lane < 16)\n v = __shfl_sync(0xffffffff, v, 0);\nelse\n"
        " v = __shfl_sync(0xffff0000, v, 16);\n__syncthreads();\ny[lane] = v;"
    )
    only(run(body)[1], kind="mask", line=6)


def test_lanes_that_wait_for_each_other_for_ever():
    body = "if (lane < 16) __syncwarp();\nelse\n __syncthreads();\ny[lane] = 1;"
    finding = only(run(body)[1], kind="barrier", severity="error", line=4, other_line=6)
    assert "They wait for each other for ever" in finding.cause
    body = (
        "int v = 0;\nif (lane < 16)\n __syncwarp();\nelse\n v = __shfl_sync(~0u, lane, "
        "3);\ny[lane] = v;"
    )
    finding = only(run(body)[1])
    assert (finding.kind, {finding.line, finding.other_line}) == ("barrier", {6, 8})


def test_the_launch_that_follows_a_deadlock_works():
    assert run("if (lane < 16) __syncwarp();\nelse __syncthreads();")[1][0].kind == "barrier"
    y, findings = run("y[lane] = __shfl_sync(~0u, lane, 3);")
    assert findings == ()
    np.testing.assert_array_equal(y, 3)


# ---- printf, assert, clock64 ----


def test_printf_is_written_by_python_after_the_launch(capsys):
    run('if (lane % 16 == 0) printf("lane %d of %s: %.2f\\n", lane, "warp", lane * 0.5f);')
    assert capsys.readouterr().out == "lane 0 of warp: 0.00\nlane 16 of warp: 8.00\n"


def test_printf_of_a_launch_that_is_stopped_is_written_too(capsys):
    _, findings = run('printf("before\\n");\ny[lane + 32] = 1;')
    assert findings[0].kind == "out-of-bounds"
    assert capsys.readouterr().out == "before\n" * 32  # a warp's lanes print together


@pytest.mark.parametrize("header", ["", "#include <assert.h>", "#include <cassert>"])
def test_a_failed_assertion_is_a_finding_with_its_line(header):
    finding = only(run("assert(lane < 7);\ny[lane] = 1;", before=header)[1])
    assert (finding.kind, finding.thread, finding.line) == ("assert", (7, 0, 0), 4)
    assert "lane < 7" in finding.message


def test_assertions_that_hold_and_those_switched_off():
    assert run("assert(lane < 32);")[1] == ()
    assert run("assert(lane < 7);", before="#define NDEBUG\n#include <assert.h>")[1] == ()


def test_clock64_counts_and_is_no_time():
    y, findings = run("long long a = clock64();\nlong long b = clock64();\ny[lane] = b > a;")
    assert findings == ()
    np.testing.assert_array_equal(y, 1)


def test_a_fatal_warp_finding_raises_at_a_launch():
    module = load(kernel("if (lane < 16) __syncwarp();\nelse __syncthreads();"))
    address = memory.allocate(128)
    with pytest.raises(LaunchFault, match="wait for each other"):
        launch(module.kernels["k"], address.to_bytes(8, "little"), (1,), (32,))
    memory.free(address)
