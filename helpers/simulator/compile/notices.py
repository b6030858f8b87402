"""Notices of work that takes long, while it lasts: in JupyterLab a note in its corner, in a
terminal one line. Neither is an output of a cell, and nothing is said of work that ends soon.

    with notices.during("Compiling the simulator, once: about a minute"):
        ...
    for row in notices.counted("Measuring 115_sizes", rows): ...      # says how many there are
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

TARGET = "halo-labs:notice"  # as in notices.js
SOON_S = 1.5  # work that ends sooner needs no notice
EVERY_S = 1.0  # between two texts of one notice

Item = TypeVar("Item")


class _Notice:
    """One notice; it may be shown and changed from any thread, and closed only once."""

    def __init__(self, text: str):
        self._text = text
        self._comm: Any = None
        self._lock = threading.Lock()
        self._changed = 0.0
        self._timer: threading.Timer | None = threading.Timer(SOON_S, self._show)
        self._timer.daemon = True
        with suppress(RuntimeError):  # a box that allows no more threads goes without notices
            self._timer.start()

    def say(self, text: str) -> None:
        """Change the text."""
        with self._lock:
            self._text = text
            if self._comm is not None and time.monotonic() - self._changed >= EVERY_S:
                self._changed = time.monotonic()
                with suppress(Exception):  # a notice must not end the work that it is about
                    self._comm.send({"text": text})

    def close(self) -> None:
        """Take the notice away."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._comm is not None:
                with suppress(Exception):
                    self._comm.close()
            self._timer = self._comm = None

    def _show(self) -> None:
        with self._lock:
            if self._timer is None:  # the work has just ended
                return
            with suppress(Exception):
                if _in_a_notebook():
                    from comm import create_comm

                    self._comm = create_comm(target_name=TARGET, data={"text": self._text})
                elif sys.stderr.isatty():
                    print(f"{self._text} ...", file=sys.stderr)


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


@contextmanager
def during(text: str) -> Iterator[None]:
    """Show `text` while the block lasts."""
    notice = _Notice(text)
    try:
        yield
    finally:
        notice.close()


def counted(text: str, items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items; show `text` and how many there were so far."""
    notice = _Notice(text)
    try:
        for count, item in enumerate(items, 1):
            yield item
            notice.say(f"{text}: {count:,} so far")
    finally:
        notice.close()
