"""One wrong kernel, as edits of a kernel of kernels/."""

from __future__ import annotations

import re
from dataclasses import dataclass

from helpers import kernels
from helpers.exercises.judge import mutants
from helpers.exercises.judge.mutants import Edit


@dataclass(frozen=True)
class Without:
    """The edit of `without`."""

    part: str

    def line_of(self, text: str) -> str:
        """The line. Raises mutants.EditError where not one line has the text."""
        lines = [line for line in text.splitlines(keepends=True) if self.part in line]
        if len(lines) != 1:
            raise mutants.EditError(f"{self.part!r} stands in {len(lines)} lines, must be in one")
        return lines[0]


@dataclass(frozen=True)
class Mutant:
    """name: of its own, so that findings and errors tell which mutant they are of; kind: of the
    finding of the simulator, or else of the diagnosis of checking.check, that must reject it;
    original: the kernel that the edits change.
    """

    name: str
    kind: str
    edits: tuple[Edit | Without, ...]
    original: str = ""

    @property
    def source(self) -> str:
        """Its source. Raises mutants.EditError where an edit no longer fits the kernel."""
        text = kernels.source(self.original)
        for edit in self.edits:
            one = (edit.line_of(text), "") if isinstance(edit, Without) else edit
            text = mutants.edited(text, (one,))
        return re.sub(rf"\b{self.original}\b", self.name, text)


def wrong(name: str, kind: str, *edits: Edit | Without) -> Mutant:
    """A row of the tables: it stands below the kernel that it is made from."""
    return Mutant(name, kind, edits)


def without(part: str) -> Without:
    """An edit that leaves out the only line with this text, such as words of its comment."""
    return Without(part)
