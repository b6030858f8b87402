"""The machine code (SASS) of a kernel: instructions by kind, registers and spills.

`of("conv2d_basic")` compiles a kernel to a cubin with nvcc, disassembles it with cuobjdump and
counts. It needs both tools of the CUDA toolkit but no GPU. `missing()` says which tool is missing;
`of` then raises NotAvailableError. `assembled("conv2d_basic")` does so with the compilers that the
simulator uses, for compute capability 9.0: it needs no toolkit.

The numbers count instructions in the code, not executions: an instruction in a loop counts once,
however often it runs. To compare kernels, take the ratio of two kinds in the same loops, such as
loads per multiply-add.
"""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers import kernels, tables
from helpers.bench.counts import NOT_YET
from helpers.simulator.listing import Instruction, sections

if TYPE_CHECKING:
    from helpers.bench.problem import Problem
    from helpers.device import Device

TOOLS = ("nvcc", "cuobjdump")
ARCH = "sm_90"
INSTRUCTION_BYTES = 16  # since compute capability 7.0
_TIME_LIMIT_S = 120

# Kinds of instructions by the first word of their opcode: LDG of LDG.E.CONSTANT.
KINDS = {
    "global loads": ("LDG",),
    "global stores": ("STG",),
    "global atomics": ("RED", "REDG", "ATOM", "ATOMG"),
    "shared loads": ("LDS", "LDSM"),
    "shared stores": ("STS",),
    "constant loads": ("LDC", "ULDC", "LDCU"),
    "local accesses": ("LDL", "STL"),
    "multiply-adds": ("FFMA", "FFMA2"),
    "shuffles": ("SHFL",),
    "barriers": ("BAR",),
    "branches": ("BRA", "BRX", "BRXU", "JMP", "CALL"),
}
READ_ONLY = "CONSTANT"  # the suffix of LDG.E.CONSTANT, a global load by the read-only path

_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")


class NotAvailableError(RuntimeError):
    """A tool of the CUDA toolkit is not on the PATH."""


class CompileError(RuntimeError):
    """nvcc or cuobjdump failed; the message is the output of the tool."""


@dataclass(frozen=True)
class Code:
    """A compiled kernel.

    instructions: without padding. registers: of a thread. spill_bytes: spilled by a thread.
    shared_bytes: static shared memory of a block.
    """

    kernel: str
    arch: str
    instructions: tuple[Instruction, ...]
    registers: int
    spill_bytes: int
    shared_bytes: int

    @property
    def total(self) -> int:
        """The number of instructions, without the padding behind the last one."""
        return len(self.instructions)

    @property
    def code_bytes(self) -> int:
        """The bytes of the code."""
        return INSTRUCTION_BYTES * self.total

    def count(self, kind: str) -> int:
        """Return the number of instructions of one of KINDS. Raises ValueError for another kind."""
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of instruction; there are: {', '.join(KINDS)}")
        return sum(i.root in KINDS[kind] for i in self.instructions)

    def order(self, **letters: str) -> str:
        """Return the instructions of some kinds as letters, in the order of the code.

        letters: by the first word of the opcode, as in order(LDG="L", STG="S").
        """
        return "".join(letters.get(i.root, "") for i in self.instructions)

    @property
    def loops(self) -> tuple[tuple[Instruction, ...], ...]:
        """For each jump backwards, the instructions from its target to it: a turn of the loop.

        Instructions that only one way through the loop executes are among them.
        """
        turns = []
        for jump in self.instructions:
            target = jump.operands.split()[-1] if jump.operands else ""
            if jump.opcode == "BRA" and target.startswith("0x"):
                inside = [i for i in self.instructions if int(target, 16) <= i.offset]
                turns.append(tuple(i for i in inside if i.offset <= jump.offset))
        return tuple(turn for turn in turns if turn)

    @property
    def read_only_loads(self) -> int:
        """The number of global loads by the read-only path, LDG.E.CONSTANT."""
        return sum(
            i.opcode.startswith("LDG.") and READ_ONLY in i.opcode.split(".")
            for i in self.instructions
        )

    @property
    def opcodes(self) -> dict[str, int]:
        """The number of instructions of each opcode, the most frequent first."""
        return dict(Counter(i.opcode for i in self.instructions).most_common())

    def loads_per_output(self, taps: int) -> float:
        """Return the global loads that a thread executes for an output of `taps` multiply-adds.

        This assumes that loads and multiply-adds run equally often: all loads feed multiply-adds
        and stand in the same loops. The result is nan without multiply-adds.
        """
        fused = self.count("multiply-adds")
        return taps * self.count("global loads") / fused if fused else float("nan")

    def excerpt(self, opcode: str, lines: int = 6, after: int = 0) -> str:
        """Return some instructions as text; "" if no opcode starts with `opcode`.

        The excerpt has `lines` instructions. It begins `after` instructions behind the first one
        whose opcode starts with `opcode`.
        """
        places = [n for n, i in enumerate(self.instructions) if i.opcode.startswith(opcode)]
        start = places[0] + after if places else self.total
        return "\n".join(map(str, self.instructions[start : start + lines]))

    def row(self) -> dict[str, Any]:
        """Return the counts as one flat dict, for `results.record`."""
        counts = {kind.replace(" ", "_").replace("-", "_"): self.count(kind) for kind in KINDS}
        more = {
            "read_only_loads": self.read_only_loads,
            "registers": self.registers,
            "spill_bytes": self.spill_bytes,
        }
        return (
            {
                "series": self.kernel,
                "arch": self.arch,
                "instructions": self.total,
                "code_bytes": self.code_bytes,
            }
            | counts
            | more
        )


def missing() -> str:
    """Return why SASS is not available here; "" if both tools are on the PATH.

    An example: "not available: cuobjdump is not on the PATH".
    """
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    are = "is" if len(absent) == 1 else "are"
    return f"not available: {' and '.join(absent)} {are} not on the PATH" if absent else ""


def arch_of(device: Device) -> str:
    """Return nvcc's name of a device's architecture: "sm_90" for compute capability 9.0."""
    return "sm_{}{}".format(*device.compute_capability)


def of(
    name: str, options: Sequence[str] = (), *, arch: str = ARCH, source: str | None = None
) -> Code:
    """Return the machine code of a kernel.

    name: of kernels/, or of the CUDA text `source`. options: for nvcc (-D...). arch: such as
    "sm_90"; arch_of(device) gives that of a device. Raises NotAvailableError without the tools,
    CompileError with nvcc's message, kernels.UnknownKernelError, and ValueError if `source` has no
    kernel `name`.
    """
    text = kernels.source(name) if source is None else source
    if absent := missing():
        raise NotAvailableError(
            f"{absent}; both come with the CUDA toolkit (usually in /usr/local/cuda/bin)"
        )
    with tempfile.TemporaryDirectory() as folder:
        file, cubin = Path(folder) / f"{name}.cu", Path(folder) / "kernel.cubin"
        file.write_text(text, encoding="utf-8")
        report = _run(
            "nvcc",
            f"-arch={arch}",
            "-cubin",
            "-Xptxas",
            "-v",
            *options,
            "-o",
            str(cubin),
            str(file),
        )
        listing = _run("cuobjdump", "-sass", str(cubin))
    return parse(listing, report, name, arch)


def assembled(name: str, options: Sequence[str] = (), *, source: str | None = None) -> Code:
    """Return the machine code of a kernel for compute capability 9.0, without the CUDA toolkit.

    It is made by the compilers that the simulator uses: NVIDIA's, from PyPI. name, options, source:
    as for `of`. Raises NotAvailableError if ptxas or nvdisasm is not installed,
    simulator.CompileFailed with the compiler's message, kernels.UnknownKernelError, and ValueError
    if `source` has no kernel `name`.
    """
    from helpers.simulator import assembly, compiler

    text = kernels.source(name) if source is None else source
    compiled = compiler.compile_source(text, tuple(options), f"{name}.cu")
    listing = assembly.sass(compiled)
    if listing is None:
        raise NotAvailableError(
            "not available: the machine code needs the packages nvidia-cuda-nvcc and "
            "nvidia-cuda-nvdisasm; install them with pip"
        )
    mangled = next((k.mangled for k in compiled.kernels if name in (k.name, k.mangled)), name)
    instructions = _instructions(listing, mangled)
    needs = assembly.resources(compiled)[mangled]
    spilled = needs.spill_store_bytes + needs.spill_load_bytes
    arch = f"sm_{compiled.architecture}"
    return Code(name, arch, instructions, needs.registers, spilled, needs.shared_bytes)


def _run(*command: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIME_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        raise CompileError(f"{command[0]} did not end within {_TIME_LIMIT_S} s") from None
    output = f"{done.stdout}\n{done.stderr}"
    if done.returncode != 0:
        raise CompileError(f"{command[0]} failed:\n{output.strip()}")
    return output


def parse(listing: str, report: str, name: str, arch: str = ARCH) -> Code:
    """Return the Code of kernel `name` from the texts of `cuobjdump -sass` and of ptxas -v.

    Raises ValueError for a listing without such a kernel, and a report without its registers.
    """
    real = _instructions(listing, name)
    about = re.search(
        rf"Compiling entry function '{re.escape(name)}'(.*?)(?=Compiling entry function|\Z)",
        report,
        re.DOTALL,
    )
    registers = _REGISTERS.search(about[1]) if about else None
    if about is None or registers is None:
        raise ValueError(f"ptxas did not report the registers of {name!r}: {report.strip()!r}")
    spills, shared = _SPILLS.search(about[1]), _SHARED.search(about[1])
    spilled = sum(map(int, spills.groups())) if spills else 0
    return Code(name, arch, real, int(registers[1]), spilled, int(shared[1]) if shared else 0)


def _instructions(listing: str, name: str) -> tuple[Instruction, ...]:
    """Return the instructions of kernel `name` in a listing, without the padding behind them."""
    found = sections(listing)
    if name not in found:
        there = ", ".join(found) or "none"
        raise ValueError(
            f'no kernel {name!r} in the compiled code, which has: '
            f'{there}. Is it declared extern "C"?'
        )
    instructions = found[name].with_offsets()
    # A jump to itself and padding follow the last instruction.
    return tuple(
        i
        for i in instructions
        if i.opcode != "NOP" and not (i.opcode == "BRA" and i.operands.split()[-1] == hex(i.offset))
    )


# --------------------------------------------------------------------------------------------------
# Two codes beside each other

_NAMES = re.compile(r"\b(U?[RPB])\d+\b")
_JUMPS = ("BRA", "BSSY", "CALL", "JMP", "WARPSYNC")


def normalised(one: Instruction) -> str:
    """Return an instruction without names of registers, addresses of code and hints."""
    operands = one.operands.replace(".reuse", "")
    if one.root in _JUMPS:
        operands = re.sub(r"0x[0-9a-f]+$", "label", operands)
    guard = f"@{one.predicate} " if one.predicate else ""
    return _NAMES.sub(r"\1", f"{guard}{one.opcode} {operands}".strip())


def table(codes: Mapping[str, Code], opcodes: Sequence[str] = ()) -> str:
    """Return a table with a row for each code: instructions, registers, loops and some opcodes.

    opcodes: first words, as "LDG"; by default all of which the codes have different numbers. An
    instruction counts once, however often it is executed. loops: jumps backwards.
    """
    counts = {
        name: Counter(i.root for i in code.instructions)
        for name, code in codes.items()
    }
    there = sorted({opcode for count in counts.values() for opcode in count})
    columns = list(opcodes) or [
        opcode for opcode in there if len({count[opcode] for count in counts.values()}) > 1
    ]
    body = [
        (
            name,
            *(f"{number:,}" for number in (code.total, code.registers, len(code.loops))),
            *(str(counts[name][opcode]) for opcode in columns),
        )
        for name, code in codes.items()
    ]
    return tables.text(("in the code", "instructions", "registers", "loops", *columns), body)


def code(problem: Problem, kernel: Any) -> Code:
    """Return the machine code of a kernel of a problem of the bench; errors as of `assembled`."""
    one = problem.plan(problem.kernel(kernel))[-1]
    return assembled(one.name, one.options, source=one.source)


def compared(problem: Problem, *kernels: Any, opcodes: Sequence[str] = ()) -> str:
    """Return `table` of the machine code of kernels of a problem of the bench.

    opcodes: as for `table`. A student's kernel that has not passed is "yours: not yet".
    """
    codes = _codes(problem, kernels)
    there = {title: code for title, code in codes.items() if code is not None}
    missing = [NOT_YET for code in codes.values() if code is None]
    return "\n".join([table(there, opcodes), *missing])


def orders(problem: Problem, *kernels: Any, **letters: str) -> str:
    """Return, for each kernel of a problem, the order of some instructions of its machine code.

    letters: as for `Code.order`. A student's kernel that has not passed is "yours: not yet".
    """
    body = [
        (NOT_YET, "") if code is None else (title, code.order(**letters))
        for title, code in _codes(problem, kernels).items()
    ]
    return tables.text(("", "in the machine code"), body, left=(0, 1))


def _codes(problem: Problem, kernels: Sequence[Any]) -> dict[str, Code | None]:
    """The machine code of kernels by their titles; None for one that has not passed yet."""
    codes: dict[str, Code | None] = {}
    for kernel in map(problem.kernel, kernels):
        codes[kernel.title] = None
        if not kernel.yours or problem.check(kernel):
            codes[kernel.title] = code(problem, kernel)
    return codes


def difference(a: Code, b: Code, context: int = 1) -> str:
    """Return the lines in which two codes differ; "" if they differ in names of registers at most.

    A line that only `a` has begins with "-", one that only `b` has with "+". context: lines around
    them.
    """
    before, after = ([normalised(i) for i in code.instructions] for code in (a, b))
    lines = difflib.unified_diff(before, after, n=context, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))
