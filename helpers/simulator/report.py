"""Findings as records that print themselves: text for a terminal, HTML for a notebook, dictionaries for files."""

from __future__ import annotations

import html
import linecache
import re
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

# By the number that the engine gives (findings.h): the kind that a reader sees.
_KINDS = (
    "out-of-bounds", "misaligned", "race", "uninitialised", "barrier", "barrier", "runaway", "out-of-bounds", "out-of-bounds",
    "shuffle", "mask", "mask", "mask", "barrier", "assert", "barrier", "fault",
)  # fmt: skip
(
    _OUT_OF_BOUNDS, _MISALIGNED, _RACE, _UNINITIALISED, _DIVERGENCE, _EXITED, _RUNAWAY, _READ_ONLY, _ROW_OVERRUN,
    _INACTIVE_LANE, _MASK_WITHOUT_SELF, _MASK_MISMATCH, _MASK_EXITED, _WARP_DEADLOCK, _ASSERTION, _CALLERS,
    _FAULT,
) = range(17)  # fmt: skip
_WARNINGS = (_EXITED, _MASK_EXITED)
_UNKNOWN = 2**32 - 1  # Place::unknown
_VERBS = {0: "reads", 1: "writes", 2: "updates"}
_PAST = {0: "read", 1: "wrote", 2: "updated"}
LINE = 100  # characters in a line of text: as many fit beside the file browser on a small screen
_NO_BREAK = "\x1f"  # stands for a space at which a line must not be broken


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a launch, the first time it happened.

    kind: "out-of-bounds", "misaligned", "race", "uninitialised", "barrier", "shuffle", "mask", "assert", "unwritten", "resources",
    "leak", "unsynchronised", "fault" or "runaway"; severity: "error" or "warning";
    message: one sentence on what happened; cause: one sentence on what usually leads to it; line: of `file`, 0 if unknown;
    thread, block: (x, y, z); array, index: what was touched (index: int, or one int an axis; None where it does not apply);
    other_line: the line of the access or barrier that this one collides with; count: how often the same instruction did it.
    """

    kind: str
    message: str
    file: str
    line: int
    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    array: str | None = None
    index: int | tuple[int, ...] | None = None
    severity: str = "error"
    cause: str = ""
    other_line: int | None = None
    count: int = 1
    source_lines: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        cause = [fold(f"  {self.cause}", 2)] if self.cause else []
        return "\n".join([*self._rows(), *cause])

    def brief(self) -> str:
        """What happened, and the first source line that took part in it; without the cause."""
        return "\n".join(self._rows()[:2])

    def _rows(self) -> list[str]:
        times = f" ({self.count:,} times in this launch; this is the first)" if self.count > 1 else ""
        kind = self.kind if self.severity == "error" else f"{self.kind} ({self.severity})"
        rows = [fold(f"{kind}: {self.message}{times}", 4)]
        for number, text in self.source_lines.items():
            rows.append(fold(f"  {self.file}:{number}: {text}", 6))
        return rows

    def _repr_html_(self) -> str:
        return block_of_text(str(self), "#c0392b" if self.severity == "error" else "#b9770e")

    def to_dict(self) -> dict:
        return {**asdict(self), "source_lines": dict(self.source_lines)}


def fold(text: str, indent: int) -> str:
    """The text in lines of at most LINE characters, broken between words.

    "(0, 0, 0)" counts as one word. Lines after the first begin with `indent` spaces.
    """
    whole = re.sub(r"\([\d, ]+\)", lambda place: place[0].replace(" ", _NO_BREAK), text)
    lines: list[str] = []
    for line in whole.splitlines():
        lines += textwrap.wrap(
            line,
            LINE,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines).replace(_NO_BREAK, " ")


def block_of_text(text: str, colour: str) -> str:
    """Monospaced text behind a coloured bar; takes its colours from the page, so that it reads in light and dark themes.

    The styles are inline because JupyterLab's own style sheet breaks lines of a <pre> inside words.
    """
    style = (
        f"border-left: 4px solid {colour}; padding-left: 0.8em; "
        "white-space: pre-wrap; word-break: normal; overflow-wrap: break-word"
    )
    return f'<pre style="{style}">{html.escape(text)}</pre>'


def describe_finding(raw, kernel, arrays: Mapping[int, object], block_shape: tuple[int, int, int]) -> Finding | None:
    """The engine's finding (a runtime.RawFinding) in words, None for what is none on a second look.

    `arrays` names the arrays by the engine's numbers.
    """
    describer = _Describer(raw, kernel, arrays, block_shape)
    return None if raw.kind == _CALLERS and describer.is_one_barrier() else describer.finding()


def finding_of_launch(kind: str, message: str, cause: str, kernel, line: int = 0, severity: str = "error", **more) -> Finding:
    """A finding about a launch as a whole: its place is `line`, or where the kernel begins."""
    program, line = kernel.module.program, line or kernel.line
    source = program.source.splitlines()
    shown = {line: source[line - 1].strip()} if 0 < line <= len(source) else {}
    return Finding(
        kind, message, program.file, line, (0, 0, 0), (0, 0, 0), severity=severity, cause=cause, source_lines=shown, **more
    )  # fmt: skip


def leaked(live) -> tuple[Finding, ...]:
    """One finding for each line that allocated device memory which is still there; live: (nbytes, file, line) of each."""
    by_line: dict[tuple[str, int], list[int]] = {}
    for nbytes, file, line in live:
        by_line.setdefault((file, line), []).append(nbytes)
    findings = []
    for (file, line), sizes in by_line.items():
        several = f"{len(sizes):,} allocations, {sum(sizes):,} bytes in all," if len(sizes) > 1 else f"{sizes[0]:,} bytes"
        message = f"{several} of device memory allocated here were not freed"
        cause = "What still refers to it: a list that grows, a reference cycle, an object of a module? Free it, or let it go."
        text = linecache.getline(file, line).strip()
        shown = {line: text} if text else {}
        where = Path(file).name if file else ""
        findings.append(
            Finding("leak", message, where, line, (0, 0, 0), (0, 0, 0), severity="warning", cause=cause, source_lines=shown)
        )
    return tuple(findings)


def describe_unwritten(kernel, array, first: int, missing: int, nbytes: int, pc: int) -> Finding:
    """An array (a runtime.ArrayName, or None) with `missing` unwritten bytes, the first at `first`; pc: of a store to it."""
    debug = kernel.module.program.debug
    file, line = debug.place_of(pc - 1) if pc else ("", 0)
    width, name, before = (array.element_bytes or 1, array.name, array.first_byte) if array else (1, "an output", 0)
    unit = "elements" if width > 1 else "bytes"
    index, count, total = (first - before) // width, -(-missing // width), (nbytes - before) // width
    if pc:
        what = f"leaves {count:,} of the {total:,} {unit} of {name} unwritten: the first is {name}[{index}]"
        cause = "Does the grid cover the output, ragged tail and ends included, or does a guard keep a thread from its store?"
    else:
        what = f"writes nothing to {name}"
        cause = "Is the store missing, or behind a guard that no thread passes?"
    line = line if file == kernel.module.program.file else 0
    message = f"{kernel.name} {what}; fresh device memory holds leftovers, not zeros"
    return finding_of_launch("unwritten", message, cause, kernel, line, "warning", array=name if array else None, index=index)


def merge_findings(findings) -> tuple[Finding, ...]:
    """One finding for each fault: a line that the compiler unrolled is several instructions, but one line to the reader."""
    merged: dict[tuple, Finding] = {}
    for finding in findings:
        key = (finding.kind, finding.line, finding.other_line, finding.array)
        known = merged.get(key)
        merged[key] = replace(known, count=known.count + finding.count) if known else finding
    # A missing barrier shows as a race and as a read of nothing: the race says what to mend, so it comes first.
    return tuple(sorted(merged.values(), key=lambda f: f.kind == "uninitialised"))


class _Describer:
    def __init__(self, raw, kernel, arrays, block_shape):
        self.raw, self.kernel, self.block_shape = raw, kernel, block_shape
        self.array, self.offset = arrays.get(raw.region), raw.offset
        self.file = kernel.module.program.file
        self.source = kernel.module.program.source.splitlines()
        self.line = self.line_of(raw.here)
        self.other_line = None
        if raw.kind == _OUT_OF_BOUNDS:
            self._correct_guess(arrays)

    def _correct_guess(self, arrays) -> None:
        """The engine guesses the array that lies nearest; what the source line indexes, left or right of `=`, knows better."""
        left, equals, right = re.sub(r"[=!<>]=", "  ", self.text_of_line()).rpartition("=")
        side = left if self.raw.here.access == 1 else right
        candidates = [a for a in arrays.values() if a.start and re.search(rf"\b{re.escape(a.name)}\s*\[", side)]
        if equals and candidates and self.array is not None and self.array.start and self.array not in candidates:
            self.offset += self.array.start - candidates[0].start
            self.array = candidates[0]

    def text_of_line(self) -> str:
        return self.source[self.line - 1] if 0 < self.line <= len(self.source) else ""

    def line_of(self, place) -> int:
        if place.line:
            return place.line
        return self.kernel.module.program.debug.line_near(place.pc - 1, self.file)

    def thread(self, place) -> tuple[int, int, int]:
        x, y, _ = self.block_shape
        return (place.thread % x, place.thread // x % y, place.thread // (x * y))

    def who(self, place) -> str:
        return f"thread {self.thread(place)} of block {tuple(place.block)}"

    def finding(self) -> Finding:
        writers = {
            _OUT_OF_BOUNDS: self.out_of_bounds, _MISALIGNED: self.misaligned, _RACE: self.race, _UNINITIALISED: self.uninitialised,
            _DIVERGENCE: self.divergence, _EXITED: self.exited, _RUNAWAY: self.runaway, _READ_ONLY: self.read_only,
            _ROW_OVERRUN: self.row_overrun, _INACTIVE_LANE: self.inactive_lane, _MASK_WITHOUT_SELF: self.mask_without_self,
            _MASK_MISMATCH: self.mask_mismatch, _MASK_EXITED: self.mask_exited, _WARP_DEADLOCK: self.warp_deadlock,
            _ASSERTION: self.assertion, _CALLERS: self.callers, _FAULT: self.fault,
        }  # fmt: skip
        index, name, message, cause = writers[self.raw.kind]()
        lines = [n for n in (self.other_line, self.line) if n]
        shown = {n: self.source[n - 1].strip() for n in dict.fromkeys(lines) if n <= len(self.source)}
        return Finding(
            _KINDS[self.raw.kind], message, self.file, self.line, self.thread(self.raw.here), tuple(self.raw.here.block),
            name, index,
            "warning" if self.raw.kind in _WARNINGS else "error", cause, self.other_line, self.raw.count, shown,
        )  # fmt: skip

    def index(self) -> int | tuple[int, ...]:
        """The element that the access starts at, by axes inside an array of several."""
        width = self.array.element_bytes or self.raw.size
        flat = (self.offset - self.array.first_byte) // width
        if len(self.array.extents) < 2 or not 0 <= self.offset < self.array.nbytes:
            return flat
        axes = []
        for extent in reversed(self.array.extents):
            axes.append(flat % extent)
            flat //= extent
        return tuple(reversed(axes))

    def element(self) -> tuple[int | tuple[int, ...], str]:
        index = self.index()
        subscript = "".join(f"[{i}]" for i in index) if isinstance(index, tuple) else f"[{index}]"
        return index, f"{self.array.name}{subscript}"

    def extent(self) -> str:
        array = self.array
        if len(array.extents) > 1:
            return f"{array.name} is {array.element} {array.name}{''.join(f'[{e}]' for e in array.extents)}"
        count = array.nbytes // (array.element_bytes or self.raw.size)
        return f"{array.name} has {count:,} elements ({array.name}[0] to {array.name}[{count - 1}])"

    def out_of_bounds(self):
        here, verb = self.raw.here, _VERBS[self.raw.here.access]
        if self.array is None:
            where = f"address {self.raw.offset & (2**64 - 1):#x}"
            cause = "No array is there: is a pointer null, uninitialised, a host pointer, or an array that has been freed?"
            return None, None, f"{self.who(here)} {verb} {self.raw.size} bytes at {where}, outside every array", cause
        index, element = self.element()
        size = "" if self.raw.size == (self.array.element_bytes or self.raw.size) else f"{self.raw.size} bytes from "
        message = f"{self.who(here)} {verb} {size}{element}, but {self.extent()}"
        if isinstance(index, int) and 2**31 <= index < 2**32:
            wrapped = f"{index:,} is {index - 2**32} as an unsigned number"
            cause = f"{wrapped}: threadIdx and blockIdx are unsigned, so make the index an int first."
        elif self.array.space == "global":
            cause = (
                "Is a guard missing or off by one: at the array's ends (ghost cells), or in the last block, which may be partial?"
            )
        else:
            cause = "Is the array declared too small for the tile and both halos, or the index off by one?"
        return index, self.array.name, message, cause

    def row_overrun(self):
        here = self.raw.here
        type_text = self.raw.text.decode().strip("'").replace(" [", "[").replace("[", " [", 1)  # clang writes float[5]
        variable = self._indexed_array(type_text)
        indexed = set(re.findall(r"(\w+)\s*\[", self.text_of_line()))
        name = variable.name if variable else indexed.pop() if len(indexed) == 1 else None
        if variable and len(variable.extents) == 1:
            last = variable.extents[0] - 1
            extent = f"{name} has {last + 1:,} elements ({name}[0] to {name}[{last}])"
            message = f"{self.who(here)} uses {name}[{self.raw.offset}], but {extent}"
            cause = "Is the array declared too small for the tile and both halos, or the index off by one?"
        else:
            message = f"{self.who(here)} uses index {self.raw.offset} on {name or 'an array'}, on an axis declared as {type_text}"
            cause = "The index leaves its axis; inside a larger array it touches the next row unseen."
        return self.raw.offset, name, message, cause

    def _indexed_array(self, type_text: str):
        """The array on this source line whose declaration holds the type that was indexed: the compiler tells only the type."""
        text = self.text_of_line()
        for variable in self.kernel.module.program.debug.variables:
            declared = f"{variable.element} " + "".join(f"[{e}]" for e in variable.extents)
            row = f"{variable.element} " + "".join(f"[{e}]" for e in variable.extents[1:])
            if f"{variable.name}[" in text.replace(" ", "") and type_text in (declared, row):
                return variable
        return None

    def misaligned(self):
        index, element = self.element()
        here, size = self.raw.here, self.raw.size
        message = f"{self.who(here)} {_VERBS[here.access]} {size} bytes at {element}, which is not {size}-byte aligned"
        return (
            index,
            self.array.name,
            message,
            f"A vector of {self.raw.size} bytes must start at a multiple of its size; a GPU ends the launch here.",
        )

    def read_only(self):
        index, element = self.element()
        message = f"{self.who(self.raw.here)} writes {element} in constant memory"
        return (
            index,
            self.array.name,
            message,
            "Constant memory is written by the host, with memcpy_htod to the symbol's address.",
        )

    def race(self):
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        index, element = self.element() if self.array else (None, "the same bytes")
        same_block = tuple(here.block) == tuple(other.block)
        between = "with no barrier between them" if same_block else "and nothing orders two blocks"
        first = f"{self._other_thread(other, same_block)} {_PAST[other.access]}"
        message = f"{self.who(here)} {_VERBS[here.access]} {element}, which {first} at line {self.other_line}, {between}"
        cause = (
            "On a GPU either may come first: a __syncthreads() is missing between the two lines."
            if same_block
            else "Blocks run in any order: let each block write its own part, use an atomic, or make it two launches."
        )
        return index, self.array.name if self.array else None, message, cause

    def _other_thread(self, other, same_block: bool) -> str:
        if other.block[0] == _UNKNOWN:
            return "a thread of another block"
        if other.thread == _UNKNOWN:
            return "another thread"
        return f"thread {self.thread(other)}" if same_block else self.who(other)

    def uninitialised(self):
        index, element = self.element()
        message = f"{self.who(self.raw.here)} reads {element}, which nothing has written"
        shared = self.array.space == "shared"
        what = "Shared memory" if shared else "Fresh device memory"
        return (
            index,
            self.array.name,
            message,
            f"{what} holds leftovers, not zeros: was a part (a halo?) left out when it was filled?",
        )

    def divergence(self):
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        elsewhere = f"thread {self.thread(other)} at the one in line {self.other_line}"
        message = f"{self.who(here)} waits at the barrier in line {self.line}, {elsewhere}"
        return (
            None,
            None,
            message,
            "All threads of a block must meet at the same __syncthreads(): take it out of the branch.",
        )

    def calls(self, place) -> tuple[int, ...]:
        """The lines of the calls that lead to a barrier, as far as they are known."""
        debug = self.kernel.module.program.debug
        outer = (debug.line_near(place.caller - 1, self.file), *debug.calls_around(place.caller - 1)) if place.caller else ()
        return (*outer, *debug.calls_around(place.pc - 1))

    def is_one_barrier(self) -> bool:
        """Whether two copies of a barrier are copies only because the compiler made them, in an unrolled loop for example."""
        return self.calls(self.raw.here) == self.calls(self.raw.other)

    def callers(self):
        here, other = self.raw.here, self.raw.other
        mine, theirs = self.calls(here), self.calls(other)
        first = next(k for k in range(max(len(mine), len(theirs))) if mine[k : k + 1] != theirs[k : k + 1])
        self.line = (mine[first:] or (self.line,))[0]
        self.other_line = (theirs[first:] or (here.line,))[0]
        message = (
            f"{self.who(here)} waits at the barrier in line {here.line}, called from line {self.line}, "
            f"thread {self.thread(other)} at the same one, called from line {self.other_line}"
        )
        cause = "All threads of a block must come to one __syncthreads() together: call the function outside the branches."
        return None, None, message, cause

    def exited(self):
        here, other = self.raw.here, self.raw.other
        message = f"{self.who(here)} waits at a barrier that thread {self.thread(other)} can no longer reach: it has returned"
        cause = (
            "Since Volta a thread that has exited does not hold the others up, but its share of the tile is not loaded: "
            "guard the store instead."
        )
        return None, None, message, cause

    def runaway(self):
        return (
            None,
            None,
            f"{self.who(self.raw.here)} was still running when the launch was stopped",
            "Does this loop end for every thread?",
        )

    def inactive_lane(self):
        message = (
            f"{self.who(self.raw.here)} reads the value of lane {self.raw.offset}, which takes no part in this shuffle: "
            "its lane is not in the mask, has returned, or does not exist"
        )
        cause = (
            "What comes from there is undefined. Is the last warp partial, or a lane left out of the mask that others read from? "
            "Let all lanes take part, with a neutral value where there is no data."
        )
        return None, None, message, cause

    def mask_without_self(self):
        message = f"{self.who(self.raw.here)} is lane {self.raw.offset} and calls with mask {self._mask()}, which does not name it"
        return None, None, message, "A lane that makes the call must be in the mask."

    def mask_mismatch(self):
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        if self.raw.offset < 0:
            where = f"which waits at the __syncthreads() in line {self.other_line}"
        else:
            where = f"which waits in line {self.other_line} with mask {self.raw.offset & 0xFFFFFFFF:#010x}"
        message = (
            f"{self.who(here)} waits in line {self.line} for the lanes of mask {self._mask()}, "
            f"thread {self.thread(other)} among them, {where}"
        )
        cause = (
            "All lanes that a mask names must make the same call with the same mask: take it out of the branch, or make the mask "
            "with __ballot_sync before it."
        )
        return None, None, message, cause

    def mask_exited(self):
        other = self.raw.other
        message = (
            f"{self.who(self.raw.here)} calls with mask {self._mask()}, which names thread {self.thread(other)}: "
            "it has returned without this call"
        )
        cause = "A mask must name the lanes that make the call: does a branch, or a return before it, keep some of them away?"
        return None, None, message, cause

    def warp_deadlock(self):
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        what = "the __syncthreads()" if self.raw.offset < 0 else "another warp operation"
        message = (
            f"{self.who(here)} waits in line {self.line} for the lanes of mask {self._mask()}, "
            f"thread {self.thread(other)} among them, which waits at {what} in line {self.other_line}"
        )
        return None, None, message, "They wait for each other for ever: all lanes of a warp must come to the same barrier."

    def assertion(self):
        message = f"{self.who(self.raw.here)} found this to be false: {self.raw.text.decode()}"
        cause = "The launch ends here, as on a GPU: what the kernel takes for granted does not hold for this thread."
        return None, None, message, cause

    def fault(self):
        cause = "C++ leaves open what happens then. A GPU goes on with some value or other; here the launch ends."
        return None, None, f"{self.who(self.raw.here)} {self.raw.text.decode()}", cause

    def _mask(self) -> str:
        return f"{self.raw.size:#010x}"
