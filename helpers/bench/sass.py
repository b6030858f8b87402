"""The machine code (SASS) of a kernel: instructions by kind, registers and spills.

`assembled("conv2d_basic")` compiles a kernel for compute capability 9.0 with the compilers that the
simulator uses, disassembles and counts. It needs neither a GPU nor the CUDA toolkit.

The numbers count instructions in the code, not executions: an instruction in a loop counts once,
however often it runs. To compare kernels, take the ratio of two kinds in the same loops, such as
loads per multiply-add.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helpers import kernels, tables
from helpers.bench.counts import not_yet
from helpers.simulator.ptx.listing import Instruction, sections

if TYPE_CHECKING:
    from helpers.bench.problem import Problem

INSTRUCTION_BYTES = 16  # since compute capability 7.0

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


class NotAvailableError(RuntimeError):
    """A compiler is not installed."""


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
    def main_loop(self) -> Code:
        """A turn of the loop with the most multiply-adds. Raises ValueError where there is none."""
        if not self.loops:
            raise ValueError(f"{self.kernel} has no loop in its machine code")
        adds = KINDS["multiply-adds"]
        turn = max(self.loops, key=lambda one: sum(i.root in adds for i in one))
        return dataclasses.replace(self, instructions=turn)

    @property
    def opcodes(self) -> dict[str, int]:
        """The number of instructions of each opcode, the most frequent first."""
        return dict(Counter(i.opcode for i in self.instructions).most_common())


def assembled(name: str, options: Sequence[str] = (), *, source: str | None = None) -> Code:
    """Return the machine code of a kernel for compute capability 9.0, without the CUDA toolkit.

    It is made by the compilers that the simulator uses: NVIDIA's, from PyPI, from the PTX that nvcc
    writes, if nvcc's front end is installed. name: of kernels/, or
    of the CUDA text `source`. options: for nvcc (-D...). Raises NotAvailableError if ptxas or
    nvdisasm is not installed, simulator.CompileFailed with the compiler's message,
    kernels.UnknownKernelError, and ValueError if `source` has no kernel `name`.
    """
    from helpers.simulator.compile import compiler
    from helpers.simulator.program import assembly

    text = kernels.source(name) if source is None else source
    compiled = compiler.as_nvcc(
        compiler.compile_source(text, tuple(options), f"{name}.cu", counts=True)
    )
    listing = assembly.sass(compiled)
    if listing is None:
        raise NotAvailableError(
            "not available: the machine code needs the packages nvidia-cuda-nvcc and "
            "nvidia-cuda-nvdisasm; install them with pip"
        )
    mangled = next((k.mangled for k in compiled.kernels if name in (k.name, k.mangled)), name)
    code = instructions(listing, mangled)
    needs = assembly.resources(compiled)[mangled]
    spilled = needs.spill_store_bytes + needs.spill_load_bytes
    arch = f"sm_{compiled.architecture}"
    return Code(name, arch, code, needs.registers, spilled, needs.shared_bytes)


def instructions(listing: str, name: str) -> tuple[Instruction, ...]:
    """Return the instructions of kernel `name` in a listing, without the padding behind them."""
    found = sections(listing)
    if name not in found:
        there = ", ".join(found) or "none"
        raise ValueError(
            f'no kernel {name!r} in the compiled code, which has: '
            f'{there}. Is it declared extern "C"?'
        )
    # A jump to itself and padding follow the last instruction.
    return tuple(
        i
        for i in found[name].with_offsets()
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
    counts = {name: Counter(i.root for i in code.instructions) for name, code in codes.items()}
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
    missing = [title for title, code in codes.items() if code is None]
    return "\n".join([table(there, opcodes), *missing])


def orders(problem: Problem, *kernels: Any, **letters: str) -> str:
    """Return, for each kernel of a problem, the order of some instructions of its machine code.

    letters: as for `Code.order`. A student's kernel that has not passed is "yours: not yet".
    """
    body = [
        (title, "" if code is None else code.order(**letters))
        for title, code in _codes(problem, kernels).items()
    ]
    return tables.text(("", "in the machine code"), body, left=(0, 1))


def _codes(problem: Problem, kernels: Sequence[Any]) -> dict[str, Code | None]:
    """Return the machine code of kernels by their titles.

    One that has not passed yet has none, and its title is "yours: not yet".
    """
    codes: dict[str, Code | None] = {}
    every = [problem.kernel(one) for one in kernels]
    for kernel in every:
        if not kernel.yours or problem.check(kernel):
            codes[kernel.title] = code(problem, kernel)
        else:
            codes[not_yet(kernel, every)] = None
    return codes


def difference(a: Code, b: Code, context: int = 1) -> str:
    """Return the lines in which two codes differ; "" if they differ in names of registers at most.

    A line that only `a` has begins with "-", one that only `b` has with "+". context: lines around
    them.
    """
    before, after = ([normalised(i) for i in code.instructions] for code in (a, b))
    lines = difflib.unified_diff(before, after, n=context, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))
