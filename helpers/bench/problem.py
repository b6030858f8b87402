"""A problem as a lab sees it: its arrays and reference, and what one does with its kernels.

    layer = bench.layer("layer 2", images=10_000)
    tiled = layer.kernel("conv2d_tiled", TILE_WIDTH=20)

    print(layer.check(my_cell))                              # PASS, or what is wrong, and where
    print(layer.count("conv2d_constant", tiled, my_cell))    # counters side by side
    times = layer.compare("conv2d_constant", tiled, my_cell, record="111_tiles")
    widths = layer.sweep("conv2d_tiled", TILE_WIDTH=(8, 16, 20, 32), record="111_deeper")

A kernel is a name of kernels/, what `kernel` made of one, or a student's %%kernel cell. Checks and
counts run in the simulator. Times are those of the selected GPU; without one, the recorded ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from helpers import device, kernels
from helpers.bench import results
from helpers.bench.on_device import (
    COMPARE_S,
    SWEEP_S,
    NoLibraryError,
    NotReadyError,
    OnDevice,
    Ready,
)
from helpers.bench.ratios import Ratio
from helpers.bench.sources import Kernel, KernelError
from helpers.bench.task import Library, Task
from helpers.bench.times import Times, noted

Row = dict[str, Any]


class Problem(Task):
    """A task whose kernels are timed on the selected GPU."""

    def on_device(self) -> OnDevice:
        """Return its arrays on the selected GPU, for a `with` block."""
        return OnDevice(self)

    def compare(
        self,
        baseline: Any,
        *kernels: Any,
        record: str = results.UNNAMED,
        budget_s: float = COMPARE_S,
        precision: float = 0.01,
    ) -> Times:
        """Time kernels over a baseline, each in turns with it.

        record: the name of a record, which gets the rows on a GPU. Without a GPU, the recorded
        times are returned; kernels that are not in the record have none, nor has any without the
        name of a record. A student's kernel that has not passed is "yours: not yet". Raises
        NotReadyError for another kernel that does not pass, and KernelError for two kernels of one
        name.
        """
        base, *others = _distinct([self.kernel(one) for one in (baseline, *kernels)])
        if device.select().kind != "gpu":
            return Times.recalled(record, self, [base, *others], over=base)
        return noted(
            record, self, [base, *others], self._compared(base, others, budget_s, precision), base
        )

    def sweep(
        self,
        *kernels: Any,
        record: str = results.UNNAMED,
        budget_s: float = SWEEP_S,
        **sizes: Sequence[Any],
    ) -> Times:
        """Time kernels alone, at all combinations of the sizes, such as TILE_WIDTH=(8, 16).

        record and errors: as for `compare`.
        """
        for name, values in sizes.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise KernelError(
                    f"{name} of a sweep is several values, as in (8, 16); got {values!r}"
                )
        each = _distinct(
            [
                self.kernel(one, **dict(zip(sizes, values, strict=True)))
                for one in kernels
                for values in itertools.product(*sizes.values())
            ]
        )
        if device.select().kind != "gpu":
            return Times.recalled(record, self, each)
        return noted(record, self, each, self._swept(each, budget_s))

    def _compared(
        self, base: Kernel, others: Sequence[Kernel], budget_s: float, precision: float
    ) -> Iterator[Row]:
        with self.on_device() as there:
            first = there.ready(base)
            is_first = True
            for one in others:
                ready = _ready_or_not_yet(there, one)
                if ready is None:
                    continue
                pair = ready.beside(first, budget_s, precision)
                if is_first:
                    yield self.row(first) | {"timing": pair.b}
                    is_first = False
                ratio = {"over": base.title, **Ratio.of(pair).to_row()}
                yield self.row(ready) | ratio | {"timing": pair.a}
            if is_first:
                yield self.row(first) | {"timing": first.time(budget_s)}

    def _swept(self, kernels: Sequence[Kernel], budget_s: float) -> Iterator[Row]:
        with self.on_device() as there:
            for one in kernels:
                ready = _ready_or_not_yet(there, one)
                if ready is not None:
                    yield self.row(ready) | {"timing": ready.time(budget_s)}

    def row(self, ready: Ready) -> Row:
        """Return the row of a record for a kernel, without its time."""
        one = ready.kernel
        facts: dict[str, Any] = {"registers": ready.registers, "relative_error": ready.error}
        if one.text:  # no file of kernels/, whose hashes stand in the record
            facts["code_sha256"] = kernels.code_sha256(one.text)
        named = {"series": one.label, "kernel": one.name, **dict(one.settings)}
        if isinstance(one.spec, Library):  # it has no source, and tells no registers
            del named["kernel"], facts["registers"]
        return {**named, **self.where, **facts}


def _distinct(kernels: list[Kernel]) -> list[Kernel]:
    """Return the kernels. Raises KernelError for two of one name, which a record would mix up."""
    titles = [one.title for one in kernels]
    if twice := [title for title in titles if titles.count(title) > 1]:
        raise KernelError(
            f"two kernels are called {twice[0]!r}: give one another name, "
            'as in kernel(..., label="the second version")'
        )
    return kernels


def _ready_or_not_yet(there: OnDevice, kernel: Kernel) -> Ready | None:
    """Return the kernel, ready. Return None for a student's kernel that has not passed, and, with a
    printed line, for a library that is not installed.
    """
    try:
        return there.ready(kernel)
    except NoLibraryError as missing:
        print(missing)
        return None
    except NotReadyError:
        if kernel.yours:
            return None
        raise
