"""How much of each resource a GPU gives in a second, measured by small kernels of ours.

    python -m evidence.rates [--budget SECONDS]     measures, on a GPU; writes a record

The kernels stand in kernels/rates/. Each asks for one resource and hardly anything else, in several
variants (widths of an access, sizes of an array); the fastest sample of the fastest variant is the
rate, because a rate is the most that a device can do: `simulator.bounds` divides by it. The figure
that NVIDIA publishes stands beside each rate, with its source.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evidence.rates.kernels import ONE_ARRAY, Variant, sha256, variants
from helpers import device, programs, tables
from helpers.bench import results, timing
from helpers.bench.results import Record
from helpers.simulator import bounds

NAME = "rates_h200"
BUDGET_S = 0.1  # of one timing
SHOWN = 1 << 20  # cells of a long output that are brought back and checked


def measure(
    budget_s: float = BUDGET_S, chosen: Sequence[Variant] | None = None
) -> Iterator[dict[str, Any]]:
    """Check and time variants, all unless some are given, on the selected GPU: rows of a record."""
    chosen = variants() if chosen is None else chosen
    programs.compile_ahead(one.plan() for one in chosen)
    for one in chosen:
        timed = _time(one, budget_s)
        for resource, amount in one.amounts(one.turns).items():
            yield {
                "series": resource,
                "variant": one.name,
                "cu_file": f"rates/{one.kernel}.cu",
                "options": " ".join(one.options),
                "sha256": sha256(one.kernel),
                "amount": amount,
                "unit": bounds.RESOURCES[resource].unit,
                "timing": timed,
            }


def _time(one: Variant, budget_s: float) -> timing.Timing:
    import pycuda.driver as cuda

    turns = one.turns
    with programs.Program(one.plan(turns)) as program:
        held = []
        try:
            y = cuda.mem_alloc(one.y.nbytes)
            held.append(y)
            arrays: dict[str, Any] = {"y": y}
            if one.filled:
                x = cuda.mem_alloc(4 * one.filled)
                held.append(x)
                cuda.memset_d32(x, int(np.float32(1).view(np.uint32)), one.filled)
                arrays[ONE_ARRAY] = x
            cuda.memset_d8(y, 0, one.y.nbytes)
            program.launch(arrays)
            cuda.Context.synchronize()
            got = np.empty(min(one.cells, SHOWN), one.dtype)
            cuda.memcpy_dtoh(got, y)
            verdict = one.check(got, turns)
            return timing.time_gpu(
                functools.partial(_launch, program, arrays), verdict=verdict, name=one.name,
                cache=one.cache, budget_s=budget_s,
            )
        finally:
            for allocation in held:
                allocation.free()


def _launch(program: programs.Program, arrays: Mapping[str, Any], stream: Any) -> None:
    program.launch(arrays, stream)


def table(record: Record) -> str:
    """Return a Markdown table: each resource's rate, the variant that has it, and the published
    figure.
    """
    rows = []
    for name, rate in bounds.rates_of(record.to_dict()).items():
        resource = bounds.RESOURCES[name]
        published = f"{resource.published:.4g}" if resource.published else "-"
        share = f"{100 * rate.per_second / resource.published:.0f}" if resource.published else "-"
        rows.append(
            (resource.title, f"{rate.per_second:.4g}", resource.unit, published, share,
             rate.variant, resource.source)
        )
    heads = ("resource", "measured a second", "unit", "published", "%", "variant", "source")
    return tables.markdown(heads, rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the rates, write the record, print the table. It returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.rates", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds of one timing")
    asked = parser.parse_args(argv)
    gpu = device.select()
    record = results.record(
        NAME, lambda: measure(asked.budget), device=gpu, lab="the resources of a GPU"
    )
    print(table(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
