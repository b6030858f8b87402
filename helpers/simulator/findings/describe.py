"""Describes the machine's findings: the thread, its access, the array, the line, and the usual
cause. The words are those of words.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from ..machine import memory
from ..machine.arrays import ArrayName
from ..machine.library import Place, RawFinding
from ..program.module import Kernel
from ..ptx import lifetimes, overflows
from .barriers import BarrierFindings
from .endings import EndingFindings
from .finding_facts import Description, Kind, Scene
from .findings import Finding, finding_of_launch
from .words import Cause, Event, Phrase, Sentence

_WARNINGS = (
    Kind.BARRIER_EXITED,
    Kind.MASK_EXITED,
    Kind.HEAP_LEAK,
    Kind.STACK_LIMIT,
    Kind.INT_SUM,
)
_MISSED = (Kind.BARRIER_DIVERGENCE, Kind.BARRIER_EXITED, Kind.WARP_DEADLOCK)
ATOMIC = 2  # Place.access
_UNORDERED = "no barrier"  # the machine's text where none is between a copy and an access
_PAST = {0: "read", 1: "wrote", 2: "updated"}


def describe_finding(raw: RawFinding, scene: Scene) -> Finding | None:
    """Return the machine's finding, None if a second look shows that it is no fault."""
    describer = _Describer(raw, scene)
    if raw.kind == Kind.BARRIER_CALLERS and describer.is_one_barrier():
        return None
    if raw.kind == Kind.INT_SUM and describer.is_of_unsigned():
        return None
    if raw.kind == Kind.ASYNC_PROXY and describer.is_copy_of_library():
        return None
    return describer.finding()


def missed_barriers(kernel: Kernel, findings: Iterable[RawFinding]) -> tuple[Place, ...]:
    """Return the places of the barriers at which threads wait for others that do not come."""
    places = (place for one in findings if one.kind in _MISSED for place in (one.here, one.other))
    return tuple(one for one in places if kernel.operation_at(one.pc).startswith("bar."))


def describe_unwritten(
    kernel, array: ArrayName | None, first: int, missing: int, nbytes: int, pc: int
) -> Finding:
    """Describe an array with `missing` unwritten bytes, the first at `first`; pc: 1 + the index of
    a store to it, 0 if there was none.
    """
    width, name, before = (
        (array.element_bytes or 1, array.name, array.first_byte) if array else (1, "an output", 0)
    )
    line = 0
    event, cause = Event.NOTHING_WRITTEN(kernel=kernel.name, name=name), Cause.NO_STORE()
    if pc:
        file, line = kernel.places.place_of(pc - 1)
        line = line if file == kernel.module.compiled.file else 0
        event = Event.UNWRITTEN(
            kernel=kernel.name,
            name=name,
            unit="elements" if width > 1 else "bytes",
            missing_count=-(-missing // width),
            total=(nbytes - before) // width,
        )
        cause = Cause.UNCOVERED()
    about, index = name if array else None, (first - before) // width
    return finding_of_launch(
        "unwritten", event, cause, kernel, line, "warning", array=about, index=index
    )


class _Describer(BarrierFindings, EndingFindings):
    """A finding as data: one method for each kind."""

    def finding(self) -> Finding:
        kind, (event, causes, name, index) = self.described()
        lines = dict.fromkeys(n for n in (self.other_line, self.line) if n)
        is_race = kind == "race"
        return Finding(
            kind,
            event,
            Path(self.file).name,
            self.line,
            self.thread(self.raw.here),
            tuple(self.raw.here.block),
            name,
            index,
            severity="warning" if self.raw.kind in _WARNINGS else "error",
            causes=causes,
            other_line=self.other_line,
            count=self.raw.count,
            source_lines={n: self.source[n - 1].strip() for n in lines if n <= len(self.source)},
            missed_barriers=self.missed_between() if is_race else (),
            other_thread=self.thread_of_block(self.raw.other) if is_race else None,
            accesses=(int(self.raw.here.pc), *([int(self.raw.other.pc)] if is_race else ())),
        )

    def described(self) -> tuple[str, Description]:
        """Return the kind that a reader sees, and what is to be said."""
        kind = Kind(self.raw.kind)
        if kind in _KINDS:
            seen, described = _KINDS[kind]
            return seen, described(self)
        seen, event, cause = _PLAIN[kind]
        raw = self.raw
        reported = {
            "lane": raw.offset, "mask": int(raw.size), "nbytes": self.bytes,
            "other": self.thread(raw.other), "text": self.machine_text(),
        }  # fmt: skip
        facts = {name: fact for name, fact in reported.items() if name in event.facts}
        return seen, Description(event(**facts), (cause(),))

    # ---- accesses ----

    def out_of_bounds(self) -> Description:
        freed = memory.freed_at(self.address()) if self.address() else None
        if freed is not None and (
            self.array is None or self.is_guess() or self.pointing_into(*freed[:2])
        ):
            return self.use_after_free(*freed)
        if (wild := self.dead_pointer()) is not None or self.array is None or self.is_far():
            return self.wild_pointer(wild)
        element, extent = self.element(), self.extent()
        if past := self.bytes_past_end():
            event = self.access(Event.PAST_END, element=element, extent=extent, past=past)
        elif self.bytes == (self.array.element_bytes or self.bytes):
            event = self.access(Event.OUT_OF_BOUNDS, element=element, extent=extent)
        else:
            event = self.access(Event.PART_OUT_OF_BOUNDS, element=element, extent=extent)
        causes = self.causes_of_index(self.index()) or self.causes_outside(self.array)
        return self.at_element(event, *causes)

    def causes_of_index(self, index: int | tuple[int, ...]) -> tuple[Sentence, ...]:
        """Return the cause of an index that has left the range of its type, () for any other."""
        if not isinstance(index, int):
            return ()
        if 2**31 <= index < 2**32:
            return (Cause.AS_UNSIGNED(meant=index - 2**32),)
        if -(2**31) <= index < -(2**27):
            return (Cause.AS_INT(meant=index + 2**32),)
        if self.wraps_as_short(index):
            return (Cause.AS_SHORT(meant=index + 2**16),)
        return ()

    def causes_outside(self, array: ArrayName) -> tuple[Sentence, ...]:
        """Return the cause of an access outside an array, by the place where that lies."""
        if self.kernel.operation_at(self.raw.here.pc).startswith("wmma"):
            return (Cause.TILE_DISTANCE(),)
        if causes := self.causes_of_source():
            return causes
        if array.name in self.scene.dynamic_names:
            return self.causes_of_little_shared()
        if memory.rows_of(array.start) is not None:
            return (Cause.PITCH(),)
        return (Cause.GUARD() if array.space == "global" else Cause.TOO_SMALL(),)

    def causes_of_source(self) -> tuple[Sentence, ...]:
        """Return the cause of an index that comes from an array, () for any other."""
        source = self.source_of_index()
        return () if source is None else (Cause.INDEX_OF_ARRAY(source=source),)

    def causes_of_little_shared(self) -> tuple[Sentence, ...]:
        """Return the cause of an access past the dynamic shared memory."""
        array = self.known_array()
        given, width, (x, y, z) = array.nbytes, array.element_bytes, self.scene.block
        cause = Cause.LITTLE_SHARED(given=given)
        if given == x * y * z and width > 1:
            return cause, Cause.SHARED_IN_BYTES(given=given, width=width, needed=given * width)
        return cause, Cause.SHARED_FOR_ALL()

    def wild_pointer(self, name: str | None) -> Description:
        event = Event.DEAD_POINTER if name else Event.WILD_POINTER
        return Description(self.access(event, address=self.address()), (Cause.NO_ARRAY(),), name)

    def use_after_free(self, start: int, nbytes: int, file: str, line: int) -> Description:
        names = self.pointing_into(start, nbytes)
        name = names[0] if len(names) == 1 else None
        event = self.access(
            Event.FREED_ARRAY,
            what=Phrase.NAMED_ARRAY() if name else Phrase.AN_ARRAY(),
            size=nbytes,
            origin=Phrase.ALLOCATED(file=Path(file).name, line=line) if file else Phrase.NONE(),
        )
        return Description(event, (Cause.FREED(),), name)

    def null_pointer(self) -> Description:
        nulls = [name for name, address in self.scene.pointers.items() if address == 0]
        text = self.text_of_line()
        nulls = [name for name in nulls if re.search(rf"\b{re.escape(name)}\b", text)] or nulls
        name, size = nulls[0] if len(nulls) == 1 else None, self.raw.size
        event = self.access(
            Event.NULL_POINTER,
            address=self.raw.offset,
            pointer=Phrase.NAMED_NULL_POINTER() if name else Phrase.NULL_POINTER(),
        )
        cause = Cause.NULL()
        if not nulls and any(re.search(r"\b(?:malloc|new)\b", row) for row in self.source):
            cause = Cause.HEAP_FULL()
        if not nulls and any("curandStateMtgp32" in row for row in self.source):
            cause = Cause.MTGP32()
        index = self.raw.offset // size if name and size else None
        return Description(event, (cause,), name, index)

    def device_heap(self) -> Description:
        state, nbytes = self.machine_text().split()
        if state == "freed":
            event = self.access(Event.HEAP_FREED, size=int(nbytes))
            return Description(event, (Cause.HEAP_FREED(),))
        event = self.access(Event.HEAP_LEFT, at=self.raw.offset, size=int(nbytes))
        return Description(event, (Cause.HEAP_IN_BYTES(),))

    def no_dynamic_shared(self) -> Description:
        name = "/".join(self.scene.dynamic_names) or None
        what = Phrase.NAMED() if name else Phrase.NONE()
        event = self.access(Event.NO_DYNAMIC_SHARED, what=what)
        return Description(event, (Cause.NO_SHARED(),), name)

    def overlap(self) -> Description:
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        read, written = (self.extern_array(int(place.pc)) for place in (here, other))
        if read is None or written is None:
            return Description(self.access(Event.OVERLAP), ())
        index, there = (self.offset // (one.element_bytes or 1) for one in (read, written))
        event = self.access(
            Event.NAMED_OVERLAP,
            other=self.other_thread(other, True),
            written=written.name,
            at=there,
        )
        cause = self.cause_of_one_address(read.name, written.name)
        return Description(event, (cause,), read.name, index)

    def cause_of_one_address(self, first: str, second: str) -> Sentence:
        """Return the cause of a fault between two `extern __shared__` arrays."""
        known = {v.name: v.element for v in self.kernel.dynamic}
        element = known.get(second) or "float"
        return Cause.ONE_ADDRESS(first=first, second=second, element=element)

    def row_overrun(self) -> Description:
        axis = self.kernel.axis_at(self.raw.here.pc)
        index, name = self.raw.offset, axis.name
        wraps = 2**31 <= index < 2**32  # as threadIdx.x - 1 does, which is unsigned
        signed = Phrase.SIGNED(signed=index - 2**32) if wraps else Phrase.NONE()
        if len(axis.extents) == 1:
            count = axis.extents[0]
            extent = Phrase.ELEMENTS(name=name, count=count, last=count - 1)
            event, cause = Event.ROW_LEFT(signed=signed, extent=extent), Cause.TOO_SMALL()
        else:
            extents = "".join(f"[{extent}]" for extent in axis.extents[axis.axis :])
            declared = f"{axis.element} {extents}".strip()
            event, cause = Event.AXIS_LEFT(signed=signed, declared=declared), Cause.NEXT_ROW()
        return Description(event, (cause, *self.causes_of_source()), name, index)

    def local_overrun(self) -> Description:
        name = self.local_name()
        is_inside = self.machine_text() == "gap"
        event = self.access(
            Event.LOCAL_LEFT if is_inside else Event.LOCAL_MEMORY_LEFT,
            what=Phrase.NAMED_LOCAL_ARRAY() if name else Phrase.LOCAL_ARRAY(),
        )
        return Description(event, (Cause.LOCAL_TOO_SMALL(),), name)

    def local_of_another(self) -> Description:
        if self.local_name(described=True) is not None:
            return self.local_overrun()
        event = self.access(Event.LOCAL_OF_ANOTHER, lane=self.raw.offset)
        return Description(event, (Cause.LOCAL_IS_PRIVATE(),))

    def index_overflow(self) -> Description:
        exact, compiled = self.raw.offset, self.kernel.compiled
        names = {
            array.name
            for array in self.scene.arrays.values()
            if re.search(rf"\b{re.escape(array.name)}\s*\[[^]]*\*", self.text_of_line())
        }
        name = names.pop() if len(names) == 1 else None
        number = Phrase.INDEX_OF() if name else Phrase.INDEX()
        line = int(self.kernel.program.ptx_lines[int(self.raw.here.pc)])
        if compiled.ptx.split("\n")[line - 1].endswith(overflows.VALUE):
            name, number = None, Phrase.NUMBER()
        wrapped = (exact + 2**31) % 2**32 - 2**31
        event = Event.INDEX_OVERFLOW(number=number, wrapped=wrapped)
        return Description(event, (Cause.OVERFLOWN(),), name, exact)

    def int_sum(self) -> Description:
        element, total = self.element("an array"), int(self.machine_text())
        return self.at_element(Event.INT_SUM(element=element, total=total), Cause.SUM_OVERFLOWN())

    def dead_local(self) -> Description:
        known = lifetimes.variable_of_life(self.kernel.compiled.ptx, self.raw.offset)
        if known is None:
            event, name = self.access(Event.DEAD_LOCAL), None
        else:
            name, line = known
            event = self.access(Event.NAMED_DEAD_LOCAL, declared=line)
        return Description(event, (Cause.ENDED_BLOCK(it=name or "it"),), name)

    def misaligned(self) -> Description:
        size, array = self.raw.size, self.array
        is_local = array is not None and array.space == "local"
        name = self.local_name() if is_local else None
        if is_local:
            at = Phrase.AT_LOCAL(what=name or "a local variable")
        elif array is not None and (shift := self.byte_of_element()):
            at = Phrase.FROM_BYTE(shift=shift, element=self.element())
        else:
            at = Phrase.AT(element=self.element(f"address {self.address():#x}"))
        event = self.access(Event.MISALIGNED, at=at)
        is_vector = array is None or (not is_local and size > array.element_bytes)
        what = "vector" if is_vector else "value"
        causes: tuple[Sentence, ...] = (Cause.ALIGNMENT(what=what, nbytes=self.bytes),)
        if self.kernel.operation_at(self.raw.here.pc).startswith("ldmatrix"):
            causes = (Cause.ALIGNED_ROWS(),)
        elif array is not None and array.name in self.scene.dynamic_names:
            causes = (*causes, Cause.ALIGNED_SHARED())
        return Description(event, causes, name) if is_local else self.at_element(event, *causes)

    def read_only(self) -> Description:
        cause = Cause.CONSTANT_OF_HOST()
        if self.array is None:
            return Description(self.access(Event.CONSTANT_MEMORY), (cause,))
        return self.at_element(Event.READ_ONLY(element=self.element()), cause)

    def uninitialised(self) -> Description:
        if self.array is None and self.raw.region:
            return Description(self.access(Event.UNSET_HEAP), (Cause.HEAP_LEFTOVERS(),))
        if self.array is None or self.array.space == "local":
            return self.unset_local()
        element = self.element()
        if self.array.space == "constant":
            event = self.access(Event.UNSET_CONSTANT, element=element)
            return self.at_element(event, Cause.UNSET_CONSTANT())
        if self.array.space == "shared":
            return self.at_element(self.access(Event.UNSET, what=element), Cause.SHARED_LEFTOVERS())
        event = self.access(Event.UNSET, what=self.part_of(element))
        if (missing := self.unwritten_bytes()) is not None:
            event = self.access(Event.UNSET_PART, what=self.part_of(element), missing_bytes=missing)
        return self.at_element(event, self.cause_of_unfilled())

    def unset_local(self) -> Description:
        name = self.local_name() or self.unset_name()
        if name is None and self.text_of_line().strip().startswith("}"):
            return Description(Event.NO_RETURN_VALUE(), (Cause.NO_RETURN(),))
        event = self.access(Event.UNSET, what=name or "a local variable")
        return Description(event, (Cause.LOCAL_LEFTOVERS(),), name)

    def part_of(self, element: str) -> str | Sentence:
        """Return the bytes of an element that the access reads, if they are not all of it."""
        array, size = self.known_array(), self.raw.size
        at = (self.offset - array.first_byte) % (array.element_bytes or 1)
        if not 0 < size < array.element_bytes:
            return element
        return Phrase.BYTES_OF(first=at, last=at + size - 1, element=element)

    def unwritten_bytes(self) -> int | None:
        """Return how many bytes at the end of the access nothing has written, None if it is all of
        them.
        """
        first = memory.first_unwritten(self.address(), self.raw.size) if self.address() else None
        return self.raw.size - first if first else None

    def cause_of_unfilled(self) -> Sentence:
        """Return the cause of a read of global memory that nothing has written."""
        array = self.known_array()
        if (rows := memory.rows_of(array.start)) is not None:
            width, pitch = rows
            if self.offset % pitch >= width:
                return Cause.BETWEEN_ROWS(width=width, pitch=pitch)
        if self.unwritten_bytes() is not None:
            return Cause.OTHER_TYPE()
        if self.raw.here.access == ATOMIC:
            return Cause.UPDATED_LEFTOVERS()
        if memory.written(array.start, array.nbytes):
            return Cause.UNFILLED_ARRAY()
        return Cause.EMPTY_ARRAY()

    def never_set(self) -> Description:
        event = self.access(Event.NEVER_SET, element=self.element())
        return self.uninitialised()._replace(event=event)

    # ---- races ----

    def race(self) -> Description:
        here, other = self.raw.here, self.raw.other
        at = Phrase.NONE()
        if not self.is_of_unknown_block(other):  # otherwise the place is one of this block
            self.other_line, at = self.line_of(other), Phrase.AT_LINE()
        same_block = tuple(here.block) == tuple(other.block)
        event = self.access(
            Event.RACE if same_block else Event.RACE_OF_BLOCKS,
            element=self.element("the same bytes"),
            other=self.other_thread(other, same_block),
            did=_PAST[other.access],
            at=at,
        )
        return self.at_element(event, self.cause_of_race(same_block))

    def cause_of_race(self, same_block: bool) -> Sentence:
        if (names := self.one_memory()) is not None:
            return Cause.ONE_MEMORY(read=names[0], written=names[1])
        if (lock := int(self.raw.here.reason)) != 0:
            return self.cause_of_unfenced_lock(lock - 1, same_block)
        if (update := self.update()) is not None:
            element, atomic = update
            is_same = not same_block and self.raw.here.thread == self.raw.other.thread
            instead = (Phrase.OWN_ELEMENT_OF_BLOCKS if is_same else Phrase.OWN_ELEMENT)()
            return Cause.UPDATED(element=element, atomic=atomic, instead=instead)
        return self.cause_in_block() if same_block else self.cause_between_blocks()

    def cause_between_blocks(self) -> Sentence:
        if (line := self.waiting_line()) is not None:
            return self.cause_of_plain_wait(line, "block", "__threadfence()")
        if self.raw.here.access == self.raw.other.access == ATOMIC:
            return Cause.ATOMIC_OF_BLOCK()
        return Cause.ANY_ORDER()

    def cause_in_block(self) -> Sentence:
        if (names := self.dynamic_pair()) is not None:
            first, second = names
            if set(names) <= set(self.scene.dynamic_names):
                return self.cause_of_one_address(first, second)
            return Cause.OVERLAPPING_PARTS(first=first, second=second)
        if (line := self.waiting_line()) is not None:
            return self.cause_of_plain_wait(line, "thread", "__threadfence_block()")
        progress, array = self.scene.progress, self.array
        if array and array.space == "global" and progress and progress.blocks > 1:
            return Cause.NO_BARRIER_FOR_BLOCKS()
        if self.is_block_of_one_warp():
            return Cause.NO_BARRIER_OF_ONE_WARP()
        if self.is_in_one_warp():
            return Cause.NO_BARRIER_OF_WARP()
        if (line := self.line_of_wait()) is not None:
            return Cause.WAITED_FOR(wait=line)
        return Cause.NO_BARRIER()

    def cause_of_plain_wait(self, line: int, whom: str, fence: str) -> Sentence:
        what = self.array.name if self.array is not None else "it"
        return Cause.PLAIN_WAIT(wait=line, what=what, whom=whom, fence=fence)

    def cause_of_unfenced_lock(self, lock: int, same_block: bool) -> Sentence:
        line = self.kernel.places.line_of(lock)
        where = f"line {line}" if line else "an atomic function"
        progress, array = self.scene.progress, self.array
        is_shared = array is not None and array.space == "shared"
        if same_block and (is_shared or progress is None or progress.blocks == 1):
            return Cause.UNFENCED_LOCK(where=where, fence="__threadfence_block()")
        if fence := int(self.raw.other.reason):
            line = self.kernel.places.line_of(fence - 1)
            return Cause.FENCE_OF_BLOCK_AT_LOCK(fence=line, where=where)
        return Cause.UNFENCED_LOCK(where=where, fence="__threadfence()")

    # ---- copies ----

    def async_read(self) -> Description:
        element, text = self.element("shared memory"), self.machine_text()
        if text and text != _UNORDERED:
            bulk = Event.BULK_COPY(element=element, event=text)
            is_filled = self.raw.here.access == 1
            why = Cause.UNAWAITED_BULK_COPY if is_filled else Cause.BULK_COPY_OUT
            return self.at_element(bulk, why())
        self.other_line = self.line_of(self.raw.other)
        event, cause = Event.COPY_UNFINISHED, Cause.UNAWAITED_COPY
        if self.raw.other.access == 0:
            event, cause = Event.COPY_STILL_READS, Cause.BULK_COPY_OUT
        elif "bulk" in self.kernel.operation_at(self.raw.other.pc):
            cause = Cause.UNAWAITED_BULK_COPY
        elif text == _UNORDERED:
            event, cause = Event.COPY_OVERTAKES, Cause.OVERTAKING_COPY
        return self.at_element(self.access(event, element=element), cause())

    def async_proxy(self) -> Description:
        self.other_line = self.line_of(self.raw.other)
        event, cause = Event.UNSEEN_STORE, Cause.UNFENCED_STORE
        if self.machine_text() == "mbarrier":
            event, cause = Event.UNSEEN_MBARRIER, Cause.UNFENCED_MBARRIER
        return self.at_element(event(element=self.element("shared memory")), cause())


# By the machine's kind: the kind that a reader sees, and the method that describes it.
_KINDS: dict[Kind, tuple[str, Callable[[_Describer], Description]]] = {
    Kind.OUT_OF_BOUNDS: ("out-of-bounds", _Describer.out_of_bounds),
    Kind.MISALIGNED: ("misaligned", _Describer.misaligned),
    Kind.RACE: ("race", _Describer.race),
    Kind.UNINITIALISED: ("uninitialised", _Describer.uninitialised),
    Kind.BARRIER_DIVERGENCE: ("barrier", _Describer.divergence),
    Kind.BARRIER_EXITED: ("barrier", _Describer.exited),
    Kind.RUNAWAY: ("runaway", _Describer.runaway),
    Kind.READ_ONLY: ("out-of-bounds", _Describer.read_only),
    Kind.ROW_OVERRUN: ("out-of-bounds", _Describer.row_overrun),
    Kind.MASK_MISMATCH: ("mask", _Describer.mask_mismatch),
    Kind.WARP_DEADLOCK: ("barrier", _Describer.warp_deadlock),
    Kind.BARRIER_CALLERS: ("barrier", _Describer.callers),
    Kind.PARTIAL_WARP: ("fault", _Describer.partial_warp),
    Kind.ENDLESS_MBARRIER: ("fault", _Describer.endless_mbarrier),
    Kind.LOCAL_OF_ANOTHER: ("out-of-bounds", _Describer.local_of_another),
    Kind.WILD_CALL: ("fault", _Describer.wild_call),
    Kind.ASYNC_READ: ("race", _Describer.async_read),
    Kind.NULL_POINTER: ("out-of-bounds", _Describer.null_pointer),
    Kind.NO_DYNAMIC_SHARED: ("out-of-bounds", _Describer.no_dynamic_shared),
    Kind.LOCAL_OVERRUN: ("out-of-bounds", _Describer.local_overrun),
    Kind.NEVER_SET: ("uninitialised", _Describer.never_set),
    Kind.INDEX_OVERFLOW: ("out-of-bounds", _Describer.index_overflow),
    Kind.INT_SUM: ("out-of-bounds", _Describer.int_sum),
    Kind.DEAD_LOCAL: ("out-of-bounds", _Describer.dead_local),
    Kind.ASYNC_PROXY: ("race", _Describer.async_proxy),
    Kind.DEVICE_HEAP: ("out-of-bounds", _Describer.device_heap),
    Kind.STACK_LIMIT: ("resources", _Describer.stack_limit),
    Kind.OVERLAP: ("overlap", _Describer.overlap),
}
# Those that need no second look, with their events and causes.
_PLAIN: dict[Kind, tuple[str, Event, Cause]] = {
    Kind.INACTIVE_LANE: ("shuffle", Event.INACTIVE_LANE, Cause.LANE_LEFT_OUT),
    Kind.MASK_WITHOUT_SELF: ("mask", Event.MASK_WITHOUT_SELF, Cause.OWN_LANE),
    Kind.MASK_EXITED: ("mask", Event.MASK_OF_OTHER_WAY, Cause.LANES_KEPT_AWAY),
    Kind.ASSERTION: ("assert", Event.ASSERTION, Cause.ASSERTION),
    Kind.FAULT: ("fault", Event.FAULT, Cause.LEFT_OPEN),
    Kind.DIVISION: ("fault", Event.DIVISION, Cause.DIVISION),
    Kind.WRONG_FREE: ("fault", Event.FAULT, Cause.WRONG_FREE),
    Kind.LOST_MBARRIER: ("fault", Event.FAULT, Cause.MBARRIER_LEFT),
    Kind.STACK_OVERFLOW: ("fault", Event.STACK_OVERFLOW, Cause.DEEP_RECURSION),
    Kind.TRAP: ("fault", Event.TRAP, Cause.TRAP),
    Kind.HEAP_LEAK: ("leak", Event.HEAP_LEAK, Cause.HEAP_LEAK),
}
