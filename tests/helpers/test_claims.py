"""Numbers in prose and the records that they come from: the tool, and whether all agree."""

import json

import pytest

from helpers.bench import results
from helpers.tools import claims


@pytest.fixture
def rows(monkeypatch):
    """Two rows of a record "made"."""
    made = [
        {"series": "k (a, b)", "n": 10, "layout": "one", "median_ms": 2.0, "share": 0.5},
        {"series": "k (a, b)", "n": 20, "layout": "one", "median_ms": 6.25},
        {"series": "copy", "n": 10, "median_ms": 1234.5},
    ]

    def read(record):
        if record != "made":
            raise claims.ClaimError(f"there is no record {record}")
        return made

    monkeypatch.setattr(claims, "_rows", read)


def test_every_number_of_the_repository_agrees_with_its_record():
    made = [claim for path in claims.files() for claim in claims.claims_of(path)]
    apart = [f"{c.where}: {c.text}, not {c.value}" for c in made if not c.agrees]
    assert not apart, "type python -m helpers.tools.claims --write"
    pages = [c.where for c in made]
    assert pages.count("kernels/README.md") >= 15, "the table of the kernels, and the two networks"
    assert pages.count("README.md") == 2


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("made(k (a, b); n=20)", 6.25),
        ("made(k (a, b); n=10).share", 0.5),
        ("min made(k (a, b))", 2.0),
        ("max made(k (a, b); layout=one)", 6.25),
        ("max made(n=10)", 1234.5),
        ("made(k (a, b); n=20) / made(k (a, b); n=10)", 3.125),
        ("100 * made(k (a, b); n=10) / made(copy)", 200 / 1234.5),
        ("made(copy) - 0.5 + 1", 1235.0),
        ("100 - 100 * made(k (a, b); n=10).share", 50.0),
    ],
)
def test_a_mark_is_a_row_or_several_joined(rows, what, value):
    assert claims.value_of(what) == pytest.approx(value)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("made(k (a, b))", "2 rows are"),
        ("made(other)", "no row"),
        ("made(copy).share", "no row of the record has a field share"),
        ("made(k (a, b); n)", "no condition NAME=VALUE"),
        ("made(copy) 2", "needs one of"),
        ("made(copy", "cannot be read"),
        ("other(copy)", "no record other"),
    ],
)
def test_a_mark_that_cannot_be_read_says_why(rows, what, message):
    with pytest.raises(claims.ClaimError, match=message):
        claims.value_of(what)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2.00<!-- = made(k (a, b); n=10) --> ms", "2.00"),
        ("**7**<!-- = made(k (a, b); n=20) --> ms", "**6**"),
        ("9.1<!-- = made(k (a, b); n=20) --> ms", "6.2"),
        ("1,000<!-- = made(copy) --> ms", "1,234"),
    ],
)
def test_a_number_keeps_its_decimals(rows, before, after):
    text, (claim,) = claims.filled(before, "here")
    assert text.startswith(after + "<!--")
    assert text.endswith("--> ms")
    assert claim.agrees == (text == before)


NAMED = """It takes 6.2<!--basic--> ms.

<!-- claims
basic = made(k (a, b); n=20)
-->
"""


def test_a_page_explains_its_short_marks_at_its_end(rows):
    text, (claim,) = claims.filled(NAMED, "here")
    assert text == NAMED and claim.agrees and claim.what == "made(k (a, b); n=20)"
    text, (claim,) = claims.filled(NAMED.replace("6.2<", "7.1<"), "here")
    assert text == NAMED and not claim.agrees


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("basic = ", "simple = "), "here: no line of `<!-- claims` says what '6.2<!--basic-->'"),
        (("6.2<!--basic--> ", ""), "here: no number has the mark <!--basic-->"),
        (("basic = ", "basic: "), "here: 'basic: made.*' is no line NAME = WHAT"),
        (("6.2<", "much<"), "here: there is no number before"),
    ],
)
def test_a_short_mark_that_explains_nothing_is_an_error(rows, change, message):
    assert change[0] in NAMED
    with pytest.raises(claims.ClaimError, match=message):
        claims.filled(NAMED.replace(*change), "here")


def test_a_mark_without_a_number_is_an_error(rows):
    with pytest.raises(claims.ClaimError, match="here: there is no number before"):
        claims.filled("about <!-- = made(copy) -->", "here")


def test_a_file_is_written_only_where_it_disagrees(rows, tmp_path):
    (tmp_path / "labs").mkdir()
    cell = {"cell_type": "markdown", "id": "a", "source": ["x\n", "3.0<!-- = made(copy) -->"]}
    notebook = tmp_path / "labs" / "100_x.ipynb"
    notebook.write_text(json.dumps({"cells": [cell]}, indent=1) + "\n")
    page = tmp_path / "README.md"
    page.write_text("1,234.5<!-- = made(copy) -->\n")
    assert list(claims.files(tmp_path)) == [page, notebook]
    assert [claim.agrees for claim in claims.claims_of(page, tmp_path)] == [True]
    assert [claim.agrees for claim in claims.claims_of(notebook, tmp_path)] == [False]
    assert "3.0<" in notebook.read_text()
    (claim,) = claims.claims_of(notebook, tmp_path, write=True)
    assert claim.where == "labs/100_x.ipynb, cell a"
    assert json.loads(notebook.read_text())["cells"][0]["source"][1].startswith("1,234.5<!--")


def test_a_record_that_is_not_there_is_named():
    claims._rows.cache_clear()
    with pytest.raises(claims.ClaimError, match="run its lab first"):
        claims.value_of("no_such_record(x)")
    assert results.MEASURED.is_dir()
