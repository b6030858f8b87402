"""The careful translation: PTX of the same source that keeps every access of the source.

The optimising compiler removes faults before PTX shows them. It drops a store through a null
pointer, loads only a part of a vector, and leaves out an index past a local array. PTX with little
optimisation keeps them all. A launch rehearses with it, see launch.py.
"""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future

from . import compiler_cache, front_ends
from .dwarf import Dwarf
from .includes import without_comments
from .ptx import int_sums, lifetimes, overflows, unset
from .ptx_places import with_callers
from .toolchain import CacheError, CompileFailed

_AT_A_TIME = threading.Semaphore(2)
_UNIT = re.compile(r"(_INTERNAL_|_GLOBAL__N__)([0-9a-f]{8})_")


class CarefulTranslation:
    """The careful translation of one text; it is compiled in a thread and cached on disk.

    key: identifies everything that the translations of the text depend on; needed: the options that
    the text's own compilation needed beside its own, if they are known.
    """

    def __init__(self, text: front_ends.Text, key: str):
        self._text, self._key = text, key
        self._by: dict[str, Future[str]] = {}
        self.needed: tuple[str, ...] = ()

    def for_debugger(self, compiler: str, other: str) -> str:
        """Return the PTX that `compiler` makes for a debugger, with its debug information and the
        names of the `other` PTX. Raises CompileFailed.
        """
        return _with_names_of(other, self._for_debugger(compiler))

    def _for_debugger(self, compiler: str) -> str:
        key = compiler_cache.key_of([self._key, compiler])
        if (record := compiler_cache.load("debugger", key)) is not None and "ptx" in record:
            return str(record["ptx"])
        ptx = front_ends.careful(self._text, compiler, self.needed, for_debugger=True)
        compiler_cache.store("debugger", key, {"ptx": ptx})
        return ptx

    def begin(self, compiler: str) -> None:
        """Start the compilation by "nvrtc" or "nvcc" in a thread, once for each compiler."""
        if compiler not in self._by:
            self._by[compiler] = Future()
            # No pool of Python's: a pool takes nothing after the main thread's end, and a thread of
            # the program may go on then.
            threading.Thread(
                target=self._work, args=(compiler,), name="careful translation", daemon=True
            ).start()

    def ptx(self, compiler: str, other: str) -> str:
        """Return the PTX of `compiler` with the names of the `other` PTX, which the same compiler
        wrote; "" if the compiler refuses the text.
        """
        self.begin(compiler)
        return _with_names_of(other, self._by[compiler].result())

    def _work(self, compiler: str) -> None:
        future = self._by[compiler]
        try:
            with _AT_A_TIME:
                future.set_result(self._translate(compiler))
        except BaseException as error:  # the launch that waits for it raises it
            future.set_exception(error)

    def _translate(self, compiler: str) -> str:
        key = compiler_cache.key_of([self._key, compiler, "marked 13"])
        if (record := compiler_cache.load("careful", key)) is not None and "ptx" in record:
            return str(record["ptx"])
        try:
            ptx = int_sums.with_sums(overflows.with_exact_indices(self._with_marks(compiler)))
        except (CompileFailed, CacheError, OSError):
            ptx = ""  # the launch runs without a rehearsal
        compiler_cache.store("careful", key, {"ptx": ptx})
        return ptx

    def _with_marks(self, compiler: str) -> str:
        """Return careful PTX with marks on the variables that a thread may use unset: that for a
        debugger, if it has more of them, or if a pointer may outlive its variable.
        """
        text = self._text
        ptx = unset.with_marks(front_ends.careful(text, compiler, self.needed))
        source = without_comments(text.source)
        if not unset.may_leave_unset(source) and not lifetimes.may_outlive_a_block(source):
            return ptx
        other = self._for_debugger(compiler)
        dwarf = Dwarf(other)
        other = with_callers(other[: other.find("\t.section")], text.file)
        other, outliving = lifetimes.with_lifetimes(other, dwarf.variables_of_blocks)
        other = unset.with_marks(other)
        if outliving:
            return other
        # The machine follows what lies in memory without marks.
        has_more = unset.marks(other) > unset.marks(ptx)
        return other if has_more or unset.frame_bytes(other) > unset.frame_bytes(ptx) else ptx


def _with_names_of(other: str, ptx: str) -> str:
    """Return the PTX with the names without linkage of the `other` PTX: they hold a number, which
    is new in each compilation.
    """
    unit = _UNIT.search(other)
    return _UNIT.sub(lambda m: f"{m[1]}{unit[2]}_", ptx) if unit else ptx
