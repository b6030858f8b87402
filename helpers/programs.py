"""Plans compiled for the selected device, and their launches there.

with programs.Program(plan) as program:
    program.launch({"y": y_there, "x": x_there, "filter": filter_there}, stream)

with programs.DeviceRun(plan, {"y": y, "x": x, "filter": filter}) as run:  # arrays of the host
    run.launch()
    y = run.read("y")["y"]
"""

from __future__ import annotations

import abc
import contextlib
import functools
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from helpers import device, limits, tensor_maps
from helpers.launch import (
    Argument,
    Array,
    Launch,
    LaunchError,
    Plan,
    Prepared,
    Scratch,
    TensorMap,
    require_passed,
    required,
    scratch_sizes,
)
from helpers.quantities import quantity


@functools.lru_cache(maxsize=64)
def _image(compiler: Any, source: str, options: tuple[str, ...], on: tuple[int, int]) -> bytes:
    """Return the compiled source, for a compute capability: cards of one computer may differ.

    This cache exists because PyCUDA runs nvcc's preprocessor for each compilation of a source with
    an #include, even if its own cache has the result, and the labs create many networks.
    """
    rest, architecture = target(options)
    more = {"arch": architecture} if architecture else {}  # else the device's
    return compiler.compile(source, options=rest, no_extern_c=True, **more)


def target(options: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the options without -arch=, and the architecture that it names.

    PyCUDA adds an -arch of its own, and nvcc takes one only: it must be handed over apart. A kernel
    with instructions of one architecture, such as wgmma of sm_90a, has the option in its plan.
    """
    named = [one for one in options if one.startswith("-arch=")]
    rest = [one for one in options if one not in named]
    return rest, named[-1].removeprefix("-arch=") if named else None


def compile_ahead(
    plans: Iterable[Plan], *, ignored: tuple[type[Exception], ...] = (), workers: int = 16
) -> int:
    """Compile the kernels of plans into PyCUDA's cache, several at a time.

    Returns the number of kernels. It does nothing and returns 0 in the simulator. ignored:
    exceptions to ignore here; they occur again when the kernel is needed. Raises PyCUDA's
    CompileError if nvcc refuses a kernel.
    """
    gpu = device.select()
    if gpu.kind != "gpu":
        return 0
    import pycuda.compiler

    architecture = "sm_{}{}".format(*gpu.compute_capability)

    def build(kernel: tuple[str, tuple[str, ...]]) -> None:
        source, options = kernel
        rest, named = target(options)
        with contextlib.suppress(*ignored):
            pycuda.compiler.compile(
                source, options=rest, no_extern_c=True, arch=named or architecture
            )

    kernels = sorted({(one.source, one.options) for plan in plans for one in plan})
    with ThreadPoolExecutor(min(workers, os.cpu_count() or 1)) as pool:  # Each runs nvcc.
        list(pool.map(build, kernels))
    return len(kernels)


@dataclass
class _Loaded:
    """A kernel on the device. held: for each constant symbol, the array of its values."""

    module: Any
    function: Any
    held: dict[str, Any] = field(default_factory=dict)


class Modules:
    """The kernels of plans, loaded on a device, each once.

    cuda, compiler: a driver and its compiler; by default those of the selected device. Programs
    with the same Modules share the contents of their constant symbols, too.
    """

    def __init__(self, cuda: Any = None, compiler: Any = None):
        if cuda is None:
            device.select()
            import pycuda.compiler
            import pycuda.driver

            cuda, compiler = pycuda.driver, pycuda.compiler
        self.cuda, self._compiler = cuda, compiler
        self._loaded: dict[tuple[str, str, tuple[str, ...]], _Loaded] = {}

    def load(self, one: Launch) -> _Loaded:
        """Return the kernel of a launch.

        Raises LaunchError for a block or shared memory that is too large, and the compiler's
        errors.
        """
        key = one.name, one.source, one.options
        if key not in self._loaded:
            capability = tuple(self.cuda.Context.get_device().compute_capability())
            image = _image(self._compiler, one.source, one.options, capability)
            module = self.cuda.module_from_buffer(image)
            self._loaded[key] = _Loaded(module, module.get_function(one.name))
        function = self._loaded[key].function
        threads = math.prod(one.block)
        if (most := function.max_threads_per_block) < threads:
            raise LaunchError(
                f"{one.name}, as compiled, takes so many registers that a block can have {most} "
                f"threads, not {threads}: take smaller blocks"
            )
        self._allow_shared(one, function)
        return self._loaded[key]

    def _allow_shared(self, one: Launch, function: Any) -> None:
        """Allow more than 48 KB of dynamic shared memory, up to the device's limit."""
        if one.shared <= limits.STATIC_SHARED_BYTES:
            return
        attribute = self.cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        most = self.cuda.Context.get_device().get_attribute(attribute)
        if one.shared > most:
            raise LaunchError(
                f"{one.name} needs {quantity(one.shared, 'byte')} of dynamic shared memory; a "
                "block of this "
                f"device can have {most:,}. Take smaller tiles."
            )
        size = self.cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        function.set_attribute(size, one.shared)


class DeviceOwner(abc.ABC):
    """Something with memory on the device, which the end of a `with` block frees."""

    @abc.abstractmethod
    def free(self) -> None:
        """Free what lies on the device."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.free()


class Program(DeviceOwner):
    """A plan compiled for a device, with its scratch arrays. It launches on device addresses.

    modules: the loaded kernels; by default new ones on the selected device. Raises as
    `Modules.load`.
    """

    def __init__(self, plan: Plan, modules: Modules | None = None):
        self.plan = tuple(plan)
        self.modules = modules or Modules()
        self._cuda = self.modules.cuda
        self._kernels = [self.modules.load(one) for one in self.plan]
        self._buffers: dict[Any, Any] = {}  # scratch by name, tables, Prepared and maps by id
        # For each Prepared and TensorMap, by id, the array of its values.
        self._held: dict[int, Any] = {}
        try:
            self._allocate()
        except Exception:
            self.free()
            raise

    def _allocate(self) -> None:
        for name, size in scratch_sizes(self.plan).items():
            self._buffers[name] = self._cuda.mem_alloc(size)
        for value in (value for one in self.plan for value in one.arguments):
            if isinstance(value, Prepared) and id(value) not in self._buffers:
                self._buffers[id(value)] = self._cuda.mem_alloc(value.nbytes)
            elif isinstance(value, TensorMap) and id(value) not in self._buffers:
                self._buffers[id(value)] = self._cuda.mem_alloc(tensor_maps.BYTES)
            elif isinstance(value, np.ndarray) and id(value) not in self._buffers:
                self._buffers[id(value)] = self._cuda.to_device(np.ascontiguousarray(value))

    def kernel(self, name: str | None = None) -> _Loaded:
        """Return the loaded kernel of a launch by name, by default of the last launch.

        Its `module` and `function` are PyCUDA's.
        """
        if name is None:
            return self._kernels[-1]
        for one, loaded in zip(self.plan, self._kernels, strict=True):
            if one.name == name:
                return loaded
        raise LaunchError(f"no launch of {name}; the plan has {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the kernels, each once."""
        return tuple(dict.fromkeys(one.name for one in self.plan))

    def scratch(self, name: str) -> Any:
        """Return the device allocation of a scratch array."""
        return self._buffers[name]

    def launch(
        self, arrays: Mapping[str, Any], stream: Any = None, only: Collection[str] | None = None
    ) -> None:
        """Enqueue the plan; only: names of the kernels to launch, by default all.

        arrays: device addresses by name. For an array that only constants or Prepared arrays need,
        a NumPy array is allowed. Constants and Prepared arrays are computed again when their array
        is another one than in the launch before. After you write new values to the same address,
        call `upload`.
        """
        for one, loaded in zip(self.plan, self._kernels, strict=True):
            if only is not None and one.name not in only:
                continue
            for symbol, held in one.constants.items():
                self._fill(loaded, symbol, held, arrays, stream)
            for value in one.arguments:
                if isinstance(value, Array):
                    require_passed(one, value.name, arrays)
                elif isinstance(value, TensorMap):
                    require_passed(one, value.of.name, arrays)
            arguments = [self._argument(value, arrays, stream) for value in one.arguments]
            how = {"grid": one.grid, "block": one.block, "shared": one.shared}
            loaded.function(*arguments, **how, stream=stream)

    def upload(self, arrays: Mapping[str, Any], stream: Any = None) -> None:
        """Compute the constants and Prepared arrays that come from one of ``arrays``."""
        for one, loaded in zip(self.plan, self._kernels, strict=True):
            for symbol, held in one.constants.items():
                name = _source_of(held)
                if name is not None and name in arrays:
                    self._fill_with(loaded, symbol, held, arrays[name], stream)
                    loaded.held.setdefault(symbol, None)
            for value in one.arguments:
                if isinstance(value, Prepared) and value.of.name in arrays:
                    self._prepare(value, arrays[value.of.name])
                    self._held.setdefault(id(value), None)

    def free(self) -> None:
        """Free the scratch arrays."""
        for buffer in self._buffers.values():
            buffer.free()
        self._buffers = {}

    def _argument(self, value: Argument, arrays: Mapping[str, Any], stream: Any) -> Any:
        if isinstance(value, np.generic):
            return value
        if isinstance(value, Array):
            address = int(arrays[value.name]) + value.offset
            if value.zeroed:
                self._cuda.memset_d32_async(address, 0, value.nbytes // 4, stream)
            return np.uintp(address)
        if isinstance(value, Scratch):
            return self._buffers[value.name]
        if isinstance(value, Prepared):
            array = _passed(value.of.name, arrays, id(value) in self._held)
            if array is not None and not _same(self._held.get(id(value)), array):
                self._prepare(value, array)
                self._held[id(value)] = _token(array)
        if isinstance(value, TensorMap):
            address = int(arrays[value.of.name]) + value.of.offset
            if self._held.get(id(value)) != address:
                of = value.of
                made = tensor_maps.encode(address, of.shape, of.dtype, value.tile, value.steps)
                self._cuda.memcpy_htod(self._buffers[id(value)], made)
                self._held[id(value)] = address
        return self._buffers[id(value)]

    def _prepare(self, value: Prepared, array: Any) -> None:
        values = np.ascontiguousarray(value.make(self._on_host(array, value.of)))
        self._cuda.memcpy_htod(self._buffers[id(value)], values)

    def _fill(
        self,
        loaded: _Loaded,
        symbol: str,
        value: Array | Prepared | np.ndarray,
        arrays: Mapping[str, Any],
        stream: Any,
    ) -> None:
        name = _source_of(value)
        array = value if name is None else _passed(name, arrays, symbol in loaded.held)
        if array is None or (symbol in loaded.held and _same(loaded.held[symbol], array)):
            return
        self._fill_with(loaded, symbol, value, array, stream)
        loaded.held[symbol] = _token(array)

    def _fill_with(self, loaded: _Loaded, symbol: str, value: Any, array: Any, stream: Any) -> None:
        address, size = loaded.module.get_global(symbol)
        if isinstance(value, Array) and not isinstance(array, np.ndarray):
            self._cuda.memcpy_dtod_async(address, int(array), size, stream)
            return
        values = array
        if isinstance(value, Array):
            values = required(array, value)
        elif isinstance(value, Prepared):
            values = value.make(self._on_host(array, value.of))
        self._cuda.memcpy_htod(address, np.ascontiguousarray(values))

    def _on_host(self, array: Any, spec: Array) -> np.ndarray:
        """Return the values of an array, from a NumPy array or a device address."""
        if isinstance(array, np.ndarray):
            return required(array, spec)
        values = np.empty(spec.shape, spec.dtype)
        self._cuda.memcpy_dtoh(values, int(array))
        return values


def _source_of(value: Array | Prepared | np.ndarray) -> str | None:
    """Return the name of the array of a constant; None for a table."""
    if isinstance(value, Prepared):
        return value.of.name
    return value.name if isinstance(value, Array) else None


def _passed(name: str, arrays: Mapping[str, Any], is_held: bool) -> Any:
    """Return the array of that name; None if the caller passes none, and the old values stay."""
    if name not in arrays and not is_held:
        raise LaunchError(f"give the array {name!r}: nothing was uploaded of it so far")
    return arrays.get(name)


def _token(array: Any) -> Any:
    """Return the identity of an array: the object on the host, the address on the device."""
    return array if isinstance(array, np.ndarray) else int(array)


def _same(held: Any, array: Any) -> bool:
    if isinstance(array, np.ndarray) or isinstance(held, np.ndarray):
        return held is array
    return held is not None and held == int(array)


class DeviceRun(DeviceOwner):
    """A plan with copies of the host's arrays on the device, for one launch or many.

    modules: as for `Program`.
    """

    def __init__(
        self, plan: Plan, arrays: Mapping[str, np.ndarray], modules: Modules | None = None
    ):
        self._program = Program(plan, modules)
        self._cuda = self._program.modules.cuda
        self._arrays = arrays
        self._there = {name: self._cuda.to_device(array) for name, array in arrays.items()}
        self.launch = launcher(self._program, self._there)

    def read(self, *names: str) -> dict[str, np.ndarray]:
        """Return arrays as the launches so far have left them."""
        found = {name: np.empty_like(self._arrays[name]) for name in names}
        for name, array in found.items():
            self._cuda.memcpy_dtoh(array, self._there[name])
        return found

    def free(self) -> None:
        """Give the device's memory back."""
        self._program.free()
        for array in self._there.values():
            array.free()


class Images:
    """Sources that were compiled before, in the place of a compiler of `Modules`.

    images: the compiled source, by source and options.
    """

    def __init__(self, images: Mapping[tuple[str, tuple[str, ...]], bytes]):
        self._images = images

    def compile(self, source: str, options: Sequence[str], **_: Any) -> bytes:
        """Return the compiled source. Raises KeyError for one that is not there."""
        return self._images[source, tuple(options)]


def launcher(
    program: Program, arrays: Mapping[str, Any], only: Sequence[str] | None = None
) -> Callable[..., None]:
    """Return ``launch(stream)`` of a program on the same arrays each time, for timing."""

    def launch(stream: Any = None) -> None:
        program.launch(arrays, stream, only)

    return launch
