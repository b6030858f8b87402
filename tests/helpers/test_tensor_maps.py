"""Tensor maps: what cannot be described is refused; on a GPU, a map's tiles are the matrix's."""

import numpy as np
import pytest

from helpers import device, tensor_maps
from helpers.tensor_maps import NoTensorMapsError, TensorMapError, encode

ADDRESS = 1 << 30


@pytest.mark.parametrize(
    ("address", "shape", "dtype", "tile", "message"),
    [
        (ADDRESS, (9, 64), np.float64, (8, 16), "cells of float64"),
        (ADDRESS, (0, 64), np.float16, (8, 64), "at least 1 each"),
        (ADDRESS, (64,), np.float16, (64,), "give 2 to 5 sizes"),
        (ADDRESS, (2, 3, 64), np.float16, (8, 64), "give as many sizes of each"),
        (ADDRESS + 8, (9, 64), np.float16, (8, 64), "must be multiples of 16"),
        (ADDRESS, (9, 68), np.float16, (8, 64), "a row has 136 bytes"),
        (ADDRESS, (9, 64), np.float16, (8, 32), "128 bytes, that is 64 neighbouring cells of"),
        (ADDRESS, (9, 64), np.float32, (8, 64), "128 bytes, that is 32 neighbouring cells of"),
        (ADDRESS, (9, 64), np.float16, (257, 64), "257 cells of the tile with steps of 1 span 257"),
    ],
)
def test_what_no_map_describes_is_refused(address, shape, dtype, tile, message):
    with pytest.raises(TensorMapError, match=message):
        encode(address, shape, dtype, tile)


def test_without_a_driver_the_reason_is_said():
    if device.select().kind == "gpu":
        pytest.skip("there is a driver")
    with pytest.raises(NoTensorMapsError, match="no NVIDIA driver that encodes tensor maps"):
        encode(ADDRESS, (9, 64), np.float16, (8, 64))


COPY = """
#include "tensor_map.cuh"
extern "C" __global__ void copy_tile(
    half* to, const TensorMap* from_map, const TensorMap* to_map, int row, int column)
{
    __shared__ __align__(1024) half tile[32 * 64];
    __shared__ Barrier arrived;
    if (threadIdx.x != 0) return;
    read_map(from_map);
    read_map(to_map);
    make_barrier(&arrived, 1);
    publish_barriers();
    arrive_and_expect(&arrived, sizeof(tile));
    load_tile(tile, from_map, row, column, &arrived);
    wait_for(&arrived, 0);
    for (int i = 0; i < 32 * 64; ++i) {   // piece i of row r lies in the place i ^ r % 8
        to[i] = tile[i / 64 * 64 + ((i % 64 / 8) ^ (i / 64 % 8)) * 8 + i % 8];
    }
    store_tile(to_map, row, column, tile);
    wait_until_read<0>();
}
"""


@pytest.mark.gpu
def test_a_tile_goes_where_its_map_says():
    """A tile at the corner: zeros beyond it on the way in, nothing beyond it on the way back."""
    gpu = device.select()
    if gpu.kind != "gpu" or gpu.compute_capability != (9, 0):
        pytest.skip("tensor maps need compute capability 9.0")
    import pycuda.driver as cuda
    from pycuda.compiler import SourceModule

    from helpers import kernels

    matrix = np.arange(40 * 72, dtype=np.float16).reshape(40, 72) % 1999
    found, back = np.full((32, 64), np.nan, np.float16), np.full((48, 72), np.nan, np.float16)
    there = [cuda.to_device(array) for array in (found, matrix, back)]
    maps = [cuda.to_device(encode(int(one), (40, 72), np.float16, (32, 64))) for one in there[1:]]
    options = [f"-I{kernels.FOLDER}"]
    module = SourceModule(COPY, options=options, arch="sm_90a", no_extern_c=True)
    module.get_function("copy_tile")(
        there[0], *maps, np.int32(16), np.int32(64), grid=(1, 1), block=(32, 1, 1)
    )
    cuda.memcpy_dtoh(found, there[0])
    cuda.memcpy_dtoh(back, there[2])
    want = np.zeros((32, 64), np.float16)
    want[:24, :8] = matrix[16:, 64:]
    assert (found == want).all()
    expected = np.full((48, 72), np.nan, np.float16)
    expected[16:40, 64:] = matrix[16:, 64:]
    assert np.array_equal(back, expected, equal_nan=True)
    assert tensor_maps.BYTES == 128
