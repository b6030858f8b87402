"""Students' copies: made once, kept up to date, never overwritten where changed."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from helpers import labs
from helpers.labs import copies
from tests.processes import python

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path):
    """A project with two small labs and the real start page."""
    (tmp_path / "labs").mkdir()
    for name in ("100_start_here", "400_more"):
        write(tmp_path / f"labs/{name}.ipynb", "x = 1")
    for page in ("START.md", "labs/README.md"):
        shutil.copy(ROOT / page, tmp_path / page)
    return tmp_path


def write(path: Path, source: str) -> None:
    """A notebook with one cell that has run, and one that is a solution."""
    ran = {"cell_type": "code", "metadata": {}, "source": source, "execution_count": 3}
    out = [{"output_type": "stream", "name": "stdout", "text": "1"}]
    solution = {**ran, "metadata": {"tags": ["solution"]}, "source": "secret", "outputs": []}
    cells = [{**ran, "outputs": out}, solution]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))


def sources(path: Path) -> list[str]:
    return [cell["source"] for cell in json.loads(path.read_text())["cells"]]


def test_copies_have_no_outputs_and_no_solutions(project):
    assert copies.update(project).made == ["100_start_here", "400_more"]
    (cell,) = json.loads((project / "my_labs/100_start_here.ipynb").read_text())["cells"]
    assert (cell["source"], cell["outputs"], cell["execution_count"]) == ("x = 1", [], None)


def test_what_a_student_changed_is_never_overwritten(project):
    copies.update(project)
    mine = project / "my_labs/100_start_here.ipynb"
    write(mine, "my own work")
    before = mine.read_bytes()
    for lab in ("100_start_here", "400_more"):
        write(project / f"labs/{lab}.ipynb", "x = 2")
    done = copies.update(project)
    assert (done.made, done.replaced) == ([], ["400_more"]) and [*done.beside] == ["100_start_here"]
    assert mine.read_bytes() == before
    assert sources(project / "my_labs/100_start_here_new.ipynb") == ["x = 2"]
    assert sources(project / "my_labs/400_more.ipynb") == ["x = 2"]
    assert "100_start_here.ipynb is yours and stays" in str(done)


def test_a_new_version_that_a_student_works_in_is_never_overwritten(project):
    copies.update(project)
    write(project / "my_labs/100_start_here.ipynb", "my own work")
    new = project / "my_labs/100_start_here_new.ipynb"
    for version in ("x = 2", "x = 3"):
        write(project / "labs/100_start_here.ipynb", version)
        copies.update(project)
        assert sources(new) == [version], "nobody has touched the new version"
    write(new, "I go on here")
    write(project / "labs/100_start_here.ipynb", "x = 4")
    assert "the new version is 100_start_here_new2.ipynb" in str(copies.update(project))
    assert sources(new)[0] == "I go on here"
    assert sources(project / "my_labs/100_start_here_new2.ipynb") == ["x = 4"]
    assert str(copies.update(project)) == "my_labs/: nothing to update"


@pytest.mark.parametrize("text", [
    "", "[]", "3", "{}", '{"cells": null}', '{"cells": [1]}', '{"cells": [{}]}', "\ufeff{}",
    '{"cells": [{"cell_type": "code", "source": null, "outputs": null, "execution_count": 1}]}',
    '{"cells": [{"cell_type": "code", "source": ["exercises.find(\'one\')"], "outputs": '
    '[1, {"text": null, "data": null, "evalue": null}]}]}',
])  # fmt: skip
def test_a_copy_that_is_no_notebook_stops_nothing(project, text):
    copies.update(project)
    copy = project / "my_labs/400_more.ipynb"
    copy.write_text(text, encoding="utf-8")
    write(project / "labs/400_more.ipynb", "x = 2")
    copies.update(project)
    copies.write_start_page(project)
    assert copy.read_text(encoding="utf-8") == text
    assert sources(project / "my_labs/400_more_new.ipynb") == ["x = 2"]


def test_a_copy_in_another_encoding_stays(project):
    copies.update(project)
    copy = project / "my_labs/400_more.ipynb"
    copy.write_bytes(b"\xff\xfe{\x00")
    write(project / "labs/400_more.ipynb", "x = 2")
    assert [*copies.update(project).beside] == ["400_more"]
    assert copy.read_bytes() == b"\xff\xfe{\x00"


def test_a_second_update_does_nothing(project):
    copies.update(project)
    files = {path: path.read_bytes() for path in (project / "my_labs").iterdir()}
    assert str(copies.update(project)) == "my_labs/: nothing to update"
    assert files == {path: path.read_bytes() for path in (project / "my_labs").iterdir()}


def test_a_file_that_was_there_before_stays(project):
    (project / "my_labs").mkdir()
    write(project / "my_labs/400_more.ipynb", "mine, from elsewhere")
    assert copies.update(project).made == ["100_start_here"]
    assert sources(project / "my_labs/400_more.ipynb")[0] == "mine, from elsewhere"


def test_a_deleted_copy_is_made_again(project):
    copies.update(project)
    (project / "my_labs/400_more.ipynb").unlink()
    assert copies.update(project).made == ["400_more"]


def test_the_links_of_the_start_page_lead_somewhere(project):
    copies.update(project)
    page = (project / "my_labs" / copies.START_PAGE).read_text()
    links = re.findall(r"\]\(([^)#]+)\)", page)
    assert "100_start_here.ipynb" in links and "ALL_LABS.md" in links
    for link in links:
        place = ROOT / "my_labs" / link
        known = (project / "my_labs" / link).exists() or place.resolve().exists()
        assert known or link == "../results/", link


def lab_text(*cells: tuple[str, str, int | None]) -> str:
    """A notebook with code cells: source, what it printed, its number."""
    made = []
    for source, said, count in cells:
        out = {"output_type": "execute_result", "data": {"text/plain": [said]}, "metadata": {}}
        cell = {"cell_type": "code", "metadata": {}, "source": [source], "execution_count": count}
        made.append({**cell, "outputs": [out] if said else []})
    title = {"cell_type": "markdown", "metadata": {}, "source": ["# 100 · Start here\n", "words"]}
    return json.dumps({"cells": [title, *made], "metadata": {}, "nbformat": 4})


CHECK = 'exercises.find("one").check(one)'
OTHER = 'exercises.find("other").check(other)'


@pytest.mark.parametrize(
    ("cells", "state"),
    [
        ([("x = 1", "", None), (CHECK, "", None)], ""),
        ([("x = 1", "", 1), (CHECK, "FAIL one: 3 values are wrong", 2)], "begun"),
        ([(CHECK, "PASS one: 6 sizes", 2), (OTHER, "", None)], "1 of 2 passed"),
        ([(CHECK, "PASS one: 6 sizes", 2)], "passed"),
        ([("print('PASS')", "PASS conv1d_basic: 1,000 values", 2)], "begun"),
    ],
)
def test_the_state_of_a_lab_is_what_its_cells_have_said(cells, state):
    assert copies.state_of(lab_text(*cells)) == state


def test_the_start_page_says_how_far_each_lab_is(project):
    copies.update(project)
    page = project / "my_labs" / copies.START_PAGE
    assert "Where you are" not in page.read_text()
    copy = project / "my_labs/100_start_here.ipynb"
    copy.write_text(lab_text((CHECK, "PASS one: 6 sizes", 2)))
    (project / "my_labs/400_more.ipynb").write_text("{ half a file")
    copies.write_start_page(project)
    assert "| [100 · Start here](100_start_here.ipynb) | passed |" in page.read_text()
    assert f"| Part 1: the core | {'█' * 20} 1 of 1 |" in page.read_text()
    assert "400_more" not in page.read_text()


def test_the_button_of_the_start_page_leads_on(project):
    def button() -> str:
        copies.write_start_page(project)
        page = (project / "my_labs" / copies.START_PAGE).read_text()
        return re.search(r"^## (\[.*)$", page, re.MULTILINE)[1]

    def save(name: str, at: float, *cells: tuple) -> None:
        path = project / "my_labs" / name
        path.write_text(lab_text(*cells))
        os.utime(path, (at, at))

    copies.update(project)
    assert button() == "[Start: Lab 100](100_start_here.ipynb)"
    save("400_more.ipynb", 5, (CHECK, "PASS one: 6 sizes", 2), (OTHER, "", None))
    assert button() == "[Continue: Lab 400, exercise 2 of 2](400_more.ipynb)"
    save("100_start_here.ipynb", 9, (CHECK, "FAIL one", 2))
    assert button() == "[Continue: Lab 100, exercise 1 of 1](100_start_here.ipynb)"
    save("100_start_here.ipynb", 9, (CHECK, "PASS one: 6 sizes", 2))
    assert "Lab 400" in button()
    save("400_more.ipynb", 5, (CHECK, "PASS one: 6 sizes", 2))
    assert button() == "[All labs are passed](ALL_LABS.md)"


def test_no_copy_of_a_real_lab_has_a_line_of_a_solution():
    for lab in labs.every():
        text = copies.copy_of(lab.read_text(encoding="utf-8"))
        assert "SOLUTION" not in text and "_solution" not in text, lab.name


def test_git_ignores_the_copies_and_the_command_is_there():
    assert "my_labs/" in (ROOT / ".gitignore").read_text().splitlines()
    assert "update" in python("-m", "helpers.course", "--help").stdout


def test_links_to_the_glossary_lead_to_the_copy_of_the_list():
    words = {"cell_type": "markdown", "metadata": {}, "source": "A [warp](README.md#glossary)."}
    copy = json.loads(copies.copy_of(json.dumps({"cells": [words], "metadata": {}, "nbformat": 4})))
    assert "[warp](ALL_LABS.md#glossary)" in "".join(copy["cells"][0]["source"])
