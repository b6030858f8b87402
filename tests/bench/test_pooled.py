"""A layer with its pool on the bench: its forms, and a student's kernel of windows."""

import numpy as np
import pytest

from helpers import bench, exercises
from helpers.kernel_cells import parse
from tests import exercises as answers
from tests.exercises.answers import Answer, right
from tests.exercises.conv_pool import RIGHT

FORMS = ("apart", "lenet_conv_pool")


def cell(answer: Answer, *edits):
    """The %%kernel cell of an answer to conv_pool."""
    one = exercises.find("conv_pool")
    text = answers.text_of(one, right(answer.what, *answer.edits, *edits, file=answer.file))
    return parse(text)


@pytest.mark.parametrize("name", ["layer 1", "layer 2"])
def test_all_forms_compute_the_pooled_layer(name):
    problem = bench.pooled(name)
    every = problem.check(*FORMS, cell(RIGHT[0]))
    assert all(every) and len(every) == 3
    assert problem.y_shape[2:] == {"layer 1": (40, 40), "layer 2": (9, 9)}[name]


def test_a_wrong_window_is_found():
    edit = ("row * pool + r, w = column * pool + s", "row * pool, w = column * pool")
    assert not bench.pooled("layer 2").check(cell(RIGHT[0], edit))


def test_fusing_saves_the_stores_between_the_kernels_and_loads_more():
    problem = bench.pooled("layer 1")
    apart, mine = problem.count("apart", cell(RIGHT[0]))
    stores = [one.per(32, "global_store_sectors") for one in (apart, mine)]
    assert stores == [20, 4]  # four outputs for each window, and the window itself
    assert mine.over(apart, "global_load_sectors") > 1.5


def test_the_work_of_a_pooled_layer_has_fewer_bytes():
    problem, layer = bench.pooled("layer 1", images=7), bench.layer("layer 1", images=7)
    assert problem.work.flops == layer.work.flops
    assert problem.work.bytes == layer.work.bytes - 4 * (3 * problem.outputs)
    assert problem.outputs == int(np.prod((7, 4, 40, 40)))


def test_names_and_sizes_that_there_are_not():
    problem = bench.pooled("layer 1")
    with pytest.raises(bench.KernelError, match="choose from apart, lenet_conv_pool"):
        problem.kernel("conv2d_basic")
    with pytest.raises(bench.KernelError, match="no size 'POOL'"):
        problem.kernel("apart", POOL=3)


def test_a_comparison_without_a_record_says_so():
    times = bench.pooled("layer 1").compare(*FORMS, record="501_nobody_made_it")
    assert "not timed here" in str(times) and "Nothing was timed" in str(times)
