"""Writes the machine's findings in words: the thread, its access, the array, the line, and the
usual cause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from helpers.quantities import quantity

from ..machine import memory
from ..machine.arrays import ArrayName
from ..machine.library import Place, RawFinding
from ..program.module import Kernel
from ..ptx import lifetimes, overflows
from .barrier_words import BarrierWords
from .ending_words import EndingWords
from .finding_facts import Kind, Scene, Words
from .findings import (
    ANY_ORDER,
    CONTENDED,
    ENDED_BLOCK,
    LOCAL_LEFTOVERS,
    NEVER_SET,
    ONE_ADDRESS,
    ONE_MEMORY,
    OVERFLOWN,
    OVERTAKING,
    PLAIN_WAIT,
    SHARED_LEFTOVERS,
    UPDATED,
    Finding,
    finding_of_launch,
)
from .joins import missing_barrier, missing_between
from .race_facts import setter_just_before

_WARNINGS = (
    Kind.BARRIER_EXITED, Kind.MASK_EXITED, Kind.HEAP_LEAK, Kind.STACK_LIMIT, Kind.INT_SUM,
)
_MISSED = (Kind.BARRIER_DIVERGENCE, Kind.BARRIER_EXITED, Kind.WARP_DEADLOCK)
ATOMIC = 2  # Place.access
WIDER_PRODUCT = "compute a product such as row * width as size_t or long long."
TOO_SMALL = (
    "Is the array declared too small (a tile needs room for both halos), or the index off by one?"
)
_UNORDERED = "no barrier"  # the machine's text where none is between a copy and an access
_PAST = {0: "read", 1: "wrote", 2: "updated"}


def describe_finding(raw: RawFinding, scene: Scene) -> Finding | None:
    """Return the machine's finding in words, None if a second look shows that it is no fault."""
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
    unit = "elements" if width > 1 else "bytes"
    index, count, total = (
        (first - before) // width,
        -(-missing // width),
        (nbytes - before) // width,
    )
    line = 0
    if pc:
        file, line = kernel.places.place_of(pc - 1)
        line = line if file == kernel.module.compiled.file else 0
        what = (
            f"leaves {count:,} of the {total:,} {unit} of {name} unwritten: the first is "
            f"{name}[{index}]"
        )
        cause = (
            "Does the grid cover the output, ragged tail and ends included, or does a guard keep a "
            "thread from its store?"
        )
    else:
        what = f"writes nothing to {name}"
        cause = "Is the store missing, or behind a guard that no thread passes?"
    message = f"{kernel.name} {what}; fresh device memory holds leftovers, not zeros"
    about = name if array else None
    return finding_of_launch(
        "unwritten", message, cause, kernel, line, "warning", array=about, index=index
    )


class _Describer(BarrierWords, EndingWords):
    """A finding in words: one method for each kind."""

    def finding(self) -> Finding:
        kind, words = _KINDS[Kind(self.raw.kind)]
        message, cause, name, index = words(self)
        lines = dict.fromkeys(n for n in (self.other_line, self.line) if n)
        texts = {n: self.source[n - 1].strip() for n in lines if n <= len(self.source)}
        return Finding(
            kind, message, Path(self.file).name, self.line,
            self.thread(self.raw.here), tuple(self.raw.here.block),
            name, index,
            "warning" if self.raw.kind in _WARNINGS else "error", cause, self.other_line,
            self.raw.count, texts, self.missed_between() if kind == "race" else (),
            self.thread_of_block(self.raw.other) if kind == "race" else None,
        )

    # ---- accesses ----

    def out_of_bounds(self) -> Words:
        freed = memory.freed_at(self.address()) if self.address() else None
        if freed is not None and (
            self.array is None or self.is_guess() or self.pointing_into(*freed[:2])
        ):
            return self.use_after_free(*freed)
        if (wild := self.dead_pointer()) is not None or self.array is None or self.is_far():
            return self.wild_pointer(wild)
        index = self.index()
        is_whole = self.bytes == (self.array.element_bytes or self.bytes)
        size = "" if is_whole else f"{self.size()} at "
        message = f"{self.does()} {size}{self.element()}, but {self.extent()}"
        if past := self.bytes_past_end():
            message = (
                f"{self.does()} {self.size()} at {self.element()}, the last {past:,} of them past "
                f"the end: {self.extent()}"
            )
        if isinstance(index, int) and 2**31 <= index < 2**32:
            wrapped = f"{index:,} is {index - 2**32} as an unsigned number"
            cause = (
                f"{wrapped}: threadIdx and blockIdx are unsigned, so make the index an int first."
            )
        elif isinstance(index, int) and -(2**31) <= index < -(2**27):
            cause = f"{index:,} is {index + 2**32:,} as an int that has overflowed: {WIDER_PRODUCT}"
        elif isinstance(index, int) and self.wraps_as_short(index):
            cause = (
                f"{index:,} is {index + 2**16:,} as a short, which counts to 32,767: make the "
                "index an int."
            )
        elif self.kernel.operation_at(self.raw.here.pc).startswith("wmma"):
            cause = (
                "The last argument of load_matrix_sync and store_matrix_sync is the distance of "
                "two rows (of two columns, if they are col_major) in elements: is it that of "
                f"{self.array.name}, and has {self.array.name} whole tiles?"
            )
        elif (source := self.cause_of_source(self.array.name)) is not None:
            cause = source
        elif self.array.name in self.scene.dynamic_names:
            cause = self.cause_of_little_shared()
        elif memory.rows_of(self.array.start) is not None:
            cause = (
                "mem_alloc_pitch gives the distance of two rows in bytes: add y * pitch to a "
                "char*, and make it a pointer to the elements then."
            )
        elif self.array.space == "global":
            cause = (
                "Is a guard missing or off by one: at the array's ends, or in the last block, "
                "which may be partial?"
            )
        else:
            cause = TOO_SMALL
        return self.of_element(message, cause)

    def cause_of_source(self, name: str) -> str | None:
        """Return the cause of an index of an array that comes from another one, else None."""
        source = self.source_of_index()
        if source is None:
            return None
        return (
            f"The index comes from {source}: is each value there an index of {name}, or must a "
            "guard keep some away?"
        )

    def cause_of_little_shared(self) -> str:
        """Return the cause of an access past the dynamic shared memory."""
        array = self.known_array()
        given, (x, y, z) = array.nbytes, self.scene.block
        cause = (
            f"The launch gives {quantity(given, 'byte')} of dynamic shared memory "
            f"(shared={given}). "
        )
        if given == x * y * z and array.element_bytes > 1:
            return cause + (
                f"shared= counts bytes, not elements: {quantity(given, 'element')} of "
                f"{quantity(array.element_bytes, 'byte')} need "
                f"shared={given * array.element_bytes}."
            )
        return cause + (
            "Is that enough for all arrays in it, and does each start where the one before ends?"
        )

    def wild_pointer(self, name: str | None) -> Words:
        what = f"{name} points to no array of the device" if name else "outside every array"
        message = f"{self.does()} {self.size()} at address {self.address():#x}, {what}"
        cause = (
            "No array is there: is the pointer uninitialised, a host pointer, moved too far, or "
            "one to an array that has been freed?"
        )
        return Words(message, cause, name)

    def use_after_free(self, start: int, nbytes: int, file: str, line: int) -> Words:
        names = self.pointing_into(start, nbytes)
        name = names[0] if len(names) == 1 else None
        where = f"{name}, an array" if name else "an array"
        origin = f" (allocated at {Path(file).name}:{line})" if file else ""
        message = (
            f"{self.does()} {self.size()} of {where} of "
            f"{quantity(nbytes, 'byte')} that has been freed{origin}"
        )
        cause = (
            "Free an array after the last kernel that uses it; keep a reference to it in Python "
            "until then."
        )
        return Words(message, cause, name)

    def null_pointer(self) -> Words:
        nulls = [name for name, address in self.scene.pointers.items() if address == 0]
        text = self.text_of_line()
        nulls = [name for name in nulls if re.search(rf"\b{re.escape(name)}\b", text)] or nulls
        name = nulls[0] if len(nulls) == 1 else None
        pointer = f"{name} is a null pointer" if name else "a null pointer"
        size = self.raw.size
        message = (
            f"{self.does()} {self.size()} at address {self.raw.offset:#x}, outside "
            f"every array: {pointer}"
        )
        cause = (
            "Was the array never allocated, or was 0 given in its place? Pass mem_alloc's result, "
            "a GPUArray, or cuda.In/Out/InOut."
        )
        if not nulls and any(re.search(r"\b(?:malloc|new)\b", row) for row in self.source):
            cause = (
                "malloc and new give a null pointer when the device's heap (8 MB) is full: test "
                "the pointer before its use."
            )
        if not nulls and any("curandStateMtgp32" in row for row in self.source):
            cause = (
                "Only C++ on the host can set up a curandStateMtgp32, by "
                "curandMakeMTGP32KernelState, and PyCUDA does not have that: take another state, "
                "such as curandStatePhilox4_32_10_t, and call curand_init in a kernel."
            )
        return Words(message, cause, name, self.raw.offset // size if name and size else None)

    def device_heap(self) -> Words:
        state, nbytes = self.machine_text().split()
        block = f"the {quantity(int(nbytes), 'byte')} that malloc or new gave the kernel"
        if state == "freed":
            message = (
                f"{self.does()} {self.size()} of {block}, after they were freed"
            )
            cause = (
                "Free memory of the device's heap after its last use: if other threads use it, "
                "too, all must meet at a barrier first."
            )
            return Words(message, cause)
        message = f"{self.does()} {self.size()} at byte {self.raw.offset:,} of {block}"
        cause = (
            "Is the index off by one, or the size given in elements? malloc takes bytes: "
            "count * sizeof(type)."
        )
        return Words(message, cause)

    def heap_leak(self) -> Words:
        message = (
            f"{self.who()} does not free the {self.size()} that "
            "malloc or new gave it here, and nothing points to them when the kernel ends"
        )
        cause = (
            "What malloc and new give stays taken after the kernel, until the device's heap (8 MB) "
            "is full: free or delete it, or keep its address in an array for a later kernel."
        )
        return Words(message, cause)

    def no_dynamic_shared(self) -> Words:
        name = "/".join(self.scene.dynamic_names) or None
        what = f"{name}, " if name else ""
        message = f"{self.does()} {what}dynamic shared memory, of which the launch gives none"
        cause = (
            "An `extern __shared__` array has the bytes that the launch asks for: give "
            "shared=<bytes> beside grid and block. Where the size is known before, write it into "
            "the kernel, as in __shared__ float cells[256]."
        )
        return Words(message, cause, name)

    def overlap(self) -> Words:
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        read, written = (self.extern_array(int(place.pc)) for place in (here, other))
        if read is None or written is None:
            return Words(f"{self.does()} what another array has replaced", "")
        index, there = (self.offset // (one.element_bytes or 1) for one in (read, written))
        message = (
            f"{self.does()} {read.name}[{index}], in whose place {self.other_thread(other, True)} "
            f"has written {written.name}[{there}] at line {self.other_line}"
        )
        cause = self.cause_of_one_address(read.name, written.name)
        return Words(message, cause, read.name, index)

    def cause_of_one_address(self, first: str, second: str) -> str:
        """Return the cause of a fault between two `extern __shared__` arrays."""
        known = {v.name: v.element for v in self.kernel.dynamic}
        kind = known.get(second) or "float"
        return (
            f"{ONE_ADDRESS}, the first byte of the launch's dynamic shared memory. Declare only "
            f"{first}, let the other one begin behind it, such as {kind}* {second} = "
            f"({kind}*)&{first}[elements of {first}], and give the bytes of both (shared=)."
        )

    def row_overrun(self) -> Words:
        axis = self.kernel.axis_at(self.raw.here.pc)
        index, name = self.raw.offset, axis.name
        source = self.cause_of_source(name)
        more = f" {source}" if source is not None else ""
        wraps = 2**31 <= index < 2**32  # as threadIdx.x - 1 does, which is unsigned
        signed = f" ({index - 2**32} as an unsigned number)" if wraps else ""
        if len(axis.extents) == 1:
            extent = (
                f"{name} has {quantity(axis.extents[0], 'element')} ({name}[0] to "
                f"{name}[{axis.extents[0] - 1}])"
            )
            message = f"{self.who()} uses {name}[{index}]{signed}, but {extent}"
            return Words(message, TOO_SMALL + more, name, index)
        extents = "".join(f"[{extent}]" for extent in axis.extents[axis.axis :])
        declared = f"{axis.element} {extents}".strip()
        message = (
            f"{self.who()} uses index {index}{signed} on {name}, on an axis declared as {declared}"
        )
        cause = "The index leaves its axis; inside a larger array it touches the next row unseen."
        return Words(message, cause + more, name, index)

    def local_overrun(self) -> Words:
        name = self.local_name()
        what = (
            f"past the end of the local array {name}" if name else "past the end of a local array"
        )
        message = f"{self.does()} {self.size()} {what}"
        if self.machine_text() != "gap":
            message += ", outside the thread's local memory"
        return Words(message, "Is the array declared too small, or the index off by one?", name)

    def local_of_another(self) -> Words:
        if self.local_name(described=True) is not None:
            return self.local_overrun()
        message = (
            f"{self.does()} {self.size()} through a pointer to a local "
            f"variable of lane {self.offset} of its warp"
        )
        cause = (
            "A local variable belongs to one thread: hand values over in shared memory, or by a "
            "shuffle."
        )
        return Words(message, cause)

    def index_overflow(self) -> Words:
        exact, compiled = self.raw.offset, self.kernel.compiled
        names = {
            array.name for array in self.scene.arrays.values()
            if re.search(rf"\b{re.escape(array.name)}\s*\[[^]]*\*", self.text_of_line())
        }
        name = names.pop() if len(names) == 1 else None
        what = f"the index {exact:,}{f' of {name}' if name else ''}"
        number = int(self.kernel.program.ptx_lines[int(self.raw.here.pc)])
        if compiled.ptx.split("\n")[number - 1].endswith(overflows.VALUE):
            name, what = None, f"the number {exact:,}"
        wrapped = (exact + 2**31) % 2**32 - 2**31
        message = (
            f"{self.who()} computes {what} in 32 bits, where it wraps to {wrapped:,}"
        )
        return Words(message, f"{OVERFLOWN}: {WIDER_PRODUCT}", name, exact)

    def int_sum(self) -> Words:
        message = (
            f"{self.who()} adds to {self.element('an array')}, an int, and the numbers added there "
            f"come to {int(self.machine_text()):,}: 32 bits cannot hold it"
        )
        cause = (
            "An int ends at 2,147,483,647: let atomicAdd sum in an unsigned long long, or in a "
            "double if numbers below 0 are among them."
        )
        return self.of_element(message, cause)

    def dead_local(self) -> Words:
        known = lifetimes.variable_of_life(self.kernel.compiled.ptx, self.raw.offset)
        name, what, it = None, "a local variable", "it"
        if known is not None:
            name, line = known
            what, it = f"{name}, a local variable of line {line}", name
        message = (
            f"{self.does()} {self.size()} of {what}, through a pointer, after "
            f"the block that declares {it} has ended"
        )
        cause = (
            f"{ENDED_BLOCK}, and its memory may hold other values then: "
            f"declare {it} before the block, or copy the value."
        )
        return Words(message, cause, name)

    def misaligned(self) -> Words:
        size = self.raw.size
        is_local = self.array is not None and self.array.space == "local"
        name = self.local_name() if is_local else None
        if is_local:
            at = f"of {name or 'a local variable'} at an address"
        elif self.array is not None and (shift := self.byte_of_element()):
            at = f"from byte {shift} of {self.element()} on"
        else:
            at = f"at {self.element(f'address {self.address():#x}')}"
        which = " that" if is_local else ", which"
        message = f"{self.does()} {self.size()} {at}{which} is not {size}-byte aligned"
        is_vector = self.array is None or (not is_local and size > self.array.element_bytes)
        what = "vector" if is_vector else "value"
        cause = (
            f"A {what} of {self.size()} must start at a multiple of its size; a GPU "
            "ends the launch here."
        )
        if self.kernel.operation_at(self.raw.here.pc).startswith("ldmatrix"):
            cause = (
                "Each address of ldmatrix must be a multiple of 16 bytes: give the rows of the "
                "tile a multiple of 8 halves."
            )
        elif self.array is not None and self.array.name in self.scene.dynamic_names:
            cause += (
                " In the dynamic shared memory, put the arrays with the widest elements first, or "
                "round the start of each up to a multiple of its elements."
            )
        return Words(message, cause, name) if is_local else self.of_element(message, cause)

    def read_only(self) -> Words:
        cause = "Constant memory is written by the host, with memcpy_htod to the symbol's address."
        if self.array is None:
            return Words(f"{self.does()} constant memory", cause)
        return self.of_element(f"{self.who()} writes {self.element()} in constant memory", cause)

    def uninitialised(self) -> Words:
        if self.array is None and self.raw.region:
            message = (
                f"{self.does()} {self.size()} of the memory that malloc or new "
                "gave, which nothing has written"
            )
            cause = (
                "malloc and new give leftovers, not zeros: set each element before its first use."
            )
            return Words(message, cause)
        if self.array is None or self.array.space == "local":
            name = self.local_name() or self.unset_name()
            if name is None and self.text_of_line().strip().startswith("}"):
                message = (
                    f"{self.who()} comes to the end of a function without a return, "
                    "and uses its value"
                )
                cause = (
                    "Every way through a function that has a value must end with a return: which "
                    "case is left out?"
                )
                return Words(message, cause)
            message = f"{self.does()} {name or 'a local variable'}, which nothing has written"
            return Words(message, LOCAL_LEFTOVERS, name)
        element = self.element()
        if self.array.space == "constant":
            name = self.array.name
            message = f"{self.does()} {element}, but nothing has set the __constant__ {name}"
            cause = (
                f'Copy its values before the launch: memcpy_htod(module.get_global("{name}")[0], '
                "values)."
            )
            return self.of_element(message, cause)
        if self.array.space == "shared":
            message = f"{self.does()} {element}, which nothing has written"
            setter = setter_just_before(self.kernel, int(self.raw.here.pc))
            if setter is not None and self.raw.kind == Kind.UNINITIALISED:
                self.other_line = setter
                message += " yet"
                cause = (
                    f"Line {setter} sets it, but perhaps later and in another thread: a "
                    "__syncthreads() is missing between the two lines."
                )
                return self.of_element(message, cause)
            cause = (
                f"{SHARED_LEFTOVERS}, not zeros: was a part (a halo?) left out when it was filled?"
            )
            return self.of_element(message, cause)
        message = f"{self.does()} {self.part_of(element)}, which nothing has written"
        if (missing := self.unwritten_bytes()) is not None:
            message = (
                f"{self.does()} {self.part_of(element)}, of which nothing has written {missing}"
            )
        return self.of_element(message, self.cause_of_unfilled())

    def part_of(self, element: str) -> str:
        """Return the bytes of an element that the access reads, if they are not all of it."""
        array, size = self.known_array(), self.raw.size
        at = (self.offset - array.first_byte) % (array.element_bytes or 1)
        if not 0 < size < array.element_bytes:
            return element
        return f"bytes {at} to {at + size - 1} of {element}"

    def unwritten_bytes(self) -> str | None:
        """Return which bytes of the access nothing has written, None if it is all of them."""
        first = memory.first_unwritten(self.address(), self.raw.size) if self.address() else None
        return f"the last {self.raw.size - first}" if first else None

    def cause_of_unfilled(self) -> str:
        """Return the cause of a read of global memory that nothing has written."""
        array = self.known_array()
        if (rows := memory.rows_of(array.start)) is not None:
            width, pitch = rows
            if self.offset % pitch >= width:
                return (
                    f"{array.name} has rows of {quantity(width, 'byte')} that begin "
                    f"{quantity(pitch, 'byte')} apart (mem_alloc_pitch), and nothing is between "
                    "them: step from row to row by the pitch, not by the width."
                )
        if self.unwritten_bytes() is not None:
            return (
                "Has the host filled it with values of the kernel's type? A structure needs the "
                "compiler's gaps: np.dtype([...], align=True)."
            )
        leftovers = "Fresh device memory holds leftovers, not zeros: "
        if self.raw.here.access == ATOMIC:
            return leftovers + (
                "give it a value to start from (gpuarray.zeros, memset_d8, cuda.InOut in place of "
                "cuda.Out)."
            )
        is_empty = not memory.written(array.start, array.nbytes)
        return leftovers + (
            "was all of it filled before the launch (memcpy_htod, memset_d8 ...), or "
            f"{'are two arguments exchanged' if is_empty else 'is a part left out'}?"
        )

    def never_set(self) -> Words:
        message = f"{self.does()} {self.element()}, {NEVER_SET}"
        return self.uninitialised()._replace(message=message)

    def race(self) -> Words:
        here, other = self.raw.here, self.raw.other
        at = ""
        if not self.is_of_unknown_block(other):  # otherwise the place is one of this block
            self.other_line = self.line_of(other)
            at = f" at line {self.other_line}"
        element = self.element("the same bytes")
        same_block = tuple(here.block) == tuple(other.block)
        between = "with no barrier between them" if same_block else "and nothing orders two blocks"
        first = f"{self.other_thread(other, same_block)} {_PAST[other.access]}"
        message = f"{self.does()} {element}, which {first}{at}, {between}"
        return self.of_element(message, self.cause_of_race(same_block))

    def cause_of_race(self, same_block: bool) -> str:
        if (names := self.one_memory()) is not None:
            read, written = names
            return (
                f"{read} and {written} {ONE_MEMORY}, so that a thread reads what another one has "
                f"stored, early or late. Give {written} an array of its own."
            )
        if (lock := int(self.raw.here.reason)) != 0:
            return self.cause_of_unfenced_lock(lock - 1, same_block)
        if not same_block and (signal := self.given_back_unfenced()) is not None:
            return self.cause_of_missing_fence(None, signal)
        if (update := self.update()) is not None:
            element, atomic = update
            own = "give each thread an element of its own"
            if not same_block and self.raw.here.thread == self.raw.other.thread:
                own += " (both have the same number in their blocks: is blockIdx in the index?)"
            return (
                f"{UPDATED} {element}: each loads it, computes and stores it, and an "
                "update between another thread's load and store is lost. A barrier cannot help: "
                f"use {atomic}, or {own}."
            )
        if not same_block:
            if (unordered := self.unordered_store()) is not None:
                return self.cause_of_missing_fence(*unordered)
            if (line := self.waiting_line()) is not None:
                return self.cause_of_plain_wait(line, same_block)
            if (signal := self.announced_early()) is not None:
                return (
                    f"Line {signal} tells other blocks that the value is there, and line "
                    f"{self.other_line} stores it only then. Store it first, then call "
                    "__threadfence(), and tell the others last."
                )
            if self.raw.here.access == self.raw.other.access == ATOMIC:
                return (
                    "An atomic function that ends in _block is one step for the threads of its "
                    "block alone: between blocks it must be the function without _block."
                )
            return (
                f"{ANY_ORDER}, and __syncthreads() waits for one block alone: let each block write "
                "its own part, use an atomic, or make it two launches."
            )
        if (names := self.dynamic_pair()) is not None:
            first, second = names
            if set(names) <= set(self.scene.dynamic_names):
                return self.cause_of_one_address(first, second)
            return (
                f"{first} and {second} lie in the block's dynamic shared memory and have bytes in "
                "common: each must start where the one before ends, in bytes of its own type, and "
                "the launch must give bytes for all of them (shared=)."
            )
        if (contended := self.contended()) is not None:
            return self.cause_of_contention(contended)
        if (line := self.waiting_line()) is not None:
            return self.cause_of_plain_wait(line, same_block)
        missing = missing_between(self.line, self.other_line)
        progress, array = self.scene.progress, self.array
        if array and array.space == "global" and progress and progress.blocks > 1:
            return (
                f"On a GPU either may come first: a __syncthreads() {missing}. It waits for one "
                "block alone: what several blocks share needs a second launch, or another array "
                "for the results."
            )
        if self.is_block_of_one_warp():
            return (
                "Both threads are of one warp, whose lanes need not run in step: a "
                f"__syncwarp() or a __syncthreads() {missing}."
            )
        if self.is_in_one_warp():
            return (
                "Both threads are of one warp, whose lanes need not run in step: a __syncwarp() "
                f"{missing}, or a __syncthreads() if other warps use these bytes."
            )
        if (line := self.line_of_wait()) is not None:
            return (
                f"Line {line} waits in a loop for a flag, so a barrier cannot help: it would wait "
                "for the loop. Store the value first, then call __threadfence_block(), and set the "
                "flag, which is volatile, last."
            )
        return missing_barrier(self.line, self.other_line)

    def cause_of_plain_wait(self, line: int, same_block: bool) -> str:
        name = self.array.name if self.array is not None else "it"
        whom, fence = (
            ("thread", "__threadfence_block()") if same_block else ("block", "__threadfence()")
        )
        return (
            f"The loop of line {line} waits for another {whom} by {name}, {PLAIN_WAIT} and keep "
            "it, so that the loop never ends. Declare a volatile pointer, or read it by an atomic "
            f"function, and put a {fence} between a value and the flag that announces it."
        )

    def cause_of_unfenced_lock(self, lock: int, same_block: bool) -> str:
        line = self.kernel.places.line_of(lock)
        where = f"line {line}" if line else "an atomic function"
        progress, array = self.scene.progress, self.array
        is_shared = array is not None and array.space == "shared"
        if same_block and (is_shared or progress is None or progress.blocks == 1):
            return (
                f"A thread takes a lock in {where} with no fence after it, so that it may see "
                "what was there before. Call __threadfence_block() after the lock is taken, and "
                "again before it is given back."
            )
        if fence := int(self.raw.other.reason):
            return (
                f"The __threadfence_block() in line {self.kernel.places.line_of(fence - 1)}, after "
                f"the lock of {where}, orders memory only for the threads of its block: between "
                "blocks it must be a __threadfence()."
            )
        return (
            f"A thread takes a lock in {where} with no fence after it, so that it may see "
            "what was there before. Call __threadfence() after the lock is taken, and again before "
            "it is given back."
        )

    def cause_of_contention(self, element: str) -> str:
        cause = f"{CONTENDED} {element} at the same time, and a barrier cannot help: "
        if ATOMIC in (self.raw.here.access, self.raw.other.access):
            return cause + (
                "some of them use an atomic function there and some do not. Take the value that "
                "the atomic function returns, or access the element by atomic functions alone."
            )
        return cause + (
            "any of them may come last. Let an atomic function decide (atomicCAS for one that is "
            "first, atomicExch, atomicMax ...), or give each thread an element of its own."
        )

    def cause_of_missing_fence(self, fence: int | None, signal: int | None) -> str:
        if fence is not None:
            return (
                f"The __threadfence_block() in line {fence} orders memory only for the threads "
                "of its block: between blocks it must be a __threadfence()."
            )
        where = f"line {signal}" if signal is not None else "the flag"
        return (
            f"Another block may see {where} before the store of line {self.other_line}: a "
            "__threadfence() is missing between the two."
        )

    def async_read(self) -> Words:
        element = self.element("shared memory")
        event = self.machine_text()
        if event and event != _UNORDERED:
            message = f"{self.who()} starts an asynchronous bulk copy of {element}, but {event}"
            return self.of_element(message, self.cause_of_bulk_copy(self.raw.here.access == 1))
        self.other_line = self.line_of(self.raw.other)
        if self.raw.other.access == 0:
            message = (
                f"{self.does()} {element}, which the asynchronous copy of line {self.other_line} "
                "may still be reading"
            )
            return self.of_element(message, self.cause_of_bulk_copy(False))
        message = (
            f"{self.does()} {element}, which the asynchronous copy of line {self.other_line} may "
            "not have filled yet"
        )
        cause = (
            "Wait for the copy first (__pipeline_wait_prior, cp.async.wait_group, consumer_wait() "
            "or the barrier's wait()), then let the block's threads meet at __syncthreads()."
        )
        if "bulk" in self.kernel.operation_at(self.raw.other.pc):
            cause = self.cause_of_bulk_copy(True)
        elif event == _UNORDERED:
            message = (
                f"{self.does()} {element}, which the asynchronous copy of line {self.other_line} "
                f"{OVERTAKING}"
            )
            cause = (
                "If the line needs what was there before, let all threads meet at a "
                "__syncthreads() before the copy begins, at the end of the loop. If it needs what "
                "the copy brings, wait for the copy (__pipeline_wait_prior, consumer_wait() ...), "
                "and then meet."
            )
        return self.of_element(message, cause)

    def cause_of_bulk_copy(self, fills_shared: bool) -> str:
        if fills_shared:
            return (
                "A __syncthreads() does not wait for a bulk copy: every thread that reads what it "
                "brings must wait for its mbarrier (mbarrier.try_wait, or the barrier's wait())."
            )
        return (
            "A bulk copy out of shared memory still reads after the instruction: the thread that "
            "started it must close its group (cp.async.bulk.commit_group) and wait "
            "(cp.async.bulk.wait_group.read 0) before anyone writes there, and before the block "
            "ends."
        )

    def async_proxy(self) -> Words:
        self.other_line = self.line_of(self.raw.other)
        element = self.element("shared memory")
        if self.machine_text() == "mbarrier":
            return self.unseen_mbarrier(element)
        missed = f"which may not see the store of line {self.other_line}"
        message = f"{self.who()} starts a bulk copy of {element}, {missed}"
        cause = (
            "A bulk copy reads past the threads' caches: fence.proxy.async must come after the "
            "stores and before the barrier."
        )
        return self.of_element(message, cause)

    def unseen_mbarrier(self, element: str) -> Words:
        message = (
            f"{self.who()} starts a bulk copy that signals the mbarrier {element}, "
            f"but the copy engine may not see the mbarrier.init of line {self.other_line}"
        )
        cause = (
            "A bulk copy reads past the threads' caches. The thread that makes an mbarrier must "
            "show it to the copy engine: fence.proxy.async, or fence.mbarrier_init, after the "
            "mbarrier.init and before the barrier or the copy."
        )
        return self.of_element(message, cause)


# By the machine's kind: the kind that a reader sees, and the method that words it.
_KINDS: dict[Kind, tuple[str, Callable[[_Describer], Words]]] = {
    Kind.OUT_OF_BOUNDS: ("out-of-bounds", _Describer.out_of_bounds),
    Kind.MISALIGNED: ("misaligned", _Describer.misaligned),
    Kind.RACE: ("race", _Describer.race),
    Kind.UNINITIALISED: ("uninitialised", _Describer.uninitialised),
    Kind.BARRIER_DIVERGENCE: ("barrier", _Describer.divergence),
    Kind.BARRIER_EXITED: ("barrier", _Describer.exited),
    Kind.RUNAWAY: ("runaway", _Describer.runaway),
    Kind.READ_ONLY: ("out-of-bounds", _Describer.read_only),
    Kind.ROW_OVERRUN: ("out-of-bounds", _Describer.row_overrun),
    Kind.INACTIVE_LANE: ("shuffle", _Describer.inactive_lane),
    Kind.MASK_WITHOUT_SELF: ("mask", _Describer.mask_without_self),
    Kind.MASK_MISMATCH: ("mask", _Describer.mask_mismatch),
    Kind.MASK_EXITED: ("mask", _Describer.mask_exited),
    Kind.WARP_DEADLOCK: ("barrier", _Describer.warp_deadlock),
    Kind.ASSERTION: ("assert", _Describer.assertion),
    Kind.BARRIER_CALLERS: ("barrier", _Describer.callers),
    Kind.FAULT: ("fault", _Describer.fault),
    Kind.LOCAL_OF_ANOTHER: ("out-of-bounds", _Describer.local_of_another),
    Kind.STACK_OVERFLOW: ("fault", _Describer.stack_overflow),
    Kind.WILD_CALL: ("fault", _Describer.wild_call),
    Kind.ASYNC_READ: ("race", _Describer.async_read),
    Kind.TRAP: ("fault", _Describer.trap),
    Kind.NULL_POINTER: ("out-of-bounds", _Describer.null_pointer),
    Kind.NO_DYNAMIC_SHARED: ("out-of-bounds", _Describer.no_dynamic_shared),
    Kind.LOCAL_OVERRUN: ("out-of-bounds", _Describer.local_overrun),
    Kind.NEVER_SET: ("uninitialised", _Describer.never_set),
    Kind.INDEX_OVERFLOW: ("out-of-bounds", _Describer.index_overflow),
    Kind.INT_SUM: ("out-of-bounds", _Describer.int_sum),
    Kind.DEAD_LOCAL: ("out-of-bounds", _Describer.dead_local),
    Kind.ASYNC_PROXY: ("race", _Describer.async_proxy),
    Kind.DEVICE_HEAP: ("out-of-bounds", _Describer.device_heap),
    Kind.HEAP_LEAK: ("leak", _Describer.heap_leak),
    Kind.STACK_LIMIT: ("resources", _Describer.stack_limit),
    Kind.OVERLAP: ("overlap", _Describer.overlap),
}
