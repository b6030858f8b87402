"""Small CUDA kernels with a header that says how to launch them, and which fault they have.

A corpus is a folder: faulty/ has faulty kernels, correct/ right ones, most of them twins of a
faulty one. A header consists of comment lines:

    // scale.cu -- one line on what it shows
    //
    // fault: out-of-bounds
    // also: unwritten
    // array: x
    // twin: scale_without_guard
    // launch: grid=4x2 block=64x4 shared=512
    // arguments: out float y 1000; in float x 1000 uniform; int n=1000
    // options: -DWIDTH=4
    // result: y = 2 * x
    // compare: within 1e-5

A faulty kernel has `fault`, the kind of the finding; `also`, kinds that follow from the fault and
may stand beside it; and `array`, the array that a finding of that kind names. A right one has
`twin`, the faulty kernel that it mends; `result`, the right value of each output, in NumPy; and
`compare`, a tolerance, or "sorted". Without `compare`, integers must be equal, and floats have the
bits of a GPU.

The lines that a finding may name end in `// <- here`. Arguments stand in the order of the kernel's
parameters: `out` is a new array that the launch must write completely, the host fills `in` and
`inout`, `scratch` is a new array that the launch may leave unwritten, `null` is a null pointer,
`freed` an array that was freed, `constant` a symbol of the source and no parameter. The values of
arrays: `uniform` (-1 to 1), `integers` (-9 to 9), `small` (-2 to 2), `below=K` (0 to K - 1; with
`minus=1`, some are -1), `zeros`, `ones` or `permutation`. Their seed depends only on the array's
name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helpers import simulator
from helpers.launch import Array, Launch, Plan, Scratch, simulate, three
from helpers.programs import DeviceRun, Images, Modules
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.compile.includes import without_comments
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.machine import memory
from helpers.simulator.machine.faults import LaunchRefused

__all__ = [
    "Argument",
    "Case",
    "CaseError",
    "Said",
    "cases",
    "compile_all",
    "read",
    "run_in_simulator",
    "run_on_gpu",
]

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "half": np.float16,
    "int": np.int32,
    "unsigned": np.uint32,
    "uint8": np.uint8,
    "ulonglong": np.uint64,
}
ARRAYS = ("out", "in", "inout", "scratch", "freed", "constant")
FILLED = ("in", "inout", "freed", "constant")


class CaseError(ValueError):
    """A header that cannot be read; the message names the file and the line."""


@dataclass(frozen=True)
class Argument:
    """One argument of a case. role: "value", "null", or one of ARRAYS. value: of a scalar."""

    role: str
    name: str
    dtype: np.dtype
    shape: tuple[int, ...] = ()
    fill: tuple[str, ...] = ()
    value: np.generic | None = None

    def initial(self) -> np.ndarray:
        """Return the values that the host writes; NaN or 0 for an array that it does not fill."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        options = dict(word.split("=") for word in self.fill if "=" in word)
        first = self.fill[0] if self.fill else ""
        if self.role not in FILLED:
            values = np.full(self.shape, np.nan if self.dtype.kind == "f" else 0)
        elif first in ("zeros", "ones"):
            values = np.full(self.shape, first == "ones")
        elif first == "permutation":
            values = rng.permutation(int(np.prod(self.shape))).reshape(self.shape)
        elif "below" in options:
            values = rng.integers(0, int(options["below"]), self.shape)
            if "minus" in options:
                values[rng.random(self.shape) < 0.1] = -int(options["minus"])
        else:
            ranges = {"integers": (-9, 10), "small": (-2, 3)}
            values = (
                rng.uniform(-1, 1, self.shape)
                if first == "uniform"
                else rng.integers(*ranges[first], self.shape)
            )
        return values.astype(self.dtype)


@dataclass(frozen=True)
class Case:
    """One kernel of the corpus and its launch. lines: those that a finding may name, from 1 on."""

    path: Path
    name: str
    source: str
    fault: str | None
    also: tuple[str, ...]
    array: str | None
    twin: str | None
    lines: frozenset[int]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: tuple[Argument, ...]
    options: tuple[str, ...]
    results: tuple[tuple[str, str], ...]
    tolerance: float | None
    is_sorted: bool

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arrays with the results of the launch."""
        return tuple(a for a in self.arguments if a.role in ("out", "inout"))

    def of_role(self, role: str) -> tuple[Argument, ...]:
        """Return the arguments of a role."""
        return tuple(a for a in self.arguments if a.role == role)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that the host gives, by name; outputs hold NaN or 0."""
        return {
            a.name: a.initial() for role in ("out", "in", "inout") for a in self.of_role(role)
        }

    def plan(self, freed: Callable[[int], int]) -> Plan:
        """Return the launch. freed: allocates so many bytes, frees them, and returns the address.
        """
        constants = {a.name: a.initial() for a in self.of_role("constant")}
        arguments = tuple(_passed(a, freed) for a in self.arguments if a.role != "constant")
        how = three(self.grid), three(self.block), self.shared
        return (Launch(self.source, self.name, self.options, *how, constants, arguments),)

    @property
    def digest(self) -> str:
        """The sha256 of the code without its comments, the launch and the arguments."""
        code = " ".join(without_comments(self.source).split())
        text = repr(
            (code, self.lines, self.grid, self.block, self.shared, self.arguments, self.options)
        )
        return hashlib.sha256(re.sub(r"frozenset\(\{?(.*?)\}?\)", r"\1", text).encode()).hexdigest()

    def is_bitwise(self, output: np.ndarray) -> bool:
        """Return whether a GPU and the simulator must agree on every bit of this output."""
        return self.tolerance is None or output.dtype.kind != "f"


def _passed(argument: Argument, freed: Callable[[int], int]) -> Any:
    """Return an argument as a plan has it."""
    if argument.value is not None:
        return argument.value
    if argument.role == "null":
        return np.uintp(0)
    if argument.role == "freed":
        return np.uintp(freed(argument.initial().nbytes))
    kind = Scratch if argument.role == "scratch" else Array
    return kind(argument.name, argument.shape, argument.dtype)


@dataclass(frozen=True)
class Said:
    """An answer of a checker: the kind of the fault, its lines (maybe none), its words, and what it
    says of the cause.
    """

    kind: str
    lines: tuple[int, ...]
    text: str
    array: str | None = None
    cause: str = ""

    def to_dict(self) -> dict:
        return {"kind": self.kind, "lines": list(self.lines), "text": self.text}


# ---- reading ----


def cases(folder: Path) -> tuple[Case, ...]:
    """Return the kernels of a folder called "faulty" or "correct", by name. Raises CaseError."""
    kernels = tuple(read(path) for path in sorted(folder.glob("*.cu")))
    if not kernels:
        raise CaseError(
            f"no kernel in {folder}: give the folder of a corpus, with faulty/ and correct/ in it"
        )
    return kernels


def read(path: Path) -> Case:
    """Return the case of a file. Raises CaseError for a wrong header or one of another kernel."""
    source = path.read_text(encoding="utf-8")
    header = _header(path, source)
    launch = dict(word.split("=") for word in _one(path, header, "launch").split())
    arguments = tuple(
        _argument(path, text.strip()) for text in _one(path, header, "arguments").split(";")
    )
    compare = (_at_most_one(path, header, "compare") or "").split()
    marked = frozenset(
        n for n, line in enumerate(source.splitlines(), 1) if line.endswith("// <- here")
    )
    also, options = (
        tuple((_at_most_one(path, header, name) or "").split()) for name in ("also", "options")
    )
    parts = (text.partition(" = ") for text in header.get("result", ()))
    results = tuple((name, rest) for name, _, rest in parts)
    case = Case(
        path,
        path.stem,
        source,
        _at_most_one(path, header, "fault"),
        also,
        _at_most_one(path, header, "array"),
        _at_most_one(path, header, "twin"),
        marked,
        _extents(launch["grid"]),
        _extents(launch["block"]),
        int(launch.get("shared", 0)),
        arguments,
        options,
        results,
        float(compare[1]) if compare[:1] == ["within"] else None,
        compare == ["sorted"],
    )
    _require_fit(case)
    return case


def _header(path: Path, source: str) -> dict[str, list[str]]:
    known = {
        "fault",
        "also",
        "array",
        "twin",
        "launch",
        "arguments",
        "options",
        "result",
        "compare",
    }
    first, *rest = source.splitlines()
    if not re.match(rf"// {path.stem}\.cu -- \S", first):
        raise CaseError(
            f"{path.name}:1: the first line must be '// {path.name} -- what it shows', "
            f"not {first!r}"
        )
    header: dict[str, list[str]] = {}
    for number, line in enumerate(rest, 2):
        if not line.startswith("//"):
            break
        field = re.fullmatch(r"// (\w+): (.+)", line)
        if field is None:
            continue
        if field[1] not in known:
            raise CaseError(
                f"{path.name}:{number}: unknown field {field[1]!r}; a header has "
                f"{', '.join(sorted(known))}"
            )
        header.setdefault(field[1], []).append(field[2].strip())
    return header


def _one(path: Path, header: Mapping[str, list[str]], field: str) -> str:
    value = _at_most_one(path, header, field)
    if value is None:
        raise CaseError(f"{path.name}: the header has 0 lines '// {field}: ...', one is needed")
    return value


def _at_most_one(path: Path, header: Mapping[str, list[str]], field: str) -> str | None:
    values = header.get(field, [])
    if len(values) > 1:
        raise CaseError(
            f"{path.name}: the header has {len(values)} lines '// {field}: ...', "
            "at most one is allowed"
        )
    return values[0] if values else None


def _extents(text: str) -> tuple[int, ...]:
    return tuple(int(extent) for extent in text.split("x"))


def _argument(path: Path, text: str) -> Argument:
    if scalar := re.fullmatch(r"(\w+) (\w+)=(\S+)", text):
        dtype = _dtype(path, scalar[1])
        return Argument(
            "value",
            scalar[2],
            dtype,
            value=dtype.type(float(scalar[3]) if dtype.kind == "f" else int(scalar[3], 0)),
        )
    if pointer := re.fullmatch(r"null (\w+) (\w+)", text):
        return Argument("null", pointer[2], _dtype(path, pointer[1]))
    array = re.fullmatch(r"(\w+) (\w+) (\w+) (\d+(?:x\d+)*)((?: \S+)*)", text)
    if array is None or array[1] not in ARRAYS:
        raise CaseError(
            f"{path.name}: cannot read the argument {text!r}; write e.g. 'in float "
            "x 1000 uniform' or 'int n=1000'"
        )
    fill = tuple(array[5].split())
    if array[1] in FILLED and array[1] != "freed" and not fill:
        raise CaseError(
            f"{path.name}: the argument {text!r} does not say what fills it, e.g. 'uniform'"
        )
    fill = fill or ("zeros",)
    return Argument(array[1], array[3], _dtype(path, array[2]), _extents(array[4]), fill)


def _dtype(path: Path, name: str) -> np.dtype:
    if name not in TYPES:
        raise CaseError(f"{path.name}: unknown type {name!r}; arguments are {', '.join(TYPES)}")
    return np.dtype(TYPES[name])


def _require_fit(case: Case) -> None:
    faulty = case.path.parent.name == "faulty"
    signature = re.search(
        rf"__global__[^;{{]*?\b{case.name}\s*\((.*?)\)\s*\{{",
        without_comments(case.source),
        flags=re.DOTALL,
    )
    if signature is None:
        raise CaseError(f"{case.path.name}: it has no kernel {case.name}")
    parameters = [
        name for text in signature[1].split(",") for name in re.findall(r"(\w+)\s*$", text)
    ]
    names = [a.name for a in case.arguments if a.role != "constant"]
    if parameters != names:
        raise CaseError(
            f"{case.path.name}: the kernel takes {', '.join(parameters)}, the "
            f"header gives {', '.join(names)}"
        )
    if faulty != (case.fault is not None) or faulty == bool(case.results):
        raise CaseError(
            f"{case.path.name}: a faulty kernel has '// fault:', a correct one '// result:', "
            "none has both"
        )
    if faulty and not case.lines and case.fault != "resources":
        raise CaseError(f"{case.path.name}: no line is marked '// <- here'")


# ---- running ----


def compile_all(chosen: Sequence[Case]) -> None:
    """Compile cases for the simulator, one at a time for each core.

    A case that does not compile raises its error when it runs.
    """

    def build(case: Case) -> None:
        with contextlib.suppress(CompileFailed):
            compile_source(case.source, case.options, case.path.name)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(build, chosen))


def run_in_simulator(
    case: Case, time_limit: float | None = None
) -> tuple[tuple[Said, ...], dict[str, np.ndarray]]:
    """Launch a case in the simulator; return the findings, and the outputs by name.

    The outputs are empty if the simulator stopped the launch.
    """
    arrays: dict[str, Any] = case.arrays()
    # Memory that the host never writes: a copy of an array of NumPy would be written.
    scratch = {a.name: memory.allocate(a.initial().nbytes) for a in case.of_role("scratch")}
    written = [argument.name for argument in case.of_role("out")]
    try:
        (seen,) = simulate(
            case.plan(lambda nbytes: _freed(memory.allocate(nbytes))),
            arrays | scratch,
            simulator.profile,
            outputs=written,
            time_limit=time_limit,
        )
    except CompileFailed as error:
        if "bytes of" in str(error):
            return (Said("resources", (), str(error)),), {}
        raise
    except LaunchRefused as error:
        return (Said("resources", (), str(error)),), {}
    finally:
        for address in scratch.values():
            memory.free(address)
    outputs = {a.name: arrays[a.name] for a in case.outputs} if seen.completed else {}
    return tuple(map(_said, seen.findings)), outputs


def _freed(address: int) -> int:
    memory.free(address)
    return address


def _said(finding: simulator.Finding) -> Said:
    lines = tuple(line for line in (finding.line, finding.other_line) if line)
    return Said(finding.kind, lines, finding.message, finding.array, finding.cause)


def run_on_gpu(case: Case, cubin: Path) -> dict[str, np.ndarray]:
    """Launch a compiled case once through PyCUDA, in the current context; return its outputs.

    Raises PyCUDA's errors, and launch.LaunchError for a block that is too large. A fault destroys
    the context, so that a faulty kernel needs a process of its own.
    """
    import pycuda.driver as cuda

    def freed(nbytes: int) -> int:
        allocation = cuda.mem_alloc(nbytes)
        address = int(allocation)
        allocation.free()
        return address

    modules = Modules(cuda, Images({(case.source, case.options): cubin.read_bytes()}))
    with DeviceRun(case.plan(freed), case.arrays(), modules) as run:
        run.launch()
        cuda.Context.synchronize()
        return run.read(*(argument.name for argument in case.outputs))
