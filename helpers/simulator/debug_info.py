"""What the compiler's debug information says of a kernel's library: source lines of instructions, arrays and their shapes."""

from __future__ import annotations

import bisect
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

_OP_ADDR, _TLS_OPERATIONS = 0x03, (0x9B, 0xE0)


@dataclass(frozen=True)
class Variable:
    """An array or scalar with a fixed place.

    space: "shared", "constant" or "device"; place: offset in the library, for shared ones in its thread-local block; function: the
    (mangled) name of the function that declares it, "" outside functions.
    """

    name: str
    element: str
    element_bytes: int
    extents: tuple[int, ...]
    place: int
    space: str
    function: str = ""

    @property
    def nbytes(self) -> int:
        count = 1
        for extent in self.extents:
            count *= extent
        return count * self.element_bytes


@dataclass(frozen=True)
class DebugInfo:
    """`offsets[k]` is the first instruction of source line `lines[k]` in `files[k]`; 0 marks a gap.

    literals: (place, bytes) of read-only data that no variable names: tables that the compiler made of constants.
    inlined: (first offset, last offset, line of the call) of calls of the source's own functions, outer ones first.
    """

    offsets: tuple[int, ...]
    lines: tuple[int, ...]
    files: tuple[str, ...]
    variables: tuple[Variable, ...]
    literals: tuple[tuple[int, int], ...] = ()
    inlined: tuple[tuple[int, int, int], ...] = ()

    def place_of(self, offset: int) -> tuple[str, int]:
        """File and line of the instruction at `offset` in the library; ("", 0) where the compiler does not say."""
        k = bisect.bisect_right(self.offsets, offset) - 1
        return (self.files[k], self.lines[k]) if k >= 0 else ("", 0)

    def line_near(self, offset: int, file: str) -> int:
        """The line of `file` at `offset`, or of the code just before it where the compiler gives none; 0 for unknown."""
        k = bisect.bisect_right(self.offsets, offset) - 1
        for near in range(k, max(k - 16, -1), -1):
            if self.lines[near] and self.files[near] == file:
                return self.lines[near]
        return 0

    def calls_around(self, offset: int) -> tuple[int, ...]:
        """The lines of the inlined calls that the instruction at `offset` belongs to, outer ones first."""
        return tuple(line for first, last, line in self.inlined if first <= offset < last)

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> DebugInfo:
        variables = tuple(Variable(**{**v, "extents": tuple(v["extents"])}) for v in data["variables"])
        literals = tuple((place, nbytes) for place, nbytes in data["literals"])
        inlined = tuple(tuple(call) for call in data["inlined"])
        return cls(tuple(data["offsets"]), tuple(data["lines"]), tuple(data["files"]), variables, literals, inlined)


def read(path: Path) -> DebugInfo:
    """Reads the debug information of one shared library (ELF)."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        dwarf = elf.get_dwarf_info()
        constant = _sections(elf, "halo_constant")
        table, variables, inlined = {}, [], []
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            table.update(_line_table(program))
            _move_to_call_sites(table, unit.get_top_DIE(), _file_names(program), dwarf.range_lists(), inlined)
            variables += [v for die in unit.iter_DIEs() if (v := _variable(die, constant)) is not None and v.nbytes]
        literals = _without_variables(_sections(elf, ".rodata"), variables)
    offsets = tuple(sorted(table))
    lines, files = tuple(table[o][1] for o in offsets), tuple(table[o][0] for o in offsets)
    return DebugInfo(offsets, lines, files, tuple(variables), literals, tuple(inlined))


def _sections(elf: ELFFile, prefix: str) -> list[range]:
    found = [s for s in elf.iter_sections() if s.name.startswith(prefix)]
    return [range(s["sh_addr"], s["sh_addr"] + s["sh_size"]) for s in found]


def _without_variables(sections: list[range], variables: list[Variable]) -> tuple[tuple[int, int], ...]:
    """The parts of the sections that hold no variable."""
    parts = []
    for section in sections:
        start = section.start
        for variable in sorted((v for v in variables if v.space != "shared" and v.place in section), key=lambda v: v.place):
            parts.append((start, variable.place - start))
            start = variable.place + variable.nbytes
        parts.append((start, section.stop - start))
    return tuple((place, nbytes) for place, nbytes in parts if nbytes > 0)


def _line_table(program) -> dict[int, tuple[str, int]]:
    names = _file_names(program)
    table: dict[int, tuple[str, int]] = {}
    for entry in program.get_entries():
        if (state := entry.state) is None:
            continue
        table[state.address] = ("", 0) if state.end_sequence else (names.get(state.file, ""), state.line)
    return table


def _move_to_call_sites(
    table: dict[int, tuple[str, int]], die: DIE, names: dict[int, str], ranges, inlined: list[tuple[int, int, int]]
) -> None:
    """Gives code of the simulator's own headers that was inlined into a kernel the file and line of the call.

    From the outside in: where a function of the .cu is inlined as well, the call inside it is what counts. Calls between functions
    of the .cu are noted in `inlined`.
    """
    if die.tag == "DW_TAG_inlined_subroutine" and "DW_AT_call_line" in die.attributes:
        call = (names.get(die.attributes["DW_AT_call_file"].value, ""), die.attributes["DW_AT_call_line"].value)
        if not _is_own_header(call[0]):
            own = not _is_own_header(_declared_in(die, names))
            for first, last in _ranges_of(die, ranges):
                inlined += [(first, last, call[1])] if own and last > first else []
                for offset in range(first, last):
                    if offset in table and _is_own_header(table[offset][0]):
                        table[offset] = call
    for child in die.iter_children():
        _move_to_call_sites(table, child, names, ranges, inlined)


def _declared_in(die: DIE, names: dict[int, str]) -> str:
    """The file of the function that was inlined."""
    origin = die.get_DIE_from_attribute("DW_AT_abstract_origin") if "DW_AT_abstract_origin" in die.attributes else die
    if "DW_AT_decl_file" not in origin.attributes and "DW_AT_specification" in origin.attributes:
        origin = origin.get_DIE_from_attribute("DW_AT_specification")
    return names.get(origin.attributes["DW_AT_decl_file"].value, "") if "DW_AT_decl_file" in origin.attributes else ""


@cache
def _own_headers() -> frozenset[str]:
    return frozenset(path.name for path in (Path(__file__).parent / "native" / "include").iterdir())


def _is_own_header(name: str) -> bool:
    return name in _own_headers()


def _ranges_of(die: DIE, ranges) -> list[tuple[int, int]]:
    if "DW_AT_high_pc" in die.attributes:
        first = die.attributes["DW_AT_low_pc"].value
        return [(first, first + die.attributes["DW_AT_high_pc"].value)]
    if "DW_AT_ranges" not in die.attributes or ranges is None:
        return []
    base = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
    base = base.value if base else 0
    found = []
    for entry in ranges.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, cu=die.cu):
        if hasattr(entry, "base_address"):
            base = entry.base_address
        else:
            start = 0 if getattr(entry, "is_absolute", False) else base
            found.append((start + entry.begin_offset, start + entry.end_offset))
    return found


def _file_names(program) -> dict[int, str]:
    first = 0 if program["version"] >= 5 else 1
    return {first + k: Path(entry.name.decode()).name for k, entry in enumerate(program["file_entry"])}


def _variable(die: DIE, constant: list[range]) -> Variable | None:
    if die.tag != "DW_TAG_variable" or "DW_AT_location" not in die.attributes:
        return None
    location = die.attributes["DW_AT_location"].value
    if not isinstance(location, list) or len(location) < 9:
        return None
    shared = location[-1] in _TLS_OPERATIONS and len(location) == 10
    if not shared and not (location[0] == _OP_ADDR and len(location) == 9):
        return None
    declaration = die
    if "DW_AT_type" not in die.attributes:
        for link in ("DW_AT_specification", "DW_AT_abstract_origin"):
            if link in die.attributes:
                declaration = die.get_DIE_from_attribute(link)
    if "DW_AT_name" not in declaration.attributes or "DW_AT_type" not in declaration.attributes:
        return None
    element, element_bytes, extents = _type(declaration.get_DIE_from_attribute("DW_AT_type"))
    name = declaration.attributes["DW_AT_name"].value.decode()
    place = int.from_bytes(bytes(location[1:9]), "little")
    space = "shared" if shared else "constant" if any(place in section for section in constant) else "device"
    return Variable(name, element, element_bytes, extents, place, space, _function_of(declaration) or _function_of(die))


def _function_of(die: DIE) -> str:
    """The linker's name of the function that a DIE lies in."""
    parent = die.get_parent()
    while parent is not None and parent.tag != "DW_TAG_subprogram":
        parent = parent.get_parent()
    for _ in range(4):  # concrete instance -> abstract instance -> declaration
        if parent is None:
            return ""
        for attribute in ("DW_AT_linkage_name", "DW_AT_name"):
            if attribute in parent.attributes and not (attribute == "DW_AT_name" and "DW_AT_specification" in parent.attributes):
                return parent.attributes[attribute].value.decode()
        link = next((a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in parent.attributes), None)
        parent = parent.get_DIE_from_attribute(link) if link else None
    return ""


def _type(die: DIE) -> tuple[str, int, tuple[int, ...]]:
    """Name and bytes of the element type, and the extents of an array of it."""
    if die.tag == "DW_TAG_array_type":
        ranges = [c for c in die.iter_children() if c.tag == "DW_TAG_subrange_type"]
        extents = tuple(_extent(r) for r in ranges)
        element, nbytes, inner = _type(die.get_DIE_from_attribute("DW_AT_type"))
        return element, nbytes, extents + inner
    if die.tag in ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_typedef") and "DW_AT_type" in die.attributes:
        element, nbytes, extents = _type(die.get_DIE_from_attribute("DW_AT_type"))
        if die.tag == "DW_TAG_typedef":
            element = die.attributes["DW_AT_name"].value.decode()
        return element, nbytes, extents
    name = die.attributes["DW_AT_name"].value.decode() if "DW_AT_name" in die.attributes else "?"
    if die.tag == "DW_TAG_pointer_type":
        return "pointer", 8, ()
    size = die.attributes["DW_AT_byte_size"].value if "DW_AT_byte_size" in die.attributes else 0
    return name, size, ()


def _extent(subrange: DIE) -> int:
    for attribute, extra in (("DW_AT_count", 0), ("DW_AT_upper_bound", 1)):
        if attribute in subrange.attributes and isinstance(subrange.attributes[attribute].value, int):
            return subrange.attributes[attribute].value + extra
    return 0
