"""Answers that are alike, as a list for an instructor to look at. It is never a verdict.

Names, numbers' spelling, comments and spacing are taken away; what is left is cut into pieces of a
few words each, of which some are kept (winnowing, by Schleimer, Wilkerson and Aiken). Two answers
are as alike as the share of kept pieces that they have in common. Pieces of the stub do not count.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from helpers import exercises, kernel_cells, labs

PIECE = 12  # words and signs of a piece
WINDOW = 6  # pieces of which at least one is kept
ALIKE = 0.85  # share of kept pieces from which two answers are told
MOST_TEXTS = 4  # of a group, to look at
FEWEST = 8  # kept pieces: fewer say nothing

_KEPT_WORDS = frozenset((
    "if", "else", "for", "while", "do", "return", "break", "continue",
    "const", "float", "int", "unsigned", "double", "half", "void",
    "__shared__", "__global__", "__device__", "__constant__", "__syncthreads", "__syncwarp",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "x", "y", "z",
    "def", "import", "np", "lambda", "and", "or", "not", "in",
))


@dataclass(frozen=True)
class Group:
    """Students whose answers to an exercise are alike; share: of the least alike pair; solution:
    whether the course's own solution is among them; texts: of some of them, by student.
    """

    lab: str
    exercise: str
    students: tuple[str, ...]
    share: float
    solution: bool
    texts: tuple[tuple[str, str], ...]

    @property
    def number(self) -> str:
        """Of the lab."""
        return labs.number(self.lab)

    @property
    def is_alone(self) -> bool:
        """Whether one student's answer is like the course's own, and no other one's."""
        return len(self.students) == 1


def pieces(text: str, without: frozenset[int] = frozenset()) -> frozenset[int]:
    """Return the kept pieces of a text, as numbers."""
    words = [_plain(word) for word in kernel_cells.tokens(re.sub(r"#[^\n]*", "", text))]
    whole = [
        int.from_bytes(
            hashlib.blake2b(" ".join(words[k : k + PIECE]).encode(), digest_size=8).digest(), "big"
        )
        for k in range(max(len(words) - PIECE + 1, 1))
    ]
    kept = {min(whole[k : k + WINDOW]) for k in range(max(len(whole) - WINDOW + 1, 1))}
    return frozenset(kept - without)


def _plain(word: str) -> str:
    """Return a name as N, a number as 0; words of the language stay."""
    if word in _KEPT_WORDS or not re.match(r"\w", word):
        return word
    return "0" if word[0].isdigit() else "N"


def share(a: frozenset[int], b: frozenset[int]) -> float:
    """Return the share of pieces that two texts have in common."""
    return len(a & b) / max(len(a | b), 1)


def groups(results: Iterable[Mapping[str, Any]]) -> list[Group]:
    """Return the groups of answers that are alike, of each exercise, the most alike first."""
    by: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for result in results:
        if result.get("text") and result["status"] not in ("not_begun", "refused"):
            by.setdefault((result["lab"], result["exercise"]), []).append(result)
    found = []
    for (lab, name), mine in by.items():
        found += _of_exercise(lab, name, mine)
    return sorted(found, key=lambda one: (-one.share, one.lab, one.exercise, one.students))


def _of_exercise(lab: str, name: str, mine: Sequence[Mapping[str, Any]]) -> list[Group]:
    exercise = exercises.find(name)
    stub = pieces(exercise.stub)
    texts = {one["student"]: one["text"] for one in mine}
    kept = {student: pieces(text, stub) for student, text in texts.items()}
    kept = {student: one for student, one in kept.items() if len(one) >= FEWEST}
    own = pieces(exercise.solution, stub)
    near: dict[str, set[str]] = {}
    for a, b in combinations(sorted(kept), 2):
        if share(kept[a], kept[b]) >= ALIKE:
            near.setdefault(a, {a}).add(b)
            near.setdefault(b, {b}).add(a)
    copies = {student for student, one in kept.items() if share(one, own) >= ALIKE}
    made, seen = [], set()
    for student in sorted({*near, *copies}):
        if student in seen:
            continue
        group, more = set(), {student}
        while more:  # all that hang together
            group |= more
            more = {b for a in more for b in near.get(a, ())} - group
        seen |= group
        least = [share(kept[a], kept[b]) for a, b in combinations(sorted(group), 2)]
        with_own = [share(kept[a], own) for a in group if a in copies]
        names = tuple(sorted(group))
        some = tuple((one, texts[one]) for one in names[:MOST_TEXTS])
        made.append(
            Group(lab, name, names, min([*least, *with_own]), bool(group & copies), some)
        )
    return made
