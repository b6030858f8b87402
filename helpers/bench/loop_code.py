"""What a warp executes in one turn of a kernel's loop, read off its machine code.

The simulator executes PTX, and the machine code that ptxas makes of it has other instructions.
`turn` follows the machine code through one turn of the loop that does the kernel's work. It is the
code of the installed ptxas; no GPU is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from helpers.simulator import Profile
from helpers.simulator.bounds.machine_code import Code
from helpers.simulator.ptx.listing import Instruction

Wanted = Callable[[Instruction], bool]


def code_of(profile: Profile) -> Code:
    """Return the machine code of a profiled kernel. Raises ValueError where there is none."""
    code = profile.counts.code if profile.counts is not None else None
    if code is None:
        raise ValueError(
            f"there is no machine code of {profile.kernel}: it needs ptxas and nvdisasm, which "
            "come with the packages nvidia-cuda-nvcc and nvidia-cuda-nvdisasm"
        )
    return code


def turn(code: Code, wanted: Wanted, most: int) -> tuple[Instruction, ...]:
    """Return the instructions of one turn of the innermost loop that holds everything `wanted`.

    most: as many wanted instructions as a turn executes. ptxas writes an inner loop several times:
    for 16 steps at once, for 8, for 4, for the rest. A block with more than `most` of them is
    therefore skipped; through the others this goes the longest way, which passes each once. Raises
    ValueError for code without such a loop.
    """
    numbers = [sum(map(wanted, block.instructions)) for block in code.blocks]
    holding = [k for k, number in enumerate(numbers) if number]
    loops = [
        (first, last)
        for last, ways in enumerate(code.following)
        for first in ways
        if holding and first <= min(holding) and max(holding) <= last
    ]
    if not loops:
        raise ValueError("no loop of this code holds all of these instructions")
    first, last = min(loops, key=lambda loop: loop[1] - loop[0])
    ways: dict[int, tuple[Instruction, ...]] = {}  # from a block to the end of the loop
    for k in range(last, first - 1, -1):
        rest = [ways[way] for way in code.following[k] if way > k and way in ways]
        if numbers[k] <= most and (rest or k == last):
            issued = tuple(one for one in code.blocks[k].instructions if one.root != "NOP")
            ways[k] = issued + (max(rest, key=len) if k != last else ())
    if first not in ways or sum(map(wanted, ways[first])) != most:
        raise ValueError(f"no way through the loop executes {most} of these instructions")
    return ways[first]


def by_kind(
    instructions: Sequence[Instruction], kinds: Mapping[str, Wanted], other: str
) -> dict[str, int]:
    """Return how many instructions are of each kind: the first that fits, else `other`."""
    counts = dict.fromkeys([*kinds, other], 0)
    for one in instructions:
        counts[next((kind for kind, fits in kinds.items() if fits(one)), other)] += 1
    return counts
