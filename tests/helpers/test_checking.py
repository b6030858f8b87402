"""checking: every diagnosis is fed its mutant, and near-misses must not get it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import kernels
from helpers.checking import CheckError, check, require_array
from helpers.limits import require_filter

RNG = np.random.default_rng(20)


def values(*shape: int) -> np.ndarray:
    """Random float64 values, all different and far from 0."""
    return RNG.uniform(1.0, 2.0, shape) * RNG.choice([-1.0, 1.0], shape)


def failure(got, want, rtol=1e-6, **more) -> CheckError:
    with pytest.raises(CheckError) as caught:
        check(got, want, rtol=rtol, **more)
    return caught.value


def kind(got, want, **more) -> str:
    return failure(got, want, **more).diagnosis.kind


def spoiled(want: np.ndarray, where, value=None) -> np.ndarray:
    got = want.copy()
    got[where] = (
        want[where] * -3.7 + RNG.uniform(5, 9, got[where].shape) if value is None else value
    )
    return got


# --------------------------------------------------------------------------------------------------
# The comparison itself


def test_a_right_result_passes_and_says_so():
    want = values(1000)
    verdict = check(want.astype(np.float32), want, rtol=1e-6, name="conv1d_basic")
    assert verdict
    assert str(verdict) == "PASS conv1d_basic: 1,000 values within rtol=1e-06"
    assert 0 < verdict.max_error < 1e-6 and verdict.count == 1000
    assert (
        str(check([1.0], [1.5], rtol=0.0, atol=0.5))
        == "PASS result: 1 value within rtol=0 + atol=0.5"
    )


def test_the_error_of_a_verdict_is_over_the_largest_value():
    want = np.array([1e-6, -4.0, 2.0])
    near_zero = check(want + np.array([1e-6, 0.0, 0.0]), want, rtol=0.0, atol=1e-5)
    assert near_zero.max_error == pytest.approx(2.5e-7)  # and not 1, the error over that value
    largest = check(want + np.array([0.0, 0.02, -0.01]), want, rtol=0.0, atol=0.1)
    assert largest.max_error == pytest.approx(0.005)
    assert check([0.0, 0.25], [0.0, 0.0], rtol=0.0, atol=0.5).max_error == 0.25


def test_nan_and_infinity_never_pass_and_are_counted():
    got = values(50)
    want = got.copy()
    got[[3, 20]], got[31] = np.nan, np.inf
    error = failure(got, want, rtol=1e9, atol=1e30)
    assert error.wrong == 3
    assert "2 NaN and 1 infinite" in str(error)
    assert "[3] got nan, want" in str(error)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_broken_reference_is_refused_even_where_the_result_agrees(bad):
    with pytest.raises(ValueError, match="reference itself holds NaN or infinity"):
        check([1.0, bad], [1.0, bad], rtol=1e-6)


def test_wrong_shapes_kinds_and_settings():
    want = values(6, 4)
    assert "rows and columns" in str(failure(want.T, want)).lower()
    assert kind(want.ravel(), want) == "shape"
    assert kind(np.ones(3, int), np.ones(3)) == "dtype"
    assert kind(np.ones(3, bool), np.ones(3, int)) == "dtype"
    with pytest.raises(ValueError, match="empty"):
        check(np.zeros(0), np.zeros(0), rtol=0)
    with pytest.raises(ValueError, match="empty"):
        check(np.zeros(3), np.zeros((0, 3)), rtol=0)
    with pytest.raises(TypeError, match="complex"):
        check(np.zeros(3, complex), np.zeros(3, complex), rtol=0)
    for rtol in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="rtol"):
            check([1.0], [1.0], rtol=rtol)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, np.uint64, bool]
)
def test_dtypes(dtype):
    want = np.array([0, 1, 1, 0, 1], dtype=dtype)
    assert check(want, want, rtol=0).max_error == 0
    got = want.copy()
    got[2] = 0
    assert failure(got, want, rtol=0).wrong == 1


def test_large_integers_are_told_apart():
    assert failure(np.array([2**53 + 1]), np.array([2**53]), rtol=0).wrong == 1
    assert check(np.array([2**53 + 1]), np.array([2**53]), rtol=1e-15)


def test_float16_is_compared_in_float64():
    assert (
        failure(np.array([60000.0], np.float16), np.array([-60000.0], np.float16), rtol=1.5).wrong
        == 1
    )


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_single_wrong_value_fails(data):
    shape = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    dtype = data.draw(st.sampled_from([np.float16, np.float32, np.float64, np.int32]))
    want = np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)
    got = want.copy()
    place = tuple(data.draw(st.integers(0, s - 1)) for s in shape)
    wrong = data.draw(
        st.sampled_from([0.0, -1.0, 1e4] + ([] if dtype is np.int32 else [np.nan, np.inf, -np.inf]))
    )
    got[place] = wrong if wrong != want[place] else -want[place]
    error = failure(got, want, rtol=1e-3)
    assert error.wrong == 1
    assert f"[{', '.join(map(str, place))}] got" in str(error)


@given(st.floats(1e-6, 0.5), st.floats(-3, 3))
def test_the_tolerance_is_where_it_is_said_to_be(rtol, factor):
    want = np.array([8.0])
    got = want * (1 + factor * rtol)
    if abs(factor) < 0.999:
        assert check(got, want, rtol=rtol)
    elif abs(factor) > 1.001:
        assert failure(got, want, rtol=rtol).wrong == 1


# --------------------------------------------------------------------------------------------------
# Diagnoses in one dimension


@pytest.mark.parametrize("r", [1, 2, 15])
def test_first_and_last_cells_are_the_halo(r):
    want = values(1000)
    got = spoiled(want, np.r_[:r, 1000 - r : 1000], np.nan)
    error = failure(got, want)
    assert error.diagnosis.kind == "halo"
    assert f"first {r} and last {r}: the output holds NaN there." in str(error)
    assert "leave out the ends" in " ".join(str(error).split())
    assert kind(spoiled(want, np.s_[:r]), want) == "halo"
    assert kind(spoiled(want, np.s_[1000 - r :]), want) == "halo"


@pytest.mark.parametrize(
    ("n", "start"), [(1000, 768), (1000, 992), (300, 256), (1025, 1024), (100, 64)]
)
def test_the_tail_from_a_block_border_on_is_the_last_block(n, start):
    want = values(n)
    error = failure(spoiled(want, np.s_[start:]), want)
    assert f"from {start:,} on are wrong: the last, partial block" in str(error)


@pytest.mark.parametrize(("n", "start"), [(1000, 255), (5_000, 1024)])
def test_a_tail_that_is_no_single_block_is_not_called_one(n, start):
    want = values(n)
    error = failure(spoiled(want, np.s_[start:]), want)
    words = " ".join(str(error).split())
    assert f"from {start:,} on are wrong. Is the size" in words and "block" not in words


def test_a_value_that_is_right_by_chance_makes_no_halo_and_no_last_block():
    want = values(128)
    got = spoiled(want, np.r_[:15, 16:128])
    assert kind(got, want) not in ("halo", "last block", "halo, last block")


def test_both_bugs_of_one_kernel_are_both_named():
    want = values(1000)
    got = spoiled(want, np.r_[0, 768:1000], np.nan)
    assert kind(got, want) == "halo, last block"


@pytest.mark.parametrize("tiles", [[1], [0], [3], [0, 2], [1, 2, 3]])
def test_whole_tiles(tiles):
    want = values(5 * 64 + 7)
    where = np.concatenate([np.arange(64 * t, 64 * t + 64) for t in tiles])
    error = failure(spoiled(want, where), want)
    assert error.diagnosis.kind == "tiles" and "64" in str(error)


@pytest.mark.parametrize(
    ("side", "r", "found"), [(16, 3, "halo"), (12, 4, "scattered"), (20, 6, "scattered")]
)
def test_a_frame_is_a_halo_only_where_it_leaves_half_of_each_side(side, r, found):
    rng = np.random.default_rng(side)
    want = rng.uniform(1, 2, (side, side)).astype(np.float32)
    wrong = rng.random((side, side)) < 0.8
    wrong[r:-r, r:-r] = False
    assert kind(np.where(wrong, want + 1, want), want) == found


@pytest.mark.parametrize(("n", "tile", "r"), [(1000, 128, 1), (1000, 64, 2), (256, 32, 3)])
def test_the_halo_between_tiles(n, tile, r):
    want, cells = values(n), np.arange(n)
    near = ((cells % tile < r) | (cells % tile >= tile - r)) & (cells >= r)
    error = failure(spoiled(want, near), want)
    assert error.diagnosis.kind == "tile borders" and f"tiles of {tile}" in str(error)
    first = (cells % tile < r) & (cells > r)  # the left halo only
    assert kind(spoiled(want, first), want) == "tile borders"


def test_few_right_values_in_each_tile():
    want, cells = values(1000), np.arange(1000)
    error = failure(spoiled(want, cells % 128 != 127, np.nan), want)
    assert (
        error.diagnosis.kind == "in each tile"
        and "127 are wrong" in str(error)
        and "__syncthreads" in str(error)
    )


@pytest.mark.parametrize(("period", "first"), [(2, 0), (2, 1), (4, 3), (7, 2), (33, 5)])
def test_every_nth(period, first):
    want = values(999)
    error = failure(spoiled(want, np.s_[first::period]), want)
    assert error.diagnosis.kind == "stride" and f"Of every {period} cells" in str(error)


def test_three_of_four_components():
    want = values(1000)
    assert kind(spoiled(want, np.arange(1000) % 4 != 0), want) == "stride"


def test_untouched_and_zero():
    want = values(40)
    assert kind(np.full(40, np.nan), want) == "untouched"
    assert kind(np.zeros(40), want) == "zero"
    assert kind(np.zeros((4, 5), int), np.ones((4, 5), int)) == "zero"


def test_scattered_poison_asks_for_no_barrier():
    want = values(1000)
    got = spoiled(want, [3, 500, 501, 900], np.nan)
    assert kind(got, want) == "poison"
    got[7] += 1
    assert kind(got, want) == "scattered"


def test_reversed_and_shifted():
    want = values(200)
    assert kind(want[::-1], want) == "reversed"
    for shift in (1, 2, 3):
        late = np.concatenate([np.zeros(shift), want[:-shift]])
        early = np.concatenate([want[shift:], np.zeros(shift)])
        assert kind(late, want) == kind(early, want) == "shifted"
        assert f"off by {shift}" in str(failure(late, want))
        assert "late" in str(failure(late, want)) and "early" in str(failure(early, want))


def test_an_impulse_through_a_flipped_filter_is_called_flipped():
    want = np.zeros(31)
    want[13:18] = [1, 2, 3, 4, 5]
    assert "filter is flipped" in failure(want[::-1], want).diagnosis.text


def test_suspects_are_named():
    want, flipped = values(64), values(64)
    suspects = {
        "the taps are doubled": want * 2,
        "the filter is flipped": flipped,
        "other shape": values(3),
    }
    error = failure(flipped.astype(np.float32), want, suspects=suspects)
    assert error.diagnosis.kind == "suspect" and "if the filter is flipped" in str(error)
    almost = spoiled(flipped, np.s_[5:6])
    assert kind(almost, want, suspects=suspects) != "suspect"


def test_a_suspect_may_differ_by_the_absolute_tolerance():
    want, flipped = values(64), values(64)
    flipped[5] = 0.0
    got = flipped.copy()
    got[5] = 1e-4
    suspects = {"the filter is flipped": flipped}
    assert kind(got, want, suspects=suspects, atol=1e-3) == "suspect"
    assert kind(got, want, suspects=suspects, atol=1e-5) != "suspect"


LEFT = {  # what an axpy passes as (y, x), which array it copies back, and its a: what is said
    ("yx", "", 2.5): "into its y, which is right, is not copied to the host: cuda.memcpy_dtoh(",
    ("yx", "", 2.0): "into its y is not copied to the host: cuda.memcpy_dtoh(",
    ("yx", "x", 2.5): "the copy back takes the array that the launch gets as x",
    ("xy", "y", 2.5): "the copy back takes the array that the launch gets as x",
    ("yx", "other", 2.5): "the copy back takes an array that the launch does not get",
    ("yx", "y", 2.0): "",
}


def test_a_large_result_is_not_kept_behind_its_end(cuda, monkeypatch):
    from pycuda.compiler import SourceModule

    from helpers.simulator.machine import results

    monkeypatch.setattr(results, "KEPT", 100)
    module = SourceModule(kernels.source("axpy_basic"), no_extern_c=True)
    y = values(1000).astype(np.float32)
    there = cuda.to_device(y)
    arguments = there, there, np.int32(1000), np.float32(2)
    module.get_function("axpy_basic")(*arguments, block=(256, 1, 1), grid=(4, 1))
    there.free()
    error = failure(y, 3 * y.astype(np.float64))
    assert "writes into its y is not copied to the host" in error.diagnosis.text


@pytest.mark.parametrize("is_freed", [True, False])
@pytest.mark.parametrize(("order", "back", "a"), LEFT)
def test_a_result_that_stays_on_the_device_is_told(order, back, a, is_freed, cuda):
    from pycuda.compiler import SourceModule

    module = SourceModule(kernels.source("axpy_basic"), no_extern_c=True)
    x, y = values(1000).astype(np.float32), values(1000).astype(np.float32)
    device = {name: cuda.mem_alloc(y.nbytes) for name in ("x", "y", "other")}
    for name, array in device.items():
        cuda.memcpy_htod(array, x if name == "x" else y)
    got, first, second = y.copy(), device[order[0]], device[order[1]]
    arguments = first, second, np.int32(1000), np.float32(a)
    module.get_function("axpy_basic")(*arguments, block=(256, 1, 1), grid=(4, 1))
    if back:
        cuda.memcpy_dtoh(got, device[back])
    if is_freed:
        for array in device.values():
            array.free()
    error = failure(got, 2.5 * x.astype(np.float64) + y, suspects={"nothing is launched": y})
    assert (error.diagnosis.kind == "left on the device") == bool(LEFT[order, back, a])
    assert LEFT[order, back, a] in error.diagnosis.text
    # The next check is about something else.
    assert failure(y, 2.5 * y).diagnosis.kind != "left on the device"


def test_half_precision_is_called_rounding():
    want = values(500)
    error = failure(want.astype(np.float16).astype(np.float32), want)
    assert error.diagnosis.kind == "precision" and "about 3 digits" in str(error)


# --------------------------------------------------------------------------------------------------
# Near-misses: each is one step away from a pattern


def test_near_misses_of_the_ends():
    want = values(1000)
    assert kind(spoiled(want, [0, 500, 999]), want) != "halo"
    assert kind(spoiled(want, [1, 998]), want) == "scattered"  # the ends themselves are right
    assert kind(spoiled(want, np.r_[768:999]), want) == "scattered"  # the very last one is right
    assert kind(spoiled(want[:16], np.s_[1:]), want[:16]) == "scattered"  # most of it is no halo
    assert kind(spoiled(want[:16], np.s_[:15]), want[:16]) == "scattered"
    assert kind(spoiled(want, np.s_[:301]), want) == "scattered"  # too long for a halo, no tile
    assert kind(spoiled(want, [3, 900]), want) == "scattered"


def test_near_misses_of_tiles_and_strides():
    want = values(1000)
    assert kind(spoiled(want, np.s_[65:129]), want) == "scattered"
    assert kind(spoiled(want, np.r_[64:128, 300]), want) == "scattered"
    assert kind(spoiled(want, np.arange(4, 500, 4)), want) == "scattered"  # stops half way
    # One of them is right.
    assert kind(spoiled(want, np.delete(np.arange(0, 1000, 4), 70)), want) == "scattered"
    assert kind(spoiled(want, [250, 500, 751]), want) == "scattered"


def test_near_misses_of_whole_array_patterns():
    want = values(100)
    assert kind(spoiled(np.full(100, np.nan), [7], 1.0), want) != "untouched"
    assert kind(spoiled(np.zeros(100), [7], 1.0), want) != "zero"
    assert kind(spoiled(want[::-1], [7]), want) == "all"
    assert kind(spoiled(np.roll(want, 1), [50]), want) == "all"
    assert kind(np.roll(want, 4), want) == "all"
    assert kind(want * 1.1, want) == "all"
    assert kind(spoiled(want.astype(np.float16).astype(float), [50]), want) != "precision"


def test_two_wrong_values_are_not_a_shift():
    want = np.zeros(50)
    want[20] = 1.0
    got = np.roll(want, 1)
    assert kind(got, want) == "scattered"
    # A third wrong value does not make a shift of two, only one that the shift explains.
    assert kind(spoiled(got, [0], 5.0), want) != "shifted"
    want[25] = 1.0
    assert kind(np.roll(want, 1), want) == "shifted"


def test_a_constant_result_with_wrong_ends_is_a_halo_not_a_shift():
    want = np.full(100, 3.0)
    assert kind(spoiled(want, [0, 1, 98, 99], 2.0), want) == "halo"
    assert kind(spoiled(want, [0, 1, 2, 97, 98, 99], np.nan), want) == "halo"


@settings(deadline=None, max_examples=100)
@given(st.integers(20, 400), st.data())
def test_one_wrong_value_inside_is_never_given_a_pattern(n, data):
    place = data.draw(st.integers(1, n - 2))
    want = np.sin(np.arange(n)) + 2
    assert kind(spoiled(want, [place]), want) == "scattered"


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_random_positions_get_no_pattern(seed):
    rng = np.random.default_rng(seed)
    want = rng.uniform(1, 2, 1000)
    where = rng.choice(np.arange(1, 999), 40, replace=False)
    assert kind(spoiled(want, where), want) == "scattered"


# --------------------------------------------------------------------------------------------------
# Two and more dimensions


def test_transposed():
    square, oblong = values(20, 20), values(12, 30)
    assert kind(square.T, square) == "transposed"
    assert kind(np.ascontiguousarray(oblong.T).reshape(oblong.shape), oblong) == "transposed"
    assert kind(spoiled(square.T.copy(), np.s_[3, 4]), square) != "transposed"
    symmetric = square + square.T
    assert kind(spoiled(symmetric, np.s_[3, 4]), symmetric) == "scattered"


def test_two_dimensional_halo_and_last_block():
    want = values(70, 100)
    frame = np.ones(want.shape, bool)
    frame[2:-2, 2:-2] = False
    assert kind(spoiled(want, frame), want) == "halo"
    frame[0, 3:40] = False  # some are right by chance
    assert kind(spoiled(want, frame), want) == "halo"
    corner = np.zeros(want.shape, bool)
    corner[64:], corner[:, 96:] = True, True
    assert kind(spoiled(want, corner), want) == "last block"
    assert "rows from 64" in str(failure(spoiled(want, np.s_[64:]), want))
    assert "columns from 96" in str(failure(spoiled(want, np.s_[:, 96:]), want))
    assert kind(spoiled(want, np.s_[:, ::3]), want) == "stride"
    dot = frame & False
    dot[30, 40] = True
    assert kind(spoiled(want, dot), want) == "scattered"


def test_two_dimensional_tiles_and_planes():
    want = values(64, 96)
    error = failure(spoiled(want, np.s_[16:32, 32:64]), want)
    assert error.diagnosis.kind == "tiles" and "32 x 16" in str(error)
    assert kind(spoiled(want, np.s_[17:32, 32:64]), want) == "scattered"
    stack = values(3, 4, 10, 12)
    assert kind(spoiled(stack, np.s_[:, 2]), stack) == "planes"
    assert kind(spoiled(stack, np.s_[:, :, 0]), stack) == "halo"


# --------------------------------------------------------------------------------------------------
# Arrays handed to a launch


def test_require_array_accepts_what_a_kernel_can_read():
    a = np.zeros((3, 4), np.float32)
    assert require_array(a, dtype=np.float32, shape=(3, 4), ndim=2, name="N") is a
    assert require_array(a[1:], dtype="float32") is not None


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        ([1.0], TypeError, "N is a list"),
        (np.zeros(4), TypeError, "float64, but the kernel reads float32.*astype"),
        (np.zeros(4, ">f4"), TypeError, ">f4"),
        (np.zeros((0,), np.float32), ValueError, "empty"),
        (np.zeros((4, 1), np.float32), ValueError, "shape|axes"),
        (np.zeros(5, np.float32), ValueError, r"shape \(5,\), but the launch expects \(4,\)"),
        (np.zeros(8, np.float32)[::2], ValueError, "gaps.*ascontiguousarray"),
        (np.zeros(4, np.float32)[::-1], ValueError, "reversed"),
    ],
)
def test_require_array_refuses_with_a_reason(array, error, words):
    with pytest.raises(error, match=words):
        require_array(array, dtype=np.float32, shape=(4,), name="N")


def test_require_array_refuses_fortran_order_and_wrong_ndim():
    with pytest.raises(ValueError, match="Fortran order"):
        require_array(np.zeros((3, 4), np.float32, order="F"), dtype=np.float32, name="image")
    with pytest.raises(ValueError, match=r"1 axes .* expects 2"):
        require_array(np.zeros(3, np.float32), dtype=np.float32, ndim=2)


def test_require_filter():
    assert require_filter(np.int32(7)) == 7
    with pytest.raises(ValueError, match="4, which is even"):
        require_filter(4)
    with pytest.raises(ValueError, match="at least one"):
        require_filter(0)
    for wrong in (3.0, "3", True, None):
        with pytest.raises(TypeError):
            require_filter(wrong)
