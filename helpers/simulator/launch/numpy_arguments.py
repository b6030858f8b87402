"""NumPy arrays and scalars as the arguments and constants of a launch, checked and copied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from helpers.quantities import quantity

from ..compile.compiler import Parameter
from ..findings.race_facts import appends
from ..machine import layouts, memory
from ..machine.arrays import declaration, pack_arguments
from ..program.module import Kernel, Module


def set_constants(module: Module, constants: Mapping[str, np.ndarray]) -> None:
    """Write the values of `__constant__` symbols to a module's memory.

    Raises TypeError for `constants` that is no mapping and for a value of another dtype than the
    symbol's, and ValueError for a symbol that the source does not have and for a value of another
    size.
    """
    if not isinstance(constants, Mapping):
        raise TypeError(
            "constants takes a dictionary of symbols and values, such as "
            f'{{"filter": filter}}, got {type(constants).__name__}'
        )
    for symbol, value in constants.items():
        symbols = module.globals
        if symbol not in symbols:
            raise ValueError(
                f"this source has no constant {symbol!r}: it has {', '.join(symbols) or 'none'}"
            )
        there, value = symbols[symbol], np.ascontiguousarray(value)
        if value.nbytes != there.nbytes:
            raise ValueError(
                f"constant {symbol!r} has {quantity(there.nbytes, 'byte')}, but its value has "
                f"{value.nbytes} ({value.dtype}, shape {value.shape}): give an array of "
                f"{quantity(there.nbytes, 'byte')}"
            )
        # uint8 of the symbol's own size are its bytes: there are more of them than elements.
        known = there.layout and value.dtype != np.uint8
        width = there.element_bytes if known else 0
        if problem := layouts.misfit_of_array(value.dtype, (), there.layout, width):
            raise TypeError(f"constant {symbol!r} {problem.replace('points to', 'has', 1)}")
        memory.write(there.address, value, value.nbytes)


class Arguments:
    """Arguments on the device for one launch: arrays are copied there and freed afterwards.

    Raises TypeError and ValueError for arguments that do not fit the kernel's parameters.
    """

    def __init__(self, kernel: Kernel, args: tuple, outputs: Sequence[str] | None = None):
        expected = ", ".join(map(declaration, kernel.parameters))
        if len(args) != len(kernel.parameters):
            raise TypeError(
                f"{kernel.name}({expected}) takes {quantity(len(kernel.parameters), 'argument')}, "
                f"but the launch gives {len(args)}"
            )
        pointers = [p.name for p in kernel.parameters if p.is_pointer]
        if isinstance(outputs, str):
            raise TypeError(
                f'outputs takes a list of names, such as outputs=["{outputs}"], got {outputs!r}'
            )
        if outputs is not None and (
            not isinstance(outputs, Iterable) or not all(isinstance(one, str) for one in outputs)
        ):
            example = 'such as outputs=["y"]'
            raise TypeError(f"outputs takes a list of names, {example}, got {outputs!r}")
        if unknown := [name for name in outputs or () if name not in pointers]:
            known = ", ".join(pointers) or "none"
            raise ValueError(
                f"outputs names {', '.join(unknown)}; the pointers of {kernel.name} are {known}"
            )
        self._kernel, self._args, self._named = kernel, args, outputs
        self.outputs: list[int] = []
        self._allocated: list[int] = []
        # the parameter's offset -> the parameter, the address of its array's copy, and the array
        self._copies: dict[int, tuple[Parameter, int, np.ndarray]] = {}

    def __enter__(self) -> Arguments:
        try:
            parameters = self._kernel.parameters
            pairs = list(zip(parameters, self._args, strict=True))
            for parameter, value in pairs:
                self._require_fit(parameter, value)
            self._copy_to_device(pairs)
            self.outputs += [int(value) for p, value in pairs if self._is_fresh_output(p, value)]
            self.buffer = pack_arguments(parameters, [self._bytes_of(*pair) for pair in pairs])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for address in self._allocated:
            memory.free(address)
        self._allocated.clear()

    def arrays_after(self) -> dict[str, np.ndarray]:
        """Return copies of the device's arrays, by the names of their parameters."""
        found = {}
        for parameter, address, array in self._copies.values():
            found[parameter.name] = np.empty_like(array, subok=False)
            memory.read(found[parameter.name], address, array.nbytes)
        return found

    def starts_without_values(self, name: str) -> bool:
        """Return whether the array of a parameter is an output that nobody has written before the
        launch.
        """
        pairs = zip(self._kernel.parameters, self._args, strict=True)
        return any(
            p.name == name and (self._is_output(p, value) or self._is_fresh_output(p, value))
            for p, value in pairs
        )

    def copy_back(self) -> None:
        """Copy the device's arrays back. Raises ValueError if the kernel has written to an array
        that is read-only.
        """
        copies = list(self._copies.values())
        for _, address, array in copies:
            if array.flags.writeable:
                memory.read(array, address, array.nbytes)
        for parameter, address, array in copies:
            if not array.flags.writeable and not parameter.is_const:
                after = np.empty_like(array, subok=False)
                memory.read(after, address, array.nbytes)
                if after.tobytes() != array.tobytes():
                    raise ValueError(
                        f"{self._what(parameter)} is a read-only array, and the kernel has written "
                        "to it: pass a copy, or declare the parameter const if it is an input"
                    )

    # ---- checks ----

    def _what(self, parameter: Parameter) -> str:
        return f"argument {parameter.name!r} of {self._kernel.name} ({declaration(parameter)})"

    def _require_fit(self, parameter: Parameter, value) -> None:
        what = self._what(parameter)
        if parameter.is_pointer:
            self._require_pointer(what, parameter, value)
            return
        hint = _example(parameter)
        if not isinstance(value, np.generic):
            given = (
                f"an array of {value.dtype}, shape {value.shape}"
                if isinstance(value, np.ndarray)
                else f"{value!r} ({type(value).__name__})"
            )
            raise TypeError(f"{what} needs a NumPy scalar such as {hint}, got {given}")
        problem = layouts.misfit_of_value(
            value, parameter.layout, parameter.size, parameter.is_floating
        )
        if problem:
            raise TypeError(f"{what} {problem}")

    def _require_pointer(self, what: str, parameter: Parameter, value) -> None:
        if not isinstance(value, np.ndarray):
            _address(what, value)
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError(
                f"{what} got a masked array, whose mask the kernel would not see: pass "
                ".filled(...), and the mask as a separate array if the kernel needs it"
            )
        is_text = isinstance(value, np.ndarray) and value.dtype.kind in "SUMm"
        if is_text and parameter.element_bytes > 1:
            raise TypeError(
                f"{what} got an array of {value.dtype}, which holds no numbers: convert it with "
                ".astype(...), or pass .view(np.uint8) for its bytes"
            )
        # An allocation may know its dtype, as an array does.
        if isinstance(dtype := getattr(value, "dtype", None), np.dtype) and not isinstance(
            value, np.generic
        ):
            problem = layouts.misfit_of_array(
                dtype, value.shape, parameter.layout, parameter.element_bytes
            )
            if problem:
                raise TypeError(f"{what} {problem}")
        if not isinstance(value, np.ndarray):
            return
        if not value.flags.c_contiguous:
            raise ValueError(
                f"{what} needs a C-contiguous array: pass numpy.ascontiguousarray(...) "
                f"(shape {value.shape}, strides {value.strides})"
            )
        if value.size == 0:
            raise ValueError(f"{what} got an empty array: give one with at least one element")
        if not value.flags.writeable and self._is_output(parameter, value):
            raise ValueError(
                f"{what} is an output, and its array is read-only: pass an array that can be "
                "written, such as a copy"
            )

    def _is_output(self, parameter: Parameter, value) -> bool:
        if self._named is not None:
            return parameter.name in self._named
        return (
            isinstance(value, np.ndarray)
            and not parameter.is_const
            and value.dtype.kind == "f"
            and bool(np.isnan(value).all())
        )

    def _is_fresh_output(self, parameter: Parameter, value) -> bool:
        """Return whether a launch must write all of an allocation that says so (`is_output`). A
        kernel that appends to it need not.
        """
        if self._named is not None or not getattr(value, "is_output", False):
            return False
        return not parameter.is_const and not appends(self._kernel, parameter.offset)

    # ---- copies ----

    def _copy_to_device(self, pairs: Sequence[tuple[Parameter, Any]]) -> None:
        """Copy the arrays to the device. Arrays that overlap on the host share one allocation, so
        that they overlap there as well.
        """
        given = [(p, v) for p, v in pairs if p.is_pointer and isinstance(v, np.ndarray)]
        for group in _overlapping([array for _, array in given]):
            first = min(given[k][1].ctypes.data for k in group)
            last = max(given[k][1].ctypes.data + given[k][1].nbytes for k in group)
            start = memory.allocate(last - first)
            self._allocated.append(start)
            for k in group:
                parameter, array = given[k]
                address = start + array.ctypes.data - first
                self._copies[parameter.offset] = parameter, address, array
                if not self._is_output(parameter, array):
                    memory.write(address, array, array.nbytes)
                elif start not in self.outputs:
                    self.outputs.append(start)

    def _bytes_of(self, parameter: Parameter, value) -> bytes:
        if not parameter.is_pointer:
            return value.tobytes()
        if isinstance(value, np.ndarray):
            address = self._copies[parameter.offset][1]
        else:
            address = _address(self._what(parameter), value)
        return address.to_bytes(8, "little")


def _overlapping(arrays: Sequence[np.ndarray]) -> list[list[int]]:
    """Return the numbers of the arrays in groups: two contiguous arrays are in one group if they
    have bytes in common, directly or through others.
    """
    groups: list[list[int]] = []
    end = 0
    for k in sorted(range(len(arrays)), key=lambda k: arrays[k].ctypes.data):
        start = arrays[k].ctypes.data
        if start >= end:
            groups.append([])
        groups[-1].append(k)
        end = max(end, start + arrays[k].nbytes)
    return sorted(map(sorted, groups))


def _address(what: str, value: Any) -> int:
    """Return the address of a device allocation. Raises TypeError and ValueError."""
    is_number = isinstance(value, (float, complex, str, bytes, np.inexact, np.bool_, bool))
    try:
        address = None if is_number else int(value)
    except (TypeError, ValueError):
        address = None
    if address is None:
        raise TypeError(
            f"{what} needs a NumPy array or a device allocation, got {type(value).__name__}"
        )
    if not 0 <= address < 1 << 64:
        raise ValueError(f"{what} got the address {address}: a device address has 64 bits")
    return address


def _example(parameter: Parameter) -> str:
    dtype = layouts.only_dtype(parameter.layout)
    if dtype is None:
        record = f"a record of {quantity(parameter.size, 'byte')}"
        return record if parameter.layout else "np.int32(7)"
    value = {"f": "7.0", "b": "True"}.get(dtype.kind, "7")
    return f"{layouts.numpy_name(dtype)}({value})"
