"""What exercises must not accept, and what they must: answers that are made from the solutions, so
that no exercise is left out.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from helpers import exercises
from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.exercise import Exercise
from tests import exercises as answers
from tests.exercises import edited, is_right, title, words

pytestmark = pytest.mark.long

ALL = [one for one in map(exercises.find, exercises.names()) if isinstance(one, Exercise)]
# One block, or a fixed number of a few.
ONE_WARP = ("one_mma", "one_ldmatrix", "two_products", "split_sum", "swizzled_fragments")
SMALL = ("squares", "store_rows", "small_product", "wgmma_taps", *ONE_WARP, "fft_back")
# Layers of a drawn shape that a competition keeps small, and one cut into launches.
LAYERS = ("my_rung", "my_entry", "conv2d_chunk")
ONE_ARRAY = ("tile_order",)  # nothing to exchange
GROWING = [one for one in ALL if one.name not in SMALL + LAYERS]
WIDTHS = [one for one in ALL if re.search(r"\bint K\)", one.solution)]
ROUNDED = [one for one in ALL if one.rtol or callable(one.atol) or one.atol]


def with_first_line(one: Exercise, line: str) -> str:
    """The solution with a line at the beginning of its kernel."""
    found = re.search(rf"__global__[^{{]*\b{one.cell_name}\b[^{{]*{{", one.solution)
    assert found is not None
    return f"{one.solution[: found.end()]}\n    {line}{one.solution[found.end() :]}"


# ---- parameters ----


@pytest.mark.parametrize("one", [one for one in ALL if one.name not in ONE_ARRAY], ids=title)
def test_parameters_in_another_order_are_called_so(one):
    array = r"[^,()]+\*[^,()]+"
    order = re.compile(rf"(__global__[^{{]*?\w+\()({array}), ?({array})")
    verdict = one.judge(order.sub(r"\1\3, \2", one.solution, count=1))
    assert verdict.status in ("wrong", "finding", "refused"), verdict
    keep = "Keep the parameters of the stub, in their order."
    assert verdict.hint.endswith(keep), verdict
    if verdict.status == "refused":
        assert verdict.explanation.sentence == f"FAIL: {keep}", "the cause comes first"


# ---- rounding ----


def off_by(one: Exercise, case: Case, share: float) -> dict[str, np.ndarray]:
    """What should come out of a case, but for one value of each output that is off by a share of
    what is allowed for it: that value which a share changes most, in units of its last place.
    """
    atol = one.atol(case) if callable(one.atol) else one.atol
    outputs = {}
    for name, want in one.wanted(case).items():
        made = want.astype(case.arrays[name].dtype)
        size = np.abs(want)
        allowed = atol + one.rtol * size
        place = np.unravel_index(np.argmax(allowed / np.spacing(np.maximum(size, 1))), want.shape)
        made[place] += share * allowed[place]
        outputs[name] = made
    return outputs


def test_exercises_with_a_tolerance_are_known():
    names = ["conv2d_windows", "fft_back", "overlap_add", "split_product", "split_sum"]
    assert sorted(one.name for one in ROUNDED) == names


@pytest.mark.parametrize("one", ROUNDED, ids=title)
def test_an_error_beyond_the_tolerance_does_not_pass(one):
    """One wrong value in one case is enough, and an error within the tolerance is none."""
    seed = 5
    cases, outcomes = one.all_cases(seed), one.run(one.solution, seed)

    def status(share: float) -> str:
        made = dataclasses.replace(outcomes[0], arrays=off_by(one, cases[0], share))
        return one.verdict((made, *outcomes[1:]), seed).status

    assert [status(share) for share in (0.7, 1.5, 9)] == ["pass", "wrong", "wrong"]


# ---- sizes ----


@pytest.mark.parametrize("one", GROWING, ids=title)
def test_a_kernel_for_small_sizes_alone_does_not_pass(one):
    """As `if (n > 2000) return;`, and as an index of 16 bits, which counts to 32,767."""
    blocks, threads = "gridDim.x * gridDim.y * gridDim.z", "blockDim.x * blockDim.y"
    guard = {
        **dict.fromkeys(  # a few blocks, whatever n is
            ("turned_tiles", "copy_async", "copy_bulk", "copy_in_flight"), "if (n > 32767) return;"
        ),
        "tile_order": "if (32 * high * wide > 32767) return;",  # blocks that stay
        "conv2d_windows": "if (B * OUTPUT_MAPS * OUT_H * OUT_W > 32767) return;",  # few blocks
        "conv2d_patch": "if (4 * (H - 6) * (W - 6) > 32767) return;",  # eight outputs a thread
        "conv2d_register_2d": "if ((HEIGHT - 6) * (WIDTH - 6) > 32767) return;",  # eight a thread
        "conv2d_tensor": "if (gridDim.z * OUTPUT_MAPS * OUTPUTS > 32767u) return;",  # 256 threads
    }.get(one.name, f"if ({blocks} > 16383u / ({threads})) return;")
    assert not is_right(one, with_first_line(one, guard))


@pytest.mark.parametrize("name", ["conv1d_edge", "conv1d_symmetric", "add_arrays", "axpy_two"])
def test_an_index_of_16_bits_does_not_pass(name):
    one = exercises.find(name)
    index = re.search(r"(?:const )?int i = ([^;,]*)", one.solution)
    assert index is not None
    short = index[0].replace("int i", "short i")
    assert not is_right(one, one.solution.replace(index[0], short))


@pytest.mark.parametrize("cast", ["(int)(float)", "__float2int_rn", "(unsigned)floorf"])
@pytest.mark.parametrize("name", ["conv1d_edge", "add_arrays"])
def test_an_index_in_a_float_does_not_pass(name, cast):
    """It is exact up to 2^24, and no array of a case is as long."""
    one = exercises.find(name)
    index = re.search(r"(?:const )?int i = ([^;,]*)", one.solution)
    assert index is not None
    found = one.judge(one.solution.replace(index[0], f"const int i = {cast}({index[1]})"))
    assert found.status == "wrong" and "16,777,216" in str(found), found


TILES = {  # by exercise: tiles side by side, rounded up, with one too many where they are whole
    "conv2d_basic": ("blockDim.x - 1)", "blockDim.x)"),
    "unrolled_by_two": ("blockDim.x - 1)", "blockDim.x)"),
    "conv2d_same": ("(W + 15)", "(W + 16)"),
    "conv2d_two": ("(W + 9)", "(W + 10)"),
    "conv_pool": ("(columns + 15)", "(columns + 16)"),
    "conv2d_half": ("blockDim.x - 1)", "blockDim.x)"),
    "conv2d_register_2d": ("OUT_W + 4 * ACROSS - 1", "OUT_W + 4 * ACROSS"),
    **dict.fromkeys(
        ("conv2d_tiled", "conv2d_tiled_maps", "conv2d_channels_tree"),
        ("out_w + TILE_WIDTH - 1", "out_w + TILE_WIDTH"),
    ),
    **dict.fromkeys(
        ("conv2d_constant", "conv2d_chunk", "conv2d_unrolled", "sum_in_y"),
        ("(out_w + 15)", "(out_w + 16)"),
    ),
}


@pytest.mark.parametrize("name", TILES)
def test_a_tile_too_many_does_not_pass(name):
    """It is seen where a row of outputs has whole tiles alone, and there are several rows of them.
    """
    one = exercises.find(name)
    assert not is_right(one, edited(one, TILES[name]))


@pytest.mark.parametrize("one", WIDTHS, ids=title)
def test_a_kernel_for_one_filter_width_does_not_pass(one):
    for width in (3, 5, 7):
        for line in (f"K = {width};", f"if (K != {width}) return;"):
            assert not is_right(one, with_first_line(one, line)), line


# ---- values ----


@pytest.mark.parametrize("least", ["-999.0f", "-1e5f", "-1e6f", "-1e30f", "-1e38f"])
def test_a_number_for_minus_infinity_does_not_pass(least):
    one = exercises.find("block_max")
    assert not is_right(one, edited(one, ("-INFINITY", least)))


@pytest.mark.parametrize("least", ["-FLT_MAX", "-3.402823466e38f", "__int_as_float(0xff800000)"])
def test_the_least_of_all_numbers_is_minus_infinity_enough(least):
    one = exercises.find("block_max")
    text = edited(one, ("-INFINITY", least)).replace("\n", "\n#include <cfloat>\n", 1)
    assert one.judge(text).passed


@pytest.mark.parametrize("most", ["999.0f", "1e6f", "1e30f", "1e38f"])
def test_a_number_for_infinity_does_not_pass(most):
    one = exercises.find("above_lowest")
    assert not is_right(one, edited(one, (": INFINITY", f": {most}")))


# ---- warps ----

SECOND_WARP = """
    const unsigned t = threadIdx.y * blockDim.x + threadIdx.x, all = blockDim.x * blockDim.y;
    if (t >= 32 && t < 64)
        for (unsigned k = t; k < all; k += 32)
            work({names}, make_uint3(blockIdx.x, blockIdx.y, blockIdx.z),
                 make_uint3(k % blockDim.x, k / blockDim.x, 0));
    else if (t < 32)
        work({names}, make_uint3(blockIdx.x, blockIdx.y, blockIdx.z),
             make_uint3(t % blockDim.x, t / blockDim.x, 0));
"""


@pytest.mark.parametrize("name", ["conv1d_edge", "conv1d_symmetric", "add_arrays", "conv2d_same"])
def test_the_second_warp_cannot_do_the_work_of_the_others(name):
    """The first warp does its own part: nothing is seen of the others in it."""
    from tests.course.test_idle_work import rearranged

    one = exercises.find(name)
    found = one.judge(rearranged(one.solution, SECOND_WARP))
    assert found.status == "budget" and "one warp" in words(found), found


def test_lanes_that_happen_to_be_there_are_not_named():
    one = exercises.find("above_lowest")
    found = one.judge(edited(one, ("0xffffffff", "__activemask()")))
    assert found.status == "wrong" and "__activemask()" in str(found)


# ---- tensor cores ----


def test_integers_beside_an_idle_mma_do_not_pass():
    one = exercises.find("two_products")
    text = answers.text(one, "wrong_doubles.cu").replace("double", "int")
    found = one.judge(text)
    assert found.status == "budget" and "tensor cores" in str(found), found


# ---- who asks ----


@pytest.mark.parametrize("asked", ["clock64() >= 0", "(clock() | 1u) != 0u", "__nanotime() > 0"])
@pytest.mark.parametrize("name", ["conv1d_edge", "transpose"])
def test_no_kernel_may_look_at_a_clock(name, asked):
    one = exercises.find(name)
    if "nanotime" in asked:
        line = 'long long at; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(at));'
        found = one.judge(with_first_line(one, f"{line} if (at < 0) return;"))
    else:
        found = one.judge(with_first_line(one, f"if (!({asked})) return;"))
    assert found.status == "wrong" and "when it runs" in words(found), found


# ---- right answers that got half of the points ----


def test_a_table_that_is_only_read_is_no_detour():
    one = exercises.find("conv1d_edge")
    head, body = one.solution.split("\n", 1)
    table = "__device__ const int apart[3] = {-1, 0, 1};\n__device__ int seen;\n"
    text = f"{head}\n{table}{body}".replace("i - 1 + j", "i + apart[(j + (n & 0)) % 3]")
    assert text.count("apart") > 1 and one.judge(text).passed, one.judge(text)
    found = one.judge(text.replace("P[i] = sum;", "P[i] = sum; seen = n;"))
    assert not found.passed


def test_shuffles_of_warps_without_an_output_are_not_counted_against_others():
    one = exercises.find("taps_split")
    text = edited(
        one,
        (
            next(line for line in one.solution.splitlines() if "if (i >= outputs) return" in line),
            "",
        ),
        ("t < taps; t += 32", "i < outputs && t < taps; t += 32"),
        ("if (lane == 0) y", "if (lane == 0 && i < outputs) y"),
    )
    assert one.judge(text).passed, one.judge(text)
