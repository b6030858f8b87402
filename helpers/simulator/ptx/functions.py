"""The functions in the text of PTX, for passes that add instructions to their bodies."""

from __future__ import annotations

import re
from collections.abc import Callable

_FUNCTION = re.compile(
    r"^(?P<head>(?:\.\w+\s+)*\.(?:entry|func)\b(?P<rest>[^;{]*?)\{)$(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_NAME = re.compile(r"\s*(?:\([^)]*\)\s*)?([\w$]+)")
# The instruction by which a function finds its block of local memory.
START = re.compile(r"^[ \t]*mov\.u64[ \t]+%SPL, __local_depot\d+;$", re.MULTILINE)


def with_bodies(ptx: str, change: Callable[[str, str], str]) -> str:
    """Return the PTX with other bodies of its functions, each without its braces.

    change: returns the new body of a function, given its name and its body.
    """

    def changed(found: re.Match[str]) -> str:
        name = _NAME.match(found["rest"])
        body = change(name[1] if name else "", found["body"])
        return f"{found['head']}{body}}}"

    return _FUNCTION.sub(changed, ptx)
