"""What students hand in, in any form that a course meets, as notebooks of students and labs.

    submitted/STUDENT/LAB/*.ipynb          nbgrader's layout; LAB in any letter case, or a number
    submitted/STUDENT/*.ipynb              a lab is told by the notebook's name, or by its cells
    submitted/STUDENT/*.zip                as if it were unpacked there
    submitted.zip, submitted/*.zip         an export of Moodle or Canvas, or zipped folders

What cannot be used is told by name, and stops nobody else's.
"""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from helpers import labs
from helpers.course import texts

MOST_FILE = 32 << 20  # bytes of one file in a zip
MOST_TOTAL = 1 << 30  # bytes of all of them
MOST_FILES = 20_000
MOST_DEEP = 6  # folders below a student's
_KEPT = (".ipynb", ".png", ".zip")
_TIMESTAMP = "timestamp.txt"  # nbgrader's, beside a notebook

# Anna Berg_1234567_assignsubmission_file_/lab.ipynb
_MOODLE = re.compile(r"(?P<student>.+?)_\d+_assignsubmission_[a-z]+_?")
# berganna_12345_678901_lab.ipynb, berganna_LATE_12345_678901_lab-1.ipynb
_CANVAS = re.compile(r"(?P<student>.+?)_(?:LATE_)?\d+_\d+_(?P<file>.+)")


@dataclass(frozen=True)
class Handed:
    """A notebook that a student handed in for a lab, or a folder of that lab without any. lab: a
    folder's name or number, "" where only the cells can tell.
    """

    student: str
    lab: str
    notebook: Path | None
    at: datetime | None
    figures: tuple[str, ...] = ()


def handed_in(
    folder: Path, known: Sequence[str], scratch: Path, told: list[str]
) -> Iterator[Handed]:
    """Find what was handed in. known: the names of the labs; scratch: where zips are unpacked;
    told: gets a sentence for each thing that cannot be used.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    if folder.is_file():
        unpacked = scratch / "all"
        _unpack(folder, unpacked, "", told)
        roots = [unpacked]
    else:
        roots = [folder]
        for number, path in enumerate(_zips(folder.iterdir())):
            unpacked = scratch / "zips" / str(number)
            _unpack(path, unpacked, "", told)
            roots.append(unpacked)
    for root in roots:
        for path in sorted(root.iterdir()) if root.is_dir() else []:
            unpacked_already = root == folder and path.suffix.lower() == ".zip"
            if path.name.startswith((".", "__MACOSX")) or unpacked_already:
                continue
            if not path.is_dir() or path.is_symlink():
                if path.suffix.lower() in (".ipynb", ".zip"):
                    told.append(f"{path.name} lies in no student's folder, and is left out")
                continue
            if not _is_name(path.name):
                told.append(f"{path.name!r} cannot be a student's name, and is left out")
                continue
            yield from _of_student(path, known, scratch, told)


def is_kept(name: str) -> bool:
    """Return whether a file of this name is read: a notebook, a picture or a zip."""
    return name.lower().endswith(_KEPT)


def _is_name(name: str) -> bool:
    """Return whether a folder's name can be a student's: any letters, but a page must be able to
    show it.
    """
    return (
        name == texts.clean(name) and name.isprintable() and len(name.encode()) <= 120
        and not re.search(r"[/\\<>]", name)
    )  # fmt: skip


def _of_student(
    folder: Path, known: Sequence[str], scratch: Path, told: list[str]
) -> Iterator[Handed]:
    student = texts.name(folder.name)
    places = [folder]
    for number, path in enumerate(_zips(folder.rglob("*"))):
        # Of two students' folders of one name, in a zip and beside it, both are read.
        unpacked = Path(tempfile.mkdtemp(prefix=f"{number}-", dir=scratch))
        _unpack(path, unpacked, student, told)
        places.append(unpacked)
    for place in places:
        seen = set()
        for path in sorted(place.rglob("*")):
            inside = path.relative_to(place)
            if any(part.startswith((".", "__MACOSX")) for part in inside.parts):
                continue
            if place != folder and path.suffix.lower() == ".zip":
                told.append(f"{student}: {inside} is a zip in a zip, and is left out")
            if path.suffix.lower() != ".ipynb":
                continue
            if len(inside.parts) > MOST_DEEP:
                told.append(f"{student}: {inside} lies in too many folders, and is left out")
                continue
            lab = next(
                (found for part in reversed(inside.parts) if (found := lab_of(part, known))), ""
            )
            seen.add(lab)
            yield Handed(student, lab, path, _time(path), _figures(path, place))
        for path in sorted(place.iterdir()) if place.is_dir() else []:
            lab = lab_of(path.name, known) if path.is_dir() and not path.is_symlink() else ""
            if lab and lab not in seen:
                yield Handed(student, lab, None, None)


def _zips(paths: Iterable[Path]) -> list[Path]:
    """Return the zips among some files, hidden ones left out."""
    return sorted(
        path for path in paths if path.suffix.lower() == ".zip" and not path.name.startswith(".")
    )


def lab_of(name: str, known: Sequence[str]) -> str:
    """Return the lab that a folder or a file is named after: its name in any letter case, or its
    number alone or at the beginning; "" for none.
    """
    stem = re.sub(r"\.ipynb$", "", name, flags=re.IGNORECASE).casefold()
    for lab in known:
        number = labs.number(lab)
        if stem.startswith(lab.casefold()) or re.match(rf"(lab[ _-]?)?{number}(?!\d)", stem):
            return lab
    return ""


def _figures(notebook: Path, root: Path) -> tuple[str, ...]:
    """Pictures in the notebook's folder and below; of all where it is the student's own."""
    folder = notebook.parent
    found = folder.rglob("*") if folder != root else folder.glob("*")
    pictures = sorted(path for path in found if path.suffix.lower() == ".png")
    return tuple(str(p) for p in pictures[:50] if p.is_file() and not p.is_symlink())


def _time(path: Path) -> datetime | None:
    """When a notebook was handed in: as nbgrader wrote it down, else as its file says."""
    stamp = path.parent / _TIMESTAMP
    try:
        if stamp.is_file() and not stamp.is_symlink():
            words = stamp.read_text(encoding="utf-8")[:100].strip().removesuffix(" UTC")
            at = datetime.fromisoformat(words)
            return at.astimezone().replace(tzinfo=None) if at.tzinfo else at
        return datetime.fromtimestamp(path.stat().st_mtime).replace(microsecond=0)
    except (OSError, ValueError, OverflowError):
        return None


def _unpack(archive: Path, to: Path, student: str, told: list[str]) -> None:
    """Unpack the notebooks and pictures of a zip. student: whose it is; "" for a whole class's."""
    whose = f"{student}: {archive.name}" if student else archive.name
    try:
        with zipfile.ZipFile(archive) as file:
            entries = [one for one in file.infolist() if not one.is_dir()]
            if len(entries) > MOST_FILES:
                told.append(f"{whose} has {len(entries):,} files; at most {MOST_FILES:,} are read")
                return
            total = 0
            for entry in entries:
                place = _place(_name_of(entry), student)
                if place is None:
                    continue
                if entry.file_size > MOST_FILE or total > MOST_TOTAL:
                    told.append(f"{whose}: {entry.filename} is too large, and is left out")
                    continue
                with file.open(entry) as source:
                    data = source.read(MOST_FILE + 1)
                total += len(data)
                if len(data) > MOST_FILE:
                    told.append(f"{whose}: {entry.filename} is too large, and is left out")
                    continue
                target = _free(to / place)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
                _keep_time(target, entry)
    except (OSError, ValueError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        told.append(f"{whose} cannot be unpacked: {error}")


def _place(name: str, student: str) -> Path | None:
    """Return where a file of a zip goes: STUDENT/... for a class's; None for what nobody needs."""
    parts = [
        part
        for part in PurePosixPath(texts.clean(name).replace("\\", "/")).parts
        if part not in ("/", ".", "..")
    ]
    if not parts or any(part.startswith((".", "__MACOSX")) for part in parts):
        return None
    if not is_kept(parts[-1]):
        return None
    if student:
        return Path(*parts)
    for depth, part in enumerate(parts[:-1]):
        if found := _MOODLE.fullmatch(part):
            return Path(found["student"], *parts[depth + 1 :])
    if len(parts) == 1:
        found = _CANVAS.fullmatch(parts[0])
        return Path(found["student"], found["file"]) if found else Path(parts[0])
    if len(parts) > 2 and parts[0].casefold() in ("submitted", "submissions"):
        parts = parts[1:]
    return Path(*parts)


def _name_of(entry: zipfile.ZipInfo) -> str:
    """Return the name of a file in a zip. Many programs write UTF-8 and do not say so."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def _free(path: Path) -> Path:
    """Return the path, or one beside it where a zip has two files of one name."""
    number = 1
    made = path
    while made.exists():
        number += 1
        made = path.with_stem(f"{path.stem} ({number})")
    return made


def _keep_time(path: Path, entry: zipfile.ZipInfo) -> None:
    try:
        at = datetime(*entry.date_time).timestamp()
        os.utime(path, (at, at))
    except (ValueError, OverflowError, OSError):
        return
