"""Results that a launch in the simulator has left on the device, so that the host's array is wrong
whatever the kernel does.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

_RECORD = "helpers.simulator.machine.results"


def find(got: np.ndarray, is_wanted: Callable[[np.ndarray], bool]) -> str:
    """Return what is wrong if an output of the latest launch has the size of `got` and the host has
    read no output of that launch; "" for any other launch, and on a GPU. is_wanted: whether
    values of got's shape and dtype are right.
    """
    launch = _launch()
    if launch is None or launch.has_arrived:
        return ""
    fitting = [one for one in launch.outputs if one.nbytes == got.nbytes]
    if not fitting:
        return ""
    known = [one for one in fitting if one.data or not one.is_freed]
    output = next((one for one in known if is_wanted(_values(one, got))), None)
    if output is None and launch.has_earlier:
        return ""  # the values may be those of the launch before
    state = "" if output is None else ", which is right,"
    output = output or fitting[0]
    written = f"What {launch.kernel} writes into its {output.parameter}{state}"
    what = f"{written} is not copied to the host"
    if launch.taken is None:
        return f"{what}: cuda.memcpy_dtoh(host array, device array) does that, after the launch."
    if not launch.taken:
        return f"{what}: the copy back takes an array that the launch does not get."
    return (
        f"{what}: the copy back takes the array that the launch gets as {launch.taken}. Are two "
        "arguments of the launch exchanged, or is it the wrong array to copy?"
    )


def forget() -> None:
    """Forget the latest launch: the next check is about the next one."""
    record: Any = sys.modules.get(_RECORD)
    if record is not None:
        record.latest = None


def _launch() -> Any:
    """Return the latest launch in the simulator, None where it is not in use."""
    return getattr(sys.modules.get(_RECORD), "latest", None)


def _values(output: Any, like: np.ndarray) -> np.ndarray:
    """Return what lies in an output, freed or not, as an array like another one."""
    data = output.data or ctypes.string_at(output.address, output.nbytes)
    return np.frombuffer(data, like.dtype).reshape(like.shape)
