"""Findings that the compiler knows: what its warnings say of the lines of a kernel.

`float s; s += x[i];` has no fault in PTX: the compiler may take any value for `s`, and takes a
constant. `return &local;` has none, either, until the caller uses the address. But warnings say so.
"""

from __future__ import annotations

import re

from .findings import Finding, finding_of_launch
from .module import Kernel

_WARNING = re.compile(
    r"^(?P<file>[^\n]*)\((?P<line>\d+)\): warning #(?P<number>549|940|1056)-D: (?P<text>[^\n]*)$",
    re.MULTILINE,
)
_UNSET, _NO_RETURN, _DEAD_LOCAL = "549", "940", "1056"
_HEAD = re.compile(r"\b__(?:device|global|host)__\b")
_CAUSES = {
    _UNSET: "A variable holds leftovers until it is set: give it a value where it is declared.",
    _NO_RETURN: "Its caller gets leftovers: every way through the function needs a return.",
    _DEAD_LOCAL: (
        "A variable ends with its function, and its memory is used for others: declare it in the "
        "caller, and hand in its address."
    ),
}
_NAME = re.compile(r'"(\w+)[^"]*"')


def warned(kernel: Kernel) -> tuple[Finding, ...]:
    """Return a finding for each variable that the kernel uses before it is set, and for each
    function of it that ends without its return value, or returns the address of its own variable.
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
        number = one["number"]
        first = line if number == _UNSET else _definition(source, line, name)
        if lines.isdisjoint(range(first, line + 1)):
            continue  # another kernel has it
        kind = "out-of-bounds" if number == _DEAD_LOCAL else "uninitialised"
        text = one["text"].replace('"', "")
        findings.append(
            finding_of_launch(kind, text, _CAUSES[number], kernel, line, severity="warning")
        )
    return tuple(findings)


def _definition(source: list[str], line: int, name: re.Match[str] | None) -> int:
    """Return the line at which the function begins that ends, or returns, in `line`."""
    head = re.compile(rf"\b{name[1]}\s*\(") if name is not None else _HEAD
    return next((k for k in range(line, 0, -1) if head.search(source[k - 1])), line)
