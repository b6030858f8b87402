"""Tells the machine of the ints that atomicAdd and atomicSub add, beside each addition.

The instruction is the same for signed and unsigned numbers, which may wrap as a hash does. The
careful translation calls another function of the compiler for each.
"""

from __future__ import annotations

import re

from .functions import with_bodies
from .rows import INT_SUM

_OF_INTS = re.compile(r"__iAtomicAdd(?:_block|_system)?")
_ADDITION = re.compile(
    r"^\s*atom\.(?:\w+\.)*add\.u32\s+(?P<old>%r\d+), \[(?P<place>%rd\d+)\], (?P<added>%r\d+);$",
    re.MULTILINE,
)
_TOLD = rf"\g<0>\n\tcall.uni {INT_SUM}, (\g<place>, \g<old>, \g<added>);"


def with_sums(ptx: str) -> str:
    """Return the PTX with calls that tell the machine of additions to ints."""
    return with_bodies(ptx, _told)


def _told(name: str, body: str) -> str:
    return _ADDITION.sub(_TOLD, body) if _OF_INTS.fullmatch(name) else body
