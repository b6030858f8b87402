"""The choice of the device: a GPU through PyCUDA, or the simulator in its place.

`select()` chooses once in a process, prints the device and the reason, and makes a context current.
Afterwards, `import pycuda.driver` imports PyCUDA or the simulator, as chosen. `LAB_DEVICE=gpu` or
`LAB_DEVICE=simulator` overrides the choice.
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

VARIABLE = "LAB_DEVICE"
KINDS = ("gpu", "simulator")

# FP32 results per clock cycle and multiprocessor, by compute capability. The source is the CUDA C++
# Programming Guide, table "Throughput of Native Arithmetic Instructions", row "32-bit
# floating-point add, multiply, multiply-add".
_FP32_PER_CLOCK = {
    (5, 0): 128, (5, 2): 128, (5, 3): 128, (6, 0): 64, (6, 1): 128, (6, 2): 128,
    (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 7): 128, (8, 9): 128,
    (9, 0): 128, (10, 0): 128, (10, 3): 128, (11, 0): 128, (12, 0): 128, (12, 1): 128,
}

# CUresult values of cuda.h that have an advice for the user.
_OUT_OF_MEMORY, _NO_DEVICE, _UNAVAILABLE = 2, 100, 46
_DRIVER_MISMATCHES = (803, 804)


class NoDeviceError(RuntimeError):
    """LAB_DEVICE=gpu, but the GPU cannot be used; the message says why and what to do."""


class DeviceChangedError(RuntimeError):
    """LAB_DEVICE names another kind of device than this process already uses."""


@dataclass(frozen=True)
class Device:
    """The device that the labs run on.

    kind: "gpu" or "simulator". compute_capability: (major, minor). multiprocessors: their number.
    shared_memory_per_block: bytes, static. l2_bytes: bytes of L2 cache. dram_bandwidth: bytes/s, 2
    transfers per memory clock x bus width. fp32_peak: flop/s, multiprocessors x FP32 results per
    clock x 2 (multiply and add) x clock. The last two are None if a driver does not report the
    clocks, and in the simulator, which has the limits of an NVIDIA H200 and no clock. why: the
    reason of the choice.
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
        """Return plain values for JSON."""
        return {**asdict(self), "compute_capability": list(self.compute_capability)}

    @classmethod
    def from_dict(cls, data: Mapping) -> Device:
        """Return the device of to_dict()'s values; ValueError for missing or unknown fields."""
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
    """The CUDA parts of this computer, found without PyCUDA.

    driver: the CUDA version that the NVIDIA driver supports, None without a driver. problem: why
    there is no usable GPU, "" if there is one. pycuda: whether it is installed. nvcc: its CUDA
    version, None without nvcc, (0, 0) if nvcc does not print it.
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
    """Return the device that select() chose in this process, None before its first call."""
    return _selected


def select() -> Device:
    """Return the device. The first call chooses it, and prints its name and the reason.

    Without LAB_DEVICE, it is the GPU if there is a usable one, else the simulator. Raises
    NoDeviceError for LAB_DEVICE=gpu without a usable GPU; ValueError for a value other than gpu and
    simulator; DeviceChangedError if the process already uses the other kind; RuntimeError for the
    simulator if the real PyCUDA is already imported.
    """
    global _selected
    kind = _kind_of_variable()
    if _selected is None:
        _selected = _choose(kind, probe)
        print(f"Device: {_selected}")
    elif kind not in (None, _selected.kind):
        raise DeviceChangedError(
            f"{VARIABLE}={kind}, but this process uses the {_selected.kind} already: "
            "restart the kernel to change it"
        )
    return _selected


def _kind_of_variable() -> str | None:
    """Return the value of LAB_DEVICE, None if it is unset or empty."""
    value = os.environ.get(VARIABLE, "").strip().lower()
    if value and value not in KINDS:
        raise ValueError(f"{VARIABLE}={value}: it can be {' or '.join(KINDS)}, or unset")
    return value or None


def _choose(kind: str | None, look: Callable[[], Probe]) -> Device:
    if kind == "simulator":
        return _use_simulator(f"{VARIABLE}=simulator")
    if _simulator_is_active():
        return _only_simulator(kind, "the simulator was activated before")
    problem = problem_of(look())
    if not problem:
        try:
            return _use_gpu(f"{VARIABLE}=gpu" if kind else "found a GPU")
        except ImportError as error:
            problem = f"PyCUDA is installed and cannot be imported: {error}; {_REINSTALL}"
            _forget_pycuda()
    return _only_simulator(kind, problem)


def _only_simulator(kind: str | None, problem: str) -> Device:
    if kind == "gpu":
        raise NoDeviceError(
            f"{VARIABLE}=gpu, but {problem}. To run in the simulator instead, "
            f"unset {VARIABLE} and restart the kernel"
        )
    return _use_simulator(problem)


def problem_of(computer: Probe) -> str:
    """Return why PyCUDA cannot use a GPU of this computer, and what to do; "" if it can."""
    if not computer.has_gpu:
        return computer.problem
    if not computer.pycuda:
        return "there is a GPU, but PyCUDA is not installed: run `make env`, or pip install pycuda"
    if computer.nvcc is None:
        return (
            "there is a GPU, but nvcc is not found: install the CUDA toolkit "
            "and put its bin folder on PATH (usually /usr/local/cuda/bin), "
            "or conda install -c conda-forge cuda-nvcc"
        )
    # A driver runs code of any toolkit of its own major version (CUDA minor version compatibility)
    # and of older ones.
    if computer.driver is not None and computer.nvcc[0] > computer.driver[0]:
        return (
            "there is a GPU, but its driver is too old: it supports CUDA "
            f"{_version(computer.driver)} and nvcc is of CUDA {_version(computer.nvcc)}; "
            f"update the NVIDIA driver, or use a CUDA {computer.driver[0]} toolkit"
        )
    return ""


def _version(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def probe() -> Probe:
    """Look for the NVIDIA driver, a GPU, PyCUDA and nvcc, without importing CUDA."""
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
    """Return the CUDA version of the driver, and why there is no usable GPU ("" if there is)."""
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
    """Create a context on the first GPU; return why that fails, or ""."""
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
    reason = f"(driver error {code}: {(text.value or b'unknown').decode()})"
    if code == _OUT_OF_MEMORY:
        return (
            f"the GPU is out of memory {reason}: close the programs that nvidia-smi lists, "
            f"{_OTHER_GPU}"
        )
    if code == _UNAVAILABLE:
        return (
            f"the GPU is busy {reason}: close the program that holds it for itself "
            f"(nvidia-smi lists it), {_OTHER_GPU}"
        )
    if code in _DRIVER_MISMATCHES:
        return (
            f"the NVIDIA driver does not fit this computer {reason}: update the "
            "driver and restart the computer"
        )
    return f"the NVIDIA driver does not work {reason}: nvidia-smi may say more"


def _nvcc_version() -> tuple[int, int] | None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return None
    output = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"release (\d+)\.(\d+)", output)
    return (int(version[1]), int(version[2])) if version else (0, 0)


def _forget_pycuda() -> None:
    """Remove a half-imported PyCUDA from sys.modules, so that the simulator can take its name."""
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


def _simulator_is_active() -> bool:
    """Whether `import pycuda` resolves to the simulator; it is not imported to find out."""
    surface = sys.modules.get("helpers.simulator.pycuda_api")
    return surface is not None and surface.installed()


def _use_simulator(why: str) -> Device:
    from . import simulator  # not on a GPU: it takes a while, and brings packages

    simulator.activate()
    import pycuda.driver as cuda

    context = _make_context_current(cuda)
    return _describe(cuda, context.get_device(), "simulator", "simulator", why)


def _make_context_current(cuda):
    """Retain the primary context, which PyTorch and CuPy use, too, and make it current."""
    cuda.init()
    context = cuda.Device(0).retain_primary_context()
    context.push()
    # Without this, PyCUDA would abort the process at exit: its stack of contexts would not be
    # empty.
    atexit.register(cuda.Context.pop)
    return context


def _describe(cuda, device, kind: str, name: str | None, why: str) -> Device:
    """Return the description of PyCUDA's `device`, on a GPU or in the simulator."""

    def attribute(key: str) -> int:
        try:
            return device.get_attribute(getattr(cuda.device_attribute, key))
        except cuda.LogicError:  # The simulator has no clocks, and a driver may hide them.
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
