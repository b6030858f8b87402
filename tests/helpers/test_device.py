"""Choosing the device: every way in which a GPU can be missing or unusable has its own words."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import types
from typing import ClassVar

import pytest

from helpers import device
from helpers.device import Device, NoDeviceError, Probe
from tests.processes import python

GPU = Device(
    kind="gpu",
    name="NVIDIA H200",
    compute_capability=(9, 0),
    multiprocessors=132,
    shared_memory_per_block=49152,
    l2_bytes=62914560,
    dram_bandwidth=4.9e12,
    fp32_peak=6.7e13,
    why="found a GPU",
)
USABLE = Probe(driver=(13, 0), problem="", pycuda=True, nvcc=(13, 0))


@pytest.fixture
def fresh(monkeypatch):
    """No device selected, no LAB_DEVICE, and no device really used: `chosen` tells which one would
    be.
    """
    monkeypatch.setattr(device, "_selected", None)
    monkeypatch.delenv("LAB_DEVICE", raising=False)
    monkeypatch.setattr(device, "_simulator_is_active", lambda: False)
    monkeypatch.setattr(device, "_use_gpu", lambda why: dataclasses.replace(GPU, why=why))
    monkeypatch.setattr(
        device,
        "_use_simulator",
        lambda why: dataclasses.replace(GPU, kind="simulator", name="simulator", why=why),
    )
    return monkeypatch


def choose(monkeypatch, found: Probe, wanted: str | None = None) -> Device:
    monkeypatch.setattr(device, "probe", lambda: found)
    if wanted is not None:
        monkeypatch.setenv("LAB_DEVICE", wanted)
    return device.select()


# ---- the record ----


def test_record_survives_json():
    again = Device.from_dict(json.loads(json.dumps(GPU.to_dict())))
    assert again == GPU
    assert again != dataclasses.replace(GPU, l2_bytes=1)


@pytest.mark.parametrize("change", [{"l2_bytes": None}, {"colour": "green"}])
def test_record_with_other_fields_is_refused(change):
    data = {**GPU.to_dict(), **change}
    data = {key: value for key, value in data.items() if value is not None}
    with pytest.raises(ValueError, match=r"missing or unknown: .*(l2_bytes|colour)"):
        Device.from_dict(data)


# ---- the choice ----


def test_a_usable_gpu_is_taken_and_one_line_says_so(fresh, capsys):
    chosen = choose(fresh, USABLE)
    assert chosen.kind == "gpu"
    assert capsys.readouterr().out == "Device: NVIDIA H200 (found a GPU)\n"
    assert device.select() is chosen is device.selected()
    assert capsys.readouterr().out == ""


UNUSABLE = {
    "no driver": (
        Probe(None, "no GPU: the NVIDIA driver is not installed", True, (13, 0)),
        "no GPU: the NVIDIA driver",
    ),
    "no PyCUDA": (
        dataclasses.replace(USABLE, pycuda=False),
        "PyCUDA is not installed: run `make env`",
    ),
    "no nvcc": (
        dataclasses.replace(USABLE, nvcc=None),
        "nvcc is not found: install the CUDA toolkit",
    ),
    "an old driver": (
        dataclasses.replace(USABLE, driver=(12, 4)),
        "driver is too old: it supports CUDA 12.4.*CUDA 13.0",
    ),
    "a busy GPU": (dataclasses.replace(USABLE, problem="the GPU is busy: see nvidia-smi"), "busy"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_without_a_usable_gpu_the_simulator_says_why(fresh, capsys, case):
    found, why = UNUSABLE[case]
    assert choose(fresh, found).kind == "simulator"
    line = capsys.readouterr().out
    assert line.startswith("Device: simulator (") and line.count("\n") == 1
    assert re.search(why, line), line


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_gpu_asked_for_and_unusable_is_an_error(fresh, case):
    found, why = UNUSABLE[case]
    with pytest.raises(NoDeviceError, match=rf"LAB_DEVICE=gpu, but .*{why}.*unset LAB_DEVICE"):
        choose(fresh, found, "gpu")
    assert device.selected() is None


@pytest.mark.parametrize("nvcc", [(13, 2), (12, 9), (0, 0)])
def test_minor_versions_and_older_toolkits_fit_the_driver(nvcc):
    assert device.problem_of(dataclasses.replace(USABLE, nvcc=(14, 0)))
    assert device.problem_of(dataclasses.replace(USABLE, nvcc=nvcc)) == ""


def test_the_variable_overrides(fresh, capsys):
    assert choose(fresh, USABLE, "Simulator ").kind == "simulator"
    assert capsys.readouterr().out == "Device: simulator (LAB_DEVICE=simulator)\n"
    fresh.setattr(device, "_selected", None)
    assert choose(fresh, USABLE, "gpu").why == "LAB_DEVICE=gpu"


def test_the_variable_refuses_other_words_and_changes(fresh):
    with pytest.raises(ValueError, match="LAB_DEVICE=tpu: it can be gpu or simulator"):
        choose(fresh, USABLE, "tpu")
    choose(fresh, USABLE, "gpu")
    with pytest.raises(device.DeviceChangedError, match="uses the gpu already: restart the kernel"):
        choose(fresh, USABLE, "simulator")


def test_an_activated_simulator_stays(fresh):
    fresh.setattr(device, "_simulator_is_active", lambda: True)
    assert choose(fresh, USABLE).why == "the simulator was activated before"
    fresh.setattr(device, "_selected", None)
    with pytest.raises(NoDeviceError, match="activated before"):
        choose(fresh, USABLE, "gpu")


def test_a_pycuda_that_cannot_be_imported_gives_way(fresh):
    def broken(why):
        sys.modules["pycuda.driver"] = sys.modules["pycuda"] = types.ModuleType("pycuda")
        raise ImportError("undefined symbol: cuArrayCreate_v2")

    for name in [name for name in sys.modules if name.partition(".")[0] == "pycuda"]:
        fresh.delitem(sys.modules, name)
    fresh.setattr(device, "_use_gpu", broken)
    chosen = choose(fresh, USABLE)
    assert chosen.kind == "simulator"
    assert "cannot be imported: undefined symbol: cuArrayCreate_v2" in chosen.why
    assert "pycuda" not in sys.modules


# ---- the driver, asked without PyCUDA ----


class FakeDriver:
    """libcuda as ctypes sees it: functions that return codes and fill in what byref() points to."""

    def __init__(self, *, version=13000, init=0, count=1, retain=0):
        self._version, self._init, self._count, self._retain = version, init, count, retain
        self.released = 0

    def cuDriverGetVersion(self, number):  # noqa: N802
        number._obj.value = self._version
        return 0

    def cuInit(self, flags):  # noqa: N802
        return self._init

    def cuDeviceGetCount(self, number):  # noqa: N802
        number._obj.value = self._count
        return 0

    def cuDeviceGet(self, gpu, ordinal):  # noqa: N802
        return 0

    def cuDevicePrimaryCtxRetain(self, context, gpu):  # noqa: N802
        return self._retain

    def cuDevicePrimaryCtxRelease(self, gpu):  # noqa: N802
        self.released += 1
        return 0

    def cuGetErrorString(self, code, text):  # noqa: N802
        text._obj.value = b"what the driver says"
        return 0


def test_a_working_driver_is_asked_and_left_as_it_was():
    driver = FakeDriver(version=12040)
    assert device._probe_driver(driver) == ((12, 4), "")
    assert driver.released == 1


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        (None, "the NVIDIA driver is not installed"),
        (FakeDriver(init=100), "the NVIDIA driver finds none"),
        (FakeDriver(count=0), "the NVIDIA driver finds none"),
        (FakeDriver(init=803), "does not fit this computer.*error 803.*update the driver"),
        (FakeDriver(init=999), "does not work.*error 999: what the driver says"),
        (FakeDriver(retain=2), "out of memory.*nvidia-smi"),
        (FakeDriver(retain=46), "busy.*CUDA_VISIBLE_DEVICES"),
    ],
)
def test_a_driver_that_gives_no_gpu(driver, words):
    _, problem = device._probe_driver(driver)
    assert re.search(words, problem), problem
    assert driver is None or driver.released == 0


def test_a_hidden_gpu_is_hinted_at(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert "CUDA_VISIBLE_DEVICES" not in device._probe_driver(FakeDriver(init=100))[1]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES=''" in device._probe_driver(FakeDriver(init=100))[1]


# ---- figures ----


class FakeGpu:
    """A pycuda.driver.Device with the attributes of an H200; those in `without` raise, as in the
    simulator.
    """

    _VALUES: ClassVar = {
        "MULTIPROCESSOR_COUNT": 132,
        "MAX_SHARED_MEMORY_PER_BLOCK": 49152,
        "L2_CACHE_SIZE": 62914560,
        "MEMORY_CLOCK_RATE": 3_201_000,
        "GLOBAL_MEMORY_BUS_WIDTH": 6144,
        "CLOCK_RATE": 1_980_000,
    }

    def __init__(self, capability=(9, 0), without=()):
        self._capability, self._without = capability, without

    def name(self):
        return "NVIDIA H200"

    def compute_capability(self):
        return self._capability

    def get_attribute(self, key):
        if key in self._without:
            raise FakeCuda.LogicError(key)
        return self._VALUES[key]


class FakeCuda:
    class LogicError(Exception):
        pass

    device_attribute = types.SimpleNamespace(**{key: key for key in FakeGpu._VALUES})


def test_figures_of_an_h200():
    found = device._describe(FakeCuda, FakeGpu(), "gpu", None, "found a GPU")
    # NVIDIA's data sheet: 4.8 TB/s, 67 TFLOP/s FP32, of which the clocks give 4.917 and 66.9.
    assert found.dram_bandwidth == pytest.approx(4.917e12, rel=1e-3)
    assert found.fp32_peak == pytest.approx(66.9e12, rel=1e-3)
    assert (found.multiprocessors, found.l2_bytes, found.shared_memory_per_block) == (
        132,
        60 << 20,
        48 << 10,
    )


def test_figures_that_cannot_be_known_are_none():
    unknown = device._describe(FakeCuda, FakeGpu(capability=(99, 0)), "gpu", None, "")
    assert unknown.fp32_peak is None and unknown.dram_bandwidth is not None
    clockless = FakeGpu(without=("CLOCK_RATE", "MEMORY_CLOCK_RATE"))
    found = device._describe(FakeCuda, clockless, "gpu", None, "")
    assert found.fp32_peak is None and found.dram_bandwidth is None


# ---- in a process of its own ----


def test_selecting_the_simulator_gives_its_pycuda_and_a_context():
    done = python(
        "-c",
        "from helpers import device; gpu = device.select()\n"
        "import pycuda.driver as cuda\n"
        "print(gpu.kind, gpu.multiprocessors, gpu.fp32_peak, cuda.Context.get_device().name())\n"
        "print(int(cuda.mem_alloc(4)) > 0)",
        LAB_DEVICE="simulator",
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "Device: simulator (LAB_DEVICE=simulator)",
        "simulator 132 None Halo Labs simulator",
        "True",
    ]


def test_the_simulator_beside_an_imported_pycuda_is_refused():
    done = python(
        "-c",
        "import sys, types; sys.modules['pycuda'] = types.ModuleType('pycuda')\nfrom helpers "
        "import device; device.select()",
        LAB_DEVICE="simulator",
    )
    assert done.returncode != 0
    assert "the real PyCUDA is already imported" in done.stderr


def test_a_gpu_is_chosen_without_the_simulator():
    """Its modules, and the packages that it brings, are not loaded where nobody needs them."""
    done = python(
        "-c",
        "import sys\nfrom helpers import device\ndevice._use_gpu = lambda why: why\n"
        "device.probe = lambda: device.Probe((13, 0), '', True, (13, 0))\n"
        "print(device.select())\n"
        "print([name for name in sys.modules if 'simulator' in name or 'elftools' in name])",
        LAB_DEVICE="gpu",
    )
    assert done.stdout.splitlines() == ["Device: LAB_DEVICE=gpu", "LAB_DEVICE=gpu", "[]"], done
