"""Remarks on atomics that can never change what they start from.

    atomicMin in line 19 cannot change lowest, which holds 0, the smallest of its type

A `__device__` variable starts as 0, which no atomicMin of unsigned numbers lowers. A kernel is told
so of an array when it is first given it, if all elements are such ends, and if the kernel changes
it by nothing else: a later launch may find an end that the first one has made.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..findings.race_facts import arrays_of
from ..machine import memory
from ..machine.arrays import pointers
from ..machine.library import operation_names
from ..program.module import Kernel

_MOST_BYTES = 1 << 16  # of an array that is looked at
_SHARED, _LOCAL, _PARAMETER = ".shared", ".local", ".param"
_WRITE = re.compile(r"\s*(?:@!?%p\d+\s+)?(st|atom|red)\.(\S+)\s")
_UPDATE = re.compile(r"\.(min|max|and|or)\.([bsu])(32|64)$")
_NAMES = {"min": "atomicMin", "max": "atomicMax", "and": "atomicAnd", "or": "atomicOr"}
_ENDS = {"min": ", the smallest of its type", "max": ", the largest of its type"}


@dataclass(frozen=True)
class _Update:
    """The atomics of one kind that change an array. end: the number that they leave as it is; root:
    the offset of a pointer among the parameters, or the name of a variable.
    """

    operation: str
    end: np.integer
    root: int | str
    line: int


_updates: weakref.WeakKeyDictionary[Kernel, tuple[_Update, ...]] = weakref.WeakKeyDictionary()
_given: weakref.WeakKeyDictionary[Kernel, set[int]] = weakref.WeakKeyDictionary()


def remarks(kernel: Kernel, packed: bytes) -> tuple[str, ...]:
    """Return remarks on a launch that is about to run. packed: its arguments."""
    if kernel not in _updates:
        _updates[kernel] = tuple(_found(kernel))
    return tuple(_remarks(kernel, packed)) if _updates[kernel] else ()


def _remarks(kernel: Kernel, packed: bytes) -> Iterator[str]:
    given, addresses = _given.setdefault(kernel, set()), pointers(kernel, packed)
    places = {p.offset: (p.name, addresses.get(p.name, 0)) for p in kernel.parameters}
    variables = {v.name: (v.name, v.address) for v in kernel.module.globals.values()}
    for one in _updates[kernel]:
        name, address = (places | variables).get(one.root, ("", 0))
        place = memory.region(address) if address else None
        if place is None or place[2] in given:
            continue
        given.add(place[2])
        values = _values(address, place[0] + place[1] - address, one.end)
        if not len(values) or (values != one.end).any():
            continue
        where = "" if len(values) == 1 else f" in all {len(values):,} elements"
        yield (
            f"{kernel.name}: {_NAMES[one.operation]} in line {one.line} cannot change {name}, "
            f"which holds {one.end}{where}{_ENDS.get(one.operation, '')}. Set it to another value "
            "before the launch"
        )


def _values(address: int, nbytes: int, end: np.integer) -> np.ndarray:
    """Return the elements of an array, of the type of `end`; none if it is large, or unset."""
    nbytes -= nbytes % end.nbytes
    if nbytes > _MOST_BYTES or memory.written(address, nbytes) < nbytes:
        nbytes = 0
    values = np.empty(nbytes // end.nbytes, end.dtype)
    memory.read(values, address, nbytes)
    return values


def _found(kernel: Kernel) -> Iterator[_Update]:
    """Yield the updates of arrays that the kernel changes by atomics of one kind alone."""
    if "atom." not in kernel.compiled.ptx and "red." not in kernel.compiled.ptx:
        return  # most kernels, and each launch asks
    updates, changes = (
        np.flatnonzero(np.isin(kernel.program.instructions["operation"], operations)).tolist()
        for operations in _operations()
    )
    if not updates:
        return
    lines = kernel.compiled.ptx.split("\n")
    writes: dict[object, dict[str, int]] = {}  # by array: the operations, and an instruction
    for pc in changes:
        found = _WRITE.match(lines[int(kernel.program.ptx_lines[pc]) - 1])
        if found is not None and any(space in found[2] for space in (_SHARED, _LOCAL, _PARAMETER)):
            continue
        roots = arrays_of(kernel, pc)
        if found is None or not roots:
            return
        writes.setdefault(roots[0], {}).setdefault(found[2], pc)
    for root, operations in writes.items():
        update = _UPDATE.search(next(iter(operations)))
        if len(operations) == 1 and update is not None and isinstance(root, int | str):
            line = kernel.places.line_of(next(iter(operations.values())))
            yield _Update(update[1], _end(*update.groups()), root, line)


@cache
def _operations() -> tuple[list[int], list[int]]:
    """Return the numbers of the atomics that have an end, and of all changes of memory."""
    names = dict(enumerate(operation_names()))
    updates = [k for k, name in names.items() if name.removeprefix("atom.") in _NAMES]
    changes = [k for k, name in names.items() if name.startswith(("st", "atom.", "red."))]
    return updates, changes


def _end(operation: str, sign: str, bits: str) -> np.integer:
    """Return the number that an atomic leaves as it is."""
    dtype = np.dtype(f"{'i' if sign == 's' else 'u'}{int(bits) // 8}")
    if operation in ("min", "max"):
        return dtype.type(getattr(np.iinfo(dtype), operation))
    return dtype.type(0) if operation == "and" else ~dtype.type(0)
