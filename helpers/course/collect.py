"""What students hand in, in any form that a course meets, as notebooks of students and labs.

    submitted/STUDENT/LAB/*.ipynb          nbgrader's layout; LAB in any letter case, or a number
    submitted/STUDENT/*.ipynb              a lab is told by the notebook's name, or by its cells
    submitted/STUDENT/*.zip                as if it were unpacked there; zips in it, too
    submitted.zip, submitted/*.zip         an export of Moodle or Canvas, or zipped folders
    submitted/...                          such an export, unpacked

What cannot be used is told by name, and stops nobody else's.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo

from helpers import labs
from helpers.course import texts
from helpers.course.notebooks import MOST_NOTEBOOK
from helpers.course.roster import Names

MOST_FILE = MOST_NOTEBOOK  # bytes of one file in a zip
MOST_OF_STUDENT = 1 << 29  # bytes of all files in the zips of one student
MOST_OF_CLASS = 1 << 33  # bytes of all files in the zip of a class
MOST_FILES_OF_STUDENT, MOST_FILES = 1_000, 20_000  # in zips
MOST_DEEP = 6  # folders below a student's
MOST_NESTED = 3  # zips in zips
_PICTURES = (".png", ".svg")
_KEPT = (".ipynb", ".zip", *_PICTURES)
_TIMESTAMP = "timestamp.txt"  # nbgrader's, beside a notebook
_READ = "Notebooks are read, and PNG and SVG pictures that lie in a notebook's folder"
_OF_SYSTEM = ("__MACOSX", ".ipynb_checkpoints", ".git", ".DS_Store")  # nobody misses these

# Anna Berg_1234567_assignsubmission_file_/lab.ipynb, or without folders ..._file_lab.ipynb
_MOODLE = re.compile(
    r"(?P<student>.+?)_(?P<number>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL
)
# berganna_12345_678901_lab.ipynb, berganna_LATE_12345_678901_lab-1.ipynb
_CANVAS = re.compile(
    r"(?P<student>.+?)_(?P<late>LATE_)?(?P<number>\d+)_\d+_(?P<file>.+)", re.DOTALL
)


@dataclass(frozen=True)
class Handed:
    """A notebook that a student handed in for a lab, or a folder of that lab without any. lab: a
    folder's name or number, "" where only the cells can tell; at: when, None where nobody knows;
    figures: the paths of pictures; name: the notebook's path in the student's folder.
    """

    student: str
    lab: str
    notebook: Path | None
    at: datetime | None
    figures: tuple[str, ...] = ()
    name: str = ""


@dataclass
class Collection:
    """How to read what was handed in. known: the names of the labs; scratch: where zips are
    unpacked; zone: of the times in zips, None for that of this computer; stamped: whether nbgrader
    collected it, so that STUDENT/LAB/timestamp.txt is nbgrader's; remarks: gets a sentence for each
    thing that cannot be used.
    """

    known: Sequence[str]
    scratch: Path
    names: Names = field(default_factory=lambda: Names(()))
    zone: tzinfo | None = None
    stamped: bool = False
    remarks: list[str] = field(default_factory=list)

    def handed_in(self, folder: Path) -> Iterator[Handed]:
        """Yield what lies in a folder, or in a zip."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        is_zip = folder.is_file()
        places = self._of_class_zip(folder) if is_zip else self._places(folder, top=True)
        for place in self._named(places, apart=is_zip):
            try:
                yield from self._of_place(place)
            except OSError as error:
                self.remarks.append(f"{place.name}: {error}; what lies there is left out")

    # ---- whose something is ----

    def _of_class_zip(self, archive: Path) -> list[_Place]:
        unpacked = self._new_folder()
        self._unpack(archive, unpacked, archive.name, _Budget(MOST_OF_CLASS))
        return self._places(unpacked)

    def _places(self, root: Path, top: bool = False) -> list[_Place]:
        """Return the places of a folder of students. top: it is what `grade` was given, where the
        zips of classes may lie.
        """
        found: list[_Place] = []
        for path in sorted(root.iterdir()):
            is_zip = path.suffix.lower() == ".zip"
            if path.name.startswith(_OF_SYSTEM):
                continue
            if path.is_symlink():
                self.remarks.append(f"{path.name!r} is a link, and is left out")
            elif path.is_dir():
                found += self._of_folder(path)
            elif not path.is_file():
                self.remarks.append(f"{path.name!r} is no plain file, and is left out")
            elif place := self._of_file(path):
                found.append(place)
            elif is_zip and top and not path.name.startswith("."):
                found += self._named(self._of_class_zip(path), apart=True)
            elif not path.name.startswith("."):
                self.remarks.append(f"{path.name} lies in no student's folder, and is left out")
        return found

    def _of_folder(self, path: Path) -> list[_Place]:
        found = _MOODLE.fullmatch(path.name)
        if found and not found["file"]:
            return [_Place(found["student"], found["number"], path)]
        inside = os.listdir(path) if os.access(path, os.R_OK | os.X_OK) else []
        is_export = path.name.casefold() in ("submitted", "submissions")
        if is_export or any(map(_MOODLE.fullmatch, inside)):
            return self._places(path)
        if not self.names.find(path.name) and any(map(self.names.find, inside)):
            return self._places(path)  # of a section, or what a zip was packed from
        return [_Place(path.name, "", path)]

    def _of_file(self, path: Path) -> _Place | None:
        """Return the place of a file that says itself whose it is; None for others."""
        if not is_kept(path.name) or path.name.startswith("."):
            return None
        moodle, canvas = _MOODLE.fullmatch(path.name), _CANVAS.fullmatch(path.name)
        if moodle and moodle["file"]:
            return self._moved(path, moodle["file"], _Place(moodle["student"], moodle["number"]))
        if canvas:
            if canvas["late"]:
                self.remarks.append(
                    f"Canvas says that {path.name} is late, and not when it was handed in; "
                    "`grade --times` says that"
                )
            # Canvas' zip has the time of its download in place of that of the submission.
            place = _Place(canvas["student"], canvas["number"], is_timed=False, is_canvas=True)
            return self._moved(path, canvas["file"], place)
        if path.suffix.lower() == ".zip" and self.names.find(path.stem):
            return self._moved(path, path.name, _Place(path.stem))
        return None

    def _moved(self, path: Path, name: str, place: _Place) -> _Place:
        folder = self._new_folder()
        shutil.copy2(path, folder / name)
        return _Place(place.name, place.number, folder, place.is_timed, place.is_canvas)

    def _named(self, places: Iterable[_Place], apart: bool) -> list[_Place]:
        """Return the places with the names of students. apart: they are of one export, in which two
        numbers are two students, whatever their names. Canvas' numbers always are.
        """
        places = list(places)
        numbers: dict[str, set[str]] = {}
        for place in places:
            if place.number and (apart or place.is_canvas):
                numbers.setdefault(place.name, set()).add(place.number)
        named = []
        for place in places:
            number = place.number if place.is_canvas else ""
            name = self.names.find(place.name, number)
            is_sure = bool(number) and self.names.number_of(name) == number
            if len(numbers.get(place.name, ())) > 1 and not is_sure:
                name = f"{place.name} {place.number}"
                self.remarks.append(
                    f"several students are called {place.name}; one of them is {name!r} here. Put "
                    "the work into a folder that has the roster's name for the student"
                )
            name = name or texts.name(place.name)
            if texts.is_name(name):
                named.append(_Place(name, "", place.folder, place.is_timed))
            else:
                self.remarks.append(f"{name!r} {texts.NO_NAME}. It is left out")
        return named

    # ---- what lies at one place ----

    def _of_place(self, place: _Place) -> Iterator[Handed]:
        student, others, count = place.name, list[str](), 0
        for folder, time in self._opened(place):
            seen, pictures = set(), dict[Path, tuple[str, ...]]()
            beside: list[Path] = []
            for path in self._below(folder, student):
                inside = path.relative_to(folder)
                if any(part.startswith((".", "__MACOSX")) for part in inside.parts):
                    if path.match(".ipynb_checkpoints/*.ipynb"):  # JupyterLab's copies, not read
                        others.append(str(inside))
                    continue
                if path.is_symlink():
                    self.remarks.append(f"{student}: {inside} is a link, and is left out")
                elif path.is_dir() and len(inside.parts) > MOST_DEEP:
                    self.remarks.append(f"{student}: {inside} lies in too many folders; left out")
                elif path.suffix.lower() != ".ipynb":
                    if path.is_file() and path.name != _TIMESTAMP:
                        others.append(str(inside))
                        if path.suffix.lower() != ".zip":
                            beside.append(path)
                elif len(inside.parts) > MOST_DEEP:
                    self.remarks.append(f"{student}: {inside} lies in too many folders; left out")
                else:
                    parts = [lab_of(part, self.known) for part in reversed(inside.parts)]
                    lab = next(filter(None, parts), "")
                    seen.add(lab)
                    count += 1
                    stamp = folder / inside.parts[0] / _TIMESTAMP
                    at = self._time(student, path, stamp, time) if place.is_timed else None
                    if path.parent not in pictures:
                        pictures[path.parent] = self._figures(path.parent, folder)
                    yield Handed(student, lab, path, at, pictures[path.parent], str(inside))
            shown = {Path(one) for of in pictures.values() for one in of}
            lost = [str(path.relative_to(folder)) for path in beside if path not in shown]
            if lost and count:
                self.remarks.append(f"{student}: not used: {texts.first_of(lost, 3)}. {_READ}")
            for path in sorted(folder.iterdir()):
                lab = lab_of(path.name, self.known) if path.is_dir() else ""
                if lab and lab not in seen and not path.is_symlink():
                    yield Handed(student, lab, None, None)
        if not count:
            there = ", ".join(others[:3]) + (" ..." if len(others) > 3 else "")
            is_there = f"there is {there}" if there else "the folder is empty"
            self.remarks.append(
                f"{student}: no notebook that can be used was handed in; {is_there}. Expected is a "
                "notebook, LAB.ipynb, or a zip with it"
            )

    def _below(self, folder: Path, student: str = "", deep: int = 1) -> Iterator[Path]:
        """Yield what lies below a folder, in order: MOST_DEEP folders deep, for a thousand folders
        are too deep for this program. student: who is told of a folder that cannot be read.
        """
        try:
            inside = sorted(folder.iterdir())
        except OSError as error:
            inside = []
            if student:
                self.remarks.append(f"{student}: {folder.name} cannot be read ({error.strerror})")
        for path in inside:
            yield path
            if deep <= MOST_DEEP and path.is_dir() and not path.is_symlink():
                yield from self._below(path, student, deep + 1)

    def _figures(self, folder: Path, root: Path) -> tuple[str, ...]:
        """Return the pictures in a notebook's folder and below; those right in the student's own.
        """
        found = self._below(folder) if folder != root else folder.iterdir()
        pictures = sorted(path for path in found if path.suffix.lower() in _PICTURES)
        return tuple(str(p) for p in pictures[:50] if p.is_file() and not p.is_symlink())

    def _opened(self, place: _Place) -> Iterator[tuple[Path, float | None]]:
        """Yield a student's folder, and those of the zips in it: with the time of the outermost
        zip, since a file in it has the time when it was saved.
        """
        budget = _Budget(MOST_OF_STUDENT, MOST_FILES_OF_STUDENT)
        waiting: list[tuple[Path, float | None, int]] = [(place.folder, None, 0)]
        for folder, time, depth in waiting:
            yield folder, time
            for path in self._below(folder):
                is_zip = path.suffix.lower() == ".zip" and not path.name.startswith(".")
                if not is_zip or path.is_symlink() or not path.is_file():
                    continue
                whose = f"{place.name}: {path.relative_to(folder)}"
                if depth == MOST_NESTED:
                    self.remarks.append(f"{whose} lies in {depth} other zips, and is left out")
                    continue
                unpacked = self._new_folder()
                self._unpack(path, unpacked, whose, budget)
                waiting.append((unpacked, time or path.stat().st_mtime, depth + 1))

    def _time(
        self, student: str, path: Path, stamp: Path, zipped: float | None
    ) -> datetime | None:
        """Return when a notebook was handed in: as nbgrader wrote it down, else as the file says,
        or the zip that has it. A student may write a file of that name, too.
        """
        if zipped is None and stamp.is_file() and not stamp.is_symlink():
            with stamp.open(encoding="utf-8", errors="replace") as file:
                words = file.read(100).strip()
            at = time_of_nbgrader(words) if self.stamped else None
            if at is not None:
                return at
            self.remarks.append(
                f"{student}: {_TIMESTAMP} holds no time, {words!r}; its file has one"
                if self.stamped
                else f"{student}: {_TIMESTAMP} is not believed, for a student can write one. If "
                "nbgrader collected this folder, add --nbgrader-times"
            )
        try:
            at = datetime.fromtimestamp(zipped or path.stat().st_mtime, UTC)
        except (OSError, ValueError, OverflowError):
            return None
        if at > datetime.now(UTC) + timedelta(days=1):  # of a computer whose clock is wrong
            self.remarks.append(
                f"{student}: {path.name} says that it was saved at {at:%Y-%m-%d %H:%M}, which has "
                "not come yet; it counts as on time. `grade --times` says when it was handed in"
            )
            return None
        return at

    # ---- zips ----

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.scratch))

    def _unpack(self, archive: Path, to: Path, whose: str, budget: _Budget) -> None:
        """Unpack the notebooks, pictures and zips of a zip, and leave out what is no plain file of
        a plain size.
        """
        lost = []
        try:
            with zipfile.ZipFile(archive) as file:
                for entry in file.infolist():
                    place = None if entry.is_dir() else _place(_name_of(entry))
                    if place is None or place.name == _TIMESTAMP:
                        continue
                    if not is_kept(place.name):
                        lost.append(str(place))
                    else:
                        budget.files -= 1
                        if budget.files < 0:
                            raise ValueError("there are too many files; the others are left out")
                        try:
                            self._unpack_one(file, entry, to / place, budget)
                        except Exception as error:  # a damaged entry may raise anything
                            said = str(error) or type(error).__name__
                            self.remarks.append(f"{whose}: {place} is left out: {said}")
        except Exception as error:  # so may a damaged zip
            self.remarks.append(f"{whose} cannot be unpacked: {error or type(error).__name__}")
        if lost:
            self.remarks.append(f"{whose}: not used: {texts.first_of(lost, 3)}. {_READ}")

    def _unpack_one(
        self, file: zipfile.ZipFile, entry: zipfile.ZipInfo, to: Path, budget: _Budget
    ) -> None:
        if len(to.relative_to(self.scratch).parts) > 3 * MOST_DEEP:
            raise ValueError("it lies in too many folders")
        data = b""
        most = min(MOST_FILE, budget.bytes)
        if entry.file_size <= most:
            with file.open(entry) as source:  # a zip may be wrong about the size
                data = source.read(most + 1)
        if entry.file_size > most or len(data) > most:
            raise ValueError(f"it is too large; {most >> 20:,} MiB are read at most")
        budget.bytes -= len(data)
        target = _free(to)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        try:
            at = datetime(*entry.date_time, tzinfo=self.zone).timestamp()
            os.utime(target, (at, at))
        except (ValueError, OverflowError, OSError):
            return


@dataclass(frozen=True)
class _Place:
    """What one student handed in at one place. name, number: as they stand there; is_timed:
    whether its files say when they were handed in; is_canvas: whether the number is Canvas'.
    """

    name: str
    number: str = ""
    folder: Path = Path()
    is_timed: bool = True
    is_canvas: bool = False


@dataclass
class _Budget:
    """What may still be unpacked."""

    bytes: int
    files: int = MOST_FILES


def is_kept(name: str) -> bool:
    """Return whether a file of this name is read: a notebook, a picture or a zip."""
    return name.lower().endswith(_KEPT)


def lab_of(name: str, known: Sequence[str]) -> str:
    """Return the lab that a folder or a file is named after: its name in any letter case, as in
    "Copy of 101_name.ipynb", or its number alone or at the beginning; "" for none.
    """
    stem = re.sub(r"\.ipynb$", "", name, flags=re.IGNORECASE).casefold()
    for lab in known:
        number = labs.number(lab)
        if lab.casefold() in stem or re.match(rf"(lab[ _-]?)?{number}(?!\d)", stem):
            return lab
    return ""


def time_of_nbgrader(words: str) -> datetime | None:
    """Return the time in a timestamp.txt: nbgrader writes "2026-10-05 17:30:00.123456 UTC", and
    takes a time without a zone as UTC, too. A zone may be an offset or a name of the tz database.
    """
    stamp, zone = words.strip(), ""
    try:
        if found := re.fullmatch(r"(\S+[ T]\S+) ([A-Za-z][\w/+-]*)", stamp):
            stamp, zone = found.groups()
        at = datetime.fromisoformat(stamp)
        return at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone) if zone else UTC)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return None


def _place(name: str) -> Path | None:
    """Return where a file of a zip goes, below a folder; None for what nobody misses."""
    parts = [
        part
        for part in PurePosixPath(texts.clean(name).replace("\\", "/")).parts
        if part not in ("/", ".", "..", "//")
    ]
    if not parts or any(part.startswith((".", "__MACOSX")) for part in parts):
        return None
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
