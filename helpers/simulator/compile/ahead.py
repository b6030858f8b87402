"""Compiles the sources of several launches at the same time, before the first launch begins."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence

from . import compiler
from .toolchain import CacheError, CompileFailed
from .toolkit import ToolkitMissingError

# A source, its options and its name in messages.
Wanted = tuple[str, Sequence[str], str]


class Ahead:
    """Compiles `wanted` in the given order, on as many threads as there are cores. A launch that
    needs one of them meanwhile waits for it, and meets its error.

    counts: only the PTX for counters.
    """

    def __init__(self, wanted: Iterable[Wanted], counts: bool = False):
        once = dict.fromkeys((source, tuple(options), file) for source, options, file in wanted)
        self._waiting = deque(once)
        work = _count if counts else _compile
        with contextlib.suppress(RuntimeError):  # a box may allow no more threads
            for _ in range(min(os.cpu_count() or 1, len(self._waiting))):
                threading.Thread(target=self._run, args=(work,), name="ahead", daemon=True).start()

    def stop(self) -> None:
        """Begin no further compilation."""
        self._waiting.clear()

    def _run(self, work) -> None:
        with contextlib.suppress(IndexError):  # nothing is left
            while True:
                try:
                    work(*self._waiting.popleft())
                except (CompileFailed, CacheError, ToolkitMissingError):
                    self.stop()  # the launch says it


def _compile(source: str, options: Sequence[str], file: str) -> None:
    compiled = compiler.compile_source(source, options, file)
    if compiled.careful is not None:
        compiled.careful.begin(compiled.compiler)


def _count(source: str, options: Sequence[str], file: str) -> None:
    compiler.as_nvcc(compiler.compile_source(source, options, file, counts=True))
