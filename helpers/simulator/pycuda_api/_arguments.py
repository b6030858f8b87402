"""Kernel arguments: this module checks a caller's values against the kernel's parameters and packs
them as CUDA does.

PyCUDA packs any value, and the driver compares at most the total size. So a float64 or an int32 in
the place of a float reaches the kernel as garbage. The simulator knows the parameters, and its
error names the wrong one.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.quantities import quantity
from helpers.simulator.compile import compiler
from helpers.simulator.machine import memory
from helpers.simulator.machine.arrays import pack_arguments
from helpers.simulator.machine.layouts import (
    misfit_of_array,
    misfit_of_record,
    numpy_name,
    only_dtype,
)

from . import _errors, _findings
from ._errors import LogicError
from ._host import ManagedAllocation
from ._memcpy import USUAL_OF_NUMPY, host_bytes, memcpy_dtoh, memcpy_htod
from ._memory import DeviceAllocation, DevicePointer, PointerHolderBase, address_of, mem_alloc_like

LAUNCH = "cuLaunchKernel"

# Finds instructions that take a whole number for the 4 bytes or 2 halves in it.
_UNPACK = re.compile(r"\b(?:dp[24]a|prmt|v\w+[24]|mma\.\S*[su]8|\w+\S*\.b?f16x2)\b").search
_POINTER = 8  # bytes
_STRUCT_CODES = "?bBhHiIlLqQNnfdPFD"


class ArgumentHandler:
    """Base of In, Out and InOut: a host array that has device memory during one launch."""

    def __init__(self, ary: np.ndarray):
        self.array = ary
        self.dev_alloc: DeviceAllocation | None = None

    def get_device_alloc(self) -> DeviceAllocation:
        if self.dev_alloc is None:
            if not hasattr(self.array, "nbytes"):
                name = type(self).__name__
                raise TypeError(
                    f"{name}() takes a NumPy array, got a {type(self.array).__name__}: pass "
                    "np.asarray(...)"
                )
            self.dev_alloc = mem_alloc_like(self.array)
        return self.dev_alloc

    def pre_call(self, stream) -> None:
        pass


class In(ArgumentHandler):
    """Copies the array to the device before the launch."""

    def pre_call(self, stream) -> None:
        memcpy_htod(self.get_device_alloc(), self.array)


class Out(ArgumentHandler):
    """Copies the array back from the device after the launch."""

    def pre_call(self, stream) -> None:
        # Before the kernel runs: afterwards its work would be lost.
        host_bytes(self.array, "cuMemcpyDtoH", "dest", writable=True)

    def post_call(self, stream) -> None:
        memcpy_dtoh(self.array, self.get_device_alloc())


class InOut(In, Out):
    """Copies the array to the device before the launch and back after it."""

    def pre_call(self, stream) -> None:
        Out.pre_call(self, stream)
        In.pre_call(self, stream)


def is_changed(handler: ArgumentHandler) -> bool:
    """Return whether the device's array differs from the host's."""
    before = host_bytes(handler.array, LAUNCH, "an array", writable=False)
    after = np.empty_like(before)
    memory.read(after, int(handler.get_device_alloc()), after.nbytes)
    return not np.array_equal(before, after)


@dataclass(frozen=True)
class Argument:
    """One argument, ready for packing.

    given: the caller's value in words; data: its bytes; dtype: the dtype of the scalar, or of the
    elements behind a pointer, None if unknown; is_pointer: whether the bytes are a device address;
    align: PyCUDA puts the bytes at the next multiple of it, behind those of the argument before.
    """

    given: str
    data: bytes
    dtype: np.dtype | None
    is_pointer: bool
    align: int = 1  # of arrays and records


def from_call(
    args: Sequence[object], parameters: Sequence
) -> tuple[list[Argument], list[ArgumentHandler]]:
    """Return the arguments of `function(*args, ...)`. Raises TypeError for a Python number, and
    for a value that is neither a NumPy scalar nor an array.
    """
    arguments = [_from_value(k, value, parameters) for k, value in enumerate(args)]
    return arguments, [value for value in args if isinstance(value, ArgumentHandler)]


def _from_value(k: int, value: object, parameters: Sequence) -> Argument:
    if isinstance(value, np.float16):
        raise struct.error(
            "bad char in struct format: PyCUDA passes no float16 by value, and "
            f"{_place(k, parameters)} got one. Declare the parameter as float, and make it a half "
            "in the kernel"
        )
    if isinstance(value, np.number):
        given = f"numpy.{value.dtype.name}"
        return Argument(given, value.tobytes(), value.dtype, False, value.dtype.alignment)
    if isinstance(value, DevicePointer):
        role = _place(k, parameters)
        return _pointer("a device allocation", address_of(value, LAUNCH, role), None)
    if isinstance(value, ArgumentHandler):
        dtype = getattr(value.array, "dtype", None)
        return _pointer(
            f"{type(value).__name__}({dtype} array)", int(value.get_device_alloc()), dtype
        )
    if isinstance(value, np.ndarray) and isinstance(value.base, ManagedAllocation):
        return _pointer(f"a managed array of {value.dtype}", int(value.base), value.dtype)
    if isinstance(value, np.ndarray):
        data = host_bytes(value, LAUNCH, _place(k, parameters), writable=False).tobytes()
        return Argument(
            f"a NumPy array ({value.nbytes} bytes, by value)", data, None, is_pointer=False
        )
    if isinstance(value, np.void):
        return Argument("a NumPy record", value.tobytes(), value.dtype, is_pointer=False)
    return _from_array_like(k, value, parameters)


def _from_array_like(k: int, value: Any, parameters: Sequence) -> Argument:
    if hasattr(value, "gpudata"):
        if value.gpudata is None:
            raise TypeError(
                f"parameter #{k} (0-based), {_place(k, parameters)}, got an empty array (0 "
                "elements)"
            )
        if not value.flags.c_contiguous:
            order = "is in Fortran order" if value.flags.f_contiguous else "is a view with gaps"
            _findings.remark(
                f"parameter #{k} (0-based), {_place(k, parameters)}: the GPUArray {order} (shape "
                f"{value.shape}, strides {value.strides} bytes). The kernel gets its address "
                "alone, and sees the memory as it lies"
            )
        address = address_of(value.gpudata, LAUNCH, _place(k, parameters))
        return _pointer(f"a GPUArray of {value.dtype}", address, value.dtype)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface:
        return _pointer("a device array", interface["data"][0], np.dtype(interface["typestr"]))
    raise TypeError(
        f"parameter #{k} (0-based) cannot be passed to a kernel{_type_hint(k, value, parameters)}"
    )


def _type_hint(k: int, value: object, parameters: Sequence) -> str:
    kind = type(value).__name__
    given = (
        f"got {value!r} ({kind})" if isinstance(value, int | float | complex) else f"got a {kind}"
    )
    if k >= len(parameters):
        return f": {given}"
    parameter = parameters[k]
    return f": {_place(k, parameters)} {given}; pass {_wanted(parameter)}"


def _wanted(parameter) -> str:
    if parameter.is_pointer:
        return (
            "a device array: mem_alloc, gpuarray.to_gpu, or cuda.In/Out/InOut around a NumPy array"
        )
    dtype = only_dtype(parameter.layout)
    if dtype is None:
        return f"a NumPy value of {quantity(parameter.size, 'byte')}"
    return f"{numpy_name(dtype)}(...)"


def _place(k: int, parameters: Sequence) -> str:
    return f"`{_declared(parameters[k])}`" if k < len(parameters) else f"argument #{k}"


def _declared(parameter) -> str:
    return f"{parameter.type_text} {parameter.name}".replace("* ", "*")


def _pointer(given: str, address: int, dtype: np.dtype | None) -> Argument:
    return Argument(given, struct.pack("P", address), dtype, True, _POINTER)


def format_of(arg_types: Sequence[object]) -> list[str]:
    """Return the struct codes for the types of prepare(): NumPy types, dtypes, code letters; any
    other value stands for a pointer.
    """
    codes: list[str] = []
    for arg_type in arg_types:
        if isinstance(arg_type, str):
            found = re.findall(r"\d*[a-zA-Z?]", arg_type)
            for code in found:
                if code[-1] not in f"{_STRUCT_CODES}s":
                    raise struct.error(
                        f"prepare() got the type code {code!r}; use NumPy types, or 'P' for a "
                        "pointer"
                    )
            codes += found
        elif isinstance(arg_type, np.dtype):
            codes.append(f"{arg_type.itemsize}s" if arg_type.char == "V" else arg_type.char)
        elif isinstance(arg_type, type) and issubclass(arg_type, np.number):
            codes.append(np.dtype(arg_type).char)
        else:
            codes.append("P")
    return codes


def from_prepared(codes: Sequence[str], args: Sequence[object]) -> list[Argument]:
    """Return the arguments of a prepared call. Raises struct.error if an argument does not fit its
    code, or if their number is wrong.
    """
    if len(codes) != len(args):
        raise struct.error(
            f"the function was prepared for {quantity(len(codes), 'argument')} and got {len(args)}"
        )
    return [_from_code(code, value) for code, value in zip(codes, args, strict=True)]


def _from_code(code: str, value: Any) -> Argument:
    if code.endswith("s"):
        data = value if isinstance(value, bytes) else bytes(memoryview(value))
        what = quantity(len(data), "byte")
        return Argument(what, struct.pack(code, data), None, is_pointer=False)
    if code not in _STRUCT_CODES:
        raise struct.error(
            f"prepare() got the type code {code!r}; use NumPy types, or 'P' for a pointer"
        )
    if code == "P":
        return _pointer("a pointer ('P')", _prepared_address(value), None)
    if code in "FD?":
        data = np.dtype(code).type(value).tobytes()
    else:
        data = struct.pack(code, float(value) if code in "fd" else _integer(code, value))
    dtype = np.dtype({"N": np.uintp, "n": np.intp}.get(code, code))
    return Argument(f"numpy.{dtype.name} (prepared)", data, dtype, False, dtype.alignment)


def _integer(code: str, value: object) -> int:
    if not hasattr(value, "__index__"):
        given = f"{value!r} ({type(value).__name__})"
        raise struct.error(f"the function was prepared for a whole number ({code!r}), got {given}")
    return int(value)


def _prepared_address(value: object) -> int:
    if isinstance(value, DevicePointer | PointerHolderBase | int):
        return address_of(value, LAUNCH, "a pointer argument")
    if isinstance(value, np.integer):
        return int(value)
    hint = ": pass its .gpudata" if hasattr(value, "gpudata") else ""
    given = type(value).__name__
    raise struct.error(
        f"a prepared pointer argument must be a device allocation, got {given}{hint}"
    )


def require_fit(kernel, arguments: Sequence[Argument]) -> None:
    """Raise LogicError for an argument that does not fit its parameter; records a remark for a
    doubtful one.
    """
    parameters = kernel.parameters
    if len(arguments) != len(parameters):
        signature = ", ".join(map(_declared, parameters))
        count = "1 argument" if len(arguments) == 1 else f"{quantity(len(arguments), 'argument')}"
        raise _refused(f"{kernel.name}({signature}) takes {len(parameters)}, got {count}")
    for k, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
        where = f"parameter #{k} (0-based) of {kernel.name}, {_place(k, parameters)},"
        problem = _misfit(parameter, argument)
        if problem and not (_is_packed(parameter, argument) and _unpacks(kernel)):
            for j, (other, given) in enumerate(zip(parameters, arguments, strict=True)):
                is_swap = _misfit(other, given) and not _misfit(other, argument)
                if is_swap and not _misfit(parameter, given):
                    advice = f"exchange it and argument #{j}, which fits here"
                    problem = f"got {argument.given}: {advice}"
            raise _refused(f"{where} {problem}")
        if doubt := _reinterpreted(parameter, argument) or _taken_apart(parameter, argument):
            _findings.remark(f"{where} {doubt}")
    _require_places(kernel, arguments)


def _require_places(kernel, arguments: Sequence[Argument]) -> None:
    """Raise LogicError for an argument that PyCUDA puts elsewhere than CUDA looks for it: PyCUDA
    packs an array or a record right behind the argument before, and CUDA aligns its parameter.
    """
    end = 0
    for k, (parameter, argument) in enumerate(zip(kernel.parameters, arguments, strict=True)):
        place = -(-end // argument.align) * argument.align
        if place != parameter.offset:
            raise _refused(
                f"parameter #{k} (0-based) of {kernel.name}, {_place(k, kernel.parameters)}, "
                f"begins at byte {parameter.offset} of the kernel's parameters, but PyCUDA packs "
                f"{argument.given} at byte {place}, without alignment: the kernel would read "
                "other bytes. Make it the first parameter, or pass its numbers one by one or in a "
                "device array"
            )
        end = place + len(argument.data)


def remark_fillings(kernel, arguments: Sequence[Argument]) -> None:
    """Remark on allocations that were filled from an array whose elements the kernel takes apart:
    of NumPy's usual dtypes (USUAL_OF_NUMPY), of which it reads halves as numbers of 4 bytes, or of
    structures of another size.
    """
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        if not parameter.is_pointer or argument.dtype is not None:
            continue
        address = int.from_bytes(argument.data, "little")
        filling = memory.filling_of(address)
        if filling is None:
            continue
        wanted, words = _element(parameter), ""
        if filling.names and (misfit := _record_misfit(parameter, filling)):
            words = f"{misfit}. Its memory was copied from such an array"
        elif wanted is not None and wanted.itemsize == 4 and not filling.names:
            words = (
                f"points to {wanted.name}, and its memory was copied from an array of {filling}, "
                "NumPy's usual numbers of 8 bytes: convert the array with "
                f".astype(np.{wanted.name}) before the copy"
            )
        if words:
            memory.set_filling(address, 0, None)  # one array, one remark
            _findings.remark(f"kernel {kernel.name}: {_declared(parameter)} {words}")


def pack(kernel, arguments: Sequence[Argument]) -> bytes:
    """Return the arguments as one block of bytes, each at its parameter's offset."""
    return pack_arguments(kernel.parameters, [argument.data for argument in arguments])


def _refused(detail: str) -> LogicError:
    return _errors.logic_error(LAUNCH, _errors.INVALID_ARGUMENT, detail)


def _misfit(parameter, argument: Argument) -> str:
    """Return why the argument does not fit the parameter, "" if it does."""
    if parameter.is_pointer:
        return _pointer_misfit(parameter, argument)
    if argument.is_pointer:
        return f"is a value, got {argument.given}: pass {_wanted(parameter)}"
    if argument.dtype is not None and argument.dtype.names:
        return misfit_of_record(argument.dtype, parameter.layout, parameter.size)
    if len(argument.data) != parameter.size:
        return (
            f"has {quantity(parameter.size, 'byte')}, got {argument.given} of {len(argument.data)} "
            f"bytes: pass {_wanted(parameter)}"
        )
    wanted = only_dtype(parameter.layout)
    if (
        wanted is not None
        and argument.dtype is not None
        and _number_kind(wanted) != _number_kind(argument.dtype)
    ):
        return f"got {argument.given}, bytes of another kind of number: pass {_wanted(parameter)}"
    return ""


def _pointer_misfit(parameter, argument: Argument) -> str:
    if not argument.is_pointer:
        # PyCUDA programs pass a pointer into an array as an integer (np.uintp, np.intp).
        is_address = (
            argument.dtype is not None
            and argument.dtype.kind in "iu"
            and argument.dtype.itemsize == 8
        )
        return (
            "" if is_address else f"is a pointer, got {argument.given}: pass {_wanted(parameter)}"
        )
    wanted = _element(parameter)
    if argument.dtype is not None and argument.dtype.names:
        return _record_misfit(parameter, argument.dtype)
    if wanted is None or argument.dtype is None or wanted.itemsize == argument.dtype.itemsize:
        return ""
    advice = f"convert it with .astype(np.{wanted.name})"
    if argument.given.startswith(("Out", "InOut")):  # .astype gives a copy, which nobody keeps
        advice = f"make the array with dtype=np.{wanted.name}"
    elif _is_packed(parameter, argument):
        advice += f", or pass .view(np.{wanted.name}) if the kernel unpacks each into its parts"
    return f"points to {wanted.name}, got {argument.given}: {advice}"


def _is_packed(parameter, argument: Argument) -> bool:
    """Return whether a pointer to whole numbers gets an array of narrower numbers, of which each
    may hold several.
    """
    wanted = _element(parameter) if parameter.is_pointer and argument.is_pointer else None
    if wanted is None or argument.dtype is None:
        return False
    return wanted.kind in "iu" and argument.dtype.itemsize < wanted.itemsize


def _unpacks(kernel) -> bool:
    """Return whether a kernel takes whole numbers for the bytes or halves in them."""
    function = compiler.parsed(kernel.compiled.ptx).functions[kernel.mangled]
    return _UNPACK(function.text or "") is not None


def _record_misfit(parameter, dtype: np.dtype) -> str:
    """Return why records do not fit a pointer to a structure: they have another size."""
    is_structure = only_dtype(parameter.layout) is None and parameter.element_bytes > 1
    if not is_structure or dtype.itemsize == parameter.element_bytes:
        return ""
    return misfit_of_array(dtype, (), parameter.layout, parameter.element_bytes)


def _reinterpreted(parameter, argument: Argument) -> str:
    """Return a remark on a pointer to numbers of the right size but another kind, which may be
    right for a kernel that reads bits.
    """
    wanted = _element(parameter) if parameter.is_pointer and argument.is_pointer else None
    if (
        wanted is None
        or argument.dtype is None
        or argument.dtype.names
        or _number_kind(wanted) == _number_kind(argument.dtype)
    ):
        return ""
    return (
        f"points to {wanted.name}, got {argument.given}: the kernel takes the same bits for "
        "other numbers"
    )


def _taken_apart(parameter, argument: Argument) -> str:
    """Return a remark on a pointer to bytes that gets numbers of NumPy's usual dtypes: a program
    that has forgotten to convert them is more usual than one that means their bytes.
    """
    byte = only_dtype(parameter.layout) if parameter.is_pointer and argument.is_pointer else None
    is_usual = argument.dtype is not None and argument.dtype.name in USUAL_OF_NUMPY
    if byte is None or not is_usual or not byte.itemsize == parameter.element_bytes == 1:
        return ""
    return (
        f"points to {byte.name}, got {argument.given}: the kernel takes each of the 8 bytes of a "
        f"number for one element. Convert the array with .astype(np.{byte.name}), or pass "
        f".view(np.{byte.name}) if you mean its bytes"
    )


def _element(parameter) -> np.dtype | None:
    """Return the dtype that a pointer parameter points to; None for structs, and for bytes,
    which may be anything.
    """
    dtype = only_dtype(parameter.layout)
    if dtype is None or dtype.itemsize != parameter.element_bytes:
        return None
    return None if dtype.itemsize == 1 and dtype.kind != "b" else dtype


def _number_kind(dtype: np.dtype) -> str:
    return "integer" if dtype.kind in "iub" else dtype.kind
