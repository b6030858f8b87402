"""What a notebook stores beside a picture: the figure's own description, in every cell that draws.

The notebooks run in a real kernel, as nbclient and JupyterLab run them: Matplotlib's inline backend
is there, and starts only when a cell draws for the first time.
"""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
DRAW = 'figure, ax = plt.subplots()\nax.set(title="Time {0}", xlabel="n", ylabel="time (ms)")'
WORDS = "Figure: Time {0} (x: n, y: time (ms))."

EARLY = (  # %load_ext before Matplotlib is there
    "%load_ext helpers",
    "import matplotlib.pyplot as plt\n" + DRAW.format("grows") + "\nplt.show()",
    DRAW.format("falls") + "\nNone",
    DRAW.format("stays") + "\nax.imshow([[1, 2]])\nplt.close()\nfigure",
    "%matplotlib inline\n" + DRAW.format("ends"),
)
LATE = ("import matplotlib.pyplot as plt", "%load_ext helpers", DRAW.format("grows"))


def pictures(cells: tuple[str, ...]) -> list[dict]:
    """The outputs with a picture, after the cells have run."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    # The kernel's own choice of a backend counts here, not the one of the process that tests.
    kept = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    NotebookClient(notebook, kernel_name="python3").execute(
        env={**kept, "PYTHONPATH": str(ROOT)}, cwd=str(ROOT)
    )
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    return [one for one in outputs if "image/png" in one.get("data", {})]


def test_every_picture_is_stored_with_its_description():
    found = pictures(EARLY)
    assert [one["data"]["text/plain"] for one in found] == [
        WORDS.format(verb) for verb in ("grows", "falls", "stays", "ends")
    ]
    assert all(one["metadata"]["image/png"]["alt"] == one["data"]["text/plain"] for one in found)
    grounds = [one["metadata"].get("needs_background") for one in found]
    assert grounds == [None, None, "light", None], "the pixels of a picture keep their colours"


def test_the_description_is_the_alt_text_where_nbconvert_writes_one():
    """Its classic template reads the metadata; that of JupyterLab writes the same text for all."""
    nbconvert = pytest.importorskip("nbconvert")
    (picture,) = pictures(LATE)
    cell = new_code_cell("draw()", outputs=[nbformat.from_dict(picture)])
    page, _ = nbconvert.HTMLExporter(template_name="classic").from_notebook_node(
        new_notebook(cells=[cell])
    )
    assert f'alt="{WORDS.format("grows")}"' in page
