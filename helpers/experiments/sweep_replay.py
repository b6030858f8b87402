"""The strategies of Kernel Tuner on a recorded sweep: how soon each finds the best configuration.

`replay` runs a strategy in Kernel Tuner's simulation mode, without a GPU.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import random
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from helpers import kernels
from helpers.bench import results
from helpers.experiments import sweep

# Kernel Tuner's strategies that end on any space. Some others never end on a space in which few
# configurations have neighbours.
STRATEGIES = ("brute_force", "random_sample", "greedy_mls", "genetic_algorithm")


def replay(
    record: results.Record,
    strategy: str = "brute_force",
    *,
    evaluations: int | None = None,
    seed: int = 0,
) -> list[tuple[sweep.Configuration, float | None]]:
    """Return the trials of a strategy of Kernel Tuner's on a recorded space, in order.

    A trial is (configuration, ms), with None for a rejected one. strategy: one of STRATEGIES.
    evaluations: the most configurations to try; by default all. seed: of the random generators of
    Python and NumPy; their states are restored at the end. It needs no GPU. Raises SweepError for a
    record without rows, and for another strategy.
    """
    if strategy not in STRATEGIES:
        raise sweep.SweepError(
            f"{strategy!r} is none of the strategies to replay: {', '.join(STRATEGIES)}"
        )
    kernel_tuner, rows = (
        sweep.import_kernel_tuner(),
        [row for row in record.rows() if row["series"] == sweep.KERNEL],
    )
    if not rows:
        raise sweep.SweepError(f"the record {record.name} has no configurations to replay")
    options = (
        {} if evaluations is None or strategy == "brute_force" else {"max_fevals": evaluations}
    )
    with tempfile.TemporaryDirectory() as folder, _seeded(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cache = Path(folder) / "cache.json"
        cache.write_text(json.dumps(_cache(record, rows)))
        try:
            trials, _ = kernel_tuner.tune_kernel(
                sweep.KERNEL,
                kernels.source(sweep.KERNEL),
                len(rows),
                [],
                sweep.tune_params(map(sweep.key, rows)),
                restrictions=sweep.restriction(map(sweep.key, rows)),
                strategy=strategy,
                strategy_options=options,
                cache=str(cache),
                simulation_mode=True,
                lang="PYCUDA",
                quiet=True,
                block_size_names=["threads"],
            )
        except ValueError as error:
            raise sweep.SweepError(
                f"Kernel Tuner cannot replay the record {record.name}: {error}"
            ) from error
    times = {sweep.key(row): row["tuner_ms"] for row in rows}
    tried = dict.fromkeys(sweep.key(row) for row in trials if row is not None)
    return [(one, times[one]) for one in tried][:evaluations]


def _cache(record: results.Record, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the rows in the form of Kernel Tuner's cache file."""
    entries = {}
    for row in rows:
        sizes = dict(zip(sweep.PARAMETERS, sweep.key(row), strict=True))
        failed = dict.fromkeys(("time", "__error__"), "RuntimeFailedConfig")
        outcome = failed if row["tuner_ms"] is None else {"time": row["tuner_ms"]}
        spent = {"compile_time": 0.0, "verification_time": 0.0, "benchmark_time": 0.0}
        entries[",".join(map(str, sizes.values()))] = sizes | outcome | spent
    return {
        "device_name": record.device.name,
        "kernel_name": sweep.KERNEL,
        "problem_size": len(rows),
        "objective": "time",
        "tune_params_keys": list(sweep.PARAMETERS),
        "tune_params": sweep.tune_params(map(sweep.key, rows)),
        "cache": entries,
    }


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    ours, numpys = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)


def best_so_far(tried: Iterable[tuple[sweep.Configuration, float | None]]) -> list[float]:
    """Return the smallest time after each trial, in ms; infinite before the first right one."""
    return list(itertools.accumulate((math.inf if ms is None else ms for _, ms in tried), min))
