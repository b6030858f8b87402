"""What the latest launch of a program has left on the device, and what the host has read since.

A wrong result on the host says nothing of the kernel where the program never copied the kernel's
output back, or copied another array: `helpers.checking` asks here before it looks for a pattern.
"""

from __future__ import annotations

from dataclasses import dataclass

KEPT = 16 * 1024**2  # bytes of freed arrays that are kept until the next launch


@dataclass
class Array:
    """An array of a launch. parameter: its name in the kernel; data: its bytes, if it was freed
    before the host has read it.
    """

    parameter: str
    address: int
    nbytes: int
    is_output: bool
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


def is_to_keep(number: int) -> bool:
    """Return whether an array that is about to be freed is an output that the host never read."""
    if latest is None or number not in latest.arrays or number in latest.read:
        return False
    one = latest.arrays[number]
    held = sum(len(other.data) for other in latest.arrays.values())
    return one.is_output and held + one.nbytes <= KEPT


def keep(number: int, data: bytes) -> None:
    """Keep the bytes of an array of the latest launch, which is about to be freed."""
    assert latest is not None
    latest.arrays[number].data = data
