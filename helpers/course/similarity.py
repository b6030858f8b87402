"""Answers that are alike, as a list for an instructor to look at. It is never a verdict.

Names, numbers' spelling, comments and spacing are taken away. Of two texts the longest runs of
words and signs that they have in common are found, one after another (greedy string tiling, by
Wise, as in JPlag). The share of a text's own words that lies in such runs is found for both, and
the larger one says how alike they are: a statement more, or two in another order, hides no copy.
What is in the stub is nobody's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Any

from helpers import exercises, kernel_cells, labs

RUN = 9  # words and signs of the shortest run that counts
ALIKE = 0.9  # share from which two answers are told
MOST_TEXTS = 4  # of a group, to look at
FEWEST = 30  # words and signs of a student's own: fewer say nothing

_KEPT_WORDS = frozenset((
    "if", "else", "for", "while", "do", "return", "break", "continue",
    "const", "float", "int", "unsigned", "double", "half", "void",
    "__shared__", "__global__", "__device__", "__constant__", "__syncthreads", "__syncwarp",
    "threadIdx", "blockIdx", "blockDim", "gridDim",
    "def", "import", "lambda", "and", "or", "not", "in",
))
_MEMBERS = frozenset("xyzw")  # of CUDA's own structures: kept behind a dot


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


def words(text: str) -> tuple[str, ...]:
    """Return the words and signs of a text, names as N and numbers as 0; words of the language and
    the members x, y, z and w stay. Before and behind it are empty words, so that a short end of it
    lies in a run, too.
    """
    plain = [""] * RUN
    for word in kernel_cells.tokens(re.sub(r"#[^\n]*", "", text)):
        is_member = word in _MEMBERS and plain[-1:] == ["."]
        if word in _KEPT_WORDS or is_member or not re.match(r"\w", word):
            plain.append("".join(word.split()))  # a literal has spaces, too
        else:
            plain.append("0" if word[0].isdigit() else "N")
    return (*plain, *[""] * RUN)


class Text:
    """The words of an answer; is_own: of each whether it is the student's own."""

    def __init__(self, text: str, stub: Text | None = None):
        self.words = words(text)
        self.runs = [hash(self.words[k : k + RUN]) for k in range(len(self.words) - RUN + 1)]
        self.places: dict[int, list[int]] = {}  # where a run of RUN words begins
        for k, run in enumerate(self.runs):
            self.places.setdefault(run, []).append(k)
        given = _shared(self, stub)[0] if stub else [False] * len(self.words)
        self.is_own = [not one for one in given]
        self.count = sum(self.is_own)

    def share(self, found: Sequence[bool]) -> float:
        """Return the share of its own words that were found elsewhere."""
        return sum(map(bool.__and__, self.is_own, found)) / max(self.count, 1)


def share(a: Text, b: Text) -> float:
    """Return how alike two answers are, from 0 to 1."""
    if a.words == b.words:
        return 1.0
    in_a, in_b = _shared(a, b)
    return max(a.share(in_a), b.share(in_b))


def _shared(a: Text, b: Text) -> tuple[list[bool], list[bool]]:
    """Return of each word of two texts whether it lies in a run of RUN words or more that stands in
    both. The longest runs go first, and each word is in one run at most.
    """
    found: list[tuple[int, int, int]] = []  # words of a run, where it begins in `a` and in `b`
    until: dict[int, int] = {}  # by i - j: where the last run of it ends in `a`
    for i, run in enumerate(a.runs):
        for j in b.places.get(run, ()):
            if until.get(i - j, 0) > i:
                continue
            n = RUN
            rest = zip(a.words[i + n :], b.words[j + n :], strict=False)
            n += sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
            until[i - j] = i + n
            found.append((n, i, j))
    in_a, in_b = [False] * len(a.words), [False] * len(b.words)
    for n, i, j in sorted(found, key=lambda one: (-one[0], one[1:])):
        free = 0
        for k in range(n + 1):  # what others have left of it, in pieces
            if k < n and not in_a[i + k] and not in_b[j + k]:
                free += 1
                continue
            if free >= RUN:
                in_a[i + k - free : i + k] = in_b[j + k - free : j + k] = [True] * free
            free = 0
    return in_a, in_b


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
    texts = {one["student"]: one["text"] for one in mine}
    stub = Text(exercise.stub)
    every = {student: Text(text, stub) for student, text in texts.items()}
    of = {student: text for student, text in every.items() if text.count >= FEWEST}
    ours = Text(exercise.solution, stub)
    # Equal texts are compared once.
    different = {text.words: text for text in (*of.values(), ours)}
    alike = {
        frozenset((a, b)): found
        for a, b in combinations(different, 2)
        if (found := share(different[a], different[b])) >= ALIKE
    }

    def between(a: Text, b: Text) -> float:
        return 1.0 if a.words == b.words else alike.get(frozenset((a.words, b.words)), 0.0)

    made, seen = [], set()
    for student in sorted(of):
        if student in seen:
            continue
        group, more = set(), {student}
        while more:  # all that hang together
            group |= more
            more = {b for b in of if any(between(of[a], of[b]) for a in more)} - group
        seen |= group
        copies = [student for student in group if between(of[student], ours)]
        if len(group) == 1 and not copies:
            continue
        least = [
            between(of[a], of[b]) or share(of[a], of[b]) for a, b in combinations(sorted(group), 2)
        ]
        with_ours = [between(of[a], ours) for a in copies]
        names = tuple(sorted(group))
        some = tuple((one, texts[one]) for one in names[:MOST_TEXTS])
        made.append(Group(lab, name, names, min([*least, *with_ours]), bool(copies), some))
    return made
