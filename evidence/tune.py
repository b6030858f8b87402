"""The search for the fastest sizes of conv2d_register_tiled by Kernel Tuner, on a GPU.

    # It writes results/203_sweep_layer_1.json and so on; copy them to data/measured/.
    python -m evidence.tune            # all layers
    python -m evidence.tune "layer 2"  # one layer

`helpers.experiments.sweep` has the search space. `tune` compiles its configurations and checks
every output of each against conv2d_basic and the float64 reference. Kernel Tuner then runs and
times the right ones through PyCUDA; a wrong one is recorded as rejected and never timed.

Kernel Tuner times with events of its own: the average of 7 launches in a row, with warm caches. The
order of nearly equal configurations means nothing before `timing.compare` compares them; lab 203
times the best ones again.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from helpers import checking, device, kernels, programs
from helpers.bench import results
from helpers.experiments.sweep import (
    BATCH,
    KERNEL,
    PARAMETERS,
    SIZES,
    Configuration,
    SweepError,
    import_kernel_tuner,
    key,
    label,
    open_record,
    ranking,
    record_name,
    restriction,
    space,
    spec_of,
    tune_params,
)
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import RegisterTiled

LAB = "203_conv2d_sweep"


def _check_all(
    problem: conv2d.Problem, configurations: Sequence[Configuration]
) -> tuple[dict[Configuration, conv2d.Compiled], dict[Configuration, str]]:
    """Return the right kernels, compiled, and the reason of each rejected one."""
    programs.compile_ahead(spec_of(one).plan(problem.shape) for one in configurations)
    right, rejected = {}, {}
    for one in configurations:
        try:
            compiled = conv2d.compile(spec_of(one), problem.shape)
            problem.poison()
            compiled.launch(problem.y, problem.x, problem.filter)
            problem.check(label(one))
            right[one] = compiled
        except (checking.CheckError, conv2d.LayerError) as error:
            rejected[one] = str(error).partition("\n")[0]
    return right, rejected


def tune(
    name: str, batch: int = BATCH, configurations: Sequence[Configuration] | None = None
) -> list[dict[str, Any]]:
    """Return a row for each configuration of a layer, for `results.record`.

    A row has the parameters, registers, tuner_ms and rejected. tuner_ms: Kernel Tuner's average of
    7 launches in ms; None for a rejected configuration, and in the simulator, which has no clock.
    rejected: None, or the first line of the reason. Raises SweepError if no configuration is right,
    and what conv2d.inputs raises.
    """
    shape, candidates = conv2d.shape_of(name, batch), tuple(configurations or space(name))
    x, filter = conv2d.inputs(name, batch)
    with conv2d.Problem(shape, x, filter) as problem:
        right, rejected = _check_all(problem, candidates)
    if not right:
        first = next(iter(rejected.values()))
        raise SweepError(
            f"{name}: all {len(candidates)} configurations were rejected, "
            f"the first one for: {first}"
        )
    times = _tune_kernel(shape, x, right)
    return [
        {
            "series": KERNEL,
            "layer": name,
            "batch": batch,
            **dict(zip(PARAMETERS, one, strict=True)),
            "registers": right[one].function.num_regs if one in right else None,
            "tuner_ms": times.get(one),
            "rejected": rejected.get(one),
        }
        for one in candidates
    ]


def _tune_kernel(
    shape: ConvShape, x: np.ndarray, right: Mapping[Configuration, conv2d.Compiled]
) -> dict[Configuration, float | None]:
    """Return Kernel Tuner's time for each of the compiled kernels."""
    kernel_tuner = import_kernel_tuner()

    def spec(sizes: Mapping[str, int]) -> RegisterTiled:
        return spec_of([sizes[name] for name in PARAMETERS])

    def value(constant: str) -> Any:
        return lambda sizes: spec(sizes).constant_values(shape)[constant]

    arguments = [np.empty(shape.y_shape, np.float32), x, np.int32(shape.B)]
    with _already_compiled(shape, right):
        rows, _ = kernel_tuner.tune_kernel(
            KERNEL,
            kernels.source(KERNEL),
            lambda sizes: spec(sizes).grid(shape),
            arguments,
            tune_params(right),
            grid_div_x=[],
            grid_div_y=[],
            grid_div_z=[],
            block_size_names=["threads"],
            lang="PYCUDA",
            quiet=True,
            restrictions=restriction(right),
            defines={name: value(name) for name in open_record().constant_values(shape)},
        )
    return {key(row): row["time"] if math.isfinite(row["time"]) else None for row in rows}


@contextlib.contextmanager
def _already_compiled(
    shape: ConvShape, right: Mapping[Configuration, conv2d.Compiled]
) -> Iterator[None]:
    """Let Kernel Tuner use the checked modules, with the filter in their constant memory.

    Otherwise it would compile them one by one, as relocatable code, and upload the same weights to
    each, although their order depends on the patch. The constants that it writes above the source
    say which module it needs.
    """
    from kernel_tuner.backends import pycuda as backend

    stock = {
        frozenset(spec_of(one).constant_values(shape).items()): compiled.module
        for one, compiled in right.items()
    }

    def module(source: str, *_: Any, **__: Any) -> Any:
        # The kernel's own defaults stand below its first line.
        constants = source.partition(f"// {KERNEL}.cu")[0]
        pairs = re.findall(r"^#define (\w+) (\S+)$", constants, re.MULTILINE)
        return stock[frozenset((name, int(value)) for name, value in pairs)]

    kept = backend.DynamicSourceModule
    backend.DynamicSourceModule = module
    try:
        yield
    finally:
        backend.DynamicSourceModule = kept


def main(argv: Sequence[str] | None = None) -> int:
    """Tune the named layers, by default all, and print the best; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("layers", nargs="*", help=f"by default all: {', '.join(SIZES)}")
    names = parser.parse_args(argv).layers or list(SIZES)
    if unknown := [name for name in names if name not in SIZES]:
        print(
            f"no layer {unknown[0]!r} to sweep; there are: {', '.join(map(repr, SIZES))}",
            file=sys.stderr,
        )
        return 2
    gpu = device.select()
    if gpu.kind != "gpu":
        print(
            "a sweep is timed, and the simulator has no clock: "
            "run it on a machine with an NVIDIA GPU",
            file=sys.stderr,
        )
        return 2
    for name in names:
        record = results.record(record_name(name), partial(tune, name), device=gpu, lab=LAB)
        rows = record.rows()
        rejected = sum(row["rejected"] is not None for row in rows)
        print(f"{name}: {len(rows)} configurations, {rejected} rejected; {record.caption()}")
        for one, ms in ranking(record)[:3]:
            print(f"  {ms:.4f} ms  {label(one)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
