"""The two compilers that translate CUDA source to PTX: NVRTC, and nvcc with the host's compiler."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import (
    cicc,
    compiler_cache,
    debug_info,
    host_names,
    nvrtc,
    ptx_places,
    standard_headers,
    toolkit,
)
from .compiler_options import Options
from .includes import without_comments
from .toolchain import CompileFailed

# A source that asks for its compiler expects nvcc.
_ASKS_FOR_NVCC = re.compile(r"\b(?:__NVCC__|__CUDACC_RTC__|__GNUC__)\b")
# The compiler looks for a source's includes in the source's folder first. A text has no folder, and
# the working folder must not serve as one.
_NOWHERE = "/no-such-folder"
_SHARED = re.compile(r"\b__shared__\b")
_ERROR_LIMIT = "Error limit reached"
_MISSING_HEADER = re.compile(
    r'cannot open source file "(?P<jit>[^"]+)"|fatal error: (?P<nvcc>\S+): No such file'
)
# Headers of libraries that the host calls.
_LIBRARIES = {
    r"cublas\w*\.h": "cuBLAS", r"cufft\w*\.h": "cuFFT", r"cusparse\w*\.h": "cuSPARSE",
    r"cusolver\w*\.h": "cuSOLVER", r"cudnn\w*\.h": "cuDNN", r"npp\w*\.h": "NPP",
    r"nvml\.h": "NVML", r"nccl\.h": "NCCL", r"nvjpeg\.h": "nvJPEG", r"cutensor\w*\.h": "cuTENSOR",
    r"mpi\.h": "MPI", r"gl(?:ew|ut|ext)?\.h|freeglut\.h": "OpenGL", r"opencv2?\.hpp": "OpenCV",
    r"nvToolsExt\w+\.h": "NVTX", r"nvshmemx?\.h": "NVSHMEM",
}
# Headers that courses and books hand out beside their programs, and where they come from.
_HANDED_OUT = {
    r"helper_\w+\.h|exception\.h|drvapi_error_string\.h": "NVIDIA's samples, folder Common",
    r"cutil\w*\.h": "samples of CUDA before 5.0; NVIDIA's samples have helper_math.h in its place",
    r"book\.h|cpu_bitmap\.h|cpu_anim\.h": 'the book "CUDA by Example"',
    r"wb\.h|gputk\.h": "a course's own library",
    r"cutlass\.h|tensor\.hpp": "CUTLASS",
    r"pycuda-\w+\.hpp": "PyCUDA, whose SourceModule finds it",
}
# What the compiler refuses because the language has it no more or not here, and what to do.
_REFERENCES = (
    "CUDA 12 has no references to textures and surfaces any more: read the array through a "
    "pointer, such as const float* __restrict__"
)
_ADVICE = (
    (
        re.compile(
            r"device-side kernel launch|requires separate compilation mode"
            r'|error: identifier "cudaStream'
            r'(?:(?:Graph)?(?:TailLaunch|FireAndForget)|Create|Destroy)\w*" is undefined'
        ),
        "A kernel cannot launch kernels in the simulator (dynamic parallelism): launch them from "
        "the host, one after the other",
    ),
    (
        re.compile(
            r'error: (?:identifier |calling a __host__ function\()"cuda'
            r"(?:(?:Device|Stream|Event)Synchronize|EventRecord|LaunchKernel(?:Ex)?"
            r"|(?:GetLast|PeekAtLast)Error|Malloc(?:Managed)?|Free|Mem(?:cpy|set)(?:Async)?)"
            r'[("]'
        ),
        "A kernel cannot call CUDA's functions of the host in the simulator: call them on the "
        "host, before or after the launch. In a kernel, __syncthreads() waits for the block, and "
        "malloc() gives memory",
    ),
    (
        re.compile(r"error: expected a declaration\n\s*%%kernel"),
        "A line %%kernel begins a cell: put each kernel that has one into a separate cell",
    ),
    (
        re.compile(r"error: unrecognized token\n.*[^\x00-\x7f]"),
        "C++ does not know a character of that line. What looks like a blank, a dash or a quote "
        "may be another one, copied from a page: delete it and type it again",
    ),
    (re.compile(r"error: (?:texture|surface) is not a template"), _REFERENCES),
    (re.compile(r'error: identifier "(?:texture|surface)Reference" is undefined'), _REFERENCES),
    (
        re.compile(r'may not have extern "C" linkage|has "C" linkage'),
        'In extern "C" { }, into which SourceModule puts the whole source, neither templates nor '
        "two functions of one name can be, nor headers that have them: give no_extern_c=True, "
        'and write extern "C" before each __global__ that is no template. For a kernel that is '
        "one, make the template a __device__ function, which a plain kernel calls, or write the "
        "kernel for one type and choose it by an option, such as -DT=float",
    ),
    (
        re.compile(r'error: identifier "__(?:shfl(?:_\w+)?|any|all|ballot)" is undefined'),
        "GPUs since Volta have no __shfl_down(...), __any(...) and their like any more: call "
        "__shfl_down_sync(0xffffffff, ...), __any_sync(0xffffffff, ...) and so on, whose first "
        "argument names the lanes that take part",
    ),
    (
        re.compile(r'error: .*has no member "(?:this_multi_grid|multi_grid_group)"'),
        "CUDA 13 has no group of several grids any more: launch a kernel on each device, and wait "
        "for all of them on the host",
    ),
)
# Headers that need none of the names below.
_HEADERS_ALONE = {"cuda_fp16.h", "cuda_bf16.h", "mma.h"}
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
# Words of a source that may need the names of the run-time library, of textures or of surfaces.
_NEEDS_ALL_NAMES = re.compile(r"#\s*include|%:|\?\?=|cuda|CUDA|tex|surf|<<<")
_HOST_FUNCTION = re.compile(r"A function without execution space annotations")
_NEEDS_HOST = re.compile(r"in JIT mode|cannot open source file|__host__ function")
# The careful translation. --Ofast-compile=max would still join the stores of two conditions.
UNOPTIMISED = "-Xnvvm=-opt=0"
_AS_DEVICE = "--device-as-default-execution-space"
_NO_JIT = re.compile(
    r" in JIT mode\. Consider using -default-device flag to process unannotated "
    r"(?:functions|namespace scope variables) as __device__ (?:functions|variables) in JIT mode"
)


@dataclass(frozen=True)
class Text:
    """A source with everything that decides its meaning.

    folders: its own and those of -I; included: the paths and texts of the files there that it
    includes.
    """

    source: str
    file: str
    extern_c: bool
    options: Options
    folders: tuple[Path, ...]
    included: tuple[tuple[str, str], ...] = ()

    def whole(self, before: str, source: str | None = None) -> str:
        """Return the text for a compiler: macros, then the source with its own line numbers."""
        name = self.file.replace("\\", "\\\\").replace('"', '\\"')
        body = self.source if source is None else source
        opening, closing = ('extern "C" {\n', "\n}\n") if self.extern_c else ("", "\n")
        macros = f"{before}{self.options.macros}"
        return f'{macros}\n{opening}#line 1 "{name}"\n{body}{closing}'


@dataclass(frozen=True)
class Translation:
    """The PTX to run, the PTX of a debug compilation ("" if that failed), the compiler's warnings
    and its name, and the options that it needed beside those of the text.
    """

    ptx: str
    debug_ptx: str
    warnings: str
    compiler: str
    needed: tuple[str, ...] = ()


@cache
def fingerprint() -> str:
    """Return everything that decides the result beside the text and its options: the versions of
    the compilers, and the headers and options that this module adds.
    """
    host = toolkit.host_compiler()
    return compiler_cache.key_of(
        [
            repr(toolkit.versions()),
            str(host),
            standard_headers.PRELUDE,
            repr(standard_headers.headers()),
        ]
    )


def translate(text: Text, compiler: str = "") -> Translation:
    """Compile a text with NVRTC, or with nvcc if NVRTC refuses it, or only with `compiler` if it
    is not "". Raises CompileFailed; its message says what to do about a header that is missing and
    about features that the simulator does not have.
    """
    try:
        return _translated(text, compiler)
    except CompileFailed as refused:
        if missing := _MISSING_HEADER.search(refused.message):
            header = missing["jit"] or missing["nvcc"]
            advice = _advice_on_header(header)
            if not advice and missing["nvcc"]:
                advice = f"{header} is no header of CUDA or of C++: name its folder by -I"
            raise CompileFailed(f"{refused.message}\n{advice}".rstrip()) from None
        for pattern, advice in _ADVICE:
            if pattern.search(refused.message):
                errors = _errors(refused.message, pattern, text.file)
                raise CompileFailed(f"{errors}\n{advice}") from None
        raise


def _errors(message: str, pattern: re.Pattern[str], file: str) -> str:
    """Return the errors of a compiler's message that a pattern matches: those in the lines of the
    file, else the first one. Others follow from them.
    """
    errors = [error for error in message.split("\n\n") if pattern.search(error)]
    own = [error for error in errors if error.startswith(f"{file}(")]
    return "\n\n".join(own or errors[:1])


def _advice_on_header(header: str) -> str:
    """Return what to do about a header that is missing, "" if nothing is known of it."""
    name = Path(header).name
    if re.fullmatch(r"curand\w*\.h", name):  # CUDA's only library that kernels call
        return f"{header} comes with: pip install nvidia-curand"
    if re.fullmatch(r"(?:cuda_)?(?:texture|surface)_(?:fetch_)?(?:functions|types)\.h", name):
        return f"{header} went in CUDA 12, with references to textures and surfaces: leave it out"
    if library := _owner(name, _LIBRARIES):
        return (
            f"{header} belongs to {library}, which programs of the host use: leave it out of the "
            "source of a kernel, or name its folder by -I"
        )
    if owner := _owner(name, _HANDED_OUT):
        return f"{header} comes with {owner}: name its folder by -I"
    return ""


def _owner(name: str, owners: Mapping[str, str]) -> str:
    """Return whose header has this name, "" if no pattern of `owners` matches it."""
    return next((owner for pattern, owner in owners.items() if re.fullmatch(pattern, name)), "")


def _translated(text: Text, compiler: str) -> Translation:
    nvcc, host = toolkit.program("nvcc"), toolkit.host_compiler()
    has_nvcc = nvcc is not None and host is not None
    if compiler:
        return _by_nvcc(text) if compiler == "nvcc" else _by_nvrtc(text)
    if has_nvcc and _ASKS_FOR_NVCC.search(text.source):
        return _by_nvcc(text)
    try:
        return _by_nvrtc(text)
    except CompileFailed as refused:
        if not has_nvcc:
            raise _with_advice(refused, nvcc is None) from None
        first = refused
    needs_host = _NEEDS_HOST.search(first.message) is not None
    if not needs_host and not _may_please_nvcc(text, first.message):
        raise first
    try:
        return _by_nvcc(text, in_doubt=not needs_host)
    except CompileFailed as refused:
        # Both refuse the text in the same words, but only NVRTC shows the lines of the source
        # unchanged.
        raise (refused if needs_host else first) from None


def _may_please_nvcc(text: Text, message: str) -> bool:
    """Return whether nvcc may take a text that NVRTC has refused, with its message: for a name of
    the host's headers, or for an extension of C++ that nvcc's front end takes. To ask nvcc itself
    would take longer than all the rest.
    """
    if host_names.may_be_missing(message):
        return True
    whole = text.whole(standard_headers.PRELUDE)
    try:
        cicc.require_syntax(whole, text.file, text.folders, text.options)
    except CompileFailed:
        return False
    except cicc.NotAvailable:
        pass
    return True


def _with_advice(refused: CompileFailed, no_nvcc: bool) -> CompileFailed:
    """Return the refusal with what to install, if the source may only lack host headers."""
    if not _NEEDS_HOST.search(refused.message):
        return refused
    message = _NO_JIT.sub(" without nvcc", refused.message)
    return CompileFailed(
        f"{message}\nHost code and the host's headers need nvcc and a C++ compiler; "
        f"missing here: {_missing_for_nvcc(no_nvcc)}. Install it, or leave host code out of the "
        "source"
    )


def _missing_for_nvcc(no_nvcc: bool) -> str:
    """Return what to install before nvcc works: itself, or the host's compiler."""
    if no_nvcc:
        return toolkit.install_command("nvidia-cuda-nvcc")
    return "a C++ compiler (such as: sudo apt install g++)"


def careful(
    text: Text, compiler: str, needed: tuple[str, ...] = (), for_debugger: bool = False
) -> str:
    """Return PTX with little optimisation of a text; needed: as in its Translation, if known.
    for_debugger: PTX that also keeps a value apart from none. (Otherwise the compiler takes what
    one branch sets also where no branch has set anything.) Raises CompileFailed.
    """
    if compiler == "nvcc":
        return _carefully_by_nvcc(text, for_debugger)
    how = ["-G"] if for_debugger else ["-lineinfo", UNOPTIMISED]
    flags = [*_flags(text), "--disable-warnings", *how, *needed]
    whole = text.whole(standard_headers.PRELUDE)
    try:
        ptx, _ = _nvrtc(whole, flags, text.file, text.folders)
    except CompileFailed as refused:
        if needed or not _has_only_host_functions(refused.message):
            raise
        ptx, _ = _nvrtc(whole, [*flags, _AS_DEVICE], text.file, text.folders)
    return ptx_places.with_short_paths(ptx, text.file)


# ---- NVRTC ----


def _by_nvrtc(text: Text) -> Translation:
    try:
        return _with_flags(text, ())
    except CompileFailed as refused:
        if not _has_only_host_functions(refused.message):
            raise
        message = refused.message
    # Only host code or constant expressions call functions without `__device__`, mostly constexpr
    # functions. As functions of the device they do no harm, unless a kernel calls one.
    translation = _with_flags(text, (_AS_DEVICE,))
    for name, file, line in debug_info.functions_with_lines(translation.debug_ptx, text.file):
        told = f"{file}({line}): error: A function without" in message
        if told or (file == text.file and _ERROR_LIMIT in message and _is_plain(text.source, line)):
            raise CompileFailed(
                f'{file}({line}): error: calling a __host__ function("{name}") from device code is '
                "not allowed: write __device__ before it"
            )
    return translation


def _has_only_host_functions(message: str) -> bool:
    """Return whether the compiler refuses nothing but functions without an execution space."""
    errors = re.findall(r"^.*\(\d+\): (?:catastrophic )?error: ?(.*)$", message, re.MULTILINE)
    return bool(errors) and all(_HOST_FUNCTION.match(error) for error in errors)


def _is_plain(source: str, line: int) -> bool:
    """Return whether the declaration with its name in `line` has no attribute of the device."""
    code = without_comments(source)
    position = sum(len(text) + 1 for text in code.split("\n")[: line - 1])
    start = max(code.rfind(sign, 0, position) for sign in ";{}") + 1
    end = code.find("{", position)
    return "__device__" not in code[start : end if end >= 0 else len(code)]


def _flags(text: Text) -> list[str]:
    folders = [f"--include-path={path}" for path in (*text.folders, *toolkit.include_directories())]
    flags = text.options.flags
    # Without these names the compiler reads less, which saves a quarter of a small kernel's time.
    few = not _needs_all_names(text) and not any("include" in flag for flag in flags)
    return [
        f"--gpu-architecture=compute_{text.options.architecture}",
        *folders,
        *flags,
        *(["--minimal"] if few else []),
    ]


def _needs_all_names(text: Text) -> bool:
    """Return whether a text, or a file that it includes, may use names that --minimal leaves out.
    """
    known = _HEADERS_ALONE | {Path(path).name for path, _ in text.included}
    parts = [text.source, text.options.macros, *(included for _, included in text.included)]
    said = [_INCLUDE.sub(lambda m: "" if Path(m[1]).name in known else m[0], one) for one in parts]
    # A comment needs no names. Few texts have these words, and blanking comments takes longer.
    return any(
        _NEEDS_ALL_NAMES.search(one) and _NEEDS_ALL_NAMES.search(without_comments(one))
        for one in said
    )


def _with_flags(text: Text, more: tuple[str, ...]) -> Translation:
    flags = [*_flags(text), *more]
    before = standard_headers.PRELUDE
    ptx, warnings = _nvrtc(text.whole(before), [*flags, "-lineinfo"], text.file, text.folders)
    attempts = [(before, text.source)]
    if ".shared" in ptx or _SHARED.search(text.source):
        # The debug information has the types of local arrays, but not of shared ones. So this
        # attempt turns shared arrays into local ones.
        attempts.insert(
            0, (before + "#undef __shared__\n#define __shared__\n", _shared_as_local(text.source))
        )
    debug = ""
    for prelude, source in attempts:
        try:
            debug, _ = _nvrtc(
                text.whole(prelude, source),
                [*flags, "-G", "--disable-warnings"],
                text.file,
                text.folders,
            )
            break
        except CompileFailed:
            continue
    return Translation(ptx, debug, warnings, "nvrtc", more)


def _nvrtc(
    text: str, options: Sequence[str], file: str, folders: Sequence[Path]
) -> tuple[str, str]:
    """Return PTX and warnings. Raises CompileFailed."""
    try:
        ptx, log = nvrtc.compile(text, f"{_NOWHERE}/{file}", options)
    except nvrtc.CompilerCrashed as crash:
        raise CompileFailed(f"{file}: {crash}") from crash
    if ptx is None:
        raise CompileFailed(_plain(log, folders))
    return ptx, _plain(log, folders)


def _plain(log: str, folders: Sequence[Path]) -> str:
    """Return the compiler's messages without its general remarks, and without folders before the
    names of files.
    """
    log = re.sub(
        r'\nRemark: The warnings can be suppressed with "-diag-suppress <warning-number>"\n',
        "",
        log,
    )
    log = re.sub(r"[^\s\"]*/bin/\.\.//include/", "", log)
    for folder in (_NOWHERE, *toolkit.include_directories(), *folders):
        log = log.replace(f"{folder}/", "")
    return log.strip()


# ---- the source for the debug compilation ----


def _shared_as_local(source: str) -> str:
    """Return the source without `__shared__` on arrays inside functions: an empty macro of this
    name removes it there.

    Every line stays in its place. `extern` arrays and arrays outside functions keep the attribute
    in another spelling. `static` disappears together with `__shared__`.
    """
    code = without_comments(source)
    pieces, end = [], 0
    for match in _SHARED.finditer(code):
        start, stop = _statement(code, match.start())
        words = code[start:stop]
        if re.search(r"\bextern\b", words) or not _inside_function(code, match.start()):
            pieces += [source[end : match.start()], "__attribute__((shared))"]
            end = match.end()
            continue
        for static in re.finditer(r"\bstatic\b", words):
            at = start + static.start()
            if at >= end:
                pieces += [source[end:at], " " * len("static")]
                end = at + len("static")
    return "".join([*pieces, source[end:]])


def _statement(code: str, position: int) -> tuple[int, int]:
    """Return begin and end of the declaration around `position`; the definition of a macro begins
    and ends with its line.
    """
    line = code.rfind("\n", 0, position) + 1
    if code[line:position].lstrip().startswith("#"):
        end = code.find("\n", position)
        return line, end if end >= 0 else len(code)
    start = max(code.rfind(sign, 0, position) for sign in ";{}") + 1
    stop = re.compile(r"[;={]|\Z").search(code, position)
    return start, stop.start() if stop else len(code)


def _inside_function(code: str, position: int) -> bool:
    """Return whether a brace is open at `position` that belongs to no namespace and no `extern
    "C"`; true in the definition of a macro.
    """
    line = code.rfind("\n", 0, position) + 1
    if code[line:position].lstrip().startswith("#"):
        return True
    scopes, start = [], 0
    for brace in re.finditer(r"[{};]", code[:position]):
        if brace[0] == "{":
            head = code[start : brace.start()]
            scopes.append(re.search(r'\bnamespace\b[^()]*$|\bextern\s*"C"\s*$', head) is None)
        elif brace[0] == "}" and scopes:
            scopes.pop()
        start = brace.end()
    return any(scopes)


# ---- nvcc ----


def preprocessed(text: Text) -> str:
    """Return a text without its macros, and with what it includes, as nvcc's preprocessor writes
    it. Raises CompileFailed, also where nvcc is missing.
    """
    nvcc = toolkit.program("nvcc")
    if nvcc is None or toolkit.host_compiler() is None:
        raise CompileFailed(
            f"{text.file}: only nvcc and the host's compiler preprocess a source. Missing here: "
            + _missing_for_nvcc(nvcc is None)
        )
    with toolkit.scratch() as folder:
        phase = ("--preprocess", "-Xcompiler", "-P")
        done = toolkit.run(_nvcc_command(text, folder, phase), folder)
        if done.returncode:
            raise CompileFailed(_without_folder(done.stderr, folder, text.file, text.folders))
        return done.stdout


def _nvcc_command(text: Text, folder: Path, phase: Sequence[str] = ("-ptx",)) -> list[str]:
    """Write the source into `folder` and return nvcc's command without the output file. phase: the
    options that say what it makes.
    """
    (folder / "source.cu").write_text(text.whole(""), encoding="utf-8", errors="replace")
    stand_ins = standard_headers.write_tools(folder / "tools")
    flags = [
        f"-arch=sm_{text.options.architecture}",
        *text.options.flags,
        *text.options.nvcc_flags,
        *(f"-I{path}" for path in text.folders),
    ]
    nvcc, host = str(toolkit.program("nvcc")), str(toolkit.host_compiler())
    # The host compiler may be newer than this nvcc allows, because it only preprocesses.
    new = "--allow-unsupported-compiler"
    # CUDA's headers have bodies for a few functions of dynamic parallelism, which only return an
    # error. Without the bodies, a kernel that calls them is refused by name and line.
    plain = "-D__CUDACC_INTERNAL_NO_STUBS__"
    return [nvcc, *phase, "-ccbin", host, new, plain, *flags, *stand_ins, "source.cu"]


def _carefully_by_nvcc(text: Text, for_debugger: bool) -> str:
    with toolkit.scratch() as folder:
        how = ["-G"] if for_debugger else ["-lineinfo", "-Xcicc", "-O0"]
        command = [*_nvcc_command(text, folder), "-w", *how]
        done = toolkit.run([*command, "-o", "careful.ptx"], folder)
        if done.returncode:
            raise CompileFailed(f"nvcc ended with status {done.returncode}")
        ptx = (folder / "careful.ptx").read_text(encoding="utf-8", errors="replace")
    return ptx_places.with_short_paths(ptx, text.file)


def as_nvcc(text: Text) -> str:
    """Return the PTX that nvcc writes for a text that NVRTC takes: from cicc alone, or from nvcc if
    cicc refuses the text. Raises cicc.NotAvailable and CompileFailed.
    """
    whole = text.whole(standard_headers.PRELUDE)
    try:
        ptx = cicc.translate(whole, text.file, text.folders, text.options)
    except CompileFailed:
        if toolkit.program("nvcc") is None or toolkit.host_compiler() is None:
            raise
        with toolkit.scratch() as folder:
            ptx, _ = _nvcc_ptx(_nvcc_command(text, folder), text, folder)
    return ptx_places.with_short_paths(ptx, text.file)


def _nvcc_ptx(command: Sequence[str], text: Text, folder: Path) -> tuple[str, str]:
    """Return the PTX and the messages of a command of nvcc. Raises CompileFailed."""
    done = toolkit.run([*command, "-lineinfo", "-o", "run.ptx"], folder)
    log = _without_folder(done.stdout + done.stderr, folder, text.file, text.folders)
    if done.returncode:
        raise CompileFailed(log or f"nvcc ended with status {done.returncode}")
    return (folder / "run.ptx").read_text(encoding="utf-8", errors="replace"), log


def _by_nvcc(text: Text, in_doubt: bool = False) -> Translation:
    """Compile a text to run and for debugging, both at the same time; in_doubt: the text is
    probably wrong, so begin the second only when nvcc has taken the text.
    """
    with toolkit.scratch() as folder:
        command = _nvcc_command(text, folder)
        # g++ would open a file that `#line` names and show its line, so no message shows a line.
        quiet = (
            ["-Xcompiler", "-fno-diagnostics-show-caret"]
            if "g++" in str(toolkit.host_compiler())
            else []
        )
        debug = None if in_doubt else _begin_for_debugging([*command, *quiet], folder)
        try:
            ptx, log = _nvcc_ptx([*command, *quiet], text, folder)
            debug = debug or _begin_for_debugging([*command, *quiet], folder)
            debug.wait()
        finally:
            if debug is not None:
                debug.kill()
                debug.wait()
        try:
            debug_ptx = (folder / "debug.ptx").read_text(encoding="utf-8", errors="replace")
        except OSError:
            debug_ptx = ""
    return Translation(ptx, debug_ptx, log, "nvcc")


def _begin_for_debugging(command: Sequence[str], folder: Path) -> subprocess.Popen:
    with toolkit.fixed_addresses():
        return subprocess.Popen(
            [*command, "-G", "-w", "-o", "debug.ptx"], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=toolkit.environment(),
        )  # fmt: skip


def _without_folder(log: str, folder: Path, file: str, folders: Sequence[Path]) -> str:
    log = (
        log.replace(f"{folder}/source.cu", file)
        .replace(f"{folder}/", "")
        .replace('"source.cu"', f'"{file}"')
    )
    return _plain(log.replace("source.cu:", f"{file}:"), folders)
