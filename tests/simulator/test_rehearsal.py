"""Rehearsals: what only hardly optimised code shows, and what must not be blamed there."""

from __future__ import annotations

import numpy as np
import pytest
from instances import Kernels, only

from helpers import simulator

N = 64


PARAMETERS = "float* y, const float* x, int n"


def found(body: str, before: str = "", block=(N,), x=None, y=None, n: int = N):
    return found_in(Kernels([body], PARAMETERS, before), body, block, x, y, n)


def found_in(kernels: Kernels, body: str, block=(N,), x=None, y=None, n: int = N):
    """Checks one of several kernels that were compiled together."""
    x = np.arange(4 * N, dtype=np.float32) if x is None else x
    y = np.zeros(4 * N, np.float32) if y is None else y
    return simulator.check(*kernels.of(body), y, x, np.int32(n), grid=(1,), block=block)


TILE = "const int t = threadIdx.x, r = t / 8, c = t % 8;\n__shared__ float tile[8][8];\n"
LEAVES_ITS_AXIS = {
    "a column": ("tile[r][c + 1] = x[t];", "tile", 8),
    "a row": ("tile[r + 1][c] = x[t];", "tile", 8),
    "a negative column": ("if (r) tile[r][c - 1] = x[t];", "tile", -1),
    "an index of 64 bits": ("size_t j = c + n / 64;\ntile[r][j] = x[t];", "tile", 8),
    "a read in a sum": (
        "tile[r][c] = x[t];\n__syncthreads();\ny[t] = x[t] + 2 * tile[r][c + (r == 3)];",
        "tile",
        8,
    ),
    "an atomic": (
        "tile[r][c] = 0;\n__syncthreads();\natomicAdd(tile[r] + c, x[t]);\n"
        "tile[r][c + (t == 7)] += 1;",
        "tile",
        8,
    ),
    "a constant column": ("const int w = 9;\nif (c == 0) tile[r][w] = x[t];", "tile", 9),
    "a local array": (
        "float own[3] = {1, 2, 3}, more[3] = {4, 5, 6};\ny[t] = own[r % 4] + more[0];",
        "own",
        3,
    ),
    "a local row": (
        "float own[2][4];\nfor (int j = 0; j < 8; ++j) own[j / 4][j % 4] = j;\ny[t] = own[0][c];",
        "own",
        4,
    ),
    "a constant table": ("y[t] = table[r % 2][c % 4];", "table", 3),
    "a device array": ("y[t] = grid[r % 4][c % 6];", "grid", 5),
    "an element of a structure": (
        "__shared__ Pair pairs[4][4];\npairs[r % 4][c % 5].b = x[t];",
        "pairs",
        4,
    ),
    "an array in a structure": (
        "__shared__ Stage stage;\nstage.low[t % 5] = x[t];\n__syncthreads();\n"
        "y[t] = stage.low[t % 4];",
        "stage.low",
        4,
    ),
    "beside a pointer": ("const float* from = x + 1;\ntile[r][c + 1] = from[t];", "tile", 8),
    "rows of bytes": ("__shared__ char bytes[8][4];\nbytes[r][c % 5] = 1;", "bytes", 4),
}
TYPES = (
    "struct Pair { float a, b; };\nstruct Stage { float low[4]; float high[8]; };\n"
    "__constant__ float table[2][3] = {{1, 2, 3}, {4, 5, 6}};\n__device__ float grid[4][5];\n"
)


LEAVING = Kernels([TILE + body for body, *_ in LEAVES_ITS_AXIS.values()], PARAMETERS, TYPES)


@pytest.mark.parametrize("name", LEAVES_ITS_AXIS)
def test_an_index_that_leaves_its_axis_is_found_at_its_line(name):
    body, array, index = LEAVES_ITS_AXIS[name]
    finding = next(f for f in found_in(LEAVING, TILE + body) if f.kind == "out-of-bounds")
    assert (finding.array, finding.index) == (array, index)
    line = (TILE + body).split("\n")[finding.line - LEAVING.line(TILE + body)]
    assert f"{array}[" in line


RIGHT = {
    "an address behind a row": "float* end = &tile[r][8];\n*(end - 8 + c) = x[t];",
    "a flat index of the whole": "(&tile[0][0])[t] = x[t];\ntile[0][0] = (&tile[0][0])[t];",
    "a pointer from a row": "float* row = tile[0];\nrow[t] = x[t];",
    "a pointer and the array in one line": "float* row = tile[0];\nrow[t] = x[t]; "
    "tile[r][c] = x[t];",
    "the array and a pointer into it in one line": "float* row = tile[r];\ntile[r][c] = "
    "x[t];\ny[t] = tile[r][c] + (row - 8 * r)[t];",
    "a pointer that walks": "for (float* p = tile[0] + t; p < tile[0] + 64; p += 64) *p = x[t];",
    "rows as vectors": "reinterpret_cast<float4*>(tile[r])[0] = make_float4(1, 2, 3, 4);",
    "the whole as vectors": "if (t < 16) reinterpret_cast<float4*>(tile)[t] = make_float4(1, 2, 3, "
    "4);",
    "a vector at an element": "if (c % 4 == 0) *reinterpret_cast<float4*>(&tile[r][c]) = "
    "make_float4(1, 2, 3, 4);",
    "an array of another shape": "auto flat = reinterpret_cast<float (*)[64]>(tile);\n"
    "flat[0][t] = x[t];",
    "a function's parameter of the name": "fill(tile[0], t, x[t]);",
    "a row given to a function": "fill_row(tile, r, c, x[t]);",
    "columns from the end of rows": "if (r) tile[r][c] = x[t];\nif (r) (tile[r] - 8)[c] = x[t];",
    "a local array as a pointer": "float own[2][4];\nfloat* flat = own[0];\n"
    "for (int j = 0; j < 8; ++j) flat[j] = j;\ny[t] = flat[c];",
    "a local structure": "Stage s;\nfor (int j = 0; j < 8; ++j) s.high[j] = j;\n"
    "float own[2] = {1, 2};\ns.high[c] = own[1];\ny[t] = s.high[c] + own[t & 1];",
    "two local arrays": "float a[3] = {1, 2, 3}, b[8] = {};\nb[c] = a[2];\ny[t] = b[c] + a[r % 3];",
    "a matrix filled by a flat loop": "for (int j = t; j < 64; j += blockDim.x) "
    "tile[0][j % 8] = x[j];",
    "an inner block with the same name": "float own[2] = {1, 2};\n{ float own[8];\n"
    "for (int j = 0; j < 8; ++j) own[j] = j;\ny[t] = own[c]; }\ny[t] += own[t & 1];",
    "a copied structure with a gap": "Gap g; g.tag = 1; g.value = x[t];\nGap h = g;\n"
    "store(h, y + t);",
    "a bit field": "Bits b; b.low = 3; b.high = t;\ny[t] = b.low + b.high;",
    "a macro": "#define AT(i) tile[(i) / 8][(i) % 8]\nAT(t) = x[t];",
    "zero at the end of a reversed row": "tile[r][7 - c] = x[t];\ntile[7 - r][c] = x[t];",
}
HELPERS = (
    "__device__ void fill(float* tile, int i, float v) { tile[i] = v; }\n"
    "__device__ void fill_row(float (*tile)[8], int i, int j, float v) { tile[i][j] = v; }\n"
    "struct Gap { char tag; float value; };\n"
    "__device__ void store(Gap g, float* y) { *y = g.value + g.tag; }\n"
    "struct Bits { unsigned low : 4; unsigned high : 12; };\n"
)


# Structures whose gaps nobody writes, in each kind of memory.
FIELDS = "s[t].v = x[t]; s[t].tag = 1; s[t].t = 2;"
COPIES = {
    "shared": f"__shared__ Odd s[64], r[64];\n{FIELDS}\n__syncthreads();\nr[t] = s[63 - t];\n"
    "y[t] = r[t].v + r[t].t + r[t].tag;",
    "global": f"Odd* s = odd;\n{FIELDS}\nodd[64 + t] = odd[t];\n"
    "y[t] = odd[64 + t].v + odd[64 + t].t;",
    "local": "Odd s[8], r[8];\n"
    "for (int j = 0; j < 8; ++j) { s[j].tag = j; s[j].v = x[j]; s[j].t = n; }\n"
    "for (int j = 0; j < 8; ++j) r[j] = s[j * n & 7];\n"
    "y[t] = r[t & 7].tag ? r[t & 7].v : r[t & 7].t;",
    "of local and shared": "__shared__ Odd s[64];\nOdd o; o.tag = 1; o.v = x[t]; o.t = 2;\n"
    "s[t] = o;\nOdd r = s[t];\ny[t] = r.v;",
    "allocated": "Odd* s = static_cast<Odd*>(malloc(24));\ns->tag = 1; s->v = x[t]; s->t = 1;\n"
    "s[1] = s[0];\ny[t] = s[1].v;\nfree(s);",
    "aligned": "__shared__ Wide s[64], r[64];\ns[t] = Wide{x[t], 1, 2};\nr[t] = s[t];\n"
    "y[t] = r[t].a;",
}


COPYING = Kernels(
    [f"const int t = threadIdx.x;\n{body}" for body in COPIES.values()],
    PARAMETERS,
    "struct Odd { char tag; float v; short t; };\n"
    "struct alignas(16) Wide { float a, b, c; };\n__device__ Odd odd[128];",
)


@pytest.mark.parametrize("name", COPIES)
def test_gaps_of_structures_are_copied_without_blame(name):
    assert found_in(COPYING, f"const int t = threadIdx.x;\n{COPIES[name]}") == ()


def test_what_a_copy_reads_and_nobody_wrote_is_found():
    body = (
        "__shared__ Odd s[64];\nif (n < 0) s[threadIdx.x].v = 1;\n__syncthreads();\n"
        "Odd r = s[threadIdx.x];\ny[threadIdx.x] = r.v;"
    )
    assert "uninitialised" in {f.kind for f in found(body, "struct Odd { char tag; float v; };")}


RIGHTS = Kernels([TILE + body for body in RIGHT.values()], PARAMETERS, TYPES + HELPERS)


@pytest.mark.parametrize("name", RIGHT)
def test_right_indices_are_not_blamed(name):
    serious = [f for f in found_in(RIGHTS, TILE + RIGHT[name]) if f.kind != "race"]
    assert not serious, serious


def test_the_array_that_was_meant_is_named_where_another_one_lies():
    gap = "y[threadIdx.x] = x[static_cast<int>(threadIdx.x) + n];"
    for n in (4 * N, 5000, 1 << 20, -1, -5000, -(1 << 20)):
        finding = only(found(gap, n=n))
        assert (finding.kind, finding.array, finding.index) == ("out-of-bounds", "x", n), n


def test_an_access_that_lands_in_another_array_is_found():
    x, y = np.zeros(N, np.float32), np.zeros(N, np.float32)
    for reach in range(0, 4096, 64):  # wherever the other array lies
        findings = found(
            "float* p = y;\nfor (int j = 0; j < 2; ++j) p += n;\np[threadIdx.x] = 1;",
            x=x,
            y=y,
            n=reach // 2 + 32,
        )
        assert {(f.kind, f.array) for f in findings} == {("out-of-bounds", "y")}, reach


def test_pointers_that_are_chosen_between_are_not_blamed():
    swap = (
        "float* a = y; float* b = y + 64;\n"
        "for (int j = 0; j < 4; ++j) { float* c = a; a = b; b = c; a[threadIdx.x] = j; }"
    )
    choice = "const float* p = n > 3 ? x : y;\ny[threadIdx.x] = p[threadIdx.x];"
    distance = "y[threadIdx.x] = (y + (x - y))[threadIdx.x];"
    kernels = Kernels([swap, choice, distance], PARAMETERS)
    for body in (swap, choice, distance):
        assert found_in(kernels, body) == ()


VANISHES = {
    "a store to a constant": ("const_cast<float*>(&table[0][0])[threadIdx.x % 6] = 1;",
        "out-of-bounds"),
    "a store through a null pointer": ("*static_cast<volatile float*>(nullptr) = 1;",
        "out-of-bounds"),
    "a vector of which one word is read": (
        "float4 v = reinterpret_cast<const float4*>(x + 1)[0];\ny[threadIdx.x] = v.x;",
        "misaligned",
    ),
    "a local array that is read too far": ("float own[4];\n"
    "for (int j = 0; j < 4; ++j) own[j] = x[j];\nfloat s = 0;\n"
    "for (int j = 0; j < 5; ++j) s += own[j];\ny[threadIdx.x] = s;", "out-of-bounds"),
}  # fmt: skip


VANISHING = Kernels([body for body, _ in VANISHES.values()], PARAMETERS, TYPES)


@pytest.mark.parametrize("name", VANISHES)
def test_what_the_optimiser_takes_out_is_found(name):
    body, kind = VANISHES[name]
    assert kind in {f.kind for f in found_in(VANISHING, body)}


def test_a_rehearsal_leaves_arrays_as_they_were():
    y = np.zeros(1, np.int32)
    source = 'extern "C" __global__ void k(int* y) { atomicAdd(y, 1); }'
    assert simulator.check(source, "k", y, grid=(4,), block=(32,)) == ()
    assert y[0] == 4 * 32


def test_a_rehearsal_prints_nothing(capsys):
    source = '#include <cstdio>\nextern "C" __global__ void k() { printf("once\\n"); }'
    assert simulator.check(source, "k", grid=(1,), block=(1,)) == ()
    assert capsys.readouterr().out == "once\n"


# ---- what the machine does not run ----


def test_a_barrier_for_any_group_does_not_hinder_the_rehearsal():
    """It has branches for clusters and for the whole grid, which the optimiser leaves out of a
    block's.
    """
    before = (
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        "__device__ void meet(const cg::thread_group& group) { group.sync(); }"
    )
    body = f"{TILE}tile[r][c + 1] = x[t];\nmeet(cg::this_thread_block());\ny[t] = tile[r][c];"
    finding = only([one for one in found(body, before) if one.array == "tile"])
    assert (finding.kind, finding.index, finding.thread) == ("out-of-bounds", 8, (7, 0, 0))


def test_an_unused_texture_is_not_blamed():
    """The rehearsal comes to an instruction that the machine does not run, and says nothing at all.
    """
    assert found("float unused = tex1D<float>(n, 0.f);\ny[threadIdx.x] = x[threadIdx.x];") == ()


def test_arrays_of_one_name_in_two_scopes_are_told_apart_by_their_axes():
    body = """
    {
        float cells[1];
        for (int i = 0; i < 1; ++i) cells[i] = x[i];
        for (int i = 0; i < 1; ++i) y[4 + i] = cells[i];
    }
    for (int p = 0; p < m; ++p) {
        float cells[1][4];
        for (int i = 0; i < 4; ++i) cells[0][i] = x[i + p];
        float sum = 0;
        for (int h = 0; h < 1; ++h)
            for (int w = 0; w < 4; ++w) sum += cells[h][w];
        y[p] = sum;
    }"""
    source = f'extern "C" __global__ void k(float* y, const float* x, int m) {{{body}}}'
    arrays = np.zeros(8, np.float32), np.ones(8, np.float32)
    assert simulator.check(source, "k", *arrays, np.int32(4), grid=(1,), block=(1,)) == ()


# ---- what the optimiser adds ----

ONE_CELL = """extern "C" __global__ void k(int* y) {{
    __shared__ int f;
    const int t = threadIdx.x;
    int v = 0;
    if (t == 31) f = blockIdx.x;
    if (t == 31) v = f;
    if (t == {writer}) f = 1000;
    atomicAdd(y + blockIdx.x, v);
}}"""


def of_one_cell(writer: int, blocks: int, run=simulator.check):
    y = np.zeros(blocks, np.int32)
    source = ONE_CELL.format(writer=writer)
    found = run(source, "k", y, grid=(blocks,), block=(64,))
    return getattr(found, "findings", found), y


@pytest.mark.parametrize("blocks", [1, 300], ids=["rehearsed whole", "rehearsed in part"])
@pytest.mark.parametrize("run", [simulator.check, simulator.profile])
def test_a_guarded_load_is_that_of_its_thread(blocks, run):
    """The optimiser loads `f` in all threads and selects afterwards."""
    findings, y = of_one_cell(31, blocks, run)
    assert findings == ()
    assert y.tolist() == list(range(blocks))  # a second run of the kernel left no trace


@pytest.mark.parametrize("blocks", [1, 300])
def test_a_race_of_one_thread_with_another_names_the_two(blocks):
    findings, _ = of_one_cell(30, blocks)
    pairs = {frozenset((f.line, f.other_line)) for f in findings if f.kind == "race"}
    assert pairs and pairs <= {frozenset((5, 7)), frozenset((6, 7))}
    assert {f.thread[0] for f in findings} <= {30, 31}


def test_a_fault_of_a_late_block_is_confirmed_from_the_first_arrays():
    """Only a block that no rehearsal runs races, and only with the arrays as they were."""
    source = """
extern "C" __global__ void k(int* y, int* ticket)
{
    __shared__ int f, mine;
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
    __syncthreads();
    if (mine == 333) f = threadIdx.x;
    if (threadIdx.x == 5) y[mine] = mine == 333 ? f : 0;
}
"""
    arrays = np.zeros(1000, np.int32), np.zeros(1, np.int32)
    findings = simulator.check(source, "k", *arrays, grid=(1000,), block=(64,))
    assert {(f.kind, f.array) for f in findings} == {("race", "f")}
    assert arrays[1][0] == 1000


def test_stores_of_two_conditions_keep_their_lines():
    """The optimiser joins them to one store, at the line behind them."""
    body = (
        "__shared__ int f;\nint t = threadIdx.x;\nif (t % 2 == 1) f = 100 + t;\n"
        "if (t == 45) f = 200;\n__syncthreads();\ny[t] = f;"
    )
    source = f'extern "C" __global__ void k(int* y) {{\n{body}\n}}'
    findings = simulator.check(source, "k", np.zeros(N, np.int32), grid=(1,), block=(N,))
    assert {frozenset((f.line, f.other_line)) for f in findings} <= {
        frozenset((4,)),
        frozenset((4, 5)),
    }
    assert findings
