"""What lab 306 shows: descriptors, swizzled tiles, a kernel in plain products, and its records."""

import numpy as np
import pytest

from helpers.experiments import warpgroup_layer as shown
from helpers.problems import conv2d


def test_the_drawing_names_the_fields_of_the_exercise():
    (ax,) = shown.descriptor_figure(tap=1).axes
    texts = [text.get_text() for text in ax.texts]
    assert "other_half: 34 octets = 544 bytes" in texts
    assert "next_eight: 8 octets = 128 bytes" in texts
    assert "column w of B is cell w + 1" in ax.get_title(loc="left")


def test_a_swizzle_is_judged_by_its_conflicts():
    assert shown.swizzle_table(lambda row, piece: ...) == "yours: not yet"
    assert "its own place" in shown.swizzle_table(lambda row, piece: 0)
    assert "eight places" in shown.swizzle_table(lambda row, piece: piece)
    assert "hardware expects" in shown.swizzle_table(lambda row, piece: (piece + row) % 8)
    right = shown.swizzle_table(lambda row, piece: piece ^ row)
    assert "not yet" not in right and "hardware" not in right
    assert right.splitlines()[-1].split()[-1] == "1"


def test_the_swizzled_picture_has_each_piece_once_in_a_row():
    for ax in shown.swizzle_figure().axes:
        assert sorted(text.get_text() for text in ax.texts) == sorted(8 * list("01234567"))


# The lab's compared cells have the right kernel, and two other faults.
def test_a_descriptor_without_its_step_gives_wrong_values():
    assert "values are wrong" in shown.check(("OCTET, 8);", "0, 8);"))


def test_products_of_warpgroups_are_counted_by_what_the_fragments_hold():
    steps = conv2d.mma_wgmma(1).fragments(np.ones((1, 16, 4, 7, 7), np.float16)).shape[0]
    assert shown.warpgroup_flops(1) == 2 * 64 * 16 * steps * shown.WARPGROUP_COLUMNS
    assert shown.warpgroup_flops(2) == 3 * shown.warpgroup_flops(1)
    assert shown.WARPGROUP_COLUMNS >= 17 * 17  # the quads of an image
    assert shown.useful() == pytest.approx(49 / 64 * 289 / 304)


def test_a_granule_has_the_window_row_of_its_quad():
    """17 quads a row: quad 20 begins in column 6 and quad 21 two columns further on."""
    image, planes = shown.granules_figure().axes
    said = [text.get_text() for text in planes.texts]
    cells = [int(text) for text in said if text.isdigit()]
    assert cells == [*range(6, 14), *range(8, 16)] * 2
    assert [text for text in said if not text.isdigit()] == ["granule 20", "granule 21"]
    assert [line.get_xdata().tolist() for line in image.lines] == [[6, 14], [8, 16]]


def test_figures_and_tables_say_what_the_benchmark_says():
    gain = shown.ms(shown.PAIRS) / shown.ms(shown.WGMMA)
    (ax,) = shown.batches_figure().axes
    assert f"{gain:.2f} times as fast as mma" in ax.get_title(loc="left")
    table = shown.winners_table()
    assert sum(line.startswith("layer ") for line in table.splitlines()) == 1 + 4 * 3
    assert "conv2d_wgmma" in table and "conv2d_implicit_mma_split" in table


def test_rates_of_products_count_the_useful_ones():
    mma, wgmma = shown.rates_table(shown.rates()).splitlines()[1:]
    rate, share, _, useful = mma.split()[-4:]
    assert share == "83" and int(useful) == pytest.approx(int(rate) * 7 / 8 * 289 / 304, abs=1)
    assert "73 %" in wgmma
