"""The one owner of "which device": a GPU through PyCUDA, or the simulator in its place.

`select()` decides once per process, prints which and why, and makes a context current, so that
afterwards `import pycuda.driver` means the right thing. `LAB_DEVICE=gpu` or `LAB_DEVICE=simulator`
overrides the choice.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields

from . import simulator
from .simulator import pycuda_api

VARIABLE = "LAB_DEVICE"
KINDS = ("gpu", "simulator")

# FP32 results per clock cycle and multiprocessor, by compute capability; CUDA C++ Programming
# Guide, table "Throughput of Native Arithmetic Instructions", row "32-bit floating-point add,
# multiply, multiply-add".
_FP32_PER_CLOCK = {
    (5, 0): 128, (5, 2): 128, (5, 3): 128, (6, 0): 64, (6, 1): 128, (6, 2): 128,
    (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 7): 128, (8, 9): 128,
    (9, 0): 128, (10, 0): 128, (10, 3): 128, (11, 0): 128, (12, 0): 128, (12, 1): 128,
}  # fmt: skip

# CUresult values of cuda.h that a user can do something about.
_OUT_OF_MEMORY, _NO_DEVICE, _UNAVAILABLE = 2, 100, 46
_DRIVER_MISMATCHES = (803, 804)


class NoDeviceError(RuntimeError):
    """The GPU that was asked for cannot be used; the message says why and what to do."""


class DeviceChangedError(RuntimeError):
    """LAB_DEVICE asks for another kind of device than the one that this process uses already."""


@dataclass(frozen=True)
class Device:
    """The device that the labs run on.

    kind: "gpu" or "simulator"; compute_capability: (major, minor); multiprocessors: how many;
    shared_memory_per_block: bytes, static; l2_bytes: bytes of L2 cache; dram_bandwidth: bytes/s, 2
    transfers per memory clock x bus width; fp32_peak: flop/s, multiprocessors x FP32 results per
    clock x 2 (multiply and add) x clock; both None on the simulator, which has the limits of an
    NVIDIA H200 and no clock, and where a driver does not tell; why: why this device was chosen.
    """

    kind: str
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    shared_memory_per_block: int
    l2_bytes: int
    dram_bandwidth: float | None
    fp32_peak: float | None
    why: str

    def to_dict(self) -> dict:
        """As plain values that JSON keeps."""
        return {**asdict(self), "compute_capability": list(self.compute_capability)}

    @classmethod
    def from_dict(cls, data: Mapping) -> Device:
        """From what to_dict() gave. Raises ValueError naming the fields that are missing or unknown."""
        names = {field.name for field in fields(cls)}
        if wrong := names.symmetric_difference(data):
            raise ValueError(
                f"a device record has the fields {sorted(names)}; missing or unknown: "
                f"{sorted(wrong)}"
            )
        return cls(**{**data, "compute_capability": tuple(data["compute_capability"])})

    def __str__(self) -> str:
        return f"{self.name} ({self.why})"


@dataclass(frozen=True)
class Probe:
    """What the computer has, found without PyCUDA.

    driver: the CUDA version that the NVIDIA driver supports, None without a driver; problem: why
    the driver gives no usable GPU, "" where it gives one; pycuda: whether it is installed; nvcc:
    its CUDA version, None without nvcc, (0, 0) where it does not tell.
    """

    driver: tuple[int, int] | None
    problem: str
    pycuda: bool
    nvcc: tuple[int, int] | None

    @property
    def has_gpu(self) -> bool:
        return self.driver is not None and not self.problem


_OTHER_GPU = "or choose another GPU by CUDA_VISIBLE_DEVICES"
_REINSTALL = (
    "build it against this machine's CUDA toolkit: pip install --force-reinstall "
    "--no-binary pycuda pycuda"
)

_selected: Device | None = None


def selected() -> Device | None:
    """The device that select() chose in this process, None before that."""
    return _selected


def select() -> Device:
    """The device to use, chosen at the first call, which prints one line that names it and says why.

    Without LAB_DEVICE: the GPU where there is a usable one, else the simulator. Raises
    NoDeviceError where LAB_DEVICE=gpu asks for a GPU that cannot be used, ValueError for another
    value than gpu and simulator, DeviceChangedError where the process uses the other kind already,
    and RuntimeError where the simulator is wanted and the real PyCUDA is imported.
    """
    global _selected
    wanted = _wanted()
    if _selected is None:
        _selected = _choose(wanted, probe)
        print(f"Device: {_selected}")
    elif wanted not in (None, _selected.kind):
        raise DeviceChangedError(
            f"{VARIABLE}={wanted}, but this process uses the {_selected.kind} already: "
            "restart the kernel to change it"
        )
    return _selected


def _wanted() -> str | None:
    """What LAB_DEVICE asks for, None where it is unset or empty."""
    value = os.environ.get(VARIABLE, "").strip().lower()
    if value and value not in KINDS:
        raise ValueError(f"{VARIABLE}={value}: it can be {' or '.join(KINDS)}, or unset")
    return value or None


def _choose(wanted: str | None, look: Callable[[], Probe]) -> Device:
    if wanted == "simulator":
        return _use_simulator(f"{VARIABLE}=simulator")
    if pycuda_api.installed():
        return _only_simulator(wanted, "the simulator was activated before")
    problem = problem_of(look())
    if not problem:
        try:
            return _use_gpu(f"{VARIABLE}=gpu" if wanted else "found a GPU")
        except ImportError as error:
            problem = f"PyCUDA is installed and cannot be imported: {error}; {_REINSTALL}"
            _forget_pycuda()
    return _only_simulator(wanted, problem)


def _only_simulator(wanted: str | None, problem: str) -> Device:
    if wanted == "gpu":
        raise NoDeviceError(
            f"{VARIABLE}=gpu, but {problem}. To run in the simulator instead, "
            f"unset {VARIABLE} and restart the kernel"
        )
    return _use_simulator(problem)


def problem_of(found: Probe) -> str:
    """Why PyCUDA could not use a GPU of this computer, and what to do about it; "" where it can."""
    if not found.has_gpu:
        return found.problem
    if not found.pycuda:
        return "there is a GPU, but PyCUDA is not installed: run `make env`, or pip install pycuda"
    if found.nvcc is None:
        return (
            "there is a GPU, but nvcc is not found: install the CUDA toolkit "
            "and put its bin folder on PATH (usually /usr/local/cuda/bin), "
            "or conda install -c conda-forge cuda-nvcc"
        )
    # A driver runs code of any toolkit of its own major version (CUDA minor version compatibility)
    # and of older ones.
    if found.driver is not None and found.nvcc[0] > found.driver[0]:
        return (
            "there is a GPU, but its driver is too old: it supports CUDA "
            f"{_version(found.driver)} and nvcc is of CUDA {_version(found.nvcc)}; "
            f"update the NVIDIA driver, or use a CUDA {found.driver[0]} toolkit"
        )
    return ""


def _version(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def probe() -> Probe:
    """Looks for the NVIDIA driver, a GPU, PyCUDA and nvcc; imports no CUDA."""
    driver, problem = _probe_driver(_load_driver())
    return Probe(driver, problem, importlib.util.find_spec("pycuda") is not None, _nvcc_version())


def _load_driver() -> ctypes.CDLL | None:
    for name in ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _probe_driver(driver: ctypes.CDLL | None) -> tuple[tuple[int, int] | None, str]:
    """The CUDA version of the driver, and why it gives no usable GPU ("" where it does)."""
    if driver is None:
        return None, "no GPU: the NVIDIA driver is not installed"
    number = ctypes.c_int(0)
    driver.cuDriverGetVersion(ctypes.byref(number))
    version = (number.value // 1000, number.value % 1000 // 10)
    count = ctypes.c_int(0)
    code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if code == _NO_DEVICE or (code == 0 and count.value == 0):
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        hint = f" (CUDA_VISIBLE_DEVICES={hidden!r} may hide it)" if hidden is not None else ""
        return version, f"no GPU: the NVIDIA driver finds none{hint}"
    return version, _driver_problem(driver, code) or _context_problem(driver)


def _context_problem(driver: ctypes.CDLL) -> str:
    """Why no context can be made on the first GPU, found by making one; "" where it can."""
    context, gpu = ctypes.c_void_p(), ctypes.c_int(0)
    code = driver.cuDeviceGet(ctypes.byref(gpu), 0) or driver.cuDevicePrimaryCtxRetain(
        ctypes.byref(context), gpu
    )
    if code == 0:
        driver.cuDevicePrimaryCtxRelease(gpu)
    return _driver_problem(driver, code)


def _driver_problem(driver: ctypes.CDLL, code: int) -> str:
    if code == 0:
        return ""
    text = ctypes.c_char_p()
    driver.cuGetErrorString(code, ctypes.byref(text))
    said = f"(driver error {code}: {(text.value or b'unknown').decode()})"
    if code == _OUT_OF_MEMORY:
        return (
            f"the GPU is out of memory {said}: close the programs that nvidia-smi lists, "
            f"{_OTHER_GPU}"
        )
    if code == _UNAVAILABLE:
        return (
            f"the GPU is busy {said}: close the program that holds it for itself "
            f"(nvidia-smi lists it), {_OTHER_GPU}"
        )
    if code in _DRIVER_MISMATCHES:
        return (
            f"the NVIDIA driver does not fit this computer {said}: update the "
            "driver and restart the computer"
        )
    return f"the NVIDIA driver does not work {said}: nvidia-smi may say more"


def _nvcc_version() -> tuple[int, int] | None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return None
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"release (\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _forget_pycuda() -> None:
    """Takes a half-imported PyCUDA out of sys.modules, so that the simulator can have its name."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "pycuda"]:
        del sys.modules[name]


def _use_gpu(why: str) -> Device:
    import pycuda.driver as cuda

    try:
        context = _make_context_current(cuda)
        return _describe(cuda, context.get_device(), "gpu", None, why)
    except cuda.Error as error:
        raise NoDeviceError(
            f"the GPU cannot be used: {error}; see nvidia-smi for what else uses it"
        ) from error


def _use_simulator(why: str) -> Device:
    simulator.activate()
    import pycuda.driver as cuda

    context = _make_context_current(cuda)
    return _describe(cuda, context.get_device(), "simulator", "simulator", why)


def _make_context_current(cuda):
    """Retains the primary context, the one that PyTorch and CuPy use too, and makes it current until the end."""
    cuda.init()
    context = cuda.Device(0).retain_primary_context()
    context.push()
    # Else PyCUDA aborts the process at exit, because its stack of contexts is not empty.
    atexit.register(cuda.Context.pop)
    return context


def _describe(cuda, device, kind: str, name: str | None, why: str) -> Device:
    """The record of PyCUDA's `device`, on a GPU and in the simulator alike."""

    def attribute(key: str) -> int:
        try:
            return device.get_attribute(getattr(cuda.device_attribute, key))
        except cuda.LogicError:  # the simulator has no clocks, and drivers may not tell them
            return 0

    capability = tuple(device.compute_capability())
    multiprocessors = attribute("MULTIPROCESSOR_COUNT")
    # Clock rates are in kHz, the bus width in bits; memory transfers twice per clock.
    bandwidth = 2 * attribute("MEMORY_CLOCK_RATE") * 1e3 * attribute("GLOBAL_MEMORY_BUS_WIDTH") / 8
    flops = multiprocessors * _FP32_PER_CLOCK.get(capability, 0) * 2 * attribute("CLOCK_RATE") * 1e3
    return Device(
        kind=kind,
        name=name or device.name(),
        compute_capability=capability,
        multiprocessors=multiprocessors,
        shared_memory_per_block=attribute("MAX_SHARED_MEMORY_PER_BLOCK"),
        l2_bytes=attribute("L2_CACHE_SIZE"),
        dram_bandwidth=bandwidth or None,
        fp32_peak=flops or None,
        why=why,
    )
