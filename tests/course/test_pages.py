"""The pages of a course in a real browser, at a laptop's width: they fit, they can be read by all,
the fields for points write the command, and a student's page leads nowhere else. A question is
graded by keyboard, by two people, and by a page whose program ended.
"""

from __future__ import annotations

import json
import shlex
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import exercises
from helpers.course import decisions, gradebook, grades, pictures, serve
from helpers.course.__main__ import main as course
from helpers.course.decisions import Decision
from tests.labs.browser import screenshot

NAMES = (
    "index", "figures", "figures/101_115-sizes_1", "writing", "similar", "students/all_right",
    "students/first_block_only", "students/surrogate",
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


def test_the_fields_of_a_text_write_a_command_that_gives_its_points(opened, whole):
    page = opened("writing")
    form = page.locator("form[data-command*='all_right 101 written']")
    form.locator("input[type=number]").fill("1.5")
    form.locator("input[type=text]").fill("it isn't 'yours': $(touch x) `y`")
    command = shlex.split(form.locator("pre").inner_text())
    assert command[:4] == ["python", "-m", "helpers.course", "override"]
    assert course(command[3:]) == 0
    folder = whole.to / "grades"
    try:
        extras = gradebook.read(folder).account("all_right").extras
        (extra,) = (one for one in extras if one.what == "written")
        assert extra.points == 2 * 1.5 and extra.comment == "it isn't 'yours': $(touch x) `y`"
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


# ---- the page on which people grade ----

MANY = 120  # students who handed in a figure: three pages of it
TOLD = "document.getElementById('said').textContent"


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Path:
    """A folder of grades with two figures of each student. Two of three students hand in one that
    nobody else has; each third one that of the first student.
    """
    folder = tmp_path_factory.mktemp("many")
    (folder / gradebook.COURSE).write_text(
        "[labs.101.figures]\nfirst = 5\nsecond = 12\n[rubric]\naxes = 1\nclaim = 2.5\n"
    )
    (folder / grades.RUN).write_text(json.dumps({"told": ["ben: report.pdf is not used"]}))
    (folder / grades.FIGURES).mkdir()
    for k in range(MANY):
        one = exercises.find("conv1d_edge")
        result = grades.without_run(one, "refused", "no answer").to_dict()
        name = f"s{k:03}"
        about = {"schema": grades.SCHEMA, "student": name, "lab": one.lab, "exercise": one.name}
        grades.save(folder / name / one.lab / "conv1d_edge.json", {**result, **about})
        shown = []
        for figure in ("first", "second"):
            points = f"M0 0L{0 if k % 3 == 0 else k} 9"
            drawn = f'<svg xmlns="http://www.w3.org/2000/svg"><path d="{points}"/></svg>'
            kept = f"{figure}{0 if k % 3 == 0 else k}.svg"
            (folder / grades.FIGURES / kept).write_text(drawn)
            shown.append({"name": figure, "names": [figure], "cell": "", "picture": kept,
                          "problem": "", "claim": None})  # fmt: skip
        grades.save(folder / name / one.lab / pictures.FILE, {"pictures": shown})
    return folder


@pytest.fixture
def desk(browser, many, tmp_path):
    """Opens the page of a question, as a grader of some name; ends with its folder of grades."""
    from werkzeug.serving import make_server

    folder = tmp_path / "grades"
    shutil.copytree(many, folder)
    servers, faults, contexts = [], [], []

    def start(port: int = 0) -> str:
        app = serve.application(serve.Class(folder), "word", "nobody")
        servers.append(make_server("127.0.0.1", port, app, threaded=True))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].port}/word/"

    def stop() -> int:
        servers[-1].shutdown()
        servers[-1].server_close()
        return servers[-1].port

    def open_page(place: str = "0/1", who: str = "ann"):
        contexts.append(browser.new_context(viewport={"width": 1366, "height": 768}))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.add_init_script(f"localStorage.setItem('who', '{who}')")
        page.goto(address + place)
        return page

    address = start()
    yield SimpleNamespace(open=open_page, folder=folder, start=start, stop=stop)
    for one in contexts:
        one.close()
    stop()
    assert faults == []


def press(page, *keys: str) -> None:
    """Press keys, and wait until what they decide is kept."""
    for key in keys:
        page.keyboard.press(key)
    until(page, "unsent === 0 && queue.length === 0")


def until(page, expression: str) -> None:
    """Wait for something; the page's policy forbids what playwright has for that."""
    for _ in range(500):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never: {expression}")


def points(desk, of: str = "first") -> dict[str, tuple[float | None, str]]:
    found = decisions.load(desk.folder)
    return {key[0]: (one.points, one.comment) for key, one in found.items() if key[2] == of}


def test_a_question_is_graded_to_its_end_by_keyboard(desk):
    page = desk.open()
    groups = 1 + MANY * 2 // 3  # the copies are one
    assert page.inner_text("#progress") == f"graded 0 of {MANY}"
    assert page.locator("section.card").count() == 50
    for k in range(groups):
        given = MANY // 3 + k - 1 if k else 0
        assert page.inner_text("#progress") == f"graded {given} of {MANY}"
        press(page, str(k % 6))
        page.keyboard.press("ArrowDown")
        if k == 49:
            page.wait_for_url("**/0/2#50")
    assert page.inner_text("#progress") == f"graded {MANY} of {MANY}"
    assert "All answers have points" in page.inner_text("#said")
    assert len(points(desk)) == MANY and {one[0] for one in points(desk).values()} == set(range(6))
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_url("**/1/1#first")
    assert "second" in page.inner_text("header b")


def test_points_items_words_and_undo_have_keys(desk):
    page = desk.open("1/1")
    press(page, "ArrowRight", "a", "b")
    assert points(desk, "second") == {"s001": (3.5, "")}
    press(page, "a")
    assert points(desk, "second") == {"s001": (2.5, "")}
    page.evaluate(  # at once: faster than the program answers
        "for (const key of '11.') document.dispatchEvent(new KeyboardEvent('keydown', { key }))"
    )
    press(page)
    assert points(desk, "second") == {"s001": (11.5, "")}
    press(page, "/", *"no units", "Enter", "ArrowRight", "/", "ArrowDown", "Enter", "4")
    assert points(desk, "second") == {"s001": (11.5, "no units"), "s002": (4, "no units")}
    press(page, "ArrowRight", "Control+z", "Control+z")
    assert points(desk, "second") == {"s001": (11.5, "no units")}
    assert page.locator("section.card:visible h1").inner_text().startswith("s002")
    page.keyboard.press("/")
    page.keyboard.type("typed and not kept yet")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    until(page, "document.getElementById('progress').textContent.startsWith('graded 1')")
    page.wait_for_timeout(200)
    assert points(desk, "second")["s002"] == (None, "typed and not kept yet")


def test_one_of_a_group_is_graded_alone_and_keeps_that(desk):
    page = desk.open()
    press(page, "2", "=", "=", "5")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert "1 have other points" in page.inner_text("#together")
    press(page, "/", *"alike", "Enter")
    assert points(desk)["s003"] == (5, "alike") and points(desk)["s000"] == (2, "alike")


def test_two_graders_see_each_other_and_overwrite_nothing(desk):
    ann, bob = desk.open(), desk.open(who="bob")
    press(ann, "ArrowRight", "3")
    bob.keyboard.press("ArrowRight")
    bob.keyboard.press("1")  # has not seen what ann decided
    until(bob, f"{TOLD}.includes('ann has decided')")
    assert points(desk) == {"s001": (3, "")} and bob.inner_text("#points") == "3"
    press(bob, "1")
    until(ann, "document.getElementById('points').textContent === '1'")
    assert "bob" in ann.inner_text("#by")


def test_a_page_goes_on_when_its_program_starts_again(desk):
    page = desk.open()
    press(page, "ArrowRight", "3")
    port = desk.stop()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("4")
    until(page, f"{TOLD}.includes('Not kept yet')")
    assert points(desk) == {"s001": (3, "")}
    desk.start(port)
    until(page, "unsent === 0")
    assert points(desk) == {"s001": (3, ""), "s002": (4, "")}


def test_what_was_not_sent_yet_is_sent_after_a_reload(desk):
    page = desk.open()
    page.on("dialog", lambda dialog: dialog.accept())
    page.route("**/decide", lambda route: route.abort())
    page.keyboard.press("2")
    page.keyboard.press("ArrowRight")
    for key in "12":
        page.keyboard.press(key)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("5")
    until(page, f"{TOLD}.includes('Not kept yet')")
    decisions.decide(desk.folder, [Decision("s002", "101", "first", 1)], "bob")
    assert set(points(desk)) == {"s002"}
    page.unroute("**/decide")
    page.goto(page.url.replace("/0/1", "/1/1"))  # another question sends it, too
    until(page, "document.getElementById('progress').textContent && queue.length === 0")
    found = points(desk)
    assert len(found) == 2 + MANY // 3 and found["s000"] == found["s001"] == (2, "")
    assert found["s002"] == (1, "") and "others have decided" in page.inner_text("#said")


def test_a_regrade_request_stands_beside_the_figure(desk):
    decisions.decide(desk.folder, [Decision("s001", "101", "first", 2, request="see line 3")])
    page = desk.open()
    assert not page.locator("#request").is_visible()
    press(page, "ArrowRight", "4")
    assert page.inner_text("#request") == "s001 asks: see line 3"
    assert decisions.load(desk.folder)["s001", "101", "first"].request == "see line 3"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_question_can_be_read_by_all(desk, scheme):
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    page = desk.open()
    page.emulate_media(color_scheme=scheme)
    press(page, "3", "a", "/", *"no units", "Enter")
    screenshot(page, f"course_grade_{scheme}")
    page.evaluate(Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    assert [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ] == []
