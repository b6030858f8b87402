"""Modules, their functions, and the launch of a kernel in the simulator."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from helpers.simulator import runtime
from helpers.simulator.translate import without_comments

from . import _errors, _findings, _order
from ._arguments import LAUNCH, Argument, format_of, from_call, from_prepared, pack
from ._device import func_cache, function_attribute, need_context
from ._errors import CompileError, LaunchError, LogicError, MemoryError, RuntimeError
from ._stream import Stream, no_time, number_of

_IMAGE = "halo-labs-simulator"
_SHOWN = 8
# Itanium C++ ABI, 5.1.5: the letters of the built-in types.
_ABI_TYPES = {
    "f": "float", "d": "double", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short", "t": "unsigned short",
    "b": "bool",
}  # fmt: skip


class Function:
    """A kernel of a module, called with PyCUDA's keywords: function(*args, block=(x, y, z), grid=(x, y, z))."""

    def __init__(self, kernel, module: Module):
        self._kernel = kernel
        self._module = module
        self._codes: list[str] | None = None
        self._dynamic_shared_limit = runtime.MAX_STATIC_SHARED

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
        """Runs the kernel; with time_kernel=True it returns NaN (there is no clock), else None.

        Raises TypeError for a Python number, LogicError for arguments, blocks and grids that do not fit, LaunchError
        for an access out of bounds and whatever else stops a kernel; warns (SimulatorWarning) of races and reads of
        memory that nothing wrote.
        """
        if extra:
            raise ValueError(f"extra keyword arguments: {','.join(extra)}")
        if block is None:
            raise ValueError("a launch needs the size of its blocks: block=(x, y, z)")
        if texrefs:
            raise LogicError(_errors.message(LAUNCH, _errors.NOT_SUPPORTED, "the simulator has no textures"))
        if time_kernel and stream is not None:
            raise AssertionError("time_kernel=True takes no stream: PyCUDA times launches that it waits for")
        dimensions = _dimensions(grid, block)
        arguments, handlers = from_call(args, self._kernel.parameters)
        packed = pack(self._kernel, arguments)
        for handler in handlers:
            handler.pre_call(stream)
        self._launch(packed, *dimensions, shared, stream)
        copied_back = [handler for handler in handlers if hasattr(handler, "post_call")]
        if stream is None and (copied_back or time_kernel):
            _order.finish_all()
        for handler in copied_back:
            handler.post_call(stream)
        return no_time("the time of a kernel") if time_kernel else None

    def prepare(self, arg_types: Sequence[object] | str, texrefs: Sequence = ()) -> Function:
        """Fixes the argument types for prepared_call: "P" or np.intp for a pointer, NumPy types for values."""
        if texrefs:
            raise LogicError(_errors.message(LAUNCH, _errors.NOT_SUPPORTED, "the simulator has no textures"))
        self._codes = format_of(arg_types)
        return self

    def prepared_call(self, grid, block, *args, shared_size: int = 0) -> None:
        """Launches with arguments of the prepared types; Python numbers will do."""
        self._launch(self._prepared(args), *_dimensions(grid, block), shared_size, None)

    def prepared_async_call(self, grid, block, stream: Stream | None, *args, shared_size: int = 0) -> None:
        """As prepared_call, on a stream."""
        self._launch(self._prepared(args), *_dimensions(grid, block), shared_size, stream)

    def prepared_timed_call(self, grid, block, *args, shared_size: int = 0) -> Callable[[], float]:
        """As prepared_call; the function that it returns would tell the seconds, and gives NaN: there is no clock."""
        self._launch(self._prepared(args), *_dimensions(grid, block), shared_size, None)

        def get_call_time() -> float:
            _order.finish_stream(_order.NULL)
            return no_time("the time of a kernel")

        return get_call_time

    def _prepared(self, args: Sequence[object]) -> bytes:
        if self._codes is None:
            raise AttributeError("call prepare() on the function before a prepared call")
        arguments: list[Argument] = from_prepared(self._codes, args)
        return pack(self._kernel, arguments)

    def _launch(self, packed: bytes, grid, block, shared: int, stream: Stream | None) -> None:
        need_context(LAUNCH)
        number = number_of(stream, LAUNCH)
        self._check_shared(shared)
        self._note_order(packed, number)
        try:
            report = runtime.launch(self._kernel, packed, grid, block, shared)
        except runtime.LaunchFault as fault:
            _findings.keep(fault.finding)
            error = LaunchError(str(fault))
            error.finding = fault.finding
            raise error from None  # a student reads one traceback, which ends in the finding
        except runtime.LaunchRefused as refusal:
            raise LogicError(_errors.message(LAUNCH, _errors.INVALID_ARGUMENT, str(refusal))) from refusal
        except runtime.OutOfMemory as shortage:
            raise MemoryError(_errors.message(LAUNCH, _errors.OUT_OF_MEMORY, str(shortage))) from shortage
        for finding in report.findings:
            _findings.warn(finding)

    def _note_order(self, packed: bytes, stream: int) -> None:
        """What the kernel may touch: see _order.py."""
        work = _order.begin(stream, f"kernel {self._kernel.name}")
        for parameter in self._kernel.parameters:
            address = int.from_bytes(packed[parameter.offset : parameter.offset + 8], "little") if parameter.is_pointer else 0
            if address:
                writes = "const" not in parameter.type_text.rpartition("*")[0]
                _order.touch_device(work, address, None, write=writes)
        for start, end in self._module._constants:
            _order.touch_device(work, start, end, write=False)

    def _check_shared(self, shared: int) -> None:
        if not isinstance(shared, int):
            raise TypeError(f"shared must be a number of bytes (int), was given {type(shared).__name__}")
        if shared < 0:
            raise OverflowError(f"shared must not be negative, was given {shared}")
        static = self._kernel.static_shared
        if static + shared > max(self._dynamic_shared_limit, runtime.MAX_STATIC_SHARED):
            raise LogicError(
                _errors.message(
                    LAUNCH,
                    _errors.INVALID_ARGUMENT,
                    f"{static + shared:,} bytes of shared memory ({static:,} static, {shared:,} dynamic) are more than "
                    f"the {runtime.MAX_STATIC_SHARED:,} that a block gets; up to "
                    f"{runtime.MAX_SHARED:,} of dynamic shared memory need "
                    "function.set_attribute(function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)",
                )
            )

    def get_attribute(self, attribute: function_attribute) -> int | None:
        """What the simulator knows of a kernel; None for what only a GPU's compiler knows (registers, local memory)."""
        known = {
            function_attribute.MAX_THREADS_PER_BLOCK: runtime.MAX_THREADS_PER_BLOCK,
            function_attribute.SHARED_SIZE_BYTES: self._kernel.static_shared,
            function_attribute.CONST_SIZE_BYTES: self._module._constant_bytes(),
            function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES: self._dynamic_shared_limit,
        }
        return known.get(function_attribute(attribute))

    def set_attribute(self, attribute: function_attribute, value: int) -> None:
        """Raises the limit of dynamic shared memory; the other attributes steer hardware and change nothing here."""
        if attribute != function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES:
            return
        room = runtime.MAX_SHARED - self._kernel.static_shared
        if not 0 <= value <= room:
            detail = f"dynamic shared memory can be 0 to {room:,} bytes for this kernel, was asked for {value:,}"
            raise LogicError(_errors.message("cuFuncSetAttribute", _errors.INVALID_ARGUMENT, detail))
        self._dynamic_shared_limit = value

    def set_cache_config(self, config: func_cache) -> None:
        """Changes nothing: the split between L1 and shared memory is a hint, and the simulator has no L1."""

    def set_shared_config(self, config: object) -> None:
        """Changes nothing: every GPU since 2014 has banks of 4 bytes, whatever is asked for."""

    def param_set_texref(self, texref: object) -> None:
        raise LogicError(_errors.message("cuParamSetTexRef", _errors.NOT_SUPPORTED, "the simulator has no textures"))

    def __getattr__(self, name: str) -> int | None:
        if name.startswith("_") or name.upper() not in function_attribute.__members__:
            raise AttributeError(f"Function has no attribute {name!r}")
        return self.get_attribute(function_attribute[name.upper()])


def _dimensions(grid: object, block: object) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Grid and block as three ints each; refused as PyCUDA and the driver refuse them."""
    block = _triple(block, "block", need_three=True)
    grid = _triple(grid, "grid", need_three=False)
    threads = block[0] * block[1] * block[2]
    if threads > runtime.MAX_THREADS_PER_BLOCK or threads == 0 or _exceeds(block, runtime.MAX_BLOCK):
        detail = (
            f"block={block} has {threads:,} threads; a block has 1 to {runtime.MAX_THREADS_PER_BLOCK:,} threads and at "
            f"most {runtime.MAX_BLOCK} along x, y, z"
        )
        raise LogicError(_errors.message("cuFuncSetBlockShape", _errors.INVALID_ARGUMENT, detail))
    if 0 in grid or _exceeds(grid, runtime.MAX_GRID):
        detail = f"grid={grid}; a grid has 1 to {runtime.MAX_GRID} blocks along x, y, z"
        raise LogicError(_errors.message(LAUNCH, _errors.INVALID_ARGUMENT, detail))
    return grid, block


def _exceeds(shape: tuple[int, ...], limits: tuple[int, ...]) -> bool:
    return any(extent > most for extent, most in zip(shape, limits, strict=True))


def _triple(shape: object, name: str, *, need_three: bool) -> tuple[int, int, int]:
    wanted = "a tuple of 3 ints" if need_three else "a tuple of 1 to 3 ints"
    if not isinstance(shape, tuple):
        raise TypeError(f"{name} must be {wanted}, was given {shape!r} ({type(shape).__name__})")
    if len(shape) > 3:
        text = _errors.message("function::launch_kernel", _errors.INVALID_HANDLE, f"too many {name} dimensions")
        raise LogicError(f"{text} in kernel launch: {name}={shape}")
    if need_three and len(shape) != 3:
        raise TypeError(f"{name} must be {wanted}, was given {shape}; fill it up with ones")
    for extent in shape:
        if not isinstance(extent, int):
            hint = f": pass int({extent!r})" if hasattr(extent, "__int__") else ""
            raise TypeError(f"{name} must be {wanted}, was given {extent!r} ({type(extent).__name__}) in it{hint}")
        if extent < 0:
            raise OverflowError(f"{name} must not be negative, was given {shape}")
    return (*shape, *[1] * (3 - len(shape)))


class Module:
    """A compiled source: its kernels, and its `__constant__` and `__device__` variables."""

    def __init__(self, loaded, source: str, extern_c: bool):
        self._loaded = loaded
        self._source = source
        self._extern_c = extern_c
        self._constants = {(v.address, v.address + v.nbytes) for v in loaded.globals.values() if v.space == "constant"}

    def get_function(self, name: str) -> Function:
        """The kernel of that name; LogicError, listing the kernels that there are, for one that is not there."""
        kernels = self._loaded.kernels
        if name not in kernels and name.startswith("_Z"):
            return Function(self._demangled(name), self)
        if name not in kernels:
            raise _not_found("cuModuleGetFunction", name, "kernel", list(kernels))
        if not self._extern_c and not has_c_linkage(self._source, name):
            detail = (
                f'{name} is compiled as C++, which mangles its name: write extern "C" before its __global__, '
                "or leave no_extern_c out"
            )
            raise LogicError(_errors.message("cuModuleGetFunction", _errors.NOT_FOUND, detail))
        return Function(kernels[name], self)

    def _demangled(self, name: str):
        """The kernel that a mangled name means: of C++ linkage, and the only one, or the only instance, of that name."""
        plain, arguments = _read_mangled(name)
        found = [k for known, k in self._loaded.kernels.items() if known.partition("<")[0].split("::")[-1] == plain]
        if len(found) > 1 and arguments:
            found = [k for k in found if _same_arguments(k.name, arguments)]
        if not found or (self._extern_c and len(found) == 1 and "<" not in found[0].name):
            raise _not_found("cuModuleGetFunction", name, "kernel", list(self._loaded.kernels))
        if len(found) > 1:
            names = ", ".join(sorted(k.name for k in found))
            detail = f'{name!r} may be any of {names}: give each an extern "C" kernel of its own that calls it'
            raise LogicError(_errors.message("cuModuleGetFunction", _errors.NOT_FOUND, detail))
        return found[0]

    def get_global(self, name: str) -> tuple[int, int]:
        """(address, bytes) of a `__constant__` or `__device__` variable."""
        variables = self._loaded.globals
        if name not in variables:
            raise _not_found("cuModuleGetGlobal", name, "variable", list(variables))
        return variables[name].address, variables[name].nbytes

    def get_texref(self, name: str) -> None:
        raise LogicError(_errors.message("cuModuleGetTexRef", _errors.NOT_SUPPORTED, "the simulator has no textures"))

    def get_surfref(self, name: str) -> None:
        raise LogicError(_errors.message("cuModuleGetSurfRef", _errors.NOT_SUPPORTED, "the simulator has no surfaces"))

    def _constant_bytes(self) -> int:
        return sum(v.nbytes for v in self._loaded.globals.values() if v.space == "constant")


def _read_mangled(name: str) -> tuple[str, list[str]]:
    """Function name and simple template arguments of a mangled name (Itanium C++ ABI, 5.1): _Z3addIfEvPf, _ZN2ns3addEPf."""
    rest, plain = name[3:] if name.startswith("_ZN") else name[2:], ""
    while length := re.match(r"\d+", rest):
        plain = rest[length.end() : length.end() + int(length[0])]
        rest = rest[length.end() + int(length[0]) :]
        if not name.startswith("_ZN"):
            break
    return plain, _template_arguments(rest)


def _template_arguments(rest: str) -> list[str]:
    """The simple template arguments behind a mangled name, "If" -> ["float"], "Li16E" -> ["16"]; [] where there are others."""
    if not rest.startswith("I"):
        return []
    arguments, position = [], 1
    while position < len(rest) and rest[position] != "E":
        if number := re.match(r"L[ijlmb](n?\d+)E", rest[position:]):
            arguments.append(number[1].replace("n", "-"))
            position += number.end()
        elif rest[position] in _ABI_TYPES:
            arguments.append(_ABI_TYPES[rest[position]])
            position += 1
        else:
            return []
    return arguments


def _same_arguments(instance: str, arguments: list[str]) -> bool:
    return [part.strip() for part in instance.partition("<")[2].rstrip("> ").split(",")] == arguments


def _not_found(call: str, name: str, what: str, known: list[str]) -> LogicError:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    detail = f"the source has no {what} {name!r}"
    if near:
        detail += f"; did you mean {' or '.join(repr(n) for n in near)}?"
    elif known:
        more = ", ..." if len(known) > _SHOWN else ""
        detail += f"; it has {', '.join(sorted(known)[:_SHOWN])}{more}"
    else:
        detail += f", nor any other {what}"
    return LogicError(_errors.message(call, _errors.NOT_FOUND, detail))


def has_c_linkage(source: str, kernel: str) -> bool:
    """Whether the kernel's definition stands behind extern "C", directly or in an extern "C" { } block."""
    code = without_comments(source)
    found = re.search(rf"__global__[^;{{}}]*?\b{re.escape(kernel)}\s*\(", code)
    if found is None:
        return True  # made by a macro: nothing can be said
    before = code[: found.start()]
    if re.search(r'extern\s*"C"\s*(?:static\s+|inline\s+)*$', before):
        return True
    blocks = re.finditer(r'extern\s*"C"\s*\{', before)
    return any(before.count("{", b.end()) >= before.count("}", b.end()) for b in blocks)


def load(source: str, options: Sequence[str], *, extern_c: bool, file: str = "kernel.cu") -> Module:
    """Compiles `source`; CompileError, with file and line in its stderr, where the compiler refuses it."""
    need_context("cuModuleLoadDataEx")
    try:
        loaded = runtime.load(source, options=tuple(options), file=file, extern_c=extern_c)
    except runtime.CompileFailed as failure:
        raise CompileError(f"the simulator could not compile {file}", None, stderr=str(failure)) from None
    return Module(loaded, source, extern_c)


def image_of(source: str, options: Sequence[str], *, extern_c: bool) -> bytes:
    """What compiler.compile returns in place of a cubin: enough for module_from_buffer to load it again."""
    return json.dumps({"format": _IMAGE, "source": source, "options": list(options), "extern_c": extern_c}).encode()


def module_from_file(filename: str) -> Module:
    """The module of a file that holds an image of pycuda.compiler.compile from this simulator; a cubin needs a GPU."""
    try:
        return module_from_buffer(Path(filename).read_bytes())
    except OSError as error:
        detail = f"{filename}: {error.strerror}"
        raise RuntimeError(_errors.message("cuModuleLoad", "file not found", detail)) from None


def module_from_buffer(buffer: bytes, options: Sequence = (), message_handler: object = None) -> Module:
    """The module of an image that pycuda.compiler.compile made in this simulator."""
    try:
        image = json.loads(bytes(buffer))
        is_ours = image["format"] == _IMAGE
    except (ValueError, TypeError, KeyError):
        is_ours = False
    if not is_ours:
        detail = "the simulator loads what its own pycuda.compiler.compile made; a cubin needs a GPU"
        raise LogicError(_errors.message("cuModuleLoadDataEx", "device kernel image is invalid", detail))
    return load(image["source"], image["options"], extern_c=image["extern_c"])
