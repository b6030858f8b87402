"""A static website from the executed labs: `python -m helpers.tools.website [--to FOLDER]`.

The pages are the notebooks as they are committed, with their stored outputs (no cell is run), the
README files, and one page for each CUDA source. Below the check of an exercise, its hints and its
solution are folded away. Sphinx with MyST-NB makes the pages; the theme brings search, parts in the
side bar and a dark mode. Parts and their order are read from labs/README.md. With the address of a
public copy of the repository (--repository, or what GitHub's workflows set), each lab has buttons
that open it on Binder and in Colab. Each lab can be downloaded as students get it, without outputs.

Exit status: 0 when the site was built, 1 when Sphinx warned of something (a broken link, a figure
without a description), 2 when the packages of the extra `site` are missing.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO
from urllib.parse import unquote

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from PIL import Image

from helpers import exercises, labs
from helpers.bench.results import ROOT
from helpers.bench.results import folder as results_folder
from helpers.exercises.judge.base import BaseExercise
from helpers.labs import copies, stored

THEME = "sphinx_book_theme"

# Pages beside the labs, in the order of the side bar.
GUIDES = (
    "INSTALL.md",
    "OWN_GPU.md",
    "kernels/README.md",
    "helpers/simulator/README.md",
    "data/README.md",
    "helpers/course/README.md",
    "CONTRIBUTING.md",
    "helpers/exercises/README.md",
    "evidence/README.md",
    "CHANGELOG.md",
)

CONFIGURATION: dict[str, Any] = {
    "project": "Halo Labs",
    "html_title": "Halo Labs",
    "extensions": ["myst_nb"],
    "html_theme": THEME,
    "html_theme_options": {
        "show_toc_level": 2,
        "navigation_with_keys": False,
        "use_download_button": False,  # its place is taken by the download of a student's copy
        "logo": {"text": "Halo Labs", "alt_text": "A tile and its halo"},
    },
    "html_logo": "_static/site_logo.svg",
    "html_favicon": "_static/site_logo.svg",
    "html_show_copyright": False,
    "html_copy_source": False,
    "html_use_index": False,
    "html_static_path": ["_static"],
    "html_css_files": ["site.css"],
    "html_js_files": [("site.js", {"defer": "defer"})],
    "html_extra_path": ["extra"],
    "exclude_patterns": ["extra"],
    "master_doc": "index",
    "nb_execution_mode": "off",
    "nb_merge_streams": True,
    "myst_heading_anchors": 4,
    "myst_enable_extensions": ["dollarmath"],
    # Emphasis and links to folders are for readers on GitHub; as pages they have no target.
    "suppress_warnings": ["myst.header", "misc.highlighting_failure"],
}

HERE = Path(__file__).parent
OWN_FILES = ("site.css", "site.js", "site_logo.svg")
# The theme loads its icons twice: as a font, which is enough, and by this script of 1.5 MB.
ICONS = "scripts/fontawesome.js"

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_PICTURE = re.compile(r"""((?:src|href)="[^"]*\b_images/[^"]+)\.png(?=")""")
_ANCHOR = re.compile(r'href="#([^"]+)"')
_CODE = re.compile(r"`([^`]+)`")
_NEXT = re.compile(r"\bNext:.*?\b[Ll]ab (\d{3})\b", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A heading of labs/README.md with the labs listed below it, in their order."""

    title: str
    labs: tuple[str, ...]


def parts(index: str) -> list[Part]:
    """Return the parts of the text of labs/README.md: headings of the second level above rows with
    labs.

    A lab belongs to the heading above its first link. A deeper notebook follows its lab, wherever
    it is linked. ValueError if no lab is linked.
    """
    listed: dict[str, list[str]] = {}
    title, seen = "Labs", set()
    for line in index.splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ").strip()
        for link in _LINK.finditer(line):
            name = link["target"]
            if name.endswith(".ipynb") and "/" not in name and name not in seen:
                seen.add(name)
                listed.setdefault(title, []).append(name)
    if not listed:
        raise ValueError(
            "labs/README.md links no notebook; a row of its tables starts with [NAME](NAME.ipynb)"
        )
    return [Part(title, tuple(names)) for title, names in listed.items()]


def described(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with a description for each figure, in the form that MyST-NB reads.

    The description is the figure's text form, which `%load_ext helpers` writes beside the picture:
    the titles and axes. A figure that was stored without one is named by its section. A cell with
    several figures has one description for all. Where one of them shows a photograph, the theme
    keeps its pixels in the dark mode.
    """
    section = "this page"
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            headings = _HEADING.findall(cell.source)
            section = headings[-1] if headings else section
        pictures = [one for one in cell.get("outputs", ()) if "image/png" in one.get("data", {})]
        texts = [one.data.get("text/plain", "") for one in pictures]
        if texts:
            words = [
                f"Figure: part of “{section}”." if text.startswith("<") or not text else text
                for text in texts
            ]
            image = {"alt": " ".join(" ".join(words).split())}
            if any("needs_background" in one.metadata for one in pictures):
                image["classes"] = "dark-light"
            cell.metadata["mystnb"] = {"image": image}
    return notebook


def with_help(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with the hints and the solution of an exercise, folded, below its last
    check.
    """
    last: dict[str, int] = {}
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            last |= {name: place for name in stored.asked(cell.source)}
    cells = list(notebook.cells)
    for name, place in sorted(last.items(), key=lambda item: -item[1]):
        cells.insert(place + 1, new_markdown_cell(_folded(exercises.find(name))))
    notebook.cells = cells
    return notebook


def with_anchors(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with its outputs' links to headings led to those of the site's page."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if words := output.get("data", {}).get("text/html"):
                output.data["text/html"] = _ANCHOR.sub(_anchor, words)
    return notebook


def _anchor(link: re.Match[str]) -> str:
    """Return a link to a heading, by the rules by which Docutils makes the name of a section."""
    plain = unicodedata.normalize("NFKD", unquote(html.unescape(link[1])).lower())
    name = re.sub(r"[^a-z0-9]+", "-", plain.encode("ascii", "ignore").decode().replace("-", " "))
    return f'href="#{re.sub("^[-0-9]+|-+$", "", name)}"'


def _folded(exercise: BaseExercise) -> str:
    hints = [
        f"<details><summary>Hint {number} of {len(exercise.hints)}</summary>\n"
        f"<p>{_with_code(' '.join(hint.split()))}</p>\n</details>\n"
        for number, hint in enumerate(exercise.hints, 1)
    ]
    language = "cuda" if exercise.solution.lstrip().startswith("%%kernel") else "python"
    solution = (
        "<details><summary>A solution</summary>\n\n"
        f"```{language}\n{exercise.solution.rstrip()}\n```\n\n</details>\n"
    )
    return "\n".join([*hints, solution])


def _with_code(words: str) -> str:
    """Return HTML of a plain text; what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", html.escape(words))


def next_lab(notebook: NotebookNode) -> str | None:
    """Return the number of the lab that the last words of a lab send to; None where they name none.
    """
    words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    found = _NEXT.search(words[-1]) if words else None
    return found[1] if found else None


def stage(source: Path, root: Path = ROOT) -> None:
    """Write the sources of all pages: notebooks, guides, a page for each kernel, the front page.

    A deeper notebook is folded below its lab in the side bar.
    """
    (source / "labs").mkdir(parents=True)
    downloads = source / "extra" / "download"
    downloads.mkdir(parents=True)
    deeper = {labs.number(path.stem): path.stem for path in labs.deeper(root / "labs")}
    folded = {
        path.stem: deeper[labs.number(path.stem)]
        for path in labs.notebooks(root / "labs")
        if labs.number(path.stem) in deeper
    }
    for lab in labs.every(root / "labs"):
        text, inside = lab.read_text(encoding="utf-8"), f"labs/{labs.place(lab).as_posix()}"
        copy = copies.copy_of(text, labs.is_deeper(lab))
        (downloads / lab.name).write_text(copy, encoding="utf-8")
        notebook = with_anchors(described(with_help(nbformat.reads(text, as_version=4))))
        if lab.stem in folded:
            page = f"{labs.DEEPER}/{folded[lab.stem]}"
            notebook.cells.append(new_markdown_cell(_toctree("Deeper", [page])))
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = _linked(cell.source, inside, root)
        (source / inside).parent.mkdir(exist_ok=True)
        nbformat.write(notebook, source / inside)
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
    shutil.copytree(root / "data" / "pictures", source / "data" / "pictures")
    (source / "_static").mkdir()
    for file in OWN_FILES:
        shutil.copy(HERE / file, source / "_static" / file)
    with (source / "index.md").open("a", encoding="utf-8") as front:
        front.write("\n".join(_tables_of_contents(root, kernels)))


def _tables_of_contents(root: Path, kernels: Sequence[Path]) -> Iterator[str]:
    index = (root / "labs" / "README.md").read_text(encoding="utf-8")
    yield _toctree("Start", ["labs/README"])
    for part in parts(index):
        yield _toctree(part.title, [f"labs/{Path(name).stem}" for name in part.labs])
    yield _toctree("Guides", [page.removesuffix(".md") for page in GUIDES])
    yield _toctree("CUDA sources", [f"kernels/{kernel.stem}" for kernel in kernels])


def _toctree(caption: str, pages: Sequence[str]) -> str:
    entries = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {caption}\n\n{entries}\n```\n"


def _linked(text: str, page: str, root: Path) -> str:
    """Return the page's text with its links led to pages of the site.

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
    """Return the file of the site that shows a file of the repository; None where none does."""
    if inside == "README.md":
        return "index.md"
    if inside in ("labs/README.md", *GUIDES) or inside.endswith((".ipynb", ".png", ".gif")):
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


def build(target: Path, repository: str = "") -> int:
    """Stage the pages and have Sphinx write the site below `target`; the number of its warnings.

    repository: the address of a public copy ("https://github.com/OWNER/NAME"), for the buttons that
    open a lab elsewhere; "" for none.
    """
    from sphinx.application import Sphinx

    warnings: Any = _Counted(sys.stderr)
    with TemporaryDirectory() as folder:  # MyST-NB writes beside the site, too
        source, site = Path(folder, "source"), Path(folder, "site")
        stage(source)
        application = Sphinx(
            srcdir=source,
            confdir=None,
            outdir=site,
            doctreedir=source / ".doctrees",
            buildername="html",
            confoverrides=CONFIGURATION | {"html_theme_options": _theme_options(repository)},
            warning=warnings,
        )
        application.connect("doctree-read", _choose_languages)
        application.connect("html-page-context", _offer_download, priority=900)
        application.connect("html-page-context", _lead_on(_ways(source / "labs")), priority=900)
        application.build()
        _clean(site)
        _shrink_pictures(site)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(site, target)
    return warnings.count


def _clean(site: Path) -> None:
    """Remove what no reader of the site needs."""
    (site / "_static" / ICONS).write_text("", encoding="utf-8")
    # Maps are for the debugger of the theme's authors, and macros for Sphinx.
    for file in [*site.rglob("*.map"), *(site / "_static").glob("*-macros.html")]:
        file.unlink()
    for name in (".buildinfo", "objects.inv"):  # of Sphinx, for the next build and other sites
        (site / name).unlink()
    shutil.rmtree(site / "_sources", ignore_errors=True)


def _shrink_pictures(site: Path) -> None:
    """Store the pictures of the pages as WebP without loss: a third of their bytes as PNG."""
    for picture in (site / "_images").glob("*.png"):
        with Image.open(picture) as pixels:
            pixels.save(picture.with_suffix(".webp"), lossless=True)
        picture.unlink()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_PICTURE.sub(r"\1.webp", text), encoding="utf-8")


def _theme_options(repository: str) -> dict[str, Any]:
    options = dict(CONFIGURATION["html_theme_options"])
    if repository:
        options["repository_url"] = repository
        options["repository_branch"] = os.environ.get("GITHUB_REF_NAME", "main")
        options["launch_buttons"] = {
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
            "notebook_interface": "jupyterlab",
        }
    return options


def _offer_download(application: Any, page: str, template: str, context: Any, tree: Any) -> None:
    """Add a button to a lab's page that saves the lab as a student's copy."""
    if page.startswith("labs/") and page != "labs/README":
        context["header_buttons"].insert(
            0,
            {
                "type": "link",
                "url": f"{context['pathto']('download', 1)}/{Path(page).name}.ipynb",
                "text": "",
                "tooltip": "Download this lab as a notebook, without its outputs",
                "icon": "fas fa-download",
                "label": "download-notebook-button",
            },
        )


def _ways(folder: Path) -> dict[str, str]:
    """Return the page that each page of a lab names as the next one, by page."""
    notebooks = {p.stem: nbformat.read(p, as_version=4) for p in labs.notebooks(folder)}
    pages = {labs.number(name): f"labs/{name}" for name in notebooks}
    named = {f"labs/{name}": next_lab(notebook) for name, notebook in notebooks.items()}
    return {page: pages[number] for page, number in named.items() if number in pages}


def _lead_on(ways: dict[str, str]) -> Any:
    """Return a handler that makes a page's links to the next page, and back, those that its lab
    names.
    """

    def lead(application: Any, page: str, template: str, context: Any, tree: Any) -> None:
        def link(to: str) -> dict[str, str]:
            title = html.escape(application.env.titles[to].astext())
            return {"link": application.builder.get_relative_uri(page, to), "title": title}

        if page in ways:
            context["next"] = link(ways[page])
        before = [name for name, follows in ways.items() if follows == page and name < page]
        if before:
            context["prev"] = link(max(before))

    return lead


def _choose_languages(application: Any, tree: Any) -> None:
    """Name the languages: CUDA C++ of cells that begin with %%kernel, none of a short error."""
    from docutils import nodes

    for block in tree.findall(nodes.literal_block):
        text = block.astext()
        if text.lstrip().startswith("%%kernel"):
            block["language"] = "cuda"
        elif "traceback" in block["classes"] and "Traceback (most recent" not in text:
            block["language"] = "none"


def _repository_of_workflow() -> str:
    """Return the address of the repository in a workflow of GitHub; "" elsewhere."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return f"{server}/{name}" if server and name else ""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.website", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--to", type=Path, help="folder of the site (default: results/site)")
    parser.add_argument(
        "--repository",
        default=_repository_of_workflow(),
        metavar="URL",
        help="a public copy of the repository, for buttons that open a lab on Binder and in Colab",
    )
    arguments = parser.parse_args(argv)
    target = arguments.to or results_folder() / "site"
    try:
        warnings = build(target.resolve(), arguments.repository)
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
