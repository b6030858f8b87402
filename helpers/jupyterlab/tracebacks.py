"""Short errors in a notebook: the message, and the lines of the notebook that led to it.

IPython shows every frame of a traceback with the code around it. For an error of a check or of
PyCUDA, that is half a screen with the cell again and with lines of this package, which do not help
a student. `install(shell)` shortens these errors:

- an AssertionError with a message, or one that an assert of the notebook raised;
- every error of PyCUDA and of this package, and a TypeError or a ValueError that PyCUDA or this
  package raises for a wrong argument;
- a NameError: its %%kernel cell failed, or the cell above that defines the name was not run, as
  after a restart;
- KeyboardInterrupt, which is one line;
- what IPython says of CUDA C++ in a cell whose first line is not that of %%kernel.

All other errors look as IPython shows them. `%tb` shows the whole traceback of a shortened error,
and `%debug` works as usual.
"""

from __future__ import annotations

import re
import textwrap
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType

from IPython.core.error import UsageError

from helpers import kernel_cells
from helpers.exercises.judge import compiler_words
from helpers.tables import LINE

PLACES = 3  # lines of the notebook
NOT_RUN = "If a cell above defines it, run that one first: menu Run > Run All Above Selected Cell."
COMPILER_LINES = 20  # lines of a compiler's message

# nvcc and the host's compilers name the file in a temporary folder.
_FOLDER = re.compile(r"(?:[^\s\"'()]*[/\\])(?=kernel\.cu\b)")
_PYCUDA = ("pycuda", "helpers.simulator.pycuda_api")


def install(
    shell,
    unbound: Mapping[str, str],
    mark: Callable[[BaseException, str], None] | None = None,
    running: Callable[[], str] = str,
) -> None:
    """Shorten errors in the IPython `shell`.

    unbound: for a name without a kernel, the reason; it may change later. mark: called with each
    error and its text; what it raises is ignored, so that the error itself is shown. running: the
    text of the cell that runs.
    """

    def show(shell, etype, value, tb, tb_offset=None) -> None:
        if isinstance(value, SyntaxError | UsageError) and (
            fault := kernel_cells.missing_magic(running())
        ):
            error = kernel_cells.CellError(fault)
            shell.showtraceback((type(error), error, tb))
            return
        lines = short(shell, value, tb, unbound)
        if mark is not None:
            with suppress(Exception):
                mark(value, "\n".join(lines or [str(value)]))
        if lines is None and isinstance(value, SyntaxError) and not _places(shell, tb):
            shell.showsyntaxerror()  # of the cell itself: no frame of IPython helps
            return
        if lines is None:
            shell.showtraceback((etype, value, tb), tb_offset=tb_offset, running_compiled_code=True)
            return
        # IPython calls this method of the exception. It is removed afterwards, so that %tb shows
        # the whole traceback.
        value._render_traceback_ = lambda: lines
        try:
            shell.showtraceback((etype, value, tb), tb_offset=tb_offset, running_compiled_code=True)
        finally:
            del value._render_traceback_

    shell.set_custom_exc((Exception, KeyboardInterrupt), show)


def short(
    shell, error: BaseException, tb: TracebackType | None, unbound: Mapping[str, str]
) -> list[str] | None:
    """Return the short lines of `error`; None if IPython should show its own traceback."""
    if hasattr(error, "_render_traceback_"):
        return None
    name, places = type(error).__name__, _places(shell, tb)
    if isinstance(error, KeyboardInterrupt):
        return [_cut(f"{name}: stopped{f' at {places[-1]}' if places else ''}")]
    if isinstance(error, NameError) and error.name is not None and error.name in unbound:
        return _folded(f"{name}: {error.name} is not defined: {unbound[error.name]}")
    if type(error) is NameError and error.name and _module_of_last_frame(tb) == "__main__":
        lines = traceback.TracebackException(type(error), error, tb).format_exception_only()
        return [*_folded("".join(lines).strip()), NOT_RUN, *(_cut(f"  {p}") for p in places[-1:])]
    if not _is_plain(error, tb, bool(places)):
        return None
    text = _compile_error(error, tb) if name == "CompileError" else str(error)
    shown = places if len(places) <= PLACES else [*places[: PLACES - 1], places[-1]]
    return [*_titled(name, text), *(_cut(f"  {place}") for place in reversed(shown))]


def compiler_message(output: str) -> str:
    """Return the first lines of a compiler's output, without the temporary folder of the file."""
    lines = _FOLDER.sub("", output).strip().splitlines()
    if len(lines) > COMPILER_LINES + 1:
        lines[COMPILER_LINES:] = [f"... and {len(lines) - COMPILER_LINES} more lines"]
    return "\n".join(lines)


def _is_plain(error: BaseException, tb: TracebackType | None, in_notebook: bool) -> bool:
    """Return whether the message is enough, so that no line of a library would help."""
    raised_in = _module_of_last_frame(tb)
    if isinstance(error, AssertionError):
        return bool(str(error)) or (in_notebook and raised_in == "__main__")
    if _is_of(type(error).__module__, ("helpers", *_PYCUDA)):
        return True
    if not isinstance(error, TypeError | ValueError):
        return False
    return _is_of(raised_in, _PYCUDA) or (_is_of(raised_in, ("helpers",)) and _is_raised(tb))


def _is_raised(tb: TracebackType | None) -> bool:
    """Return whether a `raise` ended in this error: it is meant for the reader, and no bug."""
    frames = traceback.extract_tb(tb)
    return bool(frames) and (frames[-1].line or "").startswith("raise ")


def _is_of(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _module_of_last_frame(tb: TracebackType | None) -> str:
    name = ""
    while tb is not None:
        name, tb = tb.tb_frame.f_globals.get("__name__", ""), tb.tb_next
    return name


def _compile_error(error, tb: TracebackType | None) -> str:
    """Return the compiler's first error, with what C wants."""
    output = getattr(error, "stderr", None) or getattr(error, "stdout", None)
    if not output:
        return str(error)
    first = compiler_words.first_error(_FOLDER.sub("", output), _source_in(tb))
    return f"the CUDA source does not compile\n{compiler_message(first)}"


def _source_in(tb: TracebackType | None) -> str:
    """Return the source that a compiler was given on the way to an error, "" for none."""
    found = ""
    while tb is not None:
        source = tb.tb_frame.f_locals.get("source")
        found, tb = source if isinstance(source, str) else found, tb.tb_next
    return found


def _places(shell, tb: TracebackType | None) -> list[str]:
    """Return the notebook's lines in a traceback, outermost first.

    An example: "In[5], line 3, in run: kernel(P)".
    """
    places = []
    for frame in traceback.extract_tb(tb):
        cell = shell.compile.format_code_name(frame.filename)
        if cell is None:
            continue
        function = "" if frame.name == "<module>" else f", in {frame.name}"
        # The line of a magic is IPython's own call, which is not in the notebook.
        is_magic = not frame.line or frame.line.startswith("get_ipython()")
        code = "" if is_magic else f": {frame.line}"
        places.append(f"{cell[1]}, line {frame.lineno}{function}{code}")
    return places


def _titled(name: str, text: str) -> list[str]:
    """Return class and message; the class has its own line if the first line is full."""
    first, *others = text.splitlines() or [""]
    if others and len(f"{name}: {first}") > LINE:
        return [f"{name}:", *_folded(text)]
    return _folded(f"{name}: {text}" if text else name)


def _folded(text: str) -> list[str]:
    """Return the lines of a text, the long ones broken between words."""
    folded = []
    for line in text.splitlines():
        parts = textwrap.wrap(line, LINE, subsequent_indent="    ", break_long_words=False)
        folded += parts or [""]
    return folded


def _cut(line: str) -> str:
    return line if len(line) <= LINE else f"{line[: LINE - 4]} ..."
