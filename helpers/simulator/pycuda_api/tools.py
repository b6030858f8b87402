"""pycuda.tools, for machines without a GPU: the part that makes and forgets contexts."""

from __future__ import annotations

from collections.abc import Callable

from ._device import Context, Device


def make_default_context(ctx_maker: Callable[[Device], Context] | None = None) -> Context:
    """A context on the simulated device, made by `ctx_maker` (Device.make_context unless given)."""
    device = Device(0)
    return device.make_context() if ctx_maker is None else ctx_maker(device)


def clear_context_caches() -> None:
    """Does nothing: the simulator keeps no memory or code per context."""
