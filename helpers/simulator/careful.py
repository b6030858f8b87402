"""The careful translation: PTX of the same source that keeps every access as it is written.

The optimising compiler takes faults out before PTX shows them: a store through a null pointer
vanishes, a vector that is read in part becomes a smaller load, an index past a local array is left
out. Hardly optimised PTX keeps them all. A launch rehearses with it, see launch.py.
"""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from . import compiler_cache, front_ends
from .toolchain import CacheError, CompileFailed

_UNIT = re.compile(r"(_INTERNAL_|_GLOBAL__N__)([0-9a-f]{8})_")


class CarefulTranslation:
    """The careful translation of one text, made beside the other one and kept on disk.

    key: of everything that the translations of the text depend on.
    """

    def __init__(self, text: front_ends.Text, key: str):
        self._text, self._key = text, key
        self._by: dict[str, Future[str]] = {}

    def begin(self, compiler: str) -> None:
        """Starts the compilation by "nvrtc" or "nvcc" in a thread, where it is not made already."""
        if compiler not in self._by:
            self._by[compiler] = _threads().submit(self._made, compiler)

    def ptx(self, compiler: str, other: str) -> str:
        """The PTX by the compiler that made the `other` one, with its names; "" where it refuses.
        """
        self.begin(compiler)
        ptx, unit = self._by[compiler].result(), _UNIT.search(other)
        # Names without linkage hold a number that each compilation draws anew.
        return _UNIT.sub(lambda m: f"{m[1]}{unit[2]}_", ptx) if unit else ptx

    def _made(self, compiler: str) -> str:
        key = compiler_cache.key_of([self._key, compiler])
        if (record := compiler_cache.load("careful", key)) is not None and "ptx" in record:
            return str(record["ptx"])
        try:
            ptx = front_ends.careful(self._text, compiler)
        except (CompileFailed, CacheError, OSError):
            ptx = ""  # the launch goes without
        compiler_cache.store("careful", key, {"ptx": ptx})
        return ptx


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, "careful translation")
