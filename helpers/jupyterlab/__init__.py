"""What JupyterLab is given for the labs.

    share/   an extension of the browser's side: CUDA C++ in %%kernel cells, whole words in text
    etc/     settings: the server extension below is on, and Markdown opens rendered

`python -m helpers.jupyterlab` starts JupyterLab with both. A plain `jupyter lab` has them, too:
pip puts copies into the environment (pyproject.toml, shared-data), and `make` renews these when
the files here change.

The server extension keeps git clean. When a notebook has been opened, JupyterLab writes the
kernel's description and the version of this Python into its metadata, which differ from machine to
machine. A lab that is saved keeps what its file says of them, unless the student chose another
kernel. When a student's copy is saved, the start page says how far each lab is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from helpers.labs import copies

ROOT = Path(__file__).resolve().parents[2]
KEPT = ("kernelspec", "language_info")


def keep_metadata(root: Path) -> Callable[..., None]:
    """Return a hook that Jupyter calls before it saves a file. It changes notebooks below `root`
    only.
    """

    def hook(model: dict, path: str, contents_manager, **_) -> None:
        file = (Path(contents_manager.root_dir) / path.strip("/")).resolve()
        is_notebook = model.get("type") == "notebook" and model.get("content")
        if not is_notebook or not file.is_relative_to(root):
            return
        try:
            before = json.loads(file.read_text(encoding="utf-8"))["metadata"]
        except (OSError, ValueError, KeyError):  # a new notebook, or one that was no notebook
            return
        now = model["content"]["metadata"]
        if _kernel(before) == _kernel(now):
            now.update({key: before[key] for key in KEPT if key in before})

    return hook


def keep_states(root: Path) -> Callable[..., None]:
    """Return a hook that Jupyter calls after it has saved a file: the start page gets the labs'
    states.
    """

    def hook(os_path: str, **_) -> None:
        file = Path(os_path).resolve()
        if file.is_relative_to(root / copies.FOLDER) and file.suffix == ".ipynb":
            with suppress(OSError):
                copies.write_start_page(root)

    return hook


def _kernel(metadata: dict) -> str | None:
    return metadata.get("kernelspec", {}).get("name")


def _jupyter_server_extension_points() -> list[dict]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server) -> None:
    # An extension that is loaded after ours, such as jupytext's, may put a contents manager of its
    # own in the place of this one. When the loop runs, all are loaded.
    server.io_loop.add_callback(_register, server)


def _register(server) -> None:
    server.contents_manager.register_pre_save_hook(keep_metadata(ROOT))
    if hasattr(server.contents_manager, "register_post_save_hook"):  # contents in files
        server.contents_manager.register_post_save_hook(keep_states(ROOT))
