"""Lab 102, deeper: the look-ups of constant memory, the loop that nvcc keeps, and published times.

Ratios in the text are the time in global memory over the time in constant memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helpers import tables
from helpers.bench import reports, results, sass
from helpers.bench.counts import Counts
from helpers.bench.times import Times
from helpers.problems import conv1d

GLOBAL, CONSTANT, DIVERGENT = "conv1d_basic", "conv1d_constant", "conv1d_constant_divergent"
KERNELS = (GLOBAL, CONSTANT, DIVERGENT)
ROLLED_WIDTHS = (31, 63, 255)  # of which nvcc keeps a loop
COUNTED_CELLS = 10_007  # the n of the launches that data/measured/counters.json has

ByWidth = Mapping[int, Times]  # by the number of weights


def code_table(widths: Sequence[int]) -> str:
    """Return what the machine code of conv1d_constant has, by width, as it is and unrolled."""
    plain, straight = conv1d.conv1d_named(CONSTANT), conv1d.unrolled(conv1d.conv1d_named(CONSTANT))
    forms = [(f"{width} weights", plain, width) for width in widths]
    forms += [
        (f"{width} weights, #pragma unroll", straight, width)
        for width in widths
        if width in ROLLED_WIDTHS
    ]
    codes = {}
    for name, spec, width in forms:
        (one,) = spec.plan(1, width)
        codes[name] = sass.assembled(one.name, one.options, source=one.source)
    return sass.table(codes, ("LDG", "LDC", "FFMA"))


def beside_ncu(counts: Mapping[int, Counts]) -> str:
    """Return a table of the look-ups in constant memory, ours beside Nsight Compute's.

    counts: by width, of `COUNTED_CELLS` cells. Ours: requests for weights, and those beyond the
    first of each request with several words. Nsight Compute's idc__requests has the look-ups of a
    kernel's arguments, too.
    """
    record = results.recorded("counters")
    body = []
    for width, each in counts.items():
        for one in each:
            name, seen = one.kernel.name, one.profile
            there = record.one(launch=f"{name}, n = {one.outputs}, filter of {width}")
            counted = (seen.constant_load_requests, seen.constant_load_replays)
            numbers = (*counted, sum(counted), there["idc__requests.sum"])
            body.append((name, str(width), *(f"{number:,}" for number in numbers)))
    head = ("", "weights", "requests for\nweights", "repeated for\nother words", "together")
    return tables.text((*head, "Nsight Compute,\narguments, too"), body)


def loops_table(as_is: ByWidth, unrolled: ByWidth) -> str:
    """Return a table of wide filters: what the loop that nvcc keeps costs, and what it hides."""
    body = []
    for width, one in unrolled.items():
        longer = as_is[width].ms(CONSTANT) / one.ms(CONSTANT)
        cells = (both.ratio(CONSTANT).swapped.row()[1] for both in (as_is[width], one))
        body.append((str(width), *cells, f"{longer:.2f}"))
    head = (
        "weights",
        "global over constant,\nwith nvcc's loop",
        "global over constant,\nunrolled",
        f"{CONSTANT}:\nloop over unrolled",
    )
    return tables.text(head, body, left=())


def reported_table() -> str:
    """Return the published times without constant memory over those with it."""
    body = []
    one_d = {(row["kernel"], row["n"]): row["gpu_ms"] for row in reports.rows("conv1d_report")}
    for (kernel, n), ms in one_d.items():
        if kernel == "constant memory":
            ratio = one_d["multi-block", n] / ms
            body.append(("D", f"1D, n = {n:,}, copies included", f"{ratio:.2f}", ""))
    rows = reports.rows("course_reports")
    layers = {(row["report"], row["optimization"], row["batch"]): row for row in rows}
    for (report, name, batch), row in layers.items():
        if name == "constant memory":
            base = layers[report, row["builds_on"], batch]
            both = (f"{base[f'op{k}_ms'] / row[f'op{k}_ms']:.2f}" for k in (1, 2))
            body.append((report, f"{batch:,} images", *both))
    head = ("report", "", "without over with,\n1D or layer 1", "the same,\nlayer 2")
    return tables.text(head, body, left=(0, 1))
