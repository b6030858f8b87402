"""Counting machine instructions: by a listing of our own making, and by the real tools where they
are.
"""

import shutil

import pytest

from helpers import kernels
from helpers.bench import results
from helpers.experiments import sass
from helpers.simulator.listing import Instruction

LISTING = """
	code for sm_90
		Function : other
        /*0000*/                   LDG.E R1, desc[UR8][R2.64] ;   /* 0x0 */
                                                                   /* 0x0 */
        /*0010*/                   EXIT ;                          /* 0x0 */
		Function : sum
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;          /* 0x0 */
        /*0010*/                   LDG.E.CONSTANT R4, desc[UR8][R2.64+0x4] ;  /* 0x0 */
        /*0020*/              @!P0 LDG.E R5, desc[UR8][R2.64] ;    /* 0x0 */
        /*0030*/                   FFMA R6, R4, R5, R6 ;           /* 0x0 */
        /*0040*/                   IADD3 R7, R7, 0x1, RZ ;         /* 0x0 */
        /*0050*/               @P1 BRA 0x10 ;                      /* 0x0 */
        /*0060*/                   STG.E desc[UR8][R2.64], R6 ;    /* 0x0 */
        /*0070*/                   EXIT ;                          /* 0x0 */
        /*0080*/                   BRA 0x80;                       /* 0x0 */
        /*0090*/                   NOP;                            /* 0x0 */
"""
TOLD = """ptxas info    : Compiling entry function 'other' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compiling entry function 'sum' for 'sm_90'
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 4096 bytes smem
"""

needs_tools = pytest.mark.skipif(
    bool(sass.missing()), reason=sass.missing() or "the tools are here"
)


@pytest.fixture
def code():
    return sass.parse(LISTING, TOLD, "sum")


def test_instructions_are_counted_by_kind(code):
    assert code.total == 8, (
        "neither the padding nor the jump to itself is an instruction of the kernel"
    )
    assert code.code_bytes == 128
    wanted = {
        "global loads": 2,
        "multiply-adds": 1,
        "branches": 1,
        "constant loads": 1,
        "global stores": 1,
    }
    assert {kind: code.count(kind) for kind in sass.KINDS if code.count(kind)} == wanted
    assert code.read_only_loads == 1
    assert code.opcodes["LDG.E.CONSTANT"] == 1


def test_only_the_kernel_asked_for_is_counted():
    other = sass.parse(LISTING, TOLD, "other")
    assert (other.total, other.count("global loads"), other.registers, other.spill_bytes) == (
        2,
        1,
        8,
        0,
    )


def test_registers_spills_and_shared_memory(code):
    assert (code.registers, code.spill_bytes, code.shared_bytes) == (24, 20, 4096)


def test_predicates_are_no_opcodes(code):
    assert code.instructions[2] == Instruction(0x20, "!P0", "LDG.E", "R5, desc[UR8][R2.64]")


def test_loads_per_output(code):
    assert code.loads_per_output(49) == 98
    bare = sass.Code("k", "sm_90", (), 8, 0, 0)
    assert bare.loads_per_output(49) != bare.loads_per_output(49), "nan: there are no multiply-adds"


def test_an_excerpt_begins_where_it_is_asked_to(code):
    assert code.excerpt("LDG", 2).splitlines() == [
        "/*0010*/       LDG.E.CONSTANT R4, desc[UR8][R2.64+0x4]",
        "/*0020*/  @!P0 LDG.E R5, desc[UR8][R2.64]",
    ]
    assert code.excerpt("LDG", 1, after=2).endswith("FFMA R6, R4, R5, R6")
    assert code.excerpt("HMMA") == ""


def test_a_row_is_what_a_record_takes(code):
    row = code.row()
    assert row["series"] == "sum"
    assert (row["global_loads"], row["multiply_adds"], row["registers"]) == (2, 1, 24)
    assert all(isinstance(value, int | str) for value in row.values())
    results.Measurement(
        row["series"], {key: value for key, value in row.items() if key != "series"}, None
    )


def test_an_unknown_kind_is_refused(code):
    with pytest.raises(
        ValueError, match="'loads' is no kind of instruction; there are: global loads"
    ):
        code.count("loads")


@pytest.mark.parametrize(
    ("listing", "told", "name", "message"),
    [
        (
            LISTING,
            TOLD,
            "product",
            "no kernel 'product' in the compiled code, which has: other, sum. Is it declared",
        ),
        ("", TOLD, "sum", "which has: none"),
        (LISTING, "", "sum", "ptxas did not report the registers of 'sum'"),
    ],
)
def test_what_is_not_there_is_said(listing, told, name, message):
    with pytest.raises(ValueError, match=message):
        sass.parse(listing, told, name)


@pytest.mark.parametrize(
    ("here", "message"),
    [
        ({"nvcc"}, "not available: cuobjdump is not on the PATH"),
        ({"cuobjdump"}, "not available: nvcc is not on the PATH"),
        (set(), "not available: nvcc and cuobjdump are not on the PATH"),
        ({"nvcc", "cuobjdump"}, ""),
    ],
)
def test_missing_tools_are_named(monkeypatch, here, message):
    monkeypatch.setattr(shutil, "which", lambda tool: tool if tool in here else None)
    assert sass.missing() == message
    if message:
        with pytest.raises(sass.NotAvailableError, match=message):
            sass.of("conv2d_restrict")


def test_the_architecture_of_a_device():
    recorded = results.load(results.MEASURED / "104_tiles.json").device
    assert sass.arch_of(recorded) == "sm_90"


def test_an_unknown_kernel_is_named():
    with pytest.raises(kernels.UnknownKernelError, match="no kernel 'conv2d_restrickt'"):
        sass.of("conv2d_restrickt")


@needs_tools
def test_restrict_makes_the_loads_read_only():
    plain, promised = sass.of("conv2d_basic"), sass.of("conv2d_restrict")
    assert plain.read_only_loads == 0
    assert promised.read_only_loads == promised.count("global loads") == plain.count("global loads")
    assert plain.loads_per_output(49) == promised.loads_per_output(49) == 98


@needs_tools
def test_the_unrolled_kernel_has_every_tap_once():
    code = sass.of("conv2d_unrolled", ["-DFILTER_WIDTH=5"])
    assert (code.count("multiply-adds"), code.count("global loads"), code.spill_bytes) == (
        25,
        50,
        0,
    )


@needs_tools
def test_what_nvcc_says_is_passed_on():
    with pytest.raises(sass.CompileError, match="nvcc failed"):
        sass.of("broken", source='extern "C" __global__ void broken() { nonsense; }')
