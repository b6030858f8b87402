"""In the box: run a student's Python, and write down what it made as plain values. It imports the
standard library and NumPy.

The job names a function of the student's and the calls to make; DRIVERS says how each kind of
exercise calls it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import subprocess
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Errors = tuple[type[Exception], ...]
MOST = 1 << 20  # bytes of an answer
MOST_IN_A_LIST, MOST_DEEP = 2_000, 4  # of a list that a function returns


def run(message: bytes, answer: int) -> None:
    """Run a job, and write its answer into the file descriptor."""
    length = int.from_bytes(message[:8], "little")
    job = json.loads(message[8 : 8 + length])
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.suppress(ImportError):
        import numpy

        space["np"] = numpy
    try:
        if job["driver"] == "cpp":
            return _write(answer, _cpp(job))
        exec(compile(job["text"], "your cell", "exec"), space)
        function = space.get(job["function"])
        if not callable(function):
            made: dict[str, Any] = {
                "kind": "compile",
                "said": f"NameError: the cell must define {job['function']!r}",
            }
        else:
            made = {"made": DRIVERS[job["driver"]](function, job["calls"])}
    except MemoryError:
        raise
    except BaseException as error:  # SystemExit, too, is an answer of the student's
        made = {
            "kind": "compile" if isinstance(error, SyntaxError | NameError) else "refused",
            "said": _where(error),
        }
    return _write(answer, made)


def _write(answer: int, made: dict[str, Any]) -> None:
    text = json.dumps(made, default=str).encode()[:MOST]
    with os.fdopen(answer, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)


def _cpp(job: dict[str, Any]) -> dict[str, Any]:
    """Compile C++ here, and call its function on arrays between cells of NaN."""
    import numpy as np

    with open("yours.cpp", "w", encoding="utf-8") as file:
        file.write(job["text"])
    command = ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", "yours.cpp", "-o", "./yours.so"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        return {"made": {"said": done.stderr[:4_000]}}
    library = ctypes.CDLL("./yours.so")
    try:
        function = getattr(library, job["function"] if job["function"] != "mine" else "conv1d")
    except AttributeError:
        return {
            "made": {
                "said": "the C++ text defines no function conv1d; expected "
                'extern "C" void conv1d(...)'
            }
        }
    function.restype = None

    def call(P: Any, N: Any, filter: Any) -> None:
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (P, N, filter))
        function(*pointers, ctypes.c_longlong(N.size), ctypes.c_longlong(filter.size))

    made: dict[str, Any] = {"P": [], "outside": [], "overlapped": []}
    for case in job["calls"]["plain"]:
        N, filter = (np.pad(np.float32(a), MARGIN, constant_values=np.nan) for a in case)
        P = np.full_like(N, UNSET)
        inner = slice(MARGIN, -MARGIN)
        call(P[inner], N[inner], filter[inner])
        made["P"].append([float(v) for v in P[inner]])
        made["outside"].append(bool((P[:MARGIN] != UNSET).any() or (P[-MARGIN:] != UNSET).any()))
    # The last output lies in the first cell of N: which loop is outside shows in the first outputs.
    for case in job["calls"]["overlapped"]:
        N, filter = (np.array(a, np.float32) for a in case)
        n = N.size
        cells = np.zeros(2 * n - 1 + 2 * MARGIN, np.float32)
        P, there = cells[MARGIN : MARGIN + n], cells[MARGIN + n - 1 : MARGIN + 2 * n - 1]
        there[:] = N
        call(P, there, filter)
        made["overlapped"].append([float(v) for v in P])
    return {"made": made}


MARGIN = 64  # cells of NaN on either side of each array
UNSET = -12_345_678.0  # as helpers.exercises.content.loops_swapped.program has it


def _where(error: BaseException) -> str:
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "your cell":
            line = trace.tb_lineno
        trace = trace.tb_next
    said = f"{type(error).__name__}: {error}"[:2_000]
    return f"line {line}: {said}" if line else said


def _costs(function: Any, calls: Any) -> dict[str, Any]:
    """Return what function(shape, width, seen) gives, with `shape` and `seen` as objects that have
    the attributes given.
    """

    def costs(name: str) -> list[float]:
        return [
            float(function(_Attributes(shape), width, _Attributes(seen)))
            for shape, width, seen in calls[name]
        ]

    made = {"known": costs("known"), "larger": [], "untimed": [], "said": ""}
    try:
        larger, untimed = costs("larger"), costs("untimed")
    except (KeyError, IndexError) as error:  # of a table that has no such layer
        return {**made, "said": f"{type(error).__name__}: {error}"}
    return {**made, "larger": larger, "untimed": untimed}


class _Attributes(SimpleNamespace):
    """Attributes by name; one that is not there is told with those that are."""

    def __init__(self, values: dict[str, Any]):
        super().__init__(**values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"there is no {name!r}; there are {', '.join(sorted(vars(self)))}")


class _Log:
    """Writes down what is enqueued."""

    MOST = 10_000

    def __init__(self) -> None:
        self._events = 0
        self.log: list[list[Any]] = []

    def _add(self, entry: list[Any]) -> None:
        if len(self.log) >= self.MOST:
            raise RuntimeError(f"more than {self.MOST:,} calls: does a loop not end?")
        self.log.append(entry)


class _Pipe(_Log):
    """A pipeline that writes down what is enqueued: helpers.problems.streams.Pipeline runs it,
    elsewhere.
    """

    def __init__(self, pieces: int, buffers: int):
        super().__init__()
        self.pieces, self.buffers = pieces, buffers
        self._streams: list[Any] = []

    def streams(self, count: int) -> tuple[Any, ...]:
        while len(self._streams) < min(int(count), 64):
            self._streams.append(_Stream(self, len(self._streams)))
        self._add(["streams", len(self._streams)])
        return tuple(self._streams[: int(count)])

    def event(self) -> Any:
        return _Event(self, None)

    def _work(self, row: str, piece: int, stream: Any) -> Any:
        if not 0 <= int(piece) < self.pieces:
            raise IndexError(
                f"there is no piece {piece}: pieces have the numbers 0 to {self.pieces - 1}"
            )
        event = _Event(self, self._events)
        self._events += 1
        self._add([row, int(piece), stream.number, event.number])
        return event

    def h2d(self, piece: int, stream: Any) -> Any:
        return self._work("h2d", piece, stream)

    def kernel(self, piece: int, stream: Any) -> Any:
        return self._work("kernel", piece, stream)

    def d2h(self, piece: int, stream: Any) -> Any:
        return self._work("d2h", piece, stream)


class _Stream:
    def __init__(self, pipe: _Pipe, number: int):
        self.pipe, self.number = pipe, number

    def wait_for_event(self, event: Any) -> None:
        if event.number is not None:
            self.pipe._add(["wait", self.number, event.number])

    def synchronize(self) -> None:
        self.pipe._add(["host waits"])


class _Event:
    def __init__(self, pipe: _Pipe, number: int | None):
        self.pipe, self.number = pipe, number

    def record(self, stream: Any) -> Any:
        self.number = self.pipe._events
        self.pipe._events += 1
        self.pipe._add(["record", stream.number, self.number])
        return self

    def synchronize(self) -> None:
        self.pipe._add(["host waits"])


def _orders(function: Any, calls: list[Any]) -> list[Any]:
    made = []
    for pieces, buffers in calls:
        pipe = _Pipe(pieces, buffers)
        function(pipe)
        made.append(pipe.log)
    return made


class _Cards(_Log):
    """Cards that write down what is enqueued: helpers.cards.Exchange runs it, elsewhere."""

    MOST = 1_000

    def __init__(self, count: int):
        super().__init__()
        self.count = count
        self.streams = tuple(_CardStream(self, card) for card in range(count))

    def _event(self, what: str, *rest: Any) -> Any:
        event = _CardEvent(self, self._events)
        self._events += 1
        self._add([what, event.number, *rest])
        return event

    def _card(self, card: Any) -> int:
        if not 0 <= int(card) < self.count:
            raise IndexError(
                f"there is no card {card}: cards have the numbers 0 to {self.count - 1}"
            )
        return int(card)

    @staticmethod
    def _cells(part: Any) -> list[int] | None:
        return None if part is None else [int(part[0]), int(part[1])]

    def give(self, source: int, target: int, part: Any = None, stream: Any = None) -> Any:
        return self._copy("give", source, target, part, stream)

    def put(self, source: int, target: int, part: Any = None, stream: Any = None) -> Any:
        return self._copy("put", source, target, part, stream)

    def _copy(self, what: str, source: int, target: int, part: Any, stream: Any) -> Any:
        number = None if stream is None else stream.number
        places = self._card(source), self._card(target)
        return self._event(what, *places, self._cells(part), number)

    def add(self, card: int, part: Any = None) -> Any:
        return self._event("add", self._card(card), self._cells(part))

    def event(self, stream: Any) -> Any:
        return self._event("event", stream.number)


class _CardStream:
    def __init__(self, cards: _Cards, number: int):
        self.cards, self.number = cards, number

    def wait_for_event(self, event: Any) -> None:
        self.cards._add(["wait", self.number, event.number])

    def synchronize(self) -> None:
        self.cards._add(["host waits", self.number])


class _CardEvent:
    def __init__(self, cards: _Cards, number: int):
        self.cards, self.number = cards, number

    def synchronize(self) -> None:
        self.cards._add(["host waits for", self.number])


def _sums(function: Any, calls: list[Any]) -> list[Any]:
    made = []
    for count, steps in calls:
        cards, logs = _Cards(count), []
        for _ in range(steps):
            cards.log = []
            function(cards)
            logs.append(cards.log)
        made.append(logs)
    return made


def _values(function: Any, calls: list[list[Any]], told: Errors = ()) -> list[Any]:
    """Return what a function returns for each row of arguments, in plain form; the text of an error
    that is to be told for its own row.
    """
    found = []
    for row in calls:
        try:
            found.append(_plain(function(*row)))
        except told as error:
            found.append(f"{type(error).__name__}: {error}"[:200])
    return found


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a number or a text, and lists of them; what is none of these as a text."""
    value = value.tolist() if hasattr(value, "tolist") else value  # of NumPy
    if isinstance(value, list | tuple) and depth < MOST_DEEP:
        return [_plain(one, depth + 1) for one in value[:MOST_IN_A_LIST]]
    if value is None or isinstance(value, bool | float | str):
        return value[:200] if isinstance(value, str) else value
    return int(value) if _is_whole(value) and abs(value) < 2**63 else repr(value)[:200]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or type(value).__name__.startswith(("int", "uint"))


DRIVERS: dict[str, Callable[[Any, Any], Any]] = {
    "costs": _costs, "orders": _orders, "sums": _sums, "values": _values,
    "values or errors": functools.partial(_values, told=(IndexError, TypeError, ValueError)),
    "pictures": lambda function, pictures: function(pictures),  # of the grader's own: pictures.py
}  # fmt: skip
