"""Barriers for some threads of a block order these threads alone."""

from __future__ import annotations

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator

HEAD = "__shared__ int s[128];\nconst int t = threadIdx.x, half = t / 64;\n"


def barrier(what: str, number: str, threads: int) -> str:
    return f'asm volatile("bar.{what} {number}, {threads};" ::: "memory");'


FIRST, SECOND, WHOLE = (
    barrier("sync", number, n) for number, n in (("1", 64), ("2", 64), ("1", 128))
)
HALVES = f"s[t] = x[t];\nif (half) {{ {SECOND} }} else {{ {FIRST} }}\n"
ONE_NAME = f"s[t] = x[t];\n{FIRST}\n"
RING = (
    "for (int k = 0; k < 4; k++) {\nif (half) { s[t] = x[t] + k; @full@ @empty@ }\n"
    "else { @ready@ y[t] += s[t ^ 64]; @free@ }\n}\n"
)


def ring(full: str, empty: str, ready: str, free: str) -> str:
    """A producer of 64 threads, and a consumer of as many, in turns."""
    found = RING
    for name, text in (("full", full), ("empty", empty), ("ready", ready), ("free", free)):
        found = found.replace(f"@{name}@", text)
    return found


ARRIVE, WAIT = barrier("arrive", "1", 128), barrier("sync", "1", 128)
LEAVE, COME_BACK = barrier("arrive", "2", 128), barrier("sync", "2", 128)
ORDERED = {
    "each half reads its own part": HALVES + "y[t] = s[t ^ 63];",
    "all threads at one number": f"s[t] = x[t];\n{WHOLE}\ny[t] = s[127 - t];",
    "the halves meet later": HALVES + f"{WHOLE}\ny[t] = s[127 - t];",
    "a barrier of the block comes later": HALVES + "__syncthreads();\ny[t] = s[127 - t];",
    "a producer and a consumer": ring(ARRIVE, COME_BACK, WAIT, LEAVE),
    "what a half knows is handed on": (
        f"if (half) s[t] = x[t];\nif (half) {{ {ARRIVE} }} else {{ {WAIT} }}\n"
        f"if (t < 64) {{ {SECOND} y[t] = s[127 - t]; }}"
    ),
}
RACING = {
    "each half reads the other's part": HALVES + "y[t] = s[127 - t];",
    "two barriers of one number": ONE_NAME + "y[t] = s[127 - t];",
    "a consumer that does not wait": ring(ARRIVE, COME_BACK, "", f"{WAIT} {LEAVE}"),
    "a consumer that is ready too early": ring(ARRIVE, COME_BACK, WAIT + LEAVE, ""),
    "one that only arrives reads": (
        f"if (!half) s[t] = x[t];\nif (half) {{ {ARRIVE} }} else {{ {WAIT} }}\n"
        "if (half) y[t] = s[t - 64];"
    ),
}
KERNELS = Kernels([HEAD + body for body in (*ORDERED.values(), *RACING.values())], "int* y, int* x")


def kinds(body: str) -> set[str]:
    findings = simulator.check(
        *KERNELS.of(HEAD + body), np.zeros(128, np.int32), np.arange(128, dtype=np.int32),
        grid=(1,), block=(128,),
    )  # fmt: skip
    return {finding.kind for finding in findings}


@pytest.mark.parametrize("name", ORDERED)
def test_threads_that_meet_at_a_barrier_are_ordered(name):
    assert kinds(ORDERED[name]) == set()


@pytest.mark.parametrize("name", RACING)
def test_threads_that_do_not_meet_race(name):
    assert "race" in kinds(RACING[name])
