"""Writes findings in words that end a launch for another reason than an access: a time limit, an
assertion, a trap, a stack that is too small, a fault of the machine.
"""

from __future__ import annotations

import re
from pathlib import Path

from helpers.quantities import quantity

from ..program.progress import Progress, Wait, loads_left_out, wait_in_loop
from .finding_facts import FindingFacts, Words
from .race_facts import arrays_of

_LIBRARY_WAIT = re.compile(r"\b(arrive_and_wait|wait|consumer_wait|producer_acquire)\s*\(")
_STUCK = "stuck"  # the machine's text of a block that will never change
_OF_PIPELINE = ("consumer_wait", "producer_acquire")


class EndingWords(FindingFacts):
    """One method for each kind of finding that ends a launch."""

    def runaway(self) -> Words:
        who, progress = self.who(), self.scene.progress
        if progress is None:
            message = f"{who} was still running when the launch was stopped"
            return Words(message, "Does this loop end for every thread?")
        if self.machine_text() == _STUCK:
            return self.stuck(progress)
        how_far = progress.words()
        is_stuck = progress.idle >= progress.each
        wait = wait_in_loop(self.kernel, self.raw.here.pc) if is_stuck else Wait.NOBODY
        if is_stuck and (call := self.library_wait()) is not None:
            message = f"{who} still waited in {call}(), {how_far}"
            return Words(message, self.cause_of_library_wait(call))
        if wait != Wait.NOBODY:
            message = f"{who} still waited in this loop for another thread, {how_far}"
            return Words(message, self.cause_of_wait(wait, progress))
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
            return Words(message, cause)
        message = f"{who} was still running when the launch was stopped {how_far}"
        cause = (
            "Does this loop end for every thread? If it does and only takes long, give a larger "
            "time_limit (--time-limit in a shell, HALO_TIME_LIMIT in the environment of a program "
            "with PyCUDA) or a smaller size."
        )
        return Words(message, cause)

    def stuck(self, progress: Progress) -> Words:
        """Return the words of a loop without an end: the registers and the memory of the block
        repeat.
        """
        pc = int(self.raw.here.pc)
        wait = wait_in_loop(self.kernel, pc)
        if (call := self.library_wait()) is not None:
            message = f"{self.who()} waits for ever in {call}()"
            return Words(message, self.cause_of_library_wait(call))
        if wait != Wait.NOBODY:
            message = (
                f"{self.who()} waits for ever in this loop: no thread that runs changes what it "
                "waits for"
            )
            return Words(message, self.cause_of_wait(wait, progress))
        message = f"{self.who()} never leaves this loop, which changes nothing at any turn"
        loads = loads_left_out(self.kernel, pc)
        if not loads:
            return Words(message, "Is the step missing that ends it, or a break?")
        name = self.name_of_load(loads[0])
        return Words(
            message,
            f"The compiler has loaded {name or 'the value'} once, before the loop, because nothing "
            "says that another thread may change it. Declare it volatile, or read it by an atomic "
            "function, and put a __threadfence_block() (between blocks a __threadfence()) between "
            "a value and the flag that announces it.",
            name,
        )

    def name_of_load(self, load: int) -> str | None:
        """Return the array that a load of the careful form reads, None if it is not known."""
        careful = self.kernel.rehearsal
        if careful is None or not (roots := arrays_of(careful, load)):
            return None
        if isinstance(roots[0], int):
            return next((p.name for p in careful.parameters if p.offset == roots[0]), None)
        variable = careful.module.variables.get(getattr(roots[0], "name", str(roots[0])))
        return variable.name if variable is not None else None

    def cause_of_wait(self, wait: Wait, progress: Progress) -> str:
        later = progress.blocks - progress.done - 1
        if later > 0 and wait == Wait.GRID:
            which = "the block that has" if later == 1 else f"one of the {later:,} blocks that have"
            return (
                "Blocks run one after another here, and a GPU, too, begins a block only when "
                f"there is room: a wait for {which} not begun may last for ever. Let a block wait "
                "for earlier ones only, or use two kernels."
            )
        return "Does a thread write the value that ends this loop, and does this one read it?"

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

    def cause_of_library_wait(self, call: str) -> str:
        if call in _OF_PIPELINE:
            return (
                "A stage of a cuda::pipeline is full when all its producers have called "
                "producer_commit(), and free when all its consumers have called "
                "consumer_release(): does a branch, or a return, keep a thread away from one?"
            )
        return (
            "A phase of a cuda::barrier ends when as many threads have arrived as init(&barrier, "
            "n) says: compare n with the threads that call arrive() or arrive_and_wait(). A thread "
            "that leaves early calls arrive_and_drop()."
        )

    def assertion(self) -> Words:
        message = f"{self.who()} found this to be false: {self.machine_text()}"
        cause = (
            "The launch ends here, as on a GPU: what the kernel takes for granted does not hold "
            "for this thread."
        )
        return Words(message, cause)

    def trap(self) -> Words:
        message = f"{self.who()} ends the launch: it has come to a trap"
        cause = (
            "Either it calls __trap(), or the compiler has seen that what stands here is undefined "
            "in C++: a function that ends "
            "without its `return`, a store through a null pointer or into a constant."
        )
        return Words(message, cause)

    def stack_overflow(self) -> Words:
        message = f"{self.who()} calls itself deeper than its stack reaches"
        cause = (
            "Does the recursion end for every thread? A GPU's stack is small: write deep "
            "recursions as loops."
        )
        return Words(message, cause)

    def stack_limit(self) -> Words:
        message = (
            f"{self.who()} calls itself so deep that it needs at least "
            f"{self.size()} of stack, and has {self.raw.offset:,}"
        )
        enough = 1 << (int(self.raw.size) - 1).bit_length()
        cause = (
            "A GPU gives each thread a stack of 1,024 bytes unless the program asks for more, and "
            "an access behind it is an illegal memory access. Give more before the launch: "
            f"pycuda.driver.Context.set_limit(pycuda.driver.limit.STACK_SIZE, {enough}), or write "
            "the recursion as a loop."
        )
        return Words(message, cause)

    def wild_call(self) -> Words:
        target = self.machine_text() or "an address where no function is"
        cause = (
            "Is the function pointer (or the object with the virtual function) uninitialised, read "
            "past the end of a table, or was it made on the host?"
        )
        message = f"{self.who()} calls a function through {target}"
        return Words(message, cause)

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
        if "without all of its 32 lanes" in self.machine_text():
            x, y, z = self.scene.block
            cause = (
                "The 32 lanes of a warp hold a matrix together, and all of them must make the "
                f"call: is it in a branch, or the block ({quantity(x * y * z, 'thread')} here) not "
                "made of whole warps?"
            )
        if self.machine_text().startswith("ends an mbarrier"):
            cause = (
                "The threads must wait for each copy before the block ends: is a consumer_wait(), "
                "or a wait() at the barrier, missing?"
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
            if (call := self.library_wait()) is not None:
                cause = f"A GPU waits for ever. {self.cause_of_library_wait(call)}"
        return Words(f"{self.who()} {self.machine_text()}", cause)
