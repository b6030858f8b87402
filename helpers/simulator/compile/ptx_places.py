"""Rewrites the places in PTX text, its `.file` and `.loc` lines, as findings name them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_FUNCTION = re.compile(r"^(?:\.(?:visible|weak|extern|common)[ \t]+)*\.(?:entry|func)\b")
_PLACE = re.compile(r"[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+)[ \t]*$")
_FILE = re.compile(
    r'^(?P<begin>[ \t]*\.file[ \t]+(?P<number>\d+)[ \t]+)"(?P<path>(?:[^"\\]|\\.)*)".*$',
    re.MULTILINE,
)


def with_short_paths(ptx: str, file: str) -> str:
    """Return the PTX with the file names of findings in its `.file` lines."""
    return _FILE.sub(lambda m: f'{m["begin"]}"{short_path(m["path"], file)}"', ptx)


def short_path(path: str, file: str) -> str:
    """Return a file's name in findings: `file` for the source, the last part of the path for a
    header.
    """
    if path == file or path.endswith("/" + file):
        return file
    return PurePosixPath(path.replace("\\\\", "/")).name


def with_callers(ptx: str, file: str) -> str:
    """Return PTX for a debugger, in which a place in a header says from which line of `file` its
    function was inlined.

    The compiler says so in other PTX only. In this one it orders nothing anew: what a call brings
    follows the line of the call. A function that begins in a header is no part of `file`.
    """
    own = next((one["number"] for one in _FILE.finditer(ptx) if one["path"] == file), None)
    call, is_first = "", True
    lines = []
    for line in ptx.splitlines(keepends=True):
        if _FUNCTION.match(line):
            call, is_first = "", True
        elif place := _PLACE.match(line):
            number, at, column = place.groups()
            if number == own:
                call = f"{own} {at} {column}" if at != "0" else call
            elif call and not is_first:
                line = f"{line.rstrip()}, inlined_at {call}\n"
            is_first = False
        lines.append(line)
    return "".join(lines)
