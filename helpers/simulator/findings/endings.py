"""Describes findings that end a launch for another reason than an access: a time limit, an
assertion, a trap, a stack that is too small, a fault of the machine.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..program.progress import Progress, Wait, loads_left_out, wait_in_loop
from .finding_facts import Description, FindingFacts
from .race_facts import arrays_of
from .words import Cause, Event, Phrase, Sentence

_LIBRARY_WAIT = re.compile(r"\b(arrive_and_wait|wait|consumer_wait|producer_acquire)\s*\(")
_STUCK = "stuck"  # the machine's text of a block that will never change
_OF_PIPELINE = ("consumer_wait", "producer_acquire")


class EndingFindings(FindingFacts):
    """One method for each kind of finding that ends a launch."""

    def runaway(self) -> Description:
        progress = self.scene.progress
        if progress is None:
            return Description(Event.ENDLESS(), (Cause.ENDLESS(),))
        if self.machine_text() == _STUCK:
            return self.stuck(progress)
        how_far = progress.words()
        is_stuck = progress.idle >= progress.each
        wait = wait_in_loop(self.kernel, self.raw.here.pc) if is_stuck else Wait.NOBODY
        if is_stuck and (call := self.library_wait()) is not None:
            event = Event.STOPPED_IN_CALL(call=call, how_far=how_far)
            return Description(event, (self.cause_of_library_wait(call),))
        if wait != Wait.NOBODY:
            event = Event.STOPPED_IN_WAIT(how_far=how_far)
            return Description(event, (self.cause_of_wait(wait, progress),))
        if progress.is_slow:
            cause = Cause.LITTLE_TIME(needed=progress.needed)
            return Description(Event.TOO_SLOW(how_far=how_far), (cause,))
        return Description(Event.STOPPED(how_far=how_far), (Cause.ENDLESS_OR_LONG(),))

    def stuck(self, progress: Progress) -> Description:
        """Describe a loop without an end: the registers and the memory of the block repeat."""
        pc = int(self.raw.here.pc)
        wait = wait_in_loop(self.kernel, pc)
        if (call := self.library_wait()) is not None:
            return Description(Event.ENDLESS_CALL(call=call), (self.cause_of_library_wait(call),))
        if wait != Wait.NOBODY:
            return Description(Event.ENDLESS_WAIT(), (self.cause_of_wait(wait, progress),))
        loads = loads_left_out(self.kernel, pc)
        if not loads:
            return Description(Event.ENDLESS_LOOP(), (Cause.NO_STEP(),))
        name = self.name_of_load(loads[0])
        cause = Cause.LOADED_ONCE(what=name or "the value")
        return Description(Event.ENDLESS_LOOP(), (cause,), name)

    def name_of_load(self, load: int) -> str | None:
        """Return the array that a load of the careful form reads, None if it is not known."""
        careful = self.kernel.rehearsal
        if careful is None or not (roots := arrays_of(careful, load)):
            return None
        if isinstance(roots[0], int):
            return next((p.name for p in careful.parameters if p.offset == roots[0]), None)
        variable = careful.module.variables.get(getattr(roots[0], "name", str(roots[0])))
        return variable.name if variable is not None else None

    def cause_of_wait(self, wait: Wait, progress: Progress) -> Sentence:
        later = progress.blocks - progress.done - 1
        if later > 0 and wait == Wait.GRID:
            which = Phrase.BLOCK_THAT() if later == 1 else Phrase.BLOCKS_THAT(count=later)
            return Cause.LATER_BLOCKS(which=which)
        return Cause.NO_WRITER()

    def library_wait(self) -> str | None:
        """Return the function of a cuda::barrier or cuda::pipeline in which the thread waits, None
        if it waits elsewhere.
        """
        here = self.raw.here
        files = set(self.kernel.places.files_of(here.pc))
        if here.caller:
            files |= self.kernel.places.files_of(here.caller - 1)
        found = _LIBRARY_WAIT.search(self.text_of_line())
        own = Path(self.file).name
        is_library = any(file and Path(file).name != own for file in files)
        return found[1] if found is not None and is_library else None

    def cause_of_library_wait(self, call: str) -> Sentence:
        return (Cause.PIPELINE_STAGES if call in _OF_PIPELINE else Cause.BARRIER_COUNT)()

    def stack_limit(self) -> Description:
        event = Event.STACK_LIMIT(nbytes=self.bytes, given=self.raw.offset)
        enough = 1 << (int(self.raw.size) - 1).bit_length()
        return Description(event, (Cause.LITTLE_STACK(enough=enough),))

    def wild_call(self) -> Description:
        target = self.machine_text() or "an address where no function is"
        return Description(Event.WILD_CALL(target=target), (Cause.WILD_FUNCTION(),))

    def partial_warp(self) -> Description:
        x, y, z = self.scene.block
        return Description(Event.PARTIAL_WARP(), (Cause.PARTIAL_WARP(threads=x * y * z),))

    def endless_mbarrier(self) -> Description:
        call = self.library_wait()
        why = Cause.MBARRIER_COUNTS() if call is None else self.cause_of_library_wait(call)
        return Description(Event.FAULT(text=self.machine_text()), (Cause.WAITS_ON_GPU(), why))
