"""A static website from the executed labs: `python -m helpers.tools.website [--to FOLDER]`.

The pages are the notebooks as they are committed, with their stored outputs (no cell is run), the
README files, and one page for each CUDA source. Sphinx with MyST-NB makes them; the theme brings
search, parts in the side bar and a dark mode. Parts and their order are read from labs/README.md.

Exit status: 0 when the site was built, 1 when Sphinx warned of something (a broken link, a figure
without a description), 2 when the packages of the extra `site` are missing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import nbformat
from nbformat import NotebookNode

from helpers.bench.results import ROOT
from helpers.bench.results import folder as results_folder

THEME = "sphinx_book_theme"

# Pages beside the labs, in the order of the side bar.
GUIDES = (
    "INSTALL.md",
    "kernels/README.md",
    "helpers/simulator/README.md",
    "data/README.md",
    "helpers/course/README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)

CONFIGURATION: dict[str, Any] = {
    "project": "Halo Labs",
    "html_title": "Halo Labs",
    "extensions": ["myst_nb"],
    "html_theme": THEME,
    "html_theme_options": {"show_toc_level": 2, "navigation_with_keys": False},
    "html_show_copyright": False,
    "html_copy_source": False,
    "master_doc": "index",
    "nb_execution_mode": "off",
    "nb_merge_streams": True,
    "myst_heading_anchors": 4,
    "myst_enable_extensions": ["dollarmath"],
    # Emphasis and links to folders are for readers on GitHub; as pages they have no target.
    "suppress_warnings": ["myst.header", "misc.highlighting_failure"],
}

CSS = """
/* A line of 100 columns fits into a listing on a screen of 1366 pixels. */
.bd-main .bd-content .bd-article-container { max-width: 58rem; }
div.highlight pre, div.cell_output pre { font-size: 0.82rem; }
/* The theme would show its search field twice. */
.bd-header .search-button-field, .bd-header .navbar-header-items { display: none; }
/* Listings and findings keep their lines; a narrow window scrolls them. */
div.cell_output pre, div.highlight pre { white-space: pre; overflow-x: auto; }
/* Figures have a white ground also in the dark mode, so that their ticks stay readable. */
div.cell_output img { background: #ffffff; border-radius: 4px; }
"""

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Part:
    """A heading of labs/README.md with the labs listed below it, in their order."""

    title: str
    labs: tuple[str, ...]


def parts(index: str) -> list[Part]:
    """The parts of the text of labs/README.md: headings of the second level above rows with labs.

    A lab belongs to the heading above its first link. ValueError if no lab is linked.
    """
    labs: dict[str, list[str]] = {}
    title, seen = "Labs", set()
    for line in index.splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ").strip()
        for link in _LINK.finditer(line):
            name = link["target"]
            if name.endswith(".ipynb") and name not in seen:
                seen.add(name)
                labs.setdefault(title, []).append(name)
    if not labs:
        raise ValueError(
            "labs/README.md links no notebook; a row of its tables starts with [NAME](NAME.ipynb)"
        )
    return [Part(title, tuple(names)) for title, names in labs.items()]


def described(notebook: NotebookNode) -> NotebookNode:
    """The notebook with a description for each figure, in the form that MyST-NB reads.

    The description is the figure's text form, which `%load_ext helpers` writes beside the picture:
    the titles and axes. A cell with several figures has one description for all.
    """
    for cell in notebook.cells:
        texts = [
            output.data.get("text/plain", "")
            for output in cell.get("outputs", ())
            if "image/png" in output.get("data", {})
        ]
        if texts:
            cell.metadata["mystnb"] = {"image": {"alt": " ".join(" ".join(texts).split())}}
    return notebook


def stage(source: Path, root: Path = ROOT) -> None:
    """Write the sources of all pages: notebooks, guides, a page for each kernel, the front page."""
    (source / "labs").mkdir(parents=True)
    for lab in sorted((root / "labs").glob("*.ipynb")):
        nbformat.write(described(nbformat.read(lab, as_version=4)), source / "labs" / lab.name)
    pages = ["README.md", "labs/README.md", *GUIDES]
    kernels = sorted((root / "kernels").glob("*.cu*"))
    for page in pages:
        target = source / ("index.md" if page == "README.md" else page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            _linked((root / page).read_text(encoding="utf-8"), page, root), encoding="utf-8"
        )
    for kernel in kernels:
        text = f"# {kernel.name}\n\n```cuda\n{kernel.read_text(encoding='utf-8').rstrip()}\n```\n"
        (source / "kernels" / f"{kernel.stem}.md").write_text(text, encoding="utf-8")
    for folder in ("measured", "pictures"):
        (source / "data" / folder).mkdir(parents=True, exist_ok=True)
        for picture in sorted((root / "data" / folder).glob("*.png")):
            shutil.copy(picture, source / "data" / folder / picture.name)
    (source / "_static").mkdir()
    (source / "_static" / "site.css").write_text(CSS, encoding="utf-8")
    with (source / "index.md").open("a", encoding="utf-8") as front:
        front.write("\n".join(_tables_of_contents(root, kernels)))


def _tables_of_contents(root: Path, kernels: Sequence[Path]) -> Iterator[str]:
    index = (root / "labs" / "README.md").read_text(encoding="utf-8")
    yield _toctree("Start", ["labs/README"])
    for part in parts(index):
        yield _toctree(part.title, [f"labs/{Path(name).stem}" for name in part.labs])
    yield _toctree("Guides", [page.removesuffix(".md") for page in GUIDES])
    yield _toctree("CUDA sources", [f"kernels/{kernel.stem}" for kernel in kernels], depth=1)


def _toctree(caption: str, pages: Sequence[str], depth: int = 1) -> str:
    entries = "\n".join(pages)
    return (
        f"\n```{{toctree}}\n:hidden:\n:maxdepth: {depth}\n:caption: {caption}\n\n{entries}\n```\n"
    )


def _linked(text: str, page: str, root: Path) -> str:
    """The page's text with its links led to pages of the site.

    A link to a CUDA source or to a README leads to its page, one to the root's README to the front
    page. A link to anything else of the repository (a folder, a licence) becomes its text alone.
    """
    folder = (root / page).parent

    def target(link: re.Match[str]) -> str:
        address, _, anchor = link["target"].partition("#")
        if "://" in address or not address:
            return link[0]
        file = Path(os.path.normpath(folder / address))
        inside = file.relative_to(root).as_posix() if file.is_relative_to(root) else ""
        place = _page_of(inside)
        if place is None:
            return link["text"]
        relative = os.path.relpath(root / place, folder) + (f"#{anchor}" if anchor else "")
        return f"[{link['text']}]({relative})"

    return _LINK.sub(target, text)


def _page_of(inside: str) -> str | None:
    """The file of the site that shows a file of the repository; None where none does."""
    if inside == "README.md":
        return "index.md"
    if inside in ("labs/README.md", *GUIDES) or inside.endswith((".ipynb", ".png")):
        return inside
    if inside.startswith("kernels/") and inside.endswith((".cu", ".cuh")):
        return f"{inside.rpartition('.')[0]}.md"
    return None


class _Counted:
    """A stream of warnings that counts them: Sphinx writes each by one call."""

    def __init__(self, stream: TextIO):
        self._stream, self.count = stream, 0

    def write(self, text: str) -> int:
        self.count += bool(text.strip())
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()


def build(target: Path) -> int:
    """Stage the pages and have Sphinx write the site below `target`; the number of its warnings."""
    from sphinx.application import Sphinx

    source = target.with_name(f"{target.name}-source")
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    stage(source)
    settings = CONFIGURATION | {"html_static_path": ["_static"], "html_css_files": ["site.css"]}
    warnings: Any = _Counted(sys.stderr)
    application = Sphinx(
        srcdir=source,
        confdir=None,
        outdir=target,
        doctreedir=source / ".doctrees",
        buildername="html",
        confoverrides=settings,
        warning=warnings,
    )
    application.connect("doctree-read", _color_kernel_cells)
    application.build()
    return warnings.count


def _color_kernel_cells(application: Any, tree: Any) -> None:
    """Cells that begin with %%kernel are CUDA C++, not Python."""
    from docutils import nodes

    for block in tree.findall(nodes.literal_block):
        if block.astext().lstrip().startswith("%%kernel"):
            block["language"] = "cuda"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.website", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--to", type=Path, help="folder of the site (default: results/site)")
    arguments = parser.parse_args(argv)
    target = arguments.to or results_folder() / "site"
    try:
        warnings = build(target.resolve())
    except ModuleNotFoundError as error:
        print(
            f"{error}. The site needs the extra `site`: python -m pip install -e '.[site]'",
            file=sys.stderr,
        )
        return 2
    print(f"Open {target / 'index.html'}")
    return 1 if warnings else 0


if __name__ == "__main__":
    sys.exit(main())
