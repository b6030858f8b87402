"""What a lab needs and which comes next: the notebooks beside the tables of labs/README.md."""

import itertools
import json
import re

import pytest

from helpers import labs

README = (labs.LABS / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \[(\d{3})_\w+\]\((\w+\.ipynb)\) \|.*\| ([^|]+) \| \d+ \|$", re.MULTILINE)
LABS = {number: (file, needs) for number, file, needs in ROW.findall(README)}
ORDER = list(LABS)
LINK = re.compile(r"\[[^]]*?(\d{3})\]\((\w+\.ipynb)\)")


def numbers(text):
    """The labs that a text names, with those between "107 to 110". What only helps is left out."""
    plain = re.sub(r"\([^()]*\)", "", LINK.sub(r"\1", text)).partition(";")[0]
    named = {int(one) for one in re.findall(r"\b\d{3}\b", plain)}
    for first, last in re.findall(r"(\d{3}) to (\d{3})", plain):
        named |= {int(one) for one in ORDER if int(first) <= int(one) <= int(last)}
    return {str(one) for one in named}


def cells(number):
    notebook = json.loads((labs.LABS / LABS[number][0]).read_text(encoding="utf-8"))
    texts = ("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    return list(texts)


def needs_of(text):
    """The sentence in which the title cell of a lab says what it needs."""
    found = re.search(r"\*Needs: (.*?[^0-9])\. ", text)
    assert found, "the first cell must have a sentence *Needs: labs ... ."
    return found[1]


def test_the_tables_have_every_lab():
    files = [path.name for path in labs.notebooks()]
    assert files == [file for file, _ in LABS.values()]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("-", set()),
        ("107 to 110, 200", {"107", "108", "109", "110", "200"}),
        ("203, 110 (301 helps)", {"203", "110"}),
        ("107, 111; 305 for the fastest form", {"107", "111"}),
        ("labs [107](107_a.ipynb) (the layer) and [112](112_b.ipynb)", {"107", "112"}),
    ],
)
def test_numbers_of_a_sentence(text, named):
    assert numbers(text) == named


@pytest.mark.parametrize("number", ORDER)
def test_a_lab_needs_what_the_table_says(number):
    sentence = needs_of(cells(number)[0])
    assert numbers(sentence) == numbers(LABS[number][1])
    linked = dict(LINK.findall(sentence))
    assert linked.keys() == set(re.findall(r"\b\d{3}\b", LINK.sub(r"\1", sentence))), "no link"
    assert all(LABS[one][0] == file for one, file in linked.items())


@pytest.mark.parametrize("number", ORDER)
def test_no_lab_needs_a_later_one(number):
    behind = ORDER[ORDER.index(number) :]
    assert not [one for one in numbers(LABS[number][1]) if one in behind]


@pytest.mark.parametrize(("number", "after"), list(itertools.pairwise(ORDER)))
def test_the_next_lab_is_the_next_of_the_table(number, after):
    words = [text.partition("**Next:**")[2] for text in cells(number) if "**Next:**" in text]
    assert len(words) == 1, "one cell says **Next:**"
    first = LINK.search(words[0])
    assert first and first.groups() == (after, LABS[after][0])
