"""Bounds in the place of times: how long an H200 needs at least for the work of a stream.

The simulator has no clock, and PyCUDA's events must give a number that programs can divide by,
print and add up. It is the largest number of microseconds of which the simulator knows that no H200
takes fewer: a kernel's bound (helpers.simulator.bounds), and for launches and copies the shortest
ones that were ever measured on one.
"""

from __future__ import annotations

from helpers.simulator import bounds
from helpers.simulator.launch.profile import Profile

# The shortest samples in data/measured: of a small kernel between two events, and of a small array
# that travels between the host and the device.
LAUNCH_US = 3.6
COPY_US = 19.0
_HOST_BYTES_PER_US = 55_000.0  # between page-locked memory and the device


def of_copy(nbytes: int) -> float:
    """Return the microseconds of a copy between the host and the device."""
    return max(COPY_US, nbytes / _HOST_BYTES_PER_US)


def of_bytes_on_device(nbytes: int) -> float:
    """Return the microseconds of a copy on the device, or of a filling: of bytes that are read or
    written.
    """
    rate = bounds.rates("H200").by_resource["dram_read"].per_second
    return max(LAUNCH_US, nbytes / rate * 1e6)


def of_launch(profile: Profile) -> float:
    """Return the microseconds of a launch; the shortest of any, if a finding has stopped it."""
    is_whole = profile.counts is not None and profile.completed
    return max(LAUNCH_US, profile.bounds("H200").microseconds if is_whole else 0.0)
