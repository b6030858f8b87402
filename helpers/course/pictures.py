"""Figures that students hand in: files beside a notebook, and what the cells of the notebook show.

    found = pictures.of_lab(notebooks, files, grades)     # kept below grades/.figures/
    pictures.answers(found, expected)                     # by the name of the expected figure

No picture is decoded outside the box. PNGs are shown by a browser as they are; SVGs are made safe
first. What a picture looks like is found in the box, as a grey image of 24 by 24 points, so that
copies that were saved again, or have another title, can be shown once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from helpers.bench import png
from helpers.course import box, grades, notebooks, svg, texts, wire

FILE = ".figures.json"  # in a student's folder of a lab
MOST = 60  # pictures of a student's lab
MOST_BYTES = 8 << 20  # of a picture that is shown
_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
_BATCH = 100  # pictures of one job in the box
_SIDE = 24  # points of a look
# Two looks are alike if no point differs by more, and all together by no more, of 255.
_MOST_OFF, _MOST_MEAN = 50, 0.8


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
        found.setdefault(row["picture"] or row["name"], row)
    return list(found.values())[:MOST]


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
    under "" those that answer none. A picture answers the figure that is named after its file, its
    cell, a tag of the cell, or its record.
    """
    by: dict[str, list[Mapping[str, Any]]] = {name: [] for name in expected}
    wanted = {name.casefold(): name for name in by}
    for one in found:
        names = [*one["names"], (one.get("claim") or {}).get("name", "")]
        name = next((wanted[n.casefold()] for n in names if n.casefold() in wanted), "")
        by.setdefault(name, []).append(one)
    return by


# ---- what pictures look like ----


_LOOK = """
import base64, io, warnings
from PIL import Image
Image.MAX_IMAGE_PIXELS = 30_000_000
warnings.simplefilter("error")
def looks(pictures):
    return [look(one) for one in pictures]
def look(one):
    try:
        image = Image.open(io.BytesIO(base64.b64decode(one)), formats=["PNG"]).convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        small = Image.alpha_composite(white, image).convert("L").resize((SIDE, SIDE), Image.BOX)
        return small.tobytes().hex()
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
        "text": _LOOK.replace("SIDE", str(_SIDE)),
        "function": "looks",
        "driver": "pictures",
        "calls": [base64.b64encode(path.read_bytes()).decode("ascii") for path in paths],
    }
    with box.Bench("python", level, box.Limits(cpu_s=60)) as bench:
        ended = bench.run(wire.pack(job), 8 + len(paths) * (2 * _SIDE * _SIDE + 100) + 1_000)
    if ended.status != "done" and len(paths) > 1:  # one of them has ended the process
        half = len(paths) // 2
        return [*_looks(paths[:half], level), *_looks(paths[half:], level)]
    try:
        made = wire.content(ended.answer)[0]["made"] if ended.status == "done" else []
    except wire.UNREADABLE:
        made = []
    return [_look(one) for one in made] if len(made) == len(paths) else [""] * len(paths)


def _look(text: Any) -> str:
    try:
        return text if len(binascii.unhexlify(text)) == _SIDE * _SIDE else ""
    except (ValueError, TypeError):
        return ""


def folds(rows: Sequence[Sequence[Mapping[str, Any]]], folder: Path) -> list[list[int]]:
    """Return which answers are shown once, as lists of places in `rows`: their pictures are the
    same, or look so and claim the same. rows: of each answer its pictures.
    """
    looks = {
        name: _kept_look(folder, name) for row in rows for one in row if (name := one["picture"])
    }

    def is_same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
        first, second = a["picture"], b["picture"]
        if not first or not second:
            return False
        return first == second or (
            _numbers(a) == _numbers(b) and _are_alike(looks[first], looks[second])
        )

    made: list[list[int]] = []
    for k, row in enumerate(rows):
        for fold in made:
            first = rows[fold[0]]
            if len(first) == len(row) > 0 and all(map(is_same, first, row)):
                fold.append(k)
                break
        else:
            made.append([k])
    return made


def _numbers(one: Mapping[str, Any]) -> Any:
    """Return what the record in a picture claims, and what does not hold of it."""
    found = one.get("claim") or {}
    return found.get("rows"), found.get("problems")


def _kept_look(folder: Path, name: str) -> np.ndarray | None:
    """Return the (24 * 24,) int16 greys of a kept picture, 0 to 255; None where nobody has them."""
    try:
        text = (folder / grades.FIGURES / name).with_suffix(".look").read_text(encoding="ascii")
        return np.frombuffer(binascii.unhexlify(text), np.uint8).astype(np.int16) if text else None
    except (OSError, ValueError):
        return None


def _are_alike(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return False
    off = np.abs(a - b)
    return bool(off.max() <= _MOST_OFF and off.mean() <= _MOST_MEAN)
