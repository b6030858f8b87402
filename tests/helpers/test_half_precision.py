"""Half precision in the layer: what loops execute, what is read off the record, broken kernels."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import bench, exercises, kernel_cells, labs
from helpers.bench import loop_code, results
from helpers.experiments import half_instructions, half_precision
from helpers.experiments.half_precision import BASIC, HALF, INSIDE, KERNELS, PATCH
from helpers.problems import conv2d, precision
from helpers.simulator.bounds import machine_code
from helpers.simulator.ptx.listing import Instruction

LISTING = """
\t.section\t.text.sums,"ax",@progbits
.text.sums:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_row:
        /*0010*/                   ISETP.GE.AND P0, PT, R2, 0x8, PT ;
        /*0020*/              @!P0 BRA `(.L_rest) ;
.L_eight:
        /*0030*/                   FFMA R3, R4, R5, R3 ;
        /*0040*/                   FFMA R3, R4, R5, R3 ;
        /*0050*/                   FFMA R3, R4, R5, R3 ;
        /*0060*/               @P1 BRA `(.L_eight) ;
.L_rest:
        /*0070*/                   LDG.E R4, desc[UR4][R6.64] ;
        /*0080*/                   FFMA R3, R4, R5, R3 ;
        /*0090*/                   NOP ;
        /*00a0*/              @!P2 BRA `(.L_done) ;
        /*00b0*/                   FFMA R3, R4, R5, R3 ;
.L_done:
        /*00c0*/               @P3 BRA `(.L_row) ;
        /*00d0*/                   EXIT ;
"""


def multiplies(one: Instruction) -> bool:
    return one.root == "FFMA"


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "300_deeper.json")


def test_a_turn_skips_blocks_with_more_products_than_it_executes():
    code = machine_code.read(LISTING, "sums")
    roots = [one.root for one in loop_code.turn(code, multiplies, 2)]
    assert roots == ["ISETP", "BRA", "LDG", "FFMA", "BRA", "FFMA", "BRA"]


@pytest.mark.parametrize("most", [1, 4, 6])
def test_a_turn_that_the_code_cannot_make_is_refused(most):
    with pytest.raises(ValueError, match=f"executes {most} of these"):
        loop_code.turn(machine_code.read(LISTING, "sums"), multiplies, most)


def test_code_without_the_loop_is_refused():
    code = machine_code.read(LISTING, "sums")
    with pytest.raises(ValueError, match="no loop"):
        loop_code.turn(code, lambda one: one.root == "HMMA", 1)


def test_each_instruction_is_of_one_kind():
    turn = loop_code.turn(machine_code.read(LISTING, "sums"), multiplies, 2)
    kinds = {"sums": multiplies, "moves": lambda one: one.root in ("FFMA", "LDG")}
    assert loop_code.by_kind(turn, kinds, "others") == {"sums": 2, "moves": 1, "others": 4}


def test_the_rows_of_conv2d_basic_fit_what_the_hardware_counted():
    everything, in_rows = half_instructions.counted_by_hardware()
    # What is around the loops is a few divisions and the store: more than 50, less than a quarter.
    assert 50 < everything - in_rows < everything / 4


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_row_loads_what_the_simulator_counts(kernel):
    row = half_instructions.row_of_filter(kernel)
    shape = conv2d.shape_of("layer 1", 1)
    per_term = half_precision.profile(kernel, "layer 1").total("lanes", "global", "load") / (
        shape.outputs * shape.terms
    )
    # ptxas joins no loads here; patches at the border of the image load fewer cells.
    assert row.each(half_instructions.LOADS) == pytest.approx(per_term, rel=0.02)


def test_only_halves_are_converted_and_pairs_halve_the_products():
    rows = {kernel: half_instructions.row_of_filter(kernel) for kernel in KERNELS}
    conversions = {
        kernel: row.counts[half_instructions.CONVERSIONS] for kernel, row in rows.items()
    }
    assert conversions[BASIC] == conversions[PATCH] == 0
    assert conversions[INSIDE] > conversions[HALF] == 14  # two factors of seven products
    assert [rows[k].each(half_instructions.PRODUCTS) for k in KERNELS] == [1, 1, 1, 1, 0.5]


def test_a_students_kernel_has_a_row_and_a_bar_of_its_own():
    half, columns = exercises.find("conv2d_half"), exercises.find("conv2d_columns")
    layer, image = bench.layer("layer 1"), columns.on_bench()
    own = layer.count(kernel_cells.parse(half.solution))
    own += image.count(kernel_cells.parse(columns.solution), kernel_cells.parse(columns.stub))
    lines = half_instructions.row_table(own).splitlines()
    (ours,) = (line for line in lines if line.startswith(f"{HALF} "))
    assert lines[-3].split()[2:] == ours.split()[1:]
    assert lines[-2].split()[2:4] == ["14", "7"]  # two products by one instruction
    assert lines[-1].split("  ")[0] == "yours: not yet (conv2d_columns)"
    assert lines[-1].split()[-1] == "-"
    (ax,) = half_instructions.rows_figure(own).axes
    assert len(ax.get_yticklabels()) == len(KERNELS) + 3
    assert len(ax.patches) == 4 * (len(KERNELS) + 2)


def test_each_kernel_passes_its_own_check_and_none_of_a_higher_precision():
    x, filter = conv2d.inputs("layer 1", 1)
    promises = list(half_precision.PROMISES.values())
    for spec in half_precision.SPECS:
        y = conv2d.convolve(spec, x, filter)
        assert half_precision.keeps(y, x, filter, spec.precision)
        if spec.precision is not precision.FLOAT:
            assert not half_precision.keeps(y, x, filter, promises[0])
    assert not half_precision.keeps(np.zeros_like(y), x, filter, promises[-1])


def test_lab_300s_quick_question_has_the_answer_that_it_gives():
    """A row of the check's images stays below 2,048, and two rows may lie above it and be odd."""
    largest_cell = largest_weight = two_rows = 0.0
    for case in exercises.find("conv2d_columns").cases(np.random.default_rng(0)):
        x, filter = (case[name].astype(np.float64) for name in ("x", "filter"))
        largest_cell, largest_weight = max(largest_cell, x.max()), max(largest_weight, filter.max())
        rows = np.lib.stride_tricks.sliding_window_view(x[0, 0], 7, axis=1)
        sums = np.einsum("hwq,mpq->mphw", rows, filter[:, 0])
        assert (sums.astype(np.float16) == sums).all()
        pair = sums[:, 0, :-1] + sums[:, 1, 1:]
        two_rows = max(two_rows, pair[pair.astype(np.float16) != pair].max(initial=0))
    assert (largest_cell, largest_weight) == (41, 7)
    assert 7 * largest_cell * largest_weight == 2009 < 2048 < two_rows <= 4018
    (book,) = (path for path in labs.notebooks() if path.stem.startswith("300_"))
    assert "7 · 41 · 7 = 2,009" in book.read_text(encoding="utf-8")
