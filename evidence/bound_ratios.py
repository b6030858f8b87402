"""Bounds beside times: every kernel that a record has times of, counted without a GPU.

    python -m evidence.bound_ratios [--only RECORD]            writes data/measured/bounds.json

A bound is wrong where it is above a time by more than the times' own spread, and of little use
where it is far below. So for each timing in data/measured of a kernel of ours this module makes the
bound of the same launches, `bench.plan_bounds`, and gives their ratio.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from helpers.bench import old_records, plan_bounds, results
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d, fft_conv1d, fft_conv2d
from helpers.problems.conv1d import CONV1D, conv1d_named
from helpers.problems.lenet import network_plan

PATH = results.MEASURED / "bounds.json"
BLOCKS = (24, 48)  # of the two 1D launches that are counted
MARGIN = 1.02  # a bound may be above a time by so much: the times' own spread


@dataclass(frozen=True)
class Timed:
    """Launches that a record has a time of.

    plan: what is launched for a problem of a size; size: that of the time; sizes: two that the
    simulator can count; ms: the median; cache: what the first launch finds; parts: names of the
    launches that the time is of, () for all; layer: whether it is a whole layer.
    """

    record: str
    name: str
    where: str
    plan: Callable[[int], Plan]
    size: int
    sizes: tuple[int, int]
    ms: float
    cache: str
    layer: bool = False
    parts: tuple[str, ...] = ()


# --------------------------------------------------------------------------------------------------
# What was timed


def timed(only: str = "") -> Iterator[Timed]:
    """Yield all timings of kernels of ours in the records; only: of the record of that name."""
    for name, reader in READERS.items():
        if only in ("", name):
            rows = results.load(results.MEASURED / f"{name}.json").rows()
            yield from reader(name, [row for row in rows if row.get("what") == "kernel"])


def _conv1d(record: str, rows: list[dict]) -> Iterator[Timed]:
    names = {spec.name for spec in CONV1D}
    for row in (row for row in rows if row["series"] in names):
        spec, width = conv1d_named(row["series"]), row["filter_width"]
        yield _of_array(record, spec.name, spec.plan, width, spec.per_block(1, width), row)


def _of_array(
    record: str, name: str, plan: Callable[[int, int], Plan], width: int, per_block: int, row: dict
) -> Timed:
    # A kernel of one block takes any size: count as many outputs as blocks of 1,024 threads have.
    outputs = 1024 if per_block == 1 else per_block
    small, large = (blocks * outputs for blocks in BLOCKS)
    where = f"n = {row['n']:,}, width {width}"
    return Timed(
        record, name, where, lambda n: plan(n, width), row["n"], (small, large), row["median_ms"],
        row["cache"],
    )


def _of_layer(
    record: str, spec: conv2d.Conv2d, shape: ConvShape, row: dict, more: str = "", **how: Any
) -> Timed:
    plan = plan_bounds.layer_plan(spec, shape)
    where = f"{row['layer']}, {shape.B:,} images{more}"
    return Timed(
        record, spec.name, where, plan, shape.B, plan_bounds.whole_blocks(plan), row["median_ms"],
        row["cache"], **{"layer": True, **how},
    )


def _layer(record: str, rows: list[dict]) -> Iterator[Timed]:
    names = {spec.name for spec in conv2d.CONV2D}
    for row in (row for row in rows if row["series"] in names):
        shape = conv2d.shape_of(row["layer"], row["batch"])
        yield _of_layer(record, conv2d.conv2d_named(row["series"]), shape, row)


def _half(record: str, rows: list[dict]) -> Iterator[Timed]:
    for row in rows:
        spec = conv2d.conv2d_named(row["series"])
        shape, part = conv2d.shape_of(row["layer"], row["batch"]), row.get("part", "whole")
        parts = {"conversion": ("to_half",), "convolution": (spec.name,)}.get(part, ())
        more = "" if part == "whole" else f", {part}"
        # A convolution that is timed alone finds in L2 what the conversion has left there.
        alone = {**row, "cache": "hot"} if part == "convolution" else row
        yield _of_layer(record, spec, shape, alone, more, parts=parts, layer=part == "whole")


def _wmma(record: str, rows: list[dict]) -> Iterator[Timed]:
    variants = {
        "float32": conv2d.conv2d_named("conv2d_register_tiled"),
        "half": conv2d.wmma(), "TF32": conv2d.wmma(tf32=True),
        "one buffer": conv2d.wmma(buffers=1), "no skew": conv2d.wmma(skew=0),
        "16 rows": conv2d.wmma(rows=16), "8 rows": conv2d.wmma(rows=8),
    }
    names = {"conv2d_register_tiled": "float32", "conv2d_wmma": "half"}
    for row in (old_records.comparable(record, row) for row in rows):
        variant = names.get(row["series"], row["series"])
        if variant in variants and row.get("median_ms") is not None:
            shape = conv2d.shape_of(row["layer"], row["batch"])
            yield _of_layer(record, variants[variant], shape, row, f", {variant}")


def _fastest(record: str, rows: list[dict]) -> Iterator[Timed]:
    units, quads = conv2d.conv2d_named("conv2d_register_tiled"), conv2d.mma_quads
    ways: dict[str, dict[str, conv2d.Conv2d]] = {
        "FP32 units": {"layer 1": units, "layer 2": units},
        "split halves": {"layer 1": quads(), "layer 2": conv2d.mma_pairs()},
        "halves": {"layer 1": quads(1), "layer 2": conv2d.mma_halves()},
        "FP16 in and out": {"layer 1": quads(1, True), "layer 2": conv2d.mma_halves(True)},
    }
    # A row of the bench has no way: its series says it.
    usual = {"conv2d_register_tiled": "FP32 units", "conv2d_mma_halves": "halves"}
    for row in rows:
        way = row.get("way") or usual.get(row["series"], "split halves")
        spec = ways.get(way, {}).get(row["layer"])
        if spec is None or spec.name != row["series"] or row.get("median_ms") is None:
            continue
        if spec is units:
            form = conv2d.OCCUPANCY[row["layer"]]
            form = {key: row.get(key, value) for key, value in form.items()}
            spec = dataclasses.replace(units, **form)
        shape = conv2d.shape_of(row["layer"], row["batch"])
        yield _of_layer(record, spec, shape, row, f", {way}")


def _fft(record: str, rows: list[dict]) -> Iterator[Timed]:
    for row in rows:
        name, width = row["series"], row.get("filter_width", 0)
        if name == "conv1d_vector":
            spec = conv1d_named(name)
            yield _of_array(record, name, spec.plan, width, spec.per_block(1, width), row)
        elif name == "conv1d_fft_overlap_add":
            fitting = fft_conv1d.OverlapAdd.fitting(width, row["stages"])
            segment = fitting.segment(width)
            yield _of_array(record, name, fitting.plan, width, segment, row)
        elif name in ("conv2d_fft_tiles", "conv2d_register_tiled"):
            whole = conv2d.shape_of(row["layer"], 10_000)
            shape = dataclasses.replace(whole, K=row["K"])
            more = f", K = {row['K']}"
            if name == "conv2d_register_tiled":
                yield _of_layer(record, conv2d.conv2d_named(name), shape, row, more)
                continue

            def plan(B: int, shape: ConvShape = shape) -> Plan:
                return fft_conv2d.Tiles().plan(dataclasses.replace(shape, B=B))

            where = f"{row['layer']}, {shape.B:,} images{more}"
            sizes, ms = plan_bounds.IMAGES, row["median_ms"]
            yield Timed(record, name, where, plan, shape.B, sizes, ms, row["cache"], layer=True)


def _lenet(record: str, rows: list[dict]) -> Iterator[Timed]:
    tiled = ("conv2d_register_tiled", "conv2d_register_tiled")
    forms: dict[str, Sequence[str]] = {
        "apart": tiled, "fused": network_plan.FUSED, "tensor cores": network_plan.TENSOR_CORES,
    }
    # The simulator does not run the kernels on warpgroups.
    for row in (r for r in rows if r["series"] == "stage" and r["form"] in forms):

        def plan(
            B: int, row: Mapping[str, Any] = row, layers: Sequence[str] = forms[row["form"]]
        ) -> Plan:
            steps = network_plan.stages(layers, B, pixels=True)
            return next(step.plan for step in steps if step.name == row["stage"])

        where = f"{row['stage']}, {row['batch']:,} images, {row['form']}"
        sizes = _dense_images(row["batch"]) if row["stage"] == "dense" else plan_bounds.IMAGES
        # The stages are timed in a row: each finds in L2 what the one before has left.
        yield Timed(
            record, row["kernel"], where, plan, row["batch"], sizes, row["median_ms"], "hot"
        )


def _dense_images(batch: int) -> tuple[int, int]:
    """Return numbers of images for which the network takes the kernel and the blocks that it takes
    for a batch.
    """
    if batch not in network_plan.DENSE_SPLIT:
        each, first = (
            network_plan.DENSE_WARPS * network_plan.DENSE_EACH,
            network_plan.DENSE_SPLIT.stop,
        )
        return first + each, first + 2 * each
    two = 2 * network_plan.SPLIT_BLOCKS  # images, from which a block takes two
    return (64, 128) if batch < two else (two, two + 100)


READERS: dict[str, Callable[[str, list[dict]], Iterable[Timed]]] = {
    "benchmark_conv1d": _conv1d,
    "benchmark_conv2d": _layer,
    "300_half": _half,
    "303_wmma": _wmma,
    "402_fft": _fft,
    "305_fastest": _fastest,
    "501_lenet": _lenet,
}


# --------------------------------------------------------------------------------------------------
# The record


def row_of(one: Timed) -> dict[str, Any]:
    """Return the bound of a timing beside it, as the record has it."""
    found = plan_bounds.bounds_of(
        one.plan, one.size, one.sizes, one.name, cache=one.cache, parts=one.parts
    )
    shares = found.shares[1:] if found.resource == "launches in a row" else found.shares
    return {
        "record": one.record, "kernel": one.name, "where": one.where, "layer": one.layer,
        "measured_us": 1e3 * one.ms, "bound_us": found.microseconds,
        "ratio": found.microseconds / (1e3 * one.ms), "resource": found.largest.title,
        "shares_us": {share.resource: share.microseconds for share in shares[:6]},
    }


def correlation(rows: Iterable[Mapping[str, Any]]) -> float:
    """Return Spearman's rank correlation of bounds with times."""
    from scipy import stats

    pairs = [(row["bound_us"], row["measured_us"]) for row in rows]
    if len(pairs) < 3:
        return math.nan
    return float(stats.spearmanr(*zip(*pairs, strict=True)).statistic)


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the rows show: how close bounds are to times, and whether they rank alike."""
    layers = [row for row in rows if row["layer"]]
    board = [row for row in layers if row["record"] == "benchmark_conv2d"]
    boards = {
        where: correlation([row for row in board if row["where"] == where])
        for where in dict.fromkeys(row["where"] for row in board)
    }
    return {
        "timings": len(rows),
        "largest_ratio": max(row["ratio"] for row in rows),
        "median_ratio": float(np.median([row["ratio"] for row in rows])),
        "rank_correlation": correlation(rows),
        "rank_correlation_layer": correlation(layers),
        "rank_correlation_by_layer_and_batch": boards,
    }


def too_high(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows whose bound is none."""
    return [row for row in rows if not row["bound_us"] <= MARGIN * row["measured_us"]]


@cache
def recorded() -> dict[str, Any]:
    """Return the committed record of bounds."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def main(argv: Sequence[str] | None = None) -> int:
    """Make all bounds, write the record, print the table. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.bound_ratios", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--only", default="", metavar="RECORD", help="those of one record; the others are kept"
    )
    parser.add_argument("--to", type=Path, default=PATH, help="the file to write")
    asked = parser.parse_args(argv)
    rows = []
    if asked.only and asked.to.exists():
        known = json.loads(asked.to.read_text(encoding="utf-8"))["rows"]
        rows = [row for row in known if row["record"] != asked.only]
    for one in timed(asked.only):
        rows.append(row_of(one))
        print(_line(rows[-1]), flush=True)
    order = list(READERS)
    rows.sort(key=lambda row: order.index(row["record"]))
    found: dict[str, Any] = {"summary": summary(rows), "rows": rows}
    asked.to.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found["summary"], indent=1))
    for row in too_high(rows):
        print(f"too high: {_line(row)}")
    return 1 if too_high(rows) else 0


def _line(row: Mapping[str, Any]) -> str:
    return (
        f"{row['ratio']:.3f}  {row['bound_us']:10.4g} of {row['measured_us']:10.4g} us  "
        f"{row['record']} {row['kernel']}, {row['where']}: {row['resource']}"
    )


if __name__ == "__main__":
    sys.exit(main())
