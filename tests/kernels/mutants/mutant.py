"""One wrong kernel, as edits of a kernel of kernels/."""

from __future__ import annotations

import re
from dataclasses import dataclass

from helpers import kernels
from helpers.exercises.judge import mutants
from helpers.exercises.judge.mutants import Edit


@dataclass(frozen=True)
class Mutant:
    """name: of its own, so that findings and errors tell which mutant they are of; kind: of the
    finding of the simulator, or else of the diagnosis of checking.check, that must reject it;
    original: the kernel that the edits change.
    """

    name: str
    kind: str
    edits: tuple[Edit, ...]
    original: str = ""

    @property
    def source(self) -> str:
        """Its source. Raises mutants.EditError where an edit no longer fits the kernel."""
        changed = mutants.edited(kernels.source(self.original), self.edits)
        return re.sub(rf"\b{self.original}\b", self.name, changed)


def wrong(name: str, kind: str, *edits: Edit) -> Mutant:
    """A row of the tables: it stands below the kernel that it is made from."""
    return Mutant(name, kind, edits)
