"""Copies of rows, memsets, page-locked memory, pools and what else a program does to memory before
and after a kernel.
"""

from __future__ import annotations

import gc
import inspect
import io
import threading
import warnings
from random import Random

import numpy as np
import pytest

from helpers.simulator import pycuda_api
from helpers.simulator.machine import memory as device_memory

# Importing it makes the context.
from helpers.simulator.pycuda_api import (
    autoprimaryctx,  # noqa: F401
    gpuarray,
    tools,
)
from helpers.simulator.pycuda_api import driver as cuda
from helpers.simulator.pycuda_api.compiler import SourceModule


@pytest.fixture
def rows():
    return np.arange(5 * 7, dtype=np.float32).reshape(5, 7)


# ---- copies of rows ----


def copy_of_rows(source, target, **fields):
    copy = cuda.Memcpy2D()
    getattr(copy, f"set_src_{'host' if isinstance(source, np.ndarray) else 'device'}")(source)
    getattr(copy, f"set_dst_{'host' if isinstance(target, np.ndarray) else 'device'}")(target)
    for name, value in fields.items():
        setattr(copy, name, value)
    return copy


@pytest.mark.parametrize("stream", [False, True])
def test_memcpy_2d_there_and_back(rows, stream):
    memory, pitch = cuda.mem_alloc_pitch(rows.shape[1] * 4, rows.shape[0], 4)
    assert pitch % 512 == 0 and pitch >= 28
    how = cuda.Stream() if stream else True
    copy_of_rows(rows, memory, src_pitch=28, dst_pitch=pitch, width_in_bytes=28, height=5)(how)
    got = np.full((5, 9), -1, np.float32)
    copy_of_rows(memory, got, src_pitch=pitch, dst_pitch=36, width_in_bytes=28, height=5)(how)
    np.testing.assert_array_equal(got[:, :7], rows)
    np.testing.assert_array_equal(got[:, 7:], -1)  # what lies between the rows stays
    part = np.zeros((2, 3), np.float32)
    copy_of_rows(
        memory,
        part,
        src_x_in_bytes=8,
        src_y=1,
        src_pitch=pitch,
        dst_pitch=12,
        width_in_bytes=12,
        height=2,
    )(aligned=True)
    np.testing.assert_array_equal(part, rows[1:3, 2:5])


def test_memcpy_2d_leaves_gaps_unwritten(rows):
    memory = cuda.mem_alloc(5 * 32)
    copy_of_rows(rows, memory, src_pitch=28, dst_pitch=32, width_in_bytes=28, height=5)()
    with pytest.warns(
        cuda.SimulatorWarning, match=r"of which 20 were never written;\s+the first is byte 28"
    ):
        cuda.from_device(memory, 40, np.float32)


def test_memcpy_3d():
    cube = np.arange(2 * 3 * 4, dtype=np.int32).reshape(2, 3, 4)
    memory = cuda.to_device(cube)
    got = np.zeros((2, 2, 2), np.int32)
    copy = cuda.Memcpy3D()
    copy.set_src_device(memory)
    copy.set_dst_host(got)
    copy.src_x_in_bytes, copy.src_y, copy.src_pitch, copy.src_height = 4, 1, 16, 3
    copy.dst_pitch, copy.dst_height = 8, 2
    copy.width_in_bytes, copy.height, copy.depth = 8, 2, 2
    copy()
    np.testing.assert_array_equal(got, cube[:, 1:3, 1:3])


WRONG_COPIES = {
    "no places": (
        lambda rows: cuda.Memcpy2D()(),
        cuda.LogicError,
        "set a source and a destination",
    ),
    "rows that overlap": (
        lambda rows: copy_of_rows(
            rows, cuda.mem_alloc(140), src_pitch=28, dst_pitch=20, width_in_bytes=28, height=5
        )(),
        cuda.LogicError,
        r"dst_pitch is 20 bytes, less than width_in_bytes \(28\)",
    ),
    "a destination that is too small": (
        lambda rows: copy_of_rows(
            rows, cuda.mem_alloc(139), src_pitch=28, dst_pitch=28, width_in_bytes=28, height=5
        )(),
        cuda.LogicError,
        "cuMemcpy2D failed: invalid argument.*140 bytes.*139 bytes",
    ),
    "a source that is too small": (
        lambda rows: copy_of_rows(
            rows, cuda.mem_alloc(200), src_pitch=28, dst_pitch=28, width_in_bytes=28, height=6
        )(),
        cuda.LogicError,
        "src has 140 bytes, the copy reaches byte 168",
    ),
    "a negative pitch": (
        lambda rows: copy_of_rows(rows, rows, src_pitch=-4),
        OverflowError,
        "negative",
    ),
    "one byte less than none": (lambda rows: cuda.mem_alloc(-1), OverflowError, "negative, got -1"),
    "an array of textures": (
        lambda rows: cuda.Memcpy2D().set_src_array(None),
        cuda.LogicError,
        "no CUDA arrays",
    ),
    "a texture": (
        lambda rows: cuda.matrix_to_texref(rows, None, "C"),
        cuda.LogicError,
        "no textures",
    ),
    "a format of textures": (
        lambda rows: cuda.array_format.FLOAT,
        cuda.LogicError,
        "array_format failed: operation not supported.*as a pointer",
    ),
    "an array for textures": (
        lambda rows: gpuarray.to_gpu(np.zeros(4, np.float32)).bind_to_texref_ext(None),
        cuda.LogicError,
        "no textures.*as a pointer",
    ),
    "no name": (lambda rows: cuda.no_such_name, AttributeError, "no_such_name"),
}


@pytest.mark.parametrize("case", WRONG_COPIES)
def test_wrong_copies_of_rows(rows, case):
    call, error, message = WRONG_COPIES[case]
    with pytest.raises(error, match=message):
        call(rows)


@pytest.mark.parametrize(("size", "dtype"), [(8, np.uint8), (16, np.uint16), (32, np.uint32)])
def test_memset_of_rows(size, dtype):
    pitch = 16
    memory = cuda.to_device(np.zeros((3, pitch), np.uint8))
    getattr(cuda, f"memset_d2d{size}")(memory, pitch, 7, 3, 3)
    getattr(cuda, f"memset_d2d{size}_async")(memory, pitch, 9, 1, 2, cuda.Stream())
    cuda.Context.synchronize()
    want = np.zeros((3, pitch // (size // 8)), dtype)
    want[:, :3] = 7
    want[:2, 0] = 9
    np.testing.assert_array_equal(cuda.from_device_like(memory, want), want)
    with pytest.raises(cuda.LogicError, match="pitch"):
        getattr(cuda, f"memset_d2d{size}")(memory, 2, 7, 3, 3)


# ---- what was never written ----


def test_copying_back_what_no_thread_wrote():
    half = SourceModule("__global__ void half(float *out) { out[threadIdx.x] = 1; }").get_function(
        "half"
    )
    out = np.zeros(64, np.float32)
    with pytest.warns(
        cuda.SimulatorWarning, match=r"of which 128 were never written;\s+the first is byte 128"
    ):
        half(cuda.Out(out), block=(32, 1, 1))
    (finding,) = pycuda_api.findings()
    assert finding.kind == "unwritten" and "grid" in finding.cause
    half(cuda.Out(out), block=(64, 1, 1))
    assert len(pycuda_api.findings(clear=True)) == 1
    assert not pycuda_api.findings()


def test_arithmetic_on_what_was_never_written():
    with pytest.warns(
        cuda.SimulatorWarning, match=r"GPUArray \+ reads 40 bytes .* 40 were never written"
    ):
        gpuarray.empty(10, np.float32) + 1


# ---- host memory ----


def test_page_locked_flags_and_likes():
    flags = cuda.host_alloc_flags.PORTABLE | cuda.host_alloc_flags.WRITECOMBINED
    array = cuda.pagelocked_empty((2, 3), np.float64, mem_flags=flags)
    assert array.base.get_flags() == flags
    like = cuda.pagelocked_zeros_like(np.ones((4, 5), np.int16, order="F"))
    assert like.flags.f_contiguous and like.dtype == np.int16 and not like.any()
    with pytest.raises(ValueError, match="not contiguous"):
        cuda.pagelocked_empty_like(np.zeros(8)[::2])


@pytest.mark.parametrize("kind", ["pagelocked", "aligned", "managed"])
def test_relatives_of_the_makers_of_host_memory(kind):
    option = (
        {"alignment": 512} if kind == "aligned" else {"mem_flags": cuda.mem_attach_flags.GLOBAL}
    )
    pattern = np.ones((4, 5), np.int16, order="F")
    for name, given in (
        ("zeros", ((4, 5), np.int16, "F")),
        ("zeros_like", (pattern,)),
        ("empty_like", (pattern,)),
    ):
        make = getattr(cuda, f"{kind}_{name}")
        made = make(*given, **option)
        assert (made.shape, made.dtype, made.strides) == ((4, 5), np.int16, pattern.strides)
        assert name == "empty_like" or not np.asarray(made).any()
        assert kind != "aligned" or made.ctypes.data % 512 == 0
        assert make.__name__ == f"{kind}_{name}" and make.__doc__.startswith(f"As {kind}_")
        parameters = list(inspect.signature(make).parameters)
        assert parameters == [
            *(["array"] if "like" in name else ["shape", "dtype", "order"]),
            *option,
        ]


def test_a_shape_is_whole_numbers():
    assert (
        cuda.pagelocked_empty(np.int64(3), np.float32).shape
        == cuda.pagelocked_empty([3], np.float32).shape
        == (3,)
    )
    for wrong in (2.5, (2, 2.5), "3"):
        with pytest.raises(TypeError):
            cuda.pagelocked_empty(wrong, np.float32)
    with pytest.raises(ValueError, match="not negative"):
        cuda.aligned_empty((2, -3), np.float32)


def test_as_buffer_and_pointer_holders():
    memory = cuda.to_device(np.arange(4, dtype=np.int32))
    assert bytes(memory.as_buffer(4, 8)) == (2).to_bytes(4, "little")

    class Holder(cuda.PointerHolderBase):
        def get_pointer(self):
            return int(memory)

    np.testing.assert_array_equal(
        gpuarray.GPUArray(4, np.int32, gpudata=Holder()).get(), np.arange(4)
    )
    with pytest.raises(NotImplementedError, match="get_pointer"):
        int(cuda.PointerHolderBase())


# ---- pools ----


def test_the_arrays_that_were_freed_last_are_known(monkeypatch):
    monkeypatch.setattr(device_memory, "_FREED_KEPT", 2)
    monkeypatch.setattr(device_memory, "_freed", {})  # other tests have freed arrays, too
    addresses = [device_memory.allocate(64) for _ in range(3)]
    for address in addresses:
        device_memory.free(address)
    known = [device_memory.freed_at(address) for address in addresses]
    assert known[0] is None
    assert [one and one[:2] for one in known[1:]] == [(address, 64) for address in addresses[1:]]


def test_bins_of_a_pool():
    pool, random = tools.DeviceMemoryPool(), Random(1)
    for size in (
        0,
        1,
        2,
        3,
        31,
        32,
        33,
        *(random.randrange(1 << 31) >> random.randrange(32) for _ in range(500)),
    ):
        number = pool.bin_number(size)
        room = pool.alloc_size(number)
        assert size <= room <= max(1, size) * (1 + 1 / 8)
        assert pool.bin_number(room) == number and pool.bin_number(room + 1) > number


def test_a_pool_hands_out_again_what_it_got_back():
    gc.collect()  # what other tests have left must not be freed in the middle of this one
    pool, before = tools.DeviceMemoryPool(), cuda.mem_get_info()
    first = pool.allocate(1000)
    address = int(first)
    assert (pool.active_blocks, pool.held_blocks, pool.active_bytes, len(first)) == (
        1,
        0,
        1000,
        1000,
    )
    del first
    assert (pool.active_blocks, pool.held_blocks) == (0, 1)
    second = pool.allocate(999)
    assert int(second) == address and pool.held_blocks == 0
    second.free()
    with pytest.raises(cuda.LogicError, match="freed before"):
        second.free()
    with pytest.raises(cuda.LogicError, match="use after free"):
        cuda.memcpy_htod(second, b"abc")
    assert pool.managed_bytes >= 1000
    pool.stop_holding()
    assert pool.managed_bytes == 0 and cuda.mem_get_info() == before


def test_a_pool_that_reports():
    log = io.StringIO()
    pool = tools.DebugMemoryPool(interactive=False, logfile=log)
    first = gpuarray.empty(100, np.float32, allocator=pool.allocate)
    assert "Allocation of 400 bytes" in log.getvalue() and "x 400" not in log.getvalue()
    second = pool.allocate(64)
    assert "0 held, 1 active" in log.getvalue() and "1x 400 bytes at: " in log.getvalue()
    assert log.getvalue().endswith("test_a_pool_that_reports|__init__\n")
    del first, second
    assert not pool.blocks and pool.held_blocks == 2


def test_gpuarrays_from_a_pool():
    pool = tools.DeviceMemoryPool()
    array = gpuarray.to_gpu(np.ones(100, np.float32), allocator=pool.allocate)
    assert pool.active_blocks == 1
    result = array + 1
    assert pool.active_blocks == 2 and result.allocator == pool.allocate
    np.testing.assert_array_equal(result.get(), 2)


def test_a_pool_gives_up_what_it_holds_before_memory_runs_out():
    pool = tools.DeviceMemoryPool()
    free, _ = cuda.mem_get_info()
    held = pool.allocate(free // 2 // 8)
    del held
    assert pool.held_blocks == 1
    with pytest.raises(cuda.MemoryError, match="out of memory"):
        pool.allocate(2 * free)
    assert pool.held_blocks == 0


def test_page_locked_pool():
    pool = tools.PageLockedMemoryPool(tools.PageLockedAllocator(cuda.host_alloc_flags.PORTABLE))
    array = pool.allocate((3, 4), np.float32, order="F")
    assert array.shape == (3, 4) and array.flags.f_contiguous
    address = array.ctypes.data
    array.base.free()
    assert pool.held_blocks == 1
    assert pool.allocate(12, np.int32).ctypes.data == address


# ---- types, contexts, figures ----


def test_c_types():
    assert [tools.dtype_to_ctype(t) for t in (np.float32, np.int8, np.uint64, bool)] == [
        "float",
        "signed char",
        "unsigned long",
        "bool",
    ]
    assert tools.dtype_to_ctype(np.complex64) == "pycuda::complex<float>"
    assert tools.dtype_to_ctype(gpuarray.vec.float4) == "float4"
    argument = tools.parse_c_arg("const unsigned int *__restrict__ x")
    assert isinstance(argument, tools.VectorArg) and (argument.dtype, argument.name) == (
        np.uint32,
        "x",
    )
    assert tools.get_arg_type("double a") == "d" and tools.get_arg_type("float x[]") == "P"
    for wrong in ("strange *x", "float", ""):
        with pytest.raises(ValueError):
            tools.parse_c_arg(wrong)
    with pytest.raises(ValueError, match="register it"):
        tools.dtype_to_ctype(np.dtype([("surely_unknown", np.int8)]))
    pair = np.dtype([("left", np.int32), ("right", np.int32)])
    assert tools.get_or_register_dtype("my_pair", pair) == pair
    with pytest.raises(RuntimeError, match="registered already"):
        tools.get_or_register_dtype("my_pair", np.float32)
    with pytest.warns(DeprecationWarning), pytest.raises(RuntimeError, match="registered already"):
        tools.register_dtype(np.float32, "my_float")


def test_vector_types():
    vector = gpuarray.vec.make_float3(1, 2, 3)
    assert vector.dtype == gpuarray.vec.float3 and vector["z"] == 3
    with pytest.raises(TypeError, match="3 components"):
        gpuarray.vec.make_float3(1, 2)


def test_occupancy():
    data = tools.DeviceData()
    assert (data.max_threads, data.warps_per_mp, data.registers) == (1024, 64, 65536)
    record = tools.OccupancyRecord(data, 256, shared_mem=40_000, registers=32)
    assert (record.tb_per_mp, record.limited_by, record.warps_per_mp, record.occupancy) == (
        1,
        "smem",
        8,
        8 / 64,
    )
    assert tools.OccupancyRecord(data, 256, registers=128).limited_by == "regs"
    for wrong in (
        {"threads": 2048},
        {"threads": 1024, "registers": 128},
        {"threads": 32, "shared_mem": 50_000},
    ):
        with pytest.raises(ValueError, match="too m"):
            tools.OccupancyRecord(data, **wrong)
    assert (data.align(65), data.align_words(8), data.align_dtype(17, 8), data.coalesce(17)) == (
        128,
        16,
        32,
        32,
    )


def test_memoised_for_each_context():
    calls = []

    @tools.context_dependent_memoize
    def make(value, scale=1):
        calls.append(value)
        return value * scale

    assert [make(2), make(2), make(2, scale=3)] == [2, 2, 6] and calls == [2, 2]
    context = cuda.Device(0).make_context()
    make(2)
    context.pop()
    assert calls == [2, 2, 2]
    tools.clear_context_caches()
    make(2)
    assert calls == [2, 2, 2, 2]


def test_a_thread_has_no_context_until_it_makes_one():
    seen = []

    def work():
        try:
            cuda.mem_alloc(4)
        except cuda.LogicError as error:
            seen.append(str(error))
        context = cuda.Device(0).make_context()
        seen.append(int(cuda.mem_alloc(4)) > 0)
        context.pop()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen[0].startswith("cuMemAlloc failed: invalid device context") and seen[1] is True


def test_device_and_context_answer():
    device = cuda.Device(0)
    assert cuda.Device(device.pci_bus_id()) == device and not device.can_access_peer(device)
    assert device.get_attribute(cuda.device_attribute.COMPUTE_MODE) == cuda.compute_mode.DEFAULT
    assert str(cuda.device_attribute.WARP_SIZE) == "WARP_SIZE" and device.warp_size == 32
    context = cuda.Context.attach()
    assert (
        context is cuda.Context.get_current()
        and context.get_api_version() == 13000
        and context.handle
    )
    cuda.Context.set_cache_config(cuda.func_cache.PREFER_L1)
    assert cuda.Context.get_cache_config() == cuda.func_cache.PREFER_L1
    cuda.Context.set_shared_config(cuda.shared_config.EIGHT_BYTE_BANK_SIZE)
    assert cuda.Context.get_shared_config() == cuda.shared_config.FOUR_BYTE_BANK_SIZE
    with pytest.raises(cuda.LogicError, match="of device 0, too"):
        cuda.Context.enable_peer_access(context)


def test_doubtful_things_are_said_once_for_each_line():
    def ask():
        cuda.memcpy_htod(cuda.mem_alloc(24), np.zeros((2, 3), np.float32, "F"))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            ask()
    assert len(caught) == 1 and "Fortran order" in str(caught[0].message)


@pytest.mark.parametrize(
    ("element", "dtype", "is_told"),
    [
        ("float", np.uint64, True),
        ("float", np.float64, True),
        ("int", np.float32, True),
        ("double", np.float32, True),
        ("float", np.float32, False),
        ("unsigned", np.int32, False),
        ("float", np.complex64, False),
        ("float", np.uint8, False),
        ("unsigned char", np.float32, False),
    ],
)
def test_a_copy_to_other_numbers_than_the_kernel_writes_is_told(element, dtype, is_told, recwarn):
    source = f"__global__ void fill({element} *x) {{ x[threadIdx.x] = 1; }}"
    fill = SourceModule(source).get_function("fill")
    memory = cuda.mem_alloc(512)
    cuda.memset_d8(memory, 0, 512)
    fill(memory, block=(32, 1, 1), grid=(1, 1))
    cuda.memcpy_dtoh(np.empty(64 // np.dtype(dtype).itemsize, dtype), memory)
    told = [str(one.message) for one in recwarn.list]
    assert is_told == (len(told) == 1 and f"fills an array of {np.dtype(dtype).name}" in told[0])
    assert len(told) == is_told


def test_what_the_host_has_written_since_is_of_the_hosts_numbers(recwarn):
    fill = SourceModule("__global__ void fill(float *x) { x[0] = 1; }").get_function("fill")
    memory = cuda.mem_alloc(64)
    fill(memory, block=(1, 1, 1), grid=(1, 1))
    cuda.memcpy_htod(memory, np.arange(16, dtype=np.int32))
    cuda.memcpy_dtoh(np.empty(16, np.int32), memory)
    assert not recwarn.list
