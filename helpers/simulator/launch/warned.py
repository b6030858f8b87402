"""Findings that the compiler knows: what its warnings say of the lines of a kernel.

`float s; s += x[i];` has no fault in PTX: the compiler may take any value for `s`, and takes a
constant. `return &local;` has none, either, until the caller uses the address. But warnings say so.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..compile import compiler
from ..findings.findings import Finding, finding_of_launch
from ..findings.words import Cause, Event
from ..program.module import Kernel
from ..ptx.roots import Roots
from ..ptx.syntax import Address, Statement, Variable

_WARNING = re.compile(
    r"^(?P<file>[^\n]*)\((?P<line>\d+)\): warning #(?P<number>549|940|1056)-D: (?P<text>[^\n]*)$",
    re.MULTILINE,
)
_UNSET, _NO_RETURN, _DEAD_LOCAL = "549", "940", "1056"
_RESULT = "st.param.b64"  # of a function's value, if it is an address
_HEAD = re.compile(r"\b__(?:device|global|host)__\b")
_CAUSES = {
    _UNSET: Cause.VARIABLE_LEFTOVERS,
    _NO_RETURN: Cause.CALLER_GETS_LEFTOVERS,
    _DEAD_LOCAL: Cause.ENDED_FUNCTION,
}
_NAME = re.compile(r'"(\w+)[^"]*"')


def warned(kernel: Kernel) -> tuple[Finding, ...]:
    """Return a finding for each variable that the kernel uses before it is set, and for each
    function of it that ends without its return value, or returns the address of its own variable.
    """
    compiled = kernel.module.compiled
    said = [one for one in _WARNING.finditer(compiled.warnings) if one["file"] == compiled.file]
    dead = _returned_locals(kernel)
    if not said and not dead:
        return ()
    source = compiled.source.splitlines()
    lines = _lines(kernel)
    findings = [
        finding_of_launch(
            "out-of-bounds", Event.RETURNED_LOCAL(), Cause.ENDED_FUNCTION(), kernel, line,
            severity="warning",
        )
        for line in dead
        if line in lines and all(int(one["line"]) != line for one in said)
    ]
    for one in said:
        line, name = int(one["line"]), _NAME.search(one["text"])
        number = one["number"]
        first = line if number == _UNSET else _definition(source, line, name)
        if lines.isdisjoint(range(first, line + 1)):
            continue  # another kernel has it
        kind = "out-of-bounds" if number == _DEAD_LOCAL else "uninitialised"
        event, cause = Event.WORDED(words=one["text"].replace('"', "")), _CAUSES[number]()
        findings.append(finding_of_launch(kind, event, cause, kernel, line, severity="warning"))
    return tuple(findings)


def _lines(kernel: Kernel) -> set[int]:
    """Return the lines of the source that the kernel reaches."""
    form = kernel.rehearsal or kernel
    return {
        line
        for place in form.program.places
        for file, line in ((place.file, place.line), *place.inlined)
        if kernel.module.file_of(file) == kernel.module.compiled.file
    }


def _returned_locals(kernel: Kernel) -> list[int]:
    """Return the lines in which a function of the module returns the address of its own variable,
    perhaps by way of a pointer, of which the compiler does not warn.
    """
    forms = [one for one in (kernel.module.compiled, kernel.module.careful) if one is not None]
    places = [place for one in forms for place in _places_of_returned_locals(one.ptx)]
    own = kernel.module.compiled.file
    return sorted({line for file, line in places if kernel.module.file_of(file) == own})


@lru_cache(maxsize=32)
def _places_of_returned_locals(ptx: str) -> tuple[tuple[str, int], ...]:
    """Return the files and lines of the PTX that return an address of local memory."""
    if _RESULT not in ptx:
        return ()
    module, found = compiler.parsed(ptx), []
    for name, function in module.functions.items():
        if function.kernel or function.text is None or "%SP" not in function.text:
            continue
        body = module.body(name)
        roots = Roots(body)
        for statement in body.statements:
            is_result = statement.opcode == _RESULT and len(statement.operands) == 2
            root = roots.of(statement.operands[1]) if is_result else None
            if isinstance(root, Variable) and root.space == "local" and _is_result(statement):
                place = body.places[statement.place]
                found.append((place.file, place.line))
    return tuple(found)


def _is_result(statement: Statement) -> bool:
    """Return whether a store is of a function's own value, not of an argument of a call."""
    address = statement.operands[0]
    base = address.base if isinstance(address, Address) else None
    return isinstance(base, Variable) and base.name.startswith("func_retval")


def _definition(source: list[str], line: int, name: re.Match[str] | None) -> int:
    """Return the line at which the function begins that ends, or returns, in `line`."""
    head = re.compile(rf"\b{name[1]}\s*\(") if name is not None else _HEAD
    return next((k for k in range(line, 0, -1) if head.search(source[k - 1])), line)
