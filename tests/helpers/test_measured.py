"""Counts of records are read by their entries, without times."""

import json

import pytest

from helpers.problems import measured

ROWS = [
    {"series": "accuracy", "parameters": {"images": 100, "right": 93}, "timing": None},
    {"series": "accuracy", "parameters": {"images": 1000, "right": 933}, "timing": None},
    {"series": "other", "parameters": {"images": 100}, "timing": None},
]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(measured, "MEASURED", tmp_path)
    record = {"device": {"name": "a GPU"}, "measurements": ROWS}
    (tmp_path / "some.json").write_text(json.dumps(record))


def test_rows_are_chosen_by_their_entries(folder):
    (row,) = measured.counts("some", series="accuracy", images=100)
    want = {"series": "accuracy", "images": 100, "right": 93}
    assert row == {**want, "timing": None, "recorded_on": "a GPU"}
    assert len(measured.counts("some", series="accuracy")) == 2
    assert measured.counts("some", images=7) == []


def test_a_record_that_is_not_there_is_an_error(folder):
    with pytest.raises(FileNotFoundError):
        measured.counts("none")


def test_counts_of_a_committed_record():
    (row,) = measured.counts("501_lenet", series="accuracy", images=10_000, form="fused")[:1]
    assert 0 < row["right"] <= 10_000 and row["recorded_on"] == "NVIDIA H200"
