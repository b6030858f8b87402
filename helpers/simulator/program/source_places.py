"""The places of a kernel's instructions in its source: file, line, and the calls around them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np

from ..machine.library import operation_ids
from ..ptx.encode import Program

_NEAR = 16  # instructions
# Headers whose functions are called for the one instruction that they are.
_ITSELF = re.compile(r"chrono(?:\.h)?|sm_\d+_intrinsics\.hpp")
_OTHER_NAME = re.compile(r"(?:#|%:|\?\?=)(?:\s|/\*.*?\*/)*(?:line\b|\d)", re.DOTALL)


@cache
def _has_other_names(source: str) -> bool:
    """Return whether a source may give its own lines to other files, by #line."""
    joined = re.sub(r"\\[ \t]*\r?\n", "", source.replace("??/", "\\"))
    return _OTHER_NAME.search(joined) is not None


class SourcePlaces:
    """The places of a kernel's instructions.

    file, line: those of the kernel's definition; file_of: returns the name that findings give to a
    file of the debug information; source: the module's.
    """

    def __init__(
        self, program: Program, file: str, line: int, file_of: Callable[[str], str], source: str
    ):
        self._program, self._file, self._line, self._file_of = program, file, line, file_of
        self._source = source
        # A profile asks for the line of each request of a warp, and most requests of an instruction
        # are made in a loop: each place is worked out once.
        self._places: dict[tuple[int, int], tuple[str, int]] = {}
        self._frames_by_place: dict[int, tuple[tuple[str, int], ...]] = {}

    def place_of(self, pc: int, caller: int = 0) -> tuple[str, int]:
        """Return file and line of an instruction: those in the module's source if it is there, or
        if the source calls the code that has it.

        caller: 1 + the index of the call that led there, 0 if unknown; it decides the line for an
        instruction of a header. The file is `Compiled.file`, or the path of a header. If the
        compiler gives no place, the instruction has the place of the code before it.
        """
        if (place := self._places.get((pc, caller))) is None:
            place = self._places[pc, caller] = self._find_place(pc, caller)
        return place

    def _find_place(self, pc: int, caller: int) -> tuple[str, int]:
        own = self._file
        function = self._function_at(pc)
        frames = next(
            (
                f
                for near in self._before(pc, function)
                if (f := [one for one in self._frames(near) if one[1]])
            ),
            [],
        )
        if place := next((frame for frame in frames if frame[0] == own), None):
            return place
        if function > 0:
            call = self.place_of(caller - 1) if caller else self._place_of_call(function)
            if call[0] == own:
                return call
        if frames:
            return self._call_beside(pc, function, frames[-1]) or frames[0]
        return own, self._line

    def _call_beside(
        self, pc: int, function: int, frame: tuple[str, int]
    ) -> tuple[str, int] | None:
        """Return the place where the module's source calls the code at `frame` (a line of a
        header), from other instructions of that line.

        The compiler has lost the call of some instructions. The search begins with the instructions
        before `pc`, the nearest first.
        """
        first, end = (int(self._program.functions[name][function]) for name in ("first", "end"))
        near = sorted(range(first, end), key=lambda other: (other > pc, abs(other - pc)))
        for place in dict.fromkeys(self._program.instructions["place"][near].tolist()):
            frames = self._frames_of(place)
            if frame in frames:
                around = frames[frames.index(frame) :]
                if found := next((one for one in around if one[0] == self._file), None):
                    return found
        return None

    def _function_at(self, pc: int) -> int:
        """Return the number of the function that has an instruction; 0 is the kernel."""
        functions = self._program.functions
        holding = np.flatnonzero((functions["first"] <= pc) & (pc < functions["end"]))
        return int(holding[0]) if len(holding) else 0

    def _before(self, pc: int, function: int) -> range:
        """Return an instruction and those before it from which its line may follow."""
        return range(pc, max(pc - _NEAR, int(self._program.functions["first"][function]) - 1), -1)

    def _place_of_call(self, function: int) -> tuple[str, int]:
        """Return the first place in the module's source that calls a function, directly or through
        others; ("", 0) if there is none.
        """
        program, own = self._program, self._file
        calls = np.flatnonzero(program.instructions["operation"] == operation_ids().get("call", -1))
        targets = program.instructions["target"][calls]
        waiting, seen = [function], set()
        while waiting:
            callee = waiting.pop(0)
            seen.add(callee)
            for call in calls[targets == callee].tolist():
                if place := next(
                    (frame for frame in self._frames(call) if frame[0] == own and frame[1]), None
                ):
                    return place
                if (caller := self._function_at(call)) not in seen:
                    waiting.append(caller)
        return "", 0

    def is_of_a_header(self, pc: int) -> bool:
        """Return whether a function of a header has an instruction for purposes of its own: the
        source has called the function for something else. The functions of a clock, and those
        that are one instruction, are called for just that.
        """
        if _has_other_names(self._source):
            return False
        files = [file for file, line in self._frames(pc) if line]
        inner = files[: files.index(self._file)] if self._file in files else files
        return any(not _ITSELF.fullmatch(file) for file in inner)

    def files_of(self, pc: int) -> set[str]:
        """Return the files of an instruction and of the inlined calls that lead to it."""
        return {file for file, _line in self._frames(pc)}

    def line_of(self, pc: int) -> int:
        """Return the line of the module's source that an instruction belongs to, 0 for none."""
        file, line = self.place_of(pc)
        return line if file == self._file else 0

    def calls_around(self, pc: int) -> tuple[int, ...]:
        """Return the lines of the inlined calls around an instruction, outer calls first."""
        frames = self._frames(pc)
        own = [line for file, line in frames if file == self._file]
        return tuple(reversed(own[1:]))

    def calls_to(self, pc: int) -> tuple[int, ...]:
        """Return the lines of the calls that lead to the call at `pc`, and its own line, outer
        calls first.
        """
        return (*self.calls_around(pc), self.line_of(pc))

    def _frames(self, pc: int) -> tuple[tuple[str, int], ...]:
        """Return (file, line) of an instruction and the inlined calls around it, inner first."""
        if not 0 <= pc < len(self._program.instructions):
            return (("", 0),)
        return self._frames_of(self._program.instructions["place"][pc])

    def _frames_of(self, number: int) -> tuple[tuple[str, int], ...]:
        """Return the frames of one of the program's places."""
        if (frames := self._frames_by_place.get(number)) is None:
            place = self._program.places[number]
            frames = self._frames_by_place[number] = tuple(
                (self._file_of(file), line)
                for file, line in ((place.file, place.line), *place.inlined)
            )
        return frames
