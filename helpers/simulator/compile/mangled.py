"""Reads mangled names of the Itanium C++ ABI: the namespaces and plain names that findings need."""

from __future__ import annotations

import re

_INSIDE_FUNCTION = re.compile(r"E(?P<length>[1-9]\d*)(?P<rest>\w+)$")
_SAME_NAME_AGAIN = re.compile(r"(?:_\d*_?|__\d+_|\$\d+|__\d+)?")


def nested_name(mangled: str) -> list[str]:
    """Return the namespaces and the plain name at the start of a mangled name: "_ZN2ns1kEPKf" ->
    ["ns", "k"].
    """
    rest = mangled.removeprefix("_Z")
    if rest == mangled:
        return [mangled]
    nested = rest.startswith("N")
    rest = rest[1:].lstrip("KVr") if nested else rest.removeprefix("L")
    parts = []
    while match := re.match(r"L?(\d+)", rest):
        length = int(match[1])
        parts.append(rest[match.end() : match.end() + length])
        rest = rest[match.end() + length :]
        if not nested:
            break
    # A compiler adds this namespace to names that only one file knows.
    return [part for part in parts if not part.startswith(("_INTERNAL_", "_GLOBAL__N"))]


def local_name(symbol: str) -> tuple[str, str] | None:
    """Return the function (mangled, without its `_Z`) and the name of a variable inside it:
    "_ZZ1kPfE4tile" -> ("1kPf", "tile"). It returns None for any other symbol.
    """
    if not symbol.startswith("_ZZ"):
        return None
    for start in range(len(symbol) - 2, 3, -1):
        match = _INSIDE_FUNCTION.match(symbol, start)
        length = int(match["length"]) if match else 0
        if (
            match
            and len(match["rest"]) >= length
            and _SAME_NAME_AGAIN.fullmatch(match["rest"][length:])
        ):
            return symbol[3:start], match["rest"][:length]
    return None


def plain_name(symbol: str) -> str:
    """Return a variable's name in the source: "_ZZ1kPfE4tile" -> "tile"."""
    if inside := local_name(symbol):
        return inside[1]
    parts = nested_name(symbol)
    return parts[-1].strip("$") if parts else symbol


def source_name(mangled: str, own: str) -> str:
    """Return a kernel's name with namespaces and template arguments. own: its name in the debug
    information ("k<4,float>"), or "".
    """
    parts = nested_name(mangled)
    if not own:
        return "::".join(parts) or mangled
    base = own.partition("<")[0]
    spaces = parts[: parts.index(base)] if base in parts else []
    arguments = re.sub(r"\s*,\s*", ", ", own[len(base) :])
    return "::".join([*spaces, base + arguments])
