"""What the latest launch of a program has left on the device, and what the host has read since.

A wrong result on the host says nothing of the kernel where the program never copied the kernel's
output back, or copied another array: `helpers.checking` asks here before it looks for a pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

KEPT = 16 * 1024**2  # bytes of freed arrays that are kept until the next launch


@dataclass
class Array:
    """An array of a launch. parameter: its name in the kernel; data: what was in it when it was
    freed, if the host had not read it.
    """

    parameter: str
    address: int
    nbytes: int
    is_output: bool
    is_freed: bool = False
    data: bytes = b""


@dataclass
class Launch:
    """A launch. arrays: by the machine's number of each; read: the numbers of the arrays, of any
    launch, that the host has read since, in its order; has_earlier: whether the host has read an
    output of a launch before this one, since the latest check.
    """

    kernel: str
    arrays: dict[int, Array]
    read: list[int]
    has_earlier: bool

    @property
    def outputs(self) -> list[Array]:
        """The arrays that the kernel may have written and that the host has not read."""
        return [
            one
            for number, one in self.arrays.items()
            if one.is_output and number not in self.read
        ]

    @property
    def has_arrived(self) -> bool:
        """Whether the host has read an array that the kernel may have written."""
        return any(one.is_output for number, one in self.arrays.items() if number in self.read)

    @property
    def taken(self) -> str | None:
        """The parameter of the array that the host has read last, "" for an array of no parameter,
        None if it has read none.
        """
        if not self.read:
            return None
        last = self.arrays.get(self.read[-1])
        return "" if last is None else last.parameter


latest: Launch | None = None


def launched(kernel: str, arrays: dict[int, Array], read: list[int]) -> None:
    """Record a launch in place of the one before. read: the arrays that need no copy."""
    global latest
    has_earlier = latest is not None and (latest.has_earlier or latest.has_arrived)
    latest = Launch(kernel, arrays, read, has_earlier)


def note_freed(number: int, data: Callable[[], bytes]) -> None:
    """Note that an array is freed. data: returns its bytes, which are kept of an output that the
    host has not read.
    """
    one = latest.arrays.get(number) if latest is not None else None
    if latest is None or one is None:
        return
    one.is_freed = True
    held = sum(len(other.data) for other in latest.arrays.values())
    if one.is_output and number not in latest.read and held + one.nbytes <= KEPT:
        one.data = data()
