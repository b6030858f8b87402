"""The pages of a course in a real browser, at a laptop's width: they fit, they can be read by all,
the fields for points write the command, and a student's page leads nowhere else.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from helpers.course import gradebook
from helpers.course.__main__ import main as course
from tests.labs.browser import screenshot

NAMES = (
    "index", "figures", "writing", "similar", "students/all_right", "students/first_block_only",
    "students/surrogate",
)  # fmt: skip
SIZES = ((1366, 768), (390, 844))


@pytest.fixture
def opened(browser, whole):
    """Opens a page of the report at a width; fails on a dialog or an error of its scripts."""
    pages, faults = [], []

    def open_page(name: str, width: int = 1366, height: int = 768):
        page = browser.new_context(viewport={"width": width, "height": height}).new_page()
        pages.append(page)
        page.on("pageerror", lambda error: faults.append(f"{name}: {error}"))
        page.on("dialog", lambda dialog: faults.append(f"{name}: {dialog.message}"))
        page.goto((whole.to / "report" / f"{name}.html").resolve().as_uri())
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert faults == []


@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_and_can_be_read_by_all(opened, name):
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    script = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    for width, height in SIZES:
        page = opened(name, width, height)
        screenshot(page, f"course_{name.replace('/', '_')}_{width}")
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{name} is {wide} pixels wider than {width}"
    page.evaluate(script)
    found = page.evaluate("axe.run()")["violations"]
    assert [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ] == []


def test_the_fields_of_a_figure_write_a_command_that_gives_its_points(opened, whole):
    page = opened("figures")
    assert page.locator("img.figure").evaluate("one => one.naturalWidth") > 300
    points, words = page.locator("input[type=number]"), page.locator("input[type=text]")
    points.nth(0).fill("0.5")
    points.nth(1).fill("2")
    words.fill("it isn't 'yours': $(touch x) `y`")
    command = shlex.split(page.locator("form pre").inner_text())
    assert command[:4] == ["python", "-m", "helpers.course", "override"]
    assert course(command[3:]) == 0
    folder = whole.to / "grades"
    try:
        extras = gradebook.read(folder).account("all_right").extras
        (extra,) = (one for one in extras if one.what == "115_sizes.png")
        assert extra.points == 2 * 2.5 and extra.comment == "it isn't 'yours': $(touch x) `y`"
    finally:
        assert course([*command[3:9], "--withdraw"]) == 0


def test_a_students_page_leads_to_no_other_page_and_runs_nothing(opened):
    page = opened("students/all_right")
    links = page.eval_on_selector_all("a", "every => every.map((one) => one.getAttribute('href'))")
    assert links and all(link.startswith("#") for link in links)
    assert page.locator("script").count() == 0 and page.locator("form").count() == 0
    page.locator("a").first.click()
    assert page.evaluate("location.hash")


def test_every_student_has_a_link_that_opens(opened, whole):
    page = opened("index")
    found = page.eval_on_selector_all(".grid a", "every => every.map((one) => one.href)")
    assert len(found) == len(whole.expected) + 3
    for address in found:
        page.goto(address)
        assert "points" in page.locator("h1").inner_text(), address
