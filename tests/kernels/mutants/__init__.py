"""Wrong kernels, each in a row of a table: what rejects it, and the edits that make it of a kernel
of kernels/. What is said of each stands in its golden row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pytest

from helpers import checking, simulator
from tests import golden
from tests.kernels.mutants import copies, layers, networks, products, vectors
from tests.kernels.mutants.mutant import Mutant

TABLES = (copies.MUTANTS, layers.MUTANTS, networks.MUTANTS, products.MUTANTS, vectors.MUTANTS)
ALL = [
    replace(row, original=original)
    for table in TABLES
    for original, rows in table.items()
    for row in rows
]


def mutants(*prefixes: str) -> list[Mutant]:
    """The mutants whose names start with one of the prefixes, in the order of their names."""
    found = [mutant for mutant in ALL if mutant.name.startswith(prefixes)]
    return sorted(found, key=lambda mutant: mutant.name)


def require_named(mutant: Mutant, findings: tuple[simulator.Finding, ...]) -> None:
    """One of the findings has the mutant's kind, and its message tells where."""
    golden.require("mutants", mutant.name, [golden.of_finding(one) for one in findings])
    fitting = [one for one in findings if one.kind == mutant.kind]
    assert fitting, f"{mutant.name} must give {mutant.kind}, not:\n" + "\n".join(
        map(str, findings)  # with the values of threads, which take long: only where it fails
    )
    first = fitting[0]
    assert first.file == f"{mutant.name}.cu"
    assert first.line > 0
    assert "thread (" in first.message
    if first.array:
        assert re.search(rf"\b{first.array}\b", first.message)


def require_rejected(
    mutant: Mutant,
    findings: Iterable[simulator.Finding],
    check: Callable[[], object],
    beside: Sequence[str] = (),
) -> None:
    """The simulator names what is wrong with a mutant; or it finds nothing, and `check` fails with
    the mutant's diagnosis. beside: kinds of findings that come with a wrong result.
    """
    findings = tuple(findings)
    if mutant.kind in {finding.kind for finding in findings}:
        require_named(mutant, findings)
        return
    others = [finding for finding in findings if finding.kind not in beside]
    assert not others, "nothing but the result is wrong with it:\n" + "\n".join(map(str, others))
    with pytest.raises(checking.CheckError) as error:
        check()
    assert error.value.diagnosis.kind == mutant.kind, error.value
    golden.require("mutants", mutant.name, {"check": str(error.value)})
