"""What two sources differ in when they are machine code (SASS), for compute capability 9.0.

    python -m evidence.sass_difference "conv1d_constant -DFILTER_WIDTH=15" \\
        "conv1d_constant -DFILTER_WIDTH=31"
    python -m evidence.sass_difference conv2d_basic mine.cu --kernel conv2d_basic -DSTRIDE=1

A and B are a kernel of kernels/ or a file, each with options of its own behind it; options behind
both are for both. Printed are the opcodes of which they have different numbers, and the lines in
which they differ. The names of registers and predicates, addresses and scheduling hints are left
out, because they change with everything. The exit status is 0, 1 if the codes differ, and 2 for an
error.

A change of a source is an experiment only if it changes the machine code in that respect and in no
other. A lab that says what the compiler did shows it by `sass.table` or `sass.difference`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from helpers import kernels, simulator
from helpers.bench import sass
from helpers.bench.sass import Code

_ERRORS = (KeyError, OSError, ValueError, sass.NotAvailableError, simulator.CompileFailed)


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
        prog="python -m evidence.sass_difference",
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
    lines = sass.difference(a, b)
    print(sass.table({f"A: {given.a}": a, f"B: {given.b}": b}))
    print(f"\n{lines}" if lines else "\nno difference but in the names of registers")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
