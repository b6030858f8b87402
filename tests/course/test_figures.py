"""Figures that were handed in: edited numbers are told, honest ones are not."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

from helpers import kernels
from helpers.course import figures, plausible
from helpers.problems.measured import MEASURED

RECORDS = [
    path.stem
    for path in sorted(MEASURED.glob("[1-5]*.json"))
    if list(plausible.timings({"measurements": [], **json.loads(path.read_text())}))
]
OWN = "this is the repository's own record"


def ours(name: str = "111_tiles") -> dict[str, Any]:
    return json.loads((MEASURED / f"{name}.json").read_text())


def timed(record: dict[str, Any], samples: Callable[[list[float]], list[float]]) -> dict[str, Any]:
    """The record with other samples, and all that follows from them."""
    for row in record["measurements"]:
        if timing := row.get("timing"):
            timing["samples"] = [float(f"{one:.7g}") for one in samples(timing["samples"])]
            low, *_, high = sorted(timing["samples"])
            timing |= {"median": float(f"{median(timing['samples']):.7g}"), "low": low,
                       "high": high}  # fmt: skip
    return record


def times(factor: float) -> Callable[[list[float]], list[float]]:
    return lambda samples: [factor * one for one in samples]


def measured_anew(samples: list[float]) -> list[float]:
    """What the same GPU might show another day: other samples, on the steps of its clock."""
    rng = random.Random(repr(samples))
    step = plausible.STEP_MS
    return [max(1, round(rng.uniform(0.99, 1.05) * one / step)) * step for one in samples]


def on(name: str, record: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """The record under another GPU's name."""
    record["device"] |= {"name": name, **facts}
    for row in record["measurements"]:
        if row.get("timing"):
            row["timing"]["device"] = name
    return record


def problems(record: dict[str, Any]) -> str:
    return "\n".join(figures.check(record, {})["problems"])


@pytest.mark.parametrize("name", RECORDS)
def test_nothing_but_its_origin_is_told_of_a_record_of_ours(name):
    assert problems(ours(name)).startswith(OWN) and "\n" not in problems(ours(name))


@pytest.mark.parametrize("name", RECORDS)
def test_times_of_another_day_are_not_told(name):
    found = problems(timed(ours(name), measured_anew))
    assert not [one for one in found.split("\n") if "ratio" not in one and one], found


@pytest.mark.parametrize("name", RECORDS)
def test_all_times_made_shorter_are_told(name):
    shorter = timed(ours(name), times(0.7))
    found = problems(shorter)
    assert "times 0.7" in found
    # The steps are finer than the seven digits of a longer time.
    exact = any(
        sample < plausible.EXACT_MS and timing.get("launches", 1) == 1
        for _, timing in plausible.timings(shorter)
        for sample in timing["samples"]
    )
    assert ("lie between the steps" in found) == exact


def test_new_times_made_shorter_are_told_without_our_samples():
    found = problems(timed(timed(ours(), measured_anew), times(0.7)))
    assert "samples that the course recorded" not in found
    assert "lie between the steps" in found and "what the course recorded on the same GPU" in found


def test_our_times_under_another_name_are_told():
    found = problems(on("NVIDIA A100-SXM4-80GB", timed(ours(), times(0.7))))
    assert "A100-SXM4-80GB has compute capability 8.0 and 108" in found and "times 0.7" in found
    found = problems(on("NVIDIA Unheard Of", ours()))
    assert "timings are the course's own, which a lab shows where there is no GPU" in found


def test_a_name_in_one_place_alone_is_told():
    record = ours()
    record["device"]["name"] = "NVIDIA T4"
    assert "times in it are of NVIDIA H200" in problems(record)


def test_a_slower_gpu_is_believed():
    """A T4 with the facts that its driver reports, whose clock has other steps."""
    facts = {"compute_capability": [7, 5], "multiprocessors": 40, "fp32_peak": 8.14e12,
             "dram_bandwidth": 3.2e11, "l2_bytes": 4 << 20}  # fmt: skip
    record = on("Tesla T4", timed(timed(ours(), measured_anew), times(9.137)), **facts)
    for row in record["measurements"]:
        if row.get("timing"):
            row["timing"]["clocks"] = {"before": {"clocks.max.sm": 1590.0}}
    assert problems(record) == ""


def test_a_peak_that_the_clock_does_not_give_is_told():
    record = ours()
    record["device"]["fp32_peak"] *= 1.5
    assert "the clock in its timings gives" in problems(record)


def test_a_time_in_which_the_arrays_cannot_be_moved_is_told():
    record = on("NVIDIA Unheard Of", ours("107_layer"))
    assert "takes at least" not in problems(record)
    for row in record["measurements"]:
        if row["parameters"].get("kernel") == "conv2d_basic" and row.get("timing"):
            row["timing"]["samples"] = [1e-3, 1.1e-3, 1.2e-3]
    assert "to move its" in problems(record)
    row = {"series": "conv1d_basic", "parameters": {"n": 1_000, "filter_width": 3}}
    assert plausible.least_bytes(row) == 8_012
    assert plausible.least_bytes({"series": "conv1d_basic", "parameters": {"n": "<b>"}}) == 0
    assert plausible.least_bytes({"series": "conv2d_x", "parameters": {"batch": 3}}) == 0


def test_a_ratio_that_its_times_do_not_have_is_told():
    timing = {"what": "kernel", "samples": [1.0, 1.1, 1.2]}
    base = {"series": "conv2d_basic", "parameters": {"layer": "layer 1"}, "timing": timing}
    mine = {"series": "yours: mine", "timing": {**timing, "samples": [0.7, 0.77, 0.84]},
            "parameters": {"layer": "layer 1", "over": "conv2d_basic", "ratio": 0.7}}  # fmt: skip
    assert plausible.ratios({"measurements": [base, mine]}) == []
    mine["parameters"]["ratio"] = 0.5
    (said,) = plausible.ratios({"measurements": [base, mine]})
    assert "the ratio 0.5 stands beside times whose ratio is 0.7" in said


def test_a_figure_of_another_text_or_a_wrong_one_is_told():
    text = "extern \"C\" __global__ void mine(float* y) {}"
    record = timed(ours(), measured_anew)
    row = copy.deepcopy(next(one for one in record["measurements"] if one.get("timing")))
    row["series"] = "yours: mine"
    row["parameters"] = {"layer": "layer 1", "code_sha256": kernels.code_sha256(text)}
    record["measurements"] = [row]
    same = figures.Again(code_sha256=kernels.code_sha256(f"// mine\n{text}"), gpu="2 ms")
    found = figures.check(record, {"mine": same})
    assert found["problems"] == [] and found["rows"][0]["gpu"] == "2 ms"
    other = figures.Again(code_sha256=kernels.code_sha256(text.replace("y", "z")), right=False)
    said = " ".join(figures.check(record, {"mine": other})["problems"])
    assert "another text" in said and "that was handed in is wrong" in said
    row["series"] = "conv2d_tiled"  # ours, whatever the student's cell is called
    assert "text" not in " ".join(figures.check(record, {"conv2d_tiled": other})["problems"])


@pytest.mark.parametrize("broken", [
    {"device": 3}, {"device": {"kind": "gpu", "compute_capability": "x", "multiprocessors": []}},
    {"device": {"kind": "gpu", "name": None, "dram_bandwidth": True, "l2_bytes": float("inf")}},
    {"measurements": [3, {}, {"timing": 3}, {"timing": {"what": "kernel", "samples": [0, None]}},
                      {"parameters": [], "timing": {"what": "kernel", "samples": [1.0],
                                                    "clocks": "x"}}]},
])  # fmt: skip
def test_a_record_of_any_form_is_told_and_stops_nothing(broken):
    assert figures.check({**ours(), **broken}, {})["problems"]
