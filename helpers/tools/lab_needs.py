"""Where each lab runs, asked of the compiler: `python -m helpers.tools.lab_needs [--write]`.

A lab's sources are the kernels that its code cells name, those of its row in labs/README.md, and
the solutions of its exercises. NVIDIA's compiler and assembler say which compute capability each
of them needs, and the simulator says whether it runs it. The table of labs/README.md is made of
that: --write puts it there, and without it the exit status is 1 where text and table differ.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers import exercises, kernel_cells, kernels, labs
from helpers.exercises.judge.exercise import Exercise
from helpers.simulator.compile import (
    compiler,
    compiler_cache,
    compiler_options,
    front_ends,
    nvrtc,
    standard_headers,
    toolkit,
)
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.machine import library
from helpers.simulator.program import encoded
from helpers.simulator.ptx.encode import Encoding, Unsupported
from helpers.simulator.ptx.parse import ParseError

ROOT = labs.ROOT
PAGE = "labs/README.md"
BEGIN, END = "<!-- from here: python -m helpers.tools.lab_needs --write -->", "<!-- up to here -->"
# Those that a kernel here may be the first to need; CUDA 13 has none before 7.5. What is compiled
# for 9.0a runs on 9.0 alone.
ARCHITECTURES = {"75": "", "80": "8.0 and later", "90": "9.0 and later", "90a": "9.0 only"}
TWO_CARDS = re.compile(r"\bHALO_DEVICES\b")  # a lab with more cards asks the simulator for them

# What the simulator runs depends on its translation.
_TRANSLATION = [
    path.read_text(encoding="utf-8")
    for path in sorted(Path(encoded.__file__).parent.glob("ptx/*.py"))
]


@dataclass(frozen=True)
class Source:
    """A CUDA source of a lab, with the -D options that it is compiled with."""

    name: str
    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Needs:
    """What a source needs: a key of ARCHITECTURES, and whether the simulator runs it."""

    architecture: str
    simulated: bool


class NeedsError(ValueError):
    """A source that no compiler takes, or a page without the place of the table."""


def of(source: Source) -> Needs:
    """Return what a source needs. Raises NeedsError where no architecture takes it."""
    included = [path.read_text(encoding="utf-8") for path in sorted(kernels.FOLDER.glob("*.cuh"))]
    key = compiler_cache.key_of(
        [source.text, repr(source.options), *included, *_TRANSLATION, repr(toolkit.versions())]
    )
    if (kept := compiler_cache.load("needs", key)) is not None:
        return Needs(**kept)
    first = next((one for one in ARCHITECTURES if _refusal(source, one) is None), None)
    if first is None:
        raise NeedsError(f"{source.name}: {_refusal(source, [*ARCHITECTURES][-1])}")
    found = Needs(first, _is_simulated(source, first))
    compiler_cache.store("needs", key, vars(found))
    return found


def _compiled(source: Source, architecture: str, *more: str) -> tuple[str | None, str]:
    """Return the PTX of a source, None if the compiler refuses it, and the compiler's messages.
    more: options of the compiler.
    """
    folders = (kernels.FOLDER, *toolkit.include_directories())
    options = [
        f"--gpu-architecture=compute_{architecture}",
        "--std=c++17",
        "--device-as-default-execution-space",  # functions that are constexpr alone
        *(f"--include-path={folder}" for folder in folders),
        *more,
    ]
    # The -D options become lines of the text: for each set of options another process compiles.
    file, read = f"{source.name}.cu", compiler_options.read(source.options)
    text = front_ends.Text(source.text, file, False, read, ()).whole(standard_headers.PRELUDE)
    return nvrtc.compile(text, file, options)


def _refusal(source: Source, architecture: str) -> str | None:
    """Return what the compiler or the assembler says against a source; None if both take it."""
    # Without optimisation the compiler takes a tenth of the time. An operand that must be constant
    # may be so only with it.
    said = _refusal_with(source, architecture, front_ends.UNOPTIMISED)
    return said and _refusal_with(source, architecture)


def _refusal_with(source: Source, architecture: str, *options: str) -> str | None:
    ptx, said = _compiled(source, architecture, *options)
    if ptx is None:
        return said
    with toolkit.scratch() as folder:
        (folder / "kernel.ptx").write_text(ptx, encoding="utf-8")
        # Without optimisation it refuses the same, in a part of the time.
        words = [f"-arch=sm_{architecture}", "-O0", "kernel.ptx", "-o", "kernel.cubin"]
        done = toolkit.run([str(toolkit.program("ptxas")), *words], folder)
    return (done.stderr or done.stdout or "ptxas failed") if done.returncode else None


def _is_simulated(source: Source, architecture: str) -> bool:
    """Return whether the simulator, which compiles for 9.0 or 9.0a, can encode all kernels."""
    ptx, _ = _compiled(source, "90a" if architecture == "90a" else "90")
    if ptx is None:
        return False
    try:
        module = compiler.parsed(ptx)
        for name, function in module.functions.items():
            if function.kernel:
                Encoding(module, name, library.operation_ids(), library.operation_operands())
    except (CompileFailed, ParseError, Unsupported):
        return False
    return True


def sources_of(lab: str, row: str, root: Path = ROOT) -> Iterator[Source]:
    """Yield the sources of a lab ("301_one_mma"). row: of the lab in the tables of its page."""
    code = "\n".join(_code(root / "labs" / f"{lab}.ipynb"))
    words = set(re.findall(r"\w+", code))
    named = re.findall(r"`([\w*]+)`", row)
    for name in kernels.names():
        if name in words or any(fnmatch.fnmatchcase(name, pattern) for pattern in named):
            yield Source(name, kernels.source(name))
    for exercise in exercises.of_lab(labs.number(lab)):
        if isinstance(exercise, Exercise):
            cell = kernel_cells.parse(exercise.solution)
            macros = tuple(one for one in cell.options if one.startswith("-D"))
            yield Source(exercise.name, cell.source, macros)


def _code(notebook: Path) -> Iterator[str]:
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"])


def rows_of(page: str) -> dict[str, str]:
    """Return the row of each lab in the tables of a page, by the lab's name, in their order."""
    rows = re.finditer(r"^\| \[(\d{3}_\w+)\]\(\w+\.ipynb\) \|.*$", page, re.MULTILINE)
    return {row[1]: row[0] for row in rows}


def table(page: str, root: Path = ROOT) -> str:
    """Return the table of where each lab runs, for a page with the rows of the labs."""
    lines = [
        "| lab | simulator | GPUs | parts that need a newer GPU |",
        "| --- | --- | --- | --- |",
    ]
    for lab, row in rows_of(page).items():
        needs = {source.name: of(source) for source in sources_of(lab, row, root)}
        left_out = [f"`{name}`" for name, need in needs.items() if not need.simulated]
        newer = []
        for architecture, words in ARCHITECTURES.items():
            mine = [
                f"`{name}`" for name, need in needs.items() if need.architecture == architecture
            ]
            if words and mine:
                newer.append(f"{words}: {', '.join(mine)}")
        two = any(map(TWO_CARDS.search, _code(root / "labs" / f"{lab}.ipynb")))
        number = labs.number(lab)
        cells = (
            f"[{number}]({lab}.ipynb)",
            f"all but {', '.join(left_out)}" if left_out else "all",
            "2" if two else "1",
            "; ".join(newer) or "-",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def filled(page: str, root: Path = ROOT) -> str:
    """Return the page with the table. Raises NeedsError where it has no place for it."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NeedsError(f"{PAGE} needs two lines, with the table between them:\n{BEGIN}\n{END}")
    return f"{before}{BEGIN}\n\n{table(before, root)}\n\n{END}{after}"


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the page with the table, or write it; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.lab_needs",
        description="Make the table of where each lab runs from its kernels and exercises.",
    )
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    write = parser.parse_args(argv).write
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    try:
        made = filled(page)
    except NeedsError as error:
        print(error, file=sys.stderr)
        return 2
    if made == page:
        print(f"{PAGE} says where the labs run")
        return 0
    if write:
        (ROOT / PAGE).write_text(made, encoding="utf-8")
    print(f"{PAGE} {'is new' if write else 'differs: add --write'}")
    return 0 if write else 1


if __name__ == "__main__":
    sys.exit(main())
