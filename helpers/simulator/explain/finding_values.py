"""The values of a finding: by which index, from which variables, a thread came to a cell.

reads N[-1]: cell = i - 1 + j = -1, with i = 0, j = 0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from typing import Any

from ..compile.toolchain import CompileFailed
from ..findings.findings import Finding
from ..launch.launch_limits import Extents
from ..machine.faults import LaunchRefused
from .expressions import Evaluator, NotEvaluated, indices_in, names_in
from .formulas import cell_text
from .lanes import LaunchRecord
from .steps import Access, Step
from .translation import NotRecorded
from .values import DevicePointer

_MOST_NAMES = 6
_KINDS = ("out-of-bounds", "race", "uninitialised", "misaligned")


@lru_cache(maxsize=16)
def _evaluator(source: str) -> Evaluator:
    return Evaluator(source)


def index_text(tape: LaunchRecord, step: Step, access: Access) -> str:
    """Return how an access came to its index: "i - 1 + j = -1, with i = 0, j = 0"; "" if the source
    does not say it plainly.
    """
    evaluator = _evaluator(tape.source)
    names = step.variables_at(access)
    builtins = {
        "threadIdx": access.thread, "blockIdx": access.block,
        "blockDim": tape.block, "gridDim": tape.grid,
    }  # fmt: skip

    def value(text: str) -> int:
        return evaluator.value(text, names, builtins)

    text = evaluator.statement(access.line)
    for name, base in _names_of(access, names):
        for indices in indices_in(text, name):
            try:
                values = [value(one) for one in indices]
            except NotEvaluated:
                continue
            if _is_index(values, base, access.index):
                texts = [
                    _with_values(evaluator, one, number, access.line, names, builtins, value)
                    for one, number in zip(indices, values, strict=True)
                ]
                return "; ".join(dict.fromkeys(one for one in texts if one))
    return ""


def _names_of(access: Access, names: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the names by which a source may call the array of an access, and their first cells."""
    found = [(access.array, 0)]
    for name, value in names.items():
        is_pointer = isinstance(value, DevicePointer) and value.array == access.array
        if is_pointer and isinstance(value.index, int) and name != access.array:
            found.append((name, value.index))
    return found


def _is_index(values: list[int], base: int, index: Any) -> bool:
    if isinstance(index, tuple):
        return tuple(values) == index
    return len(values) == 1 and base + values[0] == index


def _with_values(
    evaluator: Evaluator, text: str, number: int, line: int, names: Mapping[str, Any],
    builtins: Mapping[str, tuple], value: Callable[[str], int],
) -> str:  # fmt: skip
    """Return an index with its value and those of its variables; "" for a number."""
    head = text
    if text in names:
        for definition in evaluator.definitions(text, line):
            try:
                is_it = value(definition) == number and definition != text
            except NotEvaluated:
                continue
            if is_it and names_in(definition) != [text]:
                head, text = f"{text} = {definition}", definition
                break
    known = []
    for name in names_in(text):
        try:
            known.append(f"{name} = {value(name)}")
        except NotEvaluated:
            return ""
    if not known or (head == text and [head] == names_in(text)):
        return f"{head} = {number}" if known else ""
    return f"{head} = {number}, with {', '.join(known[:_MOST_NAMES])}"


def access_text(tape: LaunchRecord, step: Step, access: Access) -> str:
    """Return what a thread did and how it came to the cell, in one line."""
    verb = "updates" if access.is_atomic else "writes" if access.is_store else "reads"
    cell = cell_text(access.array, access.index, access.member)
    why = index_text(tape, step, access)
    return f"{verb} {cell}: {why}" if why else f"{verb} {cell}"


def values_of(finding: Finding, tape: LaunchRecord) -> tuple[str, ...]:
    """Return the values of a finding, one line for each of its places; () if the tape does not have
    its accesses.
    """
    if finding.kind not in _KINDS or finding.array is None or finding.index is None:
        return ()
    own = _access_at(tape, finding, finding.line, [finding.thread])
    rows = [own] if own is not None else []
    if finding.kind == "race" and finding.other_line is not None:
        others = [finding.other_thread] if finding.other_thread is not None else []
        if own is not None:
            near = tape.threads_of_line(finding.block, finding.other_line, own[1].address)
            others = [one for one in near if one != finding.thread]
        other = _access_at(tape, finding, finding.other_line, others)
        rows += [other] if other is not None else []
    texts = []
    for step, access in rows:
        text = access_text(tape, step, access)
        if ":" in text:
            texts.append(f"line {access.line}, thread {access.thread}: {text}")
    return tuple(texts)


class LaterValues(Sequence):
    """The values of a finding, worked out when somebody asks for them: then the launch runs again,
    and is recorded.

    again: records the launch; it may raise.
    """

    def __init__(self, finding: Finding, again: Callable[[], LaunchRecord]):
        self._finding, self._again = finding, again

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        try:
            return values_of(self._finding, self._again())
        except (NotRecorded, CompileFailed, LaunchRefused, ValueError):
            return ()  # the finding is told without them

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, k):
        return self._texts[k]

    def __reduce__(self):
        return tuple, (self._texts,)

    def __deepcopy__(self, memo: dict) -> tuple[str, ...]:
        return self._texts

    def __repr__(self) -> str:
        return repr(self._texts)


def with_values(
    findings: tuple[Finding, ...], again: Callable[[], LaunchRecord]
) -> tuple[Finding, ...]:
    """Return the findings of a launch with their values. again: records the launch."""
    shared = cache(again)
    return tuple(
        replace(one, values=LaterValues(one, shared)) if one.kind in _KINDS else one
        for one in findings
    )


def _access_at(
    tape: LaunchRecord, finding: Finding, line: int, threads: Sequence[Extents]
) -> tuple[Step, Access] | None:
    """Return the first access of one of the threads to the cell of a finding in a line."""
    for one in threads:
        try:
            steps = tape.thread(finding.block, one)
        except (ValueError, RuntimeError):
            return None
        for step in steps:
            if step.line != line:
                continue
            for access in step.accesses:
                if access.array == finding.array and access.index == finding.index:
                    return step, access
    return None
