"""Writes findings of barriers and warp operations in words: threads that do not meet."""

from __future__ import annotations

from .finding_facts import FindingFacts, Words


class BarrierWords(FindingFacts):
    """One method for each kind of finding in which threads wait for others, or leave them out."""

    def divergence(self) -> Words:
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        cause = (
            "All threads of a block must meet at the same __syncthreads(): take it out of the "
            "branch."
        )
        if not self.kernel.operation_at(other.pc).startswith("bar"):
            message = (
                f"{self.who()} waits at a barrier that thread {self.thread(other)} can no longer "
                "reach"
            )
            return Words(message, cause)
        if (other.pc, other.thread) == (here.pc, here.thread):
            message = (
                f"{self.who()} waits at the barrier in line {self.line} for a number of "
                "threads that cannot come"
            )
            cause = (
                "The number of threads that a barrier asks for must be a multiple of 32 that do "
                "come to it."
            )
            return Words(message, cause)
        if self.other_line == self.line and self.calls(here) != self.calls(other):
            return self.callers()
        which = "another one in" if self.other_line == self.line else "the one in line"
        where = "the same line" if self.other_line == self.line else str(self.other_line)
        elsewhere = f"thread {self.thread(other)} at {which} {where}"
        message = f"{self.who()} waits at the barrier in line {self.line}, {elsewhere}"
        return Words(message, cause)

    def callers(self) -> Words:
        here, other = self.raw.here, self.raw.other
        own_calls, other_calls, barrier = self.calls(here), self.calls(other), self.line
        first = next(
            k
            for k in range(max(len(own_calls), len(other_calls)))
            if own_calls[k : k + 1] != other_calls[k : k + 1]
        )
        self.line = (own_calls[first:] or (barrier,))[0]
        self.other_line = (other_calls[first:] or (barrier,))[0]
        message = (
            f"{self.who()} waits at the barrier in line {barrier}, called from line {self.line}, "
            f"thread {self.thread(other)} at the same one, called from line {self.other_line}"
        )
        cause = (
            "All threads of a block must come to one __syncthreads() together: call the function "
            "outside the branches."
        )
        return Words(message, cause)

    def exited(self) -> Words:
        other = self.raw.other
        if self.line_of(other) > self.line:
            message = (
                f"{self.who()} waits at a barrier to which thread {self.thread(other)} never "
                "came: it has taken another way to the end of the kernel"
            )
            cause = (
                "The barrier is in a branch that only some threads take, so it does not order the "
                "others: take it out of the branch."
            )
            return Words(message, cause)
        message = (
            f"{self.who()} waits at a barrier that thread {self.thread(other)} can no longer "
            "reach: it has returned"
        )
        cause = (
            "Since Volta a thread that has exited does not hold the others up, but its share of "
            "the tile is not loaded: guard the store instead."
        )
        return Words(message, cause)

    def inactive_lane(self) -> Words:
        message = (
            f"{self.who()} reads the value of lane {self.raw.offset}, which takes no "
            "part in this shuffle: its lane is not in the mask, has returned, or does not exist"
        )
        cause = (
            "What comes from there is undefined. Is the last warp partial, or a lane left out of "
            "the mask that others read from? "
            "Let all lanes take part, with a neutral value where there is no data."
        )
        return Words(message, cause)

    def mask_without_self(self) -> Words:
        message = (
            f"{self.who()} is lane {self.raw.offset} and calls with mask "
            f"{self.mask()}, which does not name it"
        )
        return Words(message, "A lane that makes the call must be in the mask.")

    def mask_mismatch(self) -> Words:
        other = self.raw.other
        self.other_line = self.line_of(other)
        if self.raw.offset < 0:
            where = f"which waits at the __syncthreads() in line {self.other_line}"
        else:
            where = (
                f"which waits in line {self.other_line} with mask "
                f"{self.raw.offset & 0xFFFFFFFF:#010x}"
            )
        message = (
            f"{self.who()} waits in line {self.line} for the lanes of mask {self.mask()}, "
            f"thread {self.thread(other)} among them, {where}"
        )
        cause = (
            "All lanes that a mask names must make the same call with the same mask: take it out "
            "of the branch, or make the mask with __ballot_sync before it."
        )
        return Words(message, cause)

    def mask_exited(self) -> Words:
        other = self.raw.other
        message = (
            f"{self.who()} calls with mask {self.mask()}, which names thread "
            f"{self.thread(other)}: it has come to the kernel's end without this call"
        )
        cause = (
            "A mask must name the lanes that make the call: does a branch, or a return before it, "
            "keep some of them away?"
        )
        return Words(message, cause)

    def warp_deadlock(self) -> Words:
        other = self.raw.other
        self.other_line = self.line_of(other)
        what = "the __syncthreads()" if self.raw.offset < 0 else "another warp operation"
        message = (
            f"{self.who()} waits in line {self.line} for the lanes of mask {self.mask()}, thread "
            f"{self.thread(other)} among them, which waits at {what} in line {self.other_line}"
        )
        cause = (
            "They wait for each other for ever: all lanes of a warp must come to the same barrier."
        )
        return Words(message, cause)
