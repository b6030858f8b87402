"""The cell magic %%kernel NAME [-D...]: the cell is CUDA source, compiled and bound to NAME.

    %%kernel twice -DBLOCK=256
    __global__ void twice(float *out, const float *in, int n) { ... }

binds `twice`, the function that SourceModule gives, with four attributes more: `twice.source`, the source with the line
numbers of the cell (line 1 is the %%kernel line), for helpers.simulator.profile; `twice.name`, the kernel's name in it;
`twice.options`; and `twice.module`, for get_global. A kernel that does not compile fails its cell with the compiler's
message and nothing else, and leaves NAME unbound: a check in a later cell must not pass on the kernel before it.
"""

from __future__ import annotations

import keyword
import re
import shlex

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class

from . import device, tracebacks
from .simulator.includes import without_comments
from .simulator.toolchain import CompilerMissingError
from .simulator.toolkit import ToolkitMissingError

USAGE = "usage: %%kernel NAME [-DMACRO=VALUE ...], then CUDA source with `__global__ void NAME(...)`"
UNBOUND = "its %%kernel cell failed. Correct that cell and run it first."

_C_LINKAGE = re.compile(r'extern\s*"C"')
_KERNEL = re.compile(r"__global__(?:[^;{}()]|__launch_bounds__\s*\([^)]*\))*?\b(\w+)\s*\((?<!__launch_bounds__\()")
# nvcc writes kernel.cu(7): error, the host's compilers kernel.cu:7:12: error.
_PLACE = re.compile(r"^(?:\S*[/\\])?kernel\.cu(?:\((\d+)\)|:(\d+)(?::\d+)?)?:? ?", flags=re.MULTILINE)


class KernelError(Exception):
    """A %%kernel cell that gave no kernel. IPython shows the message alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@magics_class
class KernelMagics(Magics):
    """The magics that `%load_ext helpers` registers; `unbound` says of a name why it has no kernel."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._session = shell
        self.unbound: dict[str, str] = {}

    @cell_magic
    def kernel(self, line: str, cell: str) -> None:
        """%%kernel NAME [-DMACRO=VALUE ...]: compile the cell's CUDA source and bind its kernel to NAME.

        NAME.source, NAME.name and NAME.options are what helpers.simulator.profile takes, NAME.module has get_global.
        """
        name = _name(line)
        # Until this cell has given a kernel there is none: the name may be bound to an earlier one.
        self._session.user_ns.pop(name, None)
        self.unbound[name] = UNBOUND
        options = _options(line)
        kernel = _kernel_of(cell, name)
        # The first line stands for the magic's own, so that every line number is one of the cell.
        source = f"// %%kernel {name}\n{with_c_linkage(cell)}"
        device.select()
        function, module = _compile(source, kernel, options)
        function.source, function.name, function.options, function.module = source, kernel, options, module
        self._session.push({name: function})
        del self.unbound[name]


def load_ipython_extension(shell) -> None:
    """Registers %%kernel with the IPython `shell`, which then shows errors in a few lines."""
    magics = KernelMagics(shell)
    shell.register_magics(magics)
    tracebacks.install(shell, magics.unbound)


def _name(line: str) -> str:
    """The name in a %%kernel line."""
    name = line.split(maxsplit=1)[0] if line.strip() else ""
    if not name:
        raise KernelError(f"%%kernel needs the name of the kernel\n{USAGE}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise KernelError(f"%%kernel {name}: {name!r} cannot be a Python name\n{USAGE}")
    return name


def _options(line: str) -> list[str]:
    """The options for the compiler in a %%kernel line."""
    try:
        name, *rest = shlex.split(line)
    except ValueError as error:
        raise KernelError(f"%%kernel {line}: {error}\n{USAGE}") from None
    options = []
    while rest:
        word = rest.pop(0)
        macro = rest.pop(0) if word == "-D" and rest else word.removeprefix("-D")
        if not word.startswith("-D") or not re.match(r"[A-Za-z_]", macro):
            raise KernelError(f"%%kernel {name}: cannot make sense of {word!r}\n{USAGE}")
        if re.fullmatch(r"[A-Za-z]", macro.partition("=")[0].strip()):
            raise KernelError(
                f"%%kernel {name}: -D{macro} names a macro by one letter. nvcc would replace it in CUDA's own headers, too, where\n"
                f"such names stand for types and parameters (`template <typename T>`). Take a longer name, such as TILE.\n{USAGE}"
            )
        options.append(f"-D{macro}")
    return options


def _kernel_of(cell: str, name: str) -> str:
    """The kernel of the cell to bind to `name`: the one of that name, or the only one."""
    kernels = _KERNEL.findall(without_comments(cell))
    if name in kernels:
        return name
    if len(kernels) == 1:
        return kernels[0]
    found = f"has {' and '.join(kernels)}" if kernels else "has no `__global__` function"
    raise KernelError(f"%%kernel {name}: the cell {found}, and needs `__global__ void {name}(...)`\n{USAGE}")


def with_c_linkage(source: str) -> str:
    """The source with extern "C" before each kernel, on the same line; as it is, where it says extern "C" itself.

    SourceModule would put the whole source into extern "C", where a header with templates does not compile.
    """
    code = without_comments(source)
    if _C_LINKAGE.search(code):
        return source
    pieces, end = [], 0
    for found in re.finditer(r"__global__", code):
        if not re.search(r"template\s*<[^;{}]*>\s*$", code[: found.start()]):
            pieces += [source[end : found.start()], 'extern "C" ']
            end = found.start()
    return "".join([*pieces, source[end:]])


def _compile(source: str, kernel: str, options: list[str]):
    """The function and its module; KernelError with the compiler's message."""
    from pycuda.compiler import SourceModule
    from pycuda.driver import CompileError

    try:
        module = SourceModule(source, options=list(options), no_extern_c=True)
        return module.get_function(kernel), module
    except CompileError as error:
        raise KernelError(_explain(kernel, error.stderr or error.stdout or error.msg)) from None
    except (CompilerMissingError, ToolkitMissingError) as error:
        raise KernelError(str(error)) from None


def _explain(kernel: str, said: str) -> str:
    """What the compiler said, in line numbers of the cell."""

    def place(match: re.Match[str]) -> str:
        line = match[1] or match[2]
        return f"line {line}: " if line else ""

    said = re.sub(r' in the compilation of "[^"]*"', "", _PLACE.sub(place, said))
    said = tracebacks.compiler_message(said)
    return f"{kernel} does not compile (line 1 is the %%kernel line):\n\n{said}"
