"""What the surface itself has to say of a program, kept beside what the launches found, and shown
as warnings.

A finding of a launch is about a thread and a line of the kernel. One of the surface is about a
call: its `file` and `line` are those of the Python program, its thread and block are (0, 0, 0).
"""

from __future__ import annotations

import linecache
import sys
import warnings
from pathlib import Path
from types import FrameType

from helpers.simulator.findings.findings import Finding
from helpers.simulator.findings.joins import key_of_memory
from helpers.simulator.findings.words import Cause, Event

from ._errors import SimulatorWarning

_PACKAGE = str(Path(__file__).parent)
_KEPT = 1000
_found: list[Finding] = []
_remarked: set[tuple[str, str, int]] = set()
_shown: set[tuple[object, ...]] = set()  # findings, by their lines and that of the program


def findings(*, clear: bool = False) -> tuple[Finding, ...]:
    """Return the findings since the program began or since the last `clear`, at most 1,000.

    They include the findings that stopped a launch, and the warnings of launches, copies and
    accesses by the host. After a `clear`, warnings that appear once for each line appear again.
    """
    result = tuple(_found)
    if clear:
        _found.clear()
        _remarked.clear()
        _shown.clear()
    return result


def keep(finding: Finding) -> None:
    """Record a finding and shows nothing: the caller raises it."""
    _found.append(finding)
    del _found[:-_KEPT]


def warn(finding: Finding) -> None:
    """Record a finding and show it as a SimulatorWarning at the caller's line;
    `warning.finding` is the record.

    A program that launches in a loop sees a fault of the same lines once. In IPython, where a cell
    may run again, it is shown each time.
    """
    keep(finding)
    lines = finding.kind, finding.file, finding.line, finding.other_line, finding.array
    key = (key_of_memory(finding) or lines, *call_site())
    if key in _shown and not _is_interactive():
        return
    _shown.add(key)
    warning = SimulatorWarning(str(finding))
    warning.finding = finding
    warnings.warn(warning, stacklevel=_depth())


def remark(text: str) -> None:
    """Show a SimulatorWarning that is no finding, once for each line of the program: a doubtful
    call, or an answer that the simulator does not have.
    """
    key = (text, *call_site())
    if key in _remarked:
        return
    _remarked.add(key)
    warnings.warn(text, SimulatorWarning, stacklevel=_depth())


def of_call(
    kind: str,
    message: str,
    cause: str,
    other: tuple[str, int] | None = None,
    array: str | None = None,
    severity: str = "warning",
) -> Finding:
    """Return a finding at the program's line that called this package; other: (file, line) of an
    earlier call.
    """
    file, line = call_site()
    lines = {line: linecache.getline(file, line).strip()} if line else {}
    if other and other[0] == file and other[1] != line:
        lines = {other[1]: linecache.getline(file, other[1]).strip(), **lines}
    return Finding(
        kind=kind,
        event=Event.WORDED(words=message),
        file=Path(file).name if line else "",
        line=line,
        array=array,
        severity=severity,
        causes=(Cause.WORDED(words=cause),) if cause else (),
        other_line=other[1] if other else None,
        source_lines={number: text for number, text in lines.items() if text},
    )


def _is_interactive() -> bool:
    """Return whether the program is a session of IPython."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def call_site() -> tuple[str, int]:
    """Return (file, line) of the innermost frame outside this package and NumPy; ("", 0) if there
    is none.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def is_called_by_program() -> bool:
    """Return whether the caller of this function was called by the program, not by this package."""
    return not _is_ours(sys._getframe(2).f_code.co_filename)


def _is_ours(file: str) -> bool:
    return file.startswith((_PACKAGE, "<__array")) or "/numpy/" in file


def _depth() -> int:
    """Return the stacklevel of the program's line, for a warnings.warn in the caller of this
    function.
    """
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        depth, frame = depth + 1, frame.f_back
    return depth
