"""In which order a Hopper GPU runs lanes of a warp that have parted.

The machine code says where lanes wait for each other: BSSY puts the running lanes into a barrier
register (B0, B6 ...), and BSYNC waits for those in it. A function that calls itself saves its
registers at its start (BMOV.CLEAR) and restores them at its end (BMOV). So lanes at different
depths use one register, and one of them may find what another has put there.

Which lanes run next is not documented. These rules were found by letting each lane write down the
clock at the start, between the calls and at the end of two recursions on an H100: they give every
group of lanes, in order, in all 2,452 warps that were traced (2 to 32 lanes), and the counters of
`quicksort_calls_itself` and `flood_calls_itself`.

- Lanes that part: the smaller group runs first; of two equal ones, the lanes that do not take the
  branch. At a return to several places, the first place, by the lowest lane, to which at most half
  of the lanes return. The other group is the next to run. One that was to run next before is put
  aside.
- If the running lanes end or wait, the next group runs; without one, the group put aside last,
  together with all that were put aside at the same instruction.
- BSYNC: `Warp._wait`. Lanes that are not in the register do not wait. If all lanes wait, they go
  on.
- BMOV restores what the lowest of the running lanes has saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Registers = dict[str, Any]


class Step(NamedTuple):
    """name: of the methods of `Warp`. value: a function of a lane's registers, the name of a
    barrier register, or, of "store_if", a condition and the register of the address. target: a
    place in the program.
    """

    name: str
    value: Any = None
    target: int | str = -1


class Lane:
    """number: in its warp. frames: its registers, for each call. saved: barrier registers, for each
    call. returns: places behind the calls."""

    def __init__(self, number: int, registers: Registers) -> None:
        self.number = number
        self.at = 0
        self.frames = [registers]
        self.saved: list[dict[str, set[Lane]]] = [{}]
        self.returns: list[int] = []

    @property
    def registers(self) -> Registers:
        return self.frames[-1]


Group = list[Lane]


class Warp:
    """Runs a program of instructions.

    note: is called with the name and the lanes of each "load", "store" and "mark", before it is
    executed.
    """

    def __init__(
        self,
        program: Sequence[Step],
        lanes: Sequence[Lane],
        note: Callable[[str, Group], None],
    ) -> None:
        self.program, self.note = program, note
        self.running: Group = list(lanes)
        self.next: Group = []
        self.aside: list[Group] = []
        self.live = set(lanes)
        self.barriers: dict[str, set[Lane]] = {}
        self.waiting: dict[Lane, str] = {}  # the barrier register by which a lane waits
        self.taken_up = False  # whether the running lanes had been put aside

    def run(self) -> None:
        while self.live:
            self.taken_up = False
            if not self.running:
                self._choose()
            instruction = self.program[self.running[0].at]
            getattr(self, f"_{instruction.name}")(instruction)

    def _choose(self) -> None:
        if self.next:
            self.running, self.next = self.next, []
            return
        if not self.aside:  # All wait: they go on.
            for at in sorted({lane.at for lane in self.waiting}):
                group = _ordered(lane for lane in self.waiting if lane.at == at)
                self._release(set(group))
                self.aside.append(group)
        at = self.aside[-1][0].at
        self.running = _ordered(lane for group in self.aside if group[0].at == at for lane in group)
        self.aside = [group for group in self.aside if group[0].at != at]
        self.taken_up = True

    def _part(self, first: Group, second: Group) -> None:
        if self.next:
            self.aside.append(self.next)
        self.running, self.next = first, second

    def _step(self) -> None:
        for lane in self.running:
            lane.at += 1

    def _do(self, instruction: Step) -> None:
        for lane in self.running:
            instruction.value(lane.registers)
        self._step()

    def _load(self, instruction: Step) -> None:
        self.note(instruction.name, self.running)
        self._do(instruction)

    _store = _mark = _load

    def _store_if(self, instruction: Step) -> None:
        holds, address = instruction.value
        lanes = [lane for lane in self.running if holds(lane.registers)]
        for lane in lanes:
            lane.registers["address"] = lane.registers[address]
        if lanes:
            self.note("store", lanes)
        self._step()

    def _branch(self, instruction: Step) -> None:
        assert isinstance(instruction.target, int)
        taken = [lane for lane in self.running if instruction.value(lane.registers)]
        stay = [lane for lane in self.running if lane not in taken]
        self._step()
        for lane in taken:
            lane.at = instruction.target
        if taken and stay:
            self._part(*((stay, taken) if len(stay) <= len(taken) else (taken, stay)))

    def _call(self, instruction: Step) -> None:
        assert isinstance(instruction.target, int)
        for lane in self.running:
            lane.returns.append(lane.at + 1)
            lane.frames.append(instruction.value(lane.registers))
            lane.saved.append({})
            lane.at = instruction.target

    def _return(self, _: Step) -> None:
        places: dict[int, Group] = {}
        for lane in self.running:
            places.setdefault(lane.returns[-1], []).append(lane)
        half = len(self.running) / 2
        first = next(
            (group for group in places.values() if len(group) <= half), self.running
        )
        others = [lane for lane in self.running if lane not in first]
        for lane in first:
            lane.at = lane.returns.pop()
            lane.frames.pop()
            lane.saved.pop()
        if others:
            self._part(first, others)

    def _exit(self, _: Step) -> None:
        self.live -= set(self.running)
        self.running = []
        for name in self.barriers:
            expected = self.barriers[name] & self.live
            if expected and all(self.waiting.get(lane) == name for lane in expected):
                self._release(expected)
                self.aside.insert(0, _ordered(expected))

    def _open(self, instruction: Step) -> None:  # BSSY
        self.barriers[instruction.value] = set(self.running)
        self._step()

    def _save(self, instruction: Step) -> None:  # BMOV.CLEAR
        for lane in self.running:
            lane.saved[-1][instruction.value] = self.barriers.get(instruction.value, set())
        self.barriers[instruction.value] = set()
        self._step()

    def _restore(self, instruction: Step) -> None:  # BMOV
        self.barriers[instruction.value] = self.running[0].saved[-1][instruction.value]
        self._step()

    def _wait(self, instruction: Step) -> None:  # BSYNC
        name, at, here = instruction.value, self.running[0].at, set(self.running)
        expected = self.barriers.get(name, set()) & self.live
        there = {lane for lane, by in self.waiting.items() if by == name and lane.at == at}
        if self.taken_up and expected <= there | here:
            # Lanes that were put aside here count as waiting, and take along all that wait here.
            go_on = there | here
        elif not expected & here or expected <= here:
            # Nobody to wait for. Lanes outside the register do not wait.
            go_on = here
        elif expected <= there | here:
            # The last have come. Those that wait here for another call's lanes stay.
            go_on = expected | here
        elif expected <= set(self.waiting) | here:
            # The others wait at another barrier, so that nobody else would come.
            go_on = there | here
        else:
            self.waiting.update(dict.fromkeys(expected & here, name))
            go_on = here - expected
        self._release(go_on)
        self.running = _ordered(go_on)

    def _release(self, lanes: set[Lane]) -> None:
        for lane in lanes:
            self.waiting.pop(lane, None)
            lane.at += 1


def assembled(*lines: Step | str) -> list[Step]:
    """Return a program. A string is the name of the place behind it, which a target may be."""
    places: dict[str, int] = {}
    program: list[Step] = []
    for line in lines:
        if isinstance(line, str):
            places[line] = len(program)
        else:
            program.append(line)
    return [
        one._replace(target=places[one.target]) if isinstance(one.target, str) else one
        for one in program
    ]


def _ordered(lanes: Any) -> Group:
    return sorted(lanes, key=lambda lane: lane.number)
