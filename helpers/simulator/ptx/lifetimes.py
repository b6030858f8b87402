"""Tells the machine when the variables of a block `{ }` begin and end.

    float* p;
    {
        float t = x[i];
        p = &t;
    }
    y[i] = *p;              // t has ended, and nothing is wrong in the memory of the thread

In PTX for a debugger each variable whose address is taken has a place of its own in local memory,
and the debug information says which code belongs to the block that declares it. `with_lifetimes`
lets the function tell the machine where control leaves that code and where it enters it: an access
to the variable in between is a finding.

It does so for variables whose address leaves the code of the block. If any instruction outside of
that code names the variable's place itself, then the debug information is not exact, and the
variable is left alone.

In a loop, the variable of a turn begins where that of the turn before has ended:

    for (int k = 0; k < n; ++k) {
        float t = x[k];
        if (last) sum += t - *last;    // *last is this turn's t
        last = &t;
    }

So a variable whose address goes further has two places, and its lives take turns in them. A
pointer to the last turn's is found; one to an earlier turn's may meet a later life in its place.
Arrays keep one place: their indices are checked at a place that is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .functions import START, with_bodies
from .rows import END_OF_LIFE, LIFE, LIVES

_LABEL = re.compile(r"^[ \t]*(\$[\w$]+):")
_PLACE = re.compile(r"\[%SPL?(?:\+(\d+))?\]|\badd\.u64[ \t]+%\w+, %SPL?, (\d+);")
_ADDRESS = re.compile(r"\badd\.u64[ \t]+(%\w+), %SPL?, (\d+);")
_REGISTER = re.compile(r"%rd\d+\b")
# Instructions whose result is an address if an operand is one. A place of local memory that the
# function names holds one like a register: `[%SP+8]`.
_RESULT = re.compile(r"^\s*(?:mov\.[bu]64|add\.[su]64|selp\.[bu]64)\s+(%rd\d+), (.*);")
_LOADED = re.compile(r"^\s*ld\.[bu]64\s+(%rd\d+), (\[%SPL?\+\d+\]);")
_KEPT = re.compile(r"^\s*st\.[bu]64\s+(\[%SPL?\+\d+\]), (%rd\d+);")
_STORED = re.compile(r"^\s*st\.(?!param)[\w.]*64\s+\[[^]]*\], (.*);")
_GIVEN = re.compile(r"^\s*st\.param\.\w+\s+\[[^]]*\], (%rd\d+);")
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\$[\w$]+);")
_TABLE = re.compile(r"\.branchtargets\s+([^;]*);")
_ENDS = re.compile(r"^\s*(?:bra|ret|exit|trap)\b")
_NOTE = re.compile(r"^// local (\d+) is (\S+) of line (\d+)$", re.MULTILINE)

# In the source: an address of a variable that is assigned or returned, as in `p = &t`, and arrays.
_TAKEN = re.compile(r"(?:[=?:(,{]|\breturn)\s*(?:\([\w\s*]+\)\s*)?&\s*([A-Za-z_]\w*)\b(?!\s*\[)")
_ARRAY = re.compile(r"[;{}]([\w\s:<>,]*?[\w>]\s+)([A-Za-z_]\w*)\s*(?:\[[^][]*\])+\s*(?=[;=,{])")
_NOT_LOCAL = ("__shared__", "__constant__", "__device__", "extern", "return")


@dataclass(frozen=True)
class ScopedVariable:
    """A variable of a block of the source, with a place in the local memory of its function.

    begin, end: the labels of the code of the block; offset: in local memory, in bytes; line: of the
    declaration.
    """

    name: str
    begin: str
    end: str
    offset: int
    nbytes: int
    is_array: bool
    line: int


def may_outlive_a_block(source: str) -> bool:
    """Return whether a source, without comments, may keep the address of a local variable."""
    if _TAKEN.search(source):
        return True
    arrays = {
        found[2]
        for found in _ARRAY.finditer(source)
        if not any(word in found[1] for word in _NOT_LOCAL)
    }
    return any(
        re.search(rf"[=?:]\s*(?:\([\w\s*]+\)\s*)?(?:&\s*{name}\b|{name}\b(?!\s*\[))", source)
        for name in arrays
    )


def with_lifetimes(
    ptx: str, variables: Callable[[str], Iterable[ScopedVariable]]
) -> tuple[str, int]:
    """Return the PTX with calls that tell the machine of the lives of variables, and the number of
    variables whose address goes where the block has ended, or to memory.

    variables: returns those of a function's blocks.
    """
    numbered: list[ScopedVariable] = []
    outliving = 0

    def changed(name: str, body: str) -> str:
        nonlocal outliving
        if START.search(body) is None:
            return body
        scoped = list(variables(name))
        code = _Code(body.split("\n"), scoped)
        reaches = {one: reach for one in scoped if (reach := code.reach(one))}
        if not reaches:
            return body
        outliving += list(reaches.values()).count(_OUTLIVES)
        first = len(numbered) + 1
        numbered.extend(reaches)
        chosen = {first + k: one for k, one in enumerate(reaches)}
        in_turn = code.with_two_places(
            {
                number: one
                for number, one in chosen.items()
                if reaches[one] == _OUTLIVES and not one.is_array and code.begins_once(one)
            }
        )
        return code.told(chosen, in_turn)

    ptx = with_bodies(ptx, changed)
    notes = [
        f"// local {number} is {one.name or '?'} of line {one.line}"
        for number, one in enumerate(numbered, 1)
    ]
    return "\n".join([ptx, *notes, ""]) if notes else ptx, outliving


def variable_of_life(ptx: str, number: int) -> tuple[str, int] | None:
    """Return name and line of the variable whose end the machine met, None if it is not known."""
    return next(
        ((one[2], int(one[3])) for one in _NOTE.finditer(ptx) if int(one[1]) == number), None
    )


_STAYS, _IS_GIVEN, _OUTLIVES = range(3)
_FURTHEST = 1 << 20  # bytes of local memory
_ALIGN = 16  # bytes
_BLOCK = re.compile(r"(__local_depot\d+\[)(\d+)(\];)")
_BASE = re.compile(r"%SPL?\b")
_SETTINGS = re.compile(r"^\s*(?:\.reg|mov\.u64|cvta\.local\.u64)\b[^;]*;")


class _Code:
    """The lines of a function's body. starts: where its variables in local memory begin, as far as
    that is known, ascending; ends: where those of blocks end, by their start.
    """

    def __init__(self, lines: list[str], variables: list[ScopedVariable]):
        self.lines = lines
        own = {int(found[2]) for line in lines if (found := _ADDRESS.search(line))}
        self.variables = variables
        self.ends = {one.offset: one.offset + one.nbytes for one in variables}
        self.starts = sorted(own.union(self.ends))
        self.labels = {m[1]: k for k, line in enumerate(lines) if (m := _LABEL.match(line))}

    def _range(self, one: ScopedVariable) -> range | None:
        begin, end = (self.labels.get(label) for label in (one.begin, one.end))
        return range(begin, end) if begin is not None and end is not None else None

    def reach(self, one: ScopedVariable) -> int:
        """Return whether the address of a variable stays in the code of its block, is given to a
        function there, or goes further. It stays if the code of the block is not known exactly.
        """
        inside = self._range(one)
        if inside is None:
            return _STAYS
        bytes_of = range(one.offset, one.offset + one.nbytes)
        places = [
            (k, int(place[1] or place[2] or 0))
            for k, line in enumerate(self.lines)
            for place in _PLACE.finditer(line)
        ]
        if any(offset in bytes_of and k not in inside for k, offset in places):
            return _STAYS
        addresses = self._addresses(bytes_of)
        reach = _STAYS
        for k, line in enumerate(self.lines):
            kept, stored, given = (one.match(line) for one in (_KEPT, _STORED, _GIVEN))
            if kept is None and stored and not addresses.isdisjoint(_REGISTER.findall(stored[1])):
                return _OUTLIVES
            if k not in inside and not addresses.isdisjoint(_REGISTER.findall(line)):
                return _OUTLIVES
            if k not in inside and (own := _ADDRESS.search(line)) and self._holds(own, addresses):
                return _OUTLIVES
            if kept and kept[2] in addresses and self._is_of_outer_block(kept[1], inside):
                return _OUTLIVES
            if given and given[1] in addresses:
                reach = _IS_GIVEN
        return reach

    def _is_of_outer_block(self, place: str, inside: range) -> bool:
        """Return whether a place such as [%SP+8] is of a variable of a longer life than a block."""
        offset = int(place.strip("[]").partition("+")[2])
        for one in self.variables:
            code = self._range(one)
            if code is not None and one.offset <= offset < one.offset + one.nbytes:
                return code.start < inside.start or code.stop > inside.stop
        return False

    def _addresses(self, bytes_of: range) -> set[str]:
        """Return the registers and the places of local memory that may hold an address of these
        bytes of local memory.
        """
        addresses = {
            found[1]
            for line in self.lines
            if (found := _ADDRESS.search(line)) is not None and int(found[2]) in bytes_of
        }
        size = 0
        while size != len(addresses):
            size = len(addresses)
            for line in self.lines:
                if kept := _KEPT.match(line):
                    holder, values = kept[1], {kept[2]}
                elif loaded := _LOADED.match(line):
                    holder, values = loaded[1], {loaded[2]}
                elif result := _RESULT.match(line):
                    holder, values = result[1], set(_REGISTER.findall(result[2]))
                else:
                    continue
                if not addresses.isdisjoint(values):
                    addresses.add(holder)
        return addresses

    def _holds(self, own: re.Match[str], addresses: set[str]) -> bool:
        """Return whether the address that an instruction takes is of a variable that may hold one
        of the addresses.
        """
        start = int(own[2])
        end = self.ends.get(start) or next((one for one in self.starts if one > start), _FURTHEST)
        places = (int(one.strip("[]").partition("+")[2]) for one in addresses if one[0] == "[")
        return any(start <= place < end for place in places)

    def begins_once(self, one: ScopedVariable) -> bool:
        """Return whether each way into the code of a variable's block begins one life there: no
        instruction of the block leads to a label that others come to from outside.
        """
        inside = self._range(one)
        assert inside is not None
        from_outside: set[int] = set()
        from_inside: set[int] = set()
        for k, line in enumerate(self.lines):
            for label in _targets(line):
                to = self.labels.get(label)
                if to is not None and to in inside:
                    (from_inside if k in inside else from_outside).add(to)
        return not from_inside & {*from_outside, inside.start} and all(
            _ends_before(self.lines, to) for to in from_outside
        )

    def with_two_places(self, variables: dict[int, ScopedVariable]) -> dict[int, int]:
        """Let these variables, by their numbers, have a second place behind all others, and their
        code take the place of the life that has begun. Returns the offsets of the second places.

        There are none where an instruction names local memory in a way that is not known.
        """
        blocks = [k for k, line in enumerate(self.lines) if _BLOCK.search(line)]
        is_known = all(
            _PLACE.search(line) or _SETTINGS.match(line)
            for line in self.lines
            if _BASE.search(line)
        )
        if len(blocks) != 1 or not is_known:
            return {}
        found = _BLOCK.search(self.lines[blocks[0]])
        assert found is not None
        end, offsets = int(found[2]), {}
        for number, one in variables.items():
            inside = self._range(one)
            assert inside is not None
            end = offsets[number] = -(-end // _ALIGN) * _ALIGN
            end += one.nbytes
            for k in inside:
                self.lines[k] = _moved(self.lines[k], number, one)
        self.lines[blocks[0]] = _BLOCK.sub(rf"\g<1>{end}\g<3>", self.lines[blocks[0]])
        return offsets

    def told(self, variables: dict[int, ScopedVariable], in_turn: dict[int, int]) -> str:
        """Return the body with the calls for these variables, by their numbers; in_turn: the
        offsets of second places.
        """
        before: dict[int, list[str]] = {}  # the line that the calls stand before
        for number, one in variables.items():
            inside = self._range(one)
            assert inside is not None
            birth, death = (
                _calls(function, number, one, number in in_turn) for function in (LIFE, END_OF_LIFE)
            )
            if number in in_turn:
                birth = [
                    f"\tsub.u64 \t%place{number}, %both{number}, %place{number};",
                    f"\tcvta.local.u64 \t%generic{number}, %place{number};",
                    *birth,
                ]
            before.setdefault(inside.start + 1, []).extend(birth)
            for k, line in enumerate(self.lines):
                for label in _targets(line):
                    to = self.labels.get(label)
                    if to is not None and (k in inside) != (to in inside):
                        calls = birth if to in inside else death
                        there = before.setdefault(to + 1, [])
                        there += [] if calls[-2] in there else calls
            if not _ends_before(self.lines, inside.stop):
                before.setdefault(inside.stop, []).extend(death)
        lines = []
        for k, line in enumerate(self.lines):
            lines += before.get(k, [])
            lines.append(line)
        body = "\n".join(lines)
        start = "\n\t.reg .b64 \t%life, %number;"
        for number, second in in_turn.items():
            start += (
                f"\n\t.reg .b64 \t%place{number}, %generic{number}, %both{number};"
                f"\n\tadd.u64 \t%both{number}, %SPL, {variables[number].offset};"
                f"\n\tadd.u64 \t%place{number}, %SPL, {second};"
                f"\n\tadd.u64 \t%both{number}, %both{number}, %place{number};"
                f"\n\tcvta.local.u64 \t%generic{number}, %place{number};"
            )
        return START.sub(lambda m: m[0] + start, body)


def _moved(line: str, number: int, one: ScopedVariable) -> str:
    """Return an instruction that takes the variable where its life has begun."""
    place = _PLACE.search(line)
    offset = int(place[1] or place[2] or 0) - one.offset if place else -1
    if place is None or not 0 <= offset < one.nbytes:
        return line
    base = f"%place{number}" if "%SPL" in place[0] else f"%generic{number}"
    moved = re.sub(r"%SPL?(\+\d+)?\]", f"{base}+{offset}]", place[0])
    moved = re.sub(r"%SPL?, \d+;", f"{base}, {offset};", moved)
    return line.replace(place[0], moved)


def _targets(line: str) -> list[str]:
    table = _TABLE.search(line)
    return re.findall(r"\$[\w$]+", table[1]) if table else _BRANCH.findall(line)


def _ends_before(lines: list[str], stop: int) -> bool:
    """Return whether no control comes to a line from the instruction before it."""
    last = next(
        (
            line
            for line in reversed(lines[:stop])
            if line.strip() and not _LABEL.match(line) and not line.lstrip().startswith((".", "//"))
        ),
        "",
    )
    return _ENDS.match(last) is not None


def _calls(function: str, number: int, one: ScopedVariable, has_two_places: bool) -> list[str]:
    return [
        f"\tmov.u64 \t%life, %place{number};"
        if has_two_places
        else f"\tadd.u64 \t%life, %SPL, {one.offset};",
        f"\tmov.u64 \t%number, {min(number, LIVES) | one.nbytes << 8};",
        f"\tcall.uni {function}, (%life, %number);",
    ]
