"""Swap the loops of a convolution in C++: for each tap, add to all outputs that have a cell under
it.

Whether the loops are swapped is seen in memory: the function is called with its last output lying
in the input's first cell. If each output is summed up before the next one begins, the first two
outputs have read the same value in that cell, whatever it was. If all outputs are gone over tap by
tap, the last output grows in between, and they have read different ones.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.loops_swapped import program
from helpers.exercises.content.loops_swapped.program import OVERLAPS, UNSET
from helpers.exercises.judge.python_exercise import Judgement, PythonExercise, StoppedError
from helpers.problems import baselines
from helpers.quantities import quantity
from helpers.reference import conv1d
from helpers.simulator.compile.includes import without_comments

LIMIT_S = 5  # of computing, after the compilation
# A loop's body, in braces or one statement that is no loop; looked for at every place, because
# loops are nested.
_LOOP = re.compile(
    r"(?=\b(?:for|while)\s*\((?:[^()]|\([^()]*\))*\)\s*"
    r"(\{(?:[^{}]|\{[^{}]*\})*\}|(?:(?!\b(?:for|while)\b)[^{};])*;))"
)
PATIENCE_S = 60.0  # by the clock, compilation included: the machine may be busy


def inputs(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return cells and weights of each case: one of each, a filter wider than N, ragged sizes. The
    last OVERLAPS are for the overlap: few cells and many, without zeros, by which nothing would
    grow.
    """
    rng = np.random.default_rng(seed)
    sizes = [
        (1, 1),
        (4, 31),
        (int(rng.integers(600, 1_500)), 3),
        (int(rng.integers(600, 1_500)), int(rng.integers(18, 40)) * 2 + 1),
        (2, 5),
        (kit.MANY, 3),
    ]
    plain = [(kit.whole_numbers(rng, n), kit.whole_numbers(rng, width)) for n, width in sizes]
    overlaps = [
        (_without_zeros(kit.whole_numbers(rng, n)), _without_zeros(kit.whole_numbers(rng, 3)))
        for n in (8, int(rng.integers(600, 1_500)))
    ]
    return [*plain, *overlaps]


def _without_zeros(values: np.ndarray) -> np.ndarray:
    return np.where(values == 0, np.float32(1), values)


def made(text: str, seed: int) -> dict[str, Any]:
    """Compile the C++ and call it, in a process of its own: it may crash, or never end."""
    began = time.monotonic()
    try:
        library = baselines.built_cpp("yours", text)
    except StoppedError:
        raise
    except Exception as error:
        return {"said": str(error).strip(), "crashed": False}
    cases = inputs(seed)
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder) / "given.npz", Path(folder) / "made.npz"
        arrays: dict[str, Any] = {f"N{k}": N for k, (N, _) in enumerate(cases)}
        arrays |= {f"filter{k}": filter for k, (_, filter) in enumerate(cases)}
        np.savez(given, **arrays)
        # Without -P the folder of the program, with the answers in it, would be on the module path.
        command = [sys.executable, "-P", program.__file__, folder, str(library), str(LIMIT_S)]
        patience = PATIENCE_S - (time.monotonic() - began)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=patience, cwd=folder, check=False
            )
        except subprocess.TimeoutExpired:
            raise StoppedError(f"{PATIENCE_S:g} s by the clock") from None
        if done.returncode == -signal.SIGXCPU:
            raise StoppedError(f"{LIMIT_S} s of computing")
        if not result.exists():
            return {"said": done.stderr.strip(), "crashed": done.returncode < 0}
        with np.load(result, allow_pickle=False) as file:
            return {**seen(text), **{name: file[name] for name in file.files}}


def seen(text: str) -> dict[str, Any]:
    """Return, as "tested", whether the body of an innermost loop of the C++ has an `if` or a `?`.
    """
    bodies = [match[1] for match in _LOOP.finditer(without_comments(text))]
    inner = [body for body in bodies if not re.search(r"\b(for|while)\b", body)]
    return {"tested": any(re.search(r"\bif\b|\?", body) for body in inner)}


def judged(one: dict[str, Any], seed: int) -> Judgement:
    """Return whether all outputs are right, nothing is touched outside of the arrays, and the loops
    are swapped.
    """
    if "said" in one:
        if one["crashed"]:
            return Judgement(
                "wrong",
                "the program crashed",
                "An index far outside of N or P: which outputs [first, last) have a cell under "
                "weight j?",
            )
        return Judgement("compile", f"it does not compile\n{one['said']}")
    cases = inputs(seed)
    plain = cases[:-OVERLAPS]
    for k, (N, filter) in enumerate(plain):
        got, want = one[f"P{k}"], conv1d(N, filter)
        name = f"{quantity(N.size, 'cell')}, {quantity(filter.size, 'weight')}"
        if one[f"outside{k}"]:
            hint = (
                "Outputs run from 0 to n - 1: last is n for shifts to the left, and n - shift "
                "for shifts to the right."
            )
            return Judgement("wrong", f"{name}: a cell outside of P is written", hint)
        if np.array_equal(got, want):
            continue
        bad = np.flatnonzero(~(got == want))
        shown = [f"  [{i}] got {got[i]:g}, want {want[i]:g}" for i in bad[:3]]
        text = "\n".join(
            [
                f"{name}: {bad.size:,} of {quantity(got.size, 'value')} {'is' if bad.size == 1 else 'are'} wrong",
                *shown,
            ]
        )
        return Judgement("wrong", text, _hint(got, want, N, filter))
    checked = f"{quantity(len(plain), 'size')}, {quantity(sum(N.size for N, _ in plain), 'value')}"
    overlaps = range(len(plain), len(cases))
    if any(_reads_one_value(one[f"overlapped{k}"], *cases[k]) for k in overlaps):
        hint = (
            "Each output is still summed up before the next one begins. The outer loop should go "
            "over weights, the inner one over outputs, and add to P itself: "
            "then it has no test, and the compiler makes vector instructions of it."
        )
        return Judgement("budget", "right, but the loops are not swapped", hint, checked)
    if one["tested"]:
        hint = (
            "Each output still asks whether it has a cell. Work out first and last before the "
            "inner loop: then every output from first to last has one, and no test is needed."
        )
        return Judgement("budget", "right, but the innermost loop has a test", hint, checked)
    return Judgement("pass", f"{checked}, all equal to the reference; loops swapped", checked=checked)


def _reads_one_value(P: np.ndarray, N: np.ndarray, filter: np.ndarray) -> bool:
    """Return whether the first two of the overlapped outputs have read one value in N[0]; 3
    weights.
    """
    left, middle, right = map(float, filter)
    value = (float(P[0]) - right * float(N[1])) / middle
    return float(P[1]) == left * value + middle * float(N[1]) + right * float(N[2])


def _hint(got: np.ndarray, want: np.ndarray, N: np.ndarray, filter: np.ndarray) -> str:
    if (got == UNSET).all():
        return "Nothing is written to P."
    if not got.any():
        return (
            "Every output is 0: nothing is added yet, or no output lies in [first, last): last is "
            "one past the last output."
        )
    if np.isnan(got).any():
        return (
            "A cell outside of N is read: which outputs [first, last) have 0 <= i + shift < "
            "n? Both ends need it."
        )
    if np.array_equal(got, conv1d(N, filter[::-1].copy())):
        return "The filter is flipped: weight j belongs to cell i + j - width / 2."
    if N.size > 2**15:
        return (
            "Only the longest N is wrong: is a counter a short, which ends at 32,767, or a size "
            "written into the code?"
        )
    if filter.size > 1 and np.array_equal(got, N * filter[filter.size // 2]):
        return "Only the middle weight is added."
    return "Look at the ends: how many outputs has the first weight, how many the last one?"


def times(text: str) -> str:
    """Return the time of an answer beside the stub's loops, one core, as text; it differs each
    time.
    """
    from helpers.bench import timing
    from helpers.problems import baselines

    rng = np.random.default_rng(0)
    N, filter = (
        rng.uniform(-1, 1, 200_000).astype(np.float32),
        rng.uniform(-1, 1, 31).astype(np.float32),
    )
    mine, plain = (
        baselines.conv1d_from_cpp(one)
        for one in (text, (Path(__file__).parent / "plain.cpp").read_text(encoding="utf-8"))
    )
    compared = timing.compare_cpu(
        lambda: mine.call(N, filter),
        lambda: plain.call(N, filter),
        names=("yours", "the plain loop with a test for each weight"),
        budget_s=1.0,
    )
    return f"{quantity(N.size, 'cell')}, {quantity(filter.size, 'weight')}, one core: {compared}"


EXERCISE = PythonExercise(
    name="mine",
    home="loops_swapped",
    lab="400_cpu_baselines",
    title="Swap the loops of a convolution in C++",
    answer="mine",
    is_text=True,
    made=made,
    judged=judged,
    limit_s=PATIENCE_S + 5,
    more=times,
    hints=(
        "For weight j the cell under output i is i + shift. For which i is that below 0, and for "
        "which is it n or more?",
        "If shift is below 0, the first output with a cell is -shift. If it is above 0, the last "
        "one is n - shift - 1.",
        "first = max(0, -shift), last = min(n, n - shift); then one loop from first to last, "
        "without a test.",
    ),
)
