"""What a launch asks of each resource, at least."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from helpers.quantities import quantity

from ..compile.toolchain import CompileFailed
from ..machine import library
from ..machine.architecture import (
    MAX_BLOCKS_PER_MULTIPROCESSOR,
    MAX_THREADS_PER_MULTIPROCESSOR,
    REGISTER_UNIT,
    REGISTERS,
    RESERVED_SHARED,
    SHARED_PER_MULTIPROCESSOR,
    WARP_SIZE,
)
from ..program import assembly
from ..program.module import Kernel
from ..ptx.listing import Instruction
from ..ptx.opcodes import GLOBAL_SPACE, LOCAL_SPACE, NO_COUNT, SHARED_SPACE
from . import machine_code
from .machine_code import Anchor, Code

SECTORS_A_PASS = 4

# Machine instructions by what they need. A guarded one may be issued for no lane, and then only
# takes its slot. Kinds that no kernel of kernels/rates/ measures are not counted.
_CLASSES = {
    "fp32": ("FFMA", "FADD", "FMUL"),
    "fp64": ("DFMA", "DADD", "DMUL"),
    "half": ("HFMA2", "HADD2", "HMUL2"),
    "integer": ("IADD3", "LOP3", "SHF", "VIMNMX"),
    "special": ("MUFU",),
    "shuffle": ("SHFL",),
}
_LSU = (
    "LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST", "ATOM", "ATOMG", "ATOMS", "RED", "REDG",
    "LDSM", "STSM", "LDGSTS",
)
_MOVES = ("MOV", "IADD", "SHL")  # of IMAD: not measured

# Operations of PTX that ptxas neither leaves out nor makes once for many: by the beginning of the
# name, the machine instructions that they become.
_KEPT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("fma.f32", ("FFMA",)),
    ("fma.f64", ("DFMA",)),
    ("fma.f16", ("HFMA2",)),
    ("mma.", ("HMMA", "IMMA", "DMMA")),
    ("wmma.mma", ("HMMA", "IMMA", "DMMA")),
    ("shfl.", ("SHFL",)),
    ("bar.", ("BAR",)),
    ("atom.", ("ATOM", "ATOMG", "ATOMS", "RED", "REDG")),
    ("ldmatrix", ("LDSM",)),
)
_MEMORY = {
    ("ld", GLOBAL_SPACE): ("LDG", "LD"), ("ld", SHARED_SPACE): ("LDS", "LD"),
    ("ld", LOCAL_SPACE): ("LDL", "LD"), ("st", GLOBAL_SPACE): ("STG", "ST"),
    ("st", SHARED_SPACE): ("STS", "ST"), ("st", LOCAL_SPACE): ("STL", "ST"),
}
_SHAPE = re.compile(r"\bm(\d+)n(\d+)k(\d+)")
_MMA_TYPES = {
    "f16": "tensor_half", "bf16": "tensor_half", "tf32": "tensor_tf32", "f64": "tensor_fp64",
    "s8": "tensor_int8", "u8": "tensor_int8",
}


@dataclass(frozen=True)
class Counts:
    """What was counted of a launch, and what is known of its kernel.

    executed: by instruction of the kernel's program, warps that executed it; totals: the counters
    that bounds are made of, by name; elements: of the arrays in global memory, by name.
    """

    kernel: Kernel = field(repr=False)
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    executed: np.ndarray = field(repr=False)
    totals: Mapping[str, float]
    elements: Mapping[str, int] = field(default_factory=dict)

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def warps(self) -> int:
        return self.blocks * -(-math.prod(self.block) // WARP_SIZE)

    @property
    def blocks_at_a_time(self) -> int | None:
        """Blocks that a multiprocessor holds at once, by registers, shared memory and threads as
        ptxas gives them; None where ptxas is not installed."""
        return min(self._held_by.values()) if self._held_by else None

    @cached_property
    def _held_by(self) -> dict[str, int]:
        """How many blocks each resource of a multiprocessor is enough for, by its name; empty where
        ptxas is not installed."""
        found = self.kernel.resources
        if found is None:
            return {}
        registers = -(-found.registers // REGISTER_UNIT) * REGISTER_UNIT
        shared = found.shared_bytes + self.dynamic_shared + RESERVED_SHARED
        return {
            "blocks": MAX_BLOCKS_PER_MULTIPROCESSOR,
            "threads": MAX_THREADS_PER_MULTIPROCESSOR // self._threads,
            "registers": REGISTERS // (max(registers, 1) * self._threads),
            "shared memory": SHARED_PER_MULTIPROCESSOR // shared,
        }

    @property
    def _threads(self) -> int:
        """The threads of a block in whole warps."""
        return -(-math.prod(self.block) // WARP_SIZE) * WARP_SIZE

    @property
    def residence(self) -> str:
        """Which resource limits the blocks that a multiprocessor holds at once, and how much less
        of it makes room for one more; "" where that is not known."""
        found, held = self.kernel.resources, self.blocks_at_a_time
        if found is None or held is None:
            return ""
        warps = held * self._threads // WARP_SIZE
        most = MAX_THREADS_PER_MULTIPROCESSOR // WARP_SIZE
        first = (
            f"A multiprocessor holds {quantity(held, 'block')} at once, {warps} of {most} warps, "
        )
        limits = [name for name, blocks in self._held_by.items() if blocks == held]
        if warps == most:
            return f"{first}which is all that it can."
        wanted = []
        if "registers" in limits:
            unit = REGISTERS // ((held + 1) * self._threads) // REGISTER_UNIT * REGISTER_UNIT
            wanted.append(f"{unit} registers a thread at most (now {found.registers})")
        if "shared memory" in limits:
            now = found.shared_bytes + self.dynamic_shared
            room = SHARED_PER_MULTIPROCESSOR // (held + 1) - RESERVED_SHARED
            wanted.append(f"{room:,} bytes of shared memory a block at most (now {now:,})")
        if "threads" in limits:
            wanted.append(f"{MAX_THREADS_PER_MULTIPROCESSOR // (held + 1)} threads a block at most")
        if "blocks" in limits:
            return f"{first}and never more blocks: larger blocks would fill it."
        return f"{first}limited by {' and '.join(limits)}: one more needs {', and '.join(wanted)}."

    def at(
        self,
        other: Counts,
        grid: tuple[int, int, int],
        sizes: tuple[float, float, float] | None = None,
    ) -> Counts:
        """Return the same launch on another grid, from two launches of which one has more to do:
        every count is taken for a straight line.

        sizes: of the problem here, of the other's, and of the one wanted, such as 2, 4 and 10,000
        images; where it is left out, the numbers of blocks. A straight line is right where a
        launch of more blocks does what one of fewer does, and the same again for each further
        block: more images of a layer, a longer array. Test it with a third size. Raises ValueError
        for launches of different kernels or blocks, and where the two have one size.
        """
        mine, theirs = self.kernel.compiled, other.kernel.compiled
        if (mine.ptx, self.kernel.mangled) != (theirs.ptx, other.kernel.mangled):
            raise ValueError(f"{self.kernel.name} and {other.kernel.name} are different code")
        here, there, wanted = sizes or (self.blocks, other.blocks, math.prod(grid))
        if self.block != other.block or here == there:
            raise ValueError(
                f"the launches have sizes {here:,} and {there:,}, and blocks of {self.block} and "
                f"{other.block}: give two of different sizes with equal blocks"
            )
        share = (wanted - here) / (there - here)
        totals = {
            name: value + share * (other.totals[name] - value)
            for name, value in self.totals.items()
        }
        first, second = self.executed.astype(np.float64), other.executed.astype(np.float64)
        return replace(self, grid=grid, executed=first + share * (second - first), totals=totals)

    @cached_property
    def code(self) -> Code | None:
        """The kernel's machine code; None where ptxas or nvdisasm is not installed."""
        try:
            listing = assembly.with_lines_of_ptx(self.kernel.compiled)
        except CompileFailed:
            return None
        return None if listing is None else machine_code.read(listing, self.kernel.mangled)

    @cached_property
    def anchors(self) -> tuple[Anchor, ...]:
        """What of the machine code must be executed so often."""
        return tuple(_anchors(self, self.code)) if self.code is not None else ()

    @cached_property
    def _least(self) -> dict[str, float]:
        """What the machine code executes at least, by the kinds of _WEIGHTS."""
        if self.code is not None:
            # Should the counts not fit the code, what is sure without it is left.
            with contextlib.suppress(ArithmeticError):
                weights = machine_code.least(self.code, self.warps, self.anchors, _WEIGHTS.values())
                return dict(zip(_WEIGHTS, weights, strict=True))
        return dict.fromkeys(_WEIGHTS, 0.0)

    @property
    def local_passes(self) -> float:
        """Accesses of warps to local memory, at least: of a thread's arrays, and of values that
        lack a register."""
        return self._least["local"]

    @cached_property
    def asks(self) -> dict[str, float]:
        """By resource: what the launch asks of it, at least. Units as in RESOURCES; DRAM apart."""
        found = dict(self._least)
        total = self.totals
        local = found.pop("local")
        sectors = total["global_load_sectors"]
        requests = total["global_load_requests"]
        wavefronts = total["shared_wavefronts"]
        stores = total["global_store_requests"] + total["global_atomic_requests"]
        found["l1"] = sectors + SECTORS_A_PASS * local
        found["shared"] = wavefronts
        found["l1_data"] = wavefronts + max(requests, sectors / SECTORS_A_PASS) + local
        found["lsu"] = max(found["lsu"], requests + stores + total["shared_requests"])
        found["l2_read"] = total["sectors_read"]
        found["l2_write"] = total["sectors_written"]
        found["atomics"] = total["global_atomic_sectors"]
        found["constant"] += total["constant_replays"]
        for name, amount in _by_ptx(self).items():
            found[name] = max(found[name], amount)
        found |= _tensor(self)
        found |= {"blocks": float(self.blocks), "warps": float(self.warps), "launches": 1.0}
        return found


# ---- by the machine code ----


def _in(*roots: str) -> Callable[[Instruction], float]:
    return lambda one: float(one.root in roots and not one.guarded)


def _issued(one: Instruction) -> float:
    return float(one.root != "NOP")


def _product(one: Instruction) -> float:
    moves = any(part in _MOVES for part in one.opcode.split(".")[1:])
    return float(one.root == "IMAD" and not moves and not one.guarded)


def _constant(one: Instruction) -> float:
    # "c[0x3][R4+0x10]": the place is only known at run time.
    return float(one.root == "LDC" and re.search(r"c\[\w+\]\[R\d", one.operands) is not None)


_WEIGHTS: dict[str, Callable[[Instruction], float]] = {
    "issue": _issued,
    **{name: _in(*roots) for name, roots in _CLASSES.items()},
    "product": _product,
    "constant": _constant,
    "lsu": _in(*_LSU),
    "local": _in("LDL", "STL"),
}


def _anchors(counts: Counts, code: Code) -> Iterator[Anchor]:
    program, names = counts.kernel.counted, library.operation_names()
    lines = machine_code.by_line(code)
    rows = np.flatnonzero(counts.executed)
    instructions = program.instructions
    fields = {name: instructions[name] for name in ("operation", "space", "bytes", "elements")}
    # Rows of one line stand for one instruction of PTX: the most frequent counts.
    wanted: dict[tuple[int, tuple[str, ...]], tuple[float, float]] = {}
    for row in rows.tolist():
        name = names[fields["operation"][row]]
        line = int(program.ptx_lines[row])
        roots, needed = _becomes(name, int(fields["space"][row])), 0.0
        if not roots or not line or instructions["flags"][row] & NO_COUNT:
            continue
        if name in ("ld", "st"):
            if not program.by_machine_code[row] and int(fields["space"][row]) != LOCAL_SPACE:
                continue
            needed = _bytes(instructions[row])
        times = float(counts.executed[row])
        key = (line, roots)
        if key not in wanted or times > wanted[key][0]:
            wanted[key] = times, needed
    for (line, roots), (times, needed) in wanted.items():
        shares = []
        for block, one in lines.get(line, ()):
            if one.root in roots:
                # What a wide access moves may stand for several executions of a narrow one, and
                # several narrow ones for one of a wide one.
                shares.append((block, max(1.0, one.bytes / needed) if needed else 1.0))
        if not shares:
            continue
        if needed and all(share == 1.0 for _, share in shares):
            widest = max(one.bytes for _, one in lines[line] if one.root in roots)
            times *= max(1.0, needed / widest)
        yield Anchor(tuple(shares), times)


def _becomes(name: str, space: int) -> tuple[str, ...]:
    if name in ("ld", "st"):
        return _MEMORY.get((name, space), ())
    return next((roots for start, roots in _KEPT if name.startswith(start)), ())


def _bytes(instruction: np.void) -> float:
    """Return bytes that a lane moves by an access, as it is counted."""
    join = int(instruction["join"])
    if join <= 0:
        return float(instruction["bytes"]) * float(instruction["elements"])
    return float((join & 0xFF) + (join >> 8 & 0xFF))


# ---- by the PTX alone ----


def _by_ptx(counts: Counts) -> dict[str, float]:
    """Return what is sure without the machine code: operations that ptxas keeps. It may join a
    product and a sum, so that the larger number of the two counts.
    """
    done: dict[str, float] = {}
    for number, times in zip(
        counts.kernel.counted.instructions["operation"].tolist(), counts.executed, strict=True
    ):
        name = library.operation_names()[number]
        done[name] = done.get(name, 0.0) + float(times)
    found = {}
    for resource, kind in (("fp32", "f32"), ("fp64", "f64"), ("half", "f16x2")):
        sums, products = done.get(f"add.{kind}", 0.0), done.get(f"mul.{kind}", 0.0)
        found[resource] = done.get(f"fma.{kind}", 0.0) + max(sums, products)
    found["shuffle"] = sum(times for name, times in done.items() if name.startswith("shfl."))
    found["issue"] = sum(found.values())
    return found


def _tensor(counts: Counts) -> dict[str, float]:
    """Return the operations of the tensor cores, by the type of the factors."""
    found: dict[str, float] = dict.fromkeys(_MMA_TYPES.values(), 0.0)
    names = library.operation_names()
    operation = counts.kernel.counted.instructions["operation"]
    for row in np.flatnonzero(counts.executed).tolist():
        name = names[operation[row]]
        if not name.startswith(("mma.", "wmma.mma")) or not (shape := _SHAPE.search(name)):
            continue
        kinds = [part for part in name.split(".") if part in _MMA_TYPES or part == "f32"]
        factors = kinds[1] if name.startswith("mma.") and len(kinds) > 1 else _factor(kinds)
        if factors in _MMA_TYPES:
            size = math.prod(map(int, shape.groups()))
            found[_MMA_TYPES[factors]] += 2.0 * size * float(counts.executed[row])
    return found


def _factor(kinds: list[str]) -> str:
    """Return the type of the factors among those of a wmma: the narrowest; halves where only sums
    are named.
    """
    for kind in ("s8", "u8", "bf16", "tf32", "f64"):
        if kind in kinds:
            return kind
    return "f16"
