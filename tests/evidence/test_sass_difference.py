"""The tool that shows how the machine code of two sources differs."""

import pytest

from evidence import sass_difference
from helpers import kernels
from helpers.bench import sass
from helpers.simulator.ptx.listing import Instruction

SUM = """extern "C" __global__ void total(float* y, const float* x, int n)
{
    float sum = 0.0f;
    PRAGMA
    for (int i = 0; i < 8; ++i) { sum += x[8 * threadIdx.x + i]; }
    y[threadIdx.x] = sum;
}
"""


@pytest.fixture(scope="module")
def codes():
    texts = {"rolled": "_Pragma(\"unroll 1\")", "straight": "_Pragma(\"unroll\")"}
    return {
        name: sass.assembled("total", source=SUM.replace("PRAGMA", text))
        for name, text in texts.items()
    }


def test_a_loop_and_straight_code_are_told_apart(codes):
    assert len(codes["rolled"].loops) == 1
    (turn,) = codes["rolled"].loops
    assert [i.opcode.partition(".")[0] for i in turn].count("LDG") == 1
    assert not codes["straight"].loops
    # The sum waits for loads: all eight are on their way before the first value is stored.
    assert codes["straight"].order(LDG="L", STG="S") == "LLLLLLLLS"
    assert codes["rolled"].order(LDG="L", STG="S") == "LS"


def test_the_table_has_what_differs_or_what_is_asked_for(codes):
    head, rolled, straight = sass.table(codes).splitlines()
    assert "LDG" in head and "EXIT" not in head
    assert rolled.split()[0] == "rolled" and straight.split()[0] == "straight"
    head, *_ = sass.table(codes, ["STG"]).splitlines()
    assert head.split()[-1] == "STG"


def test_the_same_text_with_other_names_does_not_differ(codes):
    renamed = SUM.replace("PRAGMA", "_Pragma(\"unroll\")").replace("sum", "other")
    again = sass.assembled("total", source=renamed)
    assert sass.difference(codes["straight"], again) == ""


def test_one_changed_constant_is_one_changed_line(codes):
    text = SUM.replace("PRAGMA", "_Pragma(\"unroll\")").replace("float sum = 0", "float sum = 3")
    lines = sass.difference(
        codes["straight"], sass.assembled("total", source=text), context=0
    ).splitlines()
    changed = [line for line in lines if line[0] in "+-"]
    assert len(changed) == 2
    assert "FADD" in changed[0] and changed[1].endswith("3")


def test_names_of_registers_and_addresses_do_not_count():
    def one(operands, opcode="FADD", predicate=""):
        return sass.normalised(Instruction(0, predicate, opcode, operands))

    assert one("R1, R2.reuse, 1") == one("R7, R4, 1") == "FADD R, R, 1"
    assert one("R1, R2, 1") != one("R1, R2, 2")
    assert one("0x120", "BRA", "!P0") == one("0x80", "BRA", "!P3") == "@!P BRA label"
    assert one("R5, SR_CTAID.X", "S2R") == "S2R R, SR_CTAID.X"


def test_the_command_says_what_differs(capsys, tmp_path):
    narrow, wide = ("conv1d_constant -DFILTER_WIDTH=15", "conv1d_constant -DFILTER_WIDTH=31")
    assert sass_difference.main([narrow, wide]) == 1
    out = capsys.readouterr().out
    assert "B: conv1d_constant -DFILTER_WIDTH=31" in out
    assert "\n-" in out and "\n+" in out
    file = tmp_path / "mine.cu"
    file.write_text(kernels.source("conv1d_constant"))
    same = ["conv1d_constant", str(file), "--kernel", "conv1d_constant", "-DFILTER_WIDTH=7"]
    assert sass_difference.main(same) == 0
    assert "no difference" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("a", "message"),
    [
        ("conv1d_konstant", "no kernel of kernels/, and no file"),
        ("conv1d_constant -DFILTER_WIDTH=", "conv1d_constant.cu"),
        ("nothing.cu", "No such file"),
    ],
)
def test_what_cannot_be_compiled_is_an_error(capsys, a, message):
    assert sass_difference.main([a, "conv1d_constant"]) == 2
    assert message in capsys.readouterr().err
