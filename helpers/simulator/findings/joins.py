"""Joins the findings of a launch: one fault, one finding; one cause, one finding; and the cause
first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from .findings import Finding
from .words import Cause, Event, Need, Phrase, Sentence

_MOST_PAIRS = 8  # of lines that a race names beside its own
_INDEXED = re.compile(r"\b([A-Za-z_]\w*)\s*\[").findall  # names of arrays with an index
_STORED = re.compile(
    r"\b([A-Za-z_]\w*)\s*\[[^=]*\]\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)"
).findall  # names of arrays to which a line stores
_FUNCTION = re.compile(r"\b__(?:global|device)__\b").search
_INDEX = re.compile(r"\[([^][]*)\]").findall
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*").findall  # but for members, as in threadIdx.x
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)\s*([^;]*)").findall
_INNER = re.compile(r"\[([^][]*\[[^][]*\][^][]*)\]").findall  # indices with arrays in them
_BRANCH = re.compile(r"\bif\b|\?").search

Join = Callable[[list[Finding]], Finding]  # of several findings with one cause


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge the findings of one fault. A line that the compiler unrolled has several instructions,
    but the reader sees one line.
    """
    return tuple(_causes_first(_grouped(findings, _variant)))


def _variant(finding: Finding) -> tuple[Hashable, Join]:
    """An index that has wrapped is told beside the access outside of the array."""
    return (fault_of(finding), finding.reason is Cause.OVERFLOWN), _with_counts


def fault_of(finding: Finding) -> tuple:
    """Return what the findings of one fault have in common, whichever thread was the first."""
    lines = frozenset((finding.line, finding.other_line))
    return finding.kind, finding.file, lines, finding.array, _is_never_set(finding)


def _is_never_set(finding: Finding) -> bool:
    """Return whether a finding is about an element that no thread sets, early or late."""
    return finding.event.row is Event.NEVER_SET


def _causes_first(findings: list[Finding]) -> list[Finding]:
    """Return the findings in the order in which to mend them, without consequences of others.

    A load that comes too early may find what nothing has written: the race says what to mend,
    unless no thread ever sets the element. That nobody waits for a copy to its end is told by those
    that come too early.
    """
    if not findings:  # most launches
        return []
    racing = {
        (f.file, line, f.array) for f in findings if f.kind == "race" for line in _lines_of(f)
    }
    met = {(f.file, f.other_line) for f in findings if f.kind == "race" and f.other_line}
    masks = {(f.file, f.line) for f in findings if f.kind == "mask"}
    read = {(f.file, f.line) for f in findings if f.kind == "shuffle"}
    findings = [
        replace(f, severity="error") if f.kind == "mask" and (f.file, f.line) in read else f
        for f in findings
    ]
    kept = [
        f
        for f in findings
        if not (f.kind == "race" and f.other_line is None and (f.file, f.line) in met)
        and not (
            f.kind == "uninitialised" and _is_never_set(f) != ((f.file, f.line, f.array) in racing)
        )
        and not (f.kind == "shuffle" and (f.file, f.line) in masks)
    ]
    return sorted(kept, key=lambda f: (f.kind != "barrier", f.kind == "uninitialised"))


def one_a_cause(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a launch, one for each cause.

    A barrier that not all threads reach orders nothing, so that the accesses around it race, and a
    thread that has gone stores nothing. One missing barrier has a race for each array around it.
    A structure of which nothing is set is one variable, and one branch keeps lanes away from all
    exchanges around it.
    """
    findings = list(findings)
    if not findings:  # most launches
        return ()
    kept = _grouped(_joined_copies(_behind_waits(findings)), _cause)
    kept = _behind_barriers(_behind_parting(kept))
    kept = _joined_races(_grouped(_grouped(kept, _reader), _unset_array))
    contended = {f.array for f in kept if f.need is Need.ATOMIC}
    # What no barrier can mend comes before other races of the array.
    return tuple(sorted(kept, key=lambda f: _is_ordered_by(f) is not None and f.array in contended))


def _cause(finding: Finding) -> tuple[Hashable, Join] | None:
    """Return what the findings of one cause have in common, and how they are joined; None for one
    that stands alone.
    """
    if finding.reason is Cause.ONE_ADDRESS:
        return finding.file, _first_overlap
    if (memory := key_of_memory(finding)) is not None:
        return memory, _first
    if finding.event.row is Event.MASK_OF_OTHER_WAY:
        return finding.file, _one_mask
    if finding.reason in (Cause.LOCAL_LEFTOVERS, Cause.ENDED_BLOCK) and finding.array:
        return (finding.file, finding.array), _with_counts
    # Who must not have an element must not have those of other arrays with its index either.
    if finding.need is Need.ATOMIC and (index := _index_of(finding)) is not None:
        return (finding.file, index), _one_contention
    return None


def _grouped(
    findings: Iterable[Finding], cause: Callable[[Finding], tuple[Hashable, Join] | None]
) -> list[Finding]:
    """Join the findings that have a cause in common."""
    groups: dict[tuple[Hashable, Join], list[Finding]] = {}
    for k, finding in enumerate(findings):
        groups.setdefault(cause(finding) or (k, _first), []).append(finding)
    return [join(several) for (_, join), several in groups.items()]


def _with_counts(several: list[Finding]) -> Finding:
    return replace(several[0], count=sum(finding.count for finding in several))


def _first(several: list[Finding]) -> Finding:
    return several[0]


def _reader(finding: Finding) -> tuple[Hashable, Join] | None:
    """A line that reads several arrays of which no part is set."""
    return ((finding.file, finding.line), _with_others) if _is_unset_share(finding) else None


def _unset_array(finding: Finding) -> tuple[Hashable, Join] | None:
    """An array that is not set, or a part of it, which several lines may read. What a line reads of
    several arrays is one finding before.
    """
    is_unset = finding.kind == "uninitialised" and finding.reason is not Cause.LOCAL_LEFTOVERS
    if not is_unset or not finding.array or len(finding.causes) > 1:
        return None
    return (finding.file, finding.array, finding.causes), _with_other_lines


def _with_other_lines(several: list[Finding]) -> Finding:
    """Return the first finding, which names the lines of the others."""
    first, *others = several
    lines = tuple(sorted({f.line for f in others} - {first.line}))
    if not lines:
        return first
    same = Cause.SAME_LINES if len(lines) > 1 else Cause.SAME_LINE
    return _with_cause(first, same(lines=lines))


def _with_cause(finding: Finding, more: Sentence) -> Finding:
    return replace(finding, causes=(*finding.causes, more))


def _with_others(several: list[Finding]) -> Finding:
    """Return the first finding, which names the arrays of the others."""
    first, *others = several
    names = dict.fromkeys(f.array for f in others if f.array and f.array != first.array)
    return _with_cause(first, Cause.SAME_ARRAYS(arrays=tuple(names))) if names else first


def _one_mask(several: list[Finding]) -> Finding:
    """The call in a branch of its own line, if there is one, is where the lanes part."""
    first = next((f for f in several if _BRANCH(f.source_lines.get(f.line, ""))), several[0])
    return _with_other_lines([first, *(f for f in several if f is not first)])


def _joined_copies(findings: list[Finding]) -> list[Finding]:
    """Leave out the races of a copy with the readers that it overtakes: one finding says that no
    barrier is between them, whichever comes first.
    """
    copies = {
        (f.file, f.other_line, f.array) for f in findings if f.event.row is Event.COPY_OVERTAKES
    }
    return [
        f
        for f in findings
        if f.kind != "race"
        or f.need is Need.WAIT
        or not any((f.file, line, f.array) in copies for line in _lines_of(f))
    ]


def _behind_waits(findings: list[Finding]) -> list[Finding]:
    """Leave out the races of values that a flag announces, if blocks wait for the flag by a plain
    load: nothing can order them then.
    """
    if not any(f.reason is Cause.PLAIN_WAIT for f in findings):
        return findings
    return [f for f in findings if f.reason is not Cause.ANY_ORDER]


def key_of_memory(finding: Finding) -> Hashable:
    """Return what the races between two arguments of a launch that are the same memory have in
    common, None for others.
    """
    return (finding.file, finding.causes) if finding.reason is Cause.ONE_MEMORY else None


def _first_overlap(several: list[Finding]) -> Finding:
    """The first read of a lost value says most, else the first race."""
    return next((f for f in several if f.kind == "overlap"), several[0])


def _behind_parting(findings: list[Finding]) -> list[Finding]:
    """Leave out the barriers and masks that miss threads which have gone another way because of a
    race: for one variable that a branch asks for, and that all threads would find equal without it.
    The race's finding says what follows.
    """
    races = [f for f in findings if f.kind == "race" and _parts(f)]
    missed = [f for f in findings if f.kind == "barrier" or f.event.row is Event.MASK_OF_OTHER_WAY]
    if not races or not any(f.kind == "barrier" for f in missed):
        return findings
    race = races[0]
    missed = [f for f in missed if f.file == race.file]
    barriers = [f for f in missed if f.kind == "barrier"]
    if not barriers:
        return findings
    joined = _with_cause(race, Cause.PARTED(barrier=barriers[0].line))
    kept = [joined if f is race else f for f in findings]
    return [joined, *(f for f in kept if f is not joined and f not in missed)]


def _parts(race: Finding) -> bool:
    """Return whether a line of a race decides a branch by a variable that is no array's element."""
    name = race.array
    if name is None or race.event.facts.get("element") != name:
        return False
    asked = re.compile(rf"\b(?:if|while|for)\b.*\b{re.escape(name)}\b|\b{re.escape(name)}\b[^;]*\?")
    return any(asked.search(text) for text in race.source_lines.values())


def _behind_barriers(findings: list[Finding]) -> list[Finding]:
    """Leave out what follows from a barrier's fault. The barrier's finding is an error then, and
    says what follows.
    """
    kept: list[Finding] = []
    for finding in findings:
        earlier = next((k for k, f in enumerate(kept) if f.kind == "barrier"), None)
        if earlier is None:
            kept.append(finding)
            continue
        barrier, what = kept[earlier], None
        low, high = min(_lines_of(finding)), max(_lines_of(finding))
        if finding.file != barrier.file:
            pass
        elif finding.kind == "race" and _is_around(finding, barrier):
            what = (Phrase.THEY_RACE if low < high else Phrase.IT_RACES)(low=low, high=high)
        elif _is_unset_share(finding) and barrier.line < finding.line:
            what = Phrase.IT_READS(line=finding.line)
        elif finding.kind == "barrier" and _same_way(finding, barrier):
            kept[earlier] = replace(barrier, count=barrier.count + finding.count)
            continue
        if what is None:
            kept.append(finding)
        elif barrier.severity == "warning":
            worse = replace(barrier, severity="error")
            kept[earlier] = _with_cause(worse, Cause.HARMFUL(what=what))
    return kept


def _is_around(race: Finding, barrier: Finding) -> bool:
    """Return whether the barrier stands between the accesses of a race that a barrier can mend."""
    is_between = any(line in race.missed_barriers for line in _lines_of(barrier))
    return is_between and _is_ordered_by(race) in (Need.BARRIER, Need.WAIT)


def _is_unset_share(finding: Finding) -> bool:
    return finding.kind == "uninitialised" and finding.reason is Cause.SHARED_LEFTOVERS


def _same_way(one: Finding, other: Finding) -> bool:
    """Return whether two barriers wait for threads that have left by the same way."""
    if not one.severity == other.severity == "warning":
        return False
    absent = [f.event.facts.get("other") for f in (one, other)]
    is_same_thread = None not in absent and absent[0] == absent[1] and one.block == other.block
    return is_same_thread or one.event.row is other.event.row


def _one_contention(several: list[Finding]) -> Finding:
    return _one_race(sorted(several, key=_order_of_contention))


def _order_of_contention(finding: Finding) -> tuple[bool, bool, int]:
    """An update comes first, best one in one line, since its advice names the atomic function."""
    is_update = finding.reason is Cause.UPDATED
    return not is_update, is_update and _is_of_two_lines(finding), min(_lines_of(finding))


def _is_of_two_lines(finding: Finding) -> bool:
    return len(set(_lines_of(finding))) > 1


def _index_of(finding: Finding) -> str | None:
    """Return the text of the index in the lines of a finding, None if there is not exactly one."""
    if finding.array is None:
        return None
    indexed = re.compile(rf"\b{re.escape(finding.array)}\s*\[([^][]*(?:\[[^][]*\][^][]*)*)\]")
    texts = {text for line in finding.source_lines.values() for text in indexed.findall(line)}
    return texts.pop() if len(texts) == 1 else None


def _joined_races(findings: list[Finding]) -> list[Finding]:
    """Join races that one barrier mends, or one wait for a copy.

    A barrier mends a race if it stands between the two lines; a line that races with itself, in a
    loop, needs one, too, and goes to the first race with this line. The steps of an exchange within
    a warp are one cause. A barrier of the block mends what a barrier of a warp would, so that it is
    the advice for all.
    """
    order = {id(finding): k for k, finding in enumerate(findings)}
    groups: dict[tuple[str, Need], list[list[Finding]]] = {}
    others: list[tuple[int, Finding]] = []
    # In the order in which their stretches of lines end, each race is mended by the last barrier so
    # far, which stands right before the first of these ends, or it needs another one.
    for finding in sorted(findings, key=lambda f: (not _is_of_two_lines(f), max(_lines_of(f)))):
        need = _is_ordered_by(finding)
        if need is None:
            others.append((order[id(finding)], finding))
            continue
        known = groups.setdefault((finding.file, need), [])
        low, high = min(_lines_of(finding)), max(_lines_of(finding))
        if low < high:
            fitting = known[-1:] if known and low < max(_lines_of(known[-1][0])) else []
            fitting = fitting or [
                group for group in known if any(_goes_on(one, finding) for one in group)
            ]
        else:
            fitting = [group for group in known if any(low in _lines_of(f) for f in group)]
        if fitting:
            fitting[0].append(finding)
        else:
            known.append([finding])
    joined = [
        (min(order[id(f)] for f in group), _one_race(sorted(group, key=lambda f: order[id(f)])))
        for several in groups.values()
        for group in several
    ]
    return [finding for _, finding in sorted([*joined, *others], key=lambda one: one[0])]


def _goes_on(one: Finding, other: Finding) -> bool:
    """Return whether two races are steps of one exchange within a warp, which needs a barrier of
    the warp behind each step.
    """
    in_warp = one.need is other.need is Need.WARP_BARRIER
    return in_warp and one.array == other.array and max(_lines_of(one)) == min(_lines_of(other))


def _is_ordered_by(finding: Finding) -> Need | None:
    """Return what would order the accesses of a race, None if it is a cause of its own. A barrier
    of the block stands for one of the warp.
    """
    if finding.kind != "race" or finding.need is Need.ATOMIC:
        return None
    return Need.BARRIER if finding.need is Need.WARP_BARRIER else finding.need


def _one_race(group: list[Finding]) -> Finding:
    of_block = [f for f in group if f.need is not Need.WARP_BARRIER]
    first = (of_block or group)[0]
    if len(group) == 1:
        return first
    own = set(_lines_of(first))
    pairs = dict.fromkeys(
        (min(_lines_of(f)), max(_lines_of(f)), f.array)
        for f in group
        if f.array != first.array or not own.issuperset(_lines_of(f))
    )
    if not pairs:
        return first
    # The count stays that of the accesses that the message describes.
    races = tuple(
        (Phrase.RACE_OF_LINES if low < high else Phrase.RACE_OF_LINE)(
            low=low, high=high, array=array
        )
        for low, high, array in list(pairs)[:_MOST_PAIRS]
    )
    left = len(pairs) - _MOST_PAIRS
    more = Phrase.MORE(count=left) if left > 0 else Phrase.NONE()
    return _with_cause(first, Cause.SAME_RACES(races=races, more=more))


def with_warnings(findings: Iterable[Finding], warnings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings of a launch and those of the compiler about lines that the launch has none
    about of that kind. It drops the stores of a value that nothing has set: outputs without them
    follow.
    """
    warnings = list(warnings)
    known = [f for f in findings if not (warnings and f.kind == "unwritten" and not f.index)]
    places = {(f.kind, f.file, f.line) for f in known}
    return (*known, *(f for f in warnings if (f.kind, f.file, f.line) not in places))


def origin_of(
    fatal: Finding, findings: Iterable[Finding], source: Sequence[str] = ()
) -> Finding | None:
    """Return the finding whose consequence is the access that stopped the launch: about an index of
    the same thread that has overflowed, about a value of the same line that nothing has set, or
    that a division by zero gave, or about an array that the line reads, or that the variables of
    its index come from. source: the lines of the file.
    """
    if fatal.kind not in ("out-of-bounds", "misaligned", "fault"):
        return None
    place, text = (fatal.file, fatal.line), fatal.source_lines.get(fatal.line, "")
    behind = _names_behind(text, source[: fatal.line - 1])
    behind |= {name for inner in _INNER(text) for name in _INDEXED(inner)}
    for finding in findings:
        is_value = finding.kind == "uninitialised" or finding.event.row is Event.DIVISION
        is_same = (finding.thread, finding.block) == (fatal.thread, fatal.block)
        is_here = (finding.file, finding.line) == place and finding != fatal
        if is_here and (is_value or (finding.reason is Cause.OVERFLOWN and is_same)):
            return finding
        if finding.kind in ("race", "uninitialised") and finding.file == fatal.file:
            stored = {name for line in finding.source_lines.values() for name in _STORED(line)}
            if behind & {finding.array, *(stored if finding.array is not None else ())}:
                return finding
    return None


def _names_behind(text: str, before: Sequence[str]) -> set[str]:
    """Return the arrays and variables that the indices of a line come from, by the assignments in
    the lines before it. A name that the line indexes itself is not among them.
    """
    names = {name for inside in _INDEX(text) for name in _NAMES(inside)} - set(_INDEXED(text))
    for line in reversed(before):
        if _FUNCTION(line):
            break
        for name, value in _ASSIGNED(line):
            if name in names:
                names |= set(_NAMES(value))
    return names


def _lines_of(finding: Finding) -> tuple[int, ...]:
    return (finding.line, finding.other_line or finding.line)
