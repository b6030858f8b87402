"""Run a PyCUDA program, unchanged, in the simulator, and say at its end what is wrong with it.

    halo run PROGRAM.py [ARGUMENT ...]

The program runs as `python PROGRAM.py` would run it: it is the module __main__, sys.argv holds its
arguments, and it imports modules of its own folder. `import pycuda.autoinit` and all other modules
of PyCUDA are the simulator's. What the program prints stays where it printed it; the findings
follow at the end, on the standard error output.

Exit status: 1 with findings, else the program's own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers.quantities import quantity

from . import Finding, activate, pycuda_api

HAS_FINDINGS, MISTAKE, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None, prog: str = "halo run") -> int:
    """Run the program of a command line; return the exit status."""
    asked = _parser(prog).parse_args(arguments)
    path = Path(asked.program)
    if not path.is_file():
        print(f"{prog}: there is no file {path}", file=sys.stderr)
        return MISTAKE
    if asked.time_limit is not None:
        os.environ["HALO_TIME_LIMIT"] = str(asked.time_limit)
    activate()
    if asked.times:
        pycuda_api.keep_account()
    _hold_back_findings()
    # With --json the standard output is one JSON object, and nothing of the program's.
    with contextlib.redirect_stdout(sys.stderr if asked.json else sys.stdout):
        status = _run(path, asked.arguments)
    findings = _distinct(pycuda_api.findings())
    _show(findings, path, asked.json, asked.times)
    return HAS_FINDINGS if findings else status


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the findings as one JSON object; what the program prints goes to the standard "
        "error output",
    )
    parser.add_argument(
        "--times",
        action="store_true",
        help="say at the end how long an H200 needs at least for the launches and copies, the "
        "dearest line of the program first, and what to change there",
    )
    parser.add_argument(
        "--time-limit", type=float, metavar="S", help="stop a launch after S seconds"
    )
    parser.add_argument("program", metavar="PROGRAM.py", help="the PyCUDA program")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="of the program"
    )
    return parser


def _hold_back_findings() -> None:
    """Show no warning that is a finding: all findings follow at the end. A remark on a call is
    shown as before.
    """
    show = warnings.showwarning

    def show_remarks(message: Warning | str, *more: Any, **named: Any) -> None:
        if getattr(message, "finding", None) is None:
            show(message, *more, **named)

    warnings.showwarning = show_remarks


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """Return the first of the findings that a program met several times, as in a loop."""
    first: dict[object, Finding] = {}
    for one in findings:
        first.setdefault((one.kind, one.file, one.line, one.other_line, one.array), one)
    return list(first.values())


def _run(path: Path, arguments: Sequence[str]) -> int:
    """Run a program as the module __main__; return its exit status. A traceback begins at the
    program's own first line.
    """
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        return _status(end.code)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    except BaseException as error:
        own = error.__traceback__
        while own is not None and own.tb_frame.f_code.co_filename != str(path):
            own = own.tb_next
        traceback.print_exception(error.with_traceback(own or error.__traceback__))
        return 1
    return 0


def _status(code: object) -> int:
    """The exit status of sys.exit(code), as Python itself takes it."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _show(findings: Sequence[Finding], path: Path, as_json: bool, with_times: bool) -> None:
    sys.stdout.flush()
    if as_json:
        rows = [finding.to_dict() for finding in findings]
        times = {"times": pycuda_api.account()} if with_times else {}
        told = {"program": str(path), "findings": rows, **times}
        print(json.dumps(told, indent=1, default=str))
        return
    count = quantity(len(findings), "finding") if findings else "no finding"
    print(f"\n{path.name} in the simulator: {count}", file=sys.stderr)
    for finding in findings:
        print(f"\n{finding}", file=sys.stderr)
    if with_times:
        print(f"\n{pycuda_api.account_in_words()}", file=sys.stderr)
