"""Work of streams that nothing orders: found when it is there, and not when CUDA's rules order it.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from helpers.simulator import pycuda_api

# Importing it makes the context.
from helpers.simulator.pycuda_api import (
    autoprimaryctx,  # noqa: F401
    cumath,
    gpuarray,
    tools,
)
from helpers.simulator.pycuda_api import driver as cuda
from helpers.simulator.pycuda_api.compiler import SourceModule

N = 256
SOURCE = """
__global__ void twice(float *out, const float *in) { out[threadIdx.x] = 2 * in[threadIdx.x]; }
__global__ void count(int *data) { data[threadIdx.x] += 1; }
"""
SHAPE = {"block": (N, 1, 1), "grid": (1, 1)}


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE)


@pytest.fixture(scope="module")
def twice(module):
    return module.get_function("twice")


@pytest.fixture(autouse=True)
def _everything_before_is_done():
    cuda.Context.synchronize()
    pycuda_api.findings(clear=True)


@pytest.fixture
def device():
    """Two arrays on the device, written and synchronised."""
    made = [cuda.to_device(np.ones(N, np.float32)) for _ in range(2)]
    cuda.Context.synchronize()
    return made


@pytest.fixture
def pinned():
    return cuda.pagelocked_zeros(N, np.float32)


def unsynchronised() -> list[str]:
    return [
        finding.message
        for finding in pycuda_api.findings(clear=True)
        if finding.kind == "unsynchronised"
    ]


def test_pieces_that_overlap_in_part_are_told_of_their_offsets(pinned):
    memory, streams = cuda.mem_alloc(pinned.nbytes), [cuda.Stream() for _ in range(2)]
    half = N // 2
    for itemsize, told in ((1, 1), (pinned.itemsize, 0)):
        for k, stream in enumerate(streams):
            piece = pinned[k * half : (k + 1) * half]
            cuda.memcpy_htod_async(int(memory) + k * half * itemsize, piece, stream)
        cuda.Context.synchronize()
        found = pycuda_api.findings(clear=True)
        assert len(found) == told
        assert all("Of the 512 bytes of each, 384 are the same" in one.cause for one in found)
    for stream in streams:  # the same bytes: no offset is wrong
        cuda.memcpy_htod_async(memory, pinned, stream)
    (one,) = pycuda_api.findings(clear=True)
    assert "are the same" not in one.cause


# ---- the host and page-locked memory ----

LOOKS = {
    "an element": lambda a: a[0],
    "a slice's sum": lambda a: a[3:].sum(),
    "arithmetic": lambda a: a + 1,
    "a NumPy function": np.linalg.norm,
    "a method": lambda a: a.copy(),
    "its text": repr,
    "a comparison": lambda a: (a == 0).all(),
    "a loop": list,
    "an argument of a function": lambda a: np.concatenate([a, a]),
    "an output": lambda a: np.add(1, 1, out=a),
    "a store": lambda a: a.__setitem__(0, 1),
    "fill": lambda a: a.fill(0),
    "another copy's source": lambda a: cuda.memcpy_htod_async(
        cuda.mem_alloc(a.nbytes), a, cuda.Stream()
    ),
}


@pytest.mark.parametrize("look", LOOKS)
def test_host_looks_before_an_asynchronous_copy_is_done(device, pinned, look):
    stream = cuda.Stream()
    cuda.memcpy_dtoh_async(pinned, device[0], stream)
    with pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        LOOKS[look](pinned)
    (message,) = unsynchronised()
    assert "cuMemcpyDtoHAsync on stream" in message and "may still be writing" in message


@pytest.mark.parametrize("look", LOOKS)
def test_host_looks_afterwards(device, pinned, look):
    stream = cuda.Stream()
    cuda.memcpy_dtoh_async(pinned, device[0], stream)
    stream.synchronize()
    LOOKS[look](pinned)
    assert not unsynchronised()


def test_the_finding_names_both_lines(device, pinned):
    stream = cuda.Stream()
    cuda.memcpy_dtoh_async(pinned, device[0], stream)
    with pytest.warns(cuda.SimulatorWarning) as caught:
        pinned[0]
    finding = caught[0].message.finding
    assert finding.kind == "unsynchronised" and finding.file == "test_pycuda_api_order.py"
    assert finding.other_line == finding.line - 2
    assert "memcpy_dtoh_async(pinned" in finding.source_lines[finding.other_line]
    assert "synchronize()" in finding.cause
    assert caught[0].filename == __file__


def waits_for_the_stream(stream, event):
    stream.synchronize()


def waits_for_the_event(stream, event):
    event.synchronize()


def waits_for_the_context(stream, event):
    cuda.Context.synchronize()


def asks_the_stream(stream, event):
    assert stream.is_done()


def asks_the_event(stream, event):
    assert event.query()


def copies_on_the_null_stream(stream, event):
    cuda.memcpy_dtoh(np.empty(1, np.float32), cuda.to_device(np.ones(1, np.float32)))


@pytest.mark.parametrize(
    "wait",
    [
        waits_for_the_stream,
        waits_for_the_event,
        waits_for_the_context,
        asks_the_stream,
        asks_the_event,
        copies_on_the_null_stream,
    ],
)
def test_what_tells_the_host(device, pinned, wait):
    stream, event = cuda.Stream(), cuda.Event()
    cuda.memcpy_dtoh_async(pinned, device[0], stream)
    event.record(stream)
    wait(stream, event)
    pinned[0]
    assert not unsynchronised()


def test_what_does_not_tell_the_host(device, pinned):
    stream, other, early = cuda.Stream(), cuda.Stream(), cuda.Event()
    early.record(stream)  # before the copy
    cuda.memcpy_dtoh_async(pinned, device[0], stream)
    other.synchronize()
    early.synchronize()
    with pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        pinned[0]


def test_a_source_must_not_change_before_it_is_read(device, pinned):
    stream = cuda.Stream()
    cuda.memcpy_htod_async(device[0], pinned, stream)
    pinned.sum()  # reading it is right
    assert not unsynchronised()
    with pytest.warns(cuda.SimulatorWarning, match="may still be reading"):
        pinned[:] = 2


def test_null_stream_copies_to_page_locked_memory_are_asynchronous_too(device, pinned):
    cuda.memcpy_dtoh_async(pinned, device[0])
    with pytest.warns(cuda.SimulatorWarning, match="on the null stream"):
        pinned[0]


def test_pageable_memory_is_safe_when_the_call_returns(device):
    stream, host = cuda.Stream(), np.zeros(N, np.float32)
    cuda.memcpy_dtoh_async(host, device[0], stream)
    assert host[0] == 1
    cuda.memcpy_htod_async(device[0], host, stream)
    host[:] = 3
    assert not unsynchronised()


def test_registered_memory_counts_as_page_locked(device):
    host = np.zeros(N, np.float32)
    registered = cuda.register_host_memory(host)
    stream = cuda.Stream()
    cuda.memcpy_dtoh_async(host, device[0], stream)
    with pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        registered[0]
    assert unsynchronised()
    registered.base.unregister()
    cuda.memcpy_dtoh_async(host, device[0], stream)
    registered[0]
    assert not unsynchronised()


def test_other_pieces_of_a_buffer_are_free(device, pinned):
    stream = cuda.Stream()
    cuda.memcpy_dtoh_async(pinned[: N // 2], device[0], stream)
    pinned[N // 2 :] = 5
    assert not unsynchronised()
    with pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        pinned[N // 2 - 1 :].sum()


def test_results_of_page_locked_arrays_are_plain_arrays(pinned):
    assert type(pinned + 1) is np.ndarray
    assert isinstance(pinned, np.ndarray) and isinstance(pinned[1:], np.ndarray)
    assert repr(pinned).startswith("array(")
    assert isinstance(pinned.base, cuda.PagelockedHostAllocation)


# ---- streams among each other ----


def test_two_streams_write_and_read_the_same_memory(twice, device):
    first, second = cuda.Stream(), cuda.Stream()
    twice(device[0], device[1], stream=first, **SHAPE)
    with pytest.warns(
        cuda.SimulatorWarning,
        match=r"writes memory that kernel twice on\s+stream .* may still be reading",
    ):
        twice(device[1], device[0], stream=second, **SHAPE)
    twice(device[1], device[0], stream=second, **SHAPE)
    assert len(unsynchronised()) == 1  # one missing wait, one finding


def test_two_streams_may_read_the_same_memory(twice, device):
    outputs = [cuda.mem_alloc(4 * N) for _ in range(2)]
    for output in outputs:
        twice(output, device[0], stream=cuda.Stream(), **SHAPE)
    assert not unsynchronised()


def test_an_event_orders_two_streams(twice, device):
    first, second = cuda.Stream(), cuda.Stream()
    twice(device[0], device[1], stream=first, **SHAPE)
    second.wait_for_event(cuda.Event().record(first))
    twice(device[1], device[0], stream=second, **SHAPE)
    assert not unsynchronised()


def test_events_order_through_a_third_stream(twice, device):
    first, between, last = (cuda.Stream() for _ in range(3))
    twice(device[0], device[1], stream=first, **SHAPE)
    between.wait_for_event(cuda.Event().record(first))
    last.wait_for_event(cuda.Event().record(between))
    twice(device[1], device[0], stream=last, **SHAPE)
    assert not unsynchronised()


def test_an_event_recorded_too_early_orders_nothing(twice, device):
    first, second = cuda.Stream(), cuda.Stream()
    event = cuda.Event().record(first)
    twice(device[0], device[1], stream=first, **SHAPE)
    second.wait_for_event(event)
    with pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        twice(device[1], device[0], stream=second, **SHAPE)


def test_an_event_that_was_never_recorded_waits_for_nothing():
    with pytest.warns(cuda.SimulatorWarning, match="never recorded"):
        cuda.Stream().wait_for_event(cuda.Event())
    with pytest.warns(cuda.SimulatorWarning, match="never recorded"):
        cuda.Event().synchronize()


def test_time_asked_for_before_the_event_is_known_to_have_happened(twice, device):
    stream, start, end = cuda.Stream(), cuda.Event(), cuda.Event()
    start.record(stream)
    twice(device[0], device[1], stream=stream, **SHAPE)
    end.record(stream)
    with pytest.warns(cuda.SimulatorWarning):
        end.time_since(start)
    assert unsynchronised() == [
        "an event is asked for its time before the host knows that it has happened"
    ]


@pytest.mark.parametrize(("flags", "found"), [(0, False), (1, True)])
def test_the_null_stream_waits_for_blocking_streams_only(twice, device, flags, found):
    twice(device[0], device[1], stream=cuda.Stream(flags), **SHAPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cuda.memcpy_dtoh(np.empty(N, np.float32), device[0])
    assert bool(unsynchronised()) == found


@pytest.mark.parametrize(("flags", "found"), [(0, False), (1, True)])
def test_blocking_streams_wait_for_the_null_stream(twice, device, flags, found):
    stream = cuda.Stream(flags)
    twice(device[0], device[1], **SHAPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twice(device[1], device[0], stream=stream, **SHAPE)
    assert bool(unsynchronised()) == found


def test_a_chunk_for_each_stream(twice, pinned):
    """The usual pipeline: one buffer, a piece of it for each stream."""
    pieces, total = (
        4,
        cuda.mem_alloc(4 * 4 * N),
    )
    host_in, host_out = (
        cuda.pagelocked_zeros((pieces, N), np.float32),
        cuda.pagelocked_zeros((pieces, N), np.float32),
    )
    host_in[:] = np.arange(pieces)[:, None]
    result = cuda.mem_alloc(4 * 4 * N)
    streams = [cuda.Stream() for _ in range(pieces)]
    for k, stream in enumerate(streams):
        source, target = int(total) + 4 * N * k, int(result) + 4 * N * k
        cuda.memcpy_htod_async(source, host_in[k], stream)
        twice(np.uintp(target), np.uintp(source), stream=stream, **SHAPE)
        cuda.memcpy_dtoh_async(host_out[k], target, stream)
    for stream in streams:
        stream.synchronize()
    np.testing.assert_array_equal(host_out, 2 * host_in)
    assert not unsynchronised()


def test_memory_that_is_given_back_and_taken_again_is_new(device, twice):
    stream = cuda.Stream()
    twice(device[0], device[1], stream=stream, **SHAPE)
    device.clear()
    again = cuda.to_device(np.ones(N, np.float32))
    cuda.memcpy_dtod_async(again, cuda.to_device(np.ones(N, np.float32)), 4 * N, cuda.Stream())
    assert not unsynchronised()


def test_a_pool_hands_memory_out_while_another_stream_uses_it(twice, device):
    pool = tools.DeviceMemoryPool()
    first = pool.allocate(4 * N)
    twice(first, device[0], stream=cuda.Stream(), **SHAPE)
    first.free()
    second = pool.allocate(4 * N)
    with pytest.warns(
        cuda.SimulatorWarning, match=r"kernel twice on\s+stream .* may still be writing"
    ):
        twice(second, device[0], stream=cuda.Stream(), **SHAPE)


def test_gpuarrays_in_streams():
    stream, other = cuda.Stream(), cuda.Stream()
    array = gpuarray.to_gpu_async(np.ones(N, np.float32), stream=stream)
    doubled = cumath.exp(array, stream=stream)
    got = doubled.get_async(stream)  # pageable: done when the call returns
    np.testing.assert_allclose(got, np.e, rtol=1e-6)
    assert not unsynchronised()
    cumath.exp(array, stream=stream)
    array.fill(0, stream=stream)
    with pytest.warns(cuda.SimulatorWarning, match=r"GPUArray exp .* GPUArray fill on\s+stream"):
        cumath.exp(array, stream=other)


def test_gpuarray_get_into_page_locked_memory():
    array, stream = gpuarray.zeros(N, np.float32), cuda.Stream()
    got = array.get(pagelocked=True, async_=True, stream=stream)
    with pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        got.max()
    assert unsynchronised()
    stream.synchronize()
    assert got.max() == 0 and not unsynchronised()


# ---- memory that host and device share ----


def test_managed_memory_needs_a_synchronize_even_on_the_null_stream(module):
    # As CUDA: PyCUDA's default is no flag at all.
    with pytest.raises(cuda.LogicError, match=r"mem_attach_flags\.GLOBAL"):
        cuda.managed_zeros(N, np.int32)
    data = cuda.managed_zeros(N, np.int32, mem_flags=cuda.mem_attach_flags.GLOBAL)
    count = module.get_function("count")
    count(data, **SHAPE)
    with pytest.warns(cuda.SimulatorWarning, match="kernel count on the null stream"):
        data[5]
    assert unsynchronised()
    count(data, **SHAPE)
    cuda.Context.synchronize()
    np.testing.assert_array_equal(data, 2)
    assert not unsynchronised()
    assert (
        isinstance(data.base, cuda.ManagedAllocation)
        and int(data.base) == data.base.get_device_pointer()
    )


def test_mapped_page_locked_memory(module):
    data = cuda.pagelocked_zeros(N, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
    module.get_function("count")(np.intp(data.base.get_device_pointer()), **SHAPE)
    with pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        data[0]
    cuda.Context.synchronize()
    np.testing.assert_array_equal(data, 1)
    with pytest.raises(cuda.LogicError, match="DEVICEMAP"):
        cuda.pagelocked_zeros(N, np.int32).base.get_device_pointer()
