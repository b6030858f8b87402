"""The website: its parts, its links, the descriptions of its figures, and a page's colours."""

from __future__ import annotations

import importlib.util
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers.plotting.descriptions import description
from helpers.tools import website

pyplot = pytest.importorskip("matplotlib.pyplot")

INDEX = """# Labs
Intro with a link to [a guide](GUIDE.md).

## Part 1: core
| [one](1_one.ipynb) | after [two](2_two.ipynb) |

## Part 2: more
| [two](2_two.ipynb) | needs [one](1_one.ipynb) |
| [three](3_three.ipynb) | |
"""


def test_parts_are_headings_with_the_labs_below_them():
    core, more = website.parts(INDEX)
    assert (core.title, core.labs) == ("Part 1: core", ("1_one.ipynb", "2_two.ipynb"))
    assert (more.title, more.labs) == ("Part 2: more", ("3_three.ipynb",))


def test_an_index_without_labs_is_an_error():
    with pytest.raises(ValueError, match="links no notebook"):
        website.parts("# Labs\n\nnothing here\n")


def test_every_lab_of_the_repository_is_in_one_part():
    index = (website.ROOT / "labs" / "README.md").read_text()
    listed = [name for part in website.parts(index) for name in part.labs]
    assert sorted(listed) == sorted(path.name for path in (website.ROOT / "labs").glob("*.ipynb"))


def test_a_figure_is_described_by_its_titles_and_axes():
    figure, (left, right) = pyplot.subplots(1, 2)
    left.set(title="Time grows with n", xlabel="n", ylabel="time\n(ms)")
    right.set_title("Nothing grows", loc="left")
    assert description(figure) == "Figure: Time grows with n (x: n, y: time (ms)). Nothing grows."
    pyplot.close(figure)


def test_a_figure_with_one_title_for_all_is_described_by_it():
    figure, axes = pyplot.subplots()
    figure.suptitle("All of it")
    axes.set_xlabel("n")
    assert description(figure) == "Figure: All of it. Axes of x: n."
    pyplot.close(figure)


def test_pictures_get_the_descriptions_of_their_cell():
    picture = new_output("display_data", {"image/png": "AAAA", "text/plain": "Figure: A\n claim."})
    text = new_output("display_data", {"text/plain": "no figure"})
    notebook = new_notebook(
        cells=[
            new_code_cell("plot()", outputs=[text, picture]),
            new_code_cell("1", outputs=[text]),
            new_markdown_cell("m"),
        ]
    )
    drawn, printed, words = website.described(notebook).cells
    assert drawn.metadata["mystnb"] == {"image": {"alt": "Figure: A claim."}}
    assert "mystnb" not in printed.metadata and "mystnb" not in words.metadata


@pytest.mark.parametrize(
    ("link", "page", "want"),
    [
        ("[k](kernels/axpy_basic.cu)", "README.md", "[k](kernels/axpy_basic.md)"),
        ("[k](../kernels/README.md)", "labs/README.md", "[k](../kernels/README.md)"),
        ("[top](../README.md#start)", "labs/README.md", "[top](../index.md#start)"),
        ("[licence](LICENSE)", "README.md", "licence"),
        ("[results](results/)", "README.md", "results"),
        ("[web](https://example.org/a.cu)", "README.md", "[web](https://example.org/a.cu)"),
        ("[here](#start)", "README.md", "[here](#start)"),
    ],
)
def test_links_lead_to_pages_of_the_site(link, page, want):
    assert website._linked(link, page, website.ROOT) == want


@pytest.mark.skipif(
    importlib.util.find_spec("myst_nb") is None
    or importlib.util.find_spec("sphinx_book_theme") is None,
    reason="the extra `site` is not installed",
)
def test_the_site_has_a_page_for_every_lab_and_no_warning(tmp_path):
    assert website.build(tmp_path / "site") == 0
    for lab in (website.ROOT / "labs").glob("*.ipynb"):
        assert (tmp_path / "site" / "labs" / f"{lab.stem}.html").exists()
    page = (tmp_path / "site" / "labs" / "100_start_here.html").read_text()
    assert "highlight-cuda" in page and 'alt="' in page


def test_a_missing_extra_is_named(monkeypatch, capsys, tmp_path):
    def missing(target):
        raise ModuleNotFoundError("No module named 'sphinx'")

    monkeypatch.setattr(website, "build", missing)
    assert website.main(["--to", str(tmp_path)]) == 2
    assert "pip install -e '.[site]'" in capsys.readouterr().err


def test_staged_pages_are_complete(tmp_path):
    website.stage(tmp_path / "source")
    for kernel in (website.ROOT / "kernels").glob("*.cu"):
        assert (
            f"# {kernel.name}"
            in (tmp_path / "source" / "kernels" / f"{kernel.stem}.md").read_text()
        )
    lab = next((tmp_path / "source" / "labs").glob("*.ipynb"))
    nbformat.validate(nbformat.read(lab, as_version=4))
    front = (tmp_path / "source" / "index.md").read_text()
    assert "toctree" in front
    pictures = re.findall(r"!\[.*?\]\((?!http)(.*?)\)", front)
    assert pictures
    assert [p for p in pictures if not (tmp_path / "source" / p).is_file()] == []
