"""Bounds: by hand for tiny kernels, never lower for more work, and no work goes out of sight."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator
from helpers.simulator import bounds
from helpers.simulator.bounds import Rate, Rates, machine_code
from helpers.simulator.bounds.machine_code import Anchor

# Round rates, so that a bound is reckoned in the head: of all 132 multiprocessors together.
PER_SECOND = 132e9
ROUND = Rates(
    "toy", 132, 0, {name: Rate(name, PER_SECOND, "made up") for name in bounds.RESOURCES}
)


@pytest.fixture
def toy(monkeypatch):
    """A device that gives as much of every resource, and has no L2 cache to keep anything."""
    monkeypatch.setattr(bounds, "rates", lambda device: ROUND)


INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


def profile(
    body: str, *args, blocks: int = 132, threads: int = 128, before: str = "",
    among: Sequence[str] = (), **how,
):  # fmt: skip
    """`body` in a kernel of these arguments. `among`: bodies for the same arguments, which are
    compiled and disassembled together.
    """
    text = ", ".join(
        f"{'float*' if isinstance(one, np.ndarray) and one.dtype == np.float32 else 'int*'} p{k}"
        if isinstance(one, np.ndarray)
        else f"{'int' if isinstance(one, np.int32) else 'float'} p{k}"
        for k, one in enumerate(args)
    )
    head = f'{before}\nextern "C" __global__ void tiny({text})'
    source, name = f"{head}\n{{\n{INDEX}{body}\n}}", "tiny"
    if among:
        source, name = Kernels([INDEX + one for one in among], text, before).of(INDEX + body)
    found = simulator.profile(source, name, *args, grid=(blocks,), block=(threads,), **how)
    assert found.findings == ()
    return found


def asked(found, resource: str) -> float:
    return found.bounds("toy").share(resource).amount


def zeros(blocks: int = 132, threads: int = 128) -> np.ndarray:
    return np.zeros(blocks * threads, np.float32)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


@pytest.fixture(scope="module")
def copied():
    """A copy of one cell a thread, by a block for each multiprocessor."""
    return profile("p0[i] = p1[i];", zeros(), random(132 * 128))


# ---- by hand ----

OF_TWO_ARRAYS = {
    "reads twice": "p0[i] = p1[i] + p1[i ^ 64];",
    "reads what it wrote": "p0[i] = i; __syncthreads(); p1[i] = p0[i ^ 64];",
    "leaves gaps": "p0[8 * i] = p1[8 * i];",
    "reads at two places": "p0[i] = p1[i] * p1[i / 2];",
}


def of_two_arrays(name: str, *arrays: np.ndarray, **how):
    return profile(OF_TWO_ARRAYS[name], *arrays, among=[*OF_TWO_ARRAYS.values()], **how)


def test_a_copy_asks_for_each_sector_once(toy, copied):
    n = 132 * 128
    found = copied.bounds("toy")
    assert found.share("dram").amount == 4 * n + 4 * n
    assert found.share("dram").microseconds == pytest.approx(1e6 * 8 * n / PER_SECOND)
    assert found.share("l2_read").amount == n / 8 == found.share("l2_write").amount
    assert found.share("l1_data").amount == n / 32
    assert found.share("l1").amount == n / 8
    assert found.share("lsu").amount == 2 * n / 32
    assert found.share("blocks").amount == 132 and found.share("warps").amount == n / 32
    # The bytes are the most of these numbers, and all rates are alike.
    assert found.resource == "dram" and found.microseconds == found.share("dram").microseconds


def test_sectors_that_are_read_again_count_once_for_dram_and_each_time_for_l1(toy):
    n = 132 * 128
    found = of_two_arrays("reads twice", zeros(), random(n)).bounds("toy")
    assert found.share("dram").amount == 8 * n
    assert found.share("l1").amount == 2 * n / 8


def test_what_a_launch_has_written_itself_is_not_read_from_dram(toy):
    n = 132 * 128
    seen = of_two_arrays("reads what it wrote", zeros(), zeros())
    assert seen.bounds("toy").share("dram").amount == 4 * n + 4 * n  # both arrays are written


def test_a_half_used_sector_counts_whole(toy):
    found = of_two_arrays("leaves gaps", zeros(8 * 132), random(8 * 132 * 128))
    assert asked(found, "dram") == 2 * 32 * 132 * 128


def test_l2_may_keep_what_fits(monkeypatch, copied):
    monkeypatch.setattr(bounds, "rates", lambda device: replace(ROUND, l2_bytes=30_000))
    n = 132 * 128
    assert copied.bounds("toy").share("dram").amount == 8 * n - 30_000
    assert copied.bounds("toy", cache="hot").share("dram").amount == 8 * n - 60_000
    with pytest.raises(ValueError, match="cold, hot"):
        copied.bounds("toy", cache="warm")


def test_bank_conflicts_count_as_wavefronts(toy):
    body = "__shared__ float s[4096]; s[threadIdx.x * {0}] = i; __syncwarp();"
    body += "p0[i] = s[threadIdx.x * {0}];"
    both = [body.format(stride) for stride in (1, 8)]
    plain, strided = (profile(each, zeros(), among=both) for each in both)
    warps = 132 * 4
    assert asked(strided, "shared") == 8 * asked(plain, "shared")
    assert asked(plain, "shared") in (warps, 2 * warps)  # ptxas may keep its own cell in a register


def test_shuffles_count(toy):
    body = "float x = i; for (int k = 0; k < p1; ++k) x = __shfl_xor_sync(~0u, x, k & 31);"
    body += "p0[i] = x;"
    seen = profile(body, zeros(), np.int32(12))
    assert asked(seen, "shuffle") == pytest.approx(12 * 132 * 4, rel=1e-4)


def test_atomics_count_by_turns(toy):
    warps = 132 * 4
    both = "atomicAdd(&p0[i], 1.0f);", "atomicAdd(&p0[0], p1[i]);"
    apart, together = (profile(each, zeros(), random(132 * 128), among=both) for each in both)
    assert asked(apart, "atomics") == 4 * warps  # 32 words are 4 sectors
    assert asked(together, "atomics") == 32 * warps  # 32 turns
    assert asked(apart, "dram") == 2 * 4 * 132 * 128  # each word is read and written


def test_constants_count_by_words(toy):
    before = "__constant__ float table[64];"
    values = {"table": np.arange(64, dtype=np.float32)}
    lanes = np.arange(132 * 128, dtype=np.int32)
    body = "p0[i] = table[p1[i] & {}];"
    bodies = [*(body.format(mask) for mask in (0x20, 0x1F)), "p0[i] = i * table[5];"]
    alike, apart, operand = (
        profile(each, zeros(), lanes, before=before, constants=values, among=bodies)
        for each in bodies
    )
    assert asked(alike, "constant") == pytest.approx(132 * 4, rel=1e-4)
    assert asked(apart, "constant") == pytest.approx(32 * 132 * 4, rel=1e-4)
    with pytest.raises(KeyError, match="asks nothing of 'constant'"):  # it is an operand
        operand.bounds("toy").share("constant")


MULTIPLY_ADDS = {
    "fp32": "float x = i;\nfor (int k = 0; k < p3; ++k) x = fmaf(x, p1, p2);\np0[i] = x;",
    "fp64": "double x = i;\nfor (int k = 0; k < p3; ++k) x = fma(x, (double)p1, (double)p2);\n"
    "p0[i] = x;",
    "half": "__half2 a = __float2half2_rn(p1), b = __float2half2_rn(p2), x = a;\n"
    "for (int k = 0; k < p3; ++k) x = __hfma2(x, a, b);\np0[i] = __low2float(x);",
}


@pytest.mark.parametrize("resource", MULTIPLY_ADDS)
def test_multiply_adds_count(toy, resource):
    warps, turns = 132 * 4, 50
    args = zeros(), np.float32(0.5), np.float32(1), np.int32(turns)
    seen = profile(
        MULTIPLY_ADDS[resource], *args, before="#include <cuda_fp16.h>",
        among=[*MULTIPLY_ADDS.values()],
    )  # fmt: skip
    assert asked(seen, resource) == pytest.approx(turns * warps, rel=0.05)
    # The loop takes instructions beside its multiply-adds.
    assert asked(seen, "issue") > turns * warps


def test_products_of_tensor_cores_count_by_shape(toy):
    before = "#include <mma.h>\nusing namespace nvcuda;"
    body = """
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(a, __float2half(1.0f)), wmma::fill_fragment(b, __float2half(p1));
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < p2; ++k) wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(p0 + 256 * blockIdx.x, c, 16, wmma::mem_row_major);
    """
    seen = profile(body, np.zeros(256 * 4, np.float32), np.float32(2), np.int32(6), blocks=4,
                   threads=32, before=before)  # fmt: skip
    assert asked(seen, "tensor_half") == 2 * 16 * 16 * 16 * 6 * 4


def test_few_blocks_have_few_multiprocessors(toy, copied):
    one = profile("p0[i] = p1[i];", zeros(1), random(128), blocks=1).bounds("toy")
    all_of_them = copied.bounds("toy")
    assert one.share("l1_data").microseconds == all_of_them.share("l1_data").microseconds
    assert one.share("dram").microseconds < all_of_them.share("dram").microseconds / 100
    assert "one block uses one multiprocessor" in one.share("l1_data").reason


# ---- laws ----

WORK = {
    "l1_data": "for (int k = 0; k < p2; ++k) sum += p1[(i + 128 * k) % 16896];",
    "shared": "for (int k = 0; k < p2; ++k) sum += s[(threadIdx.x + 7 * k) % 128];",
    "fp32": "for (int k = 0; k < p2; ++k) sum = fmaf(sum, 0.5f, sum * sum);",
    "shuffle": "for (int k = 0; k < p2; ++k) sum += __shfl_xor_sync(~0u, sum, k & 31);",
    "atomics": "for (int k = 0; k < p2; ++k) atomicAdd(&p1[(i + k) % 16896], 1.0f);",
    "special": "for (int k = 0; k < p2; ++k) sum = rsqrtf(sum + 1.0f) + p1[(i + k) % 16896];",
}


BEFORE_WORK = "__shared__ float s[128]; s[threadIdx.x] = i; __syncthreads(); float sum = i;\n"
WORK = {name: f"{BEFORE_WORK}{work}\np0[i] = sum;" for name, work in WORK.items()}


@pytest.mark.parametrize("resource", WORK)
def test_twice_the_work_counts_twice(toy, resource):
    blocks = 6
    found = [
        profile(
            WORK[resource], zeros(blocks), random(16896), np.int32(turns), blocks=blocks,
            among=[*WORK.values()],
        )
        for turns in (40, 80)
    ]  # fmt: skip
    once, twice = (one.bounds("toy") for one in found)
    # A part does not grow: what comes before the loop and after it.
    assert 1.8 <= twice.share(resource).amount / once.share(resource).amount <= 2
    assert twice.share("issue").amount > once.share("issue").amount
    assert twice.microseconds >= once.microseconds


def test_a_straight_line_meets_a_third_size(toy):
    def counted(blocks):
        arrays = zeros(blocks), random(128 * blocks)
        return of_two_arrays("reads at two places", *arrays, blocks=blocks).counts

    small, large, third = map(counted, (6, 12, 30))
    guess = small.at(large, (30, 1, 1))
    assert guess.totals == third.totals
    assert (guess.executed == third.executed).all()
    assert guess.asks == pytest.approx(third.asks)
    by_size = small.at(large, (30, 1, 1), (6 * 128, 12 * 128, 30 * 128))
    assert by_size.totals == third.totals


def test_different_launches_are_no_line():
    both = "p0[i] = 1;", "p0[i] = 2;"
    one, other = (profile(each, zeros(), among=both).counts for each in both)
    with pytest.raises(ValueError, match="different code"):
        one.at(other, (10, 1, 1))
    with pytest.raises(ValueError, match="different sizes"):
        one.at(one, (10, 1, 1))


# ---- cheats: the same sums with less of what is looked at, and more of something else ----

ROW = "float sum = 0; for (int k = 0; k < 31; ++k) sum += p2[k] * p1[i + k]; p0[i] = sum;"


CHEATS = {
    # No load of global memory is left; each value comes from another lane.
    "shuffle": ("shuffle", """
        const float own = p1[i], next = p1[min(i + 32, 16926)];
        float sum = 0;
        #pragma unroll
        for (int k = 0; k < 31; ++k) {
            const int lane = (threadIdx.x % 32 + k) % 32;
            const float a = __shfl_sync(~0u, own, lane), b = __shfl_sync(~0u, next, lane);
            sum += p2[k] * (threadIdx.x % 32 + k < 32 ? a : b);
        }
        p0[i] = sum;"""),
    # Weights from constant memory, at another place in each lane.
    "constant": ("constant", """
        float sum = 0;
        for (int k = 0; k < 31; ++k) sum += table[(k + threadIdx.x) % 31] * p1[i + k];
        p0[i] = sum;"""),
    # Every product goes to memory by itself.
    "atomics": ("atomics", "for (int k = 0; k < 31; ++k) atomicAdd(&p0[i], p2[k] * p1[i + k]);"),
    # Cells in an array that the compiler cannot keep in registers.
    "local": ("l1_data", """
        float cells[31];
        for (int k = 0; k < 31; ++k) cells[(k * p3) % 31] = p1[i + k];
        float sum = 0;
        for (int k = 0; k < 31; ++k) sum += p2[k] * cells[(k * p3) % 31];
        p0[i] = sum;"""),
    # All in shared memory, every lane in one bank.
    "shared": ("shared", """
        __shared__ float s[32 * 128];
        float sum = 0;
        for (int k = 0; k < 31; ++k) {
            s[32 * threadIdx.x] = p1[i + k] * p2[k];
            sum += *(volatile float*)&s[32 * threadIdx.x];
        }
        p0[i] = sum;"""),
}  # fmt: skip


def bounds_of_sums(body: str) -> bounds.Bounds:
    return profile(
        body, zeros(), random(132 * 128 + 31), random(31), np.int32(7),
        before="__constant__ float table[31];", constants={"table": random(31)},
        among=[ROW, *(cheat for _, cheat in CHEATS.values())],
    ).bounds()  # fmt: skip


@pytest.fixture(scope="module")
def honest():
    """The bounds of sums that load each cell and each weight where it lies."""
    return bounds_of_sums(ROW)


@pytest.mark.parametrize("cheat", CHEATS)
def test_work_that_is_moved_elsewhere_is_counted_there(cheat, honest):
    resource, body = CHEATS[cheat]
    moved = bounds_of_sums(body)
    known = {share.resource: share.amount for share in honest.shares}
    assert moved.share(resource).amount > 1.5 * known.get(resource, 0)
    # The largest resource, launches apart, is not smaller than that of the honest form by much:
    # moving loads of 62 words to another place is no gain.
    assert _busiest(moved) > 0.9 * _busiest(honest)


def _busiest(found) -> float:
    return max(share.microseconds for share in found.shares if share.resource != "launches")


def test_a_product_of_tensor_cores_for_each_sum_is_counted():
    before = "#include <mma.h>\nusing namespace nvcuda;"
    body = """
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(a, __float2half(1.0f)), wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < 40; ++k) {
        wmma::fill_fragment(b, __float2half(p1[k]));
        wmma::mma_sync(c, a, b, c);
    }
    p0[i] = c.x[0];
    """
    both = body, "float c = 0; for (int k = 0; k < 40; ++k) c += 16 * p1[k]; p0[i] = c;"
    found, plain = (
        profile(each, zeros(), random(40), before=before, among=both).bounds() for each in both
    )
    assert found.share("tensor_half").amount == 2 * 16**3 * 40 * 132 * 4
    assert found.share("tensor_half").microseconds > plain.share("fp32").microseconds


# ---- the machine code ----

LOOP = """
	.section	.text.k,"ax",@progbits
k:
.text.k:
	//## File ".nv_debug_ptx_txt", line 10
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/               @P0 BRA `(.L_x_2) ;
.L_x_1:
	//## File ".nv_debug_ptx_txt", line 20
        /*0020*/                   LDG.E R1, desc[UR4][R2.64] ;
        /*0030*/                   LDG.E R1, desc[UR4][R2.64+0x4] ;
	//## File ".nv_debug_ptx_txt", line 21
        /*0040*/                   FADD R4, R4, R1 ;
        /*0050*/               @P1 BRA `(.L_x_1) ;
.L_x_2:
	//## File ".nv_debug_ptx_txt", line 20
        /*0060*/                   LDG.E R1, desc[UR4][R2.64] ;
	//## File ".nv_debug_ptx_txt", line 30
        /*0070*/                   EXIT ;
.L_x_3:
        /*0080*/                   BRA `(.L_x_3);
        /*0090*/                   NOP;
"""


def test_a_loop_turns_as_often_as_its_loads_need():
    code = machine_code.read(LOOP, "k")
    assert [len(block.instructions) for block in code.blocks] == [2, 4, 2, 1, 1]
    assert code.following[:3] == ((2, 1), (1, 2), ())
    # 3 warps, 30 executions of line 20: the last block takes 3, 27 are left for two a turn.
    anchors = [Anchor(((1, 1.0), (1, 1.0), (2, 1.0)), times=30.0)]
    (slots,) = machine_code.least(code, 3, anchors, [lambda one: one.root != "NOP"])
    turns = (30 - 3) / 2
    assert slots == pytest.approx(3 * 2 + 4 * turns + 3 * 2, rel=1e-4)
    # Without a load the loop may be left out.
    (least,) = machine_code.least(code, 3, [], [lambda one: 1.0])
    assert least == pytest.approx(3 * 4, rel=1e-4)
    assert machine_code.read(LOOP, "another") is None


def test_counts_that_no_way_fits_are_an_error():
    code = machine_code.read(LOOP, "k")
    with pytest.raises(ArithmeticError, match="no way through"):
        machine_code.least(code, 1, [Anchor((), 5.0)], [lambda one: 1.0])


# ---- in words ----


def test_an_unknown_device_names_the_known_ones(copied):
    with pytest.raises(bounds.UnknownDevice, match=r"no rates of 'H900' .*H200.*evidence.rates"):
        copied.bounds("H900")


def test_a_part_of_a_launch_has_no_bounds():
    part = profile("p0[i] = p1[i];", zeros(), random(132 * 128), sample_every=2)
    with pytest.raises(ValueError, match="66 of 132 blocks were run"):
        part.bounds()


def test_nothing_calls_a_bound_a_time(copied):
    found = copied.bounds()
    for text in (str(found), found._repr_html_(), found.sentence, str(found.to_dict())):
        assert "bound" in text
        assert not re.search(r"\btimes?\b|\bduration|\btakes [\d.]+ (us|ms)", text), text
    assert found.sentence.startswith("No H200 runs tiny in less than")
    assert found.shares[0].microseconds == found.microseconds == found.to_dict()["bound_us"]


def test_blocks_come_in_waves_as_ptxas_gives_registers_and_shared_memory():
    found = profile("p0[i] = p1[i];", zeros(264), random(264 * 128), blocks=264).bounds()
    assert found.blocks_at_a_time == 16  # of 128 threads, 2,048 at most
    assert found.waves == pytest.approx(264 / (16 * 132))
    body = "__shared__ float s[20000 / 4]; s[threadIdx.x] = i; p0[i] = s[threadIdx.x];"
    seen = profile(body, zeros(), shared=10_000)
    # 228 KB of a multiprocessor, 1 KB of each block for the system.
    assert seen.bounds().blocks_at_a_time == 228 * 1024 // (20_000 + 10_000 + 1024)
    assert "holds 7 blocks at once: 0.143 waves" in str(seen.bounds())


# ---- avoidable work ----

SPREAD = "float s = 0; for (int j = 0; j < 32; ++j) s += p1[32 * i + j % 4];\np0[i] = s;"
CONFLICTS = (
    "__shared__ float s[4096];\nfor (int j = threadIdx.x; j < 4096; j += 128) s[j] = p1[j];\n"
    "__syncthreads();\nfloat a = 0;\n"
    "for (int j = 0; j < 64; ++j)\na += s[(32 * threadIdx.x + j) % 4096];\np0[i] = a;"
)
ONE_ADDRESS = "atomicMax((int*) p0 + threadIdx.x % 2, (int) p1[i]);"
SPILLS = (
    "float a[64];\nfor (int j = 0; j < 64; ++j) a[j] = p1[i + j];\n"
    "for (int t = 0; t < 4; ++t)\n"
    "for (int j = 0; j < 64; ++j) a[j] = a[j] * a[(j + 7) % 64] + a[(j * 5) % 64];\n"
    "float s = 0; for (int j = 0; j < 64; ++j) s += a[j];\np0[i] = s;"
)
# The body and the options of a kernel; what costs most on its bound, and in which line.
DEAREST = [
    (SPREAD, (), "no lane asks for", 5),
    (CONFLICTS, (), "bank conflicts", 10),
    (ONE_ADDRESS, (), "on one address", 5),
    (SPILLS, ("-maxrregcount=32",), "spills", 0),
]


@pytest.mark.parametrize(("body", "options", "what", "line"), DEAREST)
def test_the_dearest_work_of_a_launch_comes_first(toy, body, options, what, line):
    seen = profile(body, zeros(), random(132 * 128 * 33), options=options)
    found = seen.costs("toy")
    first = found.costs[0]
    assert what in first.what and first.line == line
    assert [one.on_the_bound for one in found.costs] == sorted(
        (one.on_the_bound for one in found.costs), reverse=True
    )
    assert 0 <= first.on_the_bound <= first.microseconds * (1 + 1e-9) <= found.bound * (1 + 1e-9)
    for text in (found.sentence, str(found), found._repr_html_()):
        assert what in text
    assert any("spills" in one for one in seen.sentences()) == (what == "spills")


def test_what_conflicts_cost_is_what_the_bound_falls_by_without_them(toy):
    seen = profile(CONFLICTS, zeros(), random(4096))
    without = profile(CONFLICTS.replace("32 * threadIdx.x", "threadIdx.x"), zeros(), random(4096))
    cost = seen.costs("toy").costs[0]
    assert cost.amount == seen.shared_load_conflicts and not without.shared_load_conflicts
    bounds_of = [one.bounds("toy").microseconds for one in (seen, without)]
    assert cost.on_the_bound == pytest.approx(bounds_of[0] - bounds_of[1], rel=0.05)


@pytest.mark.parametrize(("elements", "warps", "spare"), [(32, 4, 3), (32, 1, 0), (128, 4, 0)])
def test_updates_beyond_one_of_each_block_cost(elements, warps, spare):
    """Where all lanes of a warp update different elements. spare: of each block and element."""
    body = f"atomicMax((int*) p0 + threadIdx.x % {elements}, i);"
    out = np.zeros(elements, np.float32)
    costs = profile(body, out, threads=32 * warps).costs().costs
    told = [(one.line, one.amount) for one in costs if "several warps of a block" in one.what]
    assert told == ([(5, 132.0 * elements * spare)] if spare else [])


def test_a_launch_without_avoidable_work_has_no_costs(toy, copied):
    found = copied.costs("toy")
    assert found.costs == () and "None of its work" in str(found)


# The body of a kernel, its threads and options; what is said of the blocks that are held at once.
HELD = [
    ("p0[i] = 1;", 128, (), "16 blocks at once, 64 of 64 warps, which is all that it can."),
    ("p0[i] = 1;", 32, (), "32 blocks at once, 32 of 64 warps, and never more blocks"),
    ("p0[i] = 1;", 768, (), "limited by threads: one more needs 682 threads a block at most."),
    ("__shared__ float s[5000]; s[threadIdx.x] = i; p0[i] = s[threadIdx.x];", 128, (),
     "limited by shared memory: one more needs 18,432 bytes of shared memory a block at most "
     "(now 20,000)."),
    (SPILLS, 256, (), "limited by registers: one more needs "),
]  # fmt: skip


@pytest.mark.parametrize(("body", "threads", "options", "said"), HELD)
def test_the_resource_that_limits_the_blocks_held_at_once_is_named(body, threads, options, said):
    arrays = zeros(132, threads), random(132 * threads + 64)
    held = profile(body, *arrays, threads=threads, options=options).counts.residence
    assert said in held


def test_launches_in_a_row_add_up(copied):
    one = copied.bounds()
    both = bounds.in_a_row([one, one], "twice")
    assert both.microseconds == pytest.approx(2 * one.microseconds)
    assert both.share("dram").amount == 2 * one.share("dram").amount
    assert bounds.in_a_row([one]) is one
    with pytest.raises(ValueError, match="one device"):
        bounds.in_a_row([one, replace(one, device="toy")])
    with pytest.raises(ValueError, match="one launch or more"):
        bounds.in_a_row([])
