"""compute-sanitizer's answers and a GPU's outputs, beside the simulator's.

The comparison is generous to the tools. One of the lines that are marked in the kernel is enough.
An error of the launch counts as a finding of the kind "resources". A failed assert that the kernel
printed counts. The best answer of the four tools counts.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from evidence.sanitizer.record import answers, device, pack, recorded, software
from helpers import tables
from helpers.tools.corpus import Case, Said


def verdict(case: Case, said: Sequence[Said]) -> str:
    """Return the grade of a checker's answer to a case.

    It is "kind and line", "kind only", "another kind" or "nothing" for a faulty kernel, and
    "silent" or "false alarm" for a correct one.
    """
    if case.fault is None:
        return "false alarm" if said else "silent"
    if not said:
        return "nothing"
    fitting = [s for s in said if case.fault in s.kind.split("|")]
    if any(set(s.lines) & case.lines for s in fitting) or (fitting and case.fault == "resources"):
        return "kind and line"
    return "kind only" if fitting else "another kind"


_BEST_FIRST = ("kind and line", "kind only", "another kind", "nothing", "false alarm", "silent")


def best(case: Case, entry: Mapping) -> tuple[str, str]:
    """Return (verdict, tool) of the best answer to a faulty kernel, or of a false alarm."""
    verdicts = [(verdict(case, said), tool) for tool, said in answers(entry).items()]
    return min(verdicts, key=lambda pair: _BEST_FIRST.index(pair[0]), default=("nothing", ""))


def findings_table(record: Mapping, simulated: Mapping[Case, Sequence[Said]]) -> str:
    """Return a table of simulator and compute-sanitizer, a line for each kernel, and the sums."""
    rows: list[list[str]] = []
    sums: dict[tuple[str, str], dict[str, int]] = {}
    for case, said in simulated.items():
        entry = recorded(record, case)
        theirs, tool = best(case, entry) if entry else ("changed since the record", "")
        hung = entry is not None and any(a["status"] == "hung" for a in entry["tools"].values())
        shown = (
            f"{theirs} ({tool})"
            if theirs in ("kind and line", "kind only", "another kind", "false alarm")
            else theirs
        )
        ours = verdict(case, said)
        rows.append(
            [case.name, case.fault or "correct", ours, f"{shown}{', hangs' if hung else ''}"]
        )
        which = case.path.parent.name
        for side, answer in (("simulator", ours), ("compute-sanitizer", theirs)):
            sums.setdefault((which, side), {}).setdefault(answer, 0)
            sums[which, side][answer] += 1
    versions = {
        software(record, entry).get("compute-sanitizer", "") for entry in record["kernels"].values()
    }
    sanitizer = f"compute-sanitizer {', '.join(sorted(versions - {''}))}".rstrip()
    totals = [
        [
            which,
            side,
            ", ".join(
                f"{n} {answer}" for answer, n in sorted(counts.items(), key=lambda pair: -pair[1])
            ),
        ]
        for (which, side), counts in sorted(sums.items())
    ]
    findings = tables.text(["kernel", "fault", "simulator", sanitizer], rows, left=range(4))
    return f"{findings}\n\n{tables.text(['kernels', 'by', 'answers'], totals, left=range(3))}"


def compare_results(
    case: Case, outputs: Mapping[str, np.ndarray], entry: Mapping
) -> dict[str, tuple[bool, str]]:
    """Return for each output whether the simulator agrees with the recorded GPU, and words."""
    compared = {}
    for name, values in outputs.items():
        ours, theirs = pack(case, values), entry["outputs"][name]
        if ours["sha256"] == theirs["sha256"]:
            compared[name] = (True, "the same bits")
        elif "bytes" not in theirs or "bytes" not in ours:
            compared[name] = (False, "differs")
        else:
            compared[name] = _compare_values(case, values, theirs)
    return compared


def _compare_values(case: Case, values: np.ndarray, theirs: Mapping) -> tuple[bool, str]:
    gpu = np.frombuffer(base64.b64decode(theirs["bytes"]), theirs["dtype"]).astype(np.float64)
    ours = values.ravel().astype(np.float64)
    scale = max(np.abs(gpu).max(), np.finfo(np.float32).tiny)
    error = (
        float(np.abs(ours - gpu).max() / scale)
        if np.isfinite(ours).all() and np.isfinite(gpu).all()
        else np.inf
    )
    if case.tolerance is None:  # Only the same bits are right.
        return False, f"differs by {error:.1e} of the largest value"
    return (
        error <= case.tolerance,
        f"differs by {error:.1e} of the largest value, {case.tolerance:.0e} is allowed",
    )


def results_table(record: Mapping, simulated: Mapping[Case, Mapping[str, np.ndarray]]) -> str:
    """Return a table of the correct kernels' outputs, GPU against simulator, a line for each, and
    a sum for each GPU of the record.
    """
    rows: list[list[str]] = []
    good: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for case, outputs in simulated.items():
        if (entry := recorded(record, case)) is None:
            rows.append([case.name, "", "changed", "since the record"])
            continue
        for name, (agrees, text) in compare_results(case, outputs, entry).items():
            good[device(record, entry)] += agrees
            total[device(record, entry)] += 1
            rows.append([case.name, name, "same" if agrees else "DIFFERENT", text])
    table = tables.text(["kernel", "output", "verdict", "how far"], rows, left=range(4))
    sums = [
        f"{good[gpu]} of {count} outputs are the same on {gpu} and in the simulator"
        for gpu, count in total.items()
    ]
    return "\n".join([table, *sums])
