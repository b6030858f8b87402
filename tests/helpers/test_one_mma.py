"""Lab 301: which lane loads which cell, and the pictures of it."""


from helpers import bench
from helpers.experiments import one_mma

PRODUCT = bench.mma()


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes]


def test_every_cell_of_our_kernel_is_with_the_lane_of_the_manual():
    (seen,) = PRODUCT.count("mma_one_warp")
    for name, (shape, holder, *_) in one_mma.LAYOUTS.items():
        lanes = one_mma.touched(seen, name)
        assert len(lanes) == shape[0] * shape[1]
        assert all(lane == holder(*cell)[0] for cell, lane in lanes.items())


def test_a_figure_counts_the_cells_that_wrong_lanes_load():
    rows = "const int group = threadIdx.x / 4;"
    kernel = PRODUCT.kernel("mma_one_warp").changed(rows, "const int group = threadIdx.x / 8;")
    wrong = one_mma.kernel_figure(PRODUCT.count(kernel)[0])
    # Group 0 is right for lanes 0 to 3, and rows 4 to 7 of each square are nobody's.
    assert "256 of 256" not in titles(wrong)[0]
    assert "?" in [text.get_text() for text in wrong.axes[0].texts]


def test_the_cost_figure_leaves_out_a_kernel_that_has_not_passed():
    mine = PRODUCT.kernel(bench.yours("one_mma"), like="mma_one_warp")
    seen = PRODUCT.count("mma_one_warp", mine, "mma_ldmatrix")
    requests, sectors = one_mma.cost_figure(seen).axes
    assert [patch.get_width() for patch in requests.patches] == [8, 0, 2]
    assert [patch.get_width() for patch in sectors.patches] == [48, 0, 24]
    assert "not yet" in requests.get_yticklabels()[1].get_text()
