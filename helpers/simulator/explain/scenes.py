"""What the pictures of a launch show, as data: terms of a wrong output, frames of a launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Number = float | int | None  # None: without a value
Cell = tuple[str, int]  # an array's name, and the flat index


@dataclass(frozen=True)
class Term:
    """A summand of an output. state: "added", "missing" or "surplus"; value: None where unknown;
    cells: those that it multiplies.
    """

    text: str
    state: str
    value: Number
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class WrongCell:
    """An output that is wrong. cell: its flat index; thread: who should store it, in words; lines:
    at fault, the first one with `note` below it; beside: what the thread did in a line, in words;
    skipped: lines that it left out.
    """

    cell: int
    got: Number
    want: Number
    terms: tuple[Term, ...]
    thread: str
    lines: tuple[int, ...] = ()
    note: str = ""
    beside: Mapping[int, str] = field(default_factory=dict)
    skipped: tuple[int, ...] = ()


@dataclass(frozen=True)
class Access:
    """What the threads of a frame did to an array. kind: "r" or "w"; cells: in the order of the
    frame's threads, None where a thread took no part; values: of a store.
    """

    array: str
    kind: str
    cells: tuple[int | None, ...]
    values: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Race:
    """Two accesses that nothing orders. thread: the one in this frame, and `other`; lines, kinds:
    theirs, in this order; is_later: the other one is still to come.
    """

    thread: int
    other: int
    array: str
    cell: int
    lines: tuple[int, int]
    kinds: tuple[str, str]
    is_later: bool


@dataclass(frozen=True)
class Frame:
    """One line by one group of threads. threads: their numbers; variables: new values, in the order
    of the threads.
    """

    line: int
    threads: tuple[int, ...]
    variables: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    accesses: tuple[Access, ...] = ()
    races: tuple[Race, ...] = ()


@dataclass(frozen=True)
class Order:
    """A launch in one order. name: "A" or "B"; note: which threads run ahead, in words."""

    name: str
    note: str
    frames: tuple[Frame, ...]
