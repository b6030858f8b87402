"""Deeper notebooks, labs/deeper/NNN_deeper.ipynb: run, copied, given out and linked like the labs.

A small one is made here, so that these tests need none in the repository.
"""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from helpers import kernels, labs
from helpers.bench import results
from helpers.course import package, release
from helpers.labs import copies
from helpers.tools import claims, notebook_metadata, run_labs, website

LAB = next(path for path in labs.notebooks() if labs.number(path.stem) == "104")
WORDS = (
    f"# 104 deeper\n\nOf [lab 104](../{LAB.name}): a [warp](../README.md#glossary), "
    "[data](../../data/README.md), [axpy](../../kernels/axpy_basic.cu)."
)


def made(folder: Path) -> Path:
    """A deeper notebook of lab 104 below a folder of labs, with an output."""
    cells = [
        new_markdown_cell(WORDS),
        new_code_cell("print('PASS it')", execution_count=1),
    ]
    book = new_notebook(cells=cells, metadata=notebook_metadata.METADATA)
    path = folder / labs.DEEPER / "104_deeper.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(book, path)
    return path


@pytest.fixture
def project(tmp_path):
    """A project with lab 104, its deeper notebook, and the pages that they lead to."""
    root = tmp_path / "project"
    (root / "labs").mkdir(parents=True)
    shutil.copy(LAB, root / "labs")
    for page in ("START.md", "README.md", "labs/README.md", "data/README.md"):
        (root / page).parent.mkdir(exist_ok=True)
        shutil.copy(labs.ROOT / page, root / page)
    (root / "kernels").mkdir()
    (root / "kernels/axpy_basic.cu").write_text(kernels.source("axpy_basic"))
    made(root / "labs")
    return root


LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


def dead_links(path: Path, root: Path) -> list[str]:
    """The links of a notebook that lead to no file below root, or to no section of a page."""
    cells = nbformat.read(path, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    dead = []
    for target in (target for text in texts for target in LINK.findall(text)):
        place, _, part = target.partition("#")
        file = (path.parent / place).resolve()
        if "://" in target or target.startswith("attachment:"):
            continue
        if not place:  # a section of the notebook itself
            continue
        if not file.is_relative_to(root) or not file.exists():
            dead.append(target)
        elif part and file.suffix == ".md":
            heads = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}
            dead += [] if part in slugs else [target]
    return dead


@pytest.mark.parametrize("path", labs.every(), ids=lambda path: path.stem)
def test_every_link_of_a_notebook_leads_somewhere(path):
    assert dead_links(path, labs.ROOT) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    texts = "[a](b.ipynb), [c](../README.md#no-such-part), [d](#here), [e](https://x.org/y)"
    path = tmp_path / "labs/x.ipynb"
    path.parent.mkdir()
    nbformat.write(new_notebook(cells=[new_markdown_cell(texts)]), path)
    (tmp_path / "README.md").write_text("# Start\n")
    assert dead_links(path, tmp_path) == ["b.ipynb", "../README.md#no-such-part"]


def test_a_deeper_notebook_is_no_lab():
    assert not set(labs.notebooks()) & set(labs.deeper())
    numbers = [labs.number(path.stem) for path in labs.notebooks()]
    assert [path.name for path in labs.deeper()] == [
        f"{number}_{labs.DEEPER}.ipynb"
        for number in numbers
        if number in {labs.number(path.stem) for path in labs.deeper()}
    ]


def unlinked(folder: Path) -> list[str]:
    """The deeper notebooks below a folder of labs whose first cell does not link to their lab, or
    to which no cell of their lab links.
    """
    lost = []
    for path in labs.deeper(folder):
        number = labs.number(path.stem)
        (lab,) = (lab for lab in labs.notebooks(folder) if labs.number(lab.stem) == number)
        first = nbformat.read(path, as_version=4).cells[0].source
        texts = [cell.source for cell in nbformat.read(lab, as_version=4).cells]
        ways = [f"](../{lab.name})" in first]
        ways.append(any(f"]({labs.place(path).as_posix()})" in text for text in texts))
        lost += [] if all(ways) else [path.name]
    return lost


def test_a_deeper_notebook_and_its_lab_lead_to_each_other(project):
    assert unlinked(labs.LABS) == []
    lab = project / "labs" / LAB.name
    book = nbformat.read(lab, as_version=4)
    book.cells = [cell for cell in book.cells if labs.DEEPER not in cell.source]
    nbformat.write(book, lab)
    assert unlinked(project / "labs") == ["104_deeper.ipynb"]
    book.cells.append(new_markdown_cell("Deeper: [causes](deeper/104_deeper.ipynb)."))
    nbformat.write(book, lab)
    assert unlinked(project / "labs") == []


RECORD = re.compile(r"""(?:\brecord=|\bresults\.(?:record|extend)\(\s*)["'](\w+)["']""")


def shared_records(notebooks: dict[str, str]) -> set[str]:
    """The records that several of these notebooks write; notebooks: the code of each."""
    written = [name for code in notebooks.values() for name in set(RECORD.findall(code))]
    return {name for name in written if written.count(name) > 1}


def code_of(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def test_a_record_is_written_by_one_notebook():
    """The second one would leave only its own rows in the file."""
    assert shared_records({path.stem: code_of(path) for path in labs.every()}) == set()
    lab, other = 'a.compare(b, record="104_tiles")', 'results.record(\n    "104_tiles", rows)'
    assert shared_records({"a": lab, "b": other}) == {"104_tiles"}
    assert shared_records({"a": lab + lab, "b": 'results.recall("104_tiles")'}) == set()


def test_a_record_belongs_to_the_notebook_that_it_is_named_after(monkeypatch):
    monkeypatch.setattr(labs, "deeper", lambda: (Path("labs/deeper/104_deeper.ipynb"),))
    assert results._lab_of("104_deeper_widths") == "104_deeper"
    assert results._lab_of("104_tiles") == LAB.stem
    assert results._lab_of("999_none") == "999_none"


def test_it_runs_after_the_labs_and_by_its_name(project):
    def found(*names):
        return [path.stem for path in run_labs.find_labs(names, project / "labs")]

    assert found() == [LAB.stem, "104_deeper"]
    assert found("104") == [LAB.stem]
    assert found("104_deeper") == found("104_d") == ["104_deeper"]


def test_its_run_has_a_file_of_its_own(project, tmp_path, capsys):
    notebook = labs.deeper(project / "labs")[0]
    assert run_labs.main([str(notebook), "--results", str(tmp_path / "results")]) == 0
    (cell,) = nbformat.read(tmp_path / "results/104_deeper.ipynb", as_version=4).cells[1:]
    assert cell.outputs[0]["text"] == "PASS it\n"
    assert "104_deeper" in capsys.readouterr().out


def test_a_student_gets_a_copy_with_links_that_lead_somewhere(project):
    assert copies.update(project).made == [LAB.stem, "104_deeper"]
    mine = project / copies.FOLDER / "deeper/104_deeper.ipynb"
    assert dead_links(mine, project) == []
    words = nbformat.read(mine, as_version=4).cells[0].source
    assert f"](../{copies.MAP}#glossary)" in words and "../../data/README.md" in words
    assert str(copies.update(project)) == f"{copies.FOLDER}/: nothing to update"
    mine.write_text(mine.read_text().replace("PASS it", "mine"))
    source = labs.deeper(project / "labs")[0]
    source.write_text(source.read_text().replace("PASS it", "PASS them"))
    assert copies.update(project).beside == {"104_deeper": "104_deeper_new"}
    assert "PASS them" in mine.with_name("104_deeper_new.ipynb").read_text()


def test_a_begun_copy_is_on_the_start_page(project):
    copies.update(project)
    mine = project / copies.FOLDER / "deeper/104_deeper.ipynb"
    book = json.loads(mine.read_text())
    book["cells"][1]["execution_count"] = 1
    mine.write_text(json.dumps(book))
    copies.write_start_page(project)
    page = (project / copies.FOLDER / copies.START_PAGE).read_text()
    assert "| [104 deeper](deeper/104_deeper.ipynb) | begun |" in page


def test_a_release_and_a_package_have_it_beside_its_lab(project, tmp_path, monkeypatch):
    monkeypatch.setattr(labs, "deeper", partial(labs.deeper, project / "labs"))
    release.release(["104", "105"], tmp_path / "release")
    written = tmp_path / "release" / LAB.stem / "104_deeper.ipynb"
    assert dead_links(written, tmp_path / "release") == []
    words = nbformat.read(written, as_version=4).cells[0].source
    assert f"](../{LAB.stem}/{LAB.name})" in words and "](../GLOSSARY.md)" in words
    assert not list(tmp_path.glob("release/105*/*deeper*"))
    package.write(["104"], tmp_path / "package")
    assert [labs.place(path) for path in labs.deeper()] == [
        path.relative_to(tmp_path / "package/labs")
        for path in (tmp_path / "package/labs").rglob("*deeper.ipynb")
    ]
    package.write(["105"], tmp_path / "other")
    assert not (tmp_path / "other/labs/deeper").exists()


def test_its_numbers_and_metadata_are_checked(project, monkeypatch):
    assert labs.deeper(project / "labs")[0] in claims.files(project)
    path = labs.deeper(project / "labs")[0]
    path.write_text(path.read_text().replace('"ipython3"', '"ipython4"'))
    monkeypatch.setattr(labs, "every", lambda: (path,))
    assert notebook_metadata.main([]) == 1


def test_the_site_has_a_page_of_it_below_its_lab(project, tmp_path):
    for guide in website.GUIDES:
        if guide.endswith(".md"):
            (project / guide).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(labs.ROOT / guide, project / guide)
    shutil.copytree(labs.ROOT / "data/pictures", project / "data/pictures", dirs_exist_ok=True)
    website.stage(tmp_path / "source", project)
    page = nbformat.read(tmp_path / "source/labs/deeper/104_deeper.ipynb", as_version=4)
    words = page.cells[0].source
    assert f"](../{LAB.name})" in words and "](../../kernels/axpy_basic.md)" in words
    assert (tmp_path / "source/extra/download/104_deeper.ipynb").exists()
    assert "deeper/104_deeper" not in (tmp_path / "source/index.md").read_text()
    lab = nbformat.read(tmp_path / f"source/labs/{LAB.name}", as_version=4)
    assert "\ndeeper/104_deeper\n" in lab.cells[-1].source  # folded below it in the side bar
