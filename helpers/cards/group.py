"""The cards of a computer, and the one thread that drives each of them."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, TypeVar

from helpers import device
from helpers.programs import Modules
from helpers.simulator.findings.findings import fold

T = TypeVar("T")


class CardsError(ValueError):
    """Cards that cannot be used as asked; the message says which, why, and what can be done."""


class Card:
    """One card: a thread, and in it the card's primary context.

    Whatever touches the card runs in that thread, by `call` or `start`: allocations, copies,
    launches, and freeing. number: of the card; name: as its driver gives it. modules: kernels
    loaded in its context, each once.
    """

    def __init__(self, number: int, cuda: Any, compiler: Any):
        self.number, self.cuda, self.failed = number, cuda, ""
        self._compiler = compiler
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"card {number}")
        try:
            self.name: str = self.call(self._begin)
        except Exception:
            self._thread.shutdown()
            raise

    def start(self, task: Callable[..., T], *args: Any) -> Future[T]:
        """Run task(*args) in the card's thread; return its Future at once."""
        return self._thread.submit(task, *args)

    def call(self, task: Callable[..., T], *args: Any) -> T:
        """Run task(*args) in the card's thread and wait for it."""
        return self.start(task, *args).result()

    def close(self) -> None:
        """Take the context off, and end the thread. The primary context stays: what is left in it
        goes with the process.
        """
        with contextlib.suppress(Exception):  # a lost context cannot be taken off
            self.call(self._end)
        self._thread.shutdown()

    def _begin(self) -> str:
        gpu = self.cuda.Device(self.number)
        gpu.retain_primary_context().push()
        self.modules = Modules(self.cuda, self._compiler)
        return gpu.name()

    def _end(self) -> None:
        del self.modules
        self.cuda.Context.pop()

    def __repr__(self) -> str:
        return f"<card {self.number}: {self.name}{', failed' * bool(self.failed)}>"


class Cards(Sequence[Card]):
    """Cards, each driven by a thread of its own, to be used in a `with` block.

    numbers: which; all that the driver lists where they are left out. cuda, compiler: a driver and
    its compiler, such as `simulated` gives; those of the selected device where they are left out.
    Raises CardsError for a card that there is not.
    """

    def __init__(
        self, numbers: Sequence[int] | None = None, cuda: Any = None, compiler: Any = None
    ):
        if cuda is None:
            device.select()
            import pycuda.compiler
            import pycuda.driver

            cuda, compiler = pycuda.driver, pycuda.compiler
        self.cuda, self.compiler = cuda, compiler
        there = cuda.Device.count()
        chosen = tuple(range(there)) if numbers is None else tuple(numbers)
        if (
            not chosen
            or len(set(chosen)) < len(chosen)
            or not all(0 <= number < there for number in chosen)
        ):
            more = (
                "" if is_real(cuda) else "; HALO_DEVICES=2, set before the first use, simulates two"
            )
            raise CardsError(
                f"cards {chosen} were asked for; there are {there}, numbered from 0 on, each to be "
                f"given once{more}"
            )
        self._cards: list[Card] = []
        try:
            for number in chosen:
                self._cards.append(Card(number, cuda, compiler))
        except Exception:
            self.close()
            raise

    def __getitem__(self, index: Any) -> Any:
        return self._cards[index]

    def __len__(self) -> int:
        return len(self._cards)

    @property
    def living(self) -> list[Card]:
        """Those that have not failed."""
        return [card for card in self._cards if not card.failed]

    def each(self, task: Callable[[Card], T]) -> list[T]:
        """Run task(card) on all cards at once; return the results in order. Raises the first
        exception, when all have ended.
        """
        running = [card.start(task, card) for card in self._cards]
        for one in running:
            one.exception()
        return [one.result() for one in running]

    def close(self) -> None:
        """End all threads."""
        for card in self._cards:
            card.close()

    def __enter__(self) -> Cards:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def words(finding: Any) -> str:
    """Return the first sentence of a finding, where each card has one stream: that says more than
    its number.
    """
    text = re.sub(
        r"(?:stream \d+|the null stream) of device (\d+)(?: \(line \d+\))?",
        r"the stream of card \1",
        finding.message,
    )
    return fold(f"{finding.kind}: {text}", 4)


def is_real(cuda: Any) -> bool:
    """Return whether a driver is PyCUDA's, and not the simulator's."""
    return not cuda.__name__.startswith("helpers.simulator")


@contextlib.contextmanager
def simulated(count: int = 2, memory: Sequence[int | None] = ()) -> Iterator[SimpleNamespace]:
    """Give the simulator's driver with ``count`` cards, its compiler and a list of findings, filled
    at the end.

        with cards.simulated(2) as sim, cards.Cards(cuda=sim.cuda, compiler=sim.compiler) as group:
            ...
        print(sim.findings)

    It does so on any machine, GPU or not. memory: bytes of each card, the first ones first; 4 GiB
    where it says nothing. What it finds is kept and not shown as warnings. What was found before is
    dropped.
    """
    from helpers.simulator import pycuda_api
    from helpers.simulator.pycuda_api import compiler, driver

    driver.init()
    with pycuda_api.devices(count, memory):
        context = driver.Device(0).retain_primary_context()
        context.push()
        pycuda_api.findings(clear=True)
        given = SimpleNamespace(cuda=driver, compiler=compiler, findings=[])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pycuda_api.SimulatorWarning)
                yield given
        finally:
            given.findings.extend(pycuda_api.findings(clear=True))
            driver.Context.pop()
