"""PTX that a thread makes and that the cache of compiled code keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from . import compiler_cache

_AT_A_TIME = threading.Semaphore(2)


class LaterPtx:
    """The PTX that `make` returns.

    kind, key: its name in the cache; make: returns the PTX, or raises an exception, which `get`
    raises.
    """

    def __init__(self, kind: str, key: str, make: Callable[[], str]):
        self._kind, self._key, self._make = kind, key, make
        self._future: Future[str] | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start the thread, if none has started."""
        with self._lock:
            if self._future is not None:
                return
            self._future = Future()
        # No pool of Python's: a pool takes nothing after the main thread's end, and a thread of
        # the program may go on then.
        threading.Thread(target=self._work, name=self._kind, daemon=True).start()

    def get(self) -> str:
        """Return the PTX; wait for the thread."""
        self.begin()
        assert self._future is not None
        return self._future.result()

    def _work(self) -> None:
        assert self._future is not None
        try:
            with _AT_A_TIME:
                self._future.set_result(self._kept())
        except BaseException as error:  # whoever waits for it raises it
            self._future.set_exception(error)

    def _kept(self) -> str:
        record = compiler_cache.load(self._kind, self._key)
        if record is not None and "ptx" in record:
            return str(record["ptx"])
        ptx = self._make()
        compiler_cache.store(self._kind, self._key, {"ptx": ptx})
        return ptx
