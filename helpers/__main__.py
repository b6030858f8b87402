"""The command `halo`, and `python -m helpers`: one door to what Halo Labs does in a shell."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True)
class Command:
    """A command of `halo`. module: its `main(arguments, prog)` runs it and returns the exit status;
    imported when the command is used, so that `halo --help` is quick; words: of the help page;
    options: what a shell completes after it.
    """

    module: str
    words: str
    options: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()  # arguments of `main` before the user's
    simulator: bool = False  # runs in the simulator, also where there is a GPU


_LAUNCH = (
    "--kernel",
    "--grid",
    "--block",
    "--shared",
    "-D",
    "-I",
    "--arg",
    "--constant",
    "--time-limit",
    "--seed",
    "--json",
)
COMMANDS = {
    "check": Command(
        "helpers.simulator.__main__",
        "find the faults of one launch of a kernel, without a GPU",
        _LAUNCH,
        ("check",),
        simulator=True,
    ),
    "profile": Command(
        "helpers.simulator.__main__",
        "count the memory traffic of one launch, without a GPU",
        (*_LAUNCH, "--sample"),
        ("profile",),
        simulator=True,
    ),
    "replay": Command(
        "helpers.simulator.__main__",
        "show what the threads of one block do, step by step, in a page",
        (*_LAUNCH[:-1], "--show", "--output"),
        ("replay",),
        simulator=True,
    ),
    "run": Command(
        "helpers.simulator.script",
        "run a PyCUDA program, unchanged, in the simulator",
        ("--json", "--time-limit"),
        simulator=True,
    ),
    "labs": Command("helpers.tools.run_labs", "run labs from top to bottom", ("--results",)),
    "jupyter": Command(
        "helpers.jupyterlab.__main__", "make your copies of the labs, and open JupyterLab"
    ),
    "course": Command(
        "helpers.course.__main__",
        "release labs, check and grade answers, report and export",
        (
            "release",
            "check",
            "grade",
            "override",
            "report",
            "export",
            "gradescope",
            "example",
            "update",
        ),
    ),
    "doctor": Command(
        "helpers.doctor", "say what this computer has and lacks, and what mends it", ("--json",)
    ),
}
SHELLS = ("bash", "zsh")
# bashcompinit needs compinit, which a start-up file may not have called yet.
_ZSH = """(( $+functions[compdef] )) || { autoload -U compinit && compinit; }
autoload -U +X bashcompinit && bashcompinit
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # What stands behind a command belongs to it, its --help, too.
    asked = _parser().parse_args(given[:1] if given[:1] != ["--completion"] else given)
    if asked.completion:
        print(completion(asked.completion), end="")
        return 0
    if asked.command is None:
        _parser().print_help()
        return 0
    command = COMMANDS[asked.command]
    if command.simulator:
        os.environ["LAB_DEVICE"] = "simulator"
    run = importlib.import_module(command.module).main
    return run([*command.prefix, *given[1:]], prog=f"halo {asked.command}") or 0


def completion(shell: str) -> str:
    """Return the lines of a shell's start-up file that complete `halo` by the Tab key."""
    cases = "\n".join(
        f"        {name}) words='{' '.join(('--help', *command.options))}' ;;"
        for name, command in COMMANDS.items()
    )
    start = _ZSH if shell == "zsh" else ""
    return f"""{start}_halo() {{
    local words
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then words='{" ".join(COMMANDS)} --help --version'; fi
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _halo halo
"""


def _parser() -> argparse.ArgumentParser:
    rows = "\n".join(f"  {name:<9} {command.words}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="halo",
        usage="halo COMMAND [OPTION ...]",
        description="Halo Labs: write CUDA kernels, and see what every thread does, with or "
        "without a GPU.",
        epilog=f"commands:\n{rows}\n\n"
        "`halo COMMAND --help` lists the options of a command.\n\n"
        "examples:\n"
        "  halo check mine.cu --grid 4 --block 256 --arg out:float:1000 --arg in:float:1000\n"
        "  halo run my_program.py\n"
        '  eval "$(halo --completion bash)"     # Tab completes from now on',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "command", metavar="COMMAND", choices=COMMANDS, nargs="?", help=argparse.SUPPRESS
    )
    parser.add_argument("--completion", choices=SHELLS, help="print a shell's completion")
    parser.add_argument("--version", action="version", version=f"halo {_version()}")
    return parser


def _version() -> str:
    try:
        return version("halo-labs")
    except PackageNotFoundError:  # a copy of the repository that was not installed
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
