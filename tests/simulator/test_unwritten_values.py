"""Values that nothing has written: gaps of structures and the rest of a word may travel through
registers and memory, and only their use is a fault.
"""

from __future__ import annotations

import numpy as np
import pytest

from helpers import simulator

THREADS = 64
TYPES = """
struct Odd { char tag; float v; short t; };
struct Bits { unsigned low : 4; unsigned high : 12; };
struct Mixed { unsigned a : 3; unsigned b : 9; char c; double d; };
struct alignas(16) Wide { float a, b, c; };
struct Nest { char k; Odd o; };
union Either { float f; double d; };
struct Base { int a; char b; };
struct Derived : Base { double c; Odd pair[2]; Derived* next; };
__device__ Odd kept[64];
__device__ float sum(Odd o) { return o.v + o.t + o.tag; }
__device__ Odd made(float v) { Odd o; o.tag = 1; o.v = v; o.t = 2; return o; }
"""
WORD, FLOAT = np.dtype("u4"), np.dtype("f4")
ODD = np.dtype([("tag", "i1"), ("v", "f4"), ("t", "i2")], align=True)
DTYPES = {
    "unsigned": WORD,
    "float": FLOAT,
    "Odd": ODD,
    "Bits": WORD,
    "Mixed": np.dtype([("bits", "u4"), ("c", "i1"), ("d", "f8")], align=True),
    "Wide": np.dtype([("abc", "f4", 3), ("gap", "f4")]),
    "Nest": np.dtype([("k", "i1"), ("o", ODD)], align=True),
    "Either": np.dtype("f8"),
    "Derived": np.dtype(
        [("a", "i4"), ("b", "i1"), ("c", "f8"), ("pair", ODD, 2), ("next", "u8")], align=True
    ),
}
SET_ODD = "s[t].tag = 1; s[t].v = x[i]; s[t].t = i; __syncthreads();"
RIGHT = {
    "members of an output": ("Odd", "out[i].tag = 1; out[i].v = x[i]; out[i].t = i;"),
    "a local structure to an output": (
        "Odd", "Odd o; o.tag = 1; o.v = x[i]; o.t = i; out[i] = o;"),
    "from shared memory to an output": (
        "Odd", f"__shared__ Odd s[64]; {SET_ODD} out[i] = s[63 - t];"),
    "through two shared arrays": (
        "Odd", f"__shared__ Odd s[64], r[64]; {SET_ODD} r[t] = s[63 - t]; out[i] = r[t];"),
    "through a device array": (
        "Odd", f"__shared__ Odd s[64]; {SET_ODD} if (!blockIdx.x) kept[t] = s[t]; out[i] = s[t];"),
    "bit fields": (
        "unsigned", "__shared__ Bits s[64]; s[t].low = 3; s[t].high = t; __syncthreads();\n"
        "out[i] = s[63 - t].low + s[63 - t].high;"),
    "bit fields that are changed": (
        "unsigned", "__shared__ Bits s[64]; s[t].low = 3; s[t].high = t; s[t].low += t;\n"
        "s[t].high ^= 5; __syncthreads(); out[i] = s[63 - t].low * s[63 - t].high;"),
    "bit fields of an output": ("Bits", "out[i].low = 3; out[i].high = t;"),
    "bit fields, copied": (
        "Bits", "__shared__ Bits s[64]; s[t].low = 3; s[t].high = t; __syncthreads();\n"
        "out[i] = s[63 - t];"),
    "bit fields beside members": (
        "Mixed", "__shared__ Mixed s[64]; s[t].a = 3; s[t].b = t; s[t].c = 1; s[t].d = x[i];\n"
        "__syncthreads(); out[i] = s[63 - t];"),
    "a gap at the end": (
        "Wide", "__shared__ Wide s[64]; s[t] = Wide{1, 2, x[i]}; __syncthreads();\n"
        "out[i] = s[63 - t];"),
    "a structure in a structure": (
        "Nest", "Nest n; n.k = 1; n.o.tag = 2; n.o.v = x[i]; n.o.t = 3; __shared__ Nest s[64];\n"
        "s[t] = n; __syncthreads(); out[i] = s[63 - t];"),
    "an argument": ("float", f"__shared__ Odd s[64]; {SET_ODD} out[i] = sum(s[63 - t]);"),
    "a returned structure": ("Odd", "out[i] = made(x[i]);"),
    "local arrays": (
        "Odd", "Odd a[4];\n"
        "for (int j = 0; j < 4; ++j) { a[j].tag = j; a[j].v = x[j]; a[j].t = j; }\n"
        "Odd b[4]; for (int j = 0; j < 4; ++j) b[j] = a[(j + t) & 3]; out[i] = b[t & 3];"),
    "the smaller member of a union": (
        "Either", "__shared__ Either s[64]; s[t].f = x[i]; __syncthreads(); out[i] = s[63 - t];"),
    "a derived structure": (
        "Derived", "Derived d; d.a = 1; d.b = 2; d.c = x[i]; d.next = nullptr;\n"
        "for (Odd& o : d.pair) { o.tag = 1; o.v = 2; o.t = 3; } out[i] = d;"),
    "a value that a selection leaves": (
        "float", "__shared__ float s[64]; if (t) s[t] = x[i]; __syncthreads();\n"
        "out[i] = t < 63 ? s[63 - t] : 0;"),
}  # fmt: skip
WRONG = {
    "a member that is used": (
        "float", "s", "__shared__ Odd s[64]; s[t].tag = 1; s[t].t = 2; __syncthreads();\n"
        "Odd o = s[63 - t]; out[i] = o.v;"),
    "a member in an output": (
        "Odd", "s", "__shared__ Odd s[64]; s[t].tag = 1; s[t].t = 2; __syncthreads();\n"
        "out[i] = s[63 - t];"),
    "a copied number": (
        "float", "s", "__shared__ float s[64]; if (t) s[t] = 1; __syncthreads();\n"
        "out[i] = s[63 - t];"),
    "a sum": (
        "float", "s", "__shared__ float s[64]; if (t) s[t] = 1; __syncthreads();\n"
        "out[i] = s[63 - t] + 1;"),
    "a condition": (
        "float", "s", "__shared__ int s[64]; if (t) s[t] = 1; __syncthreads();\n"
        "if (s[63 - t] > 5) out[i] = 1; else out[i] = 2;"),
    "an index": (
        "float", "s", "__shared__ int s[64]; if (t) s[t] = 1; __syncthreads();\n"
        "out[i] = x[s[63 - t] & 3];"),
    "a bit field": (
        "unsigned", "s", "__shared__ Bits s[64]; s[t].low = 3; __syncthreads();\n"
        "out[i] = s[63 - t].high;"),
    "a bit field in an output": (
        "Bits", "s", "__shared__ Bits s[64]; s[t].low = 3; __syncthreads(); out[i] = s[63 - t];"),
    "through a second array": (
        "float", "s", "__shared__ float s[64], r[64]; if (t) s[t] = 1; __syncthreads();\n"
        "r[t] = s[63 - t]; __syncthreads(); out[i] = 2 * r[63 - t];"),
    "a shuffled value": (
        "float", "s", "__shared__ float s[64]; if (t) s[t] = 1; __syncthreads();\n"
        "out[i] = __shfl_xor_sync(~0u, s[t], 1);"),
    "an atomic": (
        "float", "s", "__shared__ float s[64]; if (t) s[t] = 1; __syncthreads();\n"
        "out[i] = 0; atomicAdd(out + i, s[63 - t]);"),
    "a printed value": (
        "float", "s", "__shared__ int s[64]; if (t) s[t] = 1; __syncthreads();\n"
        "out[i] = 0; if (t == 63 && i < 64) printf(\"%d\\n\", s[63 - t]);"),
}  # fmt: skip
CASES = {**{name: (kind, body) for name, (kind, body) in RIGHT.items()},
         **{name: (kind, body) for name, (kind, _, body) in WRONG.items()}}  # fmt: skip
SOURCE = "#include <cstdio>\n" + TYPES + "".join(
    f"extern \"C\" __global__ void k{number}({kind}* out, const float* x) {{\n"
    f"const int t = threadIdx.x, i = blockIdx.x * 64 + t;\n{body}\n}}\n"
    for number, (kind, body) in enumerate(CASES.values())
)  # fmt: skip


def checked(name: str, blocks: int, outputs: tuple[str, ...], run=simulator.check):
    out = np.zeros(blocks * THREADS, DTYPES[CASES[name][0]])
    x = np.ones(blocks * THREADS, np.float32)
    found = run(
        SOURCE, f"k{list(CASES).index(name)}", out, x, grid=(blocks,), block=(THREADS,),
        outputs=outputs,
    )  # fmt: skip
    return getattr(found, "findings", found)


@pytest.mark.parametrize("outputs", [("out",), ()], ids=["fresh", "kept"])
@pytest.mark.parametrize("name", RIGHT)
def test_gaps_and_unset_bits_are_no_fault(name, outputs):
    assert checked(name, 2, outputs) == ()


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("outputs", [("out",), ()], ids=["fresh", "kept"])
def test_a_use_of_what_nothing_has_written_is_found_at_its_load(name, outputs, capfd):
    findings = checked(name, 2, outputs)
    assert {(f.kind, f.array) for f in findings} == {("uninitialised", WRONG[name][1])}


@pytest.mark.parametrize("name", ["from shared memory to an output", "members of an output"])
def test_a_large_launch_has_no_finding_either(name):
    for run in (simulator.check, simulator.profile):
        assert checked(name, 700, ("out",), run) == ()


def test_an_output_that_lacks_a_member_is_unwritten():
    source = TYPES + 'extern "C" __global__ void k(Odd* out) { out[threadIdx.x].t = 1; }'
    (finding,) = simulator.check(
        source, "k", np.zeros(THREADS, ODD), grid=(1,), block=(THREADS,), outputs=("out",)
    )
    assert finding.kind == "unwritten"


def test_a_tile_that_one_block_has_filled_is_watched_again_in_the_next():
    source = """
extern "C" __global__ void tiles(float* y) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    if (blockIdx.x != 1 || t < 32) tile[t] = t;
    __syncthreads();
    y[blockIdx.x * 64 + t] = tile[63 - t] + 1.0f;
}"""
    y = np.full(3 * 64, np.nan, np.float32)
    (found,) = simulator.check(source, "tiles", y, grid=(3,), block=(64,))
    assert (found.kind, found.array, found.block) == ("uninitialised", "tile", (1, 0, 0))
    assert found.count == 32
