"""What a program declares, in the source's words: kernels and their parameters, variables, and the
arrays in structures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TypeVar


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: bytes and offset in the packed argument buffer.

    is_const: it points to elements that the kernel may not write; element_bytes: bytes of such an
    element, 0 if unknown; layout: the numbers in such an element, or in the value of a parameter
    that is no pointer (Dwarf.layouts_of_parameters); used: for each byte of such an element the
    bits that belong to its members, in hexadecimal, "" if it has no gaps.
    """

    name: str
    type_text: str
    size: int
    offset: int
    is_pointer: bool
    is_floating: bool
    is_const: bool = False
    element_bytes: int = 0
    layout: str = ""
    used: str = ""


@dataclass(frozen=True)
class Variable:
    """An array or scalar with a fixed place, described in the source's words.

    name: the declared name, without namespaces; symbol: its name in the PTX; element: the type of
    its elements, "" if unknown; extents: () for a scalar, a first extent of 0 for dynamic shared
    memory; space: "shared", "constant", "device" or "local"; function: the mangled name of the
    function that declares it, "" outside functions; layout: the numbers in an element, as
    Dwarf.layout_of has them; offset: of an array inside a variable that is a structure, from its
    start. Its name has the variable's name in front ("stage.low").
    The symbol of a local array is the symbol of the function's whole frame, or "" if the PTX has
    none. The compiler does not say where in the frame the array lies.
    """

    name: str
    symbol: str
    element: str
    element_bytes: int
    extents: tuple[int, ...]
    space: str
    function: str = ""
    size: int = 0
    layout: str = ""
    used: str = ""  # as of a Parameter
    offset: int = 0

    @property
    def nbytes(self) -> int:
        """The bytes of the whole variable; 0 for dynamic shared memory."""
        return self.size


@dataclass(frozen=True)
class Field:
    """An array that is a member of a structure, `offset` bytes from its start; nbytes: bytes of the
    structure. The other fields are those of a Variable.
    """

    name: str
    structure: str
    nbytes: int
    offset: int
    element: str
    element_bytes: int
    extents: tuple[int, ...]


@dataclass(frozen=True)
class KernelInfo:
    """A kernel that can be launched.

    name: its name in the source ("k", "ns::k", "k<4>"); mangled: the linker's name, which the
    .entry has; line: the line of its name in `file`, from 1, or 0 if unknown.
    """

    name: str
    mangled: str
    parameters: tuple[Parameter, ...]
    line: int
    file: str


Declared = Variable  # its name beside the variables of PTX
_Array = TypeVar("_Array", Variable, Field)


@dataclass(frozen=True)
class DebugInfo:
    """The variables of a program; those with a symbol of their own are found by symbol. members:
    the arrays inside them; fields: the arrays in the program's structures.
    """

    variables: tuple[Variable, ...] = ()
    members: tuple[Variable, ...] = ()
    fields: tuple[Field, ...] = ()

    def of_symbol(self, symbol: str) -> Variable | None:
        """Return the variable with this name in the PTX, None if there is none."""
        return next((v for v in self.variables if v.symbol == symbol and v.space != "local"), None)

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> DebugInfo:
        return cls(
            _from_dicts(Variable, data["variables"]),
            _from_dicts(Variable, data["members"]),
            _from_dicts(Field, data["fields"]),
        )


def _from_dicts(kind: type[_Array], rows: Iterable[dict]) -> tuple[_Array, ...]:
    """Return records of a kind; JSON has lists for their tuples."""
    return tuple(kind(**{**row, "extents": tuple(row["extents"])}) for row in rows)
