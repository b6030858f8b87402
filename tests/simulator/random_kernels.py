"""Random kernels of loads, stores, atomics and barriers, and which pairs of their lines race.

A kernel is a list of statements, one a line. `Kernel.races` works out by happens-before which of
them collide: it knows nothing of the simulator or of a compiler. Two accesses collide if two
threads make them to one element, at least one is a store or an atomic, not both are atomics, not
both store the same value, and nothing orders them. `__syncthreads()` orders the threads of a block,
`__syncwarp()` those of a warp, and nothing orders two blocks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

THREADS, CELLS, BLOCKS, TURNS = 64, 64, 2, 3
WARP = 32
SCALARS, ARRAYS = ("f", "h"), ("a", "b")
PARAMETERS = "int* y, int* g, int* c, const int* x, int n"

Index = Callable[[int, int, int], int]  # of block, thread and turn of the loop around


@dataclass(frozen=True)
class Access:
    """One access of a statement. kind: "load", "store" or "atomic"; own: each thread stores another
    value, else all of them store the same, as all such statements do; text: of the element.
    """

    kind: str
    array: str
    text: str
    index: Index
    own: bool = True


@dataclass(frozen=True)
class Line:
    """A line of a kernel. sync: "block" or "warp" if it is a barrier; opens: "for" or "if" around
    the lines up to the one that closes.
    """

    text: str
    accesses: tuple[Access, ...] = ()
    guard: Index = lambda b, t, i: 1
    sync: str = ""
    opens: str = ""
    closes: bool = False


@dataclass(frozen=True)
class Event:
    """One access of one thread. block_time, warp_time: how many barriers of the block and of the
    warp it had passed; value: what a store stores.
    """

    line: int
    kind: str
    block: int
    thread: int
    block_time: int
    warp_time: int
    value: object


@dataclass
class Kernel:
    """A kernel as text, from its `__global__` to its last brace."""

    name: str
    lines: list[Line]
    first: int = field(default=0)  # the number of its first line in the source

    def text(self) -> str:
        indent, rows = 1, []
        for line in self.lines:
            indent -= line.closes
            rows.append("    " * indent + line.text)
            indent += bool(line.opens)
        return "\n".join([f'extern "C" __global__ void {self.name}({PARAMETERS}) {{', *rows, "}"])

    def events(self) -> dict[tuple, list[Event]]:
        """Returns the accesses to each element: (array, block or -1, index) -> events."""
        cells: dict[tuple, list[Event]] = {}
        block_time = warp_time = 0
        for number, turn in _order(self.lines, 0, len(self.lines), 0):
            line = self.lines[number]
            block_time += line.sync == "block"
            warp_time += line.sync != ""
            for block in range(BLOCKS):
                for thread in range(THREADS):
                    if not line.guard(block, thread, turn):
                        continue
                    for access in line.accesses:
                        shared = access.array in (*SCALARS, *ARRAYS)
                        cell = access.index(block, thread, turn)
                        value = (number, block, thread) if access.own else 7
                        cells.setdefault((access.array, block if shared else -1, cell), []).append(
                            Event(number, access.kind, block, thread, block_time, warp_time, value)
                        )
        return cells

    def races(self, certain: bool = False) -> dict[str, set[frozenset[int]]]:
        """Returns the pairs of lines of the source that race, by array. certain: without loads that
        may find the value that a store repeats.
        """
        found: dict[str, set[frozenset[int]]] = {}
        for (array, *_), events in self.events().items():
            for one, other in _unordered(events):
                if _conflict(one, other) and not (certain and _may_repeat(one, other)):
                    pair = frozenset((one.line + self.first + 1, other.line + self.first + 1))
                    found.setdefault(array, set()).add(pair)
        return found


def _unordered(events: list[Event]) -> Iterator[tuple[Event, Event]]:
    """Yields pairs of events of two threads that nothing orders: for every two lines some, if there
    are any.
    """
    # Two threads stand for all of a warp that do the same in the same interval.
    alike: dict[tuple, dict[int, Event]] = {}
    for e in events:
        key = (e.line, e.kind, e.block, e.thread // WARP, e.block_time, e.warp_time, e.value == 7)
        threads = alike.setdefault(key, {})
        if len(threads) < 2:
            threads[e.thread] = e
    for one, other in combinations([e for group in alike.values() for e in group.values()], 2):
        if one.block == other.block:
            if one.thread == other.thread or one.block_time != other.block_time:
                continue
            if one.thread // WARP == other.thread // WARP and one.warp_time != other.warp_time:
                continue
        yield one, other


def _order(lines: list[Line], start: int, end: int, turn: int) -> Iterator[tuple[int, int]]:
    """Yields (line, turn of its loop) in the order of execution."""
    at = start
    while at < end:
        line = lines[at]
        yield at, turn
        if line.opens:
            last = next(k for k in range(at, end) if lines[k].closes)
            for inner in range(TURNS if line.opens == "for" else 1):
                yield from _order(lines, at + 1, last, inner if line.opens == "for" else turn)
            at = last
        at += 1


def _conflict(one: Event, other: Event) -> bool:
    kinds = {one.kind, other.kind}
    if kinds == {"store"}:
        return one.value != other.value
    return len(kinds) > 1


def _may_repeat(one: Event, other: Event) -> bool:
    return {one.kind, other.kind} == {"load", "store"} and 7 in (one.value, other.value)


# ---- drawing ----


def draw(name: str, seed: int, right: bool) -> Kernel:
    """Returns a random kernel. right: it has a barrier wherever one is needed, and no access that
    no barrier can order; else some barriers are missing, so that most such kernels race.
    """
    dice = random.Random(seed)
    lines = [Line(f"__shared__ int {name};") for name in SCALARS]
    lines += [Line(f"__shared__ int {name}[{CELLS}];") for name in ARRAYS]
    lines += [Line("const int t = threadIdx.x, w = blockIdx.x; int v = 0;")]
    kernel = Kernel(name, lines)
    for array in SCALARS:
        lines.append(_statement(dice, len(lines), "store", array, first=True))
    for array in ARRAYS:
        lines.append(_statement(dice, len(lines), "store", array, first=True))
    if right or dice.random() < 0.8:
        lines.append(Line("__syncthreads();", sync="block"))
    inside = 0  # lines of the body that is open
    for _ in range(dice.randint(4, 10)):
        if not inside and dice.random() < 0.2:
            loop = dice.random() < 0.6
            head = f"for (int i = 0; i < n; ++i) {{ // {TURNS}" if loop else "if (n > 1) {"
            lines.append(Line(head, opens="for" if loop else "if"))
            inside = dice.randint(2, 4)
        _add(dice, kernel, right)
        if inside:
            inside -= 1
            if not inside:
                _close(dice, kernel, right)
    if inside:
        _close(dice, kernel, right)
    mine = Access("store", "y", "y[w * 64 + t]", lambda b, t, i: b * THREADS + t)
    lines.append(Line("y[w * 64 + t] = v;", (mine,)))
    return kernel


def _add(dice: random.Random, kernel: Kernel, right: bool) -> None:
    """Adds a random statement, behind a barrier if a right kernel needs one."""
    if not right:
        if dice.random() < 0.25:
            kernel.lines.append(_barrier(dice.choice(["block", "block", "warp"])))
        kernel.lines.append(_statement(dice, len(kernel.lines)))
        return
    for _ in range(20):
        length = len(kernel.lines)
        for before in ("", "warp", "block"):
            kernel.lines += [_barrier(before)] if before else []
            state = dice.getstate()
            kernel.lines.append(_statement(dice, 1000 + length))
            if not _open(kernel).races():
                return
            del kernel.lines[length:]
            if before != "block":
                dice.setstate(state)


def _close(dice: random.Random, kernel: Kernel, right: bool) -> None:
    """Ends a body; in a right kernel a barrier orders its turns if they need one."""
    length = len(kernel.lines)
    kernel.lines.append(Line("}", closes=True))
    if right and kernel.races():
        kernel.lines[length:] = [_barrier("block"), Line("}", closes=True)]


def _open(kernel: Kernel) -> Kernel:
    """Returns the kernel so far, with the body that is open closed behind a barrier."""
    lines = kernel.lines
    is_open = sum(bool(line.opens) for line in lines) > sum(line.closes for line in lines)
    tail = [_barrier("block"), Line("}", closes=True)] if is_open else []
    return Kernel(kernel.name, [*lines, *tail])


def _barrier(kind: str) -> Line:
    return Line("__syncthreads();" if kind == "block" else "__syncwarp();", sync=kind)


def _guard(dice: random.Random) -> tuple[str, Index]:
    """Returns a condition as text and as a function."""
    c, m = dice.randrange(THREADS), dice.choice([2, 4, 32])
    r = dice.randrange(m)
    return dice.choice([
        (f"t == {c}", lambda b, t, i: t == c),
        (f"t == {c}", lambda b, t, i: t == c),
        (f"t < {c}", lambda b, t, i: t < c),
        (f"t >= {c}", lambda b, t, i: t >= c),
        (f"t % {m} == {r}", lambda b, t, i: t % m == r),
        (f"x[t] == {r}", lambda b, t, i: t % 5 == r),
        (f"t == {c} && x[t] != 9", lambda b, t, i: t == c),
    ])  # fmt: skip


def _index(dice: random.Random, array: str) -> tuple[str, Index]:
    """Returns the index of an element as text and as a function."""
    k, c = dice.choice([0, 0, 1, 5, 32]), dice.randrange(CELLS)
    text, index = dice.choice([
        ("t", lambda b, t, i: t),
        (f"(t + {k}) % 64", lambda b, t, i: (t + k) % CELLS),
        (f"(t + {k}) % 64", lambda b, t, i: (t + k) % CELLS),
        ("63 - t", lambda b, t, i: CELLS - 1 - t),
        (f"{c}", lambda b, t, i: c),
        ("t / 2", lambda b, t, i: t // 2),
    ])  # fmt: skip
    if array == "g":  # each block has a part of its own
        return f"w * 64 + {text}", lambda b, t, i: b * CELLS + index(b, t, i)
    return text, index


def _element(dice: random.Random, array: str) -> tuple[str, Index]:
    if array in SCALARS:
        return array, lambda b, t, i: 0
    text, index = _index(dice, array)
    return f"{array}[{text}]", index


def _statement(
    dice: random.Random, number: int, kind: str = "", array: str = "", first: bool = False
) -> Line:
    """Returns a random statement. first: it sets all elements of an array."""
    arrays = [*SCALARS, *SCALARS, *ARRAYS, "g", "c"]
    array = array or dice.choice(arrays)
    kind = kind or dice.choice(["load", "load", "choice", "store", "store", "atomic", "move"])
    text, index = _element(dice, array)
    if first:
        who = dice.randrange(THREADS)
        if array in SCALARS:
            store = Access("store", array, array, index)
            return Line(f"if (t == {who}) {array} = 0;", (store,), lambda b, t, i: t == who)
        store = Access("store", array, f"{array}[t]", lambda b, t, i: t)
        return Line(f"{array}[t] = 0;", (store,))
    condition, guard = _guard(dice)
    if dice.random() < 0.15:
        condition, guard = "true", lambda b, t, i: 1
    if kind == "load":
        return Line(f"if ({condition}) v += {text};", (Access("load", array, text, index),), guard)
    if kind == "choice":
        return Line(
            f"v += {condition} ? {text} : {number};", (Access("load", array, text, index),), guard
        )
    if kind == "atomic":
        return Line(
            f"if ({condition}) atomicAdd(&{text}, 1);",
            (Access("atomic", array, text, index),),
            guard,
        )
    if kind == "store":
        own = dice.random() < 0.7
        value = f"{100_000 * number} + w * 64 + t" if own else "7"
        store = Access("store", array, text, index, own)
        return Line(f"if ({condition}) {text} = {value};", (store,), guard)
    from_array = dice.choice(arrays)
    from_text, from_index = _element(dice, from_array)
    accesses = (
        Access("load", from_array, from_text, from_index),
        Access("store", array, text, index),
    )
    # Its last seven bits are the thread's, so no other thread stores the same.
    value = f"{from_text} % 100 * 128 + {100_000 * number} + w * 64 + t"
    return Line(f"if ({condition}) {text} = {value};", accesses, guard)


def source_of(kernels: list[Kernel]) -> str:
    """Returns one source with these kernels, and tells each the number of its first line."""
    texts, line = [], 1
    for kernel in kernels:
        kernel.first = line
        texts.append(kernel.text())
        line += texts[-1].count("\n") + 1
    return "\n".join(texts) + "\n"
