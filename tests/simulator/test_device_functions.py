"""Device functions in the simulator: the bits that a GPU gives, copies of vectors, wmma against
float64, groups of threads.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator
from helpers.bench import results
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.launch.launch import launch
from helpers.simulator.machine import memory
from helpers.simulator.machine.arrays import pack_arguments
from helpers.simulator.program.module import Kernel, load

sys.path.insert(0, str(Path(__file__).resolve().parent / "counters"))

import device_functions
import mma
import stranger_cases
import tensor_products


def run(text: str, *args, threads: int, block: int = 256, name: str = "k", **more):
    findings = simulator.check(
        text, name, *args, grid=(-(-threads // block),), block=(min(block, threads),), **more
    )
    assert findings == (), [str(f) for f in findings]


# ---- the bits of a GPU ----

# Results that differ: of two NaNs of f64 one goes on, which depends on ptxas' order of operands.
KNOWN = {"double": {"j0", "pow", "fmod", "remainder", "atan2", "nextafter"}}


def left_in(out: np.ndarray, kernel: Kernel, *given, grid: int, block: int) -> np.ndarray:
    """Return what a kernel leaves in its first argument; given: the others, arrays by their bits
    and scalars.
    """
    arrays = [one for one in (out, *given) if isinstance(one, np.ndarray)]
    addresses = [memory.allocate(one.nbytes) for one in arrays]
    for address, one in zip(addresses, arrays, strict=True):
        memory.write(address, one, one.nbytes)
    pointers = (address.to_bytes(8, "little") for address in addresses)
    values = [
        next(pointers) if isinstance(one, np.ndarray) else one.tobytes() for one in (out, *given)
    ]
    launch(kernel, pack_arguments(kernel.parameters, values), (grid,), (block,), observe=())
    memory.read(out, addresses[0], out.nbytes)
    for address in addresses:
        memory.free(address)
    return out


def digests_of_functions(rows: Sequence[device_functions.Row]) -> dict[str, str]:
    """Return the sha256 of the results of each function of a group, by its name."""
    module = load(device_functions.source(rows[0].group), rows[0].options)
    found = {}
    for row in rows:
        cells = device_functions.cells_of(row)
        y = np.zeros(cells, device_functions.TYPES[row.result][1])
        operands = device_functions.operands(row)
        kernel = module.kernels[row.kernel]
        left_in(y, kernel, np.int32(cells), *operands, grid=cells // 256, block=256)
        found[row.name] = stranger_cases.short_digest(y)
    module.close()
    return found


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict]:
    record = results.load(results.MEASURED / "device_functions.json")
    return {row["series"]: row for row in record.rows()}


@pytest.mark.parametrize("group", device_functions.GROUPS)
def test_the_functions_of_a_group_give_the_bits_of_a_gpu(group, recorded):
    rows = device_functions.GROUPS[group]
    found, want = digests_of_functions(rows), recorded[group]
    assert {name for name in found if found[name] != want[name]} == KNOWN.get(group, set())


def test_products_of_matrices_give_the_bits_of_a_gpu(recorded):
    module, want = load(tensor_products.source()), recorded["tensor_products"]
    for product in tensor_products.PRODUCTS:
        a, b, c = tensor_products.packed(product)
        d = np.zeros(c.shape, c.dtype)
        kernel = module.kernels[product.kernel]
        left_in(d, kernel, a, b, c, grid=tensor_products.SETS, block=32)
        d = tensor_products.unpacked(product, d)
        assert stranger_cases.short_digest(d) == want[product.kernel], product.kernel
    module.close()


def test_sums_of_every_mma_are_those_of_a_gpu(recorded):
    module, found = load(mma.source()), {}
    for name, text in mma.INSTRUCTIONS.items():
        d, a, b, c = mma.operands(text)
        left_in(d, module.kernels[name], a, b, c, grid=mma.SETS, block=32)
        found[name] = stranger_cases.short_digest(d)
    module.close()
    assert found == {name: recorded["mma"][name] for name in found}


# ---- vectors ----

VECTORS = """
struct Particle { float4 place; float3 speed; };
__constant__ float2 scale[2] = {{1.0f, 2.0f}, {3.0f, 4.0f}};
extern "C" __global__ void k(float4* f4, const float4* g4, float3* f3, const float3* g3, double2*
d2, const double2* e2, uchar4* u4,
                             const uchar4* v4, short2* s2, const short2* t2, char3* c3, const
                             char3* b3, ulonglong2* l2,
                             const ulonglong2* m2) {
    __shared__ float4 tile[2][32];
    __shared__ uchar4 small[32];
    int i = threadIdx.x;
    tile[0][i] = g4[i];
    small[i] = v4[i];
    __syncthreads();
    float4 filled = {1, 2, 3, 4}, first = {5}, none;
    float2 zero{};
    none.x = filled.x + first.x + first.w + zero.y;
    float4 v = tile[0][31 - i];
    v.x += none.x - 6.0f;
    f4[i] = v;
    f3[i] = g3[i];
    d2[i] = make_double2(e2[i].y, e2[i].x);
    u4[i] = small[31 - i];
    s2[i] = __ldg(&t2[i]);
    c3[i] = b3[i];
    l2[i] = i == 40 ? make_ulonglong2(1, 2) : m2[i];
    Particle p = {make_float4(1, 2, 3, scale[i % 2].y), make_float3(4, 5, 6)};
    if (p.place.w < 0) f4[i] = p.place;
}
"""


def test_a_copy_of_a_vector_is_as_many_accesses_as_on_a_gpu():
    generator = np.random.default_rng(13)
    shapes = {
        "f4": (np.float32, 4),
        "f3": (np.float32, 3),
        "d2": (np.float64, 2),
        "u4": (np.uint8, 4),
        "s2": (np.int16, 2),
        "c3": (np.int8, 3),
        "l2": (np.uint64, 2),
    }
    given = {n: generator.integers(0, 100, (32, w)).astype(t) for n, (t, w) in shapes.items()}
    out = {n: np.zeros_like(v) for n, v in given.items()}
    args = [a for name in shapes for a in (out[name], given[name])]
    p = simulator.profile(VECTORS, "k", *args, grid=(1,), block=(32,))
    assert p.findings == ()
    wanted = {**given, "f4": given["f4"][::-1], "u4": given["u4"][::-1], "d2": given["d2"][:, ::-1]}
    for name, want in wanted.items():
        np.testing.assert_array_equal(out[name], want)
    stores = {
        line.array: (line.requests, line.bytes_used)
        for line in p.lines
        if line.access == "store" and line.space == "global"
    }
    assert stores == {
        "f4": (1, 512),
        "f3": (3, 384),
        "d2": (1, 512),
        "u4": (1, 128),
        "s2": (1, 128),
        "c3": (3, 96),
        "l2": (1, 512),
    }
    loads = {
        line.array: line.requests
        for line in p.lines
        if line.access == "load" and line.space == "global"
    }
    assert loads == {"g4": 1, "g3": 3, "e2": 1, "v4": 1, "t2": 1, "b3": 3, "m2": 1}
    assert all(line.line > 3 and line.source for line in p.lines), [
        (line.line, line.source) for line in p.lines
    ]


def test_a_single_value_in_braces_is_a_vector_and_without_them_is_not():
    with pytest.raises(CompileFailed, match=r"k\.cu\(1\): .*float4"):
        compile_source(
            "__global__ void k(float4* p) { float4 v = 1.0f; *p = v; }",
            file="k.cu",
            compiler="nvrtc",
        )


def test_misaligned_vectors_are_found_at_the_line_of_the_kernel():
    text = (
        'extern "C" __global__ void k(float* y, const float* x) {\n    '
        "*(float2*)y = *(const float2*)(x + 1);\n}\n"
    )
    findings = simulator.check(
        text, "k", np.zeros(4, np.float32), np.ones(4, np.float32), grid=(1,), block=(1,)
    )
    assert [(f.kind, f.line, f.array) for f in findings] == [("misaligned", 2, "x")]


# ---- wmma ----

SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
WMMA = """namespace case{number} {{
constexpr int M = {m}, N = {n}, K = {k};
__global__ void k({out}* d, const {held}* a, const {held}* b, const {out}* c, int lda,
int ldb, int ldc) {{
    wmma::fragment<wmma::matrix_a, M, N, K, {element}, wmma::{left}_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, {element}, wmma::{right}_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, {out}> fc;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, wmma::mem_{sum}_major);
    {convert}
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] * ({out})2.0f;
    wmma::store_matrix_sync(d, fc, ldc, wmma::mem_{sum}_major);
}}
}}
"""
CONVERT = """for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
    for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);"""
WMMA_CASES = [
    (s, "half", ("half", "float")[(i + j) % 2], *order)
    for i, s in enumerate(SHAPES)
    for j, order in enumerate((("row", "col", "row"), ("col", "row", "col"), ("row", "row", "row")))
]
WMMA_CASES += [
    (SHAPES[0], "bfloat16", "float", "row", "col", "col"),
    (SHAPES[1], "bfloat16", "float", "col", "row", "row"),
    (SHAPES[2], "bfloat16", "float", "row", "col", "col"),
    # Each pair of orders of two of the three matrices.
    ((16, 16, 8), "tf32", "float", "row", "row", "row"),
    ((16, 16, 8), "tf32", "float", "row", "col", "col"),
    ((16, 16, 8), "tf32", "float", "col", "row", "col"),
    ((16, 16, 8), "tf32", "float", "col", "col", "row"),
]


def tf32(values: np.ndarray) -> np.ndarray:
    """float32 with 10 bits after the point: to nearest, ties away from zero."""
    return ((values.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def operand(generator, shape: tuple[int, int], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """(as a kernel's array, exact values in float64) of a random matrix."""
    values = generator.standard_normal(shape).astype(np.float32)
    if kind == "half":
        return values.astype(np.float16), values.astype(np.float16).astype(np.float64)
    if kind == "bfloat16":
        pattern = (values.view(np.uint32) >> 16).astype(np.uint16)
        return pattern, (pattern.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values, tf32(values).astype(np.float64)


def laid_out(matrix: np.ndarray, order: str, padding: int = 8) -> np.ndarray:
    """Row by row or column by column, with `padding` elements after each."""
    lines = matrix if order == "row" else matrix.T
    return np.ascontiguousarray(np.pad(lines, ((0, 0), (0, padding))))


def read_back(lines: np.ndarray, order: str, padding: int = 8) -> np.ndarray:
    return lines[:, :-padding] if order == "row" else lines[:, :-padding].T


def wmma_source(number, shape, kind, out, left, right, total) -> str:
    m, n, k = shape
    held = {"half": "half", "bfloat16": "__nv_bfloat16", "tf32": "float"}[kind]
    element = "wmma::precision::tf32" if kind == "tf32" else held
    return WMMA.format(
        number=number,
        m=m,
        n=n,
        k=k,
        out=out,
        held=held,
        element=element,
        left=left,
        right=right,
        sum=total,
        convert=CONVERT if kind == "tf32" else "",
    )


# All kernels in one source: the header is the larger part of a compilation.
WMMA_SOURCE = "#include <mma.h>\nusing namespace nvcuda;\n" + "".join(
    wmma_source(number, *case) for number, case in enumerate(WMMA_CASES)
)


@pytest.mark.parametrize("number", range(len(WMMA_CASES)), ids=lambda n: str(WMMA_CASES[n]))
def test_wmma_against_float64(number):
    shape, kind, out, left, right, total = WMMA_CASES[number]
    m, n, k = shape
    generator = np.random.default_rng(m + n + k)
    a, exact_a = operand(generator, (m, k), kind)
    b, exact_b = operand(generator, (k, n), kind)
    c = generator.standard_normal((m, n)).astype(np.float16 if out == "half" else np.float32)
    arrays = laid_out(a, left), laid_out(b, right), laid_out(c, total)
    d = np.zeros_like(arrays[2])
    strides = [np.int32(v.shape[1]) for v in arrays]
    run(WMMA_SOURCE, d, *arrays, *strides, threads=32, block=32, name=f"case{number}::k")
    got = read_back(d, total).astype(np.float64) / 2
    want = exact_a @ exact_b + c
    # k additions in float32, each within half a unit of the sum so far; a half result is rounded
    # twice more (and doubled exactly).
    size = np.abs(exact_a) @ np.abs(exact_b) + np.abs(c)
    bound = k * 2.0**-24 * 1.01 * size + (
        2.0**-11 * np.abs(want) * 1.01 + 2.0**-24 if out == "half" else 0
    )
    assert (np.abs(got - want) <= bound).all(), np.abs((got - want) / bound).max()
    wrongs = [exact_a @ np.roll(exact_b, 1, axis=0) + c, exact_a @ exact_b]
    if kind == "tf32":
        wrongs.append(a.astype(np.float64) @ b.astype(np.float64) + c)  # never rounded to TF32
    for wrong in wrongs:
        assert not (np.abs(got - wrong) <= bound).all()


def fragment_body(body: str) -> str:
    return (
        "    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;\n"
        "    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;\n"
        f"    wmma::fill_fragment(fc, 1.0f);\n{body}"
    )


STORE = "    wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);"
GOOD = fragment_body("    wmma::load_matrix_sync(fa, a, 16);\n" + STORE)
FAULTS = [
    ("    wmma::load_matrix_sync(fa, a + 8, 16);", "fault", "multiple of 32 bytes"),
    ("    wmma::load_matrix_sync(fa, a, 12);", "fault", "multiples of 16 bytes"),
    ("    wmma::load_matrix_sync(fa, a + 16, 16);", "out-of-bounds", "a["),
    ("    wmma::store_matrix_sync(d + 16, fc, 16, wmma::mem_row_major);", "out-of-bounds", "d["),
]
POINTERS = [
    (16, "a", "all of its 32 lanes"),
    (32, "a + 16 * (threadIdx.x % 2)", "another address or stride"),
]


def load_from(pointer: str) -> str:
    return fragment_body(f"    wmma::load_matrix_sync(fa, {pointer}, 16);\n" + STORE)


def tile_read_by_others(barrier: str) -> str:
    return fragment_body(
        "    __shared__ __align__(32) float tile[256];\n    wmma::store_matrix_sync(tile, fc, 16, "
        f"wmma::mem_row_major);\n{barrier}    d[threadIdx.x] = tile[255 - threadIdx.x];"
    )


ORDERED, UNORDERED = tile_read_by_others("    __syncthreads();\n"), tile_read_by_others("")
FRAGMENTS = Kernels(
    [
        GOOD,
        *(fragment_body(body) for body, *_ in FAULTS),
        *(load_from(pointer) for _, pointer, _ in POINTERS),
        ORDERED,
        UNORDERED,
    ],
    "float* d, const half* a",
    "#include <mma.h>\nusing namespace nvcuda;",
)


@pytest.mark.parametrize(("body", "kind", "text"), FAULTS)
def test_faults_of_fragments_name_the_line_of_the_kernel(body, kind, text):
    d, a = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float16)
    source, good = FRAGMENTS.of(GOOD)
    run(source, d, a, threads=32, block=32, name=good)
    assert (d == 1).all()
    wrong = fragment_body(body)
    findings = simulator.check(*FRAGMENTS.of(wrong), d, a, grid=(1,), block=(32,))
    assert [(f.kind, f.line) for f in findings] == [(kind, FRAGMENTS.line(wrong, 4))]
    assert text in findings[0].message + findings[0].cause


@pytest.mark.parametrize(("lanes", "pointer", "text"), POINTERS)
def test_fragments_need_a_whole_warp_that_agrees(lanes, pointer, text):
    d, a = np.zeros((16, 16), np.float32), np.zeros((17, 16), np.float16)
    body = load_from(pointer)
    findings = simulator.check(*FRAGMENTS.of(body), d, a, grid=(1,), block=(lanes,))
    assert [(f.kind, f.line) for f in findings] == [("fault", FRAGMENTS.line(body, 4))]
    assert text in findings[0].message


def test_fragments_are_seen_by_the_race_check_and_counted_as_pairs():
    d, a = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float16)
    assert simulator.check(*FRAGMENTS.of(ORDERED), d, a, grid=(1,), block=(32,)) == ()
    findings = simulator.check(*FRAGMENTS.of(UNORDERED), d, a, grid=(1,), block=(32,))
    assert "race" in {f.kind for f in findings}
    p = simulator.profile(*FRAGMENTS.of(ORDERED), d, a, grid=(1,), block=(32,))
    stored = [line for line in p.lines if line.array == "tile" and line.access == "store"]
    line = FRAGMENTS.line(ORDERED, 5)
    assert [(one.requests, one.bytes_used, one.line) for one in stored] == [(4, 1024, line)]


# ---- cooperative groups, atomics and shuffles of half ----

GROUPS = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* out, half2* pairs, half* shuffled) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ int s[96];
    s[block.thread_rank()] = block.thread_rank();
    block.sync();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(warp);
    int v = s[95 - block.thread_rank()];
    int* o = out + block.thread_rank() * 12;
    o[0] = cg::reduce(warp, v, cg::plus<int>());
    o[1] = cg::reduce(tile, v, cg::greater<int>());
    o[2] = warp.meta_group_rank() * 100 + warp.meta_group_size() * 10 + tile.meta_group_rank();
    o[3] = tile.shfl(v, 3);
    o[4] = tile.shfl_down(v, 2);
    o[5] = tile.shfl_up(v, 2);
    o[6] = tile.shfl_xor(v, 1);
    o[7] = tile.ballot(v % 3 == 0);
    o[8] = tile.any(v == 0) + 2 * tile.all(v >= 0) + 4 * tile.all(v > 5);
    o[9] = (int)block.size() + (int)tile.size() + (int)tile.thread_rank();
    o[10] = (int)block.group_index().x * 1000 + (int)block.thread_index().x;
    tile.sync();
    cg::sync(warp);
    o[11] = 0;
    if (v % 4 == 0) {
        cg::coalesced_group together = cg::coalesced_threads();
        o[11] = (int)together.size() * 100 + (int)together.thread_rank();
    }
    half2 one_two = __floats2half2_rn(1.0f, 2.0f);
    atomicAdd(&pairs[0], one_two);
    shuffled[blockIdx.x * blockDim.x + threadIdx.x] = __shfl_xor_sync(0xffffffffu,
        __int2half_rn(v), 1);
}
"""


def test_groups_tiles_and_half_atomics():
    out, pairs, shuffled = (
        np.zeros((96, 12), np.int32),
        np.zeros(2, np.float16),
        np.zeros(96, np.float16),
    )
    run(GROUPS, out, pairs, shuffled, threads=96, block=96)
    rank = np.arange(96)
    v = 95 - rank
    lane = rank % 8

    def tile_at(index):
        return v[rank - lane + index]

    ballots = np.array(
        [sum(int(x % 3 == 0) << k for k, x in enumerate(group)) for group in v.reshape(-1, 8)]
    ).repeat(8)
    want = np.stack([
        v.reshape(3, 32).sum(1).repeat(32), v.reshape(12, 8).max(1).repeat(8),
        rank // 32 * 100 + 30 + rank % 32 // 8, tile_at(3),
        np.where(lane + 2 < 8, tile_at(np.minimum(lane + 2, 7)), v),
        np.where(lane >= 2, tile_at(np.maximum(lane - 2, 0)), v), tile_at(lane ^ 1), ballots,
        (v < 8) * 1 + 2 + 4 * (v.reshape(12, 8).min(1) > 5).repeat(8), 96 + 8 + lane, rank,
        np.where(v % 4 == 0, 800 + rank % 32 // 4, 0),
    ], axis=1).astype(np.int32)  # fmt: skip
    np.testing.assert_array_equal(out, want)
    assert pairs.tolist() == [96.0, 192.0]
    np.testing.assert_array_equal(shuffled, v[rank ^ 1])


# ---- what is refused, and what a source may do ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "#include <cooperative_groups.h>\nusing namespace cooperative_groups;\n"
            "__global__ void k(int* y) { auto t = tiled_partition<64>(this_thread_block()); "
            "t.sync(); *y = t.thread_rank(); }",
            r"k\.cu:3: .*group of several warps",
        ),
        (
            '__global__ void k() {\n    asm volatile("wgmma.fence.sync.aligned;");\n}',
            r"k\.cu:2: .* wgmma\.fence",
        ),
        # The compiler's own words for what is not CUDA.
        (
            "#include <mma.h>\nusing namespace nvcuda::wmma;\n__global__ void k(float* p) {\n"
            "fragment<accumulator, 16, 16, 4, float> f;\n*p = hcosh(__half(1.0f)); }",
            r"(?s)k\.cu\(4\): error: incomplete type .*fragment.*k\.cu\(5\): error: .*hcosh",
        ),
    ],
)
def test_what_the_simulator_or_cuda_lacks_is_refused_by_name_and_line(text, message):
    with pytest.raises(CompileFailed, match=message):
        assert load(text, file="k.cu").kernels["k"].program is None


def test_a_header_of_templates_takes_no_extern_c_around_it():
    text = "#include <cuda_fp16.h>\n__global__ void k(half* y) { *y = __float2half(1.0f); }"
    with pytest.raises(CompileFailed, match='"C" linkage'):
        compile_source(text, file="k.cu", extern_c=True, compiler="nvrtc")
    load(text, file="k.cu").close()


def test_a_half_can_be_an_argument():
    signature = '#include <cuda_fp16.h>\nextern "C" __global__ void k(half* y, half factor) {'
    text = signature + " y[threadIdx.x] = y[threadIdx.x] * factor; }"
    y = np.arange(32, dtype=np.float16)
    run(text, y, np.float16(0.5), threads=32, block=32)
    np.testing.assert_array_equal(y, np.arange(32, dtype=np.float16) / 2)
    with pytest.raises(TypeError, match="does not fit"):
        run(text, y, np.int16(2), threads=32, block=32)
