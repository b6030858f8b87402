"""The options of nvcc that a program may give: which of them mean something here, and which do not.

What changes a kernel's meaning is passed on to NVIDIA's compiler, what steers speed, files or
messages is passed over, and what nobody knows is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .toolchain import CompileFailed

# Names in CUDA's own headers: nvcc applies -D to these, too, and `template <typename 16>` does not
# compile.
_IN_CUDAS_HEADERS = re.compile(r"[TUa-fhknpstv-z]")
# Names of options without their dashes: nvcc takes one or two before a long name.
_LONG = {
    "define-macro": "D",
    "undefine-macro": "U",
    "include-path": "I",
    "system-include": "I",
    "isystem": "I",
    "gpu-architecture": "arch",
}
_SWITCHES = {
    "use_fast_math": "--use_fast_math",
    "restrict": "--restrict",
    "extra-device-vectorization": "--extra-device-vectorization",
    "disable-warnings": "--disable-warnings",
    "w": "--disable-warnings",
}
_VALUES = ("std", "ftz", "prec-div", "prec-sqrt", "fmad")
# Language extensions that nvcc asks a switch for; the run-time compiler has no such switches.
_ONLY_NVCC = re.compile(r"(?:expt-)?(?:relaxed-constexpr|extended-lambda)")
# Passed over: optimisation that keeps the meaning, debugging, messages, files, the host's compiler
# and linker.
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
    "Xcudafe", "Xnvlink", "Xarchive", "gencode", "generate-code", "code", "gpu-code", "ccbin",
    "compiler-bindir", "rdc", "relocatable-device-code", "O", "optimize", "dopt", "t", "threads",
    "split-compile", "x", "o", "output-file", "m", "machine", "keep-dir", "odir",
    "output-directory", "diag-suppress", "diag-warn", "Werror", "default-stream", "cudart", "L",
    "library-path", "l", "library", "jump-table-density",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What the options of one compilation mean.

    macros: preprocessor lines, in the order given; include_paths: folders of -I; flags: for either
    of NVIDIA's compilers; nvcc_flags: for nvcc only; architecture: "90" or "90a"; registers: of
    -maxrregcount, 0 where it is not given.
    """

    macros: str = ""
    include_paths: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    nvcc_flags: tuple[str, ...] = ()
    architecture: str = "90"
    registers: int = 0

    @property
    def contract(self) -> bool:
        """Whether a product and a sum may become one fused multiply-add: not with -fmad=false."""
        values = [one.partition("=")[2] for one in self.flags if one.startswith("--fmad=")]
        return not values or values[-1] not in ("false", "0")


def read(options: Sequence[object]) -> Options:
    """Reads nvcc's options as PyCUDA takes them: words, of which one may be the value of the word
    before it.

    Raises toolchain.CompileFailed for an option that nobody knows, for one that lacks its value,
    and for a macro that would break CUDA's own headers on a GPU.
    """
    macros: list[str] = []
    paths: list[str] = []
    flags: list[str] = []
    only_nvcc: list[str] = []
    architecture, registers = "90", 0
    words = [str(option) for option in options]
    while words:
        name, value = _next(words)
        if name == "D":
            macros.append(_definition(value))
        elif name == "U":
            macros.append(f"#undef {value.strip()}")
        elif name == "I":
            paths.append(value)
        elif name == "arch":
            architecture = "90a" if value.strip() in ("sm_90a", "compute_90a") else architecture
        elif name == "maxrregcount":
            if not value.strip().isdigit():
                raise CompileFailed(
                    f"-maxrregcount takes a whole number of registers, was given {value!r}"
                )
            registers = int(value)
        elif name in _VALUES:
            flags.append(f"--{name}={value}")
        elif name in _SWITCHES:
            flags.append(_SWITCHES[name])
        elif name:
            only_nvcc.append(f"--{name}")
    return Options(
        "\n".join(macros),
        tuple(paths),
        tuple(dict.fromkeys(flags)),
        tuple(only_nvcc),
        architecture,
        registers,
    )


def _next(words: list[str]) -> tuple[str, str]:
    """Takes the next option off `words`: name and value; ("", "") for one that is passed over."""
    word = words.pop(0).strip()
    for short in ("-D", "-U", "-I"):
        if word.startswith(short):
            return short[1:], word[len(short) :] or _value(short, words)
    option, equals, value = word.partition("=")
    name = option[2:] if option.startswith("--") else option[1:]
    name = _LONG.get(name, name)
    if not word.startswith("-"):
        name = ""
    if name in ("D", "U", "I", "arch", "maxrregcount", *_VALUES):
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
        "and passes over nvcc's options for optimisation, debugging, messages and the host's "
        "compiler (-O3, -G, -lineinfo, -Xptxas ...)"
    )


def _value(name: str, words: list[str]) -> str:
    if not words:
        raise CompileFailed(f"the compiler option {name} needs a value behind it")
    return words.pop(0)


def _definition(text: str) -> str:
    """The preprocessor line of `-Dtext`. A macro of the command line becomes a line because NVRTC's
    own header would see it.
    """
    name, equals, value = text.partition("=")
    if _IN_CUDAS_HEADERS.fullmatch(name.strip()):
        raise CompileFailed(
            f"-D{name.strip()}: nvcc would replace {name.strip()!r} in CUDA's own headers, too, "
            "which then do not compile: "
            "give the macro a longer name, or #define it in the source"
        )
    return f"#define {name.strip()} {value if equals else '1'}".replace("\n", " ")
