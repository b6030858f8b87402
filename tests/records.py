"""Records with other numbers, for tests that what is said and drawn follows them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from helpers.bench.counts import Count, Counts
from helpers.bench.results import Measurement, Record

# Parameters of a row that stay in their order: a ratio or a speedup with its interval, and times.
RELATED = re.compile("(?:ratio|speedup)(?:_low|_high)?|low|high|start|end|ready")


def edited(record: Record, change: Callable[[Measurement], Measurement], **where: Any) -> Record:
    """Return the record with other measurements where series and parameters are those of `where`.

    It is an error if there is none.
    """

    def fits(one: Measurement) -> bool:
        values = {"series": one.series, **one.parameters}
        return all(values.get(key) == value for key, value in where.items())

    assert any(map(fits, record.measurements)), f"no measurement has {where}"
    return dataclasses.replace(
        record,
        measurements=tuple(change(one) if fits(one) else one for one in record.measurements),
    )


def with_values(record: Record, where: dict[str, Any], **values: Any) -> Record:
    """Return the record with other parameters in the measurements of `where`."""

    def change(one: Measurement) -> Measurement:
        return dataclasses.replace(one, parameters={**one.parameters, **values})

    return edited(record, change, **where)


def slower(record: Record, factor: float | Callable[[str, float], float], **where: Any) -> Record:
    """Return the record with longer times. factor: of the times, or a function of a series and its
    median in ms that gives the new one.
    """

    def change(one: Measurement) -> Measurement:
        timed = one.timing
        assert timed is not None
        by = factor(one.series, timed.median) / timed.median if callable(factor) else factor
        values = {key: by * getattr(timed, key) for key in ("low", "median", "high")}
        samples = tuple(by * sample for sample in timed.samples)
        return dataclasses.replace(
            one, timing=dataclasses.replace(timed, samples=samples, **values)
        )

    return edited(record, change, **where)


def other_numbers(record: Record, *whole: str, draw: int = 0) -> Record:
    """Return the record with other times and other parameters, each row by another factor.

    A ratio and its interval have one factor, and so have a time and its interval; every other
    parameter has its own. whole: the whole numbers that were measured, such as "right"; the others
    name what was measured, and stay. draw: which of many such records.
    """
    random = Random(f"{record.name} {draw}")

    def change(one: Measurement) -> Measurement:
        of_time, of_related = random.uniform(1.5, 6), random.uniform(1.5, 6)
        values = dict(one.parameters)
        for key, value in values.items():
            factor = of_related if RELATED.fullmatch(key) else random.uniform(1.5, 6)
            if isinstance(value, float):
                values[key] = factor * value
            elif key in whole and value is not None:
                values[key] = round(factor * value) + 1
        one = dataclasses.replace(one, parameters=values)
        if one.timing is None:
            return one
        alone = dataclasses.replace(record, measurements=(one,))
        return slower(alone, of_time).measurements[0]

    return edited(record, change)


def without(record: Record, series: str) -> Record:
    """Return the record without the measurements of a series. It is an error if there is none."""
    kept = tuple(one for one in record.measurements if one.series != series)
    assert len(kept) < len(record.measurements), f"no measurement has the series {series!r}"
    return dataclasses.replace(record, measurements=kept)


def other_counts(found: Any, draw: int = 0) -> Any:
    """Return counts of kernels with other numbers, each line and instruction by another factor.

    found: `Counts`, one `Count` of them, or a mapping to counts. draw: which of many such counts.
    """
    if isinstance(found, Mapping):
        return {name: other_counts(one, draw) for name, one in found.items()}
    if isinstance(found, Counts):
        return Counts([other_counts(one, draw) for one in found])
    assert isinstance(found, Count), f"there are no counts in {found!r}"
    random = Random(f"{found.kernel.title} {draw}")

    def more(number: int) -> int:
        return round(random.uniform(1.5, 6) * number) + 1

    def of_lines(rows: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            dataclasses.replace(
                row,
                **{
                    key: more(value)
                    for key, value in vars(row).items()
                    if key != "line" and isinstance(value, int)
                },
            )
            for row in rows
        )

    profiles = tuple(
        dataclasses.replace(
            profile,
            lines=of_lines(profile.lines),
            control=of_lines(profile.control),
            instructions={name: more(number) for name, number in profile.instructions.items()},
        )
        for profile in found.profiles
    )
    return dataclasses.replace(found, profiles=profiles, covered=more(found.covered))
