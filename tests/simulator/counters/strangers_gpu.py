"""What a GPU answers to the launches of `strangers`, and to `device_functions`, `tensor_products`
and `mma`.

    python tests/simulator/counters/strangers_gpu.py OUT [--cubins FOLDER]
    python tests/simulator/counters/strangers_gpu.py OUT --only REGEX --merge RECORD

Writes into OUT: counters_strangers.json (a record like data/measured/counters.json, with the sha256
of outputs), device_functions.json (digests of the results of functions and products), and by bits
strangers_outputs.npz, device_functions.npz, tensor_products.npz, mma.npz, approximations_1.npz and
_2.npz. One process under ncu reads the counters of all launches. --cubins:
binaries that `--build FOLDER` made before, on any machine with nvcc. --only and --merge: run only
the launches whose label matches, nothing of functions and products, and take the rows of the other
launches from a record. A row of another GPU than the record's names its GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import device_functions
import mma
import stranger_cases
import strangers
import tensor_products

from evidence.counters import __main__ as counters
from evidence.counters import readings as counter_readings
from helpers import device
from helpers.bench import results

READINGS = counter_readings.READINGS
# Beside those of evidence.counters: read and recorded, not compared.
OBSERVED = (
    *counter_readings.OBSERVED,
    "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
)
APPROXIMATIONS = tensor_products.SOURCE.with_name("approximations.cu")

# Function -> (bits of the first number, step, how many), each a range whose numbers have one
# exponent.
_BINADE = 1 << 23


def _binades(first: int, count: int, step: int) -> list[tuple[int, int, int]]:
    return [(((127 + first + k) << 23) & 0xFFFFFFFF, step, _BINADE // step) for k in range(count)]


_NEGATIVE = 1 << 31
_STACK_BYTES = 16 << 10  # of a thread: some kernels call themselves. The default is 1 KB
RANGES: dict[str, list[tuple[int, int, int]]] = {
    "rcp": _binades(0, 1, 1), "rsqrt": _binades(0, 2, 1), "sqrt": _binades(0, 2, 1),
    "lg2": _binades(-1, 2, 1),
    "ex2": _binades(0, 1, 1) + _binades(-12, 12, 64) + _binades(1, 6,
        64) + [(f | _NEGATIVE, s, n) for f, s, n in _binades(-4, 11, 64)],
        "sine": _binades(-8, 8, 64) + _binades(0, 3, 4) + _binades(3, 6, 64),
        "cosine": _binades(-8, 8, 64) + _binades(0, 3, 4),
    "tanh": _binades(-9, 13, 32), "rcp64h": [(1023 << 20, 1, 1 << 20)],
    "rsqrt64h": [(1023 << 20, 1, 1 << 21)], "tanh_f16": [(0, 1, 1 << 16)],
    "tanh_bf16": [(0, 1, 1 << 16)], "ex2_f16": [(0, 1, 1 << 16)], "ex2_bf16": [(0, 1, 1 << 16)],
}  # fmt: skip
_FIRST_FILE = ("rcp", "rsqrt", "sqrt")

# --------------------------------------------------------------------------------------------------
# Binaries


def sources() -> dict[tuple[str, tuple[str, ...]], str]:
    """(name, options) -> source, of everything that is compiled."""
    found = {
        (launch.path.name, launch.options): launch.path.read_text() for launch in strangers.LAUNCHES
    }
    for group, rows in device_functions.GROUPS.items():
        found[f"{group}.cu", rows[0].options] = device_functions.source(group)
    found[tensor_products.SOURCE.name, ()] = tensor_products.source()
    found["mma.cu", ()], found[APPROXIMATIONS.name, ()] = mma.source(), APPROXIMATIONS.read_text()
    return found


def _file(name: str, options: Sequence[str], source: str) -> str:
    return f"{name}.{hashlib.sha256(' '.join([*options, source]).encode()).hexdigest()[:16]}.cubin"


def build(folder: Path, workers: int, only: str = "") -> None:
    """Compile for sm_90 whatever `folder` has not yet; `only` the launches that match, if given."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {(launch.path.name, launch.options) for launch in strangers.LAUNCHES
              if re.search(only, launch.label)}  # fmt: skip

    def compile_one(item: tuple[tuple[str, tuple[str, ...]], str]) -> None:
        (name, options), text = item
        target = folder / _file(name, options, text)
        if target.exists():
            return
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch) / "kernel.cu"
            source.write_text(text)
            subprocess.run(
                ["nvcc", "-cubin", "-arch", "sm_90", *options, "-o", str(target), str(source)],
                check=True,
            )

    with ThreadPoolExecutor(workers) as pool:
        items = sources().items()
        list(pool.map(compile_one, (i for i in items if not only or i[0] in chosen)))


class Binaries:
    """Modules on the GPU, loaded once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._texts, self._modules = folder, sources(), {}

    def module(self, name: str, options: tuple[str, ...] = ()) -> Any:
        import pycuda.driver as cuda

        key = (name, options)
        if not self._modules:
            cuda.Context.set_limit(cuda.limit.STACK_SIZE, _STACK_BYTES)
        if key not in self._modules:
            self._modules[key] = cuda.module_from_buffer(
                (self._folder / _file(name, options, self._texts[key])).read_bytes()
            )
        return self._modules[key]


# --------------------------------------------------------------------------------------------------
# Launches


def on_gpu(array: np.ndarray) -> Any:
    import pycuda.driver as cuda

    return cuda.to_device(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def run_launch(binaries: Binaries, launch: stranger_cases.Stranger, times: int) -> list[list[Any]]:
    """The arguments after each of ``times`` launches, of which each starts afresh."""
    import pycuda.driver as cuda

    module = binaries.module(launch.path.name, launch.options)
    for symbol, value in launch.constants.items():
        cuda.memcpy_htod(module.get_global(symbol)[0], np.ascontiguousarray(value))
    function, seen = module.get_function(launch.kernel), []
    for _ in range(times):
        arguments = launch.arguments()
        values = [on_gpu(a) if isinstance(a, np.ndarray) else a for a in arguments]
        function(*values, grid=launch.grid, block=launch.block, shared=launch.shared)
        cuda.Context.synchronize()
        for value, argument in zip(values, arguments, strict=True):
            if isinstance(argument, np.ndarray):
                cuda.memcpy_dtoh(argument, value)
        seen.append(arguments)
    return seen


def outputs(
    binaries: Binaries, launches: Sequence[stranger_cases.Stranger]
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
    """Arrays "label/position", and for each label what a record says of them."""
    arrays, said = {}, {}
    for launch in launches:
        runs = [launch.outputs(arguments) for arguments in run_launch(binaries, launch, READINGS)]
        for position, array in runs[0].items():
            arrays[f"{launch.label}/{position}"] = array
        digests = [
            {f"sha256 {k}": stranger_cases.digest(a) for k, a in run.items()} for run in runs
        ]
        source = hashlib.sha256(launch.path.read_bytes()).hexdigest()
        said[launch.label] = digests[0] | {
            "source": source,
            "outputs repeat": all(d == digests[0] for d in digests),
        }
    return arrays, said


def functions(binaries: Binaries) -> dict[str, np.ndarray]:
    """ "group/name" -> bits of the results of a row of `device_functions`."""
    import pycuda.driver as cuda

    found = {}
    for group, rows in device_functions.GROUPS.items():
        module = binaries.module(f"{group}.cu", rows[0].options)
        for row in rows:
            cells = device_functions.cells_of(row)
            y = np.zeros(cells, device_functions.TYPES[row.result][1])
            out, given = on_gpu(y), [on_gpu(a) for a in device_functions.operands(row)]
            module.get_function(row.kernel)(
                out, np.int32(cells), *given, grid=(cells // 256, 1, 1), block=(256, 1, 1)
            )
            cuda.memcpy_dtoh(y, out)
            found[row.key] = y
    return found


def products(binaries: Binaries) -> dict[str, np.ndarray]:
    """Kernel -> D (sets, m, n) by its bits."""
    import pycuda.driver as cuda

    found, module = {}, binaries.module(tensor_products.SOURCE.name)
    for product in tensor_products.PRODUCTS:
        a, b, c = tensor_products.packed(product)
        d = np.zeros(c.shape, c.dtype)
        out, given = on_gpu(d), [on_gpu(x) for x in (a, b, c)]
        module.get_function(product.kernel)(
            out, *given, grid=(tensor_products.SETS, 1, 1), block=(32, 1, 1)
        )
        cuda.memcpy_dtoh(d, out)
        found[product.kernel] = tensor_products.unpacked(product, d)
    return found


def sums(binaries: Binaries) -> dict[str, np.ndarray]:
    """Instruction of `mma` -> the registers of D."""
    import pycuda.driver as cuda

    found, module = {}, binaries.module("mma.cu")
    for name, text in mma.INSTRUCTIONS.items():
        arrays = mma.operands(text)
        given = [on_gpu(array) for array in arrays]
        module.get_function(name)(*given, grid=(mma.SETS, 1, 1), block=(32, 1, 1))
        cuda.memcpy_dtoh(arrays[0], given[0])
        found[name] = arrays[0]
    return found


def rows_of_digests(
    of_functions: Mapping[str, np.ndarray], **others: Mapping[str, np.ndarray]
) -> list[dict[str, str]]:
    """The rows of the record device_functions: a group, with a digest for each of its functions."""
    groups = {
        group: {row.name: of_functions[row.key] for row in rows}
        for group, rows in device_functions.GROUPS.items()
    }
    return [
        {"series": group} | {name: stranger_cases.short_digest(x) for name, x in results.items()}
        for group, results in (groups | others).items()
    ]


def approximations(binaries: Binaries) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """ "function/first/step" -> the first result's bits and then the differences from one to the
    next, as small integers.

    `np.cumsum(array, dtype=np.int64)` of it gives the bits back.
    """
    import pycuda.driver as cuda

    module = binaries.module(APPROXIMATIONS.name)
    files: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = {}, {}
    for name, ranges in RANGES.items():
        for first, step, count in ranges:
            y = np.zeros(count, np.uint16 if name.endswith("f16") else np.uint32)
            out = on_gpu(y)
            grid = (-(-count // 256), 1, 1)
            module.get_function(f"dump_{name}")(
                out,
                np.uint32(first),
                np.uint32(step),
                np.int32(count),
                grid=grid,
                block=(256, 1, 1),
            )
            cuda.memcpy_dtoh(y, out)
            key, file = f"{name}/{first:08x}/{step}", files[name not in _FIRST_FILE]
            if y.itemsize == 2:
                file[key] = y
                continue
            steps = np.diff(y.astype(np.int64))
            small = next(
                t
                for t in (np.int8, np.int16, np.int32, np.int64)
                if abs(steps).max() <= np.iinfo(t).max
            )
            file[f"{key}/start"], file[f"{key}/steps"] = y[:1], steps.astype(small)
    return files


# --------------------------------------------------------------------------------------------------
# Counters


def read_counters(
    folder: Path, only: str, launches: Sequence[stranger_cases.Stranger]
) -> list[dict[str, int | str]]:
    """As `evidence.counters.readings.read_with_ncu`. Raises NcuError."""
    script = [
        sys.executable,
        str(Path(__file__).resolve()),
        str(folder),
        f"--cubins={folder}",
        f"--only={only}",
        "--launch",
    ]
    return counter_readings.lowest_readings(script, launches, OBSERVED)


def rows(
    launches: Sequence[stranger_cases.Stranger],
    read: Iterable[Mapping[str, Any]],
    said: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    compared = frozenset(
        metric for several in counter_readings.COMPARED.values() for metric in several
    )
    made = []
    for launch, found in zip(launches, read, strict=True):
        row: dict[str, Any] = {"series": launch.kernel, **counters._identity(launch)}
        row |= {
            name: sum(found.get(metric, 0) for metric in metrics)
            for name, metrics in counter_readings.COMPARED.items()
        }
        row |= {key: value for key, value in found.items() if key not in compared}
        made.append(row | said[launch.label] | ({"varies": launch.varies} if launch.varies else {}))
    return made


def merged(
    rows: Sequence[dict[str, Any]], before: results.Record, gpu: str
) -> list[dict[str, Any]]:
    """``rows`` in their places among those of the record ``before``, in the order of `LAUNCHES`.
    "created" of an old row says when it was read, "gpu" of a new one where, if not on its GPU.
    """
    kept = {row["launch"]: {"created": before.created, **row} for row in before.rows()}
    where = {} if gpu == before.device.name else {"gpu": gpu}
    by_label = kept | {row["launch"]: row | where for row in rows}
    return [by_label[one.label] for one in strangers.LAUNCHES if one.label in by_label]


# --------------------------------------------------------------------------------------------------


def _timed(what: str, work: Callable[[], Any]) -> Any:
    start = time.monotonic()
    made = work()
    print(f"{what}: {time.monotonic() - start:.1f} s", flush=True)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--build", action="store_true", help="only compile, into OUT")
    parser.add_argument("--cubins", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--merge", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.build:
        build(asked.out, asked.workers, asked.only)
        return 0
    if bool(asked.only) != bool(asked.merge) and not asked.launch:
        parser.error("--only and --merge go together: a record has every launch")
    launches = [launch for launch in strangers.LAUNCHES if re.search(asked.only, launch.label)]
    gpu = device.select()
    if asked.launch:
        binaries = Binaries(asked.cubins)
        for launch in launches:
            run_launch(binaries, launch, READINGS)
        return 0
    folder = (asked.cubins or asked.out / "cubins").resolve()
    _timed("build", lambda: build(folder, asked.workers, asked.only))
    binaries = Binaries(folder)
    out = asked.out
    out.mkdir(parents=True, exist_ok=True)
    arrays, said = _timed("outputs", lambda: outputs(binaries, launches))
    np.savez_compressed(out / "strangers_outputs.npz", **arrays)
    os.environ["LAB_RESULTS"] = str(out)
    if asked.merge:
        read = _timed("ncu", lambda: read_counters(folder, asked.only, launches))
        before = results.load(asked.merge)
        new = merged(rows(launches, read, said), before, gpu.name)
        results.record("counters_strangers", lambda: new, device=before.device, lab="counters")
        return 0
    of_functions = _timed("functions", lambda: functions(binaries))
    of_products = _timed("products", lambda: products(binaries))
    of_mma = _timed("mma", lambda: sums(binaries))
    np.savez_compressed(out / "device_functions.npz", **of_functions)
    np.savez_compressed(out / "tensor_products.npz", **of_products)
    np.savez_compressed(out / "mma.npz", **of_mma)
    digests = rows_of_digests(of_functions, tensor_products=of_products, mma=of_mma)
    results.record("device_functions", lambda: digests, device=gpu, lab="counters")
    files = _timed("approximations", lambda: approximations(binaries))
    with ThreadPoolExecutor(2) as pool:  # beside ncu
        saved = [
            pool.submit(np.savez_compressed, out / f"approximations_{number}.npz", **file)
            for number, file in enumerate(files, 1)
        ]
        read = _timed("ncu", lambda: read_counters(folder, asked.only, launches))
        results.record(
            "counters_strangers", lambda: rows(launches, read, said), device=gpu, lab="counters"
        )
        _timed("saving", lambda: [save.result() for save in saved])
    return 0


if __name__ == "__main__":
    sys.exit(main())
