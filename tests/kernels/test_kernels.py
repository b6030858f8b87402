"""The kernels of the labs: one table of kernels, sizes and filter widths, in the simulator and on a
GPU.

In the simulator a kernel must also give no finding at all: nothing out of bounds, no race, nothing
uninitialised.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.counters import cases as counter_cases
from helpers import checking, kernels, reference, simulator
from helpers.experiments import waiting
from helpers.launch import Array, Launch, three
from helpers.limits import ConvShape
from helpers.problems import conv2d, copies, fft, fft_conv1d, fft_conv2d, gemm, tensor_product
from helpers.problems.conv1d import CONV1D, Conv1d, conv1d_atol, conv1d_named
from helpers.problems.conv2d import CONV2D, REDUCED, Conv2d, conv2d_named
from helpers.problems.lenet import pooled
from helpers.simulator.compile.compiler import compile_source
from tests.support import (
    in_simulator,
    layer_by,
    layer_problem,
    needs_nvcc,
    nvcc,
    on_gpu,
    run_layer,
    simulated,
)

pytestmark = pytest.mark.long

# Small blocks, so that few cells already make many blocks. 96 threads are three warps, not a power
# of two.
SMALL = (
    *(replace(spec, threads=96, tile=spec.tile and 96) for spec in CONV1D if spec.outputs is None),
    replace(conv1d_named("conv1d_outputs"), threads=32, tile=96, outputs=3),
    replace(conv1d_named("conv1d_vector"), threads=40, tile=320, outputs=8),
)
# No halo; a halo, and one that is wider than the tile. Filters of 3 run with the sources' defaults.
WIDTHS = (1, 31, 255)
# The filters of the launches as in the labs: 4095 in constant memory, in a tile that grows with the
# filter, and in the benchmark's best kernel.
WIDEST = {
    spec: 4095 if spec.name.endswith(("_constant", "_steps", "_vector")) else 31 for spec in CONV1D
}
TABLE = (
    *((spec, width) for spec in SMALL for width in WIDTHS),
    # Other numbers of outputs of a thread, and a block that is no whole number of warps.
    (replace(conv1d_named("conv1d_outputs"), threads=40, tile=160, outputs=4), 31),
    (replace(conv1d_named("conv1d_vector"), threads=32, tile=128, outputs=4), 31),
    (replace(conv1d_named("conv1d_vector"), threads=32, tile=384, outputs=12), 3),
    *WIDEST.items(),
)
TABLE = tuple((spec, width) for spec, width in TABLE if spec.fits(width))


def sizes(spec: Conv1d, width: int) -> list[int]:
    """1, around one tile, more than two tiles, and a prime: each remainder by 4 is among them, and
    a wide filter is wider than some. For the filters of the labs' launches, few sizes.
    """
    tile = spec.threads if spec.name == "conv1d_one_block" else spec.per_block(1, width)
    if spec in WIDEST:
        return [tile + 1, 4799]
    return sorted({1, tile - 1, tile, tile + 1, 2 * tile + 2, 997} - {0})


def label(case) -> str:
    spec, width = case
    constants = "".join(
        f"-{key}{value}" for key, value in (("tile", spec.tile), ("out", spec.outputs)) if value
    )
    return f"{spec.name}-block{spec.threads}{constants}-filter{width}"


# The layer's kernels with small blocks and tiles, so that small images already make many; and as
# the labs launch them.
LAYER_SMALL = (
    *(spec.with_tile(4) for spec in CONV2D if "TILE_WIDTH" in spec.constant_names()),
    *(
        replace(conv2d_named(name), block=(8, 4), tile=(8, 4, 1))
        for name in ("conv2d_basic", "conv2d_restrict", "conv2d_unrolled")
    ),
    replace(conv2d_named("conv2d_uncoalesced"), block=(8, 4), tile=(4, 8, 1)),
    conv2d_named("conv2d_tiled_maps").with_tile(5, maps=3),
    replace(
        conv2d_named("conv2d_register"),
        block=(5, 3),
        tile=(15, 3, 2),
        constants=(("PATCH_WIDTH", 3),),
    ),
    conv2d.register_2d(3, 5, maps=3),
    # Tiles, partial ones too.
    replace(conv2d_named("conv2d_register_tiled"), patch=(2, 2, 3), patches=(7, 5, 1), staged=1),
    # A block chosen for the shape.
    replace(conv2d_named("conv2d_register_tiled"), patch=(4, 1, 2), unroll=1),
    replace(conv2d_named("im2col_gemm"), images=1, columns=96).with_tile(3),
    conv2d.channels_tree(5, threads=8),
    conv2d.channels_tree(4, threads=1),
    conv2d.channels_shuffle(lanes=1, rows=1),
    conv2d.channels_shuffle(lanes=8, rows=3),
    conv2d.channels_shuffle(lanes=32, rows=2),
)
REDUCED_SMALL = (
    replace(conv2d_named("conv2d_half_inside"), block=(8, 4), tile=(8, 4, 1)),
    replace(conv2d_named("conv2d_half"), block=(4, 4), tile=(4, 4, 1)),
    replace(conv2d.half2(maps=2, columns=3), block=(5, 3), tile=(15, 3, 2)),
    replace(conv2d.half2(maps=6, columns=1, chain="all"), block=(8, 4), tile=(8, 4, 6)),
    conv2d.wmma(warps=1, rows=16, buffers=1, skew=0),
    conv2d.wmma(warps=2, rows=8),
    conv2d.wmma(warps=3, tf32=True),
)
LAYER_TABLE = (*LAYER_SMALL, *CONV2D, *conv2d.TAUGHT, *REDUCED_SMALL, *REDUCED)


def layer_label(spec: Conv2d) -> str:
    constants = "".join(f"-{name}{value}" for name, value in spec.constants)
    block, tile = ("x".join(map(str, extents)) for extents in (spec.block, spec.tile))
    return f"{spec.name}-block{block}-tile{tile}{constants}"


def layer_shapes(spec: Conv2d) -> list[ConvShape]:
    """One output; outputs around a tile; even and wide filters; primes; many maps; thin images. The
    filters have few widths: each is another compilation.
    """
    columns, rows, maps = spec.tile
    if spec in (*CONV2D, *REDUCED):  # few large blocks: what the small ones above do not reach
        return [outputs(2, 3, maps + 1, rows + 1, columns + 2, 7)]
    first = next(small for small in (*LAYER_SMALL, *REDUCED_SMALL) if small.name == spec.name)
    if spec is not first:  # another block, tile or option of a kernel that has run with all shapes
        return [outputs(2, 4, maps + 1, rows + 1, max(1, 2 * columns - 1), 3)]
    return [
        outputs(1, 1, 2, 2, 37, 1),  # a filter that is one weight
        outputs(1, 1, 1, 1, 1, 4),  # one of everything, image = filter
        outputs(2, 1, 2 * maps, rows, columns, 4),  # whole tiles
        outputs(1, 4, maps + 1, rows + 1, max(1, 2 * columns - 1), 4),
        outputs(3, 3, 5, 7, 5, 8),  # a filter that is wider than the outputs
        outputs(1, 9, 18, 13, 1, 4),
    ]


def outputs(B: int, C: int, M: int, out_h: int, out_w: int, K: int) -> ConvShape:
    """The layer that puts out maps of out_h x out_w."""
    return ConvShape(B, C, M, out_h + K - 1, out_w + K - 1, K)


def fitting(spec: Conv2d, shapes: list[ConvShape]) -> list[ConvShape]:
    """The shapes whose filters a kernel takes."""
    return [shape for shape in shapes if (spec.largest_width or shape.K) >= shape.K]


def problem(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Random N and filter: float32, shapes (n,) and (width,). No filter of more than one weight is
    symmetric.
    """
    rng = np.random.default_rng([n, width])
    return rng.uniform(-1, 1, n).astype(np.float32), rng.uniform(-1, 1, width).astype(np.float32)


def require_right(got: np.ndarray, cells: np.ndarray, filter: np.ndarray, name: str) -> None:
    want = reference.conv1d(cells, filter)
    suspects = {"the filter is flipped": reference.conv1d(cells, filter[::-1])}
    checking.check(
        got, want, rtol=0.0, atol=conv1d_atol(cells, filter), name=name, suspects=suspects
    )


# --------------------------------------------------------------------------------------------------
# The launches, by one of the runners


def line_by(run, spec: Conv1d, N: np.ndarray, filter: np.ndarray) -> np.ndarray:
    return run(spec.plan(N.size, filter.size), "P", {"N": N, "filter": filter})


def axpy_by(run, y: np.ndarray, x: np.ndarray, a: np.float32, threads: int) -> np.ndarray:
    arrays = Array("y", y.shape), Array("x", x.shape)
    one = Launch(
        kernels.source("axpy_basic"),
        "axpy_basic",
        (),
        three(kernels.grid_for(x.size, threads)),
        (threads, 1, 1),
        arguments=(*arrays, np.int32(x.size), a),
    )
    return run((one,), "y", {"y": y.copy(), "x": x})


# --------------------------------------------------------------------------------------------------
# The table


def test_every_kernel_is_in_the_table():
    layers = {name for spec in LAYER_TABLE for name in spec.sources}
    elsewhere = {name for name in kernels.names() if name.startswith(("conv2d_mma_", "lenet_"))}
    elsewhere |= {spec.name for spec in (*conv2d.SMALL, *conv2d.IMPLICIT, *conv2d.WARPGROUPS)}
    elsewhere |= {spec.name for spec in (conv2d.implicit_wgmma(), *conv2d.CHANNELS_LAST)}
    elsewhere |= {fft.TRANSFORM, fft_conv1d.OVERLAP_ADD, fft_conv2d.TILES}
    elsewhere |= {*copies.NAMES, *tensor_product.NAMES}
    elsewhere |= {spec.name for spec in (*gemm.GEMM, gemm.warp_tiles(), *gemm.HALVES)}
    elsewhere |= {waiting.CHAIN, waiting.SHARED_CHAIN, waiting.COPY}
    assert {spec.name for spec, _ in TABLE} | layers | {"axpy_basic", *elsewhere} == set(
        kernels.names()
    )


@pytest.mark.parametrize("case", TABLE, ids=label)
def test_table(run, case):
    spec, width = case
    for n in sizes(spec, width):
        N, filter = problem(n, width)
        P, name = line_by(run, spec, N, filter), f"{spec.name}, n = {n}, filter of {width}"
        require_right(P, N, filter, name)


@pytest.mark.parametrize("spec", CONV1D, ids=lambda spec: spec.name)
def test_an_example_by_hand(run, spec):
    """P[0] = 10 * 1 + 100 * 2 and so on: asymmetric, and exact in float32."""
    P = line_by(run, spec, np.float32([1, 2, 3, 4, 5]), np.float32([1, 10, 100]))
    assert P.tolist() == [210, 321, 432, 543, 54]


@pytest.mark.parametrize("spec", LAYER_TABLE, ids=layer_label)
def test_layer_table(run, spec):
    for shape in fitting(spec, layer_shapes(spec)):
        x, filter = layer_problem(shape)
        y, name = layer_by(run, spec, x, filter), f"{spec.name}, {shape}"
        conv2d.check(y, x, filter, name, precision=spec.precision)


@pytest.mark.parametrize(
    "spec",
    [spec for spec in (*CONV2D, *conv2d.TAUGHT, *REDUCED) if spec.precision.chain == "none"],
    ids=layer_label,
)
def test_a_layer_by_hand(run, spec):
    """1 * 1 + 10 * 2 + 100 * 5 + 1000 * 6 and so on, plus twice the second channel; the second map
    picks one cell.
    """
    x = np.array(
        [
            [
                [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]],
                [[1, 0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 7]],
            ]
        ],
        np.float32,
    )
    filter = np.array(
        [[[[1, 10], [100, 1000]], [[2, 0], [0, 0]]], [[[0, 0], [0, 0]], [[0, 1], [0, 0]]]],
        np.float32,
    )
    y = layer_by(run, spec, x, filter)
    assert y[0, 0].tolist() == [[6523, 7632, 8743], [10965, 12076, 13193]]
    assert y[0, 1].tolist() == [[0, 0, 0], [0, 3, 0]]


@pytest.mark.parametrize("chain", ["row", "all"])
def test_a_layer_in_half_by_hand(run, chain):
    """1 * 1 + 2 * 2 + 4 * 4 + 8 * 5: half holds whole numbers up to 2,048, so that no chain of
    additions is rounded.
    """
    x = np.array([[[[1, 2, 3], [4, 5, 6]]]], np.float32)
    filter = np.array([[[[1, 2], [4, 8]]], [[[0, 0], [0, 1]]], [[[-1, 0], [0, 0]]]], np.float32)
    y = layer_by(run, conv2d.half2(maps=2, chain=chain), x, filter)
    assert y.tolist() == [[[[61, 76]], [[5, 6]], [[-1, -2]]]]


@pytest.mark.parametrize("stride", [2, 5])
def test_the_strided_baseline(run, stride):
    for sizes in ((2, 3, 2, 23, 38, 4), (1, 1, 1, 7, 7, 7), (1, 2, 2, 11, 17, 1)):
        shape = ConvShape(*sizes, stride)
        x, filter = layer_problem(shape)
        y = layer_by(run, conv2d_named("conv2d_basic"), x, filter, stride)
        conv2d.check(y, x, filter, f"conv2d_basic, {shape}", stride)


def test_the_problems_of_the_table_tell_a_flipped_filter():
    for shape in layer_shapes(LAYER_SMALL[0]):
        x, filter = layer_problem(shape)
        flipped = reference.conv2d(x, filter[:, :, ::-1, ::-1]).astype(np.float32)
        if shape.K > 1:
            with pytest.raises(checking.CheckError, match="the filter is flipped"):
                conv2d.check(flipped, x, filter)


@pytest.mark.parametrize("threads", [1, 32, 96, 1024])
def test_axpy(run, threads):
    for n in sorted({1, threads - 1, threads, threads + 1, 997} - {0}):
        rng = np.random.default_rng(n)
        x, y = (rng.uniform(-1, 1, n).astype(np.float32) for _ in range(2))
        a = np.float32(1.7)
        want = np.float64(a) * x + y
        # A product and a sum are rounded once each (not at all when fused): 2^-24 of |a x|, and of
        # a sum below 2.7.
        checking.check(
            axpy_by(run, y, x, a, threads),
            want,
            rtol=0.0,
            atol=2.0**-24 * (1.7 + 2.7),
            name=f"axpy, n = {n}",
        )


@st.composite
def launches(draw) -> Conv1d:
    """Any kernel with a block and a tile that the table does not have."""
    spec = draw(st.sampled_from(CONV1D))
    threads = draw(st.integers(1, 12)) * 16
    outputs = (
        draw(st.sampled_from((4, 8, 20)))
        if spec.name == "conv1d_vector"
        else draw(st.integers(1, 12))
    )
    outputs = outputs if spec.outputs else None
    return replace(
        spec, threads=threads, tile=spec.tile and threads * (outputs or 1), outputs=outputs
    )


@settings(max_examples=15)
@given(spec=launches(), radius=st.integers(0, 70), n=st.integers(1, 3000))
def test_shapes_beyond_the_table(spec, radius, n):
    width = 2 * radius + 1
    if not spec.fits(width):
        spec = replace(spec, threads=160, tile=160)
    N, filter = problem(n, width)
    P = line_by(in_simulator, spec, N, filter)
    require_right(P, N, filter, f"{spec}, n = {n}, filter of {width}")


@st.composite
def layers(draw) -> tuple[Conv2d, ConvShape]:
    """Any of the layer's kernels in a block that it takes, and a small layer."""
    spec = draw(st.sampled_from((*CONV2D, *REDUCED)))
    if spec.name == "conv2d_channels_tree":
        spec = conv2d.channels_tree(draw(st.integers(1, 6)), draw(st.sampled_from((1, 2, 4, 16))))
    elif spec.name == "conv2d_channels_shuffle":
        spec = conv2d.channels_shuffle(
            draw(st.sampled_from((1, 2, 4, 8, 16, 32))), draw(st.integers(1, 4))
        )
    elif "TILE_WIDTH" in spec.constant_names():
        spec = spec.with_tile(
            draw(st.integers(1, 9)),
            draw(st.integers(1, 5)) if "MAPS" in spec.constant_names() else None,
        )
    K = draw(st.integers(1, min(6, spec.largest_width or 6)))
    H, W = (K + draw(st.integers(0, 14)) for _ in "HW")
    return spec, ConvShape(
        draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(1, 6)), H, W, K
    )


@settings(max_examples=12)
@given(case=layers())
def test_layers_beyond_the_table(case):
    spec, shape = case
    x, filter = layer_problem(shape)
    y = run_layer(spec, x, filter)
    conv2d.check(y, x, filter, f"{spec}, {shape}", precision=spec.precision)


# --------------------------------------------------------------------------------------------------
# For compute-sanitizer, which slows a launch down: every kernel, few sizes


@pytest.mark.gpu
@pytest.mark.parametrize("spec", CONV1D, ids=lambda spec: spec.name)
def test_sanitize_conv1d(spec):
    for width in (3, 31):
        for n in (1, 1000, 5003):
            N, filter = problem(n, width)
            P, name = line_by(on_gpu, spec, N, filter), f"{spec.name}, n = {n}, filter of {width}"
            require_right(P, N, filter, name)


@pytest.mark.gpu
@pytest.mark.parametrize("spec", (*CONV2D, *REDUCED), ids=lambda spec: spec.name)
def test_sanitize_conv2d(spec):
    for shape in fitting(spec, [ConvShape(3, 3, 5, 43, 38, 7), ConvShape(1, 1, 1, 1, 1, 1)]):
        x, filter = layer_problem(shape)
        y, name = layer_by(on_gpu, spec, x, filter), f"{spec.name}, {shape}"
        conv2d.check(y, x, filter, name, precision=spec.precision)


@pytest.mark.gpu
def test_sanitize_axpy():
    x = np.arange(1000, dtype=np.float32)
    assert (axpy_by(on_gpu, x, x, np.float32(2), 256) == 3 * x).all()


# --------------------------------------------------------------------------------------------------
# The tolerance


@pytest.mark.parametrize("width", [1, 3, 31, 199])
def test_tolerance_holds_for_any_order_of_float32_sums(width):
    N, filter = problem(5000, width)
    products = np.lib.stride_tricks.sliding_window_view(np.pad(N, width // 2), width) * filter
    want, atol = reference.conv1d(N, filter), conv1d_atol(N, filter)
    for order in (np.arange(width), np.arange(width)[::-1], np.argsort(-np.abs(filter))):
        sums = np.zeros(N.size, np.float32)
        for j in order:
            sums += products[:, j]
        checking.check(sums, want, rtol=0.0, atol=atol)


@pytest.mark.parametrize("width", [1, 3, 31, 199])
def test_tolerance_rejects_half_precision(width):
    N, filter = problem(5000, width)
    halved = reference.conv1d(N.astype(np.float16), filter.astype(np.float16)).astype(np.float32)
    with pytest.raises(checking.CheckError):
        checking.check(halved, reference.conv1d(N, filter), rtol=0.0, atol=conv1d_atol(N, filter))


# --------------------------------------------------------------------------------------------------
# What the headers claim, counted


def profile(name: str, n: int, width: int) -> simulator.Profile:
    N, filter = problem(n, width)
    plan = conv1d_named(name).plan(n, width)
    return simulated(plan, "P", {"N": N, "filter": filter}, simulator.profile)[1]


N_COUNTED = 4 * 768  # four tiles of conv1d_vector, a multiple of 256


def test_a_filter_in_constant_memory_is_not_read_from_global_memory():
    # Of three taps the basic kernel reads the filter as often as N; the constant one does not read
    # it there at all.
    basic, constant = (profile(name, N_COUNTED, 3) for name in ("conv1d_basic", "conv1d_constant"))
    assert basic.total("requests", "global", "load", array="filter") > 0
    assert constant.global_load_requests == basic.total("requests", "global", "load", array="N")


def test_constant_reads_are_broadcast_and_the_divergent_ones_are_not():
    widest = 31
    one, many = (
        profile(f"conv1d_{name}", N_COUNTED, widest) for name in ("constant", "constant_divergent")
    )
    assert one.constant_load_requests == many.constant_load_requests > 0

    def words(seen: simulator.Profile) -> set[int]:
        return {
            len(set(r.offsets))
            for r in seen.requests
            if r.space == "constant" and len(r.lanes) == 32
        }

    assert words(one) == {1}
    assert max(words(many)) == min(32, widest)


def test_tiles_read_n_about_once_and_the_plain_kernel_once_a_tap():
    n, width = N_COUNTED, 31
    least = n * 4 // 32
    sectors = {
        name: profile(f"conv1d_{name}", n, width).global_load_sectors
        for name in (
            "constant",
            "tiled_steps",
            "tiled_input",
            "tiled_cached_halo",
            "outputs",
            "vector",
        )
    }
    assert sectors["constant"] > 25 * least
    # Each halo cell is asked for again, tap by tap.
    assert sectors["tiled_cached_halo"] > 1.2 * least
    for name in ("tiled_steps", "tiled_input", "outputs", "vector"):
        assert least <= sectors[name] < 1.5 * least, name  # halos, and warps that straddle a sector


def test_several_outputs_per_thread_need_fewer_shared_loads():
    width, n = 31, 1152 * 2
    one, nine = (profile(f"conv1d_{name}", n, width) for name in ("tiled_steps", "outputs"))
    # OUTPUTS + 2R loads for OUTPUTS outputs, and one more to store each through the tile.
    assert one.total("lanes", "shared", "load") == n * width
    assert nine.total("lanes", "shared", "load") == n // 9 * (9 + width - 1) + n
    assert nine.shared_load_conflicts == 0  # lanes stand an odd number of cells apart


def test_vectors_need_a_quarter_of_the_requests():
    # With 3 taps nvcc loads only the words that are used, 16 bytes apart: lanes then share banks.
    n, width = N_COUNTED, 31
    plain, vector = (profile(f"conv1d_{name}", n, width) for name in ("constant", "vector"))
    assert vector.global_store_requests * 4 == plain.global_store_requests
    assert vector.global_store_sectors == plain.global_store_sectors == n * 4 // 32
    assert vector.shared_load_conflicts == 0


def test_benchmarked_launches_are_the_defaults_of_the_sources():
    """Without -D the sources must mean what the benchmark's table says."""
    for spec in CONV1D:
        for constant, value in (("TILE_WIDTH", spec.tile), ("OUTPUTS", spec.outputs)):
            assert (f"#define {constant}" in kernels.source(spec.name)) == (value is not None), (
                spec.name,
                constant,
            )
    N, filter = problem(5003, 3)
    for spec in CONV1D:
        (one,) = spec.plan(N.size, 3)
        bare = replace(one, options=tuple(replace(spec, tile=None, outputs=None).options(3)))
        P = in_simulator((bare,), "P", {"N": N, "filter": filter})
        require_right(P, N, filter, spec.name)


def test_launches_of_the_layer_are_the_defaults_of_the_sources():
    """Without -D a source means layer 1, launched as the table says."""
    for spec in (*CONV2D, *conv2d.TAUGHT, *REDUCED):
        for name in spec.sources:
            source = kernels.source(name)
            headers = re.findall(r'^#include "(.+)"', source, re.MULTILINE)
            text = source + "".join((kernels.FOLDER / one).read_text() for one in headers)
            defaults = re.findall(r"^#ifndef (\w+)\n#define \1 (\S+)$", text, re.MULTILINE)
            options = spec.options(conv2d.shape_of("layer 1", 1))
            told = dict(one[2:].split("=") for one in options if one.startswith("-D"))
            # What a spec leaves to the source has no option.
            named = {macro: value for macro, value in defaults if macro in told}
            assert not defaults or named == told, name


def test_records_of_the_layer_say_what_the_sources_say():
    for spec in (*CONV2D, *REDUCED):
        # Its own options and arguments are what makes it another class.
        if type(spec) is not Conv2d:
            continue
        source = kernels.source(spec.name)
        assert (spec.filter_in == "constant") == ("__constant__ float filter[" in source), spec.name
        assert (spec.width_in == "constant") == ("#ifndef FILTER_WIDTH" in source), spec.name
        assert spec.strides == ("#ifndef STRIDE" in source), spec.name
        assert bool(spec.shared(conv2d.shape_of("layer 1", 1))) == (
            "extern __shared__" in source
        ), spec.name


def takes(spec: Conv2d, shape: ConvShape) -> bool:
    """Whether a kernel's table takes a shape."""
    try:
        spec.require(shape)
    except conv2d.LayerError:
        return False
    return True


def options_of(name: str) -> list[list[str]]:
    """The options of a kernel: of each record and layer that it takes, or two filters."""
    beside = (
        *conv2d.TAUGHT,
        *conv2d.SMALL,
        *conv2d.IMPLICIT,
        *conv2d.FASTEST,
        *conv2d.WARPGROUPS,
        conv2d.implicit_wgmma(),
        *conv2d.CHANNELS_LAST,
        *pooled.POOLED,
    )
    specs = [spec for spec in (*CONV2D, *REDUCED, *beside) if name in spec.sources]
    shapes = [conv2d.shape_of(layer, 1) for layer in ("layer 1", "layer 2")]
    shapes.append(ConvShape(1, C=64, M=64, H=58, W=58, K=3))  # for kernels of many channels
    cases = [list(spec.options(shape)) for spec in specs for shape in shapes if takes(spec, shape)]
    folder = f"-I{kernels.FOLDER}"  # of our headers
    return cases or [[folder, "-DFILTER_WIDTH=1"], [folder, "-DFILTER_WIDTH=31"]]


@pytest.mark.parametrize("name", kernels.names())
def test_the_compiler_has_no_remark(name):
    """PyCUDA passes remarks on to stderr, where a student takes them for an error. The options are
    those of the launches that are counted, which other tests have compiled.
    """
    counted = [one.options for one in counter_cases.LAUNCHES if one.kernel == name]
    said = {
        compile_source(kernels.source(name), options, f"{name}.cu").warnings
        for options in counted or options_of(name)
    }
    assert said == {""}


def test_a_remark_of_the_compiler_is_seen():
    source = kernels.source("axpy_basic").replace("{\n", "{\n    int never_used = n;\n", 1)
    assert "never_used" in compile_source(source).warnings


@needs_nvcc
def test_nvcc_has_no_remark_either(tmp_path):
    """A kernel with a header of CUDA; test_fastest_layer.py has those with a header of ours."""
    done = nvcc("conv2d_wmma", tmp_path, "-arch=sm_90", *options_of("conv2d_wmma")[-1])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_atol_is_the_one_that_is_documented():
    N, filter = np.array([1.0, -2.0], np.float32), np.array([3.0, -4.0, 5.0], np.float32)
    assert conv1d_atol(N, filter) == pytest.approx(4 * 2.0**-24 * 2 * 12)
