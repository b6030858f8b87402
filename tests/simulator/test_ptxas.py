"""Which accesses ptxas makes of those of PTX, by the machine code."""

from pathlib import Path

import pytest

from helpers import kernels
from helpers.simulator.compile import compiler, toolkit
from helpers.simulator.machine import library
from helpers.simulator.program import assembly
from helpers.simulator.ptx import cubin, sass
from helpers.simulator.ptx.atomics import JOINED, ONE_LANE, SPIN, WHOLE_WARP, WORD
from helpers.simulator.ptx.encode import Encoding
from helpers.simulator.ptx.opcodes import NO_COUNT
from helpers.simulator.ptx.parse import Module

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 n)
{
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<9>;
.reg .f64 %d<9>;
.shared .align 16 .b8 s[4096];
ld.param.u64 %rd1, [x];
ld.param.u32 %r9, [n];
mov.u32 %r1, %tid.x;
mov.u32 %r2, s;
shl.b32 %r3, %r1, 4;
add.s32 %r4, %r2, %r3;
shl.b32 %r6, %r9, 2;
add.s32 %r5, %r2, %r6;
"""
FIRST = HEAD.count("\n") + 1  # the line of a body's first statement


def encoded(module):
    """The kernel `k` of a module."""
    return Encoding(module, "k", library.operation_ids(), library.operation_operands())


def counted(body, machine_code=None):
    """The pieces of each ld and st of `body`, by its lines: [(line, ((shift, bytes), ...))].

    %r4 is aligned to 16 bytes, %r5 to 4, both in shared memory; %rd1 is a pointer.
    """
    module = Module(f"{HEAD}{body.strip()}\nret;\n}}\n")
    lines = None
    if machine_code is not None:
        lines = {
            FIRST + line: tuple(sass.Access(f"{one[:3]}.X", int(one[3:])) for one in found.split())
            for line, found in machine_code.items()
        }
    program = encoded(module).counted(lines)
    rows = [
        row
        for row in program.instructions
        if row["operation"] in memory() and row["space"] in (0, 1, 2)
    ]
    return [pieces_of(row) for row in rows]


def memory():
    ids = library.operation_ids()
    return ids["ld"], ids["st"]


def pieces_of(row):
    """(shift, bytes) of what is counted, as the machine reads an instruction."""
    if row["flags"] & NO_COUNT:
        return ()
    join, shift = int(row["join"]), int(row["target"])
    if join <= 0:
        return ((0, int(row["bytes"]) * int(row["elements"])),)
    first = (shift, join & 255)
    return (first, (shift + (join >> 16), join >> 8 & 255)) if join >> 8 else (first,)


def loads(offsets, base="%r4", type="f32", space="shared", width=4):
    name = {"f32": "%f", "u16": "%h", "f64": "%d"}[type]
    return "".join(
        f"ld.{space}.{type} {name}{k + 1}, [{base}+{o * width}];\n" for k, o in enumerate(offsets)
    )


def used(registers):
    return "".join(
        f"st.volatile.global.b32 [%rd1+{64 + 4 * k}], {one};\n" for k, one in enumerate(registers)
    )


# ---- loads and stores ----

VECTORS = (
    "shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r4+32]",
    "global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+32]",
)


# Elements of ld.v4 that somebody reads, the instructions of its line, and what is loaded.
@pytest.mark.parametrize(
    ("read", "code", "wanted"),
    [
        ((1,), "LD_4", ((4, 4),)), ((0, 1), "LD_8", ((0, 8),)), ((2, 3), "LD_8", ((8, 8),)),
        ((0, 3), "LD_4 LD_4", ((0, 4), (12, 4))), ((1, 2), "LD_4 LD_4", ((4, 4), (8, 4))),
        ((0, 1, 3), "LD_16", ((0, 16),)), ((), "", ()),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", VECTORS)
def test_only_what_is_read_is_loaded(read, code, wanted, where):
    body = f"ld.{where};\n{used([f'%f{k + 1}' for k in read])}"
    lines = {0: code.replace("_", where[0].upper())} if code else {}
    assert counted(body, lines)[0] == wanted
    assert counted(body)[0] == ((0, 16),)


def test_stores_of_neighbours_are_one():
    stores = "".join(f"st.shared.u32 [%r4+{4 * k}], %r9;\n" for k in range(4))
    assert counted(stores, {3: "STS16"}) == [(), (), (), ((-12, 16),)]
    assert counted(stores, {1: "STS8", 2: "STS4", 3: "STS4"})[:2] == [(), ((-4, 8),)]
    assert counted(stores) == [((0, 4),)] * 4


FOUR = loads(range(4), "%r5") + used(["%f1", "%f2", "%f3", "%f4"])


def test_the_machine_code_decides_about_widths():
    assert counted(FOUR)[:4] == [((0, 4),)] * 4
    assert counted(FOUR, {0: "LDS16"})[:4] == [((0, 16),), (), (), ()]
    assert counted(FOUR, {0: "LDS8", 2: "LDS8"})[:4] == [((0, 8),), (), ((0, 8),), ()]
    assert (
        counted(
            loads(range(4)) + used(["%f1", "%f2", "%f3", "%f4"]), {k: "LDS4" for k in range(4)}
        )[:4]
        == [((0, 4),)] * 4
    )


def test_copies_of_a_loop_are_one_access():
    assert counted(FOUR, {k: "LDS4 LDS4 LDS4" for k in range(4)})[:4] == [((0, 4),)] * 4


def test_what_is_not_sure_stays_as_ptx_has_it():
    assert counted(FOUR, {0: "LDS16 LDS4", 1: "LDS4", 2: "LDS4", 3: "LDS4"})[:4] == [((0, 4),)] * 4
    # Nothing explains that this load is not there.
    assert counted("ld.shared.f32 %f1, [%r4];\n" + used(["%f1"]), {})[0] == ((0, 4),)


def test_a_load_of_what_a_dominating_block_has_loaded():
    again = "ld.global.f32 %f1, [%rd1];\n@%p1 bra L;\n{}ld.global.f32 %f2, [%rd1];\nL:\n" + used(
        ["%f1", "%f2"]
    )
    assert counted(again.format(""), {0: "LDG4"})[:2] == [((0, 4),), ()]
    stored = counted(again.format("st.global.u32 [%rd1+4], %r9;\n"), {0: "LDG4", 2: "STG4"})
    assert stored[:3] == [((0, 4),), ((0, 4),), ((0, 4),)]


# ---- atomics ----


def form(atomic, machine_code=""):
    """What becomes of an atomic: %rd1, %rd2 and %r9 are the same for all lanes, %rd4 and %r1 are
    not; s and %r4 lie in shared memory. machine_code: opcodes of its line."""
    body = f"""mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd1, %rd3;
        mov.u32 %r20, %ctaid.x;
        mul.wide.u32 %rd5, %r20, 8;
        add.s64 %rd2, %rd1, %rd5;
        {atomic}
        {used(["%r8"]) if "%r8" in atomic else ""}"""
    lines = (
        {FIRST + 5: tuple(sass.Access(one, 4) for one in machine_code.split())}
        if machine_code
        else None
    )
    module = Module(f"{HEAD}{body.strip()}\nret;\n}}\n")
    program = encoded(module).counted(lines)
    atomics = {
        number for name, number in library.operation_ids().items() if name.startswith("atom.")
    }
    (row,) = [row for row in program.instructions if row["operation"] in atomics]
    return int(row["join"])


@pytest.mark.parametrize(
    ("atomic", "wanted"),
    [
        ("red.global.add.f32 [%rd1], %f1;", 0),
        ("red.global.add.u32 [%rd1], %r1;", 0),
        ("red.global.add.u64 [%rd1], 1;", 0),
        ("red.shared.add.u32 [%r4], 1;", 0),
        ("red.shared.add.f32 [%r4], %f1;", SPIN),
        ("red.add.f32 [%rd4], %f1;", SPIN),
        ("red.shared.add.f64 [%r4], %d1;", SPIN),
        ("red.shared.min.u64 [%r4], %rd4;", SPIN),
        ("atom.shared.exch.b64 %rd6, [%r4], %rd4;", 0),
        ("atom.global.cas.b16 %h1, [%rd4], %h2, %h3;", WORD),
        ("atom.global.add.noftz.f16 %h1, [%rd4], %h2;", WORD),
        ("red.global.add.noftz.f16x2 [%rd4], %r9;", 0),
    ],
)
def test_what_becomes_of_an_atomic_by_its_type(atomic, wanted):
    assert form(atomic) == wanted


def test_the_machine_code_tells_who_updates():
    assert (
        form("red.global.add.u32 [%rd4], %r9;", "VOTEU.ANY REDUX.SUM REDG.E.ADD.STRONG.GPU")
        == ONE_LANE
    )
    # Several atomics may share a vote, which then stands at one of them.
    for shared in ("REDUX.SUM REDG.E.ADD.STRONG.GPU", "POPC REDG.E.ADD.STRONG.GPU"):
        assert form("red.global.add.u32 [%rd1], %r9;", shared) == ONE_LANE
    assert form("red.global.add.u32 [%rd1], %r9;", "REDG.E.ADD.STRONG.GPU") == 0
    lanes = "VOTE.ANY ATOMG.E.ADD.STRONG.GPU SHFL.UP SHFL.UP SHFL.UP ATOMG.E.ADD.STRONG.GPU"
    assert form("atom.global.add.u32 %r8, [%rd1], %r1;", lanes) == WHOLE_WARP
    assert form("red.shared.add.u32 [%r4], %r9;", "ATOMS.POPC.INC.32") == JOINED


LISTING = """
\t.section\t.text.k,"ax",@progbits
k:
.text.k:
\t//## File ".nv_debug_ptx_txt", line 23
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File ".nv_debug_ptx_txt", line 30
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R6.64+0x10] ;
        /*0020*/                   LDS.U16 R4, [R2+UR4] ;
\t//## File ".nv_debug_ptx_txt", line 31
.L_x_0:
        /*0030*/                   ATOMS.CAST.SPIN.64 R2, [R0], R2, R4 ;
        /*0040*/                   STG.E desc[UR4][R6.64], R4 ;
\t.section\t.text.other,"ax",@progbits
        /*0000*/                   LDS R4, [R2] ;
\t//## File ".nv_debug_ptx_txt", line 31
        /*0010*/                   ST.E.64 desc[UR4][R6.64], R4 ;
"""


def test_a_listing_is_read():
    sections = sass.accesses(LISTING)
    assert sections == {
        "k": {
            30: (sass.Access("LDG.E.128.CONSTANT", 16), sass.Access("LDS.U16", 2)),
            31: (sass.Access("ATOMS.CAST.SPIN.64", 8), sass.Access("STG.E", 4)),
        },
        "other": {31: (sass.Access("ST.E.64", 8),)},
    }
    assert sass.from_record(sass.to_record(sections)) == sections
    assert sass.of_kernel(sections, "k", ["k", "other"]) == sections["k"]
    assert sass.of_kernel(sections, "k", ["k"])[31] == sections["k"][31]


SOURCE = """
extern "C" __global__ void k(float* y, const float* x, int n)
{
    __shared__ float4 tile[64];
    tile[threadIdx.x] = ((const float4*)x)[threadIdx.x];
    __syncthreads();
    const float4 four = tile[(threadIdx.x + n) % 64];
    const float* words = (const float*)&tile[threadIdx.x];
    y[threadIdx.x] = four.x + four.y + words[n & 3];
}
"""


needs_assembler = pytest.mark.skipif(
    not (toolkit.program("ptxas") and toolkit.program("nvdisasm")),
    reason="needs ptxas and nvdisasm",
)


@needs_assembler
def test_a_kernel_is_counted_by_its_machine_code():
    compiled = compiler.compile_source(SOURCE)
    encoding = encoded(Module(compiled.ptx))
    as_written, by_code = encoding.counted(), encoding.counted(assembly.accesses(compiled, "k"))
    assert not as_written.by_machine_code.any()
    assert by_code.by_machine_code.sum() == 5
    narrowed = [
        (pieces_of(one), pieces_of(other))
        for one, other in zip(as_written.instructions, by_code.instructions, strict=True)
        if one["operation"] in memory() and pieces_of(one) != pieces_of(other)
    ]
    assert narrowed == [(((0, 16),), ((0, 8),))]  # two of the four words of a vector are read


# ---- the cubin's bytes, in place of a listing ----

TWO_FUNCTIONS = """
__device__ __noinline__ double sum(const double* x, int n)
{
    double s = 0;
    for (int k = 0; k < n; ++k) s += x[k];
    return s;
}
extern "C" __global__ void first(double* y, const double* x, int n) { y[threadIdx.x] = sum(x, n); }
extern "C" __global__ void second(unsigned char* y, const short* x, int n)
{
    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] + (int)sqrtf(n);
}
"""


def cubin_of(source: str) -> tuple[compiler.Compiled, dict[str, bytes], list[str]]:
    compiled = compiler.compile_source(source, [f"-I{kernels.FOLDER}"])
    binary, _ = assembly._assembled(compiled.ptx, compiled.architecture, 0, True)
    sections = assembly._sections(binary)
    return compiled, sections, assembly._symbols(binary)


def essential(found: dict[str, sass.Lines]) -> dict[str, dict[int, list[tuple[str, int, bool]]]]:
    """Accesses by section and line: kinds, widths of plain ones, and whether lanes are counted."""
    return {
        name: {
            line: [(one.root, one.is_plain and one.bytes, "POPC" in one.opcode) for one in of]
            for line, of in lines.items()
        }
        for name, lines in found.items()
    }


ATOMICS = """
extern "C" __global__ void k(int* y, float* z, unsigned long long* w)
{
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 8], 1);
    const int old = atomicCAS(&bins[threadIdx.x % 3], 2, 3);
    __syncthreads();
    atomicAdd(&y[threadIdx.x % 8], bins[threadIdx.x % 8] + __shfl_xor_sync(~0u, old, 1));
    atomicAdd(z, 1.5f);
    w[threadIdx.x] = atomicAdd(&w[32 + threadIdx.x], 2ull) + __ballot_sync(~0u, old > 1);
}
"""


STRANGERS = Path(__file__).resolve().parent / "counters" / "strangers"
DOUBLES_AND_LANES = """
extern "C" __global__ void k(double* y, const float* x, int n)
{
    double sum = rint(x[threadIdx.x] * 0.5) * y[0];
    unsigned lanes = __brev(__match_any_sync(~0u, n + threadIdx.x % 3));
    for (int k = 0; k < n; ++k) {
        if (sum > y[k]) break;
        sum += y[k] * __shfl_sync(~0u, lanes, k, n);
        while (__shfl_down_sync(~0u, lanes, k) > n) {
            if (x[lanes % 32] > 1) break;
            lanes /= 3;
        }
    }
    __threadfence_system();
    y[threadIdx.x] = sum + trunc(sum);
}
"""


@needs_assembler
@pytest.mark.parametrize(
    "source",
    [
        SOURCE,
        TWO_FUNCTIONS,
        ATOMICS,
        DOUBLES_AND_LANES,
        (STRANGERS / "recursive_walk.cu").read_text(),
        *map(
            kernels.source,
            ("conv1d_tiled_steps", "conv2d_register_tiled", "gemm_tiled", "fft_radix2"),
        ),
    ],
    ids=[
        "vectors",
        "functions",
        "atomics",
        "doubles and lanes",
        "recursion",
        "conv1d_tiled_steps",
        "conv2d_register_tiled",
        "gemm_tiled",
        "fft_radix2",
    ],
)
def test_a_cubin_says_what_its_listing_says(source):
    compiled, sections, symbols = cubin_of(source)
    listed = essential(sass.accesses(assembly._listing(compiled, "--print-line-info-ptx")))
    assert essential(cubin.accesses(sections, symbols)) == listed
    assert listed


@needs_assembler
def test_a_cubin_with_an_unknown_instruction_or_table_is_left_to_nvdisasm(monkeypatch):
    compiled, sections, symbols = cubin_of(ATOMICS)
    monkeypatch.delitem(cubin._SPECIAL, 0x38D)
    with pytest.raises(cubin.NotRead, match="instruction of code 0x38d"):
        cubin.accesses(sections, symbols)
    listed = sass.accesses(assembly._listing(compiled, "--print-line-info-ptx"))
    assert assembly._accesses(compiled) == listed

    _, sections, symbols = cubin_of(SOURCE)
    table = sections[".nv_debug_line_sass"]
    other = {**sections, ".nv_debug_line_sass": table[:4] + b"\5\0" + table[6:]}
    with pytest.raises(cubin.NotRead, match="version 5"):
        cubin.accesses(other, symbols)
    with pytest.raises(cubin.NotRead, match="of no symbol"):
        cubin.accesses({**sections, ".rela.nv_debug_line_sass": b""}, symbols)
