"""Shared-memory tiles in the convolution layer: their times, with variants of the kernels.

`measure` compares the tiled kernels with `conv2d_constant`, for several numbers of output maps that
share a tile, and times several widths. `measure_reported` builds what the course reports compared:
a tile in a kernel whose filter stays in global memory, and a tile that is filled and never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from helpers import kernels, timing
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d

BASIC, PLAIN = "conv2d_basic", "conv2d_constant"
TILED, MAPPED = "conv2d_tiled", "conv2d_tiled_maps"
LAYERS = ("layer 1", "layer 2")
WIDTHS = (8, 16, 20, 32)  # of square blocks and tiles
BATCH = 10_000

BASIC_SPEC, PLAIN_SPEC = conv2d.conv2d_named(BASIC), conv2d.conv2d_named(PLAIN)
TILED_SPEC = conv2d.conv2d_named(TILED)
MAPPED_SPECS = {maps: conv2d.conv2d_named(MAPPED).with_tile(16, maps) for maps in (2, 4, 8, 16)}
GLOBAL_SPEC = replace(TILED_SPEC, filter_in="global")  # for variants that read an argument `filter`

_CELL = "tile[(threadIdx.y + p) * span + threadIdx.x + q]"
_UNUSED = ((_CELL, "channel[(h + p) * W + w + q]"),)
_GLOBAL = (
    ("__constant__ float filter[FILTER_WORDS];", ""),
    ("float* y, const float* x, int B", "float* y, const float* x, const float* filter, int B"),
)
# Variants of a kernel's source: (kernel, pairs of the old text and the new).
VARIANTS: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    # The same results: threadIdx.z is 0. The compiler sees that all lanes want the same weight.
    "uniform": (MAPPED, ((" + threadIdx.z", ""),)),
    "tile not used": (TILED, _UNUSED),
    "filter in global memory": (TILED, _GLOBAL),
    "filter in global memory, tile not used": (TILED, (*_GLOBAL, *_UNUSED)),
}


def changed(source: str, *changes: tuple[str, str]) -> str:
    """Return the source with each (old, new) replaced; ValueError where an old is missing."""
    for old, new in changes:
        if old not in source:
            raise ValueError(f"the kernel has no {old!r} to replace: it has changed since")
        source = source.replace(old, new)
    return source


def variant_source(variant: str) -> str:
    """Return the source of one of VARIANTS."""
    kernel, changes = VARIANTS[variant]
    return changed(kernels.source(kernel), *changes)


def variant_plan(spec: conv2d.Conv2d, shape: ConvShape, variant: str = "") -> Plan:
    """Return the one launch of a kernel, with the source of a variant where one is named."""
    plan = spec.plan(shape)
    if not variant:
        return plan
    return (replace(plan[0], source=variant_source(variant)),)


class _Checked:
    """A kernel that has passed its check on a problem: its launch, verdict and registers."""

    def __init__(self, problem: conv2d.Problem, spec: conv2d.Conv2d, variant: str = ""):
        plan = variant_plan(spec, problem.shape, variant)
        self._run = conv2d.compile(spec, problem.shape, plan)
        self._arrays = problem.y, problem.x, problem.filter
        self.registers = self._run.function.num_regs
        problem.poison()
        self.launch()
        name = variant or spec.name
        self.verdict = problem.check(f"{name}, tile {spec.tile}")

    def launch(self, stream: Any = None) -> None:
        self._run.launch(*self._arrays, stream)

    def over(self, other: _Checked, names: tuple[str, str]) -> dict[str, float]:
        """Return the ratio of the times, this kernel's over the other's, with its interval."""
        verdicts = self.verdict, other.verdict
        pair = timing.compare(
            self.launch, other.launch, verdicts=verdicts, names=names, budget_s=0.5
        )
        return {"ratio": pair.ratio, "low": pair.low, "high": pair.high}


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "09_tiles", measured on the selected GPU.

    Series "ratio": a tiled kernel over conv2d_constant, by layer and maps. Series "uniform": the
    same for the variant of that name. The other series: times by tile_width.
    """
    for layer in LAYERS:
        shape = conv2d.shape_of(layer, BATCH)
        with conv2d.Problem(shape, *conv2d.inputs(layer, BATCH)) as problem:
            plain = _Checked(problem, PLAIN_SPEC)
            mapped = [spec for maps, spec in MAPPED_SPECS.items() if maps <= shape.M]
            for spec in (TILED_SPEC, *mapped):
                yield _ratio_row("ratio", layer, _Checked(problem, spec), spec, plain)
            if layer == "layer 1":
                spec = MAPPED_SPECS[4]
                yield _ratio_row("uniform", layer, _Checked(problem, spec, "uniform"), spec, plain)
            for width in WIDTHS:
                for spec in (PLAIN_SPEC.with_tile(width), TILED_SPEC.with_tile(width)):
                    yield _time_row(layer, _Checked(problem, spec), spec)


def _ratio_row(
    series: str, layer: str, one: _Checked, spec: conv2d.Conv2d, plain: _Checked
) -> dict[str, Any]:
    where = {"layer": layer, "kernel": spec.name, "maps": spec.tile[2], "registers": one.registers}
    return {"series": series, **where, **one.over(plain, (spec.name, PLAIN))}


def _time_row(layer: str, one: _Checked, spec: conv2d.Conv2d) -> dict[str, Any]:
    timed = timing.time_gpu(one.launch, verdict=one.verdict, name=spec.name, budget_s=0.2)
    where = {"layer": layer, "tile_width": spec.tile[0], "registers": one.registers}
    return {"series": spec.name, **where, "timing": timed}


# What measure_reported compares: (variant, its record, the kernel without a tile).
REPORTED = (
    ("filter in global memory", GLOBAL_SPEC, BASIC_SPEC),
    ("filter in global memory, tile not used", GLOBAL_SPEC, BASIC_SPEC),
    ("", TILED_SPEC, PLAIN_SPEC),
    ("tile not used", TILED_SPEC, PLAIN_SPEC),
)


def measure_reported() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "09_reported", measured on the selected GPU.

    Each row is the ratio of a variant with a tile over the kernel without: series "ratio", layer,
    variant ("" is the lab's own kernel), without, ratio, low, high.
    """
    for layer in LAYERS:
        shape = conv2d.shape_of(layer, BATCH)
        with conv2d.Problem(shape, *conv2d.inputs(layer, BATCH)) as problem:
            for variant, spec, without in REPORTED:
                tiled = _Checked(problem, spec, variant)
                names = variant or spec.name, without.name
                ratio = tiled.over(_Checked(problem, without), names)
                where = {"layer": layer, "variant": variant, "without": without.name}
                yield {"series": "ratio", "kernel": TILED, **where, **ratio}
