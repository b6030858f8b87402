"""What two sources differ in when they are machine code (SASS), for compute capability 9.0.

    python -m helpers.tools.sass_difference "conv1d_constant -DFILTER_WIDTH=15" \\
        "conv1d_constant -DFILTER_WIDTH=31"
    python -m helpers.tools.sass_difference conv2d_basic mine.cu --kernel conv2d_basic -DSTRIDE=1

A and B are a kernel of kernels/ or a file, each with options of its own behind it; options behind
both are for both. Printed are the opcodes of which they have different numbers, and the lines in
which they differ. The names of registers and predicates, addresses and scheduling hints are left
out, because they change with everything. The exit status is 0, 1 if the codes differ, and 2 for an
error.

A change of a source is an experiment only if it changes the machine code in that respect and in no
other. A lab that says what the compiler did shows it by `table` or `difference`.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from helpers import kernels, simulator, tables
from helpers.experiments import sass
from helpers.experiments.sass import Code, Instruction

_NAMES = re.compile(r"\b(U?[RPB])\d+\b")
_ERRORS = (KeyError, OSError, ValueError, sass.NotAvailableError, simulator.CompileFailed)
_JUMPS = ("BRA", "BSSY", "CALL", "JMP", "WARPSYNC")


def normalised(one: Instruction) -> str:
    """Return an instruction without names of registers, addresses of code and hints."""
    operands = one.operands.replace(".reuse", "")
    if one.opcode.partition(".")[0] in _JUMPS:
        operands = re.sub(r"0x[0-9a-f]+$", "label", operands)
    guard = f"@{one.predicate} " if one.predicate else ""
    return _NAMES.sub(r"\1", f"{guard}{one.opcode} {operands}".strip())


def table(codes: Mapping[str, Code], opcodes: Sequence[str] = ()) -> str:
    """Return a table with a row for each code: instructions, registers, loops and some opcodes.

    opcodes: first words, as "LDG"; by default all of which the codes have different numbers. An
    instruction counts once, however often it is executed. loops: jumps backwards.
    """
    counts = {
        name: Counter(i.opcode.partition(".")[0] for i in code.instructions)
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


def difference(a: Code, b: Code, context: int = 1) -> str:
    """Return the lines in which two codes differ; "" if they differ in names of registers at most.

    A line that only `a` has begins with "-", one that only `b` has with "+". context: lines around
    them.
    """
    before, after = ([normalised(i) for i in code.instructions] for code in (a, b))
    lines = difflib.unified_diff(before, after, n=context, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def read(text: str, options: Sequence[str] = (), kernel: str = "") -> Code:
    """Return the machine code of "NAME -DX=1" or "FILE -DX=1".

    options: further ones. kernel: the name of the kernel in a file; by default the file's. Raises
    as `sass.assembled` does, and OSError.
    """
    name, *own = text.split()
    path, more = Path(name), (*own, *options)
    if name in kernels.names():
        return sass.assembled(name, more)
    if not path.suffix:
        raise kernels.UnknownKernelError(
            f"{name!r} is no kernel of kernels/, and no file: give a name of "
            "`python -c \"from helpers import kernels; print(kernels.names())\"`, or a .cu file"
        )
    source = path.read_text(encoding="utf-8")
    return sass.assembled(kernel or path.stem, more, source=source)


def main(argv: Sequence[str] | None = None) -> int:
    """Print how two codes differ; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.sass_difference",
        description="Print how the machine code of two CUDA sources differs.",
        epilog="Options of the compiler, such as -DWIDTH=3, are for both sources.",
    )
    parser.add_argument("a", help="a kernel of kernels/ or a .cu file; its options may follow")
    parser.add_argument("b", help="the other one")
    parser.add_argument("--kernel", default="", help="the kernel's name in a file")
    given, options = parser.parse_known_args(argv)
    try:
        a, b = (read(one, options, given.kernel) for one in (given.a, given.b))
    except _ERRORS as error:
        print(error, file=sys.stderr)
        return 2
    lines = difference(a, b)
    print(table({f"A: {given.a}": a, f"B: {given.b}": b}))
    print(f"\n{lines}" if lines else "\nno difference but in the names of registers")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
