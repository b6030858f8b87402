"""The metadata that all labs share is found where it differs, and repaired alone."""

import json
import shutil

import nbformat
import pytest

from helpers import labs
from helpers.tools import notebook_metadata
from helpers.tools.notebook_metadata import METADATA, main


def test_all_labs_share_it(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "change",
    [
        lambda metadata: metadata["kernelspec"].update(name="my-env"),
        lambda metadata: metadata["language_info"].update(version="3.99.9"),
        lambda metadata: metadata.pop("kernelspec"),
        lambda metadata: metadata.update(widgets={}),
    ],
)
def test_what_an_editor_changed_is_found_and_repaired(change, tmp_path, capsys):
    lab = shutil.copy(labs.LABS / "100_start_here.ipynb", tmp_path / "lab.ipynb")
    whole = lab.read_text(encoding="utf-8")
    notebook = nbformat.read(lab, as_version=4)
    change(notebook.metadata)
    nbformat.write(notebook, lab)
    assert main([str(lab)]) == 1
    assert "repair them with --fix" in capsys.readouterr().out
    assert main([str(lab), "--fix"]) == 1
    assert main([str(lab)]) == 0
    assert lab.read_text(encoding="utf-8") == whole


def test_a_notebook_that_has_it_is_not_rewritten():
    text = json.dumps({"cells": [], "metadata": METADATA}, indent=4)
    assert notebook_metadata.repaired(text) == text
