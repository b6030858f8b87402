"""pycuda.autoinit, for machines without a GPU: importing it makes a context current until the
program ends.

The labs use device.select() instead: on a GPU, autoinit's context is not the one that PyTorch and
CuPy use.
"""

from __future__ import annotations

import atexit

from . import _device

_device.init()
device = _device.Device(0)
context = device.make_context()
atexit.register(_device.Context.pop)
