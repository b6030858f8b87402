"""The exceptions that the simulator raises for memory and launches, beside CompileFailed."""

from __future__ import annotations


class Fault(Exception):
    """A fault of a kernel, a copy or a launch; the base of the simulator's exceptions."""


class MemoryFault(Fault):
    """A host copy or a free touches memory outside every live allocation."""


class OutOfMemory(Fault):
    """A program asks for more device memory than the simulated device has left."""


class LaunchRefused(Fault):
    """A GPU refuses this launch before it runs: the block or grid is too large, or the shared
    memory. `finding` says why.
    """

    def __init__(self, finding):
        super().__init__(finding.message)
        self.finding = finding


class LaunchFault(Fault):
    """The simulator stopped a kernel before it did harm. `finding` says where and why; `report`
    holds everything that the launch had found by then.
    """

    def __init__(self, finding, report):
        super().__init__(str(finding))
        self.finding = finding
        self.report = report
