"""NVIDIA's run-time compiler: translates CUDA source to PTX in milliseconds, in processes that live
longer than a call.

One source can become different PTX after different other sources, with a few loads more or fewer,
so that counters would change from one run to the next. In trials 15 of 409 sources did, nearly all
of them long. So the optimised PTX of a long source comes from a new child of a process that has
compiled nothing itself. A child costs 9 ms, where a short source takes 14. That makes different PTX
rare, and not impossible: of some sources it also differs between two processes that are alike.

It can keep headers precompiled, but only its own process reads them: the file holds addresses of
that process. They would make the first source of a process slower by a third, and later ones of the
same headers four times as fast; most programs have one. So nothing is precompiled here.

The compiler keeps some options of a compilation: after one with --restrict, a process reads through
the read-only cache in every later source, too. So a process serves only requests with the same
options. A few options are exceptions, because trials have shown that they leave nothing behind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Sequence
from pathlib import Path

from . import nvrtc_worker, standard_headers, toolkit
from .compiler_processes import Process, Processes

# As many as compile at the same time at the most: one for each core, and those of the careful
# translations. Where fewer may wait, a process would be ended and started again for each source,
# and its start takes longer than a compilation.
_MOST_WAITING = (os.cpu_count() or 1) + 2
# Options that leave nothing behind: for each, a trial compiled a plain source after it.
_FORGOTTEN = ("--gpu-architecture=", "--include-path=", "-lineinfo", "-G", "--disable-warnings",
              "--minimal", "-Xnvvm=-opt=0", "--use_fast_math", "--fmad=",
              "--maxrregcount=")
# The compiler frees and asks for the same memory in each compilation. With these settings of GNU's
# C library the process keeps it, in large pages, which saves a tenth of a small kernel's time.
_KEPT_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": "2000000000",
    "MALLOC_TOP_PAD_": str(64 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
# Characters of a text that is compiled in a new child, with those that front_ends.py adds.
_LONG = 6_000
_NOT_OPTIMISED = {"-G", "-Xnvvm=-opt=0"}


def _start(kept: Hashable) -> Process:
    """Start a process of nvrtc_worker.py. kept: the options that it may keep, None if it compiles
    each source in a child.
    """
    arguments = [sys.executable, "-I", "-S", str(Path(nvrtc_worker.__file__))]
    process = Process(kept, arguments, toolkit.environment() | _KEPT_MEMORY, toolkit.root())
    library, builtins = map(str, toolkit.nvrtc_libraries())
    headers = [part for header in standard_headers.headers().items() for part in header]
    where = nvrtc_worker.ANEW if kept is None else nvrtc_worker.HERE
    nvrtc_worker.send(process.requests, [where, library, builtins, *headers])
    return process


_processes = Processes(_MOST_WAITING, _start)


class CompilerCrashed(Exception):
    """The compiler's process ended before it answered; the message has its status."""


def compile(text: str, file: str, options: Sequence[str]) -> tuple[str | None, str]:
    """Return the PTX, or None if the compiler refuses the source, and the compiler's messages.

    Raises CompilerCrashed and toolkit.ToolkitMissingError.
    """
    answer, status = _processes.ask(_kept(text, options), [text, file, *options])
    if answer is not None:
        said, ptx, log = (one.decode(errors="replace") for one in answer)
        return ptx if said == nvrtc_worker.ACCEPTED else None, log
    how = f"signal {-status}" if status < 0 else f"status {status}"
    raise CompilerCrashed(f"NVIDIA's compiler crashed on this source ({how}): simplify the source")


def _kept(text: str, options: Sequence[str]) -> frozenset[str] | None:
    """Return the options that a process may keep, None for a text that needs a new child."""
    if len(text) > _LONG and not _NOT_OPTIMISED & set(options):
        return None
    return frozenset(option for option in options if not option.startswith(_FORGOTTEN))
