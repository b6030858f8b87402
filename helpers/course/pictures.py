"""Figures that students hand in: files beside a notebook, and what the cells of the notebook show.

    found = pictures.of_lab(notebooks, files, grades)     # kept below grades/.figures/
    pictures.answers(found, expected)                     # by the name of the expected figure

No picture is decoded outside the box. PNGs are shown by a browser as they are; SVGs are made safe
first. What a picture looks like is found in the box, as a digest of its pixels below the title, so
that copies that were saved again, or have another title, are shown once. A thumbnail would not do:
there one point of a curve makes less of a difference than another resolution.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.bench import png
from helpers.course import box, grades, notebooks, svg, texts, wire

FILE = ".figures.json"  # in a student's folder of a lab
MOST = 60  # pictures of a student's lab
MOST_BYTES = 8 << 20  # of a picture that is shown
_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
_BATCH = 100  # pictures of one job in the box


def of_lab(books: Sequence[Path], files: Sequence[Path], folder: Path) -> list[dict[str, Any]]:
    """Return the pictures of a student's lab as plain values, each once, and keep their bytes.

    books: the notebooks, the one that counts first; files: beside them. Of each picture: `name`, to
    be read; `names`, by which course.toml may call it; `cell`; `picture`, the name of the kept
    file, "" where it cannot be shown, and `problem` says why then. Raises SubmissionError.
    """
    found: dict[str, dict[str, Any]] = {}
    rows = [_kept(path.name, _read(path), [path.stem], "", folder) for path in files]
    for book in books:
        for cell, tags, kind, data in notebooks.pictures(book):
            rows.append(_kept(f"cell {cell}", (kind, data), [cell, *tags], cell, folder))
    for row in rows:
        first = found.setdefault(row["picture"] or row["name"], row)
        first["names"] = list(dict.fromkeys([*first["names"], *row["names"]]))
    made = list(found.values())
    if len(made) > MOST:
        left = f"{len(made) - MOST + 1:,} more pictures"
        said = f"of a lab the first {MOST} pictures are kept"
        made[MOST - 1 :] = [{"name": left, "names": [], "cell": "", "picture": "", "problem": said}]
    return made


def _read(path: Path) -> tuple[str, bytes]:
    try:
        large = path.stat().st_size > MOST_BYTES
        return _KINDS.get(path.suffix.lower(), ""), b"" if large else path.read_bytes()
    except OSError:
        return "", b""


def _kept(
    name: str, given: tuple[str, bytes], names: list[str], cell: str, folder: Path
) -> dict[str, Any]:
    kind, data = given
    problem = ""
    try:
        if kind == _KINDS[".svg"]:
            data = svg.safe(data)
        elif kind != _KINDS[".png"]:
            problem = f"it is {kind or 'no picture'}; PNG and SVG are shown"
        elif not data.startswith(png.SIGNATURE):
            problem = f"it is no PNG, or has more than {MOST_BYTES >> 20} MiB"
    except svg.UnsafeSvg as error:
        problem = str(error)
    kept = ""
    if not problem:
        suffix = next(one for one, of in _KINDS.items() if of == kind)
        kept = f"{hashlib.sha256(data).hexdigest()}{suffix}"
        place = folder / grades.FIGURES / kept
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            grades.write_bytes(place, data)
    return {"name": texts.line(name)[:120], "names": [texts.line(one)[:120] for one in names],
            "cell": cell, "picture": kept, "problem": texts.line(problem)[:300]}  # fmt: skip


def load(folder: Path) -> list[dict[str, Any]]:
    """Return the pictures that lie in a student's folder of a lab."""
    try:
        found = texts.clean(json.loads((folder / FILE).read_text(encoding="utf-8")))
        return [one for one in found["pictures"] if isinstance(one, dict)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def answers(
    found: Iterable[Mapping[str, Any]], expected: Iterable[str]
) -> dict[str, list[Mapping[str, Any]]]:
    """Return the pictures by the name of the figure that they answer, in the order of `expected`;
    under "" those that answer none. A picture answers each figure that is named after its file, its
    cell or a tag of the cell; where none is, the one that is named after its record.
    """
    by: dict[str, list[Mapping[str, Any]]] = {name: [] for name in expected}
    wanted = {name.casefold(): name for name in by}
    for one in found:
        own = [wanted[name.casefold()] for name in one["names"] if name.casefold() in wanted]
        recorded = (one.get("claim") or {}).get("name", "").casefold()
        for name in dict.fromkeys(own or [wanted.get(recorded, "")]):
            by.setdefault(name, []).append(one)
    return by


# ---- what pictures look like ----


# The title of a plot stands in the first ninth of its rows, and what is drawn below it.
_LOOK = """
import base64, hashlib, io, warnings
from PIL import Image
Image.MAX_IMAGE_PIXELS = 30_000_000
warnings.simplefilter("error")
def looks(pictures):
    return [look(one) for one in pictures]
def look(one):
    try:
        image = Image.open(io.BytesIO(base64.b64decode(one)), formats=["PNG"]).convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        width, height = image.size
        drawn = Image.alpha_composite(white, image).crop((0, height // 9, width, height))
        return hashlib.sha256(repr(image.size).encode() + drawn.tobytes()).hexdigest()
    except Exception:
        return ""
"""


def look_at(folder: Path, level: str, names: Iterable[str]) -> None:
    """Find what kept PNGs look like, and keep that beside each of them. level: of the box."""
    missing = [
        path
        for name in dict.fromkeys(names)
        if (path := folder / grades.FIGURES / name).suffix == ".png"
        and not path.with_suffix(".look").exists()
    ]
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        for path, look in zip(batch, _looks(batch, level), strict=True):
            texts.write(path.with_suffix(".look"), look)


def _looks(paths: Sequence[Path], level: str) -> list[str]:
    """Return the looks of pictures; "" of one that ends the process that decodes it."""
    job = {
        "text": _LOOK,
        "function": "looks",
        "driver": "pictures",
        "calls": [base64.b64encode(path.read_bytes()).decode("ascii") for path in paths],
    }
    with box.Bench("python", level, box.Limits(cpu_s=60)) as bench:
        ended = bench.run(wire.pack(job), 1_000 + 200 * len(paths))
    if ended.status != "done" and len(paths) > 1:  # one of them has ended the process
        half = len(paths) // 2
        return [*_looks(paths[:half], level), *_looks(paths[half:], level)]
    try:
        made = wire.content(ended.answer)[0]["made"] if ended.status == "done" else []
    except wire.UNREADABLE:
        made = []
    is_whole = len(made) == len(paths)
    return [one if is_whole and isinstance(one, str) else "" for one in made or paths]


def folds(rows: Sequence[Sequence[Mapping[str, Any]]], folder: Path) -> list[list[int]]:
    """Return which answers are shown once, as lists of places in `rows`: their pictures are the
    same but for the title, and claim the same. rows: of each answer its pictures.
    """
    made: dict[str, list[int]] = {}
    for k, row in enumerate(rows):
        # What cannot be shown is the same as nothing else.
        is_shown = row and all(one["picture"] for one in row)
        seen = [[_kept_look(folder, one["picture"]), _numbers(one)] for one in row]
        key = json.dumps(seen, sort_keys=True) if is_shown else str(k)
        made.setdefault(key, []).append(k)
    return list(made.values())


def _numbers(one: Mapping[str, Any]) -> Any:
    """Return what the record in a picture claims, and what does not hold of it."""
    found = one.get("claim") or {}
    return found.get("rows"), found.get("problems")


def _kept_look(folder: Path, name: str) -> str:
    """Return the look of a kept picture; its name where nobody has it."""
    try:
        look = (folder / grades.FIGURES / name).with_suffix(".look").read_text(encoding="ascii")
    except (OSError, ValueError):
        look = ""
    return look or name
