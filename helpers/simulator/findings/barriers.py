"""Describes findings of barriers and warp operations: threads that do not meet."""

from __future__ import annotations

from .finding_facts import Description, FindingFacts
from .words import Cause, Event


class BarrierFindings(FindingFacts):
    """One method for each kind of finding in which threads wait for others, or leave them out."""

    def divergence(self) -> Description:
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        thread, cause = self.thread(other), Cause.BARRIER_IN_BRANCH()
        if not self.kernel.operation_at(other.pc).startswith("bar"):
            return Description(Event.UNREACHED(other=thread), (cause,))
        if (other.pc, other.thread) == (here.pc, here.thread):
            return Description(Event.WRONG_COUNT(), (Cause.WHOLE_WARPS(),))
        if self.other_line != self.line:
            return Description(Event.TWO_BARRIERS(other=thread), (cause,))
        if self.calls(here) != self.calls(other):
            return self.callers()
        return Description(Event.TWO_BARRIERS_OF_LINE(other=thread), (cause,))

    def callers(self) -> Description:
        here, other = self.raw.here, self.raw.other
        own_calls, other_calls, barrier = self.calls(here), self.calls(other), self.line
        first = next(
            k
            for k in range(max(len(own_calls), len(other_calls)))
            if own_calls[k : k + 1] != other_calls[k : k + 1]
        )
        self.line = (own_calls[first:] or (barrier,))[0]
        self.other_line = (other_calls[first:] or (barrier,))[0]
        event = Event.TWO_CALLS(barrier=barrier, other=self.thread(other))
        return Description(event, (Cause.CALLS_IN_BRANCHES(),))

    def exited(self) -> Description:
        other = self.raw.other
        event, cause = Event.RETURNED, Cause.EARLY_RETURN
        if self.line_of(other) > self.line:
            event, cause = Event.OTHER_WAY, Cause.UNORDERED_OTHERS
        return Description(event(other=self.thread(other)), (cause(),))

    def mask_mismatch(self) -> Description:
        other, mask = self.raw.other, int(self.raw.size)
        self.other_line = self.line_of(other)
        event = Event.MASK_AT_BARRIER(mask=mask, other=self.thread(other))
        if self.raw.offset >= 0:
            event = Event.TWO_MASKS(
                mask=mask, other=self.thread(other), other_mask=self.raw.offset & 0xFFFFFFFF
            )
        return Description(event, (Cause.ONE_CALL(),))

    def warp_deadlock(self) -> Description:
        other = self.raw.other
        self.other_line = self.line_of(other)
        event = Event.WARP_DEADLOCK(
            mask=int(self.raw.size),
            other=self.thread(other),
            what="the __syncthreads()" if self.raw.offset < 0 else "another warp operation",
        )
        return Description(event, (Cause.DEADLOCK(),))
