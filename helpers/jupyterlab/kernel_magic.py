"""The cell magic %%kernel NAME [-D...]: it compiles the CUDA source of a cell and binds it to NAME.

    %%kernel twice -DBLOCK=256
    __global__ void twice(float *out, const float *in, int n) { ... }

binds `twice`, the function of SourceModule, with more attributes: `twice.source`, the source
with the line numbers of the cell (line 1 is the %%kernel line), for helpers.simulator.profile;
`twice.name`, the kernel's name in it; `twice.options`; `twice.module`, for get_global; and
`twice.cell`, the cell's text and parts, for the check of an exercise. If the kernel does not
compile, the cell fails with only the compiler's message, and NAME is unbound, so that a check in a
later cell does not pass with an older kernel.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand

from helpers import device, exercises, kernel_cells
from helpers.exercises.judge import cell_texts, compiler_words
from helpers.jupyterlab import bar, cell_marks, tracebacks
from helpers.kernel_cells import USAGE, with_c_linkage
from helpers.kernel_cells import CellError as KernelError
from helpers.simulator.compile.toolchain import CompilerMissingError
from helpers.simulator.compile.toolkit import ToolkitMissingError

if TYPE_CHECKING:
    from helpers.simulator.compile.ahead import Ahead

__all__ = [
    "UNBOUND",
    "USAGE",
    "KernelError",
    "KernelMagics",
    "load_ipython_extension",
    "with_c_linkage",
]

UNBOUND = "its %%kernel cell failed. Correct that cell and run it first."

# nvcc writes kernel.cu(7): error, the host's compilers kernel.cu:7:12: error.
_PLACE = re.compile(
    r"^(?:\S*[/\\])?kernel\.cu(?:\((\d+)\)|:(\d+)(?::\d+)?)?:? ?", flags=re.MULTILINE
)
_WARNING = re.compile(r"\S*kernel\.cu\(\d+\): warning #(\d+)")
_UNUSED = "177"  # nvcc's number for a variable that is declared and never referenced


@magics_class
class KernelMagics(Magics):
    """The magics of `%load_ext helpers`. unbound: for a name without a kernel, the reason."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._session = shell
        self.unbound: dict[str, str] = {}
        self._running: Any = None
        self._texts: dict[str, str] = {}  # of the cells that were compiled, by name
        self._compiling = ""  # the name of the latest
        self._cells: dict[str, dict[str, tuple[str, ...]]] = {}
        self._ahead: dict[str, Ahead] = {}  # what the check of a cell will need, by name

    def watch(self, info: Any) -> None:
        """Keep what IPython says of the cell that it is about to run: its text and its id."""
        self._running = info
        cell_texts.ran(getattr(info, "cell_id", None), info.raw_cell)

    def text(self) -> str:
        """Return the text of the cell that runs, "" where IPython does not say it."""
        return getattr(self._running, "raw_cell", None) or ""

    def _notes(self, one: kernel_cells.KernelCell) -> tuple[bool, bool]:
        """Return whether a grader finds this kernel in the text of the cell that runs, and whether
        this session has run another cell of that name, with another text.
        """
        text, place = (getattr(self._running, name, None) for name in ("raw_cell", "cell_id"))
        mine = kernel_cells.tokens(one.text)
        readable = text is None or (
            kernel_cells.name_in(text) == one.name and kernel_cells.tokens(text) == mine
        )
        others = self._cells.setdefault(one.name, {})
        twice = place is not None and any(
            other != mine for where, other in others.items() if where != place
        )
        if place is not None:
            others[place] = mine
        return readable, twice

    def mark(self, error: BaseException, text: str) -> None:
        """Mark in the cells the lines that an error is about; text: the error as it is shown."""
        if isinstance(error, KernelError):
            if cell := self._texts.get(self._compiling):
                cell_marks.show(self._compiling, cell_marks.marks_of_compiler(text, cell))
        else:
            for name, marks in cell_marks.marks_of(text, self._texts).items():
                cell_marks.show(name, marks)

    # A grader cannot know the variables of a session, so that IPython must not insert them.
    @no_var_expand
    @cell_magic
    def kernel(self, line: str, cell: str) -> None:
        """Compile the cell's CUDA source, and bind it to NAME: %%kernel NAME [-DMACRO=VALUE ...].

        NAME.source, NAME.name and NAME.options are arguments of helpers.simulator.profile;
        NAME.module has get_global. NAME.cell, NAME.readable and NAME.twice are for the check of an
        exercise: see `_notes`; NAME.raw is the whole text of the cell that runs.
        """
        self._compiling = ""
        name = kernel_cells.name_of(line)
        # The name may still be bound to an earlier kernel, which must not outlive an error below.
        self._session.user_ns.pop(name, None)
        self.unbound[name] = UNBOUND
        one = kernel_cells.parts(line, cell)
        device.select()
        self._texts[name], self._compiling = f"%%kernel {line}\n{cell}", name
        function, module, said = _compile(one)
        cell_marks.show(name, cell_marks.marks_of_compiler(said, self._texts[name]))
        function.source, function.name, function.module = one.source, one.kernel, module
        function.options, function.cell = list(one.options), one
        function.readable, function.twice = self._notes(one)
        function.raw = self.text() or one.text
        self._session.push({name: function})
        del self.unbound[name]
        self._begin_check(one)

    def _begin_check(self, one: kernel_cells.KernelCell) -> None:
        """Begin to compile for the check that probably follows, and no longer for the last text."""
        if (last := self._ahead.pop(one.name, None)) is not None:
            last.stop()
        exercise = exercises.answered_by(one.text)
        if exercise is not None and (ahead := exercise.begin(one)) is not None:
            self._ahead[one.name] = ahead


def load_ipython_extension(shell) -> None:
    """Register %%kernel with the IPython `shell`, short errors, and descriptions of figures. A
    second call does nothing: the cells that have run are known to the first one's magics.
    """
    if any(isinstance(one, KernelMagics) for one in shell.magics_manager.registry.values()):
        return
    magics = KernelMagics(shell)
    shell.register_magics(magics)
    shell.events.register("pre_run_cell", magics.watch)
    tracebacks.install(shell, magics.unbound, magics.mark, magics.text)
    bar.listen(shell)
    _describe_figures(shell)


def _describe_figures(shell) -> None:
    """Make a figure's description its text form in IPython; the picture stays.

    A figure with the pixels of a photograph gets Jupyter's own mark for one that needs a light
    ground: in a dark theme JupyterLab and the website turn round the lightness of all others.

    Our extension of JupyterLab and the website make it the alt text of the picture. nbconvert's
    classic template takes the one in the metadata. Printers of the text form itself do not last:
    Matplotlib's inline backend removes them when it starts, which is often in the middle of the
    first cell that draws. It leaves formatters of a whole bundle alone. This function does not
    import Matplotlib.
    """

    def bundle(figure, include=None, exclude=None) -> tuple[dict, dict]:
        from helpers.plotting.descriptions import description, has_pixels

        words = description(figure)
        ground = {"needs_background": "light"} if has_pixels(figure) else {}
        return {"text/plain": words}, {"image/png": {"alt": words}, **ground}

    whole = shell.display_formatter.mimebundle_formatter
    whole.for_type_by_name("matplotlib.figure", "Figure", bundle)


def _compile(cell: kernel_cells.KernelCell):
    """Return the function, its module, and the compiler's remarks, which are printed.

    Raises KernelError with the compiler's message.
    """
    from pycuda.compiler import SourceModule
    from pycuda.driver import CompileError

    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            module = SourceModule(cell.source, options=list(cell.options), no_extern_c=True)
        function = module.get_function(cell.kernel)
    except CompileError as error:
        raise KernelError(
            explanation(cell.kernel, error.stderr or error.stdout or error.msg, cell.source)
        ) from None
    except (CompilerMissingError, ToolkitMissingError) as error:
        raise KernelError(str(error)) from None
    text = "".join(remarks(str(one.message)) for one in said)
    print(text, end="")
    return function, module, text


def remarks(message: str) -> str:
    """Return the warnings in what nvcc has said, with the line numbers of the cell; "" for none.

    A variable that nothing uses yet is no news in an exercise that has just begun.
    """
    kept, keeps = [], False
    for line in message.splitlines():
        if match := _WARNING.match(line):
            keeps = match[1] != _UNUSED
        elif line.startswith("Remark:") or not line.strip():
            keeps = False
        if keeps:
            kept.append(_PLACE.sub(_line_of, line) + "\n")
    return "".join(kept)


def _line_of(match: re.Match[str]) -> str:
    line = match[1] or match[2]
    return f"line {line}: " if line else ""


def explanation(kernel: str, message: str, source: str) -> str:
    """Return the compiler's first error with the line numbers of the cell, whose CUDA is `source`.
    """
    message = compiler_words.first_error(message, source)
    message = re.sub(r' in the compilation of "[^"]*"', "", _PLACE.sub(_line_of, message))
    message = tracebacks.compiler_message(message)
    return f"{kernel} does not compile (line 1 is the %%kernel line):\n\n{message}"
