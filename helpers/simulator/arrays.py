"""How findings and profiles speak of arrays: what the arguments, the variables and the shared
memory of a launch are called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import memory

_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict"}
DYNAMIC_SHARED = "dynamic shared memory"


@dataclass(frozen=True)
class ArrayName:
    """An array in words: name, bytes, element type, extents, and where the named part starts.

    space: "global", "device", "constant", "shared" or "local"; first_byte: offset of the named part
    in its allocation (a pointer parameter may point into the middle); start: the allocation's
    address, 0 where it is not needed.
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
    """A compiler.Parameter as a source declares it: "const float* x"."""
    return f"{parameter.type_text} {parameter.name}".replace(" *", "*")


def pack_arguments(parameters: Sequence, values: Sequence[bytes]) -> bytes:
    """The values of a launch as one block of bytes, each at the offset of its parameter (a
    compiler.Parameter).
    """
    packed = bytearray(max((p.offset + p.size for p in parameters), default=0))
    for parameter, value in zip(parameters, values, strict=True):
        packed[parameter.offset : parameter.offset + parameter.size] = value
    return bytes(packed)


def pointers(kernel, packed: bytes) -> dict[str, int]:
    """The addresses that a launch gives to its pointer parameters, by the parameters' names."""
    return {
        parameter.name: int.from_bytes(packed[parameter.offset : parameter.offset + 8], "little")
        for parameter in kernel.parameters
        if parameter.is_pointer
    }


def name_arrays(kernel, packed: bytes, names: Mapping[int, str]) -> dict[int, ArrayName]:
    """The arrays of a launch by the machine's numbers: `names` (address -> name), pointer
    parameters, and variables.
    """
    arrays: dict[int, ArrayName] = {}
    for address, name in names.items():
        if found := memory.region(address):
            arrays[found[2]] = ArrayName(name, found[1], "", 0, (), "global", start=found[0])
    addresses = pointers(kernel, packed)
    for parameter in kernel.parameters:
        address = addresses.get(parameter.name, 0)
        if (found := memory.region(address) if address else None) is None:
            continue
        start, nbytes, number = found
        name, first = parameter.name, address - start
        if number in arrays and arrays[number].name != name:  # two parameters, one array
            name, first = f"{arrays[number].name}={name}", min(first, arrays[number].first_byte)
        width = parameter.element_bytes
        extents = ((nbytes - first) // width,) if width else ()
        arrays[number] = ArrayName(
            name,
            nbytes - first,
            _element(parameter.type_text),
            width,
            extents,
            "global",
            first,
            start,
        )
    for number, variable in kernel.module.regions.items():
        arrays[number] = ArrayName(
            variable.name, variable.nbytes, variable.element, variable.element_bytes,
            variable.extents, variable.space,
            start=variable.address,
        )  # fmt: skip
    return arrays


def _element(type_text: str) -> str:
    """What a pointer type points to, without qualifiers: "const float*" -> "float"."""
    return " ".join(word for word in type_text.replace("*", " ").split() if word not in _QUALIFIERS)


def plain_name(symbol: str) -> str:
    """What a source calls a variable that the compiler does not describe: "_ZZ1kE4tile" is tile
    (Itanium C++ ABI, 5.1.6).
    """
    found = re.search(r"E(\d+)([A-Za-z_]\w*)$", symbol)
    return found[2][: int(found[1])] if found and symbol.startswith("_ZZ") else symbol.strip("$_")


def shared_array(variable, nbytes: int) -> ArrayName:
    """A static shared variable of `nbytes`. variable: what the compiler says of it, or its name
    alone.
    """
    if isinstance(variable, str):
        return ArrayName(plain_name(variable), nbytes, "", 0, (), "shared")
    return ArrayName(
        variable.name, nbytes, variable.element, variable.element_bytes, variable.extents, "shared"
    )


def dynamic_array(variables, nbytes: int) -> ArrayName:
    """The dynamic shared memory of a launch. variables: the extern arrays that stand for it (all
    begin at its first byte).
    """
    names = "/".join(dict.fromkeys(variable.name for variable in variables)) or DYNAMIC_SHARED
    element, width = next(
        ((v.element, v.element_bytes) for v in variables if v.element_bytes), ("char", 1)
    )
    return ArrayName(names, nbytes, element, width, (nbytes // width,), "shared")
