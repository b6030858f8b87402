"""A student's hour in a real JupyterLab: own copies of two labs, run whole; wrong kernels and a
right one; the stop button; a hint; a restart. At 1366 x 768 no line is cut, and no word is broken.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from pathlib import Path

import pytest

from helpers import exercises, labs
from helpers.labs import copies
from tests.labs.browser import WAIT_MS, open_file, screenshot

ROOT = Path(__file__).resolve().parents[2]
TWO_LABS = ("100", "101")
RUN_S = 400  # for all cells of a lab, on a machine that is busy
EDGE = exercises.find("conv1d_edge").solution
OUTSIDE = EDGE.replace("min(max(i - 1 + j, 0), n - 1)", "max(i - 1 + j, 0)")
RUNAWAY = EDGE.replace("P[i] = sum;", "while (true) P[i] += sum;")

# Every output of text: its box must show all of it, and no word of it may stand on two lines.
MEASURE = """notebook => {
    const cut = [], broken = [];
    for (const box of notebook.querySelectorAll('.jp-OutputArea-output')) {
        for (const inner of [box, ...box.querySelectorAll('pre, .highlight, table')]) {
            if (inner.clientWidth && inner.scrollWidth > inner.clientWidth + 1) {
                cut.push(inner.className + ' ' + inner.scrollWidth + ' > '
                    + inner.clientWidth + ': '
                    + inner.textContent.trim().slice(0, 200));
            }
        }
        for (const pre of box.querySelectorAll('pre')) {
            const texts = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
            for (let text = texts.nextNode(); text; text = texts.nextNode()) {
                for (const word of text.data.matchAll(/\\S+/g)) {
                    const range = document.createRange();
                    range.setStart(text, word.index);
                    range.setEnd(text, word.index + word[0].length);
                    const tops = new Set([...range.getClientRects()].map(r => Math.round(r.top)));
                    if (tops.size > 1) broken.push(word[0]);
                }
            }
        }
    }
    return [cut, broken];
}"""
# The exercise's cell, and every other one of CUDA: a line that is longer than the cell is cut.
CUT_KERNELS = """notebook => [
    ...notebook.querySelectorAll('.jp-CodeCell .cm-content[data-language=cpp]')]
    .map(one => one.closest('.cm-scroller')).filter(one => one.scrollWidth > one.clientWidth + 1)
    .map(one => one.textContent.slice(0, 200))"""


def run_all(page) -> None:
    """Choose Run All Cells, and wait until the kernel has nothing to do."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="busy"]')
    page.wait_for_selector(
        '.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=RUN_S * 1000
    )


def the_cell(page, file: str, begins: str):
    """The code cell of a notebook's file whose text begins so, scrolled to. JupyterLab numbers all
    cells, and keeps only those near the window in the page.
    """
    cells = json.loads((ROOT / file).read_text(encoding="utf-8"))["cells"]
    (number,) = (k for k, one in enumerate(cells) if begins in "".join(one["source"]))
    found = page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{number}"]')
    page.mouse.move(700, 400)
    for _ in range(100):
        if found.count() and found.locator(".cm-content").count():
            found.scroll_into_view_if_needed()
            found.evaluate("cell => cell.classList.add('halo-open')")  # the code of a check
            return found
        page.mouse.wheel(0, 500)
        time.sleep(0.1)
    raise AssertionError(f"no cell begins {begins!r}")


def type_into(page, one, text: str) -> None:
    """Put a text in the place of a cell's, as a student does, and run the cell."""
    one.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("Control+v")
    run(page, one)


def run(page, one) -> None:
    """Run a cell, and wait for its end."""
    one.locator(".cm-content").click()
    prompt = one.locator(".jp-InputPrompt").first
    before = prompt.inner_text()
    page.keyboard.press("Control+Enter")
    # A kernel that was idle is still idle now. The same number again: that of a new kernel.
    until = time.monotonic() + 2
    while prompt.inner_text() == before and time.monotonic() < until:
        time.sleep(0.05)
    while not re.search(r"\d", prompt.inner_text()):
        page.wait_for_timeout(100)
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=120_000)
    time.sleep(0.3)


def said(one) -> str:
    """The text of a cell's outputs."""
    return "\n".join(one.locator(".jp-OutputArea-output").all_inner_texts()).strip()


# The lines in which the page shows a text.
LINES = """holder => {
    const lines = [];
    let top = null;
    const texts = document.createTreeWalker(holder, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const range = document.createRange();
        [...texts.currentNode.data].forEach((letter, k) => {
            range.setStart(texts.currentNode, k);
            range.setEnd(texts.currentNode, k + 1);
            const box = range.getBoundingClientRect();
            if (top === null || (box.width > 0 && box.top > top + 2)) {
                lines.push('');
                top = box.top;
            }
            lines[lines.length - 1] += letter;
        });
    }
    return lines;
}"""

NUMBERS = itertools.count()


@pytest.fixture
def student(server, page):
    """A page of its own for each test, which may use the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    own = page.context.new_page()
    own.set_default_timeout(WAIT_MS)
    yield own
    own.close()


@pytest.fixture
def copy(request):
    """A copy of a lab, as make jupyter makes it, beside the student's own."""
    (lab,) = (path for path in labs.notebooks() if labs.number(path.stem) == request.param)
    # A name of its own for each test: JupyterLab keeps the kernel of a name that it knows.
    file = ROOT / copies.FOLDER / f"browser_test_{os.getpid()}x{next(NUMBERS)}_{lab.name}"
    file.write_text(copies.copy_of(lab.read_text(encoding="utf-8")), encoding="utf-8")
    yield f"{copies.FOLDER}/{file.name}"
    file.unlink()


def test_the_copies_and_their_start_page_are_there(server, student):
    mine = {labs.place(path) for path in labs.every(ROOT / copies.FOLDER)}
    assert {labs.place(path) for path in labs.every()} <= mine
    student.goto(f"{server}/?token=key")
    student.locator(".jp-MarkdownViewer td a").first.wait_for()
    time.sleep(1)
    student.keyboard.press("Tab")  # one key leads to the large button
    assert student.locator(".jp-MarkdownViewer h2 > a:focus").count() == 1
    screenshot(student, "start_page")

    name = "110_conv2d_restrict_and_unrolling.ipynb"
    shown = student.locator(".jp-DirListing-itemText", has_text=re.compile("^110_"))
    shown.scroll_into_view_if_needed()
    lines = shown.evaluate(LINES)
    assert "".join(lines).replace("\u200b", "") == name
    assert len(lines) > 1 and all(line.endswith("_\u200b") for line in lines[:-1]), lines
    shown.click()
    student.keyboard.press("F2")  # what a student edits is the name itself
    assert student.locator(".jp-DirListing-editor").input_value() == name
    student.keyboard.press("Escape")


def test_the_open_start_page_follows_a_lab_that_is_saved(server, student):
    """With the student's own first lab, which is put back afterwards."""
    file = ROOT / copies.FOLDER / "100_start_here.ipynb"
    before = file.read_text(encoding="utf-8")
    file.write_text(copies.copy_of((labs.LABS / file.name).read_text(encoding="utf-8")))
    copies.write_start_page(ROOT)
    try:
        student.goto(f"{server}/lab/tree/{copies.FOLDER}/{copies.START_PAGE}?reset&token=key")
        row = student.locator(".jp-MarkdownViewer tr", has_text="100 · Start here")
        student.locator(".jp-MarkdownViewer a", has_text="Lab 100").wait_for()
        assert row.count() == 0
        student.locator(".jp-MarkdownViewer a", has_text="Lab 100").click()
        student.locator(".jp-StatusBar-TextItem", has_text="| Idle").wait_for()
        student.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
        student.keyboard.press("Shift+Enter")
        student.wait_for_selector('.jp-InputPrompt:has-text("[1]:")')
        student.keyboard.press("Escape")
        student.keyboard.press("Control+s")
        student.locator(".lm-TabBar-tabLabel", has_text=copies.START_PAGE).click()
        row.wait_for()
        assert row.inner_text().split() == ["100", "·", "Start", "here", "begun"]
        screenshot(student, "start_page_begun")
    finally:
        file.write_text(before, encoding="utf-8")
        copies.write_start_page(ROOT)


def every_part(page, name: str) -> tuple[list[str], list[str], list[str]]:
    """What is cut or broken anywhere in the notebook: it is scrolled through, for JupyterLab keeps
    only what is near the window.
    """
    cut, broken, kernels = set(), set(), set()
    page.locator(".jp-Notebook .jp-Cell").first.scroll_into_view_if_needed()
    page.mouse.move(700, 400)
    notebook = page.locator(".jp-Notebook").element_handle()
    for part in range(80):
        first, second = page.evaluate(MEASURE, notebook)
        cut.update(first)
        broken.update(second)
        kernels.update(page.evaluate(CUT_KERNELS, notebook))
        screenshot(page, f"{name}_{part:02}")
        before = page.evaluate("""() => {
            const all = [...document.querySelectorAll('.jp-WindowedPanel-outer, .jp-Notebook')];
            return all.map(one => one.scrollTop).join();
        }""")
        page.mouse.wheel(0, 560)
        time.sleep(0.3)
        after = page.evaluate("""() => {
            const all = [...document.querySelectorAll('.jp-WindowedPanel-outer, .jp-Notebook')];
            return all.map(one => one.scrollTop).join();
        }""")
        if before == after:
            break
    return sorted(cut), sorted(broken), sorted(kernels)


@pytest.mark.parametrize("copy", TWO_LABS, indirect=True)
def test_a_whole_lab_runs_and_nothing_is_cut(server, student, copy):
    open_file(student, server, copy)
    run_all(student)
    number = Path(copy).stem.split("_")[3]
    cut, broken, kernels = every_part(student, f"lab_{number}")
    assert (cut, broken, kernels) == ([], [], [])
    assert not student.get_by_text("Traceback (most recent call last)").count()


WRONG = (  # a text of lab 101's exercise, and what the student must read
    ("compile", EDGE.replace("P[i] = sum;", "P[i] = sum"), 'error: expected a ";"'),
    ("out of bounds", OUTSIDE, "Line 12 reads N["),
)
RACE = exercises.find("105").solution.replace("        __syncwarp();\n", "")


@pytest.mark.parametrize("copy", ["101"], indirect=True)
def test_a_student_works_on_an_exercise(server, student, copy):
    open_file(student, server, copy)
    kernel = the_cell(student, copy, "%%kernel conv1d_edge")
    assert kernel.locator(".cm-content").get_attribute("data-language") == "cpp"

    # Right after a start nothing above has been run: the check says what to run.
    check = the_cell(student, copy, "exercise.check(conv1d_edge)")
    run(student, check)
    screenshot(student, "exercise_not_run")
    assert re.search(r"name '(exercises|conv1d_edge)' is not defined", said(check))
    assert "Run All Above Selected Cell" in said(check)

    type_into(student, check, check_text())  # it imports what the lab's first cell does
    for what, text, must in WRONG:
        type_into(student, kernel, text)
        run(student, check)
        text = said(kernel) + "\n" + said(check)
        screenshot(student, f"exercise_{what.replace(' ', '_')}")
        assert must in text and "Traceback" not in text and len(text.splitlines()) <= 12, text
        if what == "compile":
            assert "its %%kernel cell failed" in said(check)

    type_into(student, kernel, RUNAWAY)
    run(student, check)
    screenshot(student, "exercise_runaway_check")
    assert "reached its time limit" in said(check)

    type_into(student, check, check_text(hint=True))
    screenshot(student, "exercise_hint")
    assert said(check).splitlines()[0].startswith("Hint 1 of 3:")
    run(student, check)
    assert said(check).splitlines()[0].startswith("Hint 2 of 3:")

    type_into(student, kernel, EDGE)
    type_into(student, check, check_text())
    screenshot(student, "exercise_right")
    assert re.match(r"\u2713 PASS: \d+ sizes, 2 filters", said(check))


def check_text(hint: bool = False) -> str:
    """The check's cell, or the cell that asks for a hint."""
    asked = "exercise.hint()" if hint else "exercise.check(conv1d_edge)"
    return f'from helpers import exercises\n\nexercise = exercises.find("conv1d_edge")\n{asked}'


@pytest.mark.parametrize("copy", ["105"], indirect=True)
def test_a_race_is_named_in_a_few_lines(server, student, copy):
    open_file(student, server, copy)
    kernel = the_cell(student, copy, "%%kernel block_sums")
    type_into(student, kernel, RACE)
    check = the_cell(student, copy, "exercise.check(block_sums)")
    text = 'exercises.find("105").check(block_sums)'
    type_into(student, check, f"from helpers import exercises\n\n{text}")
    screenshot(student, "exercise_race")
    words = " ".join(said(check).split())
    assert "a __syncwarp() is missing between the write and the read" in words
    assert [line.strip() for line in kernel.locator(".halo-mark-error").all_inner_texts()] == [
        "if (t < stride) s[t] += s[t + stride];"
    ]
    assert len(said(check).splitlines()) <= 12


def text_of(one) -> str:
    """The text in the editor of a cell."""
    return "\n".join(one.locator(".cm-line").all_text_contents())


def buttons(page, exercise):
    """The buttons at the cell of an exercise."""
    return page.get_by_role("group", name=f"Exercise: {exercise.title}", exact=True).first


@pytest.mark.parametrize("copy", ["103"], indirect=True)
def test_a_click_puts_the_stub_back_and_another_one_the_students_text(server, student, copy):
    open_file(student, server, copy)
    exercise = exercises.find("squares")
    kernel = the_cell(student, copy, "%%kernel squares")
    bar = buttons(student, exercise)
    bar.wait_for()  # before any cell has run
    reset = bar.get_by_role("button", name=f"Reset: {exercise.title}", exact=True)
    assert reset.is_disabled()

    mine = exercise.solution.strip() + "\n// mine"
    type_into(student, kernel, mine)
    reset.click()
    screenshot(student, "exercise_reset")
    assert text_of(kernel) == exercise.stub.strip()
    assert "Ctrl + Z brings your text back" in bar.get_by_role("status").inner_text()
    kernel.locator(".cm-content").click()
    student.keyboard.press("Control+z")
    assert text_of(kernel) == mine, "a reset is one step in the history of edits"

    reset.focus()
    student.keyboard.press("Enter")
    assert text_of(kernel) == exercise.stub.strip()
    student.keyboard.press("Space")  # the same button still has the focus
    assert text_of(kernel) == mine


def state_after(bar, *states: str) -> None:
    """Wait until a bar has one of these states."""
    wanted = ",".join(f"[data-state={state}]" for state in states)
    bar.and_(bar.page.locator(f".halo-bar:is({wanted})")).wait_for()


@pytest.mark.parametrize("copy", ["101"], indirect=True)
def test_the_bar_leads_through_an_exercise_by_keyboard_alone(server, student, copy):
    """In a new session, in which nothing has run: fail, hints, solution, change, pass, next."""
    open_file(student, server, copy)
    exercise = exercises.find("conv1d_edge")
    kernel = the_cell(student, copy, "%%kernel conv1d_edge")
    bar = buttons(student, exercise)
    state_after(bar, "new")

    def type_text(text: str) -> None:
        kernel.locator(".cm-content").first.focus()
        student.keyboard.press("Control+a")
        student.evaluate("text => navigator.clipboard.writeText(text)", text)
        student.keyboard.press("Control+v")

    def press(name: str) -> None:
        bar.get_by_role("button", name=f"{name}: {exercise.title}").focus()
        student.keyboard.press("Enter")

    type_text(OUTSIDE)
    student.keyboard.press("Control+Shift+Enter")
    state_after(bar, "fail")
    verdict = student.locator(".halo-verdict[data-status=finding]")
    verdict.wait_for()
    screenshot(student, "bar_fail")
    assert verdict.inner_text().startswith("\u2717") and len(verdict.inner_text().splitlines()) <= 8
    assert kernel.locator(".halo-mark-error").count() == 1

    press("Solution")
    assert "You have seen 0 of 3 hints" in bar.get_by_role("status").inner_text()
    for number in (1, 2, 3):
        press(f"Hint {number}/3")
        assert bar.locator(".halo-hints li").count() == number
    press("Solution")
    bar.locator(".halo-solution table, .halo-solution pre").first.wait_for()
    screenshot(student, "bar_hints")

    type_text(EDGE)
    state_after(bar, "stale")
    assert "changed since it was checked" in bar.get_by_role("status").inner_text()
    assert kernel.locator(".halo-mark-error").count() == 0
    press("Run & check")
    state_after(bar, "pass")
    screenshot(student, "bar_pass")
    assert "passed" in bar.inner_text()

    type_text(EDGE.replace("P[i] = sum;", "P[i] = sum"))
    press("Run & check")
    state_after(bar, "fail")
    assert 'expected a ";"' in said(kernel) and "passed" in bar.inner_text(), "the tick stays"
    student.keyboard.press("Escape")
    assert student.evaluate("document.activeElement.closest('.halo-bar')") is None

    bar.get_by_role("button", name="Next: ").focus()
    student.keyboard.press("Enter")
    active = student.locator(".jp-Notebook .jp-Cell.jp-mod-active")
    active.locator("h2").first.wait_for()


ACTIVE = ".jp-Notebook .jp-Cell.jp-mod-active"


def go_on(page, *kinds: str) -> None:
    """Press Shift + Enter until the active cell's class is one of these, and nothing runs."""
    for _ in range(20):
        before = page.locator(ACTIVE).get_attribute("data-windowed-list-index")
        page.keyboard.press("Shift+Enter")
        page.locator(f'{ACTIVE}:not([data-windowed-list-index="{before}"])').wait_for()
        page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
        if page.locator(f"{ACTIVE}:is({','.join(kinds)})").count():
            return
    raise AssertionError(f"no cell {kinds} after 20 others")


def rewrite(page, line: str, text: str) -> None:
    """Type a text in the place of the line of the active cell that begins so, by keys alone, and
    leave the text of the cell.
    """
    page.keyboard.press("Enter")
    lines = page.locator(f"{ACTIVE} .cm-line").all_text_contents()
    (number,) = (k for k, one in enumerate(lines) if one.strip().startswith(line))
    for key in ["Control+Home", *["ArrowDown"] * number, "Home", "Shift+End"]:
        page.keyboard.press(key)
    page.keyboard.type(text)
    assert page.locator(f"{ACTIVE} .cm-line").all_text_contents()[number].strip() == text
    page.keyboard.press("Escape")


KERNEL = ":has([data-language=cpp])"


def shown(page, words: str) -> None:
    """Wait for words in an output."""
    page.locator(".jp-OutputArea-output", has_text=words).first.wait_for()


def check_by_keys(page, bar, state: str) -> None:
    """Run the active cell and its check, and wait for the state and for the focus in the bar."""
    page.keyboard.press("Control+Shift+Enter")
    state_after(bar, state)
    button = "Next" if state == "pass" else "Run & check"
    bar.get_by_role("button", name=button).and_(page.locator(":focus")).wait_for()


def guess_by_keys(page, *keys: str) -> None:
    """Answer the first open question of the active cell. Tab leads to the first one of a cell, and
    Enter ends a guess and leads to the next question, or to the button that takes a guess back.
    """
    done = page.locator(f"{ACTIVE} .halo-card table")
    before = done.count()
    if page.evaluate("document.activeElement.name") != "guess":
        page.keyboard.press("Tab")
    for key in keys:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    done.nth(before).wait_for()
    page.locator(f"{ACTIVE} .halo-card :focus").wait_for()


@pytest.mark.parametrize("copy", ["100"], indirect=True)
def test_the_first_lab_is_done_whole_by_keyboard_alone(server, student, copy):
    """No pointer, and no focus that a key has not set: a wrong try, a hint, a PASS, a prediction
    and a launch of one's own, to the last cell.
    """
    open_file(student, server, copy)
    student.locator(ACTIVE).wait_for()
    code = ".jp-CodeCell"
    go_on(student, code)  # the set-up
    go_on(student, code)  # the first launch
    rewrite(student, "y[i] = a", "y[i] = x[i] * x[i] + y[i];")
    go_on(student, ".jp-MarkdownCell")
    shown(student, "[11. 24. 39. 56. 75.]")

    go_on(student, KERNEL)
    bar = buttons(student, exercises.find("axpy_basic"))
    rewrite(student, "const int i", "const int i = blockIdx.x * blockDim.x + threadIdx.x;")
    check_by_keys(student, bar, "fail")
    every = student.locator(".jp-StatusBar-TextItem", has_text=re.compile(r"Cell \d+/\d+"))
    cells = every.inner_text()
    student.keyboard.press("b")  # a shortcut of JupyterLab, which would insert a cell
    student.keyboard.press("ArrowDown")
    assert every.inner_text() == cells
    student.keyboard.press("Tab")
    assert student.evaluate("document.activeElement.ariaLabel").startswith("Hint 1/3")
    student.keyboard.press("Enter")
    assert bar.locator(".halo-hints li").count() == 1
    student.keyboard.press("Escape")
    student.locator(f"{ACTIVE}{KERNEL}:focus").wait_for()
    rewrite(student, "if (true)", "if (i < n) {")
    check_by_keys(student, bar, "pass")
    student.keyboard.press("Enter")

    go_on(student, ":has(.halo-card)")
    guess_by_keys(student, "2", "4")
    student.keyboard.press("Escape")
    student.locator(f"{ACTIVE}:has(.halo-card):focus").wait_for()

    go_on(student, code)
    rewrite(student, "# 1. Set", "blocks = -(-x.size // THREADS)")
    launch = "axpy_basic(y_gpu, x_gpu, np.int32(x.size), np.float32(a), "
    rewrite(student, "# 2. Launch", f"{launch}block=(THREADS, 1, 1), grid=(blocks, 1))")
    go_on(student, code)
    go_on(student, ".jp-MarkdownCell")
    shown(student, "PASS axpy: 1,000 values")
    student.keyboard.press("Tab")
    while student.evaluate("document.activeElement.tagName") != "SUMMARY":
        student.keyboard.press("Tab")  # past the buttons of the cell
    student.keyboard.press("Space")
    assert student.locator(f"{ACTIVE} details[open]").count() == 1
    student.keyboard.press("Escape")

    go_on(student, code)
    go_on(student, ".jp-MarkdownCell")
    student.locator(".halo-card", has_text="right").wait_for()
    go_on(student, ":last-child")
    shown(student, "Result: one thread per element, in any number of blocks: yours passes")
    screenshot(student, "lab_100_by_keyboard")


TESTED_TERMS = "if (i - 1 + j >= 0 && i - 1 + j < n) sum += N[i - 1 + j] * filter[j];"
MOVED_TERMS = "N[max(i - 1, 0)] * filter[0] + N[i] * filter[1] + N[min(i + 1, n - 1)] * filter[2]"


@pytest.mark.parametrize("copy", ["101"], indirect=True)
def test_the_lab_of_halos_is_done_whole_by_keyboard_alone(server, student, copy):
    """As above: every "Do it" and every prediction, with a wrong try of each kind on the way."""
    open_file(student, server, copy)
    student.locator(ACTIVE).wait_for()
    code = ".jp-CodeCell"

    # Step 1: a wrong kernel, the picture of why, and a right one.
    go_on(student, KERNEL)
    bar = buttons(student, exercises.find("conv1d_basic"))
    rewrite(student, "const int i", "const int i = blockIdx.x * blockDim.x + threadIdx.x;")
    rewrite(student, "if (true)", "if (i < n) {")
    rewrite(student, "// 3. Add", "sum += N[i] * filter[1];")
    check_by_keys(student, bar, "fail")
    student.keyboard.press("Escape")
    go_on(student, ":has-text('# exercise.why()')")
    rewrite(student, "# exercise.why()", "exercise.why()")
    student.keyboard.press("Control+Enter")
    student.locator(f"{ACTIVE} .jp-OutputArea-output", has_text="N[0]").first.wait_for()
    screenshot(student, "lab_101_why")
    while not student.locator(f"{ACTIVE}{KERNEL}").count():
        student.keyboard.press("ArrowUp")
    rewrite(student, "sum += N", f"for (int j = 0; j < 3; ++j) {TESTED_TERMS}")
    check_by_keys(student, bar, "pass")
    student.keyboard.press("Enter")

    # Step 2: the program, first without its copy back.
    go_on(student, ":has-text('THREADS = 256')")
    copies_in = "cuda.memcpy_htod(N_gpu, N); cuda.memcpy_htod(filter_gpu, filter)"
    launch = "conv1d_basic(P_gpu, N_gpu, filter_gpu, np.int32(N.size), "
    rewrite(student, "# 1. Copy", copies_in)
    rewrite(student, "# 2. Set", "blocks = -(-N.size // THREADS)")
    rewrite(student, "# 3. Launch", f"{launch}block=(THREADS, 1, 1), grid=(blocks, 1))")
    go_on(student, code)
    student.keyboard.press("Control+Enter")
    shown(student, "writes into its P, which is right, is not copied to the host")
    student.keyboard.press("ArrowUp")
    rewrite(student, "# 4. Copy", "cuda.memcpy_dtoh(P, P_gpu)")
    go_on(student, code)
    go_on(student, ".jp-MarkdownCell")
    shown(student, "PASS convolve: 1,000 values")

    # Step 3 and 4: a figure that is changed, two kinds of cards, and a launch that is put right.
    go_on(student, ":has-text('plotting.halo')")
    rewrite(student, "plotting.halo", "plotting.halo(ax, n=12, tile_width=5, radius=1, block=2,")
    go_on(student, ":has(.halo-card)")
    guess_by_keys(student, "2", "3", "2")
    guess_by_keys(student, "Space", "ArrowDown")
    assert 'prediction.choice(\n    "caught", "NaN or zeros",' in text_of(student.locator(ACTIVE))
    student.keyboard.press("Escape")
    go_on(student, code)
    go_on(student, code)
    go_on(student, ".jp-MarkdownCell")
    assert student.locator(".halo-card .halo-right").count() == 2
    while not student.locator(f"{ACTIVE}:has-text('def verdict')").count():
        student.keyboard.press("ArrowUp")
    rewrite(student, "blocks = CELLS", "blocks = -(-CELLS // THREADS)")
    student.keyboard.press("Control+Enter")
    shown(student, "P held old result PASS 4 blocks")

    # Steps 5 and 6: another bug in our kernel, and two numbers.
    go_on(student, ":has-text('basic.changed')")
    skipped = 'basic.changed("if (i < n)", "if (i > 0 && i < n - 1)")'
    rewrite(student, "print(problem", f"print(problem.check({skipped}))")
    go_on(student, ".jp-MarkdownCell")
    shown(student, "2 of 1,000 values are wrong")
    go_on(student, ":has(.halo-card)")
    guess_by_keys(student, "5")
    guess_by_keys(student, "9", "6")
    student.keyboard.press("Escape")

    # Step 7, from a blank cell, to the end.
    go_on(student, KERNEL)
    bar = buttons(student, exercises.find("conv1d_edge"))
    rewrite(student, "// Which output", "int i = blockIdx.x * blockDim.x + threadIdx.x;")
    rewrite(student, "// Add the cells", f"if (i < n) P[i] = {MOVED_TERMS};")
    check_by_keys(student, bar, "pass")
    assert student.locator(".halo-card .halo-off").count() == 1, "96 cells are not quite right"
    student.keyboard.press("Enter")
    go_on(student, ":last-child")
    shown(student, "Result: a warp of conv1d_basic asks for 14 sectors of N")
    screenshot(student, "lab_101_by_keyboard")


@pytest.mark.parametrize("copy", ["100"], indirect=True)
def test_a_guess_is_written_into_its_cell_and_uncovers_the_answer(server, student, copy):
    open_file(student, server, copy)
    asked = the_cell(student, copy, 'prediction.number("idle"')
    answer = the_cell(student, copy, "fig, ax = plt.subplots(figsize=(9, 4.4)")
    answer.locator(".cm-content").click()
    student.keyboard.press("Control+Enter")  # before anything has run: the guess is still open
    cover = answer.locator(".halo-cover")
    cover.wait_for()
    screenshot(student, "prediction_covered")
    assert not answer.locator(".jp-Cell-outputWrapper").is_visible()
    cover.get_by_role("button", name="Guess", exact=True).focus()
    student.keyboard.press("Enter")
    field = asked.locator(".halo-card input")
    field.wait_for()
    field.focus()
    student.keyboard.type("many")
    student.keyboard.press("Enter")
    assert "is none" in asked.get_by_role("status").inner_text()
    field.fill("24")
    student.keyboard.press("Enter")
    asked.locator(".halo-card table").wait_for()
    assert text_of(asked).startswith('prediction.number("idle", 24, ')
    answer.locator(".jp-Cell-outputWrapper").wait_for()
    run(student, answer)
    card = asked.locator(".halo-card", has_text="right")
    card.wait_for()
    screenshot(student, "prediction_right")
    assert "measured 24" in " ".join(card.inner_text().split())


@pytest.mark.parametrize("copy", ["103"], indirect=True)
def test_the_next_exercise_is_one_command_away(server, student, copy):
    open_file(student, server, copy)
    the_cell(student, copy, "%%kernel squares")
    active = student.locator(".jp-Notebook .jp-Cell.jp-mod-active .cm-content")
    student.keyboard.press("Control+Shift+c")
    student.locator(".lm-CommandPalette-input").fill("go to the next exercise")
    student.keyboard.press("Enter")
    active.get_by_text("%%kernel").wait_for()


@pytest.mark.parametrize("copy", ["103"], indirect=True)
def test_the_list_of_exercises_leads_to_their_steps_and_follows_their_checks(server, student, copy):
    from playwright.sync_api import expect

    open_file(student, server, copy)
    top = student.locator(".jp-Notebook .jp-CodeCell").first
    shown = 'from helpers import device, exercises\ndevice.select()\nexercises.progress("103")'
    type_into(student, top, shown)
    exercise = exercises.find("flip_rows")
    assert "Lab 103: 0 of 12 exercises passed" in said(top)
    screenshot(student, "exercise_list")
    top.get_by_role("link", name=exercise.title).click()
    expect(student.locator(".jp-Notebook h2", has_text="Two axes")).to_be_in_viewport()
    kernel = the_cell(student, copy, "%%kernel flip_rows")
    type_into(student, kernel, exercise.solution)
    check = the_cell(student, copy, "exercise.check(flip_rows)")
    type_into(student, check, 'exercise = exercises.find("flip_rows")\nexercise.check(flip_rows)')
    assert said(check).startswith("\u2713 PASS")
    student.locator(".jp-Notebook").press("Control+Home")
    student.mouse.move(700, 400)
    student.mouse.wheel(0, -100_000)
    expect(top).to_contain_text("Lab 103: 1 of 12 exercises passed")
    assert f"{exercise.title} ({exercise.points} points): \u2713 passed" in said(top)

    # After a reload of the page the list follows the same session.
    student.keyboard.press("Control+s")
    expect(student.locator(".jp-mod-dirty")).to_have_count(0)
    open_file(student, server, copy)
    other = exercises.find("add_arrays")
    type_into(student, the_cell(student, copy, "%%kernel add_arrays"), other.solution)
    check = the_cell(student, copy, "exercise.check(add_arrays)")
    type_into(student, check, 'exercise = exercises.find("add_arrays")\nexercise.check(add_arrays)')
    expect(top).to_contain_text("Lab 103: 2 of 12 exercises passed")

    # A new kernel reads from the file what was passed; the buttons need no cell to run.
    student.keyboard.press("Control+s")
    expect(student.locator(".jp-mod-dirty")).to_have_count(0)
    open_file(student, server, copy)
    student.locator('[data-command="notebook:restart-kernel"]').first.click()
    student.locator(".jp-Dialog .jp-mod-accept").click()
    time.sleep(2)
    student.locator(".jp-StatusBar-TextItem", has_text="| Idle").wait_for()
    run(student, top)
    assert "Lab 103: 2 of 12 exercises passed" in said(top)


SPIN = "%%kernel spin\n__global__ void spin(float* out)\n{\n    while (true) out[0] += 1.0f;\n}"
LAUNCH = "import numpy as np\nimport pycuda.driver as cuda\n"
LAUNCH += "spin(cuda.InOut(np.zeros(1, np.float32)), block=(32, 1, 1))"


@pytest.mark.parametrize("copy", ["101"], indirect=True)
def test_the_stop_button_stops_a_kernel_and_the_session_goes_on(server, student, copy):
    open_file(student, server, copy)
    kernel = the_cell(student, copy, "%%kernel conv1d_edge")
    type_into(student, kernel, SPIN)
    check = the_cell(student, copy, "exercise.check(conv1d_edge)")
    check.locator(".cm-content").click()
    student.keyboard.press("Control+a")
    student.evaluate("text => navigator.clipboard.writeText(text)", LAUNCH)
    student.keyboard.press("Control+v")
    student.keyboard.press("Control+Enter")
    student.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="busy"]')
    time.sleep(2)  # until the kernel spins
    pressed = time.monotonic()
    student.locator('[data-command="notebook:interrupt-kernel"]').first.click()
    student.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
    assert time.monotonic() - pressed < 10
    time.sleep(0.5)
    screenshot(student, "exercise_stopped")
    assert said(check).startswith("KeyboardInterrupt: ") and len(said(check).splitlines()) <= 3
    type_into(student, kernel, EDGE)
    type_into(student, check, check_text())
    assert said(check).startswith("\u2713 PASS")


@pytest.mark.parametrize("copy", ["101"], indirect=True)
def test_what_is_too_long_is_seen_by_the_measure(server, student, copy):
    """The measure itself: one line that is cut, one word that is broken, one cell that is cut."""
    open_file(student, server, copy)
    kernel = the_cell(student, copy, "%%kernel conv1d_edge")
    type_into(student, kernel, EDGE.replace("P[i] = sum;", "P[i] = sum;" + " " * 200 + "// far"))
    check = the_cell(student, copy, "exercise.check(conv1d_edge)")
    html = "'<pre style=\"white-space: pre; overflow: auto\">' + 'word ' * 80 + '</pre>'"
    type_into(student, check, f"from IPython.display import HTML\nprint('x' * 300)\nHTML({html})")
    notebook = student.locator(".jp-Notebook").element_handle()
    cut, broken = student.evaluate(MEASURE, notebook)
    assert cut and any(word.startswith("xxxx") for word in broken)
    assert student.evaluate(CUT_KERNELS, notebook)
