"""One misuse of two cards, in a process of its own: `python -m helpers.experiments.wrong_card CASE`
prints what the driver says.

Card 0 and card 1 each have a vector, a stream, an event and a kernel; in each case the context of
card 1 is current, and something of card 0's is used. With LAB_DEVICE=simulator and HALO_DEVICES=2
the simulator answers.
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from helpers import device, kernels

N = 1024
ANSWER = "The driver says: "  # before the answer that `main` prints


def prepared(cuda: Any, compiler: Any, number: int) -> SimpleNamespace:
    """Return what a card has; its context is not current afterwards."""
    context = cuda.Device(number).retain_primary_context()
    context.push()
    module = compiler.SourceModule(kernels.source("axpy_basic"), no_extern_c=True)
    made = SimpleNamespace(
        context=context,
        module=module,
        kernel=module.get_function("axpy_basic"),
        stream=cuda.Stream(),
        event=cuda.Event(),
        x=cuda.to_device(np.ones(N, np.float32)),
        y=cuda.to_device(np.ones(N, np.float32)),
    )
    cuda.Context.synchronize()
    cuda.Context.pop()
    return made


def launch(cuda: Any, kernel: Any, y: Any, x: Any, stream: Any = None) -> None:
    """Launch y = y + x, and wait for it."""
    kernel(y, x, np.int32(N), np.float32(1), block=(256, 1, 1), grid=(N // 256, 1), stream=stream)
    cuda.Context.synchronize()


def with_peer_access(cuda: Any, here: Any, other: Any) -> None:
    cuda.Context.enable_peer_access(other.context)
    launch(cuda, here.kernel, here.y, other.x)


def in_a_thread(task: Callable[[], Any]) -> None:
    """Run task() in a new thread; raise here what it raises."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            task()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="second thread")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def free_elsewhere(cuda: Any, here: Any) -> str:
    before = cuda.mem_get_info()[0]
    big = cuda.mem_alloc(1 << 28)
    held = before - cuda.mem_get_info()[0]
    in_a_thread(big.free)
    return (
        f"no error; {(cuda.mem_get_info()[0] - before + held) / held:.0%} of the memory came back"
    )


CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "no context in the thread": lambda cuda, here, other: in_a_thread(lambda: cuda.mem_alloc(4)),
    "a module of the other card": lambda cuda, here, other: launch(
        cuda, other.kernel, here.y, here.x
    ),
    "a pointer of the other card": lambda cuda, here, other: launch(
        cuda, here.kernel, here.y, other.x
    ),
    "a pointer of the other card, with peer access": with_peer_access,
    "a stream of the other card, for a kernel": lambda cuda, here, other: launch(
        cuda, here.kernel, here.y, here.x, other.stream
    ),
    "a stream of the other card, for a copy": lambda cuda, here, other: (
        cuda.memcpy_dtod_async(here.y, here.x, 4 * N, other.stream),
        other.stream.synchronize(),
    ),
    "an event of the other card, recorded": lambda cuda, here, other: other.event.record(
        here.stream
    ),
    "an event of the other card, waited for": lambda cuda, here, other: here.stream.wait_for_event(
        _recorded(cuda, other),
    ),
    "a copy from the host to the other card": lambda cuda, here, other: cuda.memcpy_htod(
        other.x, np.zeros(N, np.float32)
    ),
    "a memset of the other card": lambda cuda, here, other: (
        cuda.memset_d32(other.x, 0, N),
        cuda.Context.synchronize(),
    ),
    "a copy within a card, between cards": lambda cuda, here, other: (
        cuda.memcpy_dtod(here.y, other.x, 4 * N),
        cuda.Context.synchronize(),
    ),
    "a peer copy with the contexts exchanged": lambda cuda, here, other: (
        cuda.memcpy_peer(here.y, other.x, 4 * N, other.context, here.context),
        cuda.Context.synchronize(),
    ),
    "a peer copy from the other card, without contexts": lambda cuda, here, other: (
        cuda.memcpy_peer(here.y, other.x, 4 * N),
        cuda.Context.synchronize(),
    ),
    "a peer copy within a card, without contexts": lambda cuda, here, other: (
        cuda.memcpy_peer(here.y, here.x, 4 * N),
        cuda.Context.synchronize(),
    ),
    "a stream of the other card, waited for by the host": lambda cuda, here, other: (
        other.stream.synchronize()
    ),
    "free from another thread": lambda cuda, here, other: free_elsewhere(cuda, here),
}


def _recorded(cuda: Any, card: Any) -> Any:
    card.context.push()
    card.event.record(card.stream)
    cuda.Context.pop()
    return card.event


def answer(cuda: Any, compiler: Any, case: str) -> str:
    """Return what a driver says to a case: the class and first line of its error, or "no error"."""
    other, here = (prepared(cuda, compiler, number) for number in (0, 1))
    here.context.push()
    try:
        said = CASES[case](cuda, here, other)
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        return f"{type(error).__name__}: {first_line}"
    finally:
        cuda.Context.pop()
    return said if isinstance(said, str) else "no error"


def main() -> None:
    """Print the answer to the case that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.experiments.wrong_card",
        description="Print what the driver says to one misuse of two cards.",
    )
    parser.add_argument("case", metavar="CASE", choices=CASES)
    case = parser.parse_args().case
    device.select()
    import pycuda.compiler
    import pycuda.driver

    print(f"{ANSWER}{answer(pycuda.driver, pycuda.compiler, case)}", flush=True)
    os._exit(0)  # what a lost context holds cannot be cleaned up


if __name__ == "__main__":
    main()
