"""Functions that call themselves, as their machine code on sm_90 parts and joins the lanes.

Addresses are bytes from the start of an array.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from order import Registers, Step, assembled

WORD = 0xFFFFFFFF


def flood(cells: np.ndarray, w: int, h: int) -> list[Step]:
    """flood_calls_itself: each lane fills a region of its picture. cells: of all pictures, flat.

    Registers at the start: t, the thread.
    """

    def start(r: Registers) -> Registers:
        return {"t": r["t"], "x": r["t"] % w, "y": r["t"] % h}

    def beside(dx: int, dy: int) -> Callable[[Registers], Registers]:
        return lambda r: {"t": r["t"], "x": r["x"] + dx, "y": r["y"] + dy}

    def outside(r: Registers) -> bool:
        return not (0 <= r["x"] < w and 0 <= r["y"] < h)

    def locate(r: Registers) -> None:
        r["address"] = (r["t"] * h + r["y"]) * w + r["x"]

    def load(r: Registers) -> None:
        r["cell"] = cells[r["address"]]

    def store(r: Registers) -> None:
        cells[r["address"]] = 2

    def locate_size(r: Registers) -> None:
        r["address"] = 4 * r["t"]

    def down(r: Registers) -> None:
        r["y"] += 1

    return assembled(
        Step("call", start, "flood"),
        Step("do", locate_size),
        Step("store", nothing),
        Step("exit"),
        "flood",
        Step("save", "B6"),
        Step("open", "B6"),
        Step("branch", outside, "end"),
        "again",
        Step("do", locate),
        Step("load", load),
        Step("branch", lambda r: r["cell"] != 1, "end"),
        Step("store", store),
        Step("call", beside(-1, 0), "flood"),
        Step("call", beside(1, 0), "flood"),
        Step("call", beside(0, -1), "flood"),
        Step("do", down),
        Step("branch", lambda r: not outside(r), "again"),
        "end",
        Step("wait", "B6"),
        Step("restore", "B6"),
        Step("return"),
    )


def quicksort(rows: np.ndarray, length: int) -> list[Step]:
    """quicksort_calls_itself, and sort_rows of order.cu: each lane sorts its row. rows: flat.

    Registers at the start: t, the thread. Marks: place 0 at the start of a call, 1 behind the
    partition.
    """

    def start(r: Registers) -> Registers:
        return {"t": r["t"], "low": 0, "high": length - 1, "depth": 0, "place": 0}

    def left(r: Registers) -> Registers:
        return {**start(r), "low": r["low"], "high": r["j"], "depth": r["depth"] + 1}

    def right(r: Registers) -> None:
        r.update(low=r["i"], depth=r["depth"] + 1, place=0)

    def split(r: Registers) -> None:
        r.update(i=r["low"], j=r["high"])

    def locate(r: Registers, index: int) -> None:
        r["address"] = 4 * (r["t"] * length + index)

    def loaded(r: Registers) -> int:
        return int(rows[r["address"] // 4])

    def load_pivot(r: Registers) -> None:
        r["pivot"] = loaded(r)

    def load_low(r: Registers) -> None:
        r.update(held=loaded(r), held_at=r["address"], i=r["next_i"], next_i=r["next_i"] + 1)

    def load_high(r: Registers) -> None:
        r.update(other=loaded(r), other_at=r["address"], j=r["next_j"], next_j=r["next_j"] - 1)

    def swaps(r: Registers) -> bool:
        return bool(r["i"] <= r["j"])

    def swap(r: Registers) -> None:
        rows[r["held_at"] // 4], rows[r["other_at"] // 4] = r["other"], r["held"]
        r.update(i=r["next_i"], j=r["next_j"])

    return assembled(
        Step("call", start, "quicksort"),
        Step("exit"),
        "quicksort",
        Step("save", "B7"),
        Step("save", "B6"),
        Step("open", "B7"),
        Step("mark", nothing),
        Step("branch", lambda r: r["low"] >= r["high"], "end"),
        Step("open", "B6"),
        "right",
        Step("open", "B0"),
        Step("do", split),
        Step("branch", lambda r: r["low"] > r["high"], "parted"),
        Step("do", lambda r: locate(r, int((r["low"] + r["high"]) / 2))),
        Step("load", load_pivot),
        "partition",
        Step("open", "B1"),
        Step("do", lambda r: r.update(next_i=r["i"])),
        "up",
        Step("do", lambda r: locate(r, r["next_i"])),
        Step("load", load_low),
        Step("branch", lambda r: r["held"] < r["pivot"], "up"),
        Step("wait", "B1"),
        Step("open", "B1"),
        Step("do", lambda r: r.update(next_j=r["j"])),
        "down",
        Step("do", lambda r: locate(r, r["next_j"])),
        Step("load", load_high),
        Step("branch", lambda r: r["other"] > r["pivot"], "down"),
        Step("wait", "B1"),
        # The stores stand behind a predicate, not a branch.
        Step("store_if", (swaps, "held_at")),
        Step("store_if", (swaps, "other_at")),
        Step("do", lambda r: swap(r) if swaps(r) else None),
        Step("branch", swaps, "partition"),
        "parted",
        Step("wait", "B0"),
        Step("do", lambda r: r.update(place=1)),
        Step("mark", nothing),
        Step("call", left, "quicksort"),
        Step("do", right),
        Step("mark", nothing),
        Step("branch", lambda r: r["low"] < r["high"], "right"),
        Step("wait", "B6"),
        "end",
        Step("wait", "B7"),
        Step("restore", "B6"),
        Step("restore", "B7"),
        Step("return"),
    )


def tree(seed: int) -> list[Step]:
    """grow_trees of order.cu: a number decides whether a node has two children.

    Registers at the start: t, the thread. Marks: place 0 at the start of a call, 1 between the
    calls and 2 at the end.
    """

    def start(r: Registers) -> Registers:
        return {"value": r["t"] * 2654435761 & WORD ^ seed, "depth": 0, "place": 0}

    def child(factor: int, more: int) -> Callable[[Registers], Registers]:
        return lambda r: {
            "value": r["value"] * factor + more & WORD, "depth": r["depth"] + 1, "place": 0
        }  # fmt: skip

    def is_leaf(r: Registers) -> bool:
        return bool(r["depth"] >= 6 or (r["value"] * 2654435761 & WORD) >> 29 <= 2)

    return assembled(
        Step("call", start, "tree"),
        Step("exit"),
        "tree",
        Step("save", "B6"),
        Step("mark", nothing),
        Step("open", "B6"),
        Step("branch", is_leaf, "end"),
        Step("call", child(1664525, 1013904223), "tree"),
        Step("do", lambda r: r.update(place=1)),
        Step("mark", nothing),
        Step("call", child(22695477, 1), "tree"),
        "end",
        Step("wait", "B6"),
        Step("do", lambda r: r.update(place=2)),
        Step("mark", nothing),
        Step("restore", "B6"),
        Step("return"),
    )


def nothing(_: Registers) -> None:
    """A load, a store or a mark whose value decides nothing."""
