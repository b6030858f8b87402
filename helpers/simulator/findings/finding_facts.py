"""What a launch knows of a finding: the thread and its access, the array and the element, and the
places in the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from helpers.limits import WARP

from ..machine import memory
from ..machine.arrays import ArrayName
from ..machine.library import Place, RawFinding
from ..program.module import Kernel
from ..program.progress import Progress, first_wait
from ..ptx.declarations import Variable
from .race_facts import (
    UNKNOWN,
    arrays_of,
    barriers_between,
    index_arrays,
    update_of,
    waits_plainly,
    whole_store,
)
from .words import Event, Phrase, Sentence

_MEANT = "meant"  # the machine knows the array that the address starts from
_ONE_WARP = "one warp"  # the machine saw this race only between threads of one warp
_FOR = re.compile(r"\bfor\s*\([^;]*;[^;]*;[^;]*?\)")
_INDEX = r"\s*\[(?:[^][;=]|\[[^][]*\])*\]"  # with one more inside, as in h[x[i]]
_BEFORE = re.compile(rf"(\+\+|--)\s*([A-Za-z_][\w.]*(?:{_INDEX})*)")  # ++h[k]
_UPDATED = re.compile(
    rf"(\(?\*?\s*[A-Za-z_][\w.]*(?:{_INDEX})*\)?)\s*(?:\+\+|--|[-+*/|&^]=|=(?!=))"
)
# Variables that are declared without a value: `float low, high;`
_UNSET = re.compile(
    r"\s*(?!return\b|delete\b|goto\b|typedef\b|using\b)(?:const |unsigned )*"
    r"[A-Za-z_][\w:]*(?:<[^;]*>)?[\s*]+([A-Za-z_][\w\s,*]*);\s*(?://.*)?"
)
_VERBS = {0: "reads", 1: "writes", 2: "updates"}
_ADDRESSES = 2**64
_NEAR = 2**32  # bytes; an index may lead so far away from the address in its pointer
_FAR = 2**36  # bytes; further than any int leads

# The header of cuda::memcpy_async that starts bulk copies.
_MEMCPY_ASYNC = "cp_async_bulk_shared_global.h"


class Kind(IntEnum):
    """The kinds of findings, as machine/findings.h numbers them."""

    OUT_OF_BOUNDS = 0
    MISALIGNED = 1
    RACE = 2
    UNINITIALISED = 3
    BARRIER_DIVERGENCE = 4
    BARRIER_EXITED = 5
    RUNAWAY = 6
    READ_ONLY = 7
    ROW_OVERRUN = 8
    INACTIVE_LANE = 9
    MASK_WITHOUT_SELF = 10
    MASK_MISMATCH = 11
    MASK_EXITED = 12
    WARP_DEADLOCK = 13
    ASSERTION = 14
    BARRIER_CALLERS = 15
    FAULT = 16
    LOCAL_OF_ANOTHER = 17
    STACK_OVERFLOW = 18
    WILD_CALL = 19
    ASYNC_READ = 20
    TRAP = 21
    NULL_POINTER = 22
    NO_DYNAMIC_SHARED = 23
    LOCAL_OVERRUN = 24
    ASYNC_PROXY = 25
    DEVICE_HEAP = 26
    HEAP_LEAK = 27
    OVERLAP = 28
    STACK_LIMIT = 29
    DEAD_LOCAL = 30
    INDEX_OVERFLOW = 31
    NEVER_SET = 32
    INT_SUM = 33
    DIVISION = 34
    PARTIAL_WARP = 35
    WRONG_FREE = 36
    LOST_MBARRIER = 37
    ENDLESS_MBARRIER = 38


@dataclass(frozen=True)
class Scene:
    """The parts of a launch that a description needs.

    arrays: by the machine's numbers; block: threads along x, y, z; pointers: addresses by parameter
    name; dynamic_names: the kernel's names for its dynamic shared memory; progress: how far the
    launch came; missed: where threads waited at barriers that others do not reach.
    """

    kernel: Kernel
    arrays: Mapping[int, ArrayName]
    block: tuple[int, int, int]
    pointers: Mapping[str, int] = field(default_factory=dict)
    dynamic_names: tuple[str, ...] = ()
    progress: Progress | None = None
    missed: tuple[Place, ...] = ()


class Description(NamedTuple):
    """What a finding says. event: what happened; causes: why, usually; name, at: an array and its
    index, if known.
    """

    event: Sentence
    causes: tuple[Sentence, ...]
    name: str | None = None
    at: int | tuple[int, ...] | None = None


class FindingFacts:
    """The facts of one finding of the machine.

    array, offset: what was accessed, if the launch has a name for it; bytes: how many; file, line:
    of the access.
    """

    def __init__(self, raw: RawFinding, scene: Scene):
        self.raw, self.scene, self.kernel = raw, scene, scene.kernel
        self.array, self.offset = scene.arrays.get(raw.region), raw.offset
        # No argument of this launch is this array, so it has no name.
        if self.array is None and raw.region:
            self.offset += memory.region_start(raw.region)
        self.file, self.line = self.kernel.places.place_of(raw.here.pc, raw.here.caller)
        self.source = self.kernel.module.text_of(self.file).splitlines()
        self.other_line: int | None = None
        self.bytes = int(raw.size)
        if raw.kind == Kind.OUT_OF_BOUNDS:
            if self.machine_text() != _MEANT:
                self._correct_guess()
            self._join_parts()

    # ---- places ----

    def line_of(self, place: Place) -> int:
        return self.kernel.places.place_of(place.pc, place.caller)[1]

    def text_of_line(self, line: int | None = None) -> str:
        """Return the text of a line, by default that of the access, "" if there is none."""
        number = self.line if line is None else line
        return self.source[number - 1] if 0 < number <= len(self.source) else ""

    def thread(self, place: Place) -> tuple[int, int, int]:
        x, y, _ = self.scene.block
        return (place.thread % x, place.thread // x % y, place.thread // (x * y))

    def access(self, event: Event, **facts: Any) -> Sentence:
        """Return an event of the access, with what it does and the number of its bytes."""
        return event(verb=_VERBS[self.raw.here.access], nbytes=self.bytes, **facts)

    def is_of_unknown_block(self, other: Place) -> bool:
        """Return whether only this is known of the other access: another block made it."""
        return other.block[0] == UNKNOWN

    def thread_of_block(self, other: Place) -> tuple[int, int, int] | None:
        """Return the thread of a place in the block of the access, None for any other place."""
        if self.is_of_unknown_block(other) or other.thread == UNKNOWN:
            return None
        is_of_block = tuple(self.raw.here.block) == tuple(other.block)
        return self.thread(other) if is_of_block else None

    def other_thread(self, other: Place, same_block: bool) -> Sentence:
        if self.is_of_unknown_block(other):
            return Phrase.OF_OTHER_BLOCK()
        if other.thread == UNKNOWN:
            return Phrase.ANOTHER_THREAD()
        thread = self.thread(other)
        if same_block:
            return Phrase.THREAD(thread=thread)
        return Phrase.THREAD_OF_BLOCK(thread=thread, block=tuple(other.block))

    # ---- arrays ----

    def _correct_guess(self) -> None:
        """Replace the machine's guess, the nearest array, by an array that the source line indexes
        on the access's side of `=`.
        """
        side = self.indexed_side()
        candidates = [
            a
            for a in self.scene.arrays.values()
            if a.start and re.search(rf"\b{re.escape(a.name)}\s*\[", side)
        ]
        if (
            candidates
            and self.array is not None
            and self.array.start
            and self.array not in candidates
        ):
            self.offset += self.array.start - candidates[0].start
            self.array = candidates[0]

    def _join_parts(self) -> None:
        """Let a part of a store that the compiler has split stand for the whole store."""
        parts = whole_store(self.kernel, int(self.raw.here.pc))
        if parts is not None and self.array is not None:
            before, self.bytes = parts
            self.offset -= before

    def side_of(self, line: int, is_stored: bool) -> str:
        """Return the part of a line that an access belongs to: a store is left of `=`, every other
        access right of it.
        """
        left, equals, right = re.sub(r"[=!<>]=", "  ", self.text_of_line(line)).rpartition("=")
        return left if equals and is_stored else right

    def indexed_side(self) -> str:
        return self.side_of(self.line, self.raw.here.access == 1)

    def address(self) -> int:
        """Return the address of the access, 0 if it is not known."""
        if self.array is None:
            return self.offset % _ADDRESSES
        return (self.array.start + self.offset) % _ADDRESSES if self.array.start else 0

    def known_array(self) -> ArrayName:
        assert self.array is not None
        return self.array

    def index(self) -> int | tuple[int, ...]:
        """Return the element that the access starts at: a tuple if the array has several axes."""
        array = self.known_array()
        flat = (self.offset - array.first_byte) // (array.element_bytes or self.bytes or 1)
        if len(array.extents) < 2 or not 0 <= self.offset < array.nbytes:
            return flat
        axes = []
        for extent in reversed(array.extents):
            axes.append(flat % extent)
            flat //= extent
        return tuple(reversed(axes))

    def element(self, otherwise: str | None = None) -> str:
        """Return the element as C writes it; otherwise: if the array is not known."""
        if self.array is None and otherwise is not None:
            return otherwise
        index, array = self.index(), self.known_array()
        if index == 0 and not array.extents and array.element_bytes and array.space != "global":
            return array.name  # a variable that is no array
        subscript = "".join(f"[{i}]" for i in index) if isinstance(index, tuple) else f"[{index}]"
        return f"{array.name}{subscript}"

    def at_element(self, event: Sentence, *causes: Sentence) -> Description:
        """Describe a finding at the accessed element."""
        if self.array is None:
            return Description(event, causes)
        return Description(event, causes, self.array.name, self.index())

    def extern_array(self, pc: int) -> Variable | None:
        """Return the `extern __shared__` array that an instruction accesses, None if it is not
        known.
        """
        program = self.kernel.program
        number = int(program.shared_name_of[pc])
        if not 0 < number <= len(program.shared_names):
            return None
        return self.kernel.module.variables.get(program.shared_names[number - 1])

    def byte_of_element(self) -> int:
        """Return the byte of its element at which the access starts, 0 for its first one."""
        array = self.known_array()
        return (self.offset - array.first_byte) % (array.element_bytes or 1)

    def bytes_past_end(self) -> int:
        """Return how many bytes lie past the end of the array, of an access that starts inside."""
        array = self.known_array()
        is_inside = 0 <= self.offset < array.nbytes
        return max(self.offset + self.bytes - array.nbytes, 0) if is_inside else 0

    def extent(self) -> Sentence:
        array = self.known_array()
        name, element = array.name, array.element
        if len(array.extents) > 1:
            extents = "".join(f"[{extent}]" for extent in array.extents)
            return Phrase.AXES(name=name, element=element, extents=extents)
        if not array.extents and array.element_bytes and array.space != "global":
            return Phrase.VARIABLE(name=name, element=element)
        return elements_of(name, array.nbytes // (array.element_bytes or self.bytes or 1))

    def wraps_as_short(self, index: int) -> bool:
        """Return whether an index far below 0 is one of the upper half of 16 bits, in a file that
        declares a short: counted as a short, it has turned negative.
        """
        return -(2**15) <= index < -(2**8) and any(
            re.search(r"\bshort\b|\bint16_t\b", text) for text in self.source
        )

    def local_name(self, *, described: bool = False) -> str | None:
        """Return the local array of the access if the source line indexes exactly one; described:
        look only for arrays that the compiler describes.
        """
        names = {v.name for v in self.kernel.compiled.debug.variables if v.space == "local"}
        named_arrays = {array.name for array in self.scene.arrays.values()} | set(
            self.scene.pointers
        )
        for text in (self.indexed_side(), self.text_of_line()):
            indexed = set(re.findall(r"\b([A-Za-z_]\w*)\s*\[", text))
            for candidates in (indexed & names, set() if described else indexed - named_arrays):
                if len(candidates) == 1:
                    return candidates.pop()
        return None

    def unset_name(self) -> str | None:
        """Return the variable of the source line that its function declares without a value, if
        there is exactly one.
        """
        words = re.compile(r"\b[A-Za-z_]\w*\b").findall
        declared: set[str] = set()
        unnamed: set[str] = set()  # since their declaration: nothing can have set them
        for line in self.source[(self.kernel.line or 1) - 1 : self.line - 1]:
            unnamed.difference_update(words(line))
            if (found := _UNSET.fullmatch(line)) is not None:
                declared.update(words(found[1]))
                unnamed.update(words(found[1]))
        here = set(words(self.text_of_line()))
        for unset in (declared & here, unnamed & here):
            if len(unset) == 1:
                return unset.pop()
        return None

    def is_of_unsigned(self) -> bool:
        """Return whether an access takes unsigned numbers, which may wrap, for ints."""
        is_declared = self.array is not None and re.search(r"\bu(nsigned|int)", self.array.element)
        return bool(is_declared) or re.search(r"\bint\s*\*\s*[>)]", self.text_of_line()) is not None

    # ---- pointers ----

    def dead_pointer(self) -> str | None:
        """Return a parameter that points to no array, if the source line has its name and the
        address lies behind it.
        """
        for name, pointer in self.scene.pointers.items():
            lies_behind = pointer and 0 <= self.address() - pointer < _NEAR
            is_dead = lies_behind and memory.region(pointer) is None
            if is_dead and re.search(rf"\b{re.escape(name)}\b", self.text_of_line()):
                return name
        return None

    def is_far(self) -> bool:
        """Return whether no index leads from the array to the access: its pointer comes from
        elsewhere, and the array is only the nearest one. Where the code computes the address from
        the array, an index leads there, however large.
        """
        is_nearest = self.known_array().space != "shared" and self.machine_text() != _MEANT
        return is_nearest and abs(self.offset) > _FAR

    def is_guess(self) -> bool:
        """Return whether the array is only the nearest one, and the line does not index it."""
        name = re.escape(self.known_array().name)
        is_indexed = re.search(rf"\b{name}\s*\[", self.text_of_line()) is not None
        return self.machine_text() != _MEANT and not is_indexed

    def source_of_index(self) -> str | None:
        """Return the array from which the kernel loads the index of the access, as the line writes
        the element where it does; None if there is not exactly one.
        """
        offsets = index_arrays(self.kernel, int(self.raw.here.pc))
        names = {p.name for p in self.kernel.parameters if p.is_pointer and p.offset in offsets}
        if len(names) != 1 or len(offsets) != 1:
            return None
        name = names.pop()
        elements = set(re.findall(rf"\b{re.escape(name)}{_INDEX}", self.text_of_line()))
        return elements.pop() if len(elements) == 1 else name

    def pointing_into(self, start: int, nbytes: int) -> list[str]:
        """Return the parameters whose addresses lie in these bytes and in no live array."""
        parameters = (
            name
            for name, address in self.scene.pointers.items()
            if start <= address < start + nbytes
        )
        return [name for name in parameters if memory.region(self.scene.pointers[name]) is None]

    # ---- races ----

    def is_in_one_warp(self) -> bool:
        """Return whether only threads of one warp race."""
        return self.machine_text() == _ONE_WARP or self.is_block_of_one_warp()

    def is_block_of_one_warp(self) -> bool:
        x, y, z = self.scene.block
        return x * y * z <= WARP

    def dynamic_pair(self) -> tuple[str, str] | None:
        """Return the two names by which two threads access the same bytes of dynamic shared memory:
        those of two `extern __shared__` arrays, or of pointers into one. Return None if a line does
        not show exactly one.
        """
        array, arrays = self.array, set(self.scene.dynamic_names)
        if array is None or not arrays.issuperset(array.name.split("/")):
            return None
        declared = set(re.findall(r"\*\s*(\w+)\s*=", "\n".join(self.source))) | arrays
        lines = ((self.raw.other, self.other_line or 0), (self.raw.here, self.line))
        sides = [self.side_of(line, place.access == 1) for place, line in lines]
        names = [declared & set(re.findall(r"\b([A-Za-z_]\w*)\s*\[", one)) for one in sides]
        if any(len(one) != 1 for one in names) or names[0] == names[1]:
            return None
        return names[0].pop(), names[1].pop()

    def one_memory(self) -> tuple[str, str] | None:
        """Return the pointer that a thread reads and the one that another thread writes, if the
        launch gives both the same memory; None if they are one pointer.
        """
        here, other = self.raw.here, self.raw.other
        read, written = (here, other) if here.access == 0 else (other, here)
        roots = arrays_of(self.kernel, int(read.pc), int(written.pc))
        if len(roots) != 2 or roots[0] == roots[1]:
            return None
        named = {p.offset: p.name for p in self.kernel.parameters if p.is_pointer}
        names = [named.get(root) for root in roots if isinstance(root, int)]
        known = [name for name in names if name is not None]
        return (known[0], known[1]) if len(known) == 2 else None

    def waiting_line(self) -> int | None:
        """Return the line of the loop that waits for the race's other side by a plain load."""
        for place, line in ((self.raw.here, self.line), (self.raw.other, self.other_line)):
            if place.access == 0 and waits_plainly(self.kernel, int(place.pc)):
                return line
        return None

    def line_of_wait(self) -> int | None:
        """Return the line of the kernel's first loop that waits for another thread, None if there
        is none.
        """
        pc = first_wait(self.kernel)
        return self.kernel.places.line_of(pc) or None if pc is not None else None

    def update(self) -> tuple[str, str] | None:
        """Return the element that two threads update, and the atomic function that does it: for
        `h[k]++` and `s[0] += x[t]`, but not for `s[t] += s[t + 1]`, which reads the elements of
        other threads.

        The code says whether it is an update, and the source line how to write the element.
        """
        found = update_of(self.kernel, int(self.raw.here.pc), int(self.raw.other.pc))
        if self.array is None or found is None:
            return None
        if (element := self._updated_element()) is None:
            return self.element(), f"{found.function}(...)"
        is_pointer = element.lstrip("( ").startswith("*")
        text = element.strip(" *()") if is_pointer else element
        return text, f"{found.function}({'' if is_pointer else '&'}{text}, ...)"

    def _updated_element(self) -> str | None:
        """Return the element of the array that the source line updates, as it writes it."""
        if self.line != self.other_line:
            return None
        text = _BEFORE.sub(r"\2\1", _FOR.sub("", self.text_of_line()))
        name = re.escape(self.known_array().name.split(".")[0])
        found = (one.strip() for one in _UPDATED.findall(text))
        return next((one for one in found if re.match(rf"\(?[\s*]*{name}\b", one)), None)

    # ---- barriers and warp operations ----

    def missed_between(self) -> tuple[int, ...]:
        """Return the lines of the barriers that not all threads reach, and of the calls that lead
        there, where such a barrier stands between the two accesses of a race.
        """
        here, other = self.raw.here, self.raw.other
        if tuple(here.block) != tuple(other.block):
            return ()
        places = {int(place.pc): place for place in self.scene.missed}
        lines: set[int] = set()
        for pc in barriers_between(self.kernel, self.raw, places):
            lines.update((self.line_of(places[pc]), *self.calls(places[pc])))
        return tuple(sorted(lines))

    def calls(self, place: Place) -> tuple[int, ...]:
        """Return the known lines of the calls that lead to a barrier, outer calls first."""
        outer = self.kernel.places.calls_to(place.caller - 1) if place.caller else ()
        return (*outer, *self.kernel.places.calls_around(place.pc))

    def is_one_barrier(self) -> bool:
        """Return whether two barriers are one in the source, and the compiler copied it, for
        example in an unrolled loop.
        """
        here, other = self.raw.here, self.raw.other
        return self.line_of(here) == self.line_of(other) and self.calls(here) == self.calls(other)

    def is_copy_of_library(self) -> bool:
        """Return whether cuda::memcpy_async signals a cuda::barrier. NVIDIA's own headers put no
        fence between the two, and ask for none.
        """
        if self.machine_text() != "mbarrier":
            return False
        here = self.raw.here
        calls = [here.pc, here.caller - 1] if here.caller else [here.pc]
        files: set[str] = set().union(*(self.kernel.places.files_of(pc) for pc in calls))
        return any(Path(file).name == _MEMCPY_ASYNC for file in files)

    # ---- what the machine says ----

    def machine_text(self) -> str:
        return self.raw.text.decode(errors="replace")


def elements_of(name: str, count: int) -> Sentence:
    """Return what an array of one axis holds."""
    if count == 1:
        return Phrase.ONE_ELEMENT(name=name)
    return Phrase.ELEMENTS(name=name, count=count, last=count - 1)
