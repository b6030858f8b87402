"""What runs below a process or for a user, by /proc, and its end."""

from __future__ import annotations

import contextlib
import os
import signal
import time


def descendants(pid: int) -> list[int]:
    """Return all processes below one."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{thread}/children", encoding="ascii") as file:
                    children = [int(word) for word in file.read().split()]
                found += children
                waiting += children
        except OSError:
            continue
    return found


def end_below(pid: int) -> None:
    """End all processes below one that adopts orphans.

    It is stopped meanwhile, so that those that have ended still count towards the limit of
    processes: a fork bomb then comes to its end.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGSTOP)
    for _ in range(500):
        alive = [one for one in descendants(pid) if is_alive(one)]
        if not alive:
            return
        for one in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False


def resident_bytes(pid: int) -> int:
    """Return bytes of memory of a process and all below it, shared memory included, without what
    lies in files.
    """
    total = 0
    for one in (pid, *descendants(pid)):
        with (
            contextlib.suppress(OSError, ValueError, IndexError),
            open(f"/proc/{one}/status", encoding="utf-8", errors="replace") as file,
        ):
            own = [line.split() for line in file if line.startswith(("RssAnon:", "RssShmem:"))]
            total += 1024 * sum(int(kib) for _, kib, *_ in own)
    return total


def _processes_of(uid: int) -> list[int]:
    """Return the processes of a user. (The owner of /proc/PID is root for those that hide.)"""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with (
                contextlib.suppress(OSError, ValueError, IndexError),
                open(f"/proc/{name}/status", encoding="utf-8") as file,
            ):
                uids = next(line for line in file if line.startswith("Uid:")).split()[1:]
                if str(uid) in uids:
                    found.append(int(name))
    return found


def tasks_of_this_user() -> int:
    total = 0
    for pid in _processes_of(os.getuid()):
        with contextlib.suppress(OSError):
            total += len(os.listdir(f"/proc/{pid}/task"))
    return total


def end_all_of(uid: int) -> None:
    """End every process of a user that only one bench has."""
    for _ in range(100):
        left = _processes_of(uid)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        if not left:
            return
        time.sleep(0.01)
