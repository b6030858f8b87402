"""The contract of every figure and table that is made from a committed record.

It is made from the record as it stands, and shows what its golden row says. A figure has a title
that says something, axes with names and units, and bars and times that begin at zero or stand on a
logarithmic axis. Other numbers in the record are another picture or another text, and so are other
counts or other data, where an output is made from these. Each column and row of a table follows
them, or is declared as fixed. A record without a series is no crash: the output leaves it out, or
an error names what is missing.
`tests/record_outputs.py` lists the outputs; the last tests here show that the contract rejects what
breaks it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from helpers import experiments, plotting, tables
from helpers.bench import plan_bounds, results
from helpers.experiments import leaderboard, register_tiles, tile_widths
from tests import golden, records
from tests.record_outputs import (
    DRAWINGS,
    NO_OUTPUT,
    OF_RECORDS,
    WITHOUT_OUTPUT,
    Output,
    counts_of_three,
)
from tests.records import other_counts

Change = Callable[[results.Record], results.Record]
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]

# What an axis with numbers must name: a unit, or what its numbers are counts or multiples of.
UNIT = re.compile(
    r"\([^()]*\b(?:ms|µs|ns)\b[^()]*\)|GB/s|Tflop/s|percent|%|\btimes\b|\bover\b| / |is 1\)"
    r"|images in a second"
)
TIME = re.compile(r"\([^()]*\b(?:ms|µs|ns)\b|time over|speedup|times as fast|percent of")
# Errors that say what is missing, beside those that name the record.
CLEAR = re.compile(r"has no (?:time|ratio)|there is no (?:row|series)")
# A title's ratio or share, which cannot be a size that names what was measured.
RATIO = re.compile(r"\d\.\d|\d ?%|\b\d+ times|\d x ")
SENTENCE = 4  # words that a title has at least
NUMBER = re.compile(r"(?<![\w.])\d")  # of a cell, and no part of a name
GIVEN = "the given argument"
DRAWS = 3  # of other numbers
MOST_SERIES = 3  # of a record, that are left out one after the other


# --------------------------------------------------------------------------------------------------
# Records as they are read


class Records:
    """What `results.load` returns, with changes by the name of a record; which were read; and the
    tables that were made last, each a head and its rows.
    """

    def __init__(self) -> None:
        self.changes: dict[str, Change] = {}
        self.read: set[str] = set()
        self.tables: list[Table] = []
        self._load = functools.cache(results.load)  # an output reads the same file many times
        self._text = tables.text

    def load(self, path):
        """Return a record, changed."""
        self.read.add(path.stem)
        record = self._load(path)
        return self.changes.get(path.stem, lambda same: same)(record)

    def text(self, head, rows, **options):
        """Return a table, and keep its cells."""
        rows = [tuple(row) for row in rows]
        self.tables.append((tuple(head), rows))
        return self._text(head, rows, **options)

    def make(self, output: Output, draw: int | None = None, **changes: Change):
        """Return an output from changed records. draw: of another given argument."""
        self.changes, self.tables = changes, []
        for cached in (register_tiles.swept, tile_widths.best, tile_widths.searches):
            cached.cache_clear()
        try:
            return output.make(draw)
        finally:
            self.changes = {}


@pytest.fixture(scope="module", autouse=True)
def seen() -> Iterator[Records]:
    """The records, with fewer searches and bounds than the labs have."""
    with pytest.MonkeyPatch.context() as patch:
        found = Records()
        patch.setattr(results, "load", found.load)
        patch.setattr(tables, "text", found.text)
        patch.setattr(tile_widths, "SEEDS", range(2))
        patch.setattr(plan_bounds, "PERSISTENT_IMAGES", (2, 4))
        patch.setattr(leaderboard, "bound_of", lambda name, layer: float(len(name + layer)))
        yield found
    for cached in (register_tiles.swept, tile_widths.best, tile_widths.searches):
        cached.cache_clear()


@pytest.fixture(scope="module", params=OF_RECORDS, ids=lambda output: output.name)
def made(request, seen):
    """An output, and what is made of the records as they stand."""
    seen.read.clear()
    return request.param, seen.make(request.param)


# --------------------------------------------------------------------------------------------------
# The contract: what is wrong with an output, in words; nothing where it keeps it


def picture(output: Figure | str, looks: bool = False, words: bool = False) -> object:
    """Return what an output shows: the text, or the points and bars of a figure.

    looks: its colours and its pixels, too. words: the words in it, too.
    """
    if isinstance(output, str):
        return output
    lines = [np.asarray(line.get_xydata()) for ax in output.axes for line in ax.lines]
    bars = [np.asarray(one.get_bbox()) for ax in output.axes for one in ax.patches]
    points = [np.asarray(one.get_offsets()) for ax in output.axes for one in ax.collections]
    drawn: list[object] = [one.tobytes() for one in (*lines, *bars, *points)]
    for ax in output.axes if words else ():
        drawn += [text.get_text() for text in ax.texts]
    for ax in output.axes if looks else ():
        drawn += [patch.get_facecolor() for patch in ax.patches]
        drawn += [np.asarray(pixels.get_array()).tobytes() for pixels in ax.images]
    return drawn


def titles(figure: Figure) -> list[str]:
    """Return the titles of a figure and of its pictures."""
    of_axes = [ax.get_title(loc=where) for ax in figure.axes for where in ("left", "center")]
    return [title for title in (figure.get_suptitle(), *of_axes) if title]


def wrong_with_title(figure: Figure) -> str:
    if any(len(title.split()) >= SENTENCE for title in titles(figure)):
        return ""
    return f"no title is a sentence: {titles(figure)}"


def _axes(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.get_visible() and ax.axison]


def wrong_with_labels(figure: Figure) -> str:
    labels = [label for ax in _axes(figure) for label in (ax.get_xlabel(), ax.get_ylabel())]
    if not any(UNIT.search(label) for label in labels):
        return f"no axis has a unit: {labels}"
    for k, ax in enumerate(_axes(figure)):
        above_another = len(ax.get_shared_x_axes().get_siblings(ax)) > 1
        if not (ax.get_xlabel() or ax.get_ylabel() or above_another):
            return f"picture {k} has no label"
    return ""


def wrong_with_zero(figure: Figure) -> str:
    """Bars begin at zero; times do, or their axis is logarithmic."""
    for ax in _axes(figure):
        of_bars = [one.orientation for one in ax.containers if isinstance(one, BarContainer)]
        for name, axis, limits, upright in (
            ("x", ax.xaxis, ax.get_xlim(), "horizontal"),
            ("y", ax.yaxis, ax.get_ylim(), "vertical"),
        ):
            label = axis.get_label_text()
            if upright in of_bars and axis.get_scale() != "linear":
                return f"bars on a logarithmic {name} axis"
            linear = axis.get_scale() == "linear"
            if linear and (upright in of_bars or TIME.search(label)) and min(limits) > 0:
                return f"the {name} axis {label!r} is cut at {min(limits):g}"
    return ""


def wrong_with_table(text: str) -> str:
    if not text.strip():
        return "no text"
    return f"a number is missing: {text}" if re.search(r"\bnan\b|\bNone\b", text) else ""


def ratios(output: Figure | str) -> list[str]:
    """Return the titles with a ratio or a share, which follow the record."""
    return [] if isinstance(output, str) else list(filter(RATIO.search, titles(output)))


def of_numbers(output: Output, draw: int) -> Change:
    """Return an edit of a record: other numbers, those included that are whole for the output."""
    return lambda record: records.other_numbers(record, *output.whole, draw=draw)


def edits(output: Output) -> Iterator[tuple[str, int | None, Mapping[str, Change]]]:
    """Yield what may change an output: whose edit it is, and the arguments of `Records.make`."""
    for draw in range(DRAWS):
        if output.given is not None:
            yield GIVEN, draw, {}
        for name in output.records:
            yield name, None, {name: of_numbers(output, draw)}
    if output.change is not None:
        yield from ((name, None, {name: output.change}) for name in output.records)


def wrong_with_change(output: Output, seen: Records, before: Figure | str) -> str:
    """Other numbers in each of its records, or another argument, are another picture or another
    text, and other numbers in all of its records are other titles. One draw may give a rounded
    ratio again, or the same best.
    """
    stay = {*output.records, *[GIVEN] * (output.given is not None)}
    for name, draw, changes in edits(output):
        if name not in stay:
            continue
        more = name == GIVEN, output.words
        if picture(seen.make(output, draw, **changes), *more) != picture(before, *more):
            stay.remove(name)
    if stay:
        return f"it shows the same with other numbers in {', '.join(sorted(stay))}"
    titles_that_stay = [one for one in ratios(before) if not one.startswith(output.fixed)]
    for draw in range(DRAWS if titles_that_stay else 0):
        changes = dict.fromkeys(output.records, of_numbers(output, draw))
        of_given = draw if output.given is not None else None
        after = ratios(seen.make(output, of_given, **changes))
        titles_that_stay = [title for title in titles_that_stay if title in after]
    return f"titles stay with other numbers: {titles_that_stay}" if titles_that_stay else ""


def wrong_with_columns(output: Output, seen: Records) -> str:
    """Each column and each row with numbers follows some edit, or the registry says that it is
    fixed. A column is compared beside the fixed ones, so that another order of rows is no change.
    """
    seen.make(output)
    before, after = seen.tables, []
    for _, draw, changes in edits(output):
        seen.make(output, draw, **changes)
        after.append(seen.tables)
    stay = set()
    for number, table in enumerate(before):
        others = [made[number] for made in after if number < len(made)]
        fixed = [k for k, name in enumerate(table[0]) if not k or name.startswith(output.fixed)]
        columns = [k for k in range(len(table[0])) if shows_a_number(table, k)]
        for k in columns:
            if all(same_column(table, other, fixed, k) for other in others):
                stay.add(table[0][k])
        for row in table[1]:
            cells = [row[k] for k in columns if k not in fixed]
            if any(map(NUMBER.search, cells)) and all(row in other[1] for other in others):
                stay.add(row[0])
    names = {name for name in stay if name not in {head[0] for head, _ in before}}
    unseen = sorted(name for name in names if not name.startswith(output.fixed))
    if unseen:
        return f"no edit changes these columns or rows: {unseen}"
    idle = [one for one in output.fixed if not any(name.startswith(one) for name in names)]
    return f"they are not fixed: {idle}" if idle else ""


def shows_a_number(table: Table, column: int) -> bool:
    return any(NUMBER.search(row[column]) for row in table[1])


def same_column(one: Table, other: Table, fixed: Sequence[int], column: int) -> bool:
    """Whether a column of two tables shows the same for the same fixed cells."""
    if len(one[0]) != len(other[0]):
        return False

    def cells(table: Table, columns: Sequence[int]) -> list[tuple[str, ...]]:
        return sorted(tuple(row[k] for k in columns) for row in table[1])

    beside = [k for k in fixed if k != column]
    if cells(one, beside) != cells(other, beside):
        beside = []
    return cells(one, [*beside, column]) == cells(other, [*beside, column])


def wrong_with_a_missing_series(output: Output, seen: Records) -> str:
    """It is made all the same, or an error names the record or the series."""
    for name in output.records:
        rows = results.recorded(name).measurements
        series = list(dict.fromkeys(one.series for one in rows))
        for lost in dict.fromkeys((*series[: MOST_SERIES - 1], series[-1])):
            try:
                seen.make(output, **{name: lambda one, lost=lost: records.without(one, lost)})
            except Exception as error:
                if not (CLEAR.search(str(error)) or any(n in str(error) for n in output.records)):
                    return f"{name} without {lost!r}: {type(error).__name__}: {error}"
    return ""


# --------------------------------------------------------------------------------------------------
# Every output keeps it


def test_it_is_made_from_its_records_and_no_others(made, seen):
    output, found = made
    assert isinstance(found, Figure | str)
    assert seen.read == set(output.records)


def test_its_words_and_axes(made):
    _, found = made
    rules = [wrong_with_title, wrong_with_labels, wrong_with_zero]
    rules = rules if isinstance(found, Figure) else [wrong_with_table]
    assert not [wrong for rule in rules if (wrong := rule(found))]


def test_it_shows_what_its_row_says(made):
    output, found = made
    require_row(output, found)


def test_it_follows_its_records(made, seen):
    output, found = made
    assert not wrong_with_change(output, seen, found)


def test_a_record_without_a_series_is_no_crash(made, seen):
    assert not wrong_with_a_missing_series(made[0], seen)


def test_every_column_and_row_follows_a_record(made, seen):
    output, found = made
    assert isinstance(found, Figure) or not wrong_with_columns(output, seen)


def require_row(output: Output, found: Figure | str) -> None:
    """Compare an output with its golden row, if it has no times of this machine."""
    if "_here" not in output.function.__name__ and "here_" not in output.function.__name__:
        golden.require("outputs", output.name, golden.of_output(found))


@pytest.mark.parametrize("output", DRAWINGS, ids=lambda output: output.name)
def test_a_drawing_or_a_counted_table_shows_its_row_and_reads_no_record(output, seen):
    seen.read.clear()
    found = seen.make(output)
    require_row(output, found)
    assert not (wrong_with_title if isinstance(found, Figure) else wrong_with_table)(found)
    assert not seen.read
    if output.given is not None:
        assert not wrong_with_change(output, seen, found)
        assert isinstance(found, Figure) or not wrong_with_columns(output, seen)


# --------------------------------------------------------------------------------------------------
# The registry is complete


def public(package) -> Iterator[Callable]:
    """Yield the public functions of a package's modules."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for name, value in vars(import_module(module.name)).items():
            is_own = inspect.isfunction(value) and value.__module__ == module.name
            if is_own and not name.startswith("_"):
                yield value


def looks_like_an_output(function: Callable) -> bool:
    """Whether a function returns a figure, draws into axes, or returns a text on a record."""
    signature = inspect.signature(function)
    if signature.return_annotation in ("Figure", "Axes"):
        return True
    given = " ".join(str(one.annotation) for one in signature.parameters.values())
    of_record = re.search(r"\b(?:Record|Times|LayerTimes|ByWidth|ByLayer)\b", given)
    named = re.search(r"(?:^|_)table(?:_|$)", function.__name__)
    return signature.return_annotation == "str" and bool(of_record or named)


def test_every_figure_and_table_is_in_the_registry():
    listed = {one.function for one in (*OF_RECORDS, *DRAWINGS)}
    there = {one for package in (experiments, plotting) for one in public(package)}
    outputs = set(filter(looks_like_an_output, there))
    names = sorted(f"{one.__module__}.{one.__name__}" for one in outputs - listed - set(NO_OUTPUT))
    assert not names
    assert not listed & set(NO_OUTPUT) and set(NO_OUTPUT) <= outputs, "a reason without a need"


def test_every_committed_record_is_read_by_an_output():
    there = {path.stem for path in results.MEASURED.glob("*.json")}
    read = {name for one in OF_RECORDS for name in one.records}
    assert there == read | set(WITHOUT_OUTPUT)
    assert not read & set(WITHOUT_OUTPUT), "a reason without a need"


def test_entries_have_names_of_their_own():
    names = [one.name for one in (*OF_RECORDS, *DRAWINGS)]
    assert len(names) == len(set(names))


# --------------------------------------------------------------------------------------------------
# The contract rejects what breaks it

NAME = "104_deeper_tiles"
FIRST = results.recorded(NAME).measurements[0].series


def times_drawn(record: results.Record, **changes) -> Figure:
    """Draw bars of a record's times that keep the contract, but for the changes of the axes."""
    figure, ax = plt.subplots()
    rows = [row for row in record.rows() if row.get("median_ms")]
    ax.barh(range(len(rows)), [row["median_ms"] for row in rows])
    ax.set(title="These bars are the times", xlabel="time (ms)")
    ax.set(**changes)
    return figure


def breaks(call: Callable[[results.Record], object]) -> Output:
    return Output(times_drawn, (NAME,), call)


def test_a_figure_that_keeps_the_contract_is_not_rejected(seen):
    figure = seen.make(breaks(times_drawn))
    assert not wrong_with_title(figure) + wrong_with_labels(figure) + wrong_with_zero(figure)
    assert not wrong_with_change(breaks(times_drawn), seen, figure)
    assert not wrong_with_a_missing_series(breaks(times_drawn), seen)


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        (wrong_with_title, {"title": ""}),
        (wrong_with_title, {"title": "conv1d_tiled"}),
        (wrong_with_labels, {"xlabel": ""}),
        (wrong_with_labels, {"xlabel": "time"}),
        (wrong_with_zero, {"xlim": (0.05, 1)}),
        (wrong_with_zero, {"xscale": "log"}),
    ],
)
def test_a_figure_without_words_or_with_a_cut_axis_is_rejected(seen, rule, changes):
    assert rule(times_drawn(results.recorded(NAME), **changes))


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_times_as_points_may_stand_on_a_logarithmic_axis_alone(scale):
    figure, ax = plt.subplots()
    ax.plot([1, 2], [3, 4], "o")
    ax.set(ylabel="time (ms)", ylim=(2, 5), yscale=scale)
    assert bool(wrong_with_zero(figure)) == (scale == "linear")


def test_a_picture_without_a_label_is_rejected_beside_one_with():
    figure, (first, _) = plt.subplots(1, 2)
    first.set_xlabel("time (ms)")
    assert "picture 1 " in wrong_with_labels(figure)


@pytest.mark.parametrize("text", ["", "layer 1  nan", "layer 1  None"])
def test_a_table_without_a_number_is_rejected(text):
    assert wrong_with_table(text)
    assert not wrong_with_table("layer 1  0.25, Nancy")


def test_an_output_that_ignores_its_rows_is_rejected(seen):
    def title_alone(record):
        figure = times_drawn(results.recorded("102_constant"))
        figure.axes[0].set_title(f"The first takes {record.rows()[0]['median_ms']} ms")
        return figure

    def one_sentence(record):
        return "The vector kernel is the fastest."

    for call in (title_alone, one_sentence):
        assert NAME in wrong_with_change(breaks(call), seen, seen.make(breaks(call)))


@pytest.mark.parametrize(
    ("fixed", "wrong"),
    [
        (("its size",), ""),
        ((), "no edit changes these columns or rows: ['its size']"),
        (("its size", "ms"), "they are not fixed: ['ms']"),
        (("its size", "another"), "they are not fixed: ['another']"),
    ],
)
def test_a_column_that_follows_no_record_must_be_declared(seen, fixed, wrong):
    def call(record):
        rows = [row for row in record.rows() if row.get("median_ms")]
        head = ("kernel", "ms", "its size")
        return tables.text(head, [(row["series"], str(row["median_ms"]), "64 B") for row in rows])

    assert wrong_with_columns(dataclasses.replace(breaks(call), fixed=fixed), seen) == wrong


def test_a_row_that_follows_no_record_must_be_declared(seen):
    def call(record):
        rows = [("ours", f"{record.rows()[0]['median_ms']:.5f}"), ("report A", "1.5")]
        return tables.text(("", "ms"), rows)

    assert "['report A']" in wrong_with_columns(breaks(call), seen)
    assert not wrong_with_columns(dataclasses.replace(breaks(call), fixed=("report ",)), seen)


def test_an_order_of_rows_is_no_change_of_a_column(seen):
    def call(record):
        rows = sorted(record.rows(), key=lambda row: row.get("median_ms", 0))
        names = [row["series"] for row in rows]
        times = [str(row.get("median_ms")) for row in rows]
        lengths = [str(len(name)) for name in names]
        return tables.text(("", "ms", "length"), zip(names, times, lengths, strict=True))

    assert "['length']" in wrong_with_columns(breaks(call), seen)


def test_an_output_that_ignores_what_is_given_is_rejected(seen):
    output = Output(str, call=lambda number: "7 ms", given=lambda: 7, other=lambda one, draw: draw)
    assert GIVEN in wrong_with_change(output, seen, output.make())
    follows = dataclasses.replace(output, call=lambda number: f"{number} ms")
    assert not wrong_with_change(follows, seen, follows.make())


def test_other_counts_are_other_numbers_of_everything():
    one = counts_of_three()["layer 1"][0]
    other = other_counts(one)
    counters, more = one.profile.counters(), other.profile.counters()
    assert all(more[name] > number for name, number in counters.items() if number)
    assert other.executed("") > one.executed("") and other.idle > one.idle


def test_a_title_that_does_not_follow_the_record_is_rejected(seen):
    output = breaks(lambda record: times_drawn(record, title="The last is 2.5 times as fast"))
    assert "2.5 times" in wrong_with_change(output, seen, seen.make(output))


@pytest.mark.parametrize(
    "call",
    [
        lambda record: next(row for row in record.rows() if row["series"] == FIRST),
        lambda record: {row["series"]: row for row in record.rows()}[FIRST],
        lambda record: sorted(row["n"] for row in record.rows() if row["series"] == FIRST)[0],
        lambda record: max(row["n"] for row in record.rows() if row["series"] == FIRST),
    ],
)
def test_a_crash_where_a_series_is_missing_is_rejected(seen, call):
    assert f"without {FIRST!r}" in wrong_with_a_missing_series(breaks(call), seen)


def test_an_output_of_another_record_is_noticed(seen):
    seen.read.clear()
    seen.make(breaks(lambda record: str(results.recorded("102_constant").rows())))
    assert seen.read == {NAME, "102_constant"}
