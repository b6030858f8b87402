"""The cell magic %%kernel NAME [-D...]: it compiles the CUDA source of a cell and binds it to NAME.

    %%kernel twice -DBLOCK=256
    __global__ void twice(float *out, const float *in, int n) { ... }

binds `twice`, the function of SourceModule, with four more attributes: `twice.source`, the source
with the line numbers of the cell (line 1 is the %%kernel line), for helpers.simulator.profile;
`twice.name`, the kernel's name in it; `twice.options`; and `twice.module`, for get_global. If the
kernel does not compile, the cell fails with only the compiler's message, and NAME is unbound, so
that a check in a later cell does not pass with an older kernel.
"""

from __future__ import annotations

import re
import warnings

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class

from . import device, kernel_cells, tracebacks
from .kernel_cells import USAGE, with_c_linkage
from .kernel_cells import CellError as KernelError
from .simulator.toolchain import CompilerMissingError
from .simulator.toolkit import ToolkitMissingError

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

    @cell_magic
    def kernel(self, line: str, cell: str) -> None:
        """%%kernel NAME [-DMACRO=VALUE ...]: compile the cell's CUDA source, bind it to NAME.

        NAME.source, NAME.name and NAME.options are arguments of helpers.simulator.profile;
        NAME.module has get_global.
        """
        name = kernel_cells.name_of(line)
        # The name may still be bound to an earlier kernel, which must not outlive an error below.
        self._session.user_ns.pop(name, None)
        self.unbound[name] = UNBOUND
        one = kernel_cells.parts(line, cell)
        device.select()
        function, module = _compile(one)
        function.source, function.name, function.module = one.source, one.kernel, module
        function.options = list(one.options)
        self._session.push({name: function})
        del self.unbound[name]


def load_ipython_extension(shell) -> None:
    """Register %%kernel with the IPython `shell`, short errors, and descriptions of figures."""
    magics = KernelMagics(shell)
    shell.register_magics(magics)
    tracebacks.install(shell, magics.unbound)
    _describe_figures(shell)


def _describe_figures(shell) -> None:
    """Make a figure's description its text form in IPython; the picture stays.

    A screen reader reads the text, and the website puts it beside the picture. This function does
    not import Matplotlib.
    """

    def write(figure, printer, cycle: bool) -> None:
        from .plotting.descriptions import description

        printer.text(description(figure))

    plain = shell.display_formatter.formatters["text/plain"]
    plain.for_type_by_name("matplotlib.figure", "Figure", write)


def _compile(cell: kernel_cells.KernelCell):
    """Return the function and its module. Raises KernelError with the compiler's message."""
    from pycuda.compiler import SourceModule
    from pycuda.driver import CompileError

    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            module = SourceModule(cell.source, options=list(cell.options), no_extern_c=True)
        function = module.get_function(cell.kernel)
    except CompileError as error:
        raise KernelError(
            explanation(cell.kernel, error.stderr or error.stdout or error.msg)
        ) from None
    except (CompilerMissingError, ToolkitMissingError) as error:
        raise KernelError(str(error)) from None
    for one in said:
        print(remarks(str(one.message)), end="")
    return function, module


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


def explanation(kernel: str, message: str) -> str:
    """Return the compiler's message with the line numbers of the cell."""
    message = re.sub(r' in the compilation of "[^"]*"', "", _PLACE.sub(_line_of, message))
    message = tracebacks.compiler_message(message)
    return f"{kernel} does not compile (line 1 is the %%kernel line):\n\n{message}"
