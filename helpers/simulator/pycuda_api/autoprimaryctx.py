"""pycuda.autoprimaryctx, for machines without a GPU: importing it makes a context current until the
program ends.
"""

from __future__ import annotations

import atexit

from . import _device

_device.init()
device = _device.Device(0)
context = device.retain_primary_context()
context.push()
atexit.register(_device.Context.pop)
