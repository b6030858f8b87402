"""One compilation for the same text under several names of files.

A notebook gives a kernel's text to SourceModule, which calls it kernel.cu, and the benches compile
the same text under the kernel's own name. The compiler gets a stand-in for the name, and the name
is put into the result. A text whose program holds its name is compiled under that name.
"""

from __future__ import annotations

import re

from .front_ends import Text

# A name that no source has, so that it can be found wherever the compiler writes it.
STAND_IN = "a-text-named-later.cu"

_FILE_LINE = re.compile(rf'^([ \t]*\.file[ \t]+\d+[ \t]+)"{re.escape(STAND_IN)}"', re.MULTILINE)
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
    rest = _FILE_LINE.sub("", ptx)
    numbers = _BETWEEN_BYTES.sub(",", rest)
    return any(
        name in rest or ",".join(map(str, name.encode())) in numbers
        for name in (STAND_IN, _IN_A_SYMBOL)
    )


def renamed(ptx: str, file: str) -> str:
    """Return the PTX with the name of the file in place of the stand-in."""
    return _FILE_LINE.sub(lambda line: f'{line[1]}"{file}"', ptx)
