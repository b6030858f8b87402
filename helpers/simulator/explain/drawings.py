"""The pictures of a tape: a story as `Why`, a launch as `Replay`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..findings.findings import Finding
from . import words
from .experiment import Experiment
from .formulas import Atom, Cell, Formula
from .pictures import Replay, Why, Window
from .scenes import Access, Frame, Order, Race, Term, WrongCell
from .steps import Step
from .story import Story
from .tape import Tape

_MOST_ROWS, _MOST_COLUMNS = 12, 32  # of an array in a picture
_MOST_VARIABLES = 3
_MOST_TERMS = 12


def why(story: Story, experiment: Experiment, about: str) -> Why:
    """Return the picture of a wrong output. Raises ValueError for a story that has none."""
    if story.cell < 0 or story.formula is None:
        raise ValueError(
            "the launch ended before there was an output: read the sentence of the check"
        )
    tape = story.tape
    want = np.asarray(story.expected)
    got = np.asarray(tape.outputs[story.output])
    wrong = np.flatnonzero(story.mask.reshape(-1))
    terms = _terms(story)
    used = {cell for term in terms for cell in term.cells}
    inputs = [
        _window(name, "input", np.asarray(value), [k for array, k in used if array == name])
        for name, value in tape.inputs.items()
        if isinstance(value, np.ndarray) and name != story.output and value.size > 1
    ]
    output = _window(story.output, "your output", got, [story.cell])
    cause = WrongCell(
        story.cell,
        None if story.is_unwritten else _number(story.got),
        _number(story.want),
        terms,
        words.doer(story),
        tuple(dict.fromkeys(one.line for one in story.causes)),
        words.note(story),
        _beside(story),
    )
    return Why(
        words.sentence(story),
        tuple(words.evidence(story, about)),
        words.how_many(len(wrong), want.size),
        tuple(experiment.source.rstrip().splitlines()),
        tuple(inputs),
        output,
        _window(story.output, "", want, [story.cell]).values,
        tuple(wrong.tolist()),
        (cause,),
    )


def _terms(story: Story) -> tuple[Term, ...]:
    """Return the terms of a wrong cell, present, missing and too many."""
    formula, right = story.formula, story.right
    assert formula is not None
    goal = right if right is not None else formula
    found = []
    both = {**formula.terms, **goal.terms}
    monomials = sorted(both, key=lambda one: Formula({one: 1}).term_texts)
    for monomial in monomials:
        own, other = formula.terms.get(monomial), goal.terms.get(monomial)
        state = "missing" if own is None or story.is_unwritten else (
            "added" if own == other else "surplus"
        )
        coefficient = other if own is None else own
        assert coefficient is not None
        term = Formula({monomial: coefficient})
        found.append(Term(term.term_texts[0], state, None, _cells(term)))
    order = {"missing": 0, "surplus": 1, "added": 2}
    kept = sorted(found, key=lambda one: order[one.state])[:_MOST_TERMS]
    return tuple(one for one in found if one in kept)


def _cells(term: Formula) -> tuple[tuple[str, int], ...]:
    atoms: set[Atom] = term.leaves()
    return tuple(
        (one.array, one.index)
        for one in sorted(atoms, key=str)
        if isinstance(one, Cell) and isinstance(one.index, int)
    )


def _window(name: str, kind: str, array: np.ndarray, cells: Sequence[int]) -> Window:
    """Return the part of an array around some of its cells. Leading axes become rows."""
    table = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array.reshape(1, -1)
    rows, columns = table.shape
    at = [divmod(k, columns) for k in cells if 0 <= k < table.size] or [(0, 0)]
    top = _start(min(r for r, _ in at), max(r for r, _ in at), rows, _MOST_ROWS)
    left = _start(min(c for _, c in at), max(c for _, c in at), columns, _MOST_COLUMNS)
    part = table[top : top + _MOST_ROWS, left : left + _MOST_COLUMNS]
    values = tuple(_number(one) for one in part.reshape(-1))
    shape = (int(part.shape[0]), int(part.shape[1]))
    return Window(name, kind, shape, values, (top, left), (rows, columns))


def _start(low: int, high: int, length: int, shown: int) -> int:
    """Return where a part of `shown` begins so that low to high are in its middle."""
    return max(0, min((low + high + 1 - shown) // 2, length - shown))


def _number(value: Any) -> float | int | None:
    """Return a number of a picture; None for what was never written."""
    if value is None:
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, complex):
        plain = plain.real
    return None if plain != plain else plain


def _beside(story: Story) -> dict[int, str]:
    """Return what the thread of the cause did in each line: the variables that it set."""
    if not story.causes:
        return {}
    found: dict[int, str] = {}
    block, thread = story.causes[0].thread
    for step in story.tape.thread(block, thread):
        text = ", ".join(f"{name} = {words.plain_value(v)}" for name, v in _set(step).items())
        if text:
            found[step.line] = text
    return found


def _set(step: Step) -> dict[str, Any]:
    """Return the numbers that a step has set, by variable."""
    before = step.before
    return {
        name: value
        for name, value in step.variables.items()
        if isinstance(value, np.generic) and "." not in name and before.get(name) != value
    }


def replay(
    tape: Tape, title: str, other: Tape | None = None, want: tuple[str, np.ndarray] | None = None
) -> Replay:
    """Return a launch of one block step by step. other: the same launch in another order; want: the
    right values of an array, by its name. Raises ValueError for a launch that is cut or has several
    blocks, and pictures.TooLarge.
    """
    if len(tape.blocks) != 1:
        raise ValueError(f"a replay shows one block, and {len(tape.blocks)} were recorded")
    if tape.is_cut:
        raise ValueError(tape.why_cut)
    threads = tape.threads
    flat = max(tape.block[1:]) == 1
    names = tuple(str(t[0]) if flat else f"({t[0]}, {t[1]})" for t in threads)
    layout = (1, len(threads)) if len(threads) <= 32 else (-(-len(threads) // 32), 32)
    if not flat and tape.block[2] == 1:
        layout = tape.block[1], tape.block[0]
    tapes = [tape] if other is None else [tape, other]
    order_names = words.orders(len(tapes))
    orders = tuple(
        Order(letter, note, tuple(_frames(one)))
        for (letter, note), one in zip(order_names, tapes, strict=True)
    )
    memory = _memory(tape, orders[0])
    shown = {one.name for one in memory}
    variables = list(dict.fromkeys(n for o in orders for f in o.frames for n in f.variables))
    if layout[0] > 1:  # a table of threads shows where each stands, and has room for one number
        places = [tuple(one[axis] for one in threads) for axis in (0, 1)]
        frames = [f for o in orders for f in o.frames]
        variables = [n for n in variables if not _are_places(n, frames, places)][:1]
    goal = None
    if want is not None and want[0] in shown:
        goal = (want[0], tuple(_number(one) for one in np.asarray(want[1]).reshape(-1)))
    return Replay(
        title,
        words.of_launch(tape.name, tape.block),
        tuple(tape.source.rstrip().splitlines()),
        names,
        layout,
        tuple(variables[:_MOST_VARIABLES]),
        memory,
        tuple(_kept(one, shown, variables[:_MOST_VARIABLES]) for one in orders),
        goal,
    )


def _are_places(name: str, frames: Sequence[Frame], places: Sequence[Sequence[int]]) -> bool:
    """Return whether a variable holds the column of each thread, or its row."""
    return any(
        all(
            list(one.variables[name]) == [axis[k] for k in one.threads]
            for one in frames
            if name in one.variables
        )
        for axis in places
    )


def _kept(order: Order, arrays: set[str], variables: Sequence[str]) -> Order:
    frames = tuple(
        Frame(
            one.line, one.threads, {n: v for n, v in one.variables.items() if n in variables},
            tuple(a for a in one.accesses if a.array in arrays),
            tuple(r for r in one.races if r.array in arrays),
        )
        for one in order.frames
    )  # fmt: skip
    return Order(order.name, order.note, frames)


def _frames(tape: Tape) -> list[Frame]:
    """Return the launch as lines that groups of threads did together."""
    groups: dict[tuple[int, int], list[tuple[int, Step]]] = {}
    (block,) = tape.blocks
    for number, thread in enumerate(tape.threads):
        for step in tape.thread(block, thread):
            groups.setdefault((step.at[0], step.line), []).append((number, step))
    races = [one for one in tape.findings if one.kind == "race"]
    frames = []
    for (_, line), group in sorted(groups.items()):
        threads = tuple(number for number, _ in group)
        steps = [step for _, step in group]
        frames.append(
            Frame(line, threads, _changes(steps), tuple(_accesses(steps)),
                  tuple(_races(tape, races, line, group)))
        )  # fmt: skip
    return frames


def _changes(steps: Sequence[Step]) -> dict[str, tuple[Any, ...]]:
    """Return the variables that all threads of a group have set."""
    every = [_set(step) for step in steps]
    names = [name for name in every[0] if all(name in one for one in every)]
    return {name: tuple(_number(one[name]) for one in every) for name in names}


def _accesses(steps: Sequence[Step]) -> list[Access]:
    """Return the accesses of a group by array and kind, in their order."""
    found: list[Access] = []
    columns = max((len(step.accesses) for step in steps), default=0)
    every = [step.accesses for step in steps]
    for k in range(columns):
        some = [one[k] if k < len(one) else None for one in every]
        first = next(one for one in some if one is not None)
        alike = [
            one if one is not None and (one.array, one.is_store) == (first.array, first.is_store)
            else None for one in some
        ]  # fmt: skip
        cells = tuple(_flat(one, steps) if one is not None else None for one in alike)
        values = tuple(_number(one.value) if one is not None else None for one in alike)
        kind = "w" if first.is_store else "r"
        found.append(Access(first.array, kind, cells, values if first.is_store else ()))
    return found


def _flat(one: Any, steps: Sequence[Step]) -> int | None:
    if isinstance(one.index, tuple):
        extents = steps[0]._log.arrays.by_name[one.array].extents
        return int(np.ravel_multi_index(one.index, extents)) if one.is_inside else None
    return one.index if one.is_inside else None


def _races(
    tape: Tape, findings: Sequence[Finding], line: int, group: Sequence[tuple[int, Step]]
) -> list[Race]:
    """Return the racing accesses of a group: to cells of the array of a finding that another thread
    accesses in the finding's other line.
    """
    found = []
    for one in findings:
        if line not in (one.line, one.other_line) or one.array is None or one.other_line is None:
            continue
        other_line = one.other_line if line == one.line else one.line
        for number, step in group:
            for access in step.accesses:
                if access.array != one.array:
                    continue
                for partner, theirs in _partners(tape, access, other_line):
                    if access.is_store or theirs.is_store:
                        kinds = ("w" if access.is_store else "r", "w" if theirs.is_store else "r")
                        cell = _flat(access, [step])
                        if cell is not None:
                            found.append(
                                Race(number, partner, access.array, cell, (line, other_line),
                                     kinds, theirs.at > access.at)
                            )  # fmt: skip
                        break
    return found[:16]


def _partners(tape: Tape, access: Any, line: int) -> list[tuple[int, Any]]:
    """Return the accesses of other threads to the same cell in a line."""
    return [
        (number, other)
        for number, thread in enumerate(tape.threads)
        if thread != access.thread
        for step in tape.thread(access.block, thread)
        if step.line == line
        for other in step.accesses
        if (other.array, other.index) == (access.array, access.index)
    ]


def partners(tape: Tape, race: Finding) -> list[int]:
    """Return the numbers of the threads that race with a finding's thread in the recorded block;
    the same threads do so in every block.
    """
    return [
        number
        for step in tape.thread(tape.blocks[0], race.thread)
        if step.line == race.line and race.other_line is not None
        for access in step.accesses
        if access.array == race.array
        for number, _ in _partners(tape, access, race.other_line)
    ]


def _memory(tape: Tape, order: Order) -> tuple[Window, ...]:
    """Return the arrays that the launch accesses, as they are before it: inputs, then shared ones.
    """
    used = dict.fromkeys(a.array for frame in order.frames for a in frame.accesses)
    found = []
    for name in used:
        place = tape.arrays.by_name.get(name)
        if place is None or place.count > 1_024:
            continue
        before = tape.inputs.get(name)
        if isinstance(before, np.ndarray):
            table = np.atleast_2d(before).reshape(-1, before.shape[-1])
            values = tuple(_number(v) if place.has_value else None for v in table.reshape(-1))
            shape = (int(table.shape[0]), int(table.shape[1]))
        else:
            columns = place.extents[-1] if len(place.extents) > 1 else place.count
            shape, values = (place.count // columns, columns), (None,) * place.count
        found.append(Window(name, place.space, shape, values))
    return tuple(sorted(found, key=lambda one: one.kind == "shared"))
