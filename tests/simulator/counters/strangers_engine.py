"""The simulator beside what a GPU answered to `strangers`, `device_functions` and
`tensor_products`.

    python tests/simulator/counters/strangers_engine.py GPU [--only REGEX] [--table FILE] [--skip
    launches|functions|products]

GPU is a folder with the files that strangers_gpu.py wrote. Says, launch by launch, which counters
and outputs are equal, and of each function how many results differ in bits. Each launch, and each
group of functions, runs in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import device_functions
import stranger_cases
import strangers
import tensor_products

from helpers import simulator
from helpers.bench import results
from helpers.tools import counter_readings

TIME_LIMIT = 300  # seconds of one process


def apart(work: Callable[[], Any]) -> Any:
    """What ``work`` returns in a process of its own. Raises RuntimeError with what went wrong
    there.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            answer = ("made", work())
        except BaseException as error:
            answer = ("raised", f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if not said:
        raise RuntimeError(f"the process ended with status {status}")
    what, value = pickle.loads(said)
    if what == "raised":
        raise RuntimeError(value)
    return value


# --------------------------------------------------------------------------------------------------
# Launches


def run_launch(
    launch: stranger_cases.Stranger,
) -> tuple[dict[str, int], dict[int, np.ndarray], list[str], float]:
    """Counters, outputs, findings and seconds."""
    arguments, start = launch.arguments(), time.monotonic()
    profile = simulator.profile(
        launch.path.read_text(), launch.kernel, *arguments, grid=launch.grid, block=launch.block,
        shared=launch.shared, options=launch.options, constants=launch.constants,
        time_limit=TIME_LIMIT,
    )  # fmt: skip
    found = [str(finding) for finding in profile.findings]
    if not profile.completed:
        found.append("the launch was stopped")
    return profile.counters(), launch.outputs(arguments), found, time.monotonic() - start


def compare_launches(
    folder: Path, only: str
) -> Iterator[tuple[stranger_cases.Stranger, list[str], list[str], list[str]]]:
    """For each launch: counters that differ, outputs that differ, findings or what was raised."""
    rows = {row["launch"]: row for row in results.load(folder / "counters_strangers.json").rows()}
    kept = np.load(folder / "strangers_outputs.npz")
    for launch in strangers.LAUNCHES:
        if not re.search(only, launch.label):
            continue
        row = rows[launch.label]
        try:
            counted, outputs, found, _ = apart(lambda launch=launch: run_launch(launch))
        except RuntimeError as error:
            yield launch, [], [], [f"failed: {error}"]
            continue
        numbers = [
            f"{name} {counted[name]:,}/{row[name]:,}"
            for name in counter_readings.COMPARED
            if counted[name] != row[name]
        ]
        arrays = []
        for key in (key for key in kept.files if key.rpartition("/")[0] == launch.label):
            position = int(key.rpartition("/")[2])
            want, got = kept[key], outputs.get(position)
            if got is None:
                arrays.append(f"argument {position} is not changed")
            elif got.tobytes() != want.tobytes():
                differ = np.flatnonzero(_cells(got) != _cells(want))
                at = differ[0]
                shown = f"[{at}] {got.reshape(-1)[at]!r}/{want.reshape(-1)[at]!r}"
                arrays.append(f"argument {position}: {differ.size} of {want.size} cells, {shown}")
        arrays += [
            f"argument {k} is changed" for k in outputs if f"{launch.label}/{k}" not in kept.files
        ]
        yield launch, numbers, arrays, found


def _cells(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(f"u{array.itemsize}")


# --------------------------------------------------------------------------------------------------
# Functions and products


def _launch(
    function: Any,
    out: np.ndarray,
    given: Sequence[np.ndarray],
    scalars: Sequence[Any],
    grid: int,
    block: int,
) -> np.ndarray:
    import pycuda.driver as cuda

    y = cuda.to_device(out.reshape(-1).view(np.uint8))
    arrays = [cuda.to_device(np.ascontiguousarray(x).reshape(-1).view(np.uint8)) for x in given]
    function(y, *scalars, *arrays, grid=(grid, 1, 1), block=(block, 1, 1))
    cuda.Context.synchronize()
    cuda.memcpy_dtoh(out, y)
    return out


def _module(source: str, options: Sequence[str] = ()) -> Any:
    simulator.activate()
    import pycuda.autoinit  # noqa: F401
    from pycuda.compiler import SourceModule

    return SourceModule(source, options=list(options), no_extern_c=True)


def run_functions(group: str, only: str) -> dict[str, np.ndarray | str]:
    """ "group/name" -> bits of the results, or what was raised."""
    rows = device_functions.GROUPS[group]
    module, found = _module(device_functions.source(group), rows[0].options), {}
    for row in (row for row in rows if re.search(only, row.key)):
        cells = device_functions.cells_of(row)
        y = np.zeros(cells, device_functions.TYPES[row.result][1])
        try:
            function = module.get_function(row.kernel)
            found[row.key] = _launch(
                function, y, device_functions.operands(row), [np.int32(cells)], cells // 256, 256
            )
        except Exception as error:
            found[row.key] = (
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )
    return found


def run_products(only: str) -> dict[str, np.ndarray | str]:
    """Kernel -> D (sets, m, n) by its bits, or what was raised."""
    module, found = _module(tensor_products.SOURCE.read_text()), {}
    for product in (
        product for product in tensor_products.PRODUCTS if re.search(only, product.kernel)
    ):
        a, b, c = tensor_products.packed(product)
        try:
            d = _launch(
                module.get_function(product.kernel),
                np.zeros(c.shape, c.dtype),
                (a, b, c),
                (),
                tensor_products.SETS,
                32,
            )
            found[product.kernel] = tensor_products.unpacked(product, d)
        except Exception as error:
            found[product.kernel] = (
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )
    return found


def said_of_function(row: device_functions.Row, got: np.ndarray, want: np.ndarray) -> str:
    """ "" where equal; else how many differ, in how many both are NaN, the greatest distance in
    units of the last place.
    """
    if got.tobytes() == want.tobytes():
        return ""
    letter = row.result
    per_cell = {"H": "h", "B": "b"}.get(letter, letter)
    cells = [x.view(device_functions.TYPES[per_cell][1]) for x in (got, want)]
    nan = [device_functions.is_nan(x, letter) for x in (got, want)]
    differ = cells[0] != cells[1]
    both, one = int((differ & nan[0] & nan[1]).sum()), differ & (nan[0] != nan[1])
    numbers = np.flatnonzero(differ & ~(nan[0] & nan[1]))
    said = f"{differ.sum()} of {differ.size} differ"
    if both:
        said += (
            f", {both} of them two NaNs "
            "({:#x}/{:#x})".format(*(of[differ & nan[0] & nan[1]][0] for of in cells))
        )
    if one.sum():
        said += f", {one.sum()} NaN on one side"
    if numbers.size:
        apart_by = np.abs(_ordered(cells[0][numbers]) - _ordered(cells[1][numbers]))
        at = numbers[int(np.argmax(apart_by))]
        given = ", ".join(
            _shown(x, at, t)
            for x, t in zip(device_functions.operands(row), row.operands, strict=True)
        )
        values = [_shown(x, at, per_cell) for x in cells]
        said += f"; distance at most {int(apart_by.max())}, e.g. ({given}): {values[0]}/{values[1]}"
    return said


def _shown(bits: np.ndarray, at: int, letter: str) -> str:
    values = device_functions.as_values(bits, letter)
    return f"{values[at]!s}"


def _ordered(bits: np.ndarray) -> np.ndarray:
    """Whole numbers that grow as the floats of these bits do (as floats, for distances of 64 bits).
    """
    width = 8 * bits.itemsize
    signed = bits.astype(np.float64) if width == 64 else bits.astype(np.int64)
    half = float(1 << (width - 1)) if width == 64 else 1 << (width - 1)
    return np.where(signed >= half, half - signed, signed)


def compare_functions(folder: Path, only: str) -> Iterator[tuple[str, str]]:
    """For each function: its name, and "" or how its results differ."""
    kept = np.load(folder / "device_functions.npz")
    for group, rows in device_functions.GROUPS.items():
        wanted = [row for row in rows if re.search(only, row.key)]
        if not wanted:
            continue
        try:
            found = apart(lambda group=group: run_functions(group, only))
        except RuntimeError as error:
            found = dict.fromkeys((row.key for row in wanted), str(error).strip())
        for row in wanted:
            got = found[row.key]
            yield (
                row.key,
                got if isinstance(got, str) else said_of_function(row, got, kept[row.key]),
            )


def compare_products(folder: Path, only: str) -> Iterator[tuple[str, str]]:
    """For each product: its kernel, and "" or how the sums differ, by the eight families and the
    probes of its sets.
    """
    kept = np.load(folder / "tensor_products.npz")
    wanted = [product for product in tensor_products.PRODUCTS if re.search(only, product.kernel)]
    try:
        found = apart(lambda: run_products(only))
    except RuntimeError as error:
        found = dict.fromkeys((product.kernel for product in wanted), str(error).strip())
    for product in wanted:
        got, want = found[product.kernel], kept[product.kernel]
        if isinstance(got, str) or got.tobytes() == want.tobytes():
            yield product.kernel, got if isinstance(got, str) else ""
            continue
        differ = got != want
        by_set = differ.sum(axis=(1, 2))
        plain, probes = (
            by_set[: tensor_products.SETS - 32],
            int(by_set[tensor_products.SETS - 32 :].sum()),
        )
        families = " ".join(str(int(plain[k::8].sum())) for k in range(8))
        at = tuple(int(k) for k in np.argwhere(differ)[0])
        yield (
            product.kernel,
            (
                f"{differ.sum()} of {differ.size} differ; by family {families}, probes {probes}; "
                f"first at {at}: {got[at]:#x}/{want[at]:#x}"
            ),
        )


# --------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("gpu", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--skip", action="append", default=[], choices=("launches", "functions", "products")
    )
    asked = parser.parse_args(argv)
    if "launches" not in asked.skip:
        total = equal = outputs_equal = launches = 0
        for launch, numbers, arrays, found in compare_launches(asked.gpu, asked.only):
            launches += 1
            failed = bool(found) and found[0].startswith("failed")
            total += len(counter_readings.COMPARED)
            equal += 0 if failed else len(counter_readings.COMPARED) - len(numbers)
            outputs_equal += not arrays and not failed
            varies = f" (varies: {launch.varies})" if launch.varies else ""
            state = "=" if not (numbers or arrays or found) else f"!{varies}"
            print(f"{launch.label}: {state}", flush=True)
            for kind, texts in (("counter", numbers), ("output", arrays), ("said", found)):
                for text in texts:
                    print(f"    {kind}: {text.strip().splitlines()[0][:220]}", flush=True)
        print(
            f"{launches} launches: {equal} of {total} counters equal, "
            f"outputs of {outputs_equal} equal\n",
            flush=True,
        )
    for part, compare in (("functions", compare_functions), ("products", compare_products)):
        if part in asked.skip:
            continue
        count = same = 0
        for name, said in compare(asked.gpu, asked.only):
            count, same = count + 1, same + (not said)
            if said:
                print(f"{name}: {said.splitlines()[0][:260]}", flush=True)
        print(f"{count} {part}: {same} equal to the bit\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
