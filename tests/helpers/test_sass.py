"""Counting machine instructions: by a listing of our own making, and by the compilers."""

import pytest

from helpers import kernels
from helpers.bench import sass
from helpers.simulator.ptx.listing import Instruction

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


@pytest.fixture
def code():
    return of_listing("sum")


def of_listing(kernel, listing=LISTING):
    return sass.Code(kernel, "sm_90", sass.instructions(listing, kernel), 24, 20, 4096)


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
    assert code.opcodes["LDG.E.CONSTANT"] == 1


def test_only_the_kernel_asked_for_is_counted():
    other = of_listing("other")
    assert (other.total, other.count("global loads")) == (2, 1)


def test_predicates_are_no_opcodes(code):
    assert code.instructions[2] == Instruction(0x20, "!P0", "LDG.E", "R5, desc[UR8][R2.64]")


def test_an_unknown_kind_is_refused(code):
    with pytest.raises(
        ValueError, match="'loads' is no kind of instruction; there are: global loads"
    ):
        code.count("loads")


@pytest.mark.parametrize(
    ("listing", "name", "message"),
    [
        (
            LISTING,
            "product",
            "no kernel 'product' in the compiled code, which has: other, sum. Is it declared",
        ),
        ("", "sum", "which has: none"),
    ],
)
def test_what_is_not_there_is_said(listing, name, message):
    with pytest.raises(ValueError, match=message):
        of_listing(name, listing)


def test_an_unknown_kernel_is_named():
    with pytest.raises(kernels.UnknownKernelError, match="no kernel 'conv2d_restrickt'"):
        sass.assembled("conv2d_restrickt")


def test_restrict_makes_the_loads_read_only():
    plain, promised = sass.assembled("conv2d_basic"), sass.assembled("conv2d_restrict")
    read_only = [promised.opcodes[name] for name in promised.opcodes if name.startswith("LDG.")]
    assert not any("CONSTANT" in name for name in plain.opcodes)
    assert set(promised.opcodes) & {"LDG.E", "LDG.E.CONSTANT"} == {"LDG.E.CONSTANT"}
    assert sum(read_only) == promised.count("global loads") == plain.count("global loads")


def test_the_unrolled_kernel_has_every_tap_once():
    code = sass.assembled("conv2d_unrolled", ["-DFILTER_WIDTH=5"])
    counts = code.count("multiply-adds"), code.count("global loads"), code.spill_bytes
    assert counts == (25, 50, 0)
