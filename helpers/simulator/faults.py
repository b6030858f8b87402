"""What may go wrong with memory and launches: the exceptions that the simulator raises beside
CompileFailed.
"""

from __future__ import annotations


class Fault(Exception):
    """What a kernel, a copy or a launch did wrong; the base of the simulator's exceptions."""


class MemoryFault(Fault):
    """A host copy or a free that touches what is not a live allocation."""


class OutOfMemory(Fault):
    """More device memory was asked for than the simulated device has left."""


class LaunchRefused(Fault):
    """A launch that a GPU refuses before it runs: block or grid too large, too much shared memory.
    `finding` says so, too.
    """

    def __init__(self, finding):
        super().__init__(finding.message)
        self.finding = finding


class LaunchFault(Fault):
    """A kernel was stopped before it did harm. `finding` says where and why; `report` holds
    everything seen up to then.
    """

    def __init__(self, finding, report):
        super().__init__(str(finding))
        self.finding = finding
        self.report = report
