"""PTX to programs: what the reader takes, how operands are written, where branches join, and which
registers share a slot.
"""

import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.simulator.machine import library
from helpers.simulator.ptx import Encoding, Module, ParseError, Unsupported
from helpers.simulator.ptx.control import post_dominators
from helpers.simulator.ptx.instructions import ROWS
from helpers.simulator.ptx.lower import Lowering
from helpers.simulator.ptx.opcodes import (
    ACQUIRE,
    ADDRESS_32,
    CONST_SPACE,
    FRAME_LOCAL,
    FTZ,
    GENERIC,
    GLOBAL_SPACE,
    LOCAL_SPACE,
    NAN_RESULT,
    NO_COUNT,
    NON_COHERENT,
    PARAM_SPACE,
    PARAMETER,
    RELAXED,
    RELEASE,
    RESULT_UNUSED,
    ROUND_INTEGER,
    SATURATE,
    SCOPE_CTA,
    SCOPE_GPU,
    SCOPE_SYS,
    SHARED_SPACE,
    TYPES,
    UNALIGNED_OK,
    VOLATILE,
    describe,
)
from helpers.simulator.ptx.registers import SLOT_BYTES
from helpers.simulator.ptx.roots import DIFFERENCE, UNKNOWN, Roots
from helpers.simulator.ptx.rows import STATIC_KINDS

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = """
.reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>;
.reg .f64 %fd<4>; .reg .b128 %q<2>;
"""


class EveryName(dict):
    """Operation ids for whatever name is asked for."""

    def get(self, name, default=None):
        return self.setdefault(name, len(self))


def kernel(
    code, *, top="", parameters=".param .u64 k_param_0, .param .u32 k_param_1", after="", files=""
):
    """A module with one kernel `k` around the code."""
    return f"{HEAD}{top}\n.visible .entry k({parameters}){after}\n{{{REGISTERS}{code}\n}}\n{files}"


class Encoded:
    """A program whose instructions read as text: "name operand, operand" with @slot, #constant,
    special registers and _.
    """

    def __init__(self, text, name="k"):
        self.ids = EveryName()
        self.module = Module(text)
        self.program = Encoding(self.module, name, self.ids, library.operation_operands()).counted()
        self.names = list(self.ids)
        kinds = {number: name for name, number in STATIC_KINDS.items()}
        symbols = {
            one.index: f"&{one.symbol}+{one.addend}"
            for one in self.program.relocations
            if one.kind == "static"
        }
        self.statics = {
            int(one["slot"]) + 1: symbols.get(index)
            or (kinds[int(one["kind"])] if one["kind"] else f"#{int(one['value']):x}")
            for index, one in enumerate(self.program.statics)
        }

    def __getitem__(self, index):
        return self.program.instructions[index]

    def __len__(self):
        return len(self.program.instructions)

    def operands(self, index):
        """The operands of an instruction: slots in the frame as they are, statics as text, None for
        _.
        """
        one = self[index]
        count = int(one["count"])
        slots = one["operand"].tolist()[: min(count, 6)]
        slots += self.program.operands[one["more"] : one["more"] + max(0, count - 6)].tolist()
        return [None if slot == -1 else self.statics[slot] if slot & 1 else slot for slot in slots]

    def name(self, index):
        return self.names[self[index]["operation"]]

    def all_names(self):
        return [self.name(index) for index in range(len(self))]

    def find(self, name):
        """The index of the only instruction of that name."""
        (index,) = [index for index in range(len(self)) if self.name(index) == name]
        return index


def lines(text, **more):
    return Encoded(kernel(text, **more))


def typed(name):
    return TYPES[name]


# ---- names and qualifiers


@pytest.mark.parametrize(
    ("opcode", "name", "flags"),
    [
        ("fma.rn.ftz.f32", "fma.f32", FTZ),
        ("cvt.rzi.s32.f32", "cvt.s32.f32", ROUND_INTEGER | 1),
        ("cvt.rn.f32.s64", "cvt.f32.s64", 0),
        ("mul.wide.s32", "mul.wide.s32", 0),
        ("add.sat.s32", "add.s32", SATURATE),
        ("add.rp.f64", "add.f64", 3),
        ("mov.u32", "mov.b32", 0),
        ("mov.f64", "mov.b64", 0),
        ("mov.pred", "mov.pred", 0),
        ("setp.geu.and.ftz.f32", "setp.geu.and.f32", FTZ),
        ("min.NaN.f16x2", "min.f16x2", NAN_RESULT),
        ("max.xorsign.abs.bf16x2", "max.bf16x2", 1 << 10),
        ("abs.f32", "abs.f32", 0),
        ("shf.l.wrap.b32", "shf.l.b32", 1 << 12),
        ("shf.r.clamp.b32", "shf.r.b32", 0),
        ("ld.volatile.global.u32", "ld", VOLATILE),
        ("ld.global.nc.L1::no_allocate.L2::128B.v4.f32", "ld", NON_COHERENT),
        ("st.release.gpu.global.u32", "st", RELEASE | SCOPE_GPU),
        ("atom.acq_rel.gpu.global.cas.b32", "atom.cas", ACQUIRE | RELEASE | SCOPE_GPU),
        ("red.relaxed.sys.global.add.noftz.f16x2", "atom.add", RELAXED | SCOPE_SYS),
        ("bar.sync", "bar.sync", 0),
        ("barrier.cta.red.popc.aligned.u32", "bar.red.popc", SCOPE_CTA),
        ("barrier.sync", "bar.sync", UNALIGNED_OK),
        ("membar.gl", "fence", SCOPE_GPU),
        ("fence.acq_rel.sys", "fence", ACQUIRE | RELEASE | SCOPE_SYS),
        ("shfl.sync.bfly.b32", "shfl.bfly", 0),
        ("vote.sync.ballot.b32", "vote.ballot", 0),
        ("match.all.sync.b64", "match.all", 0),
        ("redux.sync.add.s32", "redux.add", 0),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "mma.m16n8k16.row.col.f32.f16.f16.f32",
            0,
        ),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16",
            "wmma.load.a.row.m16n16k16.shared.f16",
            0,
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16",
            "ldmatrix.m8n8.x4.trans.shared.b16",
            0,
        ),
        ("cp.async.cg.shared.global.L2::128B", "cp.async.shared.global", NON_COHERENT),
        ("mbarrier.try_wait.parity.shared::cta.b64", "mbarrier.try_wait.parity.shared.b64", 0),
        (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32",
            "st.async.cluster.mbarrier::complete_tx::bytes.u32",
            0,
        ),
        ("bra.uni", "bra", 0),
    ],
)
def test_an_opcode_is_a_name_and_flags(opcode, name, flags):
    found = describe(opcode)
    assert (found.name, found.flags) == (name, flags)


@pytest.mark.parametrize(
    ("opcode", "types", "result"),
    [
        ("add.s32", ("s32",), True),
        ("mul.lo.u32", ("u32",), True),
        ("mul.wide.u32", ("u64", "u32", "u32"), True),
        ("cvt.rn.f32.s64", ("f32", "s64"), True),
        ("cvt.pack.sat.u8.s32.b32", ("u32",), True),
        ("lop3.b32", ("b32",), True),
        ("lop3.or.b32", ("b32",) * 5 + ("pred",), True),
        ("vote.sync.all.pred", ("pred", "pred", "u32"), True),
        ("vote.sync.ballot.b32", ("u32", "pred", "u32"), True),
        ("st.global.v4.f32", (), False),
        ("bar.sync", ("",), False),
        ("bar.red.popc.u32", ("",), True),
        ("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", ("",), False),
        ("mbarrier.arrive.expect_tx.shared.b64", ("",), True),
        ("wmma.store.d.sync.aligned.row.m16n16k16.f32", ("",), False),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", ("",), True),
    ],
)
def test_the_row_of_an_opcode_or_of_its_operation_gives_the_operands(opcode, types, result):
    found = describe(opcode)
    letters = found.row.types or library.operation_operands()[found.name]
    assert (found.types(letters), found.result) == (types, result)


def test_every_row_names_a_lowering_and_types():
    """A wrong row fails here, and not in the first kernel that has the instruction."""
    for opcodes, row in ROWS.items():
        assert callable(getattr(Lowering, row.lowering, None)), opcodes
        assert set(row.types) <= set("tfwupx"), opcodes
    operands = library.operation_operands()
    assert set().union(*operands.values()) <= set("tfwupx")
    roots = {one.partition(".")[0] for opcodes in ROWS for one in opcodes.split()}
    bare = {name.partition(".")[0] for name, letters in operands.items() if not letters}
    assert bare - roots == {"yield"}  # of the encoder's own


# ---- the reader


def test_variables_have_sizes_alignments_and_initial_bytes():
    module = Module(
        HEAD
        + """
        .global .align 4 .b8 table[8] = {1, 0, 0, 0, 2};
        .visible .const .align 8 .f64 number = 0d400C000000000000;
        .global .align 8 .u64 pointer = generic(table)+4;
        .global .align 8 .b8 mixed[16] = {0xFF(table), 0xFF00(table), 0xFF0000(table),
        0xFF000000(table), 0xFF00000000(table),
            0xFF0000000000(table), 0xFF000000000000(table), 0xFF00000000000000(table), 7};
        .global .u16 short_one = -2;
        .global .f32 grid[2][3] = {{0f3F800000, 0f40000000, 0f00000000}, {0fBF800000}};
        .global .attribute(.managed) .align 4 .u32 managed = 5;
        .global .align 8 .u64 functions[2] = {f, 3};
        .extern .shared .align 16 .b8 dynamic[];
        .func f() { ret; }
        """
    )
    table, number, pointer, mixed, short_one, grid, managed, functions, dynamic = (
        module.variables.values()
    )
    assert (table.size, table.align, table.data) == (8, 4, bytes([1, 0, 0, 0, 2, 0, 0, 0]))
    assert (number.space, number.data) == ("const", struct.pack("<d", 3.5))
    assert (pointer.addresses, pointer.size) == (((0, "table", 4),), 8)
    assert (mixed.addresses, mixed.data[8]) == (((0, "table", 0),), 7)
    assert (short_one.data, short_one.align) == (struct.pack("<h", -2), 2)
    assert grid.data[:12] == struct.pack("<3f", 1, 2, 0)
    assert managed.managed and managed.data == struct.pack("<I", 5)
    assert functions.addresses == ((0, "f", 0),) and functions.data[8] == 3
    assert (dynamic.size, dynamic.linkage, dynamic.align) == (0, ".extern", 16)


@pytest.mark.timeout(30)
def test_a_long_table_is_read_in_one_pass():
    """Such as those of a random number generator; a pass for each value would take minutes."""
    values = bytes(random.Random(1).randbytes(200_000))
    module = Module(
        f"{HEAD}\n.global .b8 table[{len(values)}] = {{{', '.join(map(str, values))}}};\n"
    )
    assert module.variables["table"].data == values


def test_scopes_hide_registers_and_labels():
    text = """
    mov.u32 %r1, 1;
    { .reg .b32 %r1; .reg .pred p; mov.u32 %r1, 2; setp.eq.u32 p, %r1, 3; @p bra L1;
    st.global.u32 [%rd1], %r1; L1: }
    { .reg .pred p; setp.eq.u32 p, %r1, 4; @!p bra L1; st.global.u32 [%rd1], %r1;
    L1: add.u32 %r2, %r1, 5; }
    st.global.u32 [%rd1], %r2;
    """
    found = lines(text)
    branches = [index for index, name in enumerate(found.all_names()) if name == "bra"]
    assert [found[branch]["guard"] for branch in branches] == [1, 2]
    assert [found[branch]["target"] for branch in branches] == [branches[0] + 2, branches[1] + 2]
    assert found.operands(branches[0] - 1)[1:] == ["#2", "#3"]
    assert found.operands(branches[1] - 1)[1:] == ["#1", "#4"]


def test_comments_debug_sections_and_directives_are_passed_over():
    text = kernel(
        """ // a comment { with a brace
        .pragma "nounroll"; /* another
        */ .loc 1 12 3
        mov.u32 %r1, 7; st.global.u32 [%rd1], %r1;
        ret;""",
        files='.file 1 "/tmp//source.cu", 1, 2\n.section .debug_str\n{\n$L__info: .b8 1,2,0\n}\n',
    )
    found = Encoded(text)
    assert found.program.places[found[0]["place"]] == ("/tmp//source.cu", 12, (), 3)


def test_places_know_the_calls_around_them():
    text = kernel(
        """
        .loc 1 40 5
        ld.global.u32 %r1, [%rd1];
        .loc 2 7 9, function_name $L__a, inlined_at 1 40 5
        ld.global.u32 %r2, [%rd1];
        .loc 2 3 1, function_name $L__b, inlined_at 2 7 9
        ld.global.u32 %r3, [%rd1];
        .loc 1 41 5
        ld.global.u32 %r4, [%rd1];
        .loc 2 7 9
        ld.global.u32 %r5, [%rd1];
        .loc 2 7 9, function_name $L__a, inlined_at 1 50 5
        ret;""",
        files='.file 1 "a.cu"\n.file 2 "b.h"\n',
    )
    program = Encoded(text).program
    places = [program.places[one["place"]] for one in program.instructions]
    assert [(place.file, place.line, place.inlined) for place in places] == [
        ("a.cu", 40, ()),
        ("b.h", 7, (("a.cu", 40),)),
        ("b.h", 3, (("b.h", 7), ("a.cu", 40))),
        ("a.cu", 41, ()),
        ("b.h", 7, ()),
        ("b.h", 7, (("a.cu", 50),)),
    ]
    groups = [program.place_groups[one["place"]] for one in program.instructions]
    assert groups[1] == groups[4] == groups[5] and len(set(groups)) == 4


@pytest.mark.parametrize(
    "text",
    [
        kernel("mov.u32 %r99, 1;"),
        kernel("bra nowhere;"),
        kernel("mov.u32 %r1, 0f12;"),
        kernel("add.u32 %r1 %r2;;"),
        HEAD + ".visible .entry k( { ret; ",
        HEAD + "garbage",
    ],
)
def test_what_is_not_ptx_is_refused(text):
    with pytest.raises((ParseError, Unsupported)):
        Encoded(text)


# ---- operands


def test_constants_are_typed_by_the_instruction():
    found = lines(
        """
        add.s32 %r1, %r1, -1; add.s64 %rd1, %rd1, -1; add.s16 %rs1, %rs1, 0x7f;
        add.f32 %f1, %f1, 0f3F800000;
        add.f64 %fd1, %fd1, 0d3FF0000000000000; add.f64 %fd1, %fd1, 0f3F800000;
        add.f32 %f1, %f1, 1.5; add.f32 %f1, %f1, 3;
        shl.b64 %rd1, %rd1, 3; mul.wide.s32 %rd1, %r1, -4; mad.wide.u32 %rd1, %r1, 2, 3;
        add.u32 %r1, %r1, WARP_SZ;
        setp.eq.s16 %p1, %rs1, -1; selp.b32 %r1, 0b101, 010, %p1; add.u32 %r1, %r1, 0xFFFFFFFFU;
        and.pred %p1, %p1, 1;
        add.f16 %rs1, %rs1, 0f3FC00000; st.global.u8 [%rd1], 255; st.global.s8 [%rd1], -1;
        """
    )
    values = [
        one for index in range(len(found)) for one in found.operands(index) if isinstance(one, str)
    ]
    assert values == [
        "#ffffffff", "#ffffffffffffffff", "#7f", "#3f800000", "#3ff0000000000000",
        "#3ff0000000000000", "#3fc00000", "#40400000", "#3", "#fffffffc", "#2", "#3", "#20",
        "#ffff", "#5", "#8", "#ffffffff", "#1", "#3e00", "#ff", "#ffff",
    ]  # fmt: skip
    widths = {
        found.statics[int(one["slot"]) + 1]: int(one["bytes"]) for one in found.program.statics
    }
    assert (widths["#fffffffc"], widths["#3e00"], widths["#ffffffffffffffff"], widths["#1"]) == (
        4,
        2,
        8,
        0,
    )


def test_special_registers_are_statics():
    found = lines(
        """
        mov.u32 %r1, %tid.x; mov.u32 %r2, %nctaid.z; cvt.u64.u32 %rd1, %ctaid.y;
        mov.u64 %rd2, %clock64; mov.u32 %r3, %clock;
        mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, %clusterid.x; mov.u16 %rs1, %laneid;
        st.global.v4.u32 [%rd1], {%r1, %r2, %r4, %r5}; st.global.u64 [%rd1], %rd2;
        st.global.v2.u16 [%rd1], {%rs1, %rs1};
        st.global.u32 [%rd1], %r3;
        """
    )
    assert found.operands(0)[1] == "ctaid.y"
    clocks = [index for index, name in enumerate(found.all_names()) if name == "mov.clock"]
    assert [found[index]["immediate"] for index in clocks] == [2, 0]
    assert [found[index]["type"] for index in clocks] == [typed("u64"), typed("u32")]
    stored = next(index for index in range(len(found)) if found[index]["elements"] == 4)
    assert found.operands(stored)[1:] == ["tid.x", "nctaid.z", "#0", "ctaid.x"]
    assert "cvt.u16.u32" in found.all_names()


TWO_ARRAYS = "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];"
ROOTS = {  # the last result of the code: where its address comes from
    "cvta.to.global.u64 %rd3, %rd1;": 0,
    "mul.wide.s32 %rd4, %r1, 4; add.s64 %rd3, %rd2, %rd4;": 8,
    "mul.wide.s32 %rd4, %r1, 4; add.s64 %rd3, %rd4, %rd2;": 8,
    "add.s64 %rd3, %rd1, %rd2;": UNKNOWN,
    "mul.wide.s32 %rd4, %r1, 4; sub.s64 %rd3, %rd2, %rd4;": 8,
    "sub.s64 %rd3, %rd1, %rd1;": None,
    "sub.s64 %rd3, %rd1, %rd2;": DIFFERENCE,
    "sub.s64 %rd3, %rd1, %rd2; shr.s64 %rd4, %rd3, 2;": DIFFERENCE,
    "sub.s64 %rd3, %rd1, %rd2; shr.s64 %rd4, %rd3, 2; add.s64 %rd5, %rd2, %rd4;": UNKNOWN,
    "ld.global.u64 %rd3, [%rd1];": UNKNOWN,
    "ld.global.u64 %rd3, [%rd1]; sub.s64 %rd4, %rd3, %rd3;": DIFFERENCE,
    "ld.param.v2.u64 {%rd3, %rd4}, [a];": 8,
    "mad.lo.s64 %rd3, %rd4, 4, %rd2;": 8,
    "selp.b64 %rd3, %rd2, %rd2, %p1;": 8,
    "selp.b64 %rd3, %rd1, %rd2, %p1;": UNKNOWN,
    "mov.b64 %rd3, {%r1, %r2};": UNKNOWN,
    "mov.b64 {%r2, %r3}, %rd1;": None,
    "mov.u64 %rd3, tile;": "tile",
    "mov.u32 %r3, tile;": "tile",
    "mov.u32 %r3, tile; cvt.u64.u32 %rd3, %r3;": "tile",
    "mov.u32 %r3, tile; mov.u32 %r3, other; cvt.u64.u32 %rd3, %r3;": UNKNOWN,
    "cvt.u64.u32 %rd3, %r1;": None,
    "mov.u64 %rd3, %rd1; mov.u64 %rd3, %rd1;": 0,
    "mov.u64 %rd3, %rd1; mov.u64 %rd3, %rd2;": UNKNOWN,
    "popc.b64 %r3, %rd1; cvt.u64.u32 %rd3, %r3;": None,
}


@pytest.mark.parametrize("code", ROOTS)
def test_the_array_of_an_address_is_certain_or_unknown(code):
    parameters = ".param .u64 a, .param .u64 b, .param .u32 n"
    top = ".shared .align 4 .b8 tile[64]; .shared .align 4 .b8 other[64];"
    text = kernel(f"{TWO_ARRAYS} {code} ret;", top=top, parameters=parameters)
    roots = Roots(body := Module(text).body("k"))
    *_, last = (register for written in body.written for register in written)
    assert roots.of(last) == ROOTS[code]


def test_addresses():
    found = lines(
        """
        .shared .align 4 .b8 tile[64];
        .local .align 8 .b8 own[24];
        ld.param.u32 %r1, [k_param_1];
        ld.global.u32 %r2, [%rd1+-12];
        ld.shared.u32 %r3, [%r2+8];
        ld.shared.v2.f32 {%f1, _}, [tile+16];
        ld.local.u64 %rd2, [own+8];
        ld.const.u32 %r4, [table+20];
        ld.u32 %r5, [%rd1];
        ld.global.u32 %r6, [4096];
        st.global.v2.u32 [variable], {%r1, %r2};
        ld.param.u32 %r7, [k_param_1+0];
        ld.acquire.gpu.global.u64 %rd3, [%rd1 + 16];
        """,
        top=".const .align 4 .b8 table[64]; .global .u64 variable;",
    )
    rows = [found[index] for index in range(len(found) - 1)]
    assert [row["space"] for row in rows] == [
        PARAM_SPACE, GLOBAL_SPACE, SHARED_SPACE, SHARED_SPACE, LOCAL_SPACE, CONST_SPACE, GENERIC,
        GLOBAL_SPACE, GLOBAL_SPACE, PARAM_SPACE, GLOBAL_SPACE,
    ]  # fmt: skip
    assert [row["immediate"] for row in rows] == [8, -12, 8, 16, 8, 20, 0, 4096, 0, 8, 16]
    flags = [int(row["flags"]) & ~NO_COUNT for row in rows]  # nobody reads some of the results
    assert flags == [0, 0, ADDRESS_32, 0, FRAME_LOCAL, 0, 0, 0, 0, 0, ACQUIRE | SCOPE_GPU]
    assert [found.operands(index)[0] is None for index in range(len(rows))] == [
        True, False, False, True, True, True, False, True, True, True, False,
    ]  # fmt: skip
    assert found.operands(3)[2] is None and (rows[3]["bytes"], rows[3]["elements"]) == (4, 2)
    assert [(one.kind, one.index, one.symbol, one.addend) for one in found.program.relocations] == [
        ("immediate", 5, "table", 20),
        ("immediate", 8, "variable", 0),
    ]
    assert found.program.functions["local_bytes"][0] == 32


def test_values_of_8_bits_lie_in_slots_of_16_and_are_extended():
    found = lines(
        "ld.global.s8 %r1, [%rd1]; ld.global.u8 %rs1, [%rd1]; ld.global.b8 %rd2, [%rd1]; "
        "st.global.u8 [%rd1], %r1;"
    )
    assert found.all_names()[:-1] == [
        "ld",
        "cvt.s32.s16",
        "ld",
        "ld",
        "cvt.u64.u16",
        "cvt.u16.u32",
        "st",
    ]
    assert found.operands(0)[1] == found.operands(1)[1]
    assert found.operands(5)[0] == found.operands(6)[1]


def test_conversions_take_registers_of_other_widths():
    found = lines(
        "cvt.s32.s8 %r1, %r2; cvt.u8.u32 %r1, %r2; cvt.s8.s32 %rs1, %r2; st.global.u32 [%rd1], "
        "%rd2; cvt.s8.s32 %rd1, %r1;"
    )
    assert found.all_names()[:-1] == [
        "cvt.u16.u32", "cvt.s32.s8", "cvt.u8.u32", "cvt.u32.u16", "cvt.s8.s32", "cvt.u32.u64", "st",
        "cvt.s8.s32", "cvt.s64.s16",
    ]  # fmt: skip


def test_guards_hold_for_the_conversion_of_a_result_too():
    found = lines(
        "setp.eq.u32 %p1, %r1, 0; @!%p1 ld.global.s8 %r1, [%rd1]; @%p1 st.global.u8 [%rd1], %r1;"
    )
    assert [found[index]["guard"] for index in range(5)] == [0, 2, 2, 0, 1]
    assert (
        found[1]["predicate"]
        == found[2]["predicate"]
        == found[4]["predicate"]
        == found.operands(0)[0]
    )


def test_pairs_vectors_and_negated_predicates_are_written_out():
    found = lines(
        """
        setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;
        shfl.sync.up.b32 %r1|%p4, %r1, 1, 0, -1;
        shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;
        vote.sync.ballot.b32 %r3, !%p1, -1;
        match.all.sync.b32 %r4|%p5, %r1, -1;
        elect.sync _|%p6, -1;
        mov.b32 %r5, {%rs1, %rs2};
        mov.b64 {%r6, _}, %rd1;
        mov.b64 %rd2, {%r6, 5};
        bar.red.popc.u32 %r7, 0, !%p1;
        bar.sync 1, 64;
        barrier.sync %r1;
        """
    )
    names = found.all_names()
    assert names[:-1] == [
        "not.pred", "setp.lt.and.s32", "shfl.up", "shfl.bfly", "not.pred", "vote.ballot",
        "match.all", "elect", "pack.b32.b16", "unpack.b64.b32", "pack.b64.b32", "not.pred",
        "bar.red.popc", "bar.sync", "bar.sync",
    ]  # fmt: skip
    counts = [len(found.operands(index)) for index in range(len(names) - 1)]
    assert counts == [2, 5, 6, 6, 2, 3, 4, 3, 3, 3, 3, 2, 4, 2, 2]
    assert found.operands(3)[1] is None and found.operands(3)[3:] == ["#1", "#1f", "#ffffffff"]
    assert found.operands(7)[0] is None and found.operands(9)[1] is None
    assert (
        found.operands(12)[1:3] == ["#0", None]
        and found.operands(13) == ["#1", "#40"]
        and found.operands(14)[1] is None
    )
    assert found[14]["flags"] == UNALIGNED_OK


def test_atomics():
    found = lines(
        """
        atom.global.add.u32 %r1, [%rd1], 1;
        atom.shared.cas.b32 %r2, [%r1+4], 0, %r1;
        red.global.add.f32 [%rd1], %f1;
        atom.global.v2.f32.add {%f2, %f3}, [%rd1], {%f1, %f1};
        st.global.u32 [%rd1], %r2; st.global.f32 [%rd1], %f3;
        """
    )
    assert found.all_names()[:4] == ["atom.add", "atom.cas", "atom.add", "atom.add"]
    assert [found[index]["flags"] for index in range(4)] == [0, ADDRESS_32, RESULT_UNUSED, 0]
    assert found.operands(0)[2] == "#1" and len(found.operands(1)) == 4
    assert found.operands(2)[1] is None
    assert (found[3]["elements"], len(found.operands(3))) == (2, 5)
    assert lines("atom.global.add.u32 %r1, [%rd1], 1;")[0]["flags"] == RESULT_UNUSED


def test_asynchronous_copies_and_matrices_take_one_slot_an_address():
    found = lines(
        """
        cp.async.ca.shared.global [%r1+4], [%rd1], 4, %r2;
        cp.async.cg.shared.global.L2::128B [tile], [variable+16], 16;
        cp.async.wait_group 2;
        ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r3, %r4}, [%r1];
        mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4},
        {%r5,%r6}, {%f0,%f1,%f2,%f3};
        mbarrier.arrive.shared.b64 _, [%r1], 3;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1],
        [%rd1, {%r2, %r3}], [%r4];
        createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;
        ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;
        prefetch.global.L2 [%rd1];
        """,
        top=".global .u64 variable[8]; .shared .align 16 .b8 tile[64];",
    )
    names = found.all_names()
    assert names[:3] == ["cvt.u64.u32", "add.s64", "cp.async.shared.global"]
    assert found.operands(2)[2] == "#4" and len(found.operands(2)) == 4
    assert found.operands(3) == ["#0", "&variable+16", "#10"]
    assert found[4]["immediate"] == 2 and found.operands(4) == []
    assert len(found.operands(found.find("mma.m16n8k8.row.col.f32.tf32.tf32.f32"))) == 14
    assert found.operands(found.find("mbarrier.arrive.shared.b64"))[0::2] == [None, "#3"]
    tensor = found.find("cp.async.bulk.tensor.2d.cluster.global.tile.mbarrier::complete_tx::bytes")
    assert len(found.operands(tensor)) == 5
    assert len(found.operands(len(found) - 3)) == 2 and found.operands(found.find("prefetch")) == []


def test_shared_variables_keep_their_banks_and_lie_apart():
    found = lines(
        """
        .shared .align 4 .b8 b[12];
        mov.u32 %r1, a; mov.u32 %r2, b; mov.u32 %r3, dynamic; mov.u32 %r4, also;
        st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; cvta.shared.u64 %rd2, %rd1;
        """,
        top=".shared .align 8 .b8 unused[100]; .shared .align 8 .f64 a; .extern "
        ".shared .align 4 .b8 dynamic[];.extern .shared .align 32 .b8 also[];",
    )
    program = found.program
    assert program.shared == [("a", 0, 8), ("b", 1024 + 8, 12)]
    assert (program.real_shared_bytes, program.dynamic_offset, program.uses_dynamic) == (
        20,
        2048 + 32,
        True,
    )
    assert found.operands(0)[1:] == ["#0", "#408", "#820", "#820"]


def test_parameters_and_limits_of_a_kernel():
    found = lines(
        "ret;",
        parameters=".param .u64 .ptr .global .align 4 k_param_0, .param .align 8 .b8 "
        "k_param_1[20], .param .f32 k_param_2",
        after=" .maxntid 128, 2, 1 .minnctapersm 2",
    )
    program = found.program
    assert [(one.offset, one.size, one.type) for one in program.parameters] == [
        (0, 8, "u64"),
        (8, 20, "b8"),
        (28, 4, "f32"),
    ]
    assert (program.parameter_bytes, program.most_threads, program.exact_block) == (32, 256, ())
    assert lines("ret;", after=" .reqntid 32, 4, 1").program.exact_block == (32, 4, 1)
    with pytest.raises(Unsupported, match="cluster"):
        lines("ret;", after=" .explicitcluster .reqnctapercluster 2, 1, 1")
    assert lines("ret;", after=" .explicitcluster .reqnctapercluster 1, 1, 1").program.parameters


# ---- calls


CALLS = """
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.func (.param .align 8 .b8 func_retval0[24]) make (.param .b32 make_param_0,
.param .align 16 .b8 make_param_1[32])
{
    .local .align 8 .b8 own[40];
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u32 %r1, [make_param_0];
    ld.param.u32 %r2, [make_param_1+4];
    mov.u64 %rd1, own;
    st.local.u32 [%rd1], %r2;
    st.param.b32 [func_retval0+8], %r1;
    ret;
}
.func unused() { call unused, (); ret; }
.global .u64 pointers[1] = {make};
"""


def test_calls_pass_what_lies_in_local_memory():
    found = lines(
        """
        { .param .b32 param0; st.param.b32 [param0+0], %r1; .param .align 16 .b8 param1[32];
        st.param.b32 [param1+4], %r2;
          .param .align 8 .b8 retval0[24];
          call.uni (retval0), make, (param0, param1);
          ld.param.b32 %r3, [retval0+8]; }
        { .param .b64 param0; .param .b64 param1; .param .b32 retval0;
        call (retval0), vprintf, (param0, param1); }
        st.global.u32 [%rd1], %r3;
        """,
        top=CALLS,
    )
    program, first = found.program, found.find
    calls = [index for index, name in enumerate(found.all_names()) if name == "call"]
    assert [found[call]["target"] for call in calls] == [found.module.order["make"], -1]
    more = found[calls[0]]["more"]
    assert program.operands[more : more + 8].tolist() == [1, 48, 24, 2, 0, 4, 16, 32]
    assert found[0]["flags"] == FRAME_LOCAL | PARAMETER and found[0]["space"] == LOCAL_SPACE
    make = program.functions[found.module.order["make"]]
    assert (make["parameter_bytes"], make["local_bytes"]) == (32 + 16 + 32, 32 + 16 + 32 + 48)
    assert program.total_local_bytes == 80 + 128 and not program.recursive
    start = make["first"]
    assert [found[start + k]["immediate"] for k in (0, 1, 2, 4)] == [32, 48 + 4, 80, 8]
    assert found.names[found[start + 2]["operation"]] == "mov.local"
    assert program.functions[found.module.order["unused"]]["first"] == -1
    assert first("ret") == make["end"] - 1


def test_indirect_calls_reach_whatever_has_an_address():
    code = (
        "ld.global.u64 %rd1, [pointers]; call %rd1, (), make_type; mov.u64 %rd2, make; "
        "st.global.u64 [%rd1], %rd2;"
    )
    found = lines(code, top=CALLS)
    call = found.find("call")
    assert found[call]["target"] == -(2**31) and len(found.operands(call)) == 1
    assert found.program.functions[found.module.order["make"]]["first"] > 0
    assert found.operands(call + 1)[1] == f"#{(1 << 62) | found.module.order['make']:x}"
    assert found.program.total_local_bytes == 128


def test_recursion_is_known():
    top = """.func f(.param .b32 n) { { call.uni g, (n); } ret; }
             .func g(.param .b32 n) { { call.uni f, (n); } ret; }"""
    assert lines(
        "{ .param .b32 a; call.uni f, (a); }", top=".func g(.param .b32 n);" + top
    ).program.recursive


# ---- control flow


def test_tables_of_branches():
    found = lines(
        """
        ts: .branchtargets L0, L1, L0;
        brx.idx %r1, ts;
        L0: st.global.u32 [%rd1], 1; bra.uni L2;
        L1: st.global.u32 [%rd1], 2;
        L2: st.global.u32 [%rd1], 3; ret;
        """
    )
    assert (found.name(0), found[0]["immediate"], found[0]["join"]) == ("brx.idx", 3, 4)
    assert found.program.operands[found[0]["more"] :].tolist() == [1, 3, 1, 4]


def test_lanes_that_leave_a_kernel_do_not_hold_up_the_others():
    """`if (a) { if (b) return; x } rest`: the ways of a meet at rest, and b is an exit."""
    found = lines(
        """
        @%p1 bra REST; @%p2 bra END; st.global.u32 [%rd1], 1;
        REST: st.global.u32 [%rd1], 2;
        END: ret;
        """
    )
    assert found.all_names() == ["bra", "exit", "st", "st", "exit"]
    assert (found[0]["join"], found[1]["guard"]) == (3, 1)


def test_a_trap_joins_nothing():
    found = lines("@%p1 bra ON; st.global.u32 [%rd1], 1; trap; ON: st.global.u32 [%rd1], 2; ret;")
    assert (found[0]["target"], found[0]["join"]) == (3, 3)


def test_loops_without_an_end_have_joins_inside():
    found = lines(
        "TOP: @%p1 bra A; st.global.u32 [%rd1], 1; bra.uni B; A: st.global.u32 [%rd1], 2; B: "
        "bra.uni TOP;"
    )
    assert found[0]["join"] == 4


def brute_post_dominators(successors, fatal):
    """By the definition: x post-dominates b if no way from b to the root avoids x; the root and its
    region as documented.
    """
    count = len(successors)

    def reached(start, banned, members):
        seen, waiting = {start} - banned, [start] if start not in banned else []
        while waiting:
            for way in successors[waiting.pop()]:
                if way not in seen and way not in banned and way in members:
                    seen.add(way)
                    waiting.append(way)
        return seen

    left = reached(0, set(), set(range(count)))
    found = [-1] * count
    while left:
        exits = [block for block in left if not successors[block]]
        root = max([block for block in exits if block not in fatal] or exits or left)
        region = {block for block in left if root in reached(block, set(), left)}
        above = {
            block: {x for x in region if x != block and root not in reached(block, {x}, region)}
            for block in region - {root}
        }
        above[root] = set()
        for block in region - {root}:
            found[block] = next(x for x in above[block] if len(above[x]) == len(above[block]) - 1)
        left -= region
    return found


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 9).flatmap(lambda n: st.tuples(
    st.lists(st.lists(st.integers(0, n - 1), max_size=3, unique=True), min_size=n, max_size=n),
    st.sets(st.integers(0, n - 1), max_size=2),
)))  # fmt: skip
def test_post_dominators_by_their_definition(case):
    successors, fatal = case
    fatal = {block for block in fatal if not successors[block]}
    assert post_dominators(successors, fatal) == brute_post_dominators(successors, fatal)


# ---- slots


def random_program(seed):
    """A kernel of random blocks, every register defined before it is read, and its branches' labels
    by block.
    """
    rng = random.Random(seed)
    wide, narrow, flags = range(2, 6), range(2, 6), range(1, 4)
    text = [
        "ld.param.u64 %rd1, [k_param_0];",
        "ld.param.u32 %r1, [k_param_1];",
        "cvta.to.global.u64 %rd6, %rd1;",
    ]
    text += [f"ld.global.u64 %rd{k}, [%rd1+{8 * k}];" for k in wide] + [
        f"ld.global.u32 %r{k}, [%rd1+{8 * k}];" for k in narrow
    ]
    text += [f"setp.lt.s32 %p{k}, %r2, {k};" for k in flags]
    blocks, fresh = rng.randint(2, 7), iter(range(10, 10_000))
    for block in range(blocks):
        text.append(f"B{block}:")
        own = []
        for _ in range(rng.randint(0, 6)):
            guard = rng.choice(
                ["", "", "", f"@%p{rng.choice(flags)} ", f"@!%p{rng.choice(flags)} "]
            )
            a, b = rng.choice([*narrow, 1, *own]), rng.choice([*narrow, 1, *own])
            match rng.randint(0, 8):
                case 0:
                    text.append(
                        f"{guard}add.s64 %rd{rng.choice(wide)}, %rd{rng.choice([*wide, 6])}, "
                        f"%rd{rng.choice(wide)};"
                    )
                case 1:
                    text.append(
                        f"{guard}setp.lt.s32 %p{rng.choice(flags)}|%p{rng.choice(flags)}, %r{a}, "
                        f"%r{b};"
                    )
                case 2:
                    text.append(f"{guard}mul.wide.s32 %rd{rng.choice(wide)}, %r{a}, %r{b};")
                case 3:
                    text.append(f"{guard}st.global.u32 [%rd{rng.choice([*wide, 6])}], %r{a};")
                case 4:
                    name = next(fresh)
                    own.append(name)
                    text.append(f"mov.u32 %r{name}, {rng.choice(['%r1', '%tid.x', '17'])};")
                case 5:
                    first, second = next(fresh), next(fresh)
                    own += [first, second]
                    text.append(f"add.s32 %r{first}, %r{a}, %r{b}; mov.u32 %r{second}, %r{first};")
                case 6:
                    x, y = rng.sample(list(narrow), 2)
                    text.append(
                        f"{guard}ld.global.v2.u32 {{%r{x}, %r{y}}}, [%rd{rng.choice(wide)}];"
                    )
                case _:
                    text.append(f"{guard}add.s32 %r{rng.choice(narrow)}, %r{a}, %r{b};")
        text.append(f"st.global.u32 [%rd6], %r{rng.choice(narrow)};")
        if rng.random() < 0.7:
            text.append(f"@%p{rng.choice(flags)} bra B{rng.randrange(blocks)};")
    text.append("ret;")
    return (
        f"{HEAD}.visible .entry k(.param .u64 k_param_0, .param .u32 "
        f"k_param_1) {{ .reg .pred %p<8>; "
        + (".reg .b32 %r<10100>; .reg .b64 %rd<8>;\n" + "\n".join(text) + "\n}")
    )


def mixed(*values):
    """A value that depends on all of these."""
    return hash(values) & 0xFFFFFFFF


def run_text(text, steps):
    """What one thread of the text sees: for every instruction that is not a copy, (opcode, what it
    reads).
    """
    module = Module(text)
    statements = module.body("k").statements
    registers, seen, at = {}, [], 0

    def value(operand):
        kind = type(operand).__name__
        if isinstance(operand, int):
            return registers[operand]
        return {"Special": lambda: "tid.x", "Literal": lambda: f"#{operand.bits:x}"}[kind]()

    while at < len(statements) and len(seen) < steps:
        one = statements[at]
        at += 1
        if one.guard >= 0 and bool(registers[one.guard] & 1) == one.negated:
            continue
        opcode = one.opcode.split(".")[0]
        if opcode == "ret":
            break
        if opcode == "bra":
            at = one.operands[0].statement
            continue
        if opcode in ("mov", "cvta"):
            registers[one.operands[0]] = value(one.operands[1])
            continue
        operands = list(one.operands)
        results = [] if opcode == "st" else [operands.pop(0)]
        if results and type(results[0]).__name__ == "Pair":
            results = [results[0].first, results[0].second]
        elif results and isinstance(results[0], list):
            results = results[0]
        bases = [
            value(o.base)
            for o in operands
            if type(o).__name__ == "Address" and isinstance(o.base, int)
        ]
        read = bases + [value(o) for o in operands if type(o).__name__ != "Address"]
        seen.append((describe(one.opcode).name, tuple(read)))
        for number, result in enumerate(results):
            registers[result] = mixed(len(seen), number)
    return seen


def run_program(text, steps):
    """The same of the encoded program; a slot is known by its offset, and overlapping ones would be
    found by their bytes.
    """
    found = Encoded(text)
    slots, widths, seen, at = {}, {}, [], 0
    while len(seen) < steps:
        one, name, operands = found[at], found.name(at), found.operands(at)
        at += 1
        if one["guard"] and bool(slots[int(one["predicate"])] & 1) == (one["guard"] == 2):
            continue
        if name == "exit":
            break
        if name == "bra":
            at = int(one["target"])
            continue
        if name.startswith("mov"):
            slots[operands[0]] = operands[1] if isinstance(operands[1], str) else slots[operands[1]]
            continue
        if name == "ld":
            results, read = operands[1 : 1 + one["elements"]], operands[:1]
        elif name == "st":
            results, read = [], operands
        else:
            count = 2 if name.startswith("setp") and len(operands) == 4 else 1
            results, read = operands[:count], operands[count:]
        seen.append(
            (name, tuple(o if isinstance(o, str) else slots[o] for o in read if o is not None))
        )
        width = {"setp": 0, "mul": 8}.get(
            name.split(".")[0],
            8 if name == "add.s64" or (name == "ld" and one["bytes"] == 8) else 4,
        )
        for number, result in enumerate(results):
            assert widths.setdefault(result, width) == width, (
                "a slot is reused by a register of another width"
            )
            slots[result] = mixed(len(seen), number)
    for result, width in widths.items():
        end = result + SLOT_BYTES[width]
        assert end <= found.program.functions["frame_bytes"][0]
        assert not any(result < other < end for other in widths)
    return seen


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_threads_read_the_same_values_from_slots_as_from_registers(seed):
    text = random_program(seed)
    assert run_program(text, 400) == run_text(text, 400)


def test_results_of_one_instruction_share_slots_with_nothing():
    """Not with what it reads last, and not with a result that nobody reads."""
    found = lines("ld.global.v2.u64 {%rd5, %rd2}, [%rd1]; st.global.u64 [%rd5], %rd5;")
    assert len(set(found.operands(0))) == 3
    found = lines("shfl.sync.up.b32 %r2, %r1, 1, 0, -1; st.global.u32 [%rd1], %r2;")
    assert found.operands(0)[0] != found.operands(0)[2]
    found = lines("add.s32 %r2, %r1, 1; st.global.u32 [%rd1], %r2;")
    assert found.operands(0)[0] == found.operands(0)[1]


@pytest.mark.parametrize(
    ("code", "stays"),
    [
        (
            "TOP: add.s32 %r2, %r1, 1; mov.u32 %r3, %r2; st.global.u32 [%rd1], %r3; @%p1 bra TOP;",
            False,
        ),
        (
            "TOP: add.s32 %r2, %r1, 1; st.global.u32 [%rd1], %r3; mov.u32 %r3, %r2; @%p1 bra TOP;",
            True,
        ),
        (
            "TOP: add.s32 %r2, %r1, 1; @%p1 bra ON; mov.u32 %r3, %r2; ON: st.global.u32 [%rd1], "
            "%r3; @%p2 bra TOP;",
            True,
        ),
        (
            "add.s32 %r2, %r1, 1; @%p1 bra ON; mov.u32 %r3, %r2; st.global.u32 [%rd1], %r3; ON: "
            "ret;",
            False,
        ),
        ("add.s32 %r2, %r1, 1; @%p1 mov.u32 %r3, %r2; st.global.u32 [%rd1], %r3;", True),
        ("@%p1 add.s32 %r2, %r1, 1; mov.u32 %r3, %r2; st.global.u32 [%rd1], %r3;", True),
        (
            "add.s32 %r2, %r1, 1; mov.u32 %r3, %r2; add.s32 %r2, %r2, 1; st.global.v2.u32 [%rd1], "
            "{%r2, %r3};",
            True,
        ),
        ("mov.u32 %r3, 1; add.s32 %r3, %r3, 1; st.global.u32 [%rd1], %r3;", True),
        ("TOP: mov.u32 %r3, %tid.x; st.global.u32 [%rd1], %r3; @%p1 bra TOP;", False),
        ("mov.u32 %r2, %r3; mov.u32 %r3, 5; st.global.v2.u32 [%rd1], {%r2, %r3};", True),
    ],
)
def test_copies_go_where_they_are_the_same_value(code, stays):
    assert ("mov.b32" in lines(code).all_names()) == stays


def test_many_registers_need_few_slots():
    text = "".join(
        f"add.s32 %r{k + 1}, %r{k}, {k}; st.global.u32 [%rd1], %r{k};" for k in range(2000)
    )
    found = Encoded(kernel(text).replace("%r<16>", "%r<2100>"))
    assert found.program.functions["frame_bytes"][0] <= 4 * 128 + 256


# ---- what is refused


def test_what_has_no_operation_is_refused_by_name_and_line():
    text = kernel(
        ".loc 1 17 3\n tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}]; ret;",
        files='.file 1 "a.cu"\n',
    )
    module = Module(text)
    with pytest.raises(Unsupported, match=r"tex\.2d\.v4\.f32\.f32.*a\.cu:17"):
        Encoding(module, "k", {"exit": 0}, {})
    with pytest.raises(Unsupported, match="envreg1"):
        lines("mov.u32 %r1, %envreg1;")
    with pytest.raises(Unsupported, match="cudaLaunchDevice"):
        lines(
            "{ .param .b32 a; call.uni cudaLaunchDevice, (a); }",
            top=".extern .func cudaLaunchDevice(.param .b32 a);",
        )
    with pytest.raises(Unsupported, match="widths"):
        lines("add.s32 %r1, %r1, %p1;")
    with pytest.raises(KeyError):
        Encoded(kernel("ret;"), "other")


def test_arrays_have_the_machines_layout():
    program = lines("ret;").program
    assert program.instructions.dtype.itemsize == 64 and program.functions.dtype.itemsize == 32
    assert program.statics.dtype.itemsize == 16 and program.operands.dtype == np.int32
