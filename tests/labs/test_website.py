"""The website: its parts, its links, the descriptions of its figures, and a page's colours."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers import exercises, labs
from helpers.exercises.judge import states
from helpers.labs import stored
from helpers.plotting.descriptions import description
from helpers.tools import website
from tests.labs.browser import WAIT_MS, screenshot

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
    assert listed == [path.name for path in labs.notebooks()]


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
    photograph = new_output(
        "display_data",
        {"image/png": "AAAA", "text/plain": "Figure: B."},
        metadata={"needs_background": "light"},
    )
    notebook = new_notebook(
        cells=[
            new_code_cell("plot()", outputs=[text, picture]),
            new_code_cell("1", outputs=[text]),
            new_code_cell("photograph()", outputs=[photograph]),
            new_markdown_cell("m"),
        ]
    )
    drawn, printed, shown, words = website.described(notebook).cells
    assert drawn.metadata["mystnb"] == {"image": {"alt": "Figure: A claim."}}
    assert shown.metadata["mystnb"]["image"] == {"alt": "Figure: B.", "classes": "dark-light"}
    assert "mystnb" not in printed.metadata and "mystnb" not in words.metadata


@pytest.mark.parametrize(
    ("link", "page", "want"),
    [
        ("[k](kernels/axpy_basic.cu)", "README.md", "[k](kernels/axpy_basic.md)"),
        ("[k](../kernels/README.md)", "labs/README.md", "[k](../kernels/README.md)"),
        ("[top](../README.md#start)", "labs/README.md", "[top](../index.md#start)"),
        ("[licence](LICENSE)", "README.md", "licence"),
        ("[results](results/)", "README.md", "results"),
        ("![race](data/replay.gif)", "README.md", "![race](data/replay.gif)"),
        ("[web](https://example.org/a.cu)", "README.md", "[web](https://example.org/a.cu)"),
        ("[here](#start)", "README.md", "[here](#start)"),
    ],
)
def test_links_lead_to_pages_of_the_site(link, page, want):
    assert website._linked(link, page, website.ROOT) == want


def test_a_picture_without_a_description_is_named_by_its_section():
    picture = new_output("display_data", {"image/png": "AAAA", "text/plain": "<Figure size 9x9>"})
    notebook = new_notebook(
        cells=[new_markdown_cell("## Look inside\ntext"), new_code_cell("f()", outputs=[picture])]
    )
    alt = website.described(notebook).cells[1].metadata["mystnb"]["image"]["alt"]
    assert alt == "Figure: part of “Look inside”."


def test_hints_and_solution_are_folded_below_the_last_check():
    check = 'exercises.find("conv1d_edge").check(kernel)'
    notebook = website.with_help(
        new_notebook(cells=[new_code_cell(check), new_code_cell(check), new_markdown_cell("end")])
    )
    first, second, folded, end = notebook.cells
    exercise = exercises.find("conv1d_edge")
    assert (first.source, second.source, end.source) == (check, check, "end")
    assert folded.source.count("<details>") == len(exercise.hints) + 1
    assert exercise.solution.strip() in folded.source


def test_code_in_a_hint_is_code_and_stays_text():
    exercise = exercises.find("conv1d_basic")
    folded = website._folded(exercise)
    assert "`" in exercise.hints[0] and "<code>const int i</code>" in folded
    assert "`" not in folded.partition("A solution")[0]
    assert "<code>a &lt; b</code>" in website._with_code("`a < b`")


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("Step 2 · Write the tile", "step-2-write-the-tile"),
        ("1 · Map: each its own", "map-each-its-own"),  # no name begins with a digit
        ("What does `x` cost?", "what-does-x-cost"),
    ],
)
def test_the_list_of_exercises_leads_to_the_sections_of_the_page(heading, section):
    cells = [
        new_markdown_cell(f"## {heading}"),
        new_code_cell('exercises.find("conv1d_edge").check(conv1d_edge)'),
    ]
    asked = stored.exercises_of(nbformat.writes(new_notebook(cells=cells)))
    every = (exercises.find("conv1d_edge"),)
    words = states.Progress("101", every, asked, {})._repr_html_()
    cells[1].outputs = [new_output("display_data", {"text/html": words})]
    made = website.with_anchors(new_notebook(cells=cells)).cells[1].outputs[0]
    assert re.findall('href="([^"]*)"', made.data["text/html"]) == [f"#{section}"]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("Done.\n\n**Next:** [lab 102](102_x.ipynb) or lab 104.", "102"),
        ("Next: lab 300 halves the bytes.", "300"),
        ("Next, a fragment of lab 301.", None),
    ],
)
def test_the_next_lab_is_the_one_that_the_last_words_name(words, number):
    cells = [new_markdown_cell("Next: lab 999"), new_code_cell("1"), new_markdown_cell(words)]
    assert website.next_lab(new_notebook(cells=cells)) == number


def test_links_of_labs_lead_to_pages(tmp_path):
    website.stage(tmp_path / "source")
    texts = [path.read_text() for path in labs.every(tmp_path / "source" / "labs")]
    assert texts and not any("kernels/conv2d_wgmma.cu)" in text for text in texts)
    assert any("kernels/conv2d_wgmma.md)" in text for text in texts)


def test_buttons_of_other_hosts_need_the_address_of_a_copy(monkeypatch):
    monkeypatch.delenv("GITHUB_REF_NAME", raising=False)
    assert "launch_buttons" not in website._theme_options("")
    options = website._theme_options("https://github.com/owner/labs")
    assert options["repository_url"] == "https://github.com/owner/labs"
    assert set(options["launch_buttons"]) >= {"binderhub_url", "colab_url"}
    assert options["repository_branch"] == "main"
    monkeypatch.setenv("GITHUB_REF_NAME", "autumn")
    assert website._theme_options("https://github.com/o/l")["repository_branch"] == "autumn"
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/labs")
    assert website._repository_of_workflow() == "https://github.com/owner/labs"


# --------------------------------------------------------------------------------- the built site

MOST_BYTES = 1_500_000  # of a page with all that it loads


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the whole site; built once, which takes half a minute."""
    for name in ("myst_nb", "sphinx_book_theme"):
        pytest.importorskip(name, reason="the extra `site` is not installed")
    target = tmp_path_factory.mktemp("website") / "site"
    assert website.build(target) == 0, "Sphinx warned of something"
    return target


def test_the_site_has_a_page_for_every_lab(site):
    for lab in labs.every():
        assert (site / "labs" / labs.place(lab).with_suffix(".html")).exists()
        nbformat.validate(nbformat.read(site / "download" / lab.name, as_version=4))
    page = (site / "labs" / "100_start_here.html").read_text()
    assert "highlight-cuda" in page and 'alt="' in page


def test_every_picture_of_the_site_is_described(site):
    for page in site.rglob("*.html"):
        pictures = re.findall(r"<img\b[^>]*>", page.read_text())
        words = [re.search(r'alt="([^"]*)"', picture) for picture in pictures]
        assert all(found and found[1].strip() for found in words), page.name
        assert not [found[1] for found in words if found[1].startswith("&lt;")], page.name


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    """The address of the site, served on this machine."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


PAGES = ("index.html", "labs/README.html", "labs/101_conv1d_blocks_and_halos.html")
SIZES = ((1366, 768), (1920, 1080), (390, 844))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_fit_their_screens_and_can_be_read_by_all(address, browser, theme):
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    script = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    faults = []
    for width, height in SIZES:
        size = {"width": width, "height": height}
        page = browser.new_context(viewport=size, color_scheme=theme).new_page()
        page.set_default_timeout(WAIT_MS)
        for name in PAGES:
            page.goto(address + name)
            page.wait_for_load_state("networkidle")
            screenshot(page, f"site_{name.replace('/', '_')}_{theme}_{width}")
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, f"{name} is {wide} pixels wider than {width}"
            page.evaluate(script)
            found = page.evaluate("axe.run()")["violations"]
            faults += [
                f"{name} at {width}: {one['id']}: {one['nodes'][0]['html'][:200]}"
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
        page.context.close()
    assert faults == []


def test_a_page_is_light_and_its_buttons_work(address, browser):
    page = browser.new_context(permissions=["clipboard-read", "clipboard-write"]).new_page()
    page.set_default_timeout(WAIT_MS)
    loaded = []
    page.on("response", lambda response: loaded.append(response))
    page.goto(f"{address}labs/101_conv1d_blocks_and_halos.html")
    page.evaluate("document.querySelectorAll('img').forEach(one => (one.loading = 'eager'))")
    page.wait_for_load_state("networkidle")
    assert sum(len(response.body()) for response in loaded if response.ok) < MOST_BYTES

    listing = page.locator(".bd-article div.highlight").first
    listing.hover()
    listing.get_by_role("button", name="Copy this listing").click()
    page.get_by_text("copied", exact=True).wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == listing.locator("pre").inner_text().removesuffix("\n")

    page.get_by_role("button", name="Enlarge this figure").first.click()
    assert page.locator("dialog.halo-large img").get_attribute("alt")
    page.keyboard.press("Escape")
    page.locator("dialog.halo-large").wait_for(state="detached")

    hint = page.locator("details", has_text="Hint 1 of 3").first
    assert not hint.locator("p").first.is_visible()
    hint.locator("summary").first.click()
    assert hint.locator("p").first.is_visible()

    with page.expect_download() as saved:
        page.locator(".btn-download-notebook-button").click()
    notebook = nbformat.read(saved.value.path(), as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    page.context.close()


def test_a_missing_extra_is_named(monkeypatch, capsys, tmp_path):
    def missing(target, repository):
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
    lab = labs.notebooks(tmp_path / "source" / "labs")[0]
    nbformat.validate(nbformat.read(lab, as_version=4))
    front = (tmp_path / "source" / "index.md").read_text()
    assert "toctree" in front
    pictures = re.findall(r"!\[.*?\]\((?!http)(.*?)\)", front)
    assert len(pictures) == (website.ROOT / "README.md").read_text().count("![")
    assert [p for p in pictures if not (tmp_path / "source" / p).is_file()] == []
