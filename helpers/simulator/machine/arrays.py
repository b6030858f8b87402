"""The names that findings and profiles give to arrays: to the arguments, the variables and the
shared memory of a launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..compile.mangled import plain_name
from . import memory

_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict"}
DYNAMIC_SHARED = "dynamic shared memory"


@dataclass(frozen=True)
class ArrayName:
    """The name, bytes, element type and extents of an array, and the start of its named part.

    space: "global", "device", "constant", "shared" or "local"; first_byte: offset of the named part
    in its allocation (a pointer parameter may point into the middle); start: the allocation's
    address, 0 if nobody needs it.
    """

    name: str
    nbytes: int
    element: str
    element_bytes: int
    extents: tuple[int, ...]
    space: str
    first_byte: int = 0
    start: int = 0


def declaration(parameter) -> str:
    """Return a compiler.Parameter as a source declares it: "const float* x"."""
    return f"{parameter.type_text} {parameter.name}".replace(" *", "*")


def pack_arguments(parameters: Sequence, values: Sequence[bytes]) -> bytes:
    """Return the values of a launch as one block of bytes, each at the offset of its parameter (a
    compiler.Parameter).
    """
    packed = bytearray(max((p.offset + p.size for p in parameters), default=0))
    for parameter, value in zip(parameters, values, strict=True):
        packed[parameter.offset : parameter.offset + parameter.size] = value
    return bytes(packed)


def pointers(kernel, packed: bytes) -> dict[str, int]:
    """Return the addresses that a launch passes for its pointer parameters, by parameter name."""
    return {
        parameter.name: int.from_bytes(packed[parameter.offset : parameter.offset + 8], "little")
        for parameter in kernel.parameters
        if parameter.is_pointer
    }


def name_arrays(kernel, packed: bytes, names: Mapping[int, str]) -> dict[int, ArrayName]:
    """Return the arrays of a launch by the machine's numbers for them: those of `names` (address
    -> name), of the pointer parameters, and the variables.
    """
    arrays: dict[int, ArrayName] = {}
    for address, name in names.items():
        if region := memory.region(address):
            arrays[region[2]] = ArrayName(name, region[1], "", 0, (), "global", start=region[0])
    addresses = pointers(kernel, packed)
    for parameter in kernel.parameters:
        address = addresses.get(parameter.name, 0)
        if (region := memory.region(address) if address else None) is None:
            continue
        start, nbytes, number = region
        name, first = parameter.name, address - start
        element, width = _element(parameter.type_text), parameter.element_bytes
        if number in arrays and arrays[number].name != name:  # two parameters, one array
            other = arrays[number]
            name = f"{other.name}={name}" if first == other.first_byte else f"{other.name}/{name}"
            if other.first_byte < first:  # indices count from the first of them
                first = other.first_byte
                if other.element_bytes:
                    element, width = other.element, other.element_bytes
        extents = ((nbytes - first) // width,) if width else ()
        arrays[number] = ArrayName(
            name, nbytes - first, element, width, extents, "global", first, start
        )
    for number, variable in kernel.module.regions.items():
        arrays[number] = ArrayName(
            variable.name, variable.nbytes, variable.element, variable.element_bytes,
            variable.extents, variable.space,
            start=variable.address,
        )
    return arrays


def _element(type_text: str) -> str:
    """Return the type that a pointer points to, without qualifiers: "const float*" -> "float"."""
    return " ".join(word for word in type_text.replace("*", " ").split() if word not in _QUALIFIERS)


def shared_array(variable, nbytes: int) -> ArrayName:
    """Return a static shared variable of `nbytes`. variable: the compiler's description, or only
    the symbol.
    """
    if isinstance(variable, str):
        return ArrayName(plain_name(variable), nbytes, "", 0, (), "shared")
    return ArrayName(
        variable.name, nbytes, variable.element, variable.element_bytes, variable.extents, "shared"
    )


def dynamic_array(variables, nbytes: int) -> ArrayName:
    """Return the dynamic shared memory of a launch. variables: the extern arrays that name it (all
    begin at its first byte).
    """
    names = "/".join(dict.fromkeys(variable.name for variable in variables)) or DYNAMIC_SHARED
    element, width = next(
        ((v.element, v.element_bytes) for v in variables if v.element_bytes), ("char", 1)
    )
    return ArrayName(names, nbytes, element, width, (nbytes // width,), "shared")
