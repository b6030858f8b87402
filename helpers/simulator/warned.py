"""Findings that the compiler knows: what its warnings say of the lines of a kernel.

`float s; s += x[i];` has no fault in PTX: the compiler may take any value for `s`, and takes a
constant. But its warning says so.
"""

from __future__ import annotations

import re

from .findings import Finding, finding_of_launch
from .module import Kernel

_WARNING = re.compile(
    r"^(?P<file>[^\n]*)\((?P<line>\d+)\): warning #(?P<number>549|940)-D: (?P<text>[^\n]*)$",
    re.MULTILINE,
)
_UNSET, _NO_RETURN = "549", "940"
_NAME = re.compile(r'"(\w+)[^"]*"')


def warned(kernel: Kernel) -> tuple[Finding, ...]:
    """Returns a finding for each variable that the kernel uses before it is set, and for each
    function of it that ends without its return value.
    """
    compiled = kernel.module.compiled
    said = [one for one in _WARNING.finditer(compiled.warnings) if one["file"] == compiled.file]
    if not said:
        return ()
    source = compiled.source.splitlines()
    form = kernel.rehearsal or kernel
    lines = {
        line
        for place in form.program.places
        for file, line in ((place.file, place.line), *place.inlined)
        if kernel.module.file_of(file) == compiled.file
    }
    findings = []
    for one in said:
        line, name = int(one["line"]), _NAME.search(one["text"])
        first = line if one["number"] == _UNSET else _definition(source, line, name)
        if lines.isdisjoint(range(first, line + 1)):
            continue  # another kernel has it
        cause = (
            "A variable holds leftovers until it is set: give it a value where it is declared."
            if one["number"] == _UNSET
            else "Its caller gets leftovers: every way through the function needs a return."
        )
        findings.append(
            finding_of_launch(
                "uninitialised", one["text"].replace('"', ""), cause, kernel, line,
                severity="warning",
            )
        )  # fmt: skip
    return tuple(findings)


def _definition(source: list[str], line: int, name: re.Match[str] | None) -> int:
    """Returns the line at which the function that ends in `line` begins."""
    if name is None:
        return line
    head = re.compile(rf"\b{name[1]}\s*\(")
    return next((k for k in range(line, 0, -1) if head.search(source[k - 1])), line)
