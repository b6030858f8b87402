"""NumPy arrays and scalars as the arguments and constants of a launch, checked and copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from . import memory
from .arrays import declaration, pack_arguments
from .compiler import Parameter
from .module import Kernel, Module


def set_constants(module: Module, constants: Mapping[str, np.ndarray]) -> None:
    """Writes the values of `__constant__` symbols to a module's memory. Raises ValueError for a
    symbol that the source does not have, and for a value of another size.
    """
    for symbol, value in constants.items():
        symbols = module.globals
        if symbol not in symbols:
            raise ValueError(
                f"this source has no constant {symbol!r}: it has {', '.join(symbols) or 'none'}"
            )
        value = np.ascontiguousarray(value)
        if value.nbytes != symbols[symbol].nbytes:
            raise ValueError(
                f"constant {symbol!r} has {symbols[symbol].nbytes} bytes, but its value has "
                f"{value.nbytes} ({value.dtype}, shape {value.shape}): give an array of "
                f"{symbols[symbol].nbytes} bytes"
            )
        memory.write(symbols[symbol].address, value, value.nbytes)


class Arguments:
    """Arguments on the device for one launch: arrays are copied there and freed afterwards."""

    def __init__(self, kernel: Kernel, args: tuple, outputs: Sequence[str] | None = None):
        expected = ", ".join(map(declaration, kernel.parameters))
        if len(args) != len(kernel.parameters):
            raise TypeError(
                f"{kernel.name}({expected}) takes {len(kernel.parameters)} arguments, but the "
                f"launch gives {len(args)}"
            )
        pointers = [p.name for p in kernel.parameters if p.is_pointer]
        if unknown := [name for name in outputs or () if name not in pointers]:
            known = ", ".join(pointers) or "none"
            raise ValueError(
                f"outputs names {', '.join(unknown)}; the pointers of {kernel.name} are {known}"
            )
        self._kernel, self._args, self._named = kernel, args, outputs
        self.outputs: list[int] = []
        self._copies: list[tuple[int, np.ndarray]] = []

    def __enter__(self) -> Arguments:
        try:
            parameters = self._kernel.parameters
            values = [
                self._bytes_of(parameter, value)
                for parameter, value in zip(parameters, self._args, strict=True)
            ]
            self.buffer = pack_arguments(parameters, values)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for address, _array in self._copies:
            memory.free(address)
        self._copies.clear()

    def copy_back(self) -> None:
        for address, array in self._copies:
            if array.flags.writeable:
                memory.read(array, address, array.nbytes)

    def _bytes_of(self, parameter: Parameter, value) -> bytes:
        what = f"argument {parameter.name!r} of {self._kernel.name} ({declaration(parameter)})"
        if parameter.is_pointer:
            address = self._pointer(what, value, self._is_output(parameter, value))
            return address.to_bytes(8, "little")
        if not isinstance(value, np.generic):
            raise TypeError(
                f"{what} needs a NumPy scalar such as numpy.int32(7), got {value!r} "
                f"({type(value).__name__})"
            )
        if value.nbytes != parameter.size or (value.dtype.kind == "f") != parameter.is_floating:
            raise TypeError(
                f"{what} has {parameter.size} bytes, so {value!r} ({value.dtype}) does not fit: "
                f"give a NumPy scalar of the parameter's type"
            )
        return value.tobytes()

    def _is_output(self, parameter: Parameter, value) -> bool:
        if self._named is not None:
            return parameter.name in self._named
        return (
            isinstance(value, np.ndarray)
            and not parameter.is_const
            and value.dtype.kind == "f"
            and bool(np.isnan(value).all())
        )

    def _pointer(self, what: str, value, is_output: bool) -> int:
        if not isinstance(value, np.ndarray):
            try:
                return int(value)
            except (TypeError, ValueError):
                raise TypeError(
                    f"{what} needs a NumPy array or a device allocation, got {type(value).__name__}"
                ) from None
        if not value.flags.c_contiguous:
            raise ValueError(
                f"{what} needs a C-contiguous array: pass numpy.ascontiguousarray(...) "
                f"(shape {value.shape}, strides {value.strides})"
            )
        if value.size == 0:
            raise ValueError(f"{what} got an empty array: give one with at least one element")
        address = memory.allocate(value.nbytes)
        self._copies.append((address, value))
        if is_output:
            self.outputs.append(address)
        else:
            memory.write(address, value, value.nbytes)
        return address
