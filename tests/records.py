"""Records with other numbers, for tests that what is said and drawn follows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
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
