"""Several simulated devices: memories, contexts by thread, what is used on the wrong one, order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.simulator import pycuda_api
from helpers.simulator.machine import memory
from helpers.simulator.pycuda_api import (
    _devices,
    autoprimaryctx,  # noqa: F401 - it makes the context
    gpuarray,
    tools,
)
from helpers.simulator.pycuda_api import driver as cuda
from helpers.simulator.pycuda_api.compiler import SourceModule

ROOT = Path(__file__).parents[2]
N = 64
SOURCE = """
__constant__ float factor[1];
extern "C" __global__ void scale(float *out, const float *in)
{
    out[threadIdx.x] = factor[0] * in[threadIdx.x];
}
"""
SHAPE = {"block": (N, 1, 1), "grid": (1, 1)}


class on:  # noqa: N801 - it reads as a preposition
    """A device's context is current inside the block."""

    def __init__(self, card):
        self.card = card

    def __enter__(self):
        self.card.context.push()
        return self.card

    def __exit__(self, *_):
        cuda.Context.pop()


def made(number):
    """A device with arrays, a stream, an event and a kernel, everything done."""
    card = SimpleNamespace(number=number, context=cuda.Device(number).retain_primary_context())
    with on(card):
        card.module = SourceModule(SOURCE, no_extern_c=True)
        card.factor = card.module.get_global("factor")[0]
        cuda.memcpy_htod(card.factor, np.full(1, 2 + number, np.float32))
        card.scale = card.module.get_function("scale")
        card.x, card.y = (cuda.to_device(np.full(N, 10 + number, np.float32)) for _ in range(2))
        card.stream, card.event = cuda.Stream(), cuda.Event()
        cuda.Context.synchronize()
    return card


@pytest.fixture
def pair():
    with pycuda_api.devices(2):
        cards = [made(number) for number in range(2)]
        pycuda_api.findings(clear=True)
        yield cards
        for card in cards:
            with on(card):
                cuda.Context.synchronize()


def found(kind="wrong-device"):
    """The messages of a kind since the last call."""
    return [one.message for one in pycuda_api.findings(clear=True) if one.kind == kind]


def read(card, array):
    values = np.empty(N, np.float32)
    with on(card):
        cuda.memcpy_dtoh(values, array)
    return values


# ---- HALO_DEVICES ----


def ask(code, **variables):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LAB_DEVICE": "simulator", **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


COUNT = """
from helpers import device
device.select()
import pycuda.driver as cuda
print(cuda.Device.count(), cuda.Device(cuda.Device.count() - 1).pci_bus_id())
"""


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("", "1 0000:00:00.0"), ("1", "1 0000:00:00.0"), (" 3 ", "3 0000:02:00.0")],
)
def test_the_variable_says_how_many(value, wanted):
    assert ask(COUNT, HALO_DEVICES=value).stdout.splitlines()[-1] == wanted


@pytest.mark.parametrize("value", ["0", "-1", "17", "two", "2.0", "1e1", "²", "0x2"])
def test_a_bad_value_says_what_to_type(value, monkeypatch):
    monkeypatch.setenv("HALO_DEVICES", value)
    with pytest.raises(
        ValueError, match=rf"HALO_DEVICES={value}: .*whole number from 1 to 16.*Type HALO_DEVICES=2"
    ):
        _devices.wanted()


def test_a_bad_value_stops_the_selection():
    done = ask(COUNT, HALO_DEVICES="many")
    assert done.returncode == 1 and "HALO_DEVICES=many" in done.stderr and not done.stdout


def test_one_device_unless_more_are_asked_for():
    assert cuda.Device.count() == 1
    with pytest.raises(cuda.LogicError, match=r"invalid device ordinal.*one device.*HALO_DEVICES"):
        cuda.Device(1)
    with pycuda_api.devices(3):
        assert cuda.Device.count() == 3
        with pytest.raises(cuda.LogicError, match="3 devices, numbers 0 to 2"):
            cuda.Device(3)
        with pytest.raises(cuda.LogicError, match="3 devices"):
            cuda.Device(-1)
    assert cuda.Device.count() == 1
    for number, sizes in ((0, ()), (17, ()), (1, (1, 2))):
        with (
            pytest.raises(ValueError, match="give 1 to 16 devices"),
            pycuda_api.devices(number, sizes),
        ):
            pass


def test_devices_are_told_apart(pair):
    first, second = cuda.Device(0), cuda.Device(1)
    assert first != second and first == cuda.Device(0) and len({first, second, cuda.Device(1)}) == 2
    assert cuda.Device(second.pci_bus_id()) == second
    assert first.can_access_peer(second) and not second.can_access_peer(second)
    with pytest.raises(TypeError, match=r"takes a pycuda.driver.Device"):
        first.can_access_peer(1)


# ---- memories and contexts ----


def test_memories_are_apart():
    with pycuda_api.devices(2, (None, 1 << 20)):
        contexts = [cuda.Device(number).retain_primary_context() for number in range(2)]
        contexts[1].push()
        try:
            assert (
                cuda.mem_get_info() == (1 << 20, 1 << 20)
                and cuda.Device(1).total_memory() == 1 << 20
            )
            held = cuda.mem_alloc(1 << 19)
            assert cuda.mem_get_info()[0] == 1 << 19
            with pytest.raises(cuda.MemoryError, match=r"524,288 of device 1's 1,048,576 bytes"):
                cuda.mem_alloc((1 << 19) + 1)
            contexts[0].push()
            before = cuda.mem_get_info()[0]
            other = cuda.mem_alloc(1 << 21)
            assert cuda.mem_get_info()[0] == before - (1 << 21)
            cuda.Context.pop()
            assert cuda.mem_get_info()[0] == 1 << 19
            other.free()
            held.free()
            assert cuda.mem_get_info()[0] == 1 << 20
        finally:
            cuda.Context.pop()
    assert memory.total(1) == memory.TOTAL


@pytest.mark.filterwarnings("ignore:.*leaves 1,048,576 bytes")
def test_the_next_devices_have_memory_that_a_thread_could_not_free():
    def free_in_a_thread():
        array = cuda.mem_alloc(1 << 20)
        thread = threading.Thread(target=array.free)
        thread.start()
        thread.join()

    for number in range(2):
        live = memory.used(number)
        with (
            pycuda_api.devices(2),
            on(SimpleNamespace(context=cuda.Device(number).retain_primary_context())),
        ):
            before = cuda.mem_get_info()[0]
            free_in_a_thread()
            with pycuda_api.devices(3):
                free_in_a_thread()
            assert before - cuda.mem_get_info()[0] == 1 << 20
        assert memory.used(number) == live
    assert len(found("wrong-thread")) == 4


def test_a_context_is_current_in_its_thread_alone(pair):
    told = {}

    def work(number):
        try:
            cuda.mem_alloc(4)
        except cuda.LogicError as error:
            told[number, "before"] = str(error)
        with on(pair[number]):
            told[number] = cuda.Context.get_device()
            barrier.wait()  # both have theirs at the same time
            told[number, "still"] = cuda.Context.get_device()

    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=work, args=(k,), name=f"card {k}") for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(2):
        assert told[number] == told[number, "still"] == cuda.Device(number)
        words = told[number, "before"]
        assert words.startswith("cuMemAlloc failed: invalid device context")
        assert f"thread 'card {number}'" in words and "push" in words


def test_threads_launch_at_the_same_time(pair):
    """Each on its own device, many times: nothing is lost or mixed up."""

    def work(card):
        with on(card):
            for _ in range(20):
                x = cuda.to_device(np.full(N, card.number, np.float32))
                y = cuda.mem_alloc(4 * N)
                card.scale(y, x, **SHAPE)
                values = np.empty(N, np.float32)
                cuda.memcpy_dtoh(values, y)
                right.append((values == card.number * (2 + card.number)).all())

    right = []
    threads = [threading.Thread(target=work, args=(card,)) for card in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 40 and all(right)
    assert pycuda_api.findings() == ()


def test_modules_have_constants_of_their_own(pair):
    for card in pair:
        with on(card):
            card.scale(card.y, card.x, **SHAPE)
        assert (read(card, card.y) == (10 + card.number) * (2 + card.number)).all()
    assert found() == []


def test_gpuarrays_on_two_devices(pair):
    for card in pair:
        with on(card):
            array = gpuarray.to_gpu(np.arange(N, dtype=np.float32)) + 1
            assert (array.get() == np.arange(N) + 1).all() and gpuarray.sum(array).get() == N * (
                N + 1
            ) / 2
            del array
    assert found() == []


# ---- the wrong device ----


def test_a_module_of_another_device(pair):
    with (
        on(pair[1]),
        pytest.raises(cuda.LogicError, match="cuFuncSetBlockShape failed: invalid resource handle"),
    ):
        pair[0].scale(pair[1].y, pair[1].x, **SHAPE)
    assert found() == [
        "cuFuncSetBlockShape: the module of kernel scale belongs to device 0, and the current "
        "context is of device 1"
    ]


@pytest.mark.parametrize("wrong", ["x", "y"])
def test_a_pointer_of_another_device(pair, wrong):
    arguments = {"y": pair[1].y, "x": pair[1].x, wrong: getattr(pair[0], wrong)}
    name = {"y": "out", "x": "in"}[wrong]
    before = read(pair[0], pair[0].y).copy()
    pycuda_api.findings(clear=True)
    with on(pair[1]), pytest.raises(cuda.LaunchError, match="wrong-device") as caught:
        pair[1].scale(arguments["y"], arguments["x"], **SHAPE)
    finding = caught.value.finding
    assert finding.kind == "wrong-device" and finding.array == name and finding.severity == "error"
    assert (
        finding.message
        == f"kernel scale runs on device 1, and its argument `{name}` is memory of device 0"
    )
    assert (
        finding.file == Path(__file__).name
        and finding.line > 0
        and "enable_peer_access" in finding.cause
    )
    assert (read(pair[0], pair[0].y) == before).all(), "the kernel has not run"


def test_a_pointer_into_the_middle_and_a_module_variable(pair):
    with on(pair[1]):
        for pointer in (np.uintp(int(pair[0].x) + 4), np.uintp(pair[0].factor)):
            with pytest.raises(cuda.LaunchError, match="memory of device 0"):
                pair[1].scale(pair[1].y, pointer, **SHAPE)


def test_peer_access_lets_a_kernel_reach(pair):
    with on(pair[1]):
        cuda.Context.enable_peer_access(pair[0].context)
        pair[1].scale(pair[1].y, pair[0].x, **SHAPE)
        with pytest.raises(cuda.LogicError, match="already enabled"):
            cuda.Context.enable_peer_access(pair[0].context)
    assert (read(pair[1], pair[1].y) == 30).all() and found() == []
    with (
        on(pair[0]),
        pytest.raises(cuda.LaunchError, match="device 1"),
    ):  # it holds in one direction
        pair[0].scale(pair[0].y, pair[1].x, **SHAPE)
    with on(pair[1]):
        cuda.Context.disable_peer_access(pair[0].context)
        with pytest.raises(cuda.LogicError, match="not been enabled"):
            cuda.Context.disable_peer_access(pair[0].context)
        with pytest.raises(cuda.LaunchError, match="device 0"):
            pair[1].scale(pair[1].y, pair[0].x, **SHAPE)


def test_peer_access_that_cannot_be(pair):
    with on(pair[1]):
        with pytest.raises(cuda.LogicError, match=r"invalid device ordinal.*of device 1, too"):
            cuda.Context.enable_peer_access(pair[1].context)
        with pytest.raises(cuda.LogicError, match="flags must be 0"):
            cuda.Context.enable_peer_access(pair[0].context, 1)
        with pytest.raises(TypeError, match=r"takes a pycuda.driver.Context"):
            cuda.Context.enable_peer_access(cuda.Device(0))


def test_a_stream_of_another_device(pair):
    with (
        on(pair[1]),
        pytest.raises(cuda.LogicError, match=r"invalid resource handle.*stream .* device 0"),
    ):
        pair[1].scale(pair[1].y, pair[1].x, stream=pair[0].stream, **SHAPE)
    (message,) = found()
    assert message.startswith("cuLaunchKernel: stream ") and message.endswith(
        "belongs to device 0, and the current context is of device 1"
    )
    with on(pair[1]), pytest.warns(cuda.SimulatorWarning, match="wrong-device"):
        cuda.memcpy_dtod_async(pair[1].y, pair[1].x, 4 * N, pair[0].stream)
    assert len(found()) == 1


def test_an_event_of_another_device(pair):
    with on(pair[1]):
        with pytest.raises(cuda.LogicError, match="cuEventRecord failed: invalid resource handle"):
            pair[0].event.record(pair[1].stream)
        with pytest.raises(cuda.LogicError, match="the null stream to device 1"):
            pair[0].event.record()
        assert len(found()) == 2
        pair[0].event.record(pair[0].stream)  # of one device, whatever is current
        pair[1].stream.wait_for_event(pair[0].event)
        pair[0].event.synchronize()
        assert pair[0].event.query() and pair[0].stream.is_done()
        pair[1].event.record(pair[1].stream).synchronize()
        with pytest.raises(
            cuda.LogicError, match="cuEventElapsedTime failed: invalid resource handle"
        ):
            pair[0].event.time_till(pair[1].event)


COPIES = {
    "to the device": lambda here, other: cuda.memcpy_htod(other.x, np.zeros(N, np.float32)),
    "from the device": lambda here, other: cuda.memcpy_dtoh(np.zeros(N, np.float32), other.x),
    "within a device": lambda here, other: cuda.memcpy_dtod(here.y, other.x, 4 * N),
    "a constant": lambda here, other: cuda.memcpy_htod(other.factor, np.zeros(1, np.float32)),
}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_that_names_another_device_is_warned_of(pair, copy):
    with on(pair[1]), pytest.warns(cuda.SimulatorWarning, match="wrong-device"):
        COPIES[copy](pair[1], pair[0])
    (message,) = found()
    assert "is memory of device 0, and the current context is of device 1" in message


@pytest.mark.parametrize(
    "memset",
    [
        lambda other: cuda.memset_d32(other.x, 0, N),
        lambda other: cuda.memset_d8_async(other.x, 0, N),
        lambda other: cuda.memset_d2d32(other.x, 4 * N, 0, N, 1),
    ],
)
def test_a_memset_of_another_device_is_refused(pair, memset):
    with on(pair[1]), pytest.raises(cuda.LogicError, match=r"cuMemset\w+ failed: invalid argument"):
        memset(pair[0])
    assert len(found()) == 1 and (read(pair[0], pair[0].x) == 10).all()


def in_a_thread(task):
    thread = threading.Thread(target=task, name="another")
    thread.start()
    thread.join()


def test_memory_is_not_freed_from_another_thread(pair):
    with on(pair[1]):
        held = [cuda.mem_alloc(1 << 20) for _ in range(3)]
        before = cuda.mem_get_info()[0]

        def with_the_context():
            with on(pair[1]):
                held[1].free()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            in_a_thread(held[0].free)
        assert cuda.mem_get_info()[0] == before
        (message,) = found("wrong-thread")
        assert "'another'" in message and "1,048,576 bytes" in message
        in_a_thread(with_the_context)
        assert cuda.mem_get_info()[0] == before + (1 << 20)
    held[2].free()  # in the thread that made the context, although it is not current
    with on(pair[1]):
        assert cuda.mem_get_info()[0] == before + (2 << 20)
        assert pycuda_api.findings() == ()


def test_managed_and_mapped_memory_is_everywhere(pair):
    with on(pair[0]):
        managed = cuda.managed_empty(N, np.float32, mem_flags=cuda.mem_attach_flags.GLOBAL)
        managed[:] = 4
    with on(pair[1]):
        pair[1].scale(pair[1].y, managed, **SHAPE)
        cuda.Context.synchronize()
    assert (read(pair[1], pair[1].y) == 12).all() and found() == []


# ---- copies between devices, and order ----


def test_a_peer_copy(pair):
    cuda.memcpy_peer(pair[1].y, pair[0].x, 4 * N, pair[1].context, pair[0].context)
    assert (read(pair[1], pair[1].y) == 10).all()
    first, second = pair[0].context, pair[1].context
    with on(pair[1]):
        cuda.memcpy_peer(pair[1].y, pair[1].x, 4 * N, second, second)
        cuda.memcpy_peer_async(pair[0].y, pair[1].x, 4 * N, first, second, pair[1].stream)
        pair[1].stream.synchronize()
    assert (read(pair[0], pair[0].y) == 11).all() and pycuda_api.findings() == ()


@pytest.mark.parametrize("call", [cuda.memcpy_peer, cuda.memcpy_peer_async])
def test_a_peer_copy_that_names_other_devices_is_warned_of(pair, call):
    first, second = pair[0].context, pair[1].context
    for contexts, roles in (((first, second), ("dest", "src")), ((second, second), ("src",))):
        with on(pair[1]), pytest.warns(cuda.SimulatorWarning, match="wrong-device"):
            call(pair[1].y, pair[0].x, 4 * N, *contexts)
            cuda.Context.synchronize()
        words = found()
        assert len(words) == len(roles)
        for role, message in zip(roles, words, strict=True):
            assert f"{role} is memory of device" in message and f"{role}_context is of" in message
        assert (read(pair[1], pair[1].y) == 10).all(), "the copy is done"
    for contexts, role in (((), "dest"), ((second,), "src")):
        with pytest.raises(cuda.LogicError, match=f"give {role}_context: PyCUDA"):
            call(pair[1].y, pair[0].x, 4 * N, *contexts)
    with pytest.raises(TypeError, match=r"dest_context must be a pycuda.driver.Context"):
        call(pair[1].y, pair[0].x, 4 * N, 1)


def test_a_peer_copy_beyond_the_memory(pair):
    with pytest.raises(cuda.LogicError, match="the allocation has 256 bytes"):
        cuda.memcpy_peer(pair[1].y, pair[0].x, 4 * N + 1, pair[1].context, pair[0].context)


def use(card):
    """A kernel on the device's stream that reads x and writes y."""
    with on(card):
        card.scale(card.y, card.x, stream=card.stream, **SHAPE)


def give(source, target, stream):
    with on(source):
        cuda.memcpy_peer_async(target.x, source.y, 4 * N, target.context, source.context, stream)


def recorded(card):
    with on(card):
        return cuda.Event().record(card.stream)


def unordered(pair, stream, waits):
    """A kernel on device 0, a copy of its result to device 1, a kernel there; waits between."""
    use(pair[0])
    if waits:
        pair[stream].stream.wait_for_event(recorded(pair[0]))
    give(pair[0], pair[1], pair[stream].stream)
    if waits:
        pair[1].stream.wait_for_event(recorded(pair[stream]))
    use(pair[1])
    return found("unsynchronised")


@pytest.mark.parametrize(
    ("stream", "later", "earlier"),
    [
        (
            0,
            r"kernel scale on stream \d+ of device 1",
            r"cuMemcpyPeerAsync on stream \d+ of device 0",
        ),
        (
            1,
            r"cuMemcpyPeerAsync on stream \d+ of device 1",
            r"kernel scale on stream \d+ of device 0",
        ),
    ],
)
def test_work_of_two_devices_is_unordered_without_a_wait(pair, stream, later, earlier):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (message,) = unordered(pair, stream, waits=False)
    assert re.fullmatch(
        rf"{later} \(line \d+\) reads memory that {earlier} \(line \d+\) may still be writing: .*",
        message,
    )


@pytest.mark.parametrize("stream", [0, 1])
def test_events_order_two_devices(pair, stream):
    assert unordered(pair, stream, waits=True) == []


@pytest.mark.parametrize("wait", ["stream", "event", "context"])
def test_the_host_orders_two_devices(pair, wait):
    use(pair[0])
    with on(pair[0]):
        waits = {"stream": pair[0].stream, "event": recorded(pair[0]), "context": cuda.Context}
        waits[wait].synchronize()
    give(pair[0], pair[1], pair[1].stream)
    assert found("unsynchronised") == []


def test_synchronising_one_device_says_nothing_of_the_other(pair):
    use(pair[0])
    with on(pair[1]), pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        cuda.Context.synchronize()
        cuda.memcpy_peer_async(
            pair[1].x, pair[0].y, 4 * N, pair[1].context, pair[0].context, pair[1].stream
        )


def test_a_null_stream_orders_its_own_device_alone(pair):
    use(pair[0])
    with on(pair[0]):
        cuda.memcpy_dtod_async(
            pair[0].x, pair[0].y, 4 * N
        )  # the null stream of device 0 waits for its streams
    assert found("unsynchronised") == []
    use(pair[0])
    with on(pair[1]), pytest.warns(cuda.SimulatorWarning, match="unsynchronised"):
        cuda.memcpy_peer_async(
            pair[1].x, pair[0].y, 4 * N, pair[1].context, pair[0].context
        )  # that of device 1 does not
    (message,) = found("unsynchronised")
    assert "the null stream of device 1" in message


def test_a_peer_copy_without_async_waits_for_both_devices(pair):
    use(pair[0])
    use(pair[1])
    cuda.memcpy_peer(pair[1].x, pair[0].y, 4 * N, pair[1].context, pair[0].context)
    use(pair[1])
    use(pair[0])
    assert found("unsynchronised") == []


def test_one_device_finds_what_it_always_did():
    """Words and findings of programs with one device do not speak of devices."""
    values = cuda.to_device(np.ones(N, np.float32))
    streams = [cuda.Stream(), cuda.Stream()]
    cuda.Context.synchronize()
    pycuda_api.findings(clear=True)
    cuda.memset_d32_async(values, 0, N, streams[0])
    with pytest.warns(cuda.SimulatorWarning):
        cuda.memset_d32_async(values, 1, N, streams[1])
    (message,) = found("unsynchronised")
    assert "device" not in message
    cuda.Context.synchronize()


# ---- threads that outlive the script ----

LATE = """
import threading, time
import numpy as np
from helpers import simulator
simulator.activate()
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

class Worker(threading.Thread):
    def run(self):
        time.sleep(0.5)  # the script has ended
        context = cuda.Device(0).make_context()
        module = SourceModule("__global__ void add(float* y, int n) { y[threadIdx.x] += n; }")
        y = np.zeros(32, np.float32)
        module.get_function("add")(cuda.InOut(y), np.int32(6), block=(32, 1, 1))
        print(f"worker {y.sum()}\\n", end="")  # in one piece: the other one prints, too
        context.pop()

cuda.init()
workers = [Worker(), Worker()]
for worker in workers:
    worker.start()
print("script ends")
"""


def test_a_thread_may_outlive_the_script():
    done = ask(LATE)
    assert done.stdout.splitlines() == ["script ends", "worker 192.0", "worker 192.0"]
    assert (done.returncode, done.stderr) == (0, "")


def test_the_fixtures_of_pycudas_own_tests_give_a_context_and_take_it_away():
    """Courses copy tests of PyCUDA's: each runs in a context of its own, also one that fails."""
    seen = []

    @tools.mark_cuda_test
    def test_sum(*numbers, doubled=False):
        """A test."""
        seen.append((cuda.Context.get_current() is not None, numbers, doubled))
        if doubled:
            raise ValueError("of the test")

    before = cuda.Context.get_current()
    test_sum(1, 2)
    with pytest.raises(ValueError, match="of the test"):
        test_sum(3, doubled=True)
    assert seen == [(True, (1, 2), False), (True, (3,), True)]
    assert (test_sum.__name__, test_sum.__doc__) == ("test_sum", "A test.")
    for _ in tools.init_cuda_context_fixture():
        assert cuda.Context.get_current() is not None
    assert cuda.Context.get_current() is before
