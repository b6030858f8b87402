"""Reads the options of nvcc that a program may give.

Options that change a kernel's meaning go to NVIDIA's compiler. Options for speed, files or messages
have no effect. An unknown option is an error.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .toolchain import CompileFailed

# CUDA's own headers use these names. nvcc applies -D to headers too, and `template <typename 16>`
# does not compile.
_IN_CUDAS_HEADERS = re.compile(r"[TUa-fhknpstv-z]")
# Names of options without their dashes: nvcc takes one or two dashes before a long name.
_LONG = {
    "define-macro": "D",
    "undefine-macro": "U",
    "include-path": "I",
    "system-include": "I",
    "isystem": "I",
    "gpu-architecture": "arch",
    "generate-code": "gencode",
}
_SWITCHES = {
    "use_fast_math": "--use_fast_math",
    "restrict": "--restrict",
    "extra-device-vectorization": "--extra-device-vectorization",
    "disable-warnings": "--disable-warnings",
    "w": "--disable-warnings",
}
_VALUES = ("std", "ftz", "prec-div", "prec-sqrt", "fmad")
# These have one value: nvcc takes the last that is given, with a warning.
_ONCE = ("arch", "maxrregcount", *_VALUES)
# The architectures of nvcc in CUDA 13; "native" is that of the machine.
_ARCHITECTURE = re.compile(
    r"(?:sm|compute|lto)_(?:75|8[06-9]|90a?|1(?:00|03|10|20|21)[af]?)|native|all|all-major"
)
_OF_GENCODE = re.compile(r"(?:sm|compute|lto)_\w+")
# Switches for language extensions; nvcc needs them, the run-time compiler does not have them.
_ONLY_NVCC = re.compile(r"(?:expt-)?(?:relaxed-constexpr|extended-lambda)")
# These have no effect: optimisation that keeps the meaning, debugging, messages, files, the host's
# compiler and linker.
_WITHOUT_VALUE = re.compile(
    r"O\d?|Ofast|G|g|lineinfo|v|m64|c|dc|dw|ptx|cubin|fatbin|keep|clean|res-usage|src-in-ptx|dlto"
    r"|E|M|time|ewp|extensible-whole-program|fPIC|Wall|Wextra|Wno-[\w-]+|Wreorder|no-[\w-]+"
    r"|Wext-lambda-captures-this|Wdefault-stream-launch|Wmissing-launch-bounds|l\w+|L.+"
    r"|device-debug|debug|generate-line-info|verbose|resource-usage|source-in-ptx|device-c"
    r"|allow-unsupported-compiler|dlink-time-opt|display-error-number"
    r"|forward-unknown-to-host-compiler|forward-unknown-opts"
)
_WITH_VALUE = (
    "Xptxas", "ptxas-options", "Xcompiler", "compiler-options", "Xlinker", "linker-options",
    "Xcudafe", "Xnvlink", "Xarchive", "code", "gpu-code", "ccbin",
    "compiler-bindir", "rdc", "relocatable-device-code", "O", "optimize", "dopt", "t", "threads",
    "split-compile", "x", "o", "output-file", "m", "machine", "keep-dir", "odir",
    "output-directory", "diag-suppress", "diag-warn", "Werror", "default-stream", "cudart", "L",
    "library-path", "l", "library", "jump-table-density",
)


@dataclass(frozen=True)
class Options:
    """The meaning of the options of one compilation.

    macros: preprocessor lines, in the order of the options; include_paths: folders of -I; flags:
    options for both compilers; nvcc_flags: options for nvcc only; architecture: "90" or "90a";
    registers: the number of -maxrregcount, 0 without this option.
    """

    macros: str = ""
    include_paths: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    nvcc_flags: tuple[str, ...] = ()
    architecture: str = "90"
    registers: int = 0

    @property
    def contract(self) -> bool:
        """Whether a product and a sum may become one fused multiply-add (-fmad)."""
        values = [one.partition("=")[2] for one in self.flags if one.startswith("--fmad=")]
        return not values or values[-1] not in ("false", "0")


def read(options: Sequence[object]) -> Options:
    """Read nvcc's options as PyCUDA takes them: a list of words, in which a word may be the value
    of the option before it.

    Raises toolchain.CompileFailed for an unknown option, for an option without its value, for an
    architecture that nvcc does not know, and for a macro that would break CUDA's own headers on a
    GPU.
    """
    macros: list[str] = []
    paths: list[str] = []
    flags: list[str] = []
    only_nvcc: list[str] = []
    architecture, registers = "sm_90", 0
    for name, value in _named(options):
        if name == "D":
            macros.append(_definition(value))
        elif name == "U":
            macros.append(f"#undef {value.strip()}")
        elif name == "I":
            paths.append(value)
        elif name == "arch":
            architecture = value.strip()
        elif name == "gencode":
            for one in _OF_GENCODE.findall(value):
                require_architecture(one)
        elif name == "maxrregcount":
            if not value.strip().isdigit():
                raise CompileFailed(
                    f"-maxrregcount takes a whole number of registers, got {value!r}"
                )
            registers = int(value)
        elif name in _VALUES:
            flags.append(f"--{name}={value}")
        elif name in _SWITCHES:
            flags.append(_SWITCHES[name])
        elif name:
            only_nvcc.append(f"--{name}")
    require_architecture(architecture)
    return Options(
        "\n".join(macros),
        tuple(paths),
        tuple(dict.fromkeys(flags)),
        tuple(only_nvcc),
        "90a" if architecture.endswith("_90a") else "90",
        registers,
    )


def require_architecture(name: str) -> None:
    """Raise CompileFailed, in nvcc's words, for an architecture that it does not know."""
    if not _ARCHITECTURE.fullmatch(name):
        raise CompileFailed(
            f"nvcc fatal   : Unsupported gpu architecture '{name}': nvcc of CUDA 13 knows sm_75, "
            "sm_80, sm_86 to sm_90, and newer ones. Leave it out, and the kernel is compiled for "
            "the GPU"
        )


def values_of(wanted: str, options: Sequence[object]) -> list[str]:
    """Return the values of the option `wanted`, "arch" or "gencode", in their order."""
    return [value.strip() for name, value in _named(options) if name == wanted]


def contradictions(options: Sequence[object]) -> list[str]:
    """Return words for each option that has one value and is given several, such as "-fmad=false
    and -fmad=true". Nvcc takes the last, with a warning.
    """
    values: dict[str, dict[str, None]] = {}
    for name, value in _named(options):
        if name in _ONCE:
            values.setdefault(name, {})[value.strip()] = None
    return [
        " and ".join(f"-{name}={value}" for value in given)
        for name, given in values.items()
        if len(given) > 1
    ]


def require_sound(options: Sequence[object]) -> None:
    """Raise ValueError for options that contradict one another, and for a folder of -I that is
    missing: a compiler would not mention it, and would miss the headers. Raises CompileFailed as
    `read` does.
    """
    for words in contradictions(options):
        raise ValueError(
            f"the options have {words}: nvcc takes the last of them, with a warning. Leave the "
            "others out"
        )
    for path in read(options).include_paths:
        if not os.path.isdir(path):
            why = "is a file" if os.path.exists(path) else "does not exist"
            raise ValueError(
                f"the option -I{path} names no folder, {os.path.abspath(path)} {why}: give the "
                "folder of your headers, or leave the option out"
            )


def _named(options: Sequence[object]) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of each option, as `_next` returns them."""
    words = [str(option) for option in options]
    while words:
        yield _next(words)


def _next(words: list[str]) -> tuple[str, str]:
    """Remove the next option from `words` and return its name and value; ("", "") if it has no
    effect.
    """
    word = words.pop(0).strip()
    for short in ("-D", "-U", "-I"):
        if word.startswith(short):
            return short[1:], word[len(short) :] or _value(short, words)
    option, equals, value = word.partition("=")
    name = option[2:] if option.startswith("--") else option[1:]
    name = _LONG.get(name, name)
    if not word.startswith("-"):
        name = ""
    if name in ("D", "U", "I", "gencode", *_ONCE):
        return name, value if equals else _value(option, words)
    if name in _WITH_VALUE:
        if not equals:
            _value(option, words)
        return "", ""
    if name in _SWITCHES or _ONLY_NVCC.fullmatch(name):
        return name, ""
    if not word or _WITHOUT_VALUE.fullmatch(name):
        return "", ""
    raise CompileFailed(
        f"the simulator does not know the compiler option {word!r}: it takes -D, -U, -I, -std, "
        "-use_fast_math, -ftz, -fmad, -prec-div, -prec-sqrt, -restrict, -maxrregcount and -arch, "
        "and ignores nvcc's options for optimisation, debugging, messages and the host's "
        "compiler (-O3, -G, -lineinfo, -Xptxas ...)"
    )


def _value(name: str, words: list[str]) -> str:
    if not words:
        raise CompileFailed(f"the compiler option {name} needs a value: give it as the next word")
    return words.pop(0)


def _definition(text: str) -> str:
    """Return the preprocessor line of `-Dtext`. NVRTC's own headers do not see a macro in a line,
    but would see one on the command line.
    """
    name, equals, value = text.partition("=")
    if _IN_CUDAS_HEADERS.fullmatch(name.strip()):
        raise CompileFailed(
            f"-D{name.strip()} does not compile: nvcc would replace {name.strip()!r} in CUDA's own "
            "headers, too; give the macro a longer name, or #define it in the source"
        )
    return f"#define {name.strip()} {value if equals else '1'}".replace("\n", " ")
