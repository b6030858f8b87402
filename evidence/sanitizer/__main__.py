"""A corpus of kernels under compute-sanitizer on a GPU, compared with the simulator.

    python -m evidence.sanitizer run CORPUS
    python -m evidence.sanitizer table CORPUS     # from the record, without a GPU

Each kernel runs in a process of its own for each tool, because a fault ends the context; several
processes run at a time. The tools' answers go to data/measured/sanitizer.json with the digest of
every kernel, so that the tables need no GPU. Kernels that --only adds on another GPU than the
record's name their GPU there. `sanitizer_tables` says how the answers are compared.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from evidence.sanitizer.output import headlines, said_by
from evidence.sanitizer.record import (
    RECORD,
    ROOT,
    SCHEMA,
    as_text,
    key,
    load,
    merged,
    pack,
    recorded,
)
from evidence.sanitizer.tables import compare_results, findings_table, results_table, verdict
from helpers.tools import corpus
from helpers.tools.corpus import Case

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
OPTIONS = {"racecheck": ("--racecheck-report", "all")}
TIME_LIMIT_S = 60.0
RUNAWAY_S = 20.0  # for kernels that never end
BATCH = 8  # correct kernels that share a process


def measure(chosen: Sequence[Case], *, jobs: int, tools: Sequence[str] = TOOLS) -> dict:
    """Compile the cases, run the correct ones alone and all under each tool; return the record.

    It needs a GPU, PyCUDA, nvcc and compute-sanitizer.
    """
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        folder = Path(name)
        messages = dict(
            zip(chosen, pool.map(lambda case: _compile(case, folder), chosen), strict=True)
        )
        good = [case for case in chosen if not messages[case]]
        _say(f"compiled {len(good)} of {len(chosen)} kernels")
        entries: dict[Case, dict[str, Any]] = {
            case: {"digest": case.digest, "outputs": {}, "tools": {}} for case in chosen
        }
        for case in chosen:
            if messages[case]:
                entries[case]["compiler"] = [
                    s.to_dict() for s in said_by(messages[case], case.path.name)
                ]
        for batch, outputs in _in_batches(
            pool, [case for case in good if case.fault is None], lambda b: _run_plain(b, folder)
        ):
            for case in batch:
                entries[case]["outputs"] = outputs[case]
        _say("ran the correct ones alone")
        for tool in tools:
            started = time.monotonic()
            for batch, answer in _in_batches(
                pool, good, lambda b, tool=tool: _run_tool(tool, b, folder)
            ):
                for case in batch:
                    entries[case]["tools"][tool] = answer[case]
            _say(f"{tool}: {len(good)} kernels in {time.monotonic() - started:.0f} s")
    now = datetime.datetime.now(datetime.UTC)
    about = {
        "schema": SCHEMA,
        "created": now.isoformat(timespec="seconds"),
        "device": _device(),
        "software": _software(),
    }
    return {**about, "kernels": {key(case): entry for case, entry in entries.items()}}


def _in_batches(pool: ThreadPoolExecutor, chosen: Sequence[Case], work):
    """Return (batch, work(batch)) for all batches: one faulty kernel, or BATCH correct ones."""
    correct = [case for case in chosen if case.fault is None]
    faulty = sorted(
        (case for case in chosen if case.fault is not None),
        key=lambda case: case.fault != "runaway",
    )
    batches: list[tuple[Case, ...]] = [(case,) for case in faulty]
    batches += [tuple(correct[k : k + BATCH]) for k in range(0, len(correct), BATCH)]
    return zip(batches, pool.map(work, batches), strict=True)


def _say(text: str) -> None:
    print(text, flush=True)


def _cubin(case: Case, folder: Path) -> Path:
    return folder / f"{case.path.parent.name}_{case.name}.cubin"


def _compile(case: Case, folder: Path) -> str:
    """Compile a case; return nvcc's error message, or "".

    There is no contraction to fused multiply-adds, so that float sums can be compared bitwise.
    """
    command = [
        "nvcc",
        "-cubin",
        f"-arch={_architecture()}",
        "-lineinfo",
        "--fmad=false",
        "-w",
        *case.options,
    ]
    done = subprocess.run(
        [*command, "-o", str(_cubin(case, folder)), str(case.path)], capture_output=True, text=True
    )
    return "" if done.returncode == 0 else done.stderr or f"nvcc ended with {done.returncode}"


def _architecture() -> str:
    capability = _nvidia_smi("compute_cap").replace(".", "")
    return f"sm_{capability or '90'}"


def _nvidia_smi(field: str) -> str:
    done = subprocess.run(
        ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"],
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""


def _device() -> str:
    return _nvidia_smi("name")


def _software() -> dict[str, str]:
    versions = {"driver": _nvidia_smi("driver_version"), "numpy": np.__version__}
    for program in ("nvcc", "compute-sanitizer"):
        done = subprocess.run([program, "--version"], capture_output=True, text=True)
        found = re.findall(r"(?:release|[Vv]ersion) ?([\d.]+\d)", done.stdout)
        versions[program] = found[0] if found else "unknown"
    return versions


def _launcher(batch: Sequence[Case], folder: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "evidence.sanitizer",
        "launch",
        *more,
        str(folder),
        *(str(case.path) for case in batch),
    ]


def _run_plain(batch: Sequence[Case], folder: Path) -> dict[Case, dict[str, dict]]:
    """Run correct kernels without a tool; return their outputs, packed by `pack`."""
    status, output = _run(_launcher(batch, folder, "--keep"))
    if status != "ended":
        raise RuntimeError(
            f"{', '.join(case.name for case in batch)} did not run on the GPU ({status}):\n{output}"
        )
    packed = {}
    for case in batch:
        with np.load(_cubin(case, folder).with_suffix(".npz")) as outputs:
            packed[case] = {name: pack(case, outputs[name]) for name in outputs.files}
    return packed


def _run_tool(tool: str, batch: Sequence[Case], folder: Path) -> dict[Case, dict]:
    """Return a tool's answer to each kernel of a batch.

    If it reports anything, or fails, each kernel runs again by itself.
    """
    options = ("--print-limit", "20", "--show-backtrace", "no", *OPTIONS.get(tool, ()))
    limit = RUNAWAY_S if batch[0].fault == "runaway" else TIME_LIMIT_S
    status, output = _run(
        ["compute-sanitizer", "--tool", tool, *options, *_launcher(batch, folder)], limit
    )
    if len(batch) > 1 and (status != "ended" or said_by(output, "")):
        return {case: _run_tool(tool, (case,), folder)[case] for case in batch}
    return {
        case: {
            "status": status,
            "said": [s.to_dict() for s in said_by(output, case.path.name)],
            "text": headlines(output),
        }
        for case in batch
    }


def _run(command: Sequence[str], limit: float = TIME_LIMIT_S) -> tuple[str, str]:
    """Run a command; return "ended", "failed" or "hung", and its output.

    A hung command is killed with its children.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            status = "ended" if process.wait(limit) == 0 else "failed"
        except subprocess.TimeoutExpired:
            status = "hung"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        # A record must not contain the folders of a machine.
        return status, output.read().replace(f"{ROOT}{os.sep}", "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command of the tool; return the exit status.

    It is 0 if the simulator finds every fault, raises no false alarm and agrees with the GPU.
    """
    options = _parse(arguments)
    if options.command == "launch":
        return _launch(options)
    try:
        chosen = [
            case
            for which in ("faulty", "correct")
            for case in corpus.cases(options.corpus / which)
            if not options.only or case.name in options.only
        ]
    except corpus.CaseError as error:
        print(f"python -m evidence.sanitizer: {error}", file=sys.stderr)
        return 2
    if options.command == "run":
        if missing := [
            program
            for program in ("nvidia-smi", "nvcc", "compute-sanitizer")
            if shutil.which(program) is None
        ]:
            print(
                "python -m evidence.sanitizer: needs a GPU and the CUDA toolkit; "
                f"not on the PATH: {', '.join(missing)}",
                file=sys.stderr,
            )
            return 2
        old = load(options.record) if options.only and options.record.exists() else None
        record = measure(chosen, jobs=options.jobs, tools=options.tools)
        if old is not None:
            record = merged(old, record)
        options.record.parent.mkdir(parents=True, exist_ok=True)
        options.record.write_text(as_text(record), encoding="utf-8")
        _say(f"wrote {options.record}")
    return _show(load(options.record), chosen)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m evidence.sanitizer", description=__doc__.split("\n\n")[0]
    )
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser(
        "run", help="run the corpus under compute-sanitizer and show the tables (the default)"
    )
    table = commands.add_parser("table", help="show the tables of the record; needs no GPU")
    for command in (run, table):
        command.add_argument(
            "corpus", type=Path, help="the folder of the corpus, with faulty/ and correct/ in it"
        )
        command.add_argument(
            "--only",
            nargs="+",
            default=[],
            metavar="NAME",
            help="kernels, by name; a record keeps its other kernels",
        )
        command.add_argument("--record", type=Path, default=RECORD, help="the file of the record")
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    run.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    launch = commands.add_parser(
        "launch", help="launch compiled kernels on the GPU, one after another"
    )
    launch.add_argument("folder", type=Path, help="the folder of the cubins")
    launch.add_argument("cases", nargs="+", type=Path, metavar="FILE.cu")
    launch.add_argument("--keep", action="store_true", help="write the outputs beside the cubins")
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] and words[0] in ("run", "table", "launch", "-h", "--help"):
        return parser.parse_args(words)
    return parser.parse_args(["run", *words])


def _launch(options: argparse.Namespace) -> int:
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).make_context()
    try:
        for case in map(corpus.read, options.cases):
            cubin = _cubin(case, options.folder)
            outputs = corpus.run_on_gpu(case, cubin)
            if options.keep:
                arrays: dict[str, Any] = dict(outputs)
                np.savez(cubin.with_suffix(".npz"), **arrays)
    finally:
        context.pop()
    return 0


def _show(record: Mapping, chosen: Sequence[Case]) -> int:
    corpus.compile_all(chosen)
    ran = {case: corpus.run_in_simulator(case, time_limit=2.0) for case in chosen}
    answers_by_case = {case: findings for case, (findings, _) in ran.items()}
    outputs = {case: values for case, (_, values) in ran.items() if case.fault is None}
    print(findings_table(record, answers_by_case), results_table(record, outputs), sep="\n\n")
    right = all(
        verdict(case, findings) in ("kind and line", "silent")
        for case, findings in answers_by_case.items()
    )
    entries = ((case, values, recorded(record, case)) for case, values in outputs.items())
    same = all(
        agrees
        for case, values, entry in entries
        if entry
        for agrees, _ in compare_results(case, values, entry).values()
    )
    return 0 if right and same else 1


if __name__ == "__main__":
    sys.exit(main())
