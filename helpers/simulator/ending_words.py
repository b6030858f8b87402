"""Writes findings in words that end a launch for another reason than an access: a time limit, an
assertion, a trap, a stack that is too small, a fault of the machine.
"""

from __future__ import annotations

from .finding_facts import FindingFacts, Words
from .progress import waits_for_others


class EndingWords(FindingFacts):
    """One method for each kind of finding that ends a launch."""

    def runaway(self) -> Words:
        who, progress = self.who(self.raw.here), self.scene.progress
        if progress is None:
            message = f"{who} was still running when the launch was stopped"
            return None, None, message, "Does this loop end for every thread?"
        how_far = progress.words()
        if progress.idle >= progress.each and waits_for_others(self.kernel, self.raw.here.pc):
            message = f"{who} still waited in this loop for another thread, {how_far}"
            later = progress.blocks - progress.done - 1
            cause = "Does a thread write the value that ends this loop, and does this one read it?"
            if later > 0:
                cause = (
                    "Blocks run one after another here, and a GPU, too, begins a block only when "
                    f"there is room: a wait for one of the {later:,} blocks that have not ended "
                    "may last for ever. Let a block wait for earlier ones only, or use two kernels."
                )
            return None, None, message, cause
        if progress.is_slow:
            message = (
                f"the launch was stopped at its time limit {how_far}; nothing says that it would "
                f"not end. {who} was running"
            )
            cause = (
                f"The simulator needs longer for all blocks: give time_limit={progress.needed} "
                f"(--time-limit in a shell, HALO_TIME_LIMIT={progress.needed} in the environment "
                "of a program with PyCUDA), a smaller size, or sample_every to a profile."
            )
            return None, None, message, cause
        message = f"{who} was still running when the launch was stopped {how_far}"
        cause = (
            "Does this loop end for every thread? If it does and only takes long, give a larger "
            "time_limit (--time-limit in a shell, HALO_TIME_LIMIT in the environment of a program "
            "with PyCUDA) or a smaller size."
        )
        return None, None, message, cause

    def assertion(self) -> Words:
        message = f"{self.who(self.raw.here)} found this to be false: {self.machine_text()}"
        cause = (
            "The launch ends here, as on a GPU: what the kernel takes for granted does not hold "
            "for this thread."
        )
        return None, None, message, cause

    def trap(self) -> Words:
        message = f"{self.who(self.raw.here)} ends the launch: it has come to a trap"
        cause = (
            "Either it calls __trap(), or the compiler has seen that what stands here is undefined "
            "in C++: a function that ends "
            "without its `return`, a store through a null pointer or into a constant."
        )
        return None, None, message, cause

    def stack_overflow(self) -> Words:
        message = f"{self.who(self.raw.here)} calls itself deeper than its stack reaches"
        cause = (
            "Does the recursion end for every thread? A GPU's stack is small: write deep "
            "recursions as loops."
        )
        return None, None, message, cause

    def stack_limit(self) -> Words:
        message = (
            f"{self.who(self.raw.here)} calls itself so deep that it needs at least "
            f"{self.raw.size:,} bytes of stack, and has {self.raw.offset:,}"
        )
        enough = 1 << (int(self.raw.size) - 1).bit_length()
        cause = (
            "A GPU gives each thread a stack of 1,024 bytes unless the program asks for more, and "
            "an access behind it is an illegal memory access. Give more before the launch: "
            f"pycuda.driver.Context.set_limit(pycuda.driver.limit.STACK_SIZE, {enough}), or write "
            "the recursion as a loop."
        )
        return None, None, message, cause

    def wild_call(self) -> Words:
        target = self.machine_text() or "an address where no function is"
        cause = (
            "Is the function pointer (or the object with the virtual function) uninitialised, read "
            "past the end of a table, or was it made on the host?"
        )
        message = f"{self.who(self.raw.here)} calls a function through {target}"
        return None, None, message, cause

    def fault(self) -> Words:
        cause = (
            "CUDA leaves open what happens then: a GPU may go on with wrong values, stop or hang. "
            "Here the launch ends."
        )
        if self.machine_text().startswith("divides"):
            cause = (
                "A GPU goes on with a meaningless value: guard the division, or make sure that the "
                "divisor is set."
            )
        if self.machine_text().startswith("frees"):
            cause = (
                "Free each address once, and the very address that malloc or new gave: is the "
                "pointer moved, or does another thread free it, too?"
            )
        if self.machine_text().startswith("waits without end"):
            cause = (
                "A GPU waits for ever. The phase of an mbarrier ends when all arrivals and all "
                "announced bytes have come: compare the count in mbarrier.init with the threads "
                "that arrive, and the bytes of expect_tx with those that the copies bring."
            )
        return None, None, f"{self.who(self.raw.here)} {self.machine_text()}", cause
