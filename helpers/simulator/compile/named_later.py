"""One compilation for the same text under several names of files.

A notebook gives a kernel's text to SourceModule, which calls it kernel.cu, and the benches compile
the same text under the kernel's own name. The compiler gets a stand-in for the name, and the name
is put into the result. A text whose program holds its name is compiled under that name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .front_ends import Text

# A name that no source has, so that it can be found wherever the compiler writes it.
STAND_IN = "a-text-named-later.cu"

_FILE_LINE = re.compile(r'^([ \t]*\.file[ \t]+\d+[ \t]+)"([^"]*)"', re.MULTILINE)
# The compiler writes other names in other ways.
_PLAIN_NAME = re.compile(r"[\w.+-]+", re.ASCII)
_SAYS_ITS_NAME = re.compile(r"__FILE__|__BASE_FILE__|__builtin_FILE|source_location|\bassert\b")
# In a symbol the name has only letters and digits.
_IN_A_SYMBOL = re.sub(r"\W", "_", STAND_IN)
# A string is a list of numbers, that of a section of debug information on several lines.
_BETWEEN_BYTES = re.compile(r", |\n\.b8 ")


def possible(text: Text) -> bool:
    """Return whether a text may be compiled before it has its name: a name with a folder decides
    which files it includes, and a program may print its own name.
    """
    parts = (text.source, text.options.macros, *(included for _, included in text.included))
    return _PLAIN_NAME.fullmatch(text.file) is not None and not any(
        _SAYS_ITS_NAME.search(part) for part in parts
    )


def remains_in(ptx: str) -> bool:
    """Return whether the stand-in is in the PTX elsewhere than in its `.file` lines."""
    rest = _exchanged(ptx, STAND_IN, "")
    numbers = _BETWEEN_BYTES.sub(",", rest)
    return any(
        name in rest or ",".join(map(str, name.encode())) in numbers
        for name in (STAND_IN, _IN_A_SYMBOL)
    )


def renamed(ptx: str, file: str) -> str:
    """Return the PTX with the name of the file in place of the stand-in."""
    return _exchanged(ptx, STAND_IN, file)


@lru_cache(maxsize=64)  # each launch asks for it
def unnamed(ptx: str, file: str) -> str:
    """Return the PTX with the stand-in in place of the name of the file."""
    return _exchanged(ptx, file, STAND_IN)


def _exchanged(ptx: str, old: str, new: str) -> str:
    return _FILE_LINE.sub(lambda m: f'{m[1]}"{new}"' if m[2] == old else m[0], ptx)
