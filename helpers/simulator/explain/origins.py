"""Where the value of a cell comes from: who stored it, and the formula of its value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..launch.launch_limits import Extents
from .arrays import Index
from .formulas import Formula, cell_text


@dataclass(frozen=True)
class Writer:
    """A store of a thread to a cell: block, thread and line, and its place `at` in the order of the
    launch. It is a tuple of the first three to whoever unpacks it.
    """

    block: Extents
    thread: Extents
    line: int
    at: int = 0

    def __iter__(self) -> Iterator:
        return iter((self.block, self.thread, self.line))

    def __getitem__(self, k: int) -> Any:
        return (self.block, self.thread, self.line)[k]

    def __len__(self) -> int:
        return 3

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | Writer) else False

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True)
class CellOrigin:
    """Where the value of a cell comes from, at the end of the launch.

    writers: who stored to it, in order; formula: of its value; value: the value itself.
    """

    array: str
    index: Index
    member: str
    writers: list[Writer]
    formula: Formula
    value: Any

    @property
    def terms(self) -> list[str]:
        """The products that the value is the sum of, as texts: "N[1]*filter[1]"."""
        return self.formula.term_texts

    def __str__(self) -> str:
        name = cell_text(self.array, self.index, self.member)
        text = str(self.formula)
        if text == f"{name} as before the launch":
            return f"{name} is as before the launch"
        return f"{name} = {text}"
