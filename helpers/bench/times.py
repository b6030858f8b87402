"""The times of kernels: measured now, or recorded. `Problem.compare` and `sweep` return a `Times`.

    times = layer.compare("conv2d_constant", "conv2d_tiled", my_cell, record="111_tiles")
    print(times)                                   # ratios with intervals, in words
    times.ratio("conv2d_tiled").words()            # "1.06 x as fast"
    times.record                                   # for results.save_figure
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpers import tables
from helpers.bench import plan_bounds, results
from helpers.bench.counts import NOT_YET, not_yet
from helpers.bench.ratios import Ratio
from helpers.bench.results import Record
from helpers.bench.sources import Kernel
from helpers.bench.task import Task

MEASURED, RECORDED, NOT_HERE = "measured", "recorded", "not timed here"
_NO_SETTING = {"series", "kernel", "over", *results.OUTCOMES, *results.FROM_TIMING}


@dataclass(frozen=True)
class Time:
    """The times of one kernel. row: of the record, None where there is none.

    state: "measured", "recorded", "not timed here" (no GPU, and no record of it) or "yours: not
    yet". ratio: over the baseline, if there is one.
    """

    kernel: Kernel
    state: str
    row: Mapping[str, Any] | None = None
    ratio: Ratio | None = None

    @property
    def ms(self) -> float | None:
        """The median time in ms."""
        return None if self.row is None else self.row.get("median_ms")

    @property
    def missing(self) -> str:
        """Why it has no ratio: "not compared" if it was timed alone, else its state."""
        return self.state if self.row is None else "not compared"


@dataclass(frozen=True)
class AtLeast:
    """The bound of a kernel that nobody has timed, which is no time, on the axis of the times.

    value: no H200 needs less; in ms, or over the baseline's recorded time. resource: what makes the
    bound, in words. ours: the recorded time or ratio of our kernel for the same task, None for
    none.
    """

    value: float
    resource: str
    ours: float | None


class Times(Sequence[Time]):
    """Times of kernels on one problem. over: the baseline of the ratios, None for times alone."""

    def __init__(
        self, record: Record, problem: Task, times: Sequence[Time], over: Kernel | None = None
    ):
        self.record, self.problem, self.over = record, problem, over
        self._times = tuple(times)

    @classmethod
    def recalled(
        cls,
        name: str,
        problem: Task,
        kernels: Sequence[Kernel],
        over: Kernel | None = None,
    ) -> Times:
        """Return the recorded times of kernels; none where nobody has made the record yet."""
        there = (results.MEASURED / f"{name}.json").exists()
        record = results.recall(name if there else results.UNNAMED)
        return cls.read(record, problem, kernels, over)

    @classmethod
    def read(
        cls,
        record: Record,
        problem: Task,
        kernels: Sequence[Kernel],
        over: Kernel | None = None,
    ) -> Times:
        """Return what a record has of kernels."""
        rows = record.comparable()
        found = [_time(record, rows, problem, one, over) for one in kernels]
        return cls(record, problem, found, over)

    def __len__(self) -> int:
        return len(self._times)

    def __iter__(self) -> Iterator[Time]:
        return iter(self._times)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            return self.one(which)
        return self._times[which]

    def __add__(self, other: Times) -> Times:
        """Return both, of one problem, for one figure: with the record and baseline of the first.

        Raises ValueError for times of different problems.
        """
        if other.problem != self.problem:
            raise ValueError(
                f"one figure has times of one problem, got {self.problem.title} and "
                f"{other.problem.title}: give them to bench.bars by name"
            )
        return Times(self.record, self.problem, (*self, *other), self.over)

    def one(self, kernel: str, **settings: Any) -> Time:
        """Return the time of a kernel by its label, with these settings, such as maps=4.

        Raises KeyError where there is none or there are several.
        """
        fitting = [
            one
            for one in self
            if kernel in (one.kernel.label, one.kernel.title)
            and all(dict(one.kernel.settings).get(key) == v for key, v in settings.items())
        ]
        if len(fitting) != 1:
            there = "; ".join(one.kernel.title for one in self)
            number = "no" if not fitting else f"{len(fitting)}"
            sizes = "".join(f", {key} {value}" for key, value in settings.items())
            raise KeyError(f"{number} times of {kernel + sizes!r}; there are those of: {there}")
        return fitting[0]

    def ratio(self, kernel: str, **settings: Any) -> Ratio:
        """Return the ratio of a kernel over the baseline. Raises KeyError where there is none."""
        one = self.one(kernel, **settings)
        if one.ratio is None:
            raise KeyError(f"{one.kernel.title} has no ratio: {one.state}")
        return one.ratio

    def ms(self, kernel: str, **settings: Any) -> float:
        """Return the median time of a kernel in ms. Raises KeyError where there is none."""
        one = self.one(kernel, **settings)
        if one.ms is None:
            raise KeyError(f"{one.kernel.title} has no time: {one.state}")
        return one.ms

    @property
    def ratios(self) -> list[Ratio]:
        """The ratios that there are, in the order of the kernels."""
        return [one.ratio for one in self if one.ratio is not None]

    def fastest(self) -> Time:
        """Return the fastest kernel: by its ratio, or by its time where there is no baseline."""

        def key(one: Time) -> float:
            if self.over is None:
                return float("inf") if one.ms is None else one.ms
            if one.ratio is None:  # the baseline over itself, or no time
                return 1.0 if one.kernel == self.over else float("inf")
            return one.ratio.value

        return min(self, key=key)

    def name(self, one: Time) -> str:
        """Return the title of a kernel; of a student's that has not passed, "yours: not yet"."""
        if one.state != NOT_YET:
            return one.kernel.title
        return not_yet(one.kernel, (each.kernel for each in self))

    def without_bar(self, one: Time, label: str = "") -> str:
        """Return the name of a kernel without a time, and why it has none. The only kernel of a
        student is "yours".

        label: in place of the title, or of "yours".
        """
        if one.state == NOT_YET:
            return self.name(one)
        alone = one.kernel.yours and sum(each.kernel.yours for each in self) == 1
        return f"{label or ('yours' if alone else one.kernel.title)}: {one.missing}"

    def at_least(self, one: Time, *, in_ms: bool = False) -> AtLeast | None:
        """Return what is known of a student's kernel that passes and is not timed here; None of any
        other, where its counts give no bound, and where the record is of another GPU than the one
        that bounds are for.

        in_ms: in ms where there is a baseline, too.
        """
        is_of_bounds = plan_bounds.DEVICE in self.record.device.name
        if not (one.kernel.yours and one.state == NOT_HERE and is_of_bounds):
            return None
        is_ratio = self.over is not None and not in_ms
        base = self._recorded(self.over).ms if self.over is not None and is_ratio else 1.0
        found = self.problem.bounds(one.kernel)
        if found is None or base is None:
            return None
        ours = self._ours(one.kernel)
        of_ours = None if ours is None else ours.ms
        if is_ratio:
            of_ours = ours.ratio.value if ours is not None and ours.ratio is not None else None
        return AtLeast(1e-3 * found.microseconds / base, found.largest.title, of_ours)

    def _ours(self, kernel: Kernel) -> Time | None:
        """Return the recorded time of the kernel of kernels/ whose text, or that of one of its
        launches, a student has written; None where it is a kernel of another name.
        """
        if kernel.function not in kernel.sources:
            return None
        return self._recorded(Kernel(kernel.name, kernel.spec, kernel.settings))

    def _recorded(self, kernel: Kernel) -> Time:
        return _time(self.record, self.record.comparable(), self.problem, kernel, self.over)

    def rows(self) -> list[Mapping[str, Any]]:
        """Return the rows of the record, those that have a time: for the functions of plotting."""
        return [
            {**one.row, "series": one.kernel.title}
            for one in self
            if one.row is not None and one.ms is not None
        ]

    def table(self, labels: Sequence[str] | None = None) -> str:
        """Return ratios over the baseline with intervals and registers, or times; below them, what
        is known of a student's kernel that has none.
        """
        names = labels or [one.kernel.title for one in self]
        body = []
        for name, one in zip(names, self, strict=True):
            if self.over is not None and one.kernel == self.over and one.ratio is None:
                continue
            if one.state == NOT_YET:
                body.append((self.name(one), "-", "", "-"))
                continue
            if self.over is not None:
                cells = one.ratio.row()[1:] if one.ratio else ("-", one.missing)
            else:
                cells = (_interval(one.row), "" if one.row else one.state)
            body.append((name, *cells, _registers(one.row)))
        what = "time" if self.over is not None else "ms"
        first = f"over {self.over.title}" if self.over is not None else self.problem.title
        head = (first, f"{what} (95 % interval)", "", "registers")
        return "\n".join([tables.text(head, body, left=(0, 2)), *self._bounds()])

    def _bounds(self) -> Iterator[str]:
        """Yield what is known of each student's kernel that has no time."""
        unit = "ms" if self.over is None else "x"
        than = "" if self.over is None else f" the time of {self.over.title}"
        for one in self:
            if (least := self.at_least(one)) is not None:
                words = (
                    f"{one.kernel.title}: a bound, not a time. By its counts ({least.resource}), "
                    f"no {plan_bounds.DEVICE} takes less than {least.value:.3g} {unit}{than}."
                )
                if least.ours is not None:
                    words += f" Our solution took {least.ours:.3g} {unit}."
                yield textwrap.fill(words, tables.LINE, subsequent_indent="  ")

    def __repr__(self) -> str:
        return f"{self.problem.title}. {self.record.caption()}\n{self.table()}"


def faster_from(times: Sequence[Times], kernel: str, by: str) -> Any | None:
    """Return the size of a problem from which on a kernel is measurably faster than the baseline.

    times: in the order of the size, `by` its name, such as "filter_width". None where the kernel is
    not faster at the last size. Raises KeyError for a problem without this comparison.
    """
    found = None
    for one in times:
        if one.ratio(kernel).verdict != "faster":
            found = None
        elif found is None:
            found = one.problem.where[by]
    return found


def noted(
    name: str,
    problem: Task,
    kernels: Sequence[Kernel],
    rows: Iterable[Mapping[str, Any]],
    over: Kernel | None = None,
) -> Times:
    """Add measured rows to a record of this session, and return the times in them."""
    new = list(rows)
    record = results.extend(name, new)
    return Times.read(record, problem, kernels, over)


def _time(
    record: Record,
    rows: Sequence[Mapping[str, Any]],
    problem: Task,
    kernel: Kernel,
    over: Kernel | None,
) -> Time:
    if kernel.yours and not problem.check(kernel):
        return Time(kernel, NOT_YET)  # also where an earlier text of the cell was timed
    if kernel.yours and (record.recalled or record.committed):
        return Time(kernel, NOT_HERE)  # a row of that name is of somebody else's text
    facts = {**problem.facts(kernel.spec), **dict(kernel.settings)}
    mine = [row for row in rows if _is_of(row, problem, kernel, facts)]
    timed = _closest([row for row in mine if row.get("median_ms") is not None], kernel, problem)
    ratio_row = None
    if over is not None and kernel != over:
        compared = [row for row in mine if row.get("ratio") is not None]
        named = [row for row in compared if row.get("over") in (None, over.label, over.title)]
        ratio_row = _closest(named, kernel, problem)
    if timed is None and ratio_row is None:
        return Time(kernel, NOT_HERE)
    ratio = None
    if ratio_row is not None and over is not None:
        low, value, high = (ratio_row[key] for key in ("low", "ratio", "high"))
        ratio = Ratio(kernel.title, over.title, value, low, high, dict(problem.where))
    row = timed if ratio_row is None else {**ratio_row, **(timed or {})}
    return Time(kernel, RECORDED if record.committed else MEASURED, row, ratio)


def _is_of(
    row: Mapping[str, Any], problem: Task, kernel: Kernel, facts: Mapping[str, Any]
) -> bool:
    """Return whether a row is of a kernel: the label, and every size that both name."""
    if row["series"] != kernel.label:
        return False
    both = {**facts, **problem.where}
    return all(row[key] == both[key] for key in row.keys() & both.keys() if row[key] is not None)


def _closest(
    rows: Sequence[Mapping[str, Any]], kernel: Kernel, problem: Task
) -> Mapping[str, Any] | None:
    """Return the row that names the most of the settings, and no others if there is a choice."""
    if not rows:
        return None
    wanted = {key for key, _ in kernel.settings}
    known = _NO_SETTING | set(problem.where)

    def distance(row: Mapping[str, Any]) -> tuple[int, int]:
        own = {key for key, value in row.items() if value is not None} - known
        return len(wanted - own), len(own - wanted)

    best = min(map(distance, rows))
    return next(row for row in rows if distance(row) == best)


def _interval(row: Mapping[str, Any] | None) -> str:
    if row is None or row.get("median_ms") is None:
        return "-"
    return f"{row['median_ms']:.4g} ({row['low_ms']:.4g} to {row['high_ms']:.4g})"


def _registers(row: Mapping[str, Any] | None) -> str:
    return "-" if row is None or row.get("registers") is None else str(row["registers"])
