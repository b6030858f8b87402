"""Records with other numbers, for tests that what is said and drawn follows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random
from typing import Any

from helpers.bench.results import Measurement, Record


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

    whole: the whole numbers that were measured, such as "right"; the others name what was measured,
    and stay. draw: which of many such records.
    """
    random = Random(f"{record.name} {draw}")

    def change(one: Measurement) -> Measurement:
        factor = random.uniform(1.5, 6)
        values = {
            key: factor * value
            if isinstance(value, float)
            else round(factor * value) + 1
            if key in whole and value is not None
            else value
            for key, value in one.parameters.items()
        }
        one = dataclasses.replace(one, parameters=values)
        if one.timing is None:
            return one
        alone = dataclasses.replace(record, measurements=(one,))
        return slower(alone, factor).measurements[0]

    return edited(record, change)


def without(record: Record, series: str) -> Record:
    """Return the record without the measurements of a series. It is an error if there is none."""
    kept = tuple(one for one in record.measurements if one.series != series)
    assert len(kept) < len(record.measurements), f"no measurement has the series {series!r}"
    return dataclasses.replace(record, measurements=kept)
