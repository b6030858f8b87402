"""The rows of a function as arrays, and the removal of copies.

This module removes a copy `mov d, s` if nothing else defines d, and if s is a constant, a special
register, or a register that holds the same value wherever a row reads d. Then d is s.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .rows import Code, Context, Template

_COPIES = ("mov.b16", "mov.b32", "mov.b64", "mov.b128")
_BY_ROW = ("template", "guard", "predicate", "immediate", "flags", "place", "lengths", "fields")


@dataclass
class Columns:
    """One entry a row: template (index), guard, predicate, immediate, flags, place, lengths
    (operands). One entry an operand, row after row: operand, row_of, position (in its row),
    is_result. fields: the rows' templates as int64, (rows, fields).
    """

    template: np.ndarray
    guard: np.ndarray
    predicate: np.ndarray
    immediate: np.ndarray
    flags: np.ndarray
    place: np.ndarray
    lengths: np.ndarray
    operand: np.ndarray
    row_of: np.ndarray
    position: np.ndarray
    is_result: np.ndarray
    fields: np.ndarray

    def __len__(self) -> int:
        return len(self.template)

    def field(self, name: str) -> np.ndarray:
        """Return one field of each row's template."""
        return self.fields[:, Template._fields.index(name)]


def columns(context: Context, code: Code) -> Columns:
    """Return the rows of a function in arrays."""
    template, operands, guard, predicate, immediate, flags, place = zip(*code.rows, strict=True)
    lengths = np.fromiter(map(len, operands), np.int64, len(operands))
    flat = np.fromiter(itertools.chain.from_iterable(operands), np.int64, int(lengths.sum()))
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    position = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    numbers = np.array(template)
    fields = np.array([*context.templates], np.int64)[numbers]
    start, stop = Template._fields.index("start"), Template._fields.index("stop")
    is_result = (position >= fields[row_of, start]) & (position < fields[row_of, stop])
    return Columns(
        numbers, np.array(guard), np.array(predicate, np.int64), np.array(immediate, np.int64),
        np.array(flags, np.int64),
        np.array(place), lengths, flat, row_of, position, is_result, fields,
    )


def without_copies(context: Context, code: Code, all_rows: Columns) -> Columns:
    """Return the rows without superfluous copies, and renumber the rows in ``code``."""
    row_of, operand = all_rows.row_of, all_rows.operand
    ids = [context.operation_ids[name] for name in _COPIES if name in context.operation_ids]
    rows = np.flatnonzero(np.isin(all_rows.field("operation"), ids) & (all_rows.guard == 0))
    if not len(rows):
        return all_rows
    first = (np.cumsum(all_rows.lengths) - all_rows.lengths)[rows]
    to, of = operand[first], operand[first + 1]

    count = len(code.widths)
    written = all_rows.is_result & (operand >= 0)
    definitions = np.bincount(operand[written], minlength=count)
    defined_at = np.full(count, -1)
    defined_at[operand[written]] = row_of[written]
    good = (to >= 0) & (of != -1)
    good &= definitions[np.maximum(to, 0)] == 1

    # After a block that runs once, its registers do not change. Elsewhere the definition must be in
    # the copy's own block, before the copy, with no reader of the copy between them. Then each new
    # value is copied before anything reads it.
    jumps = np.array([branch.row for branch in code.branches])
    targets = (code.first_rows[one.statement] for branch in code.branches for one in branch.labels)
    # np.unique would import numpy.ma, which takes longer than all of this.
    leaders = np.array(sorted({0, *(jumps + 1).tolist(), *map(int, targets)}))
    once = not any(
        code.first_rows[one.statement] == 0 for branch in code.branches for one in branch.labels
    )
    end_of_first = leaders[1] if once and len(leaders) > 1 else 0
    source = np.maximum(of, 0)
    at = defined_at[source]
    still = (
        (definitions[source] == 1)
        & (at >= 0)
        & (at < rows)
        & (all_rows.guard[np.maximum(at, 0)] == 0)
    )
    together = np.searchsorted(leaders, at, "right") == np.searchsorted(leaders, rows, "right")
    read = ~all_rows.is_result & (operand >= 0)
    first_read = np.full(count, len(all_rows))
    np.minimum.at(first_read, operand[read], row_of[read])
    together &= first_read[np.maximum(to, 0)] > rows
    good &= (of <= -2) | (still & ((at < end_of_first) | together))
    if not good.any():
        return all_rows

    meaning = np.arange(count)
    for register, value in zip(to[good].tolist(), of[good].tolist(), strict=True):
        meaning[register] = meaning[value] if value >= 0 else value
    while True:  # a copy of a copy that came later in the text
        further = np.where(meaning >= 0, meaning[np.maximum(meaning, 0)], meaning)
        if (further == meaning).all():
            break
        meaning = further
    return _cut(code, all_rows, rows[good], meaning)


def _cut(code: Code, all_rows: Columns, rows: np.ndarray, meaning: np.ndarray) -> Columns:
    keep = np.ones(len(all_rows), bool)
    keep[rows] = False
    number = np.cumsum(keep) - keep  # of a row that stays, or of the next one that does
    code.first_rows = [
        int(number[row]) if row < len(keep) else int(keep.sum()) for row in code.first_rows
    ]
    for branch in code.branches:
        branch.row = int(number[branch.row])
    code.lists = {int(number[row]): one for row, one in code.lists.items()}
    code.targets = {int(number[row]): one for row, one in code.targets.items()}
    code.relocations = [(int(number[row]), symbol) for row, symbol in code.relocations]
    chosen = keep[all_rows.row_of]
    operand = all_rows.operand[chosen]
    operand = np.where(operand >= 0, meaning[np.maximum(operand, 0)], operand)
    rows_kept = {name: getattr(all_rows, name)[keep] for name in _BY_ROW}
    return Columns(
        **rows_kept,
        operand=operand,
        row_of=number[all_rows.row_of[chosen]],
        position=all_rows.position[chosen],
        is_result=all_rows.is_result[chosen],
    )
