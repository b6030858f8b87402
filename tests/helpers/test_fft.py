"""Convolution by Fourier transforms: the kernels in the simulator and on a GPU, their tolerances,
and wrong ones.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import bench, checking, device, kernels, reference
from helpers.bench import cufft, layers, results
from helpers.bench.on_device import NoLibraryError, NotReadyError
from helpers.experiments import transforms
from helpers.launch import Array
from helpers.limits import ConvShape
from helpers.problems import conv2d, fft, fft_conv1d, fft_conv2d
from helpers.problems.fft_conv1d import OverlapAdd
from helpers.problems.fft_conv2d import TILES, FftLayer, Tiles
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.program import assembly
from tests import clock
from tests.kernels.mutants import Mutant, mutants, require_rejected
from tests.support import in_simulator, on_gpu, simulated

MUTANTS = mutants("fft_")
# (points, points of a row): the smallest, one pass, the largest, and rows of a tile; the others are
# those of SEGMENTS and LAYERS.
TRANSFORMS = ((2, None), (8, None), (8192, None), (256, 16))
# (log2 of the points, stages at a time, filter width, n): filters that just fit, n around a block's
# two segments, and 1
SEGMENTS = (
    (3, 1, 1, 17), (3, 3, 5, 7), (5, 2, 17, 31), (5, 2, 17, 32), (5, 5, 17, 33), (8, 3, 3, 1),
    (8, 3, 129, 256), (9, 4, 63, 4000), (13, 3, 4095, 9000),
)  # fmt: skip
# (log2 of the side, stages at a time, B, C, M, H, W, K): odd batches, one output, K = side, tiles
# that end within the image
LAYERS = (
    (1, 1, 1, 1, 1, 2, 2, 2), (3, 2, 3, 2, 3, 17, 12, 3),
    (4, 1, 2, 3, 2, 20, 35, 5), (5, 2, 1, 1, 1, 1, 1, 1), (5, 2, 3, 4, 2, 40, 37, 7),
    (5, 5, 1, 1, 2, 33, 32, 4), (6, 3, 2, 1, 1, 70, 64, 15),
)  # fmt: skip


def signals(size: int, count: int = 3) -> np.ndarray:
    rng = np.random.default_rng(size)
    return (rng.uniform(-1, 1, (count, size)) + 1j * rng.uniform(-1, 1, (count, size))).astype(
        np.complex64
    )


def parts(a: np.ndarray) -> np.ndarray:
    """Real and imaginary parts side by side: checking.check takes real numbers."""
    return np.ascontiguousarray(a).view(np.float32 if a.dtype == np.complex64 else np.float64)


def cells_and_filter(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, width])
    return rng.uniform(-1, 1, n).astype(np.float32), rng.uniform(-1, 1, width).astype(np.float32)


def image_and_filter(
    B: int, C: int, M: int, H: int, W: int, K: int
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([B, C, M, H, W, K])
    return tuple(
        rng.uniform(-1, 1, size).astype(np.float32) for size in ((B, C, H, W), (M, C, K, K))
    )


def require_transform(got: np.ndarray, x: np.ndarray, row: int | None = None) -> None:
    want = fft.reference(x, row)
    suspects = {
        "the twiddle factors turn the other way": parts(fft.reference(x.conj(), row).conj()),
        "the last stage is left out": parts(without_last_stage(want)),
    }
    checking.check(
        parts(got), parts(want), rtol=0.0, atol=fft.transform_atol(want), suspects=suspects
    )


def without_last_stage(X: np.ndarray) -> np.ndarray:
    """What the last stage, sum and difference of neighbours, made X of."""
    a, b = X[:, ::2], X[:, 1::2]
    return np.stack([(a + b) / 2, (a - b) / 2], axis=2).reshape(X.shape)


def require_segments(got: np.ndarray, spec: OverlapAdd, N: np.ndarray, filter: np.ndarray) -> None:
    size, width = spec.size, filter.size
    suspects = {
        "the filter is flipped": reference.conv1d(N, filter[::-1]),
        "a part of each tail wraps around": overlap_add(N, filter, size, size - width // 2),
        "the inverse turns forward": overlap_add(N, filter, size, size - width + 1, np.fft.fft)
        / size,
        "the inverse is not scaled": size * reference.conv1d(N, filter),
    }
    checking.check(
        got,
        reference.conv1d(N, filter),
        rtol=0.0,
        atol=fft_conv1d.conv1d_atol(spec, N, filter),
        suspects=suspects,
    )


def overlap_add(
    N: np.ndarray, filter: np.ndarray, size: int, segment: int, back=np.fft.ifft
) -> np.ndarray:
    """Overlap-add in float64, with transforms of ``size`` points for segments of any length."""
    full, spectrum = (
        np.zeros(N.size + segment + size),
        np.fft.fft(filter[::-1].astype(np.float64), size),
    )
    for start in range(0, N.size, segment):
        full[start : start + size] += back(
            np.fft.fft(N[start : start + segment], size) * spectrum
        ).real
    return full[filter.size // 2 :][: N.size]


def require_layer(got: np.ndarray, spec: Tiles, x: np.ndarray, filter: np.ndarray) -> None:
    side, K = spec.side, filter.shape[2]
    suspects = {"the filter is flipped": reference.conv2d(x, filter[:, :, ::-1, ::-1])}
    if side > K:
        suspects["a row and a column that wrapped around are kept"] = tiles(x, filter, side, K - 2)
    checking.check(
        got,
        reference.conv2d(x, filter),
        rtol=0.0,
        atol=fft_conv2d.conv2d_atol(spec, x, filter),
        suspects=suspects,
    )


def tiles(x: np.ndarray, filter: np.ndarray, side: int, dropped: int) -> np.ndarray:
    """Overlap-save in float64: of each tile all but the first ``dropped`` rows and columns is kept.
    """
    B, _, H, W = x.shape
    M, K, wide = filter.shape[0], filter.shape[2], side - dropped
    y, spectra = (
        np.zeros((B, M, H + side, W + side)),
        np.fft.fft2(filter[:, :, ::-1, ::-1].astype(np.float64), (side, side)),
    )
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (0, side), (0, side)), mode="edge")
    for h in range(0, H - K + 1, wide):
        for w in range(0, W - K + 1, wide):
            cells = np.fft.fft2(padded[:, :, h : h + side, w : w + side])
            product = np.fft.ifft2(np.einsum("bchw,mchw->bmhw", cells, spectra)).real
            y[:, :, h : h + wide, w : w + wide] = product[:, :, dropped:, dropped:]
    return y[:, :, : H - K + 1, : W - K + 1]


# --------------------------------------------------------------------------------------------------
# The launches, by one of the runners


def transformed(run, x: np.ndarray, row: int | None = None, **how):
    """The transforms by fft_radix2, in bit-reversed order."""
    arrays = (Array(name, x.shape, np.complex64) for name in ("X", "x"))
    return run((fft.transform(*arrays, x.shape, row),), "X", {"x": x}, **how)


def segments_by(run, spec: OverlapAdd, N: np.ndarray, filter: np.ndarray, **how):
    return run(spec.plan(N.size, filter.size), "P", {"N": N, "filter": filter}, **how)


def tiles_by(run, spec: Tiles, x: np.ndarray, filter: np.ndarray, **how):
    shape = conv2d.shape_for(x, filter)
    spec.require(shape)
    return run(spec.plan(shape), "y", {"x": x, "filter": filter}, **how)


# --------------------------------------------------------------------------------------------------
# The tables


@pytest.mark.parametrize(("size", "row"), TRANSFORMS)
def test_transforms(run, size, row):
    x = signals(size)
    require_transform(transformed(run, x, row), x, row)


@pytest.mark.parametrize("case", SEGMENTS, ids=str)
def test_overlap_add(run, case):
    log_size, stages, width, n = case
    spec = OverlapAdd(log_size, stages)
    N, filter = cells_and_filter(n, width)
    require_segments(segments_by(run, spec, N, filter), spec, N, filter)


@pytest.mark.parametrize("case", LAYERS, ids=str)
def test_tiles(run, case):
    spec = Tiles(*case[:2])
    x, filter = image_and_filter(*case[2:])
    require_layer(tiles_by(run, spec, x, filter), spec, x, filter)


@pytest.mark.gpu
def test_sanitize_fourier_kernels():
    """For compute-sanitizer: all three kernels, the last segment and the last tiles partial."""
    spec, tiled = OverlapAdd(8), Tiles(*LAYERS[4][:2])
    require_transform(transformed(on_gpu, signals(64)), signals(64), None)
    N, filter = cells_and_filter(1_001, 31)
    require_segments(segments_by(on_gpu, spec, N, filter), spec, N, filter)
    x, filter = image_and_filter(*LAYERS[4][2:])
    require_layer(tiles_by(on_gpu, tiled, x, filter), tiled, x, filter)


def test_an_example_by_hand(run):
    """P[0] = 10 * 1 + 100 * 2 and so on; four cells 1, 2, 3, 4 go to 10, -2, -2 + 2i, -2 - 2i in
    bit-reversed order.
    """
    N, filter = np.float32([1, 2, 3, 4, 5]), np.float32([1, 10, 100])
    P = segments_by(run, OverlapAdd(3, 1), N, filter)
    checking.check(P, np.array([210.0, 321, 432, 543, 54]), rtol=1e-5)
    X = transformed(run, np.array([[1, 2, 3, 4]], np.complex64))
    checking.check(parts(X), np.array([[10.0, 0, -2, 0, -2, 2, -2, -2]]), rtol=0.0, atol=1e-5)


def test_the_order_of_the_additions_does_not_matter(run):
    N, filter = cells_and_filter(2_000, 127)
    found = {segments_by(run, OverlapAdd(8), N, filter).tobytes() for _ in range(3)}
    assert len(found) == 1


@settings(max_examples=5)
@given(
    log_size=st.integers(3, 9),
    stages=st.integers(1, 4),
    radius=st.integers(0, 60),
    n=st.integers(1, 2000),
)
def test_segments_beyond_the_table(log_size, stages, radius, n):
    spec = OverlapAdd(log_size, min(stages, log_size))
    N, filter = cells_and_filter(n, 2 * min(radius, spec.size // 4) + 1)
    require_segments(segments_by(in_simulator, spec, N, filter), spec, N, filter)


@settings(max_examples=6)
@given(
    sizes=st.tuples(
        *(st.integers(1, 3) for _ in "BCM"), *(st.integers(0, 20) for _ in "HW"), st.integers(1, 8)
    )
)
def test_layers_beyond_the_table(sizes):
    *channels, H, W, K = sizes
    x, filter = image_and_filter(*channels, H + K, W + K, K)
    require_layer(tiles_by(in_simulator, Tiles(3), x, filter), Tiles(3), x, filter)


# --------------------------------------------------------------------------------------------------
# Wrong ones


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    require_rejected(mutant, *run_mutant(mutant))


def run_mutant(mutant: Mutant):
    """Run it in the place of its original: (findings, function that checks the result)."""
    instead = {mutant.original: (mutant.name, mutant.source)}
    if mutant.original == fft.TRANSFORM:
        x = signals(64)
        made, findings = transformed(simulated, x, instead=instead)
        return findings, lambda: require_transform(made, x)
    # Eight blocks of 112 cells, but two: the last tail is wanted, and cells are missing.
    if mutant.original == fft_conv1d.OVERLAP_ADD:
        spec, (N, filter) = OverlapAdd(6, 2), cells_and_filter(8 * 112 - 2, 9)
        made, _, findings = segments_by(simulated, spec, N, filter, instead=instead)
        return findings, lambda: require_segments(made, spec, N, filter)
    spec, (x, filter) = Tiles(4, 2), image_and_filter(3, 2, 2, 33, 30, 3)
    made, _, findings = tiles_by(simulated, spec, x, filter, instead=instead)
    return findings, lambda: require_layer(made, spec, x, filter)


def test_a_missing_scale_is_named():
    spec, (N, filter) = OverlapAdd(3, 1), cells_and_filter(300, 3)
    scaled = filter * np.float32(spec.size)
    unscaled = segments_by(in_simulator, spec, N, scaled)
    with pytest.raises(checking.CheckError, match="the inverse is not scaled"):
        require_segments(unscaled, spec, N, filter)


# --------------------------------------------------------------------------------------------------
# The tolerances, held and not too wide


@pytest.mark.parametrize(
    ("log_size", "width"), [(8, 3), (8, 63), (10, 255), (12, 2047), (13, 4095)]
)
def test_tolerance_rejects_half_precision(log_size, width):
    spec, (N, filter) = OverlapAdd(log_size), cells_and_filter(9000, width)
    halved = reference.conv1d(N.astype(np.float16), filter.astype(np.float16)).astype(np.float32)
    with pytest.raises(checking.CheckError):
        require_segments(halved, spec, N, filter)


def test_layer_tolerance_rejects_half_precision():
    x, filter = image_and_filter(2, 4, 3, 40, 40, 7)
    halved = reference.conv2d(x.astype(np.float16), filter.astype(np.float16)).astype(np.float32)
    with pytest.raises(checking.CheckError):
        require_layer(halved, Tiles(5), x, filter)


def test_transform_tolerance_rejects_half_precision():
    x = signals(1024)
    halved = parts(
        fft.reference((parts(x).astype(np.float16)).astype(np.float32).view(np.complex64))
    ).astype(np.float32)
    with pytest.raises(checking.CheckError):
        require_transform(halved.view(np.complex64), x)


def test_tolerance_grows_with_the_logarithm():
    N, filter = cells_and_filter(100, 3)
    flat = np.array([0, 1, 0], np.float32)  # its spectrum is 1 everywhere
    small, large = (fft_conv1d.conv1d_atol(OverlapAdd(log_size), N, flat) for log_size in (6, 12))
    assert 1.9 < large / small < 2.0
    assert fft_conv1d.conv1d_atol(OverlapAdd(6), 2 * N, filter) == pytest.approx(
        2 * fft_conv1d.conv1d_atol(OverlapAdd(6), N, filter)
    )
    assert fft.stage_error() == pytest.approx((1 + 4 * 2**0.5) * 2.0**-24, rel=1e-6)


def test_positive_cells_keep_the_tolerance():
    """Pixels: the frequency 0 is far above the others."""
    spec, N = OverlapAdd(12), np.random.default_rng(5).uniform(0, 255, 9000).astype(np.float32)
    filter = np.full(255, 1 / 255, np.float32)
    require_segments(segments_by(in_simulator, spec, N, filter), spec, N, filter)


# --------------------------------------------------------------------------------------------------
# Counts and refusals


def test_bit_reversed():
    assert fft.bit_reversed(8).tolist() == [0, 4, 2, 6, 1, 5, 3, 7]
    assert fft.bit_reversed(1).tolist() == [0]
    assert fft.transform_flops(1024) == 51_200


def test_passes_and_barriers_are_those_of_the_count():
    """Shared memory: what shared_bytes says is what the lanes do, and fewer passes wait at fewer
    barriers.
    """
    N, filter = cells_and_filter(2 * 2 * 482, 31)
    for stages, passes in ((1, 9), (4, 3)):
        spec = OverlapAdd(9, stages)
        seen = fft_conv1d.simulate_conv1d(spec, N, filter)[1][1]
        used = seen.total("bytes_used", "shared", "load") + seen.total(
            "bytes_used", "shared", "store"
        )
        assert used / N.size == pytest.approx(spec.shared_bytes(31), rel=0.1)
        assert seen.barriers == (2 + 2 * passes) * 2 * spec.block[0] // 32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OverlapAdd(14), "take 2\\^1 to 2\\^13"),
        (lambda: OverlapAdd(8, 6), "take 1 to 5"),
        (lambda: OverlapAdd(8).segment(131), "at least 260 points, not 256"),
        (lambda: OverlapAdd.fitting(4099), "take one of at most 4,097"),
        (lambda: OverlapAdd(8).segment(4), "even"),
        (lambda: Tiles(7), "2\\^1 to 2\\^6"),
        (lambda: Tiles(5, 3), "stages is 3: take 1 to 5, a divisor of 10"),
        (lambda: Tiles(6, 1), "more than 1,024 threads"),
        (lambda: Tiles(3).outputs(9), "no output in tiles of 8 x 8"),
        (lambda: Tiles(6).require(ConvShape(1, 12, 1, 64, 64, 3)), "bytes of shared memory"),
        (lambda: Tiles(5).require(ConvShape(1, 1, 1, 64, 64, 3, 2)), "only stride 1, got 2"),
        (lambda: Tiles(5).require(ConvShape(131_072, 1, 1, 8, 8, 3)), "images"),
        (lambda: transformed(in_simulator, signals(12)), "not 12"),
        (lambda: transformed(in_simulator, signals(64), 16), "in rows of 16"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("width", "n"), [(1, 5), (3, 254), (5, 252), (129, 128), (129, 1000), (63, 1)]
)
def test_the_steps_of_the_yardstick(width, n):
    spec, (N, filter) = OverlapAdd(8), cells_and_filter(n, width)
    P = np.full_like(N, np.nan)
    step = cufft.overlap_add_by(np, spec, N, P, filter)
    for _ in range(2):  # the second time over what the first has left
        step()
        require_segments(P, spec, N, filter)


def of_numpy(spec, n, source, output, filter):
    """The steps of cuFFT's launcher on the host, between two copies."""
    import pycuda.driver as cuda

    def launch(stream):
        N, P = np.empty(n, np.float32), np.empty(n, np.float32)
        cuda.memcpy_dtoh(N, source)
        cufft.overlap_add_by(np, spec, N, P, filter)()
        cuda.memcpy_htod(output, P)

    return launch


def test_the_library_is_checked_beside_the_kernels(monkeypatch):
    """Through PyCUDA's surface, on whatever device there is."""
    device.select()
    with bench.conv1d(5000, 127).on_device() as there:
        monkeypatch.setattr(cufft, "launcher", lambda *_: None)
        with pytest.raises(NoLibraryError, match="cuFFT is left out: CuPy is not installed"):
            there.ready("cuFFT")
        monkeypatch.setattr(cufft, "launcher", of_numpy)
        assert 0 < there.ready("cuFFT").error < 1e-5
        wrong = lambda spec, n, source, output, filter: of_numpy(  # noqa: E731
            spec, n, source, output, filter[::-1].copy()
        )
        monkeypatch.setattr(cufft, "launcher", wrong)
        with pytest.raises(NoLibraryError, match="cuFFT is left out: FAIL cuFFT"):
            there.ready("cuFFT")


def test_the_record_has_the_library_where_it_is_installed(monkeypatch):
    device.select()
    clock.install(monkeypatch)
    for name, value in {"SIZES": (5000,), "WIDTHS": (127,), "STAGES": (2,)}.items():
        monkeypatch.setattr(transforms, name, value)
    monkeypatch.setattr(transforms, "BATCH", 1)
    monkeypatch.setattr(transforms, "LAYER_WIDTHS", (3,))
    monkeypatch.setattr(cufft, "launcher", of_numpy)
    assert [row["series"] for row in transforms.measure()] == [
        *(fft_conv1d.OVERLAP_ADD, transforms.CUFFT, fft_conv1d.OVERLAP_ADD),
        *[transforms.DIRECT_2D, TILES, "ratio"] * 2,
    ]
    monkeypatch.setattr(cufft, "launcher", lambda *_: None)
    monkeypatch.setattr(transforms, "_layer", lambda problem: ())
    assert [row["series"] for row in transforms.measure()] == [fft_conv1d.OVERLAP_ADD] * 2


def test_a_layer_by_wrong_spectra_is_not_timed(monkeypatch):
    device.select()
    ones = np.ones((6, 256), np.complex64)
    monkeypatch.setattr(Tiles, "prepared", lambda self, filter: ones)
    shape = ConvShape(3, 2, 3, 20, 23, 3)
    with layers.layer(shape=shape, images=3).on_device() as there:
        assert there.ready("conv2d_basic").verdict
        with pytest.raises(NotReadyError, match=TILES):
            there.ready(FftLayer(TILES, tiles=Tiles(4)))


def test_the_fastest_size_is_the_one_on_record():
    ratios: dict[int, dict[tuple[int, int], dict]] = {}
    for row in results.recorded("402_sizes").comparable():
        if row["series"] == fft_conv1d.OVERLAP_ADD:
            sizes = ratios.setdefault(row["filter_width"], {})
            sizes[row["log_size"], row["stages"]] = row
    assert len(ratios) >= 4
    for width, rows in ratios.items():
        chosen = OverlapAdd.fastest(width)
        fastest = min(rows.values(), key=lambda row: row["ratio"])
        assert rows[chosen.log_size, chosen.stages]["low"] <= fastest["high"], width


def test_the_fewest_operations_are_never_the_fastest_on_record():
    """Lab 402 says so of its two widest filters, and of 4,096 points."""
    rows = [
        row
        for row in results.recorded("402_sizes").comparable()
        if row["series"] == fft_conv1d.OVERLAP_ADD
    ]
    for width in sorted({row["filter_width"] for row in rows})[-2:]:
        assert OverlapAdd.fitting(width, 4).log_size == 12
    for row in rows:
        if row["log_size"] == 12:
            others = [one for one in rows if one["filter_width"] == row["filter_width"]]
            assert min(one["high"] for one in others) < row["low"]


def test_fitting_takes_the_fewest_operations():
    for width in (1, 3, 255, 2049, 4095, 4097):
        chosen = OverlapAdd.fitting(width)
        others = [
            OverlapAdd(log_size)
            for log_size in fft_conv1d.LOG_SIZES
            if 2 * (width - 1) <= 1 << log_size
        ]
        assert chosen.flops(width) == min(spec.flops(width) for spec in others)


@pytest.mark.parametrize(
    "spec",
    [OverlapAdd(13), Tiles(5, 5), Tiles(6, 3)],
    ids=str,
)
def test_the_cells_are_kept_in_registers(spec):
    """No remark, and no local memory: an array that the compiler cannot unroll would live there."""
    source, file = kernels.source(spec.name), str(kernels.path(spec.name))
    compiled = compile_source(source, spec.options, file)
    assert compiled.warnings == ""
    (needed,) = assembly.resources(compiled).values()
    assert (needed.local_bytes, needed.spill_store_bytes, needed.spill_load_bytes) == (0, 0, 0)
