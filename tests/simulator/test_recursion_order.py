"""The order of lanes that parted in a function that calls itself, as an H100 runs them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from helpers.bench import results

sys.path.insert(0, str(Path(__file__).resolve().parent / "counters"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "recursion"))

import order
import programs
import strangers

HERE = Path(__file__).resolve().parent
LAUNCHES = {launch.label: launch for launch in strangers.LAUNCHES if "itself" in launch.kernel}
COUNTERS = [
    f"global_{access}_{what}" for access in ("load", "store") for what in ("requests", "sectors")
]
MOST = 2048  # lines that a lane writes
WARP = 32


def warps(
    program: list[order.Step], threads: int, note: Callable[[str, order.Group], None],
    warp: type[order.Warp] = order.Warp,
) -> None:  # fmt: skip
    for first in range(0, threads, WARP):
        count = min(WARP, threads - first)
        warp(program, [order.Lane(k, {"t": first + k}) for k in range(count)], note).run()


def counted(label: str, warp: type[order.Warp] = order.Warp) -> Counter[str]:
    launch, found = LAUNCHES[label], Counter[str]()

    def count(access: str, lanes: order.Group) -> None:
        if access == "mark":
            return
        found[f"global_{access}_requests"] += 1
        sectors = {lane.registers["address"] // 32 for lane in lanes}
        found[f"global_{access}_sectors"] += len(sectors)

    if launch.kernel == "flood_calls_itself":
        _, pictures, w, h, n = launch.arguments()
        program = programs.flood(pictures.copy().reshape(-1), int(w), int(h))
    else:
        rows, length, n = launch.arguments()
        program = programs.quicksort(rows.copy().reshape(-1), int(length))
    warps(program, int(n), count, warp)
    return found


@pytest.mark.parametrize("label", LAUNCHES)
def test_the_order_gives_the_counters_of_the_gpu(label):
    rows = results.load(results.MEASURED / "counters_strangers.json").rows()
    row = next(row for row in rows if row["launch"] == label)
    assert counted(label) == {name: row[name] for name in COUNTERS}


class LargerFirst(order.Warp):
    def _part(self, first, second):
        super()._part(*sorted((first, second), key=len, reverse=True))


class NewestOnly(order.Warp):
    def _choose(self):
        if self.next:
            super()._choose()
        else:
            self.running = self.aside.pop()


class AllThatIsSaved(order.Warp):
    """A register is restored to what any of the running lanes has saved."""

    def _restore(self, instruction):
        super()._restore(instruction)
        self.barriers[instruction.value] = set().union(
            *(lane.saved[-1][instruction.value] for lane in self.running)
        )


class NobodyElse(order.Warp):
    """Lanes that were put aside at a barrier let nobody else go on."""

    def _wait(self, instruction):
        self.taken_up = False
        super()._wait(instruction)


@pytest.mark.parametrize("warp", [LargerFirst, NewestOnly, AllThatIsSaved, NobodyElse])
def test_each_rule_is_needed(warp):
    assert [counted(label, warp) for label in LAUNCHES] != [counted(label) for label in LAUNCHES]


def groups_of(program: list[order.Step], threads: int) -> list[tuple]:
    """The place, the lanes and their depths at each mark."""
    found: list[tuple] = []

    def note(name: str, lanes: order.Group) -> None:
        if name == "mark":
            depths = tuple((lane.number, lane.registers["depth"]) for lane in lanes)
            found.append((lanes[0].registers["place"], depths))

    warps(program, threads, note)
    return found


def groups_in(lines: np.ndarray, threads: int) -> list[tuple]:
    """The same from what the lanes wrote down: those with one clock ran together."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    start = int(lines[0, 0, 0])
    for lane in range(threads):
        for clock, what in lines[lane]:
            if what == np.iinfo(np.uint32).max:
                break
            key = (int(clock) - start) % 2**32, int(what) % 256
            found.setdefault(key, []).append((lane, int(what) // 256))
    return [(place, tuple(lanes)) for (_, place), lanes in sorted(found.items())]


@pytest.mark.gpu
@pytest.mark.parametrize("threads", [2, 5, 8, 12, 20, 32])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kernel", ["grow_trees", "sort_rows"])
def test_a_gpu_runs_the_lanes_in_this_order(gpu, kernel, seed, threads):
    import pycuda.driver as cuda
    from pycuda.compiler import SourceModule

    context = cuda.Context
    if context.get_device().compute_capability() != (9, 0):
        pytest.skip("the order was found on sm_90")
    context.set_limit(cuda.limit.STACK_SIZE, 32 * 1024)
    source = (HERE / "recursion" / "order.cu").read_text(encoding="utf-8")
    function = SourceModule(source, no_extern_c=True).get_function(kernel)
    lines = np.full((WARP, MOST, 2), np.iinfo(np.uint32).max, np.uint32)
    if kernel == "grow_trees":
        first, second = np.zeros(WARP, np.int32), seed
        program = programs.tree(seed)
    else:
        length = 13
        first = np.random.default_rng(seed).integers(0, 64, WARP * length, np.int32)
        second, program = length, programs.quicksort(first.copy(), length)
    function(
        cuda.InOut(first), cuda.InOut(lines), np.int32(MOST), np.int32(second), np.int32(threads),
        grid=(1, 1), block=(WARP, 1, 1),
    )  # fmt: skip
    assert groups_in(lines, threads) == groups_of(program, threads)
