"""Modules, their functions, and the launch of a kernel in the simulator."""

from __future__ import annotations

import contextlib
import difflib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from helpers.quantities import quantity
from helpers.simulator.compile.compiler import preprocess, require_text
from helpers.simulator.compile.includes import without_comments
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.findings.findings import Finding, finding_of_launch
from helpers.simulator.findings.words import Cause, Event
from helpers.simulator.launch.launch import CHECKS, launch
from helpers.simulator.launch.machine_counters import profile_of
from helpers.simulator.machine import architecture, faults, memory
from helpers.simulator.machine.library import door
from helpers.simulator.program.module import Kernel
from helpers.simulator.program.module import Module as LoadedModule
from helpers.simulator.program.module import load as load_module

from . import _account, _devices, _errors, _findings, _order, _times
from ._arguments import (
    LAUNCH,
    Argument,
    ArgumentHandler,
    format_of,
    from_call,
    from_prepared,
    is_changed,
    pack,
    remark_fillings,
    require_fit,
)
from ._device import Context, need_context
from ._enums import func_cache, function_attribute, limit
from ._errors import CompileError, LaunchError, LogicError, MemoryError, RuntimeError
from ._memcpy import note_writer
from ._stream import Stream, least_time, number_of

_IMAGE = "halo-labs-simulator"
_SHOWN = 8
# As the driver writes it: 90.
_ARCHITECTURE = int("".join(map(str, architecture.COMPUTE_CAPABILITY)))


class Function:
    """A kernel of a module, called with PyCUDA's keywords: function(*args, block=(x, y, z),
    grid=(x, y, z)).
    """

    def __init__(self, kernel: Kernel, module: Module):
        self._kernel = kernel
        self._module = module
        self._codes: list[str] | None = None
        self._dynamic_shared_limit = architecture.MAX_STATIC_SHARED
        self._least: dict[tuple, float] = {}  # microseconds of launches that have been counted

    def __call__(
        self,
        *args,
        grid: tuple[int, ...] = (1, 1),
        block: tuple[int, int, int] | None = None,
        shared: int = 0,
        stream: Stream | None = None,
        texrefs: Sequence = (),
        time_kernel: bool = False,
        **extra,
    ) -> float | None:
        """Run the kernel; with time_kernel=True it returns NaN (there is no clock), else None.

        Raises TypeError for a Python number, LogicError for arguments, blocks and grids that do not
        fit, LaunchError for an access out of bounds and for anything else that stops a kernel.
        Warns (SimulatorWarning) of races and of reads of memory that nothing has written.
        """
        if extra:
            raise ValueError(f"extra keyword arguments: {','.join(extra)}")
        if block is None:
            raise ValueError("a launch needs the size of its blocks: block=(x, y, z)")
        if texrefs:
            raise _errors.no_textures(LAUNCH)
        if time_kernel and stream is not None:
            raise AssertionError(
                "time_kernel=True takes no stream: PyCUDA times launches that it waits for"
            )
        dimensions = _dimensions(grid, block)
        arguments, handlers = from_call(args, self._kernel.parameters)
        require_fit(self._kernel, arguments)
        for handler in handlers:
            handler.pre_call(stream)
        if time_kernel:
            _order.moment({})  # from now on, launches are timed
        microseconds = self._launch(arguments, *dimensions, shared, stream)
        self._warn_of_lost_results(handlers)
        copied_back = [handler for handler in handlers if hasattr(handler, "post_call")]
        if stream is None and (copied_back or time_kernel):
            _order.finish_all()
        for handler in copied_back:
            handler.post_call(stream)
        return least_time("the time of a kernel", microseconds / 1e3) / 1e3 if time_kernel else None

    def _warn_of_lost_results(self, handlers: Sequence[ArgumentHandler]) -> None:
        """Warn of a launch that gives nothing back: all its arrays are cuda.In, and it has changed
        one of them.
        """
        pointers = [(one.name, one.is_const) for one in self._kernel.parameters if one.is_pointer]
        has_more = any(one.space == "device" for one in self._module._loaded.globals.values())
        gives_back = has_more or any(hasattr(handler, "post_call") for handler in handlers)
        if gives_back or len(handlers) != len(pointers):
            return
        for (name, is_const), handler in zip(pointers, handlers, strict=True):
            if not is_const and is_changed(handler):
                event = Event.LOST_OUTPUT(kernel=self._kernel.name)
                finding = finding_of_launch(
                    "unwritten", event, Cause.GIVEN_BY_IN(), self._kernel, severity="warning",
                    array=name,
                )
                _findings.warn(finding)

    def prepare(self, arg_types: Sequence[object] | str, texrefs: Sequence = ()) -> Function:
        """Fix the argument types for prepared_call: "P" or np.intp for a pointer, NumPy types for
        values.
        """
        if texrefs:
            raise _errors.no_textures(LAUNCH)
        self._codes = format_of(arg_types)
        return self

    def prepared_call(self, grid, block, *args, shared_size: int = 0) -> None:
        """Launch with arguments of the prepared types, which may be Python numbers."""
        self._launch(self._prepared(args), *_dimensions(grid, block), shared_size, None)

    def prepared_async_call(
        self, grid, block, stream: Stream | None, *args, shared_size: int = 0
    ) -> None:
        """Launch like prepared_call, on a stream."""
        self._launch(self._prepared(args), *_dimensions(grid, block), shared_size, stream)

    def run_unseen(self, *args) -> None:
        """Run one thread with arguments of the prepared types, for a question of this package: the
        launch has no findings, and no place in the order of the program's work.
        """
        with door:
            launch(self._kernel, pack(self._kernel, self._prepared(args)), (1,), (1,), 0, ())

    def prepared_timed_call(self, grid, block, *args, shared_size: int = 0) -> Callable[[], float]:
        """Launch like prepared_call. It returns a function that gives a bound in place of the
        seconds, because the simulator has no clock.
        """
        _order.moment({})  # from now on, launches are timed
        arguments = self._prepared(args)
        microseconds = self._launch(arguments, *_dimensions(grid, block), shared_size, None)

        def get_call_time() -> float:
            _order.finish_stream(_order.NULL)
            return least_time("the time of a kernel", microseconds / 1e3) / 1e3

        return get_call_time

    def _prepared(self, args: Sequence[object]) -> list[Argument]:
        if self._codes is None:
            raise AttributeError("call prepare() on the function before a prepared call")
        arguments = from_prepared(self._codes, args)
        require_fit(self._kernel, arguments)
        return arguments

    def _launch(
        self, arguments: list[Argument], grid, block, shared: int, stream: Stream | None
    ) -> float:
        """Launch, and return the microseconds that an H200 needs at least, if anybody may ask."""
        need_context(LAUNCH)
        number = number_of(stream, LAUNCH)
        self._check_shared(shared)
        if _devices.several():
            self._check_device(arguments)
        work = self._note_order(arguments, number)
        remark_fillings(self._kernel, arguments)
        packed = pack(self._kernel, arguments)
        key = packed, grid, block, shared
        microseconds = self._least.get(key)
        counts = _order.are_timed() and microseconds is None
        try:
            with door:
                report = launch(
                    self._kernel, packed, grid, block, shared,
                    (*CHECKS, "traffic", "instructions") if counts else CHECKS,
                    stack_limit=Context.get_limit(limit.STACK_SIZE),
                    heap_bytes=Context.get_limit(limit.MALLOC_HEAP_SIZE),
                )
        except faults.LaunchFault as fault:
            # A student reads one traceback, which ends in the finding.
            raise _stopped(fault.finding) from None
        except faults.LaunchRefused as refusal:
            raise _errors.logic_error(LAUNCH, _errors.INVALID_ARGUMENT, str(refusal)) from refusal
        except faults.OutOfMemory as shortage:
            raise MemoryError(
                _errors.message(LAUNCH, _errors.OUT_OF_MEMORY, str(shortage))
            ) from shortage
        self._note_writes(arguments, report.findings)
        for finding in report.findings:
            _findings.warn(finding)
        for remark in report.remarks:
            _findings.remark(remark)
        if counts:
            profile = profile_of(report, self._kernel, grid, block, shared)
            microseconds = self._least[key] = _times.of_launch(profile)
            if _account.is_kept():
                _account.note(work.what, work.site).first = _account.first_change(profile)
        _order.lasts(work, microseconds or 0.0)
        return microseconds or 0.0

    def _note_writes(self, arguments: list[Argument], findings: Sequence[Finding]) -> None:
        """Note that the kernel may have written to the arrays of its pointers. Of a value that
        nothing has set, a finding tells; the compiler drops its store.
        """
        is_told = any(one.kind in ("uninitialised", "out-of-bounds") for one in findings)
        for parameter, argument in zip(self._kernel.parameters, arguments, strict=True):
            if parameter.is_pointer and not parameter.is_const:
                address = int.from_bytes(argument.data, "little")
                memory.set_filling(address, 0, None)
                note_writer(address, self._kernel, parameter.offset, is_told)

    def _check_device(self, arguments: list[Argument]) -> None:
        """Refuse a module of another device, and memory that this device cannot reach."""
        name = self._kernel.name
        module = f"the module of kernel {name}"
        _devices.require_here(module, self._module._device, "cuFuncSetBlockShape")
        for parameter, argument in zip(self._kernel.parameters, arguments, strict=True):
            if parameter.is_pointer and (address := int.from_bytes(argument.data, "little")):
                finding = _devices.unreachable(address, name, parameter.name)
                if finding is not None:
                    raise _stopped(finding)

    def _note_order(self, arguments: list[Argument], stream: int) -> _order.Work:
        """Record the memory that the kernel may access, see _order.py."""
        work = _order.begin(stream, f"kernel {self._kernel.name}")
        for parameter, argument in zip(self._kernel.parameters, arguments, strict=True):
            if parameter.is_pointer and (address := int.from_bytes(argument.data, "little")):
                _order.touch_device(work, address, None, write=not parameter.is_const)
        for start, end in self._module._constants:
            _order.touch_device(work, start, end, write=False)
        return work

    def _check_shared(self, shared: int) -> None:
        if not isinstance(shared, int):
            raise TypeError(f"shared must be a number of bytes (int), got {type(shared).__name__}")
        if shared < 0:
            raise OverflowError(f"shared must not be negative, got {shared}")
        static = self._kernel.static_shared
        if static + shared > max(self._dynamic_shared_limit, architecture.MAX_STATIC_SHARED):
            raise _errors.logic_error(
                LAUNCH,
                _errors.INVALID_ARGUMENT,
                f"{static + shared:,} bytes of shared memory ({static:,} static, {shared:,} "
                f"dynamic) are more than the {architecture.MAX_STATIC_SHARED:,} that a block gets; "
                f"up to {architecture.MAX_SHARED:,} of dynamic shared memory need "
                "function.set_attribute(function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)",
            )

    def get_attribute(self, attribute: function_attribute) -> int | None:
        """Return an attribute of the kernel as NVIDIA's compiler reports it; None if only hardware
        knows it, or if the assembler is not installed.
        """
        attribute = function_attribute(attribute)
        resources = self._kernel.resources
        if attribute == function_attribute.NUM_REGS:
            return resources.registers if resources is not None else None
        if attribute == function_attribute.LOCAL_SIZE_BYTES:
            return resources.local_bytes if resources is not None else None
        if attribute == function_attribute.MAX_THREADS_PER_BLOCK:
            return self._max_threads()
        known = {
            function_attribute.SHARED_SIZE_BYTES: self._kernel.static_shared,
            function_attribute.CONST_SIZE_BYTES: self._module._constant_bytes(),
            function_attribute.PTX_VERSION: _ARCHITECTURE,
            function_attribute.BINARY_VERSION: _ARCHITECTURE,
            function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES: self._dynamic_shared_limit,
        }
        return known.get(attribute)

    def _max_threads(self) -> int:
        """Return the threads of the largest block that has enough registers, in whole warps.
        __launch_bounds__ may allow fewer.
        """
        unit, resources = architecture.REGISTER_UNIT, self._kernel.resources
        registers = (
            max(unit, -(-resources.registers // unit) * unit) if resources is not None else unit
        )
        warps = architecture.REGISTERS // (registers * architecture.WARP_SIZE)
        most = min(architecture.MAX_THREADS_PER_BLOCK, warps * architecture.WARP_SIZE)
        return min(most, self._kernel.max_threads or most)

    def set_attribute(self, attribute: function_attribute, value: int) -> None:
        """Raise the limit of dynamic shared memory; the other attributes steer hardware and change
        nothing here.
        """
        if attribute != function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES:
            return
        room = architecture.MAX_SHARED - self._kernel.static_shared
        if not 0 <= value <= room:
            detail = (
                f"dynamic shared memory can be 0 to {quantity(room, 'byte')} for this kernel, was "
                f"asked for {value:,}"
            )
            raise _errors.logic_error("cuFuncSetAttribute", _errors.INVALID_ARGUMENT, detail)
        self._dynamic_shared_limit = value

    def set_cache_config(self, config: func_cache) -> None:
        """Change nothing: the split between L1 and shared memory is a hint, and the simulator has
        no L1.
        """

    def set_shared_config(self, config: object) -> None:
        """Change nothing: every GPU since 2014 has banks of 4 bytes."""

    def param_set_texref(self, texref: object) -> None:
        raise _errors.no_textures("cuParamSetTexRef")

    def __getattr__(self, name: str) -> int | None:
        if name.startswith("_") or name.upper() not in function_attribute.__members__:
            raise AttributeError(f"Function has no attribute {name!r}")
        return self.get_attribute(function_attribute[name.upper()])


def _stopped(finding: Finding) -> LaunchError:
    """Keep the finding that ended a launch, and return the launch's error."""
    _findings.keep(finding)
    error = LaunchError(str(finding))
    error.finding = finding
    return error


def _dimensions(grid: object, block: object) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return grid and block as three ints each; raises the errors of PyCUDA and the driver."""
    block = _triple(block, "block", need_three=True)
    grid = _triple(grid, "grid", need_three=False)
    threads = block[0] * block[1] * block[2]
    if (
        threads > architecture.MAX_THREADS_PER_BLOCK
        or threads == 0
        or _exceeds(block, architecture.MAX_BLOCK)
    ):
        detail = (
            f"block={block} has {quantity(threads, 'thread')}; a block has 1 to "
            f"{architecture.MAX_THREADS_PER_BLOCK:,} threads and at "
            f"most {architecture.MAX_BLOCK} along x, y, z"
        )
        raise _errors.logic_error("cuFuncSetBlockShape", _errors.INVALID_ARGUMENT, detail)
    if 0 in grid or _exceeds(grid, architecture.MAX_GRID):
        detail = f"grid={grid}; a grid has 1 to {architecture.MAX_GRID} blocks along x, y, z"
        raise _errors.logic_error(LAUNCH, _errors.INVALID_ARGUMENT, detail)
    return grid, block


def _exceeds(shape: tuple[int, ...], limits: tuple[int, ...]) -> bool:
    return any(extent > most for extent, most in zip(shape, limits, strict=True))


def _triple(shape: object, name: str, *, need_three: bool) -> tuple[int, int, int]:
    wanted = "a tuple of 3 ints" if need_three else "a tuple of 1 to 3 ints"
    if not isinstance(shape, tuple):
        raise TypeError(f"{name} must be {wanted}, got {shape!r} ({type(shape).__name__})")
    if len(shape) > 3:
        text = _errors.message(
            "function::launch_kernel", _errors.INVALID_HANDLE, f"too many {name} dimensions"
        )
        raise LogicError(f"{text} in kernel launch: {name}={shape}")
    if need_three and len(shape) != 3:
        raise TypeError(f"{name} must be {wanted}, got {shape}; fill it up with ones")
    for extent in shape:
        if not isinstance(extent, int):
            hint = f": pass int({extent!r})" if hasattr(extent, "__int__") else ""
            if isinstance(extent, float) and extent % 1:
                hint = ": round a quotient up, as -(-a // b)"  # int() would leave the rest out
            raise TypeError(
                f"{name} must be {wanted}, got {extent!r} ({type(extent).__name__}) in it{hint}"
            )
        if extent < 0:
            raise OverflowError(f"{name} must not be negative, got {shape}")
    return (*shape, *[1] * (3 - len(shape)))


class Module:
    """A compiled source: its kernels, and its `__constant__` and `__device__` variables."""

    def __init__(self, loaded: LoadedModule):
        self._loaded = loaded
        self._device = _devices.current()
        if self._device:
            for variable in loaded.globals.values():
                memory.place(variable.address, self._device)
        self._constants = {
            (v.address, v.address + v.nbytes)
            for v in loaded.globals.values()
            if v.space == "constant"
        }

    def get_function(self, name: str) -> Function:
        """Return the kernel whose name, as the linker knows it, is `name`.

        Raises LogicError, which lists the kernels of the source, for any other name, and
        CompileError for a kernel that the simulator cannot run.
        """
        if not isinstance(name, str):
            raise TypeError(f"get_function takes the name of a kernel, got {name!r}")
        kernels = self._loaded.kernels
        kernel = next((kernel for kernel in kernels.values() if kernel.mangled == name), None)
        if kernel is None and name in kernels:
            detail = _hidden(kernels[name], self._loaded.compiled.source)
            raise _errors.logic_error("cuModuleGetFunction", _errors.NOT_FOUND, detail)
        if kernel is None:
            if name in self._loaded.compiled.templates:
                detail = (
                    f"{name!r} is a template, and a template is no kernel until something names an "
                    "instance: make it a __device__ function, which an extern \"C\" __global__ "
                    "kernel calls, or write it for one type, chosen by an option such as -DT=float"
                )
                raise _errors.logic_error("cuModuleGetFunction", _errors.NOT_FOUND, detail)
            raise _not_found(
                "cuModuleGetFunction", name, "kernel", list(kernels), self._loaded.compiled.source
            )
        with _refused_source(self._loaded.compiled.file):
            kernel.require_supported()
        return Function(kernel, self)

    def get_global(self, name: str) -> tuple[int, int]:
        """Return (address, bytes) of a `__constant__` or `__device__` variable."""
        variables = self._loaded.globals
        if name not in variables:
            raise _not_found("cuModuleGetGlobal", name, "variable", list(variables))
        return variables[name].address, variables[name].nbytes

    def get_texref(self, name: str) -> None:
        raise _errors.no_textures("cuModuleGetTexRef")

    def get_surfref(self, name: str) -> None:
        raise _errors.no_textures("cuModuleGetSurfRef")

    def _constant_bytes(self) -> int:
        return sum(v.nbytes for v in self._loaded.globals.values() if v.space == "constant")


def _hidden(kernel: Kernel, source: str) -> str:
    """Return why a kernel of the source cannot be found by its name."""
    is_static = re.search(rf"\bstatic\b[^;{{}}]*\b{kernel.name}\s*\(", source) is not None
    if is_static or "_GLOBAL__N_" in kernel.mangled:
        where = "is static" if is_static else "lies in a namespace without a name"
        return (
            f"{kernel.name} {where}, so that it is known in its own source alone, even in "
            f'extern "C": leave {"static" if is_static else "the namespace"} out'
        )
    return (
        f'{kernel.name} is compiled as C++, which mangles its name: write extern "C" before its '
        "__global__, or leave no_extern_c out"
    )


def _not_found(
    call: str, name: str, what: str, known: list[str], source: str = ""
) -> LogicError:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    detail = f"the source has no {what} {name!r}"
    if near:
        detail += f"; did you mean {' or '.join(repr(n) for n in near)}?"
    elif known:
        more = ", ..." if len(known) > _SHOWN else ""
        detail += f"; it has {', '.join(sorted(known)[:_SHOWN])}{more}"
    else:
        detail += f", nor any other {what}"
    if re.search(rf"\b{re.escape(name)}\s*\([^;{{}}]*\)\s*{{", without_comments(source)):
        detail += f"; {name} is a function there: write __global__ before its void"
    return _errors.logic_error(call, _errors.NOT_FOUND, detail)


@contextlib.contextmanager
def _refused_source(file: str):
    """Turn the compiler's refusal of a source into PyCUDA's CompileError, with file and line in
    its stderr.
    """
    try:
        yield
    except CompileFailed as failure:
        raise CompileError(
            f"the simulator could not compile {file}", None, stderr=str(failure)
        ) from None


def load(source: str, options: Sequence[str], *, extern_c: bool, file: str = "kernel.cu") -> Module:
    """Compile `source`. Raises CompileError, with file and line in its stderr, if the compiler
    refuses it.
    """
    need_context("cuModuleLoadDataEx")
    require_text(source, options)
    with _refused_source(file):
        module = load_module(source, tuple(options), file, extern_c)
        module.require_assembled()
        return Module(module)


def preprocessed(source: str, options: Sequence[str], file: str = "kernel.cu") -> str:
    """Return the text of compiler.preprocess. Raises CompileError as `load` does."""
    require_text(source, options)
    with _refused_source(file):
        return preprocess(source, options, file)


def image_of(source: str, options: Sequence[str], *, extern_c: bool) -> bytes:
    """Return the image that compiler.compile returns in place of a cubin; module_from_buffer can
    load it.
    """
    return json.dumps(
        {"format": _IMAGE, "source": source, "options": list(options), "extern_c": extern_c}
    ).encode()


def module_from_file(filename: str) -> Module:
    """Load a file with an image that pycuda.compiler.compile returned in this simulator. A cubin
    needs a GPU.
    """
    try:
        return module_from_buffer(Path(filename).read_bytes())
    except OSError as error:
        detail = f"{filename}: {error.strerror}"
        raise RuntimeError(_errors.message("cuModuleLoad", "file not found", detail)) from None


def module_from_buffer(
    buffer: bytes, options: Sequence = (), message_handler: object = None
) -> Module:
    """Load an image that pycuda.compiler.compile returned in this simulator."""
    try:
        image = json.loads(bytes(buffer))
        is_ours = image["format"] == _IMAGE
    except (ValueError, TypeError, KeyError):
        is_ours = False
    if not is_ours:
        detail = (
            "the simulator loads what its own pycuda.compiler.compile made; a cubin needs a GPU"
        )
        raise _errors.logic_error("cuModuleLoadDataEx", "device kernel image is invalid", detail)
    return load(image["source"], image["options"], extern_c=image["extern_c"])
