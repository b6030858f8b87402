"""Every sentence that a story or a picture of one says, made from data, in plain English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helpers.simulator.explain.patterns import Condition, Pattern

if TYPE_CHECKING:
    from helpers.simulator.explain.scenes import Frame, Order, Race, WrongCell
    from helpers.simulator.explain.story import Cause, Choice, Origin, Story, Thread

_ORDINALS = dict(enumerate(("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"), 2))


def cell(name: str, index: Sequence[int]) -> str:
    """Return a cell as a program writes it: "P[4]", "P[1][2]"."""
    return name + "".join(f"[{one}]" for one in index)


def series(items: Sequence[str], last: str = "and") -> str:
    """Return "a", "a and b", "a, b and c"."""
    *first, end = items
    return f"{', '.join(first)} {last} {end}" if first else end


def which(found: Pattern, name: str) -> str:
    """Return the wrong cells of an array in words: "the cells of P with threadIdx.x = 0 in later
    blocks"; their number alone where no description is exact.
    """
    if found.is_all:
        is_one = found.total == 1
        return f"{name}, the only value" if is_one else f"all {found.total:,} cells of {name}"
    if not found.conditions:
        if found.cells:
            return series([cell(name, one) for one in found.cells])
        return f"{found.count:,} of the {found.total:,} cells of {name}"
    # Threads before blocks, rows before channels: the smaller part first.
    conditions = sorted(found.conditions, key=lambda one: (_order(one.axis), one.value))
    if found.join == "or":
        return _either(conditions[0], conditions[1], name)
    first, *others = conditions
    if not others:
        return _said(first, name)
    (other,) = others
    if other.axis == first.axis:
        start, end = sorted((first, other), key=lambda one: one.relation != "from")
        return f"{_many(start.axis)} {start.value:,} to {end.value - 1:,} of {name}"
    return f"{_said(first, name)} in {_place(other)}"


_ORDER = ("cell", "border", "diagonal", "column", "row", "channel", "image", "group")


def _order(axis: str) -> int:
    return _ORDER.index(axis) if axis in _ORDER else len(_ORDER) + axis.startswith("block")


def _either(one: Condition, other: Condition, name: str) -> str:
    """Return two values of one axis: "the first and the last row", "rows 1 and 3"."""
    axis = one.axis
    values = [
        "the first"
        if k.value == 0 and other.is_last
        else "the last"
        if k.is_last
        else f"{axis} {k.value:,}"
        for k in (one, other)
    ]
    if values == ["the first", "the last"]:
        return f"the first and the last {axis} of {name}"
    if axis == "cell":
        return f"{name}[{one.value}] and {name}[{other.value}]"
    both = f"{one.value:,} and {other.value:,}"
    if axis.startswith("thread"):
        return f"the cells of {name} of threads with {axis} = {both.replace('and', 'or')}"
    return f"{_many(axis)} {both} of {name}"


def _many(axis: str) -> str:
    return f"{axis}s"


def _said(one: Condition, name: str) -> str:
    """Return a condition as the cells that it holds for."""
    axis, value, last = one.axis, one.value, one.extent - 1
    if axis.startswith("thread"):
        return f"the cells of {name} of threads with {_compared(one)}"
    if axis.startswith("block"):
        return f"the cells of {name} of {_place(one)}"
    if axis == "diagonal":
        return f"the cells of {name} {'on' if one.relation == 'is' else 'off'} the diagonal"
    if axis == "border":
        near = "at the border" if value == 1 else f"within {value} of the border"
        return f"the cells of {name} {near}"
    many = _many(axis)
    match one.relation:
        case "is" if axis == "cell":
            return f"{name}[{value}]"
        case "is" if value == last > 1:
            return f"the last {axis} of {name}"
        case "is":
            return f"{axis} {value} of {name}"
        case "is not" if value in (0, last):
            return f"all {many} of {name} but the {'first' if value == 0 else 'last'}"
        case "is not":
            return f"all {many} of {name} but {axis} {value}"
        case "from" if value == 1:
            return f"all {many} of {name} but the first"
        case "from" if value == last:
            return f"the last {axis} of {name}"
        case "from":
            return f"the {many} of {name} from {axis} {value:,} on"
        case "before" if value == 1:
            return f"the first {axis} of {name}"
        case "before" if value == last:
            return f"all {many} of {name} but the last"
        case "before":
            return f"the first {value:,} {many} of {name}"
        case "modulo":
            return f"every {_nth(one.modulus)} {axis} of {name}, from {axis} {value} on"
    raise ValueError(f"no words for {one}")


def _is_one_line(found: Pattern) -> bool:
    """Return whether `which` begins with one row, column or channel: "row 1 of P"."""
    if found.is_all or not found.conditions or found.join == "or":
        return False
    first = min(found.conditions, key=lambda one: (_order(one.axis), one.value))
    is_range = any(one.axis == first.axis for one in found.conditions if one is not first)
    is_line = not first.axis.startswith(("thread", "block", "cell", "diagonal", "border"))
    last = first.extent - 1
    return is_line and not is_range and (first.relation, first.value) in (
        ("is", first.value), ("from", last), ("before", 1)
    )  # fmt: skip


def _place(one: Condition) -> str:
    """Return a condition as the place in which other cells are: "later blocks", "row 2"."""
    axis, value, last = one.axis, one.value, one.extent - 1
    if axis.startswith("thread"):
        return f"threads with {_compared(one)}"
    if axis.startswith("blockIdx"):
        return f"blocks with {_compared(one)}"
    match one.relation:
        case "is" if value == last > 1:
            return f"the last {axis}"
        case "is":
            return f"{axis} {value}"
        case "is not" if value not in (0, last):
            return f"every {axis} but {axis} {value}"
        case "from" | "is not" if value in (0, 1) and (one.relation == "from" or value == 0):
            return f"later {axis}s"
        case "is not":
            return f"every {axis} but the last"
        case "from" if value == last:
            return f"the last {axis}"
        case "from":
            return f"the {axis}s from {axis} {value} on"
        case "before" if value == 1:
            return f"{axis} 0"
        case "before" if value == last:
            return f"every {axis} but the last"
        case "before":
            return f"the first {value} {axis}s"
        case "modulo":
            return f"every {_nth(one.modulus)} {axis}, from {axis} {value} on"
    raise ValueError(f"no words for {one}")


def _compared(one: Condition) -> str:
    """Return a condition as a program writes it."""
    match one.relation:
        case "is":
            return f"{one.axis} = {one.value}"
        case "is not":
            return f"{one.axis} != {one.value}"
        case "from":
            return f"{one.axis} >= {one.value}"
        case "before":
            return f"{one.axis} < {one.value}" if one.value > 1 else f"{one.axis} = 0"
        case "modulo":
            return f"{one.axis} % {one.modulus} = {one.value}"
    raise ValueError(f"no words for {one}")


def _nth(number: int) -> str:
    return _ORDINALS.get(number, f"{number}th" if number % 10 not in (1, 2, 3) else f"{number}.")


# ---- pictures ----

WHY_HEAD = ("output", "your value", "right value", "in the sum", "missing", "too much")
REPLAY_HEAD = ("step", "threads", "what happens")
BEFORE_LAUNCH = "Before the launch. Cells with a dashed border have no value yet."


def number(value: float | int | None) -> str:
    """Return a value as a picture and a sentence show it: at most 6 digits; "?" for none."""
    if value is None:
        return "?"
    return f"{value}" if isinstance(value, (int, str)) else f"{value:.6g}"


def why_row(name: str, one: WrongCell) -> tuple[str, ...]:
    """Return the row of a wrong cell in a table with the columns of WHY_HEAD."""
    terms = [
        " + ".join(term.text for term in one.terms if term.state == state) or "–"
        for state in ("added", "missing", "surplus")
    ]
    got = "never stored" if one.got is None else number(one.got)
    return f"{name}[{one.cell}]", got, number(one.want), *terms


def why_alt(name: str, one: WrongCell) -> str:
    """Return what the drawing of a wrong cell shows."""
    added, missing, surplus = (
        series([term.text for term in one.terms if term.state == state] or ["nothing"])
        for state in ("added", "missing", "surplus")
    )
    return f"{name}[{one.cell}] adds {added}. Missing: {missing}. Too much: {surplus}."


def threads_of(numbers: Sequence[int], names: Sequence[str]) -> str:
    """Return threads in words: "all threads", "threads 0 to 3 and 7"."""
    if len(numbers) == len(names) > 1:
        return "all threads"
    runs: list[list[int]] = []
    for one in numbers:
        if runs and runs[-1][1] == one - 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    said = [names[a] if a == b else f"{names[a]} to {names[b]}" for a, b in runs]
    return f"thread{'s' if len(numbers) > 1 else ''} {series(said)}"


def of_frame(frame: Frame, names: Sequence[str]) -> str:
    """Return what happens in a frame of a replay: one sentence, each act with who did it."""
    acts: dict[tuple[int, ...], list[tuple[str, str]]] = {}
    if frame.variables:
        acts[frame.threads] = [("set", series(list(frame.variables)))]
    for kind, verb in (("r", "read"), ("w", "write")):
        arrays: dict[tuple[int, ...], list[str]] = {}
        for access in (one for one in frame.accesses if one.kind == kind):
            pairs = zip(frame.threads, access.cells, strict=True)
            doers = tuple(thread for thread, cell in pairs if cell is not None)
            if access.array not in arrays.setdefault(doers, []):
                arrays[doers].append(access.array)
        for doers, touched in arrays.items():
            acts.setdefault(doers, []).append((verb, series(touched)))
    clauses = []
    for doers, done in acts.items():
        ending = "s" if len(doers) == 1 else ""
        said = series([f"{verb}{ending} {what}" for verb, what in done])
        clauses.append(f"{threads_of(doers, names)} {said}")
    if not clauses:
        go = "goes on" if len(frame.threads) == 1 else "go on"
        clauses = [f"{threads_of(frame.threads, names)} {go}"]
    return f"Line {frame.line}: {'; '.join(clauses)}."


_VERBS = {"r": ("reads", "has read"), "w": ("writes", "has written")}


def of_race(race: Race, names: Sequence[str], cell_text: str) -> str:
    """Return a race in a replay: who does what, in which line, and what keeps no order. cell_text:
    the cell, as a program writes it.
    """
    line, other_line = race.lines
    kind, other_kind = race.kinds
    me, other = names[race.thread], names[race.other]
    first = f"Line {line}: thread {me} {_VERBS[kind][0]} {cell_text}."
    if race.is_later:
        act = "writes" if other_kind == "w" else "reads"
        return (
            f"{first} Thread {other} {act} it in line {other_line}, later. Nothing orders the two."
        )
    return (
        f"{first} Thread {other} {_VERBS[other_kind][1]} it in line {other_line}. "
        "Nothing orders the two: here that came first."
    )


def by_luck(has_race: bool) -> str:
    """Return how a right result of a replay is called."""
    return "right, by luck" if has_race else "right"


def end_of(order: Order) -> str:
    """Return the last sentence of an order. It asks, and never gives the fix."""
    race = next((one for frame in order.frames for one in frame.races), None)
    if race is None:
        return "The end."
    low, high = sorted(race.lines)
    if low == high:
        return f"The end. What must order two threads in line {low}?"
    return f"The end. What must come between lines {low} and {high}?"


# ---- stories

MOST_WORDS = 20  # of the sentence of a story
MOST_TERMS = 5  # of a formula that is shown whole
UNKNOWN = "I do not know the cause."
_SMALLEST = "the smallest case that shows it"


def lines_of(story: Story, about: str) -> list[str]:
    """Return a story as text: its sentence, then two lines of evidence. about: the case."""
    return [sentence(story), *evidence(story, about)]


def sentence(story: Story) -> str:
    """Return the cause of a story in at most MOST_WORDS words; without one, what was seen."""
    if not story.causes:
        seen = _seen(story)
        return f"{seen} {UNKNOWN}" if seen else UNKNOWN
    cause = story.causes[0]
    candidates = list(_SENTENCES[cause.kind](story, cause))
    return next((one for one in candidates if count_of_words(one) <= MOST_WORDS), candidates[-1])


def count_of_words(text: str) -> int:
    """Return the words of a sentence: a piece of code is one, and so is "i = 3"."""
    return len(re.sub(r"\S+ = \S+", "value", re.sub("`[^`]*`", "code", text)).split())


def evidence(story: Story, about: str) -> list[str]:
    """Return the lines that show a story's sentence."""
    lines = []
    if story.cell >= 0:
        start = f"In {_SMALLEST} ({about}), " if about else ""
        lines.append(f"{start}{_formulas(story)}")
    elif about:
        lines.append(f"{_SMALLEST.capitalize()}: {about}.")
    if story.causes:
        lines.append(" ".join(_shown(story, cause) for cause in story.causes[:2]))
    elif story.wrong is not None and not story.wrong.is_all and story.wrong.count > 1:
        lines.append(f"Wrong: {which(story.wrong, story.output)}.")
    return [one for one in lines if one]


def thread_text(story: Story, thread: Thread) -> str:
    """Return a thread as a sentence names it: "thread 3 of block 1", "thread (1, 0)"."""
    block, own = thread
    text = f"thread {_extents(own, story.block)}"
    return text if max(story.grid) == 1 else f"{text} of block {_extents(block, story.grid)}"


def _extents(one: Sequence[int], of: Sequence[int]) -> str:
    used = 3 if of[2] > 1 else 2 if of[1] > 1 else 1
    return f"{one[0]}" if used == 1 else f"({', '.join(map(str, one[:used]))})"


def _with(values: Mapping[str, Any], least: int = 1) -> str:
    """Return " with i = 0, j = 2"; "" for no values."""
    said = [f"{name} = {plain_value(value)}" for name, value in values.items()]
    return f" with {', '.join(said)}" if len(said) >= least else ""


def plain_value(value: Any) -> str:
    """Return a variable's value as a sentence shows it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "true" if value else "false"
    return (
        f"{float(value):g}"
        if isinstance(value, float) or "float" in type(value).__name__
        else (f"{int(value)}")
    )


def _truth(choice: Choice) -> str:
    return "true" if choice.is_true else "false"


def _output(story: Story) -> str:
    """Return the cell of the output, by all its indices if it has several."""
    at = story.cell
    index = np.unravel_index(at, story.shape) if len(story.shape) > 1 else (at,)
    return cell(story.output, [int(one) for one in index])


class _Subject(NamedTuple):
    """What is wrong, in words: one cell or a pattern; is_plural: what its verb must be."""

    text: str
    is_cell: bool
    is_plural: bool


def _subjects(story: Story) -> Iterator[_Subject]:
    """Yield what is wrong: the pattern, then one cell."""
    wrong = story.wrong
    is_said = wrong is not None and (wrong.conditions or wrong.is_all)
    if wrong is not None and is_said and wrong.count > 1 and story.are_alike:
        text = which(wrong, story.output)
        yield _Subject(text[0].upper() + text[1:], False, not _is_one_line(wrong))
    yield _Subject(_output(story), True, False)


def _term_words(terms: Sequence[str], is_one: bool) -> str:
    if is_one and len(terms) == 1:
        return terms[0]
    return "a term" if len(terms) == 1 else f"{len(terms)} terms"


def _of_decision(story: Story, cause: Cause) -> Iterator[str]:
    choice = cause.choice
    assert choice is not None
    said = [
        f"line {cause.line}, `{text}` is {_truth(choice)}{values}"
        for text in dict.fromkeys((choice.condition, choice.part))
        for values in dict.fromkeys((_with(choice.values), ""))
    ]
    if cause.place is not None:
        verb = "writes" if cause.place.is_store else "reads"
        who = thread_text(story, cause.thread).capitalize()
        unset = ", which no thread has stored" if cause.place.is_inside else ""
        yield from (f"{who} {verb} {cause.place.element}{unset}: {one}." for one in said)
        return
    for subject in _subjects(story):
        for one in said:
            yield f"{_fault(story, subject)}: {one}."


def _fault(story: Story, subject: _Subject) -> str:
    """Return what is wrong with some cells: "P[4] lacks N[3]*filter[0]"."""
    text, is_cell, is_plural = subject
    if story.is_unwritten:
        return f"No thread stores {text if is_cell else text[0].lower() + text[1:]}"
    if story.missing and not story.surplus:
        return f"{text} {'lack' if is_plural else 'lacks'} {_term_words(story.missing, is_cell)}"
    if story.surplus and not story.missing:
        terms = _term_words(story.surplus, is_cell)
        return f"{text} {'have' if is_plural else 'has'} {terms} too many"
    return f"{text} {'are' if is_plural else 'is'} wrong"


def _of_index(story: Story, cause: Cause) -> Iterator[str]:
    place = cause.place
    assert place is not None
    for text in dict.fromkeys((place.text, place.element) if place.text else ()):
        for values in dict.fromkeys((_with(place.values), "")):
            yield (
                f"Line {cause.line} reads {place.element} where {cause.belongs} belongs: "
                f"`{text}`{values}."
            )
    yield f"Line {cause.line} reads {place.element} where {cause.belongs} belongs."


def _of_store(story: Story, cause: Cause) -> Iterator[str]:
    place = cause.place
    assert place is not None
    who = thread_text(story, cause.thread).capitalize()
    start = f"{who} stores to {place.element} where {cause.belongs} belongs: line {cause.line}"
    for values in dict.fromkeys((_with(place.values), "")) if place.text else ():
        yield f"{start}, `{place.text}`{values}."
    yield f"{start}."


def _of_variable(story: Story, cause: Cause) -> Iterator[str]:
    who = thread_text(story, cause.thread)
    text = cause.origins[0].text if cause.origins else ""
    value, other = plain_value(cause.value), cause.belongs_value
    if text:
        yield (
            f"Line {cause.line}, `{cause.name} = {text}`, gives {who} {cause.name} = {value}; "
            f"{other} belongs there."
        )
    yield f"In line {cause.line}, {who} gets {cause.name} = {value}; {other} belongs there."


def _of_skipped(story: Story, cause: Cause) -> Iterator[str]:
    choice, place = cause.choice, cause.place
    assert choice is not None and place is not None
    for values in dict.fromkeys((_with(choice.values), "")):
        yield (
            f"{_output(story)} lacks {cause.belongs}: line {cause.line}, `{choice.condition}` is "
            f"{_truth(choice)}{values}."
        )


def _of_idle(story: Story, cause: Cause) -> Iterator[str]:
    choice = cause.choice
    assert choice is not None
    for values in dict.fromkeys((_with(choice.values), "")):
        for subject in _subjects(story):
            yield (
                f"{_fault(story, subject)}: line {cause.line}, `{choice.condition}` is "
                f"{_truth(choice)}{values}."
            )


def _of_unset(story: Story, cause: Cause) -> Iterator[str]:
    place = cause.place
    assert place is not None
    array = place.element.partition("[")[0]
    if cause.name == "own":
        who = thread_text(story, cause.thread)
        yield (
            f"Each thread has its own `{array}`: {who} never stored {place.element}, which line "
            f"{cause.line} reads."
        )
        return
    if cause.choice is not None:
        yield (
            f"No thread stores {place.element}, which line {cause.line} reads: line "
            f"{cause.choice.line}, `{cause.choice.condition}` is {_truth(cause.choice)}."
        )
    yield f"Line {cause.line} reads {place.element}, which no thread has stored."


def _of_copy(story: Story, cause: Cause) -> Iterator[str]:
    place, copy = cause.place, cause.other
    assert place is not None and copy is not None
    yield (
        f"Line {cause.line} reads {place.element} before the asynchronous copy of line {copy.line} "
        "has been waited for."
    )


def _of_kept(story: Story, cause: Cause) -> Iterator[str]:
    place = cause.place
    assert place is not None
    yield f"Line {cause.line} reads {place.element}, which has no value before it is stored."


def _of_whole(story: Story, cause: Cause) -> Iterator[str]:
    yield f"Line {cause.line} keeps whole numbers only: {cause.name} becomes {cause.value}."


def _of_constant(story: Story, cause: Cause) -> Iterator[str]:
    place = cause.place
    assert place is not None
    who = thread_text(story, cause.thread)
    value = plain_value(cause.value)
    yield (
        f"Line {cause.line} stores {value} in {place.element} for {who}, and {_output(story)} takes"
        " it for one of its numbers."
    )
    yield f"Line {cause.line} stores {value}, which {_output(story)} takes for one of its numbers."


def _of_lost(story: Story, cause: Cause) -> Iterator[str]:
    terms = series(story.missing) if len(story.missing) <= 2 else f"{len(story.missing)} terms"
    yield f"Line {cause.line} replaces {cause.name}, and {_output(story)} loses {terms}."


def _of_race(story: Story, cause: Cause) -> Iterator[str]:
    if cause.idle_line:
        yield (
            f"Nothing makes the threads wait before line {cause.line}: line {cause.idle_line} does "
            "nothing."
        )
        return
    lines = series([f"{line}" for line in sorted({cause.line, cause.other_line})])
    if cause.other_line == cause.line:
        yield f"Nothing makes the threads wait for each other before line {cause.line}."
    yield f"Nothing makes the threads wait for each other before lines {lines}: each is needed."


def _of_outside(story: Story, cause: Cause) -> Iterator[str]:
    place = cause.place
    assert place is not None
    verb = "writes" if place.is_store else "reads"
    who = thread_text(story, cause.thread).capitalize()
    blamed = {one.name: one.value for one in cause.origins if one.name in place.values}
    texts = [f"`{place.text}`{_with(some)}" for some in (place.values, blamed, {}) if place.text]
    for text in texts:
        yield f"{who} {verb} {place.element}, outside of the array: line {cause.line}, {text}."
    yield f"{who} {verb} {place.element}, outside of the array: line {cause.line}."


def _of_unguarded(story: Story, cause: Cause) -> Iterator[str]:
    who = thread_text(story, cause.thread).capitalize()
    place = cause.place
    assert place is not None
    verb = "writes" if place.is_store else "reads"
    yield (
        f"{who} has no output, but nothing keeps it from line {cause.line}, where it {verb} "
        f"{place.element}."
    )
    yield f"{who} has no output, but nothing keeps it from line {cause.line}."


def _of_one_cell(story: Story, cause: Cause) -> Iterator[str]:
    place, other = cause.place, cause.other
    assert place is not None and other is not None and cause.other_thread is not None
    one, two = thread_text(story, cause.thread), thread_text(story, cause.other_thread)
    own = _WRITES if place.is_store else _READS
    others = _WRITES if other.is_store else _READS
    if place.line == other.line and own == others:
        if place.text:
            yield (
                f"{one.capitalize()} and {two} both {own[1]} {place.element}: line {place.line}, "
                f"`{place.text}`."
            )
        yield f"{one.capitalize()} and {two} both {own[1]} {place.element} in line {place.line}."
    for same in (two, f"thread {_extents(cause.other_thread[1], story.block)}"):  # of the block
        yield (
            f"{one.capitalize()} {own[0]} {place.element} in line {place.line}, and {same} "
            f"{others[0]} it in line {other.line}."
        )


_READS, _WRITES = ("reads", "read"), ("writes", "write")


def _of_endless(story: Story, cause: Cause) -> Iterator[str]:
    choice = cause.choice
    assert choice is not None
    yield (
        f"The loop in line {cause.line} does not end: `{choice.condition}` stays "
        f"{_truth(choice)}{_with(choice.values)}."
    )


_SENTENCES = {
    "decision": _of_decision,
    "index": _of_index,
    "store": _of_store,
    "variable": _of_variable,
    "skipped": _of_skipped,
    "idle": _of_idle,
    "unset": _of_unset,
    "copy": _of_copy,
    "kept": _of_kept,
    "whole": _of_whole,
    "constant": _of_constant,
    "lost": _of_lost,
    "race": _of_race,
    "outside": _of_outside,
    "unguarded": _of_unguarded,
    "one cell": _of_one_cell,
    "endless": _of_endless,
}


def _seen(story: Story) -> str:
    """Return what was seen of a wrong cell whose cause is not known."""
    if story.cell < 0:
        return ""
    if story.is_unwritten:
        text = which(story.wrong, story.output) if story.wrong is not None else _output(story)
        return f"No thread stores {text}."
    for terms, verb in ((story.missing, "lacks"), (story.surplus, "has too much:")):
        if terms and not (story.missing and story.surplus) and len(terms) <= 2:
            return f"{_output(story)} {verb} {series(terms)}."
    got, want = number(_python(story.got)), number(_python(story.want))
    return f"{_output(story)} is {got}, and {want} is right."


def _python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _formulas(story: Story) -> str:
    """Return the formula of a cell beside the right one; of long ones, what differs."""
    name, formula, right = _output(story), story.formula, story.right
    got, want = number(_python(story.got)), number(_python(story.want))
    if story.is_unwritten:
        return f"no thread stores {name}; it should be {want}."
    if formula is None or right is None:
        return f"{name} = {got}; it should be {want}."
    if max(len(formula.terms), len(right.terms)) <= MOST_TERMS and len(f"{formula}{right}") < 160:
        return f"{name} = {formula}; it should be {right}."
    parts = []
    if story.missing:
        parts.append(f"lacks {_some(story.missing)}")
    if story.surplus:
        parts.append(f"has {_some(story.surplus)} too much")
    if not parts or any(len(one) > 200 for one in parts):
        return f"{name} = {got}; it should be {want}."
    count = f"{len(formula.terms)} term{'' if len(formula.terms) == 1 else 's'}"
    return f"{name} {' and '.join(parts)} ({count}; {len(right.terms)} are right)."


def _some(terms: Sequence[str]) -> str:
    if len(terms) <= 3:
        return " + ".join(terms)
    return f"{terms[0]} + ... + {terms[-1]} ({len(terms)} terms)"


def _shown(story: Story, cause: Cause) -> str:
    """Return what shows a cause: what a run without it gave, and where its values come from."""
    parts = []
    choice, place = cause.choice, cause.place
    who = thread_text(story, cause.thread)
    if cause.kind in ("decision", "idle") and choice is not None:
        other = "false" if choice.is_true else "true"
        goal = _output(story) if story.cell >= 0 else "everything"
        here = f"for {who}{_with(choice.values)}"
        parts.append(
            f"If it were {other} {here}, {goal} would be right."
            if cause.is_tried
            else f"That is so {here}."
        )
    if cause.kind == "skipped" and choice is not None and place is not None:
        parts.append(
            f"So {who} does not read {place.text}, which would be {place.element}; "
            f"{cause.belongs} belongs there."
        )
    if cause.kind in ("index", "store") and cause.is_tried and story.cell >= 0:
        verb = "stores to" if cause.kind == "store" else "reads"
        goal = _of_all(cause) or f"{_output(story)} is right"
        parts.append(f"If {who} {verb} {cause.belongs} there, {goal}.")
    elif cause.kind == "index":
        parts.append(f"There {who} reads outside of the array.")
    if cause.kind == "outside" and cause.value is not None:
        parts.append(
            f"As a signed number this index is {cause.value}: something in it is unsigned, as "
            "threadIdx and blockIdx are."
        )
    if cause.kind == "variable":
        goal = _of_all(cause) or f"{_output(story)} is right"
        parts.append(f"With {cause.name} = {cause.belongs_value}, {goal}.")
    if cause.kind == "copy":
        parts.append(
            f"The last wait of {who} before that, in line {cause.idle_line}, leaves this copy open."
            if cause.idle_line
            else f"{who.capitalize()} waits for no copy before that."
        )
    if cause.kind == "lost":
        goal = _output(story)
        parts.append(f"If line {cause.line} added to {cause.name}, {goal} would be right.")
    if cause.kind == "race":
        is_one = cause.other_line == cause.line
        lines = f"line {cause.line}" if is_one else "both lines"
        parts.append(f"If all threads of the block wait before {lines}, the race is gone.")
    if cause.kind == "one cell" and cause.other is not None and cause.other_thread is not None:
        pairs = ((cause.thread, place), (cause.other_thread, cause.other))
        parts += [
            f"{thread_text(story, one).capitalize()}: `{at.text}`{_with(at.values)}."
            for one, at in pairs
            if at is not None and at.text
        ]
        if not is_within_a_warp(story, cause):
            one, two = (_warp(story, thread) for thread in (cause.thread, cause.other_thread))
            if one != two:
                parts.append(f"They are in warps {one} and {two}.")
            parts.append("No single wait of all threads that was tried makes this right.")
    if cause.stored_by is not None and cause.kind in ("index", "unset"):
        by, line = cause.stored_by
        if cause.kind == "index":
            parts.append(f"{thread_text(story, by).capitalize()} stored it in line {line}.")
        elif choice is not None:
            parts.append(
                f"{thread_text(story, by).capitalize()} would store it, but line {line}, "
                f"`{choice.condition}`, is {_truth(choice)}{_with(choice.values)}."
            )
    if cause.kind != "variable":
        parts += [_from(one) for one in cause.origins[:1] if one.text]
    return " ".join(parts)


def _of_all(cause: Cause) -> str:
    """Return what comes of it if all stores of a cause go where they belong; "" for one alone."""
    if cause.kind == "index" or cause.count == 1:
        return ""
    if cause.count == 2:
        return "and the other store goes where it belongs, all is right"
    return f"and {cause.count - 1} other stores go where they belong, all is right"


def is_within_a_warp(story: Story, cause: Cause) -> bool:
    """Return whether a cause is two threads of one warp in one cell: then a wait of the warp, which
    no story tries, may make it right. Where both store in one line, nothing can stand between.
    """
    place, other = cause.place, cause.other
    if cause.kind != "one cell" or cause.other_thread is None or place is None or other is None:
        return False
    if place.line == other.line and place.is_store and other.is_store:
        return False
    return _warp(story, cause.thread) == _warp(story, cause.other_thread)


def _warp(story: Story, thread: Thread) -> int:
    """Return the number of a thread's warp in its block."""
    (x, y, z), (width, height, _) = thread[1], story.block
    return (x + width * (y + height * z)) // 32


def _from(one: Origin) -> str:
    values = "" if one.text in one.values else _with(one.values)  # threadIdx.x is said once
    return f"Line {one.line}: {one.name} = {one.text} = {plain_value(one.value)}{values}."


# ---- pictures of stories and launches


def doer(story: Story) -> str:
    """Return whose lines a picture shows."""
    if not story.causes:
        return "The kernel:"
    return f"What {thread_text(story, story.causes[0].thread)} did:"


def note(story: Story) -> str:
    """Return what stands below the line at fault."""
    if not story.causes:
        return ""
    cause = story.causes[0]
    if cause.choice is not None:
        choice = cause.choice
        return f"`{choice.condition}` is {_truth(choice)}{_with(choice.values)}"
    if cause.place is not None:
        place = cause.place
        return f"`{place.text or place.element}` is {place.element}{_with(place.values)}"
    return ""


def how_many(wrong: int, total: int) -> str:
    """Return how many outputs are wrong."""
    return f"{wrong:,} of {total:,} outputs {'is' if wrong == 1 else 'are'} wrong."


def orders(count: int) -> list[tuple[str, str]]:
    """Return the names of the orders of a replay, and which threads run ahead in each."""
    return [("A", "as the threads ran"), ("B", "another order")][:count]


def of_lines_that_race(name: str, line: int, other_line: int) -> str:
    """Return the title of a replay with a race."""
    low, high = sorted((line, other_line))
    if low == high:
        return f"A race in {name}: nothing orders the threads in line {low}"
    return f"A race in {name}: nothing orders lines {low} and {high}"


def of_threads(name: str) -> str:
    """Return the title of a replay in which nothing was found."""
    return f"What the threads of {name} do"


def of_launch(name: str, block: tuple[int, int, int]) -> str:
    """Return what a replay shows."""
    threads = block[0] * block[1] * block[2]
    return f"{name}: one block of {threads:,} thread{'' if threads == 1 else 's'}"
