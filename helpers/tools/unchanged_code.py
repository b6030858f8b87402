"""Lets records follow a change of a kernel's source that leaves its machine code as it is.

    python -m helpers.tools.unchanged_code COMMIT conv2d_tiled --options="-DTILE_WIDTH=8"
    python -m helpers.tools.unchanged_code COMMIT gemm_wgmma --compiler nvcc --options=-arch=sm_90a

A record holds a hash of each kernel's source and headers, so that nobody reads old times of new
code. A header that gains a switch for the simulator, or names that are said once, is new text
for the same machine code. This tool compiles the kernel as it was at COMMIT and as it is, with its
default constants or with each of --options, and compares the machine code (SASS, compute capability
9.0) whole. Only if all are equal, to the last register, it puts the new hash in place of the old
one in data/measured/. No number of a record changes.

Times come from code that nvcc made, through PyCUDA. By default this tool takes NVRTC, the
simulator's compiler, which needs no installation and may order instructions differently: where it
sees a difference, --compiler nvcc decides.

The exit status is 0, 1 if the machine code differs, and 2 for an error.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from helpers import kernels, simulator
from helpers.bench import results
from helpers.simulator.compile import compiler
from helpers.simulator.program import assembly


class UnchangedCodeError(RuntimeError):
    """The comparison cannot be made; the message says why."""


def kernels_of(commit: str, folder: Path) -> None:
    """Write the files of kernels/ as they were at a commit to a folder. Raises
    UnchangedCodeError.
    """
    command = ["git", "-C", str(kernels.FOLDER.parent), "archive", "--format=zip", commit]
    command.append(kernels.FOLDER.name)
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise UnchangedCodeError(f"{commit!r}: {done.stderr.decode(errors='replace').strip()}")
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder)


def machine_code(name: str, folder: Path, options: Sequence[str], by: str = "nvrtc") -> str:
    """Return the listing of a kernel whose source and headers lie in a folder, without the lines of
    the source, which follow every change. by: the compiler, "nvrtc" or "nvcc".

    Raises simulator.CompileFailed, and UnchangedCodeError where ptxas or nvdisasm is missing.
    """
    text = (folder / f"{name}.cu").read_text(encoding="utf-8")
    compiled = compiler.compile_source(text, (f"-I{folder}", *options), f"{name}.cu", compiler=by)
    listing = assembly.sass(compiled)
    if listing is None:
        raise UnchangedCodeError(
            "the machine code needs the packages nvidia-cuda-nvcc and nvidia-cuda-nvdisasm; "
            "install them with pip"
        )
    return re.sub(r"^\s*//## File .*\n", "", listing, flags=re.MULTILINE)


def rehash(name: str, old: str, new: str, folder: Path) -> list[str]:
    """Put the hash `new` in place of `old` in the records of a kernel in a folder, and return
    their names.
    """
    changed = []
    for path in sorted(folder.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        follows = text.replace(f'"{name}": "{old}"', f'"{name}": "{new}"')
        if follows != text:
            path.write_text(follows, encoding="utf-8")
            changed.append(path.stem)
    return changed


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the machine code, and let the records follow; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.unchanged_code",
        description="Let records follow a change of source that leaves the machine code as it is.",
    )
    parser.add_argument("commit", help="a commit with the source that was measured")
    parser.add_argument("kernel", help="a kernel of kernels/")
    parser.add_argument(
        "--options",
        action="append",
        default=[],
        metavar="'-DX=1 ...'",
        help="of a launch whose times are recorded; once for each",
    )
    parser.add_argument("--compiler", choices=("nvrtc", "nvcc"), default="nvrtc")
    given = parser.parse_args(argv)
    try:
        with tempfile.TemporaryDirectory() as there:
            before = Path(there) / kernels.FOLDER.name
            kernels_of(given.commit, Path(there))
            for options in [one.split() for one in given.options] or [[]]:
                codes = [
                    machine_code(given.kernel, folder, options, given.compiler)
                    for folder in (before, kernels.FOLDER)
                ]
                if codes[0] != codes[1]:
                    said = " ".join(options) or "its default constants"
                    print(f"{given.kernel} with {said}: the machine code differs")
                    return 1
            old = results.source_sha256(given.kernel, before)
    except (OSError, UnchangedCodeError, simulator.CompileFailed) as error:
        print(error, file=sys.stderr)
        return 2
    new = results.source_sha256(given.kernel, kernels.FOLDER)
    changed = rehash(given.kernel, old, new, results.MEASURED)
    print(f"the machine code is the same; records that follow: {', '.join(changed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
