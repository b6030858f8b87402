"""What our extension of JupyterLab does in cells, in a real browser: CUDA's names in colour and
completed, findings and compile errors marked at their lines, figures described.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.labs.browser import KERNELSPEC, cell, open_file, prompt, screenshot

ROOT = Path(__file__).resolve().parents[2]

KERNEL = """%%kernel conv1d_edge
__global__ void conv1d_edge(float* P, const float* N, const float* filter, int n)
{
    // a threadIdx in a comment
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        P[i] = N[i + 1] * filter[0];
    }
}"""
CELLS = (
    "from helpers import device, exercises\ndevice.select()\n%load_ext helpers",
    KERNEL,
    "exercises.find('conv1d_edge').check(conv1d_edge)",
    "%%kernel bad\n__global__ void bad(float* p)\n{\n    p[0] = 1.0f\n    p[1] = 2.0f;\n}",
    "import matplotlib.pyplot as plt\nfigure, ax = plt.subplots(figsize=(4, 2))\n"
    'ax.set(title="Time grows", xlabel="n")\nplt.show()',
    "float = threadIdx = 1  # Python",
    "import time\nfrom helpers.simulator.compile import notices\n"
    'with notices.during("Compiling for a test"):\n    time.sleep(5)',
)


@pytest.fixture(scope="module")
def notebook(server, page):
    """A page with a notebook of CELLS, all of them run."""
    file = ROOT / "results" / f"browser_test_cells_{os.getpid()}.ipynb"
    file.parent.mkdir(exist_ok=True)
    cells = [new_code_cell(source) for source in CELLS]
    cells += [new_markdown_cell("## Far below\n\n" + "text\n\n" * 20) for _ in range(20)]
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC}), file)
    # In this mode, the fastest of long notebooks, JupyterLab keeps only the cells in the window.
    tracker = f"{server}/lab/api/settings/@jupyterlab/notebook-extension:tracker?token=key"
    try:
        page.request.put(tracker, data={"raw": json.dumps({"windowingMode": "full"})})
        open_file(page, server, f"results/{file.name}")
        page.locator(".jp-Notebook .jp-CodeCell").first.click()
        page.keyboard.press("Escape")
        for number in range(1, len(CELLS) + 1):
            page.keyboard.press("Shift+Enter")
            prompt(page, number)
            if number == len(CELLS) - 1:
                break
        to_the_top(page)
        page.locator(".halo-mark-error").nth(1).wait_for()
        screenshot(page, "jupyterlab_cells")
        yield page
    finally:
        page.request.put(tracker, data={"raw": "{}"})
        page.goto("about:blank")
        file.unlink()


def to_the_top(page) -> None:
    """Scroll to the first cells: what has left the window has no editor, and no marks."""
    page.mouse.move(700, 400)
    page.mouse.wheel(0, -100_000)
    page.locator(".halo-cuda-qualifier").first.wait_for()
    time.sleep(0.5)


def words(one, kind: str) -> set[str]:
    return set(one.locator(f".halo-cuda-{kind}").all_inner_texts())


def test_cells_have_line_numbers_and_names_in_colour(notebook):
    kernel = cell(notebook, 1)
    assert kernel.locator(".cm-lineNumbers").inner_text().split()[-9:] == list("123456789")
    assert words(kernel, "qualifier") == {"__global__", "const", "if"}
    assert words(kernel, "type") == {"void", "float", "int"}
    assert words(kernel, "builtin") == {"blockIdx", "blockDim", "threadIdx"}
    assert kernel.locator(".halo-cuda-builtin", has_text="threadIdx").count() == 1
    assert words(cell(notebook, 5), "builtin") == words(cell(notebook, 5), "type") == set()


def test_a_figure_has_its_description_as_alt_text(notebook):
    picture = cell(notebook, 4).locator(".jp-OutputArea img")
    assert picture.get_attribute("alt") == "Figure: Time grows (x: n)."


def test_a_finding_and_a_compile_error_are_marked_at_their_lines(notebook):
    finding, error = (cell(notebook, n).locator(".halo-mark-error") for n in (1, 3))
    assert [text.strip() for text in finding.all_inner_texts()] == ["P[i] = N[i + 1] * filter[0];"]
    assert [text.strip() for text in error.all_inner_texts()] == ["p[0] = 1.0f"]  # lacks its ";"
    numbers = cell(notebook, 1).locator(".halo-mark-gutter").all_inner_texts()
    assert [number.strip() for number in numbers] == ["7"]
    hint, band = notebook.locator(".halo-mark-words"), finding.bounding_box()
    for x in (100, band["width"] - 20, -15):  # on the text, on the rest of the band, on the number
        notebook.mouse.move(band["x"] + x, band["y"] + 8)
        hint.wait_for()
        assert hint.inner_text().startswith("out-of-bounds: thread (")
        above = hint.bounding_box()
        assert above["y"] + above["height"] <= band["y"] + 1, "it does not cover the line"
        screenshot(notebook, f"jupyterlab_mark_{x:.0f}")
        notebook.mouse.move(5, 5)
        hint.wait_for(state="detached")
    stored = notebook.evaluate("() => document.querySelectorAll('.jp-OutputArea-child').length")
    assert stored == 4  # two errors, a device and a figure: a mark is no output


def test_marks_are_there_again_after_scrolling(notebook):
    """Where JupyterLab takes the cells far from the window out of the page, and their editors."""
    marked = notebook.locator(".halo-mark-error")
    before = marked.count()
    assert before == 2
    notebook.mouse.move(700, 400)
    for step, expected in ((1500, 0), (-1500, before)):
        for _ in range(40):
            notebook.mouse.wheel(0, step)
            time.sleep(0.05)
            if marked.count() == expected:
                break
        assert marked.count() == expected
    assert notebook.locator(".halo-mark-gutter").count() == before


def test_tab_completes_names_of_cuda_and_of_the_cell(notebook):
    error = cell(notebook, 3)
    error.locator(".cm-line").nth(3).click()
    notebook.keyboard.press("End")
    for typed, offered in (("\nthreadI", "threadIdx"), ("\nblockDim.", "z")):
        notebook.keyboard.type(typed)
        notebook.keyboard.press("Tab")
        item = notebook.locator(".jp-Completer-item", has_text=offered)
        if not error.get_by_text("threadIdx").count():  # a single name is completed at once
            item.first.wait_for()
        notebook.keyboard.press("Escape")


@pytest.mark.parametrize("typed", ["%", "kerne", "C", '"'])
def test_tab_offers_in_a_kernel_cell_nothing_of_python_and_not_all_names(notebook, typed):
    line = cell(notebook, 3).locator(".cm-line").last
    line.click()
    notebook.keyboard.press("End")
    notebook.keyboard.type(f"\n{typed}")
    notebook.keyboard.press("Tab")
    time.sleep(1.5)
    assert not notebook.locator(".jp-Completer-item").first.is_visible()
    assert line.inner_text() == typed
    notebook.keyboard.press("Control+z")


def test_long_work_is_a_note_in_the_corner_while_it_lasts(notebook):
    last = cell(notebook, len(CELLS) - 1)
    last.scroll_into_view_if_needed()
    last.locator(".cm-content").click()
    notebook.keyboard.press("Control+Enter")
    note = notebook.locator(".Toastify__toast", has_text="Compiling for a test")
    note.wait_for()
    screenshot(notebook, "jupyterlab_notice")
    note.wait_for(state="detached")
    assert last.locator(".jp-OutputArea-child").count() == 0


def test_an_edit_removes_the_marks_of_its_cell_alone(notebook):
    to_the_top(notebook)
    assert cell(notebook, 3).locator(".halo-mark-error").count() == 0  # the test above has typed
    assert cell(notebook, 1).locator(".halo-mark-error").count() == 1


# The contrast of each coloured word with its ground, by the formula of WCAG 2, where it is below
# what WCAG asks for text. Grounds are laid over each other: a mark lets the editor's shine through.
FAINT = """() => {
    const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const over = colours => {
        context.clearRect(0, 0, 1, 1);
        for (const colour of colours) {
            context.fillStyle = colour;
            context.fillRect(0, 0, 1, 1);
        }
        return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = rgb => {
        const [r, g, b] = rgb.map(c => c / 255)
            .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const faint = [];
    const words = '[class*=halo-cuda], .halo-mark-error, .halo-mark-gutter, .halo-mark-words';
    for (const word of document.querySelectorAll(words)) {
        const grounds = [];
        for (let one = word; one; one = one.parentElement) {
            grounds.unshift(getComputedStyle(one).backgroundColor);
        }
        const inner = word.matches('.cm-line') ? word : word.querySelector('span') ?? word;
        const text = over([...grounds, getComputedStyle(inner).color]);
        const [a, b] = [light(over(grounds)), light(text)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) {
            faint.push(`${word.className} ${word.textContent.trim()}: ${contrast.toFixed(2)}`);
        }
    }
    return [...new Set(faint)];
}"""


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_colours_can_be_read_in_each_theme(notebook, theme):
    notebook.get_by_role("menuitem", name="Settings", exact=True).click()
    notebook.locator(".lm-Menu-item", has_text="Theme").first.hover()
    notebook.locator(".lm-Menu-item").get_by_text(theme, exact=True).click()
    notebook.locator(f'body[data-jp-theme-name="{theme}"]').wait_for(state="attached")
    time.sleep(0.5)
    to_the_top(notebook)
    line = cell(notebook, 1).locator(".halo-mark-error")
    line.hover(position={"x": 100, "y": 8})
    notebook.locator(".halo-mark-words").wait_for()
    screenshot(notebook, f"jupyterlab_{theme.split()[1].lower()}")
    faint = notebook.evaluate(FAINT)
    notebook.mouse.move(5, 5)
    assert faint == []
