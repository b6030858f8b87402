"""Lab 112: patches of outputs in the registers of a thread."""

from __future__ import annotations

from helpers.exercises import kit

LAB = "112_conv2d_register_tiling"
REGISTERS = kit.Budget(
    "accesses to local memory per output",
    lambda case, one: (
        sum(one.total("lanes", "local", access) for access in ("load", "store")) / case.count
    ),
    0,
    "An array whose index the compiler does not know cannot live in registers: let it unroll the "
    "loops.",
)
