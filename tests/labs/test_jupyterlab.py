"""JupyterLab as a newcomer meets it: the settings that it gets, and the labs in a real browser."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from helpers import jupyterlab, labs
from helpers.jupyterlab import __main__ as launcher
from tests.labs.browser import KERNELSPEC, cell, open_file, prompt

ROOT = Path(__file__).resolve().parents[2]
LABS = labs.notebooks()
WRITTEN = {
    "kernelspec": KERNELSPEC,
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}  # what JupyterLab writes, without the version of one Python

# ---------------------------------------------------------------------------------------- metadata


@pytest.mark.parametrize("lab", labs.every(), ids=lambda path: path.stem)
def test_labs_have_the_metadata_that_jupyterlab_writes(lab):
    assert nbformat.read(lab, as_version=4).metadata == WRITTEN


def saved(folder: Path, file: Path, metadata: dict) -> dict:
    """The metadata of a notebook in `file` after JupyterLab has sent `metadata` to be saved."""
    model = {"type": "notebook", "content": {"metadata": metadata, "cells": []}}
    path = str(file.relative_to(folder))
    hook = jupyterlab.keep_metadata(folder / "project")
    hook(model=model, path=path, contents_manager=SimpleNamespace(root_dir=str(folder)))
    return model["content"]["metadata"]


def opened(name: str = "python3") -> dict:
    return {
        "kernelspec": {"name": name, "display_name": "Another name"},
        "language_info": {"name": "python", "version": "3.99.9"},
        "title": "mine",
    }


@pytest.fixture
def notebook(tmp_path):
    file = tmp_path / "project/labs/lab.ipynb"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"metadata": WRITTEN}))
    return file


def test_notebook_7_shows_rendered_markdown_in_the_middle():
    """Its own place for it is a side panel, which is closed: the start page would be blank."""
    file = ROOT / "helpers/jupyterlab/etc/labconfig/default_setting_overrides.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    layout = settings["@jupyter-notebook/application-extension:shell"]["layout"]
    viewers = settings["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]
    assert layout[viewers["markdown"]]["area"] == "main"


def test_a_saved_lab_keeps_its_metadata(tmp_path, notebook):
    assert saved(tmp_path, notebook, opened()) == {**WRITTEN, "title": "mine"}


def test_another_kernel_is_the_students_choice(tmp_path, notebook):
    assert saved(tmp_path, notebook, opened("conda-env")) == opened("conda-env")


def test_new_notebooks_and_those_of_others_are_left_alone(tmp_path, notebook):
    assert saved(tmp_path, notebook.with_name("new.ipynb"), opened()) == opened()
    other = tmp_path / "other.ipynb"
    shutil.copy(notebook, other)
    assert saved(tmp_path, other, opened()) == opened()


def test_text_is_no_notebook(tmp_path, notebook):
    model = {"type": "file", "content": "text"}
    manager = SimpleNamespace(root_dir=str(tmp_path))
    hook = jupyterlab.keep_metadata(tmp_path)
    hook(model=model, path="project/labs/lab.ipynb", contents_manager=manager)
    assert model["content"] == "text"


def test_saving_a_copy_renews_the_start_page_and_saving_anything_else_does_not(
    tmp_path, monkeypatch
):
    written = []
    monkeypatch.setattr(jupyterlab.copies, "write_start_page", written.append)
    hook = jupyterlab.keep_states(tmp_path)
    for path in ("labs/100.ipynb", "my_labs/notes.md", "my_labs/100.ipynb"):
        hook(os_path=str(tmp_path / path), model={}, contents_manager=None)
    assert written == [tmp_path]


# ---------------------------------------------------------------------------------------- settings


def test_the_hooks_are_those_of_the_contents_manager_that_stays():
    """Another extension, such as jupytext's, replaces the one that is there when ours is loaded."""
    waiting = []
    first, last = (SimpleNamespace(hooks=[]) for _ in range(2))
    for one in (first, last):
        one.register_pre_save_hook = one.register_post_save_hook = one.hooks.append
    loop = SimpleNamespace(add_callback=lambda act, *given: waiting.append((act, given)))
    server = SimpleNamespace(io_loop=loop, contents_manager=first)
    jupyterlab._load_jupyter_server_extension(server)
    server.contents_manager = last
    for act, given in waiting:
        act(*given)
    assert (len(first.hooks), len(last.hooks)) == (0, 2)


def test_folders_of_the_user_stay_on_the_paths():
    found = launcher.environment({"JUPYTER_PATH": "/theirs", "PYTHONPATH": ""})
    assert found["JUPYTER_PATH"].split(os.pathsep)[1:] == ["/theirs"]
    assert found["PYTHONPATH"] == str(ROOT)


COPIED = f"cp -r {shlex.quote(str(ROOT))} ~/halo-labs && cd ~/halo-labs && make jupyter"


@pytest.mark.parametrize(
    ("number", "what_to_do"),
    [
        (errno.EROFS, COPIED),
        (errno.EACCES, COPIED),
        (errno.EEXIST, "rename it"),
        (errno.ENOSPC, "Free some space"),
    ],
)
def test_a_folder_that_cannot_be_written_is_named(monkeypatch, number, what_to_do):
    def refuse(*_):
        raise OSError(number, os.strerror(number), "my_labs")

    monkeypatch.setattr(launcher.copies, "update", refuse)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with pytest.raises(SystemExit) as stopped:
        launcher.main([])
    said = str(stopped.value.code)
    assert f"{ROOT}/my_labs, and cannot: {os.strerror(number)}." in said
    assert what_to_do in said and (COPIED in said) == (what_to_do == COPIED)


@pytest.mark.parametrize(
    ("user", "options", "hint"),
    [(0, [], True), (0, ["--allow-root"], False), (1000, ["--port=9000"], False)],
)
def test_root_learns_what_to_type(monkeypatch, capsys, user, options, hint):
    labapp = pytest.importorskip("jupyterlab.labapp")
    given = []
    monkeypatch.setattr(launcher.copies, "update", lambda root: "copies")
    monkeypatch.setattr(labapp, "main", given.extend)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    launcher.main(options)
    assert given[-len(options) :] == options or not options
    assert ("make jupyter OPTIONS=--allow-root" in capsys.readouterr().err) == hint


# ------------------------------------------------------------------------------------- the browser

LONG = "word " * 60

CELLS = [
    "import numpy as np\nfrom helpers import device, kernels\ndevice.select()\n%load_ext helpers\n"
    "import pycuda.driver as cuda\nfrom pycuda.compiler import SourceModule",
    "%%kernel spin\n__global__ void spin(float* out)\n{\n    while (true) out[0] += 1.0f;\n}",
    'kernels.show("conv2d_mma_pairs")',
    f"print({LONG!r})",
    'raise cuda.CompileError("does not compile", None, stderr="kernel.cu(1): error: mine")',
    "spin(cuda.InOut(np.zeros(1, np.float32)), block=(32, 1, 1))",
]


@pytest.fixture(scope="module")
def lab(server, page):
    """A page with a notebook of CELLS, all of them run; the last one never ends and was stopped."""
    file = ROOT / "results" / f"browser_test_{os.getpid()}.ipynb"
    file.parent.mkdir(exist_ok=True)
    content = new_notebook(cells=[new_code_cell(source) for source in CELLS], metadata=WRITTEN)
    nbformat.write(content, file)
    try:
        open_file(page, server, f"results/{file.name}")
        page.locator(".jp-Notebook .jp-CodeCell").first.click()
        page.keyboard.press("Escape")
        for n in range(1, len(CELLS)):
            page.keyboard.press("Shift+Enter")
            prompt(page, n)
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="busy"]')
        time.sleep(1)  # until the kernel spins
        page.locator('[data-command="notebook:interrupt-kernel"]').first.click()
        prompt(page, len(CELLS))
        yield page
    finally:
        file.unlink()


def test_the_start_page_is_rendered_and_its_linksopen_file(server, page):
    page.goto(f"{server}/?token=key")
    links = page.locator(".jp-MarkdownViewer td a")
    links.first.wait_for()
    targets = {link.text_content() for link in links.all()}
    assert {"README", "All labs", "kernels/", "results/"} <= targets
    links.get_by_text("results/").click()
    page.locator('.jp-BreadCrumbs [title="results"]').wait_for()
    links.get_by_text("kernels/").click()
    page.locator(".jp-MarkdownViewer h1", has_text="Kernels").wait_for()


def test_a_kernel_cell_is_cpp_and_follows_its_first_line(lab):
    content = cell(lab, 1).locator(".cm-content")
    assert content.get_attribute("data-language") == "cpp"
    assert cell(lab, 0).locator(".cm-content").get_attribute("data-language") == "python"


def test_a_listing_keeps_its_lines_and_stays_on_the_page(lab):
    found = lab.evaluate(
        """element => {
            const pre = element.querySelector('.highlight pre'), style = getComputedStyle(pre);
            const box = element.querySelector('.highlight').getBoundingClientRect();
            return [style.whiteSpace, style.wordBreak, box.right <= window.innerWidth];
        }""",
        cell(lab, 2).element_handle(),
    )
    assert found == ["pre", "normal", True]


def test_printed_text_breaks_between_words(lab):
    style = "element => getComputedStyle(element.querySelector('pre')).wordBreak"
    output = cell(lab, 3).locator(".jp-OutputArea-output").element_handle()
    assert lab.evaluate(style, output) == "normal"


def test_errors_are_a_few_lines(lab):
    compile_error, interrupt = (
        cell(lab, n).locator(".jp-OutputArea-output").inner_text().strip().splitlines()
        for n in (4, 5)
    )
    assert compile_error[0].startswith("CompileError: ") and len(compile_error) < 5
    assert len(interrupt) == 1 and interrupt[0].startswith("KeyboardInterrupt: ")


def _is_save(response) -> bool:
    return response.request.method == "PUT" and "/contents/" in response.url


def test_a_lab_that_is_opened_and_saved_is_the_same_file(server, page):
    original = LABS[2]
    copy = original.with_name(f"browser_test_{os.getpid()}.ipynb")
    shutil.copy(original, copy)
    try:
        open_file(page, server, f"labs/{copy.name}")
        editor = page.locator(".jp-Notebook .jp-CodeCell .cm-content").first
        editor.click()
        page.keyboard.type("x")  # without a change JupyterLab does not save
        page.keyboard.press("Backspace")
        with page.expect_response(_is_save) as response:
            page.keyboard.press("Control+s")
        assert response.value.ok
        assert copy.read_bytes() == original.read_bytes()
    finally:
        page.goto("about:blank")  # an open notebook saves itself once more, as a new file
        copy.unlink()
