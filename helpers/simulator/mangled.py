"""Mangled names of the Itanium C++ ABI, as far as findings need them: namespaces, plain names."""

from __future__ import annotations

import re

_INSIDE_FUNCTION = re.compile(r"E(?P<length>[1-9]\d*)(?P<rest>\w+)$")
_SAME_NAME_AGAIN = re.compile(r"(?:_\d*_?|__\d+_|\$\d+|__\d+)?")


def nested_name(mangled: str) -> list[str]:
    """The namespaces and the last plain name of a mangled name, as far as it is made of these:
    "_ZN2ns1kEPKf" -> ["ns", "k"].
    """
    rest = mangled.removeprefix("_Z")
    if rest == mangled:
        return [mangled]
    nested = rest.startswith("N")
    rest = rest[1:].lstrip("KVr") if nested else rest.removeprefix("L")
    parts = []
    while found := re.match(r"L?(\d+)", rest):
        length = int(found[1])
        parts.append(rest[found.end() : found.end() + length])
        rest = rest[found.end() + length :]
        if not nested:
            break
    # What a compiler adds for names that are known in one file only.
    return [part for part in parts if not part.startswith(("_INTERNAL_", "_GLOBAL__N"))]


def local_name(symbol: str) -> tuple[str, str] | None:
    """Function, mangled without its `_Z`, and name of a variable inside it: "_ZZ1kPfE4tile" ->
    ("1kPf", "tile"). Else None.
    """
    if not symbol.startswith("_ZZ"):
        return None
    for start in range(len(symbol) - 2, 3, -1):
        found = _INSIDE_FUNCTION.match(symbol, start)
        length = int(found["length"]) if found else 0
        if (
            found
            and len(found["rest"]) >= length
            and _SAME_NAME_AGAIN.fullmatch(found["rest"][length:])
        ):
            return symbol[3:start], found["rest"][:length]
    return None


def plain_name(symbol: str) -> str:
    """The name that the source gives to a variable: "_ZZ1kPfE4tile" -> "tile"."""
    if inside := local_name(symbol):
        return inside[1]
    parts = nested_name(symbol)
    return parts[-1] if parts else symbol


def source_name(mangled: str, own: str) -> str:
    """A kernel's name with namespaces and template arguments. own: what the debug information calls
    it ("k<4,float>"), or "".
    """
    parts = nested_name(mangled)
    if not own:
        return "::".join(parts) or mangled
    base = own.partition("<")[0]
    spaces = parts[: parts.index(base)] if base in parts else []
    arguments = re.sub(r"\s*,\s*", ", ", own[len(base) :])
    return "::".join([*spaces, base + arguments])
