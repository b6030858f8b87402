"""The box that a submission runs in: no network, no files but a few to read, little memory,
little time, no trace.

    with box.Bench("kernel") as bench:
        # ended.status is "done", "time", "memory" or "crash"
        ended = bench.run(job, most=wire.size(expected))

Level "bubblewrap": bwrap gives the processes namespaces of their own. Where it cannot run, level
"landlock": Landlock, seccomp, limits of resources, and another user where the grader is root. On
both the processes give up their rights themselves, too (confine.py). Level "none" must be asked
for by name. In every case a bench is one process that waits for jobs (inside.py), with a clean
environment and a socket as its only link, and each job is a process of its own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.course import CourseError, confine
from helpers.course.inside import MEMORY, bytes_in
from helpers.course.processes import (
    descendants,
    end_all_of,
    end_below,
    resident_bytes,
    tasks_of_this_user,
)

ROOT = Path(__file__).resolve().parents[2]
LEVELS = ("bubblewrap", "landlock", "none")
KINDS = ("kernel", "python")
MACHINE = "halo_machine.so"  # the one file of a machine_folder
# The users that a grader as root becomes: nobody's, and another one for each bench.
FIRST_UID, UIDS = 61_000, 4_000

# What a job needs of this repository. No solution, no reference and no expected output is among it;
# a job that explains a mistake brings the right outputs of small cases that every student has.
_FILES = {
    "kernel": (
        "helpers/__init__.py",
        "helpers/checking",
        "helpers/kernel_cells.py",
        "helpers/labs/__init__.py",
        "helpers/launch.py",
        "helpers/limits.py",
        "helpers/quantities.py",
        "helpers/tables.py",
        "helpers/simulator",
        "helpers/exercises/__init__.py",
        "helpers/exercises/judge/__init__.py",
        "helpers/exercises/judge/cases.py",
        "helpers/exercises/judge/explained.py",
        "helpers/exercises/judge/outcome.py",
        "helpers/exercises/judge/patience.py",
        "helpers/course/__init__.py",
        "helpers/course/codec.py",
        "helpers/course/texts.py",
        "helpers/course/wire.py",
        "helpers/course/kernel_job.py",
        "helpers/course/inside.py",
        "helpers/course/confine.py",
        "helpers/tensor_maps.py",
    ),
    "python": (
        "helpers/course/inside.py",
        "helpers/course/confine.py",
        "helpers/course/python_job.py",
    ),
}


class NoBox(CourseError, RuntimeError):
    """No box of the level can be had; the message says why, and what to do."""


@dataclass(frozen=True)
class Limits:
    """Of one job. wall_s: as a clock shows it; cpu_s: of one process; memory: of all its
    processes together, in bytes; address: of one process, in bytes of addresses; processes:
    threads included; file: bytes of one file; scratch: bytes of all files.
    """

    wall_s: float = 60.0
    cpu_s: int = 30
    memory: int = 2 << 30
    address: int = 8 << 30
    processes: int = 64
    files: int = 128
    file: int = 64 << 20
    scratch: int = 128 << 20


@dataclass(frozen=True)
class Ended:
    """How a job ended: status "done", "time", "memory" or "crash"; said: one sentence about it;
    answer: the bytes that it wrote; seconds: by the clock; peak: of its memory, in bytes, as
    far as it was seen.
    """

    status: str
    said: str = ""
    answer: bytes = b""
    seconds: float = 0.0
    peak: int = 0


class Bench:
    """A process in a box that runs one job after another. Starts with the first job; not for
    several threads at once.

    kind: "kernel" or "python"; level: one of LEVELS; cache: a folder with the built machine
    (`machine_folder`), for kernels. A bench for Python serves one job, and is thrown away.
    """

    _count = itertools.count()

    def __init__(
        self, kind: str, level: str, limits: Limits | None = None, cache: Path | None = None
    ):
        if kind not in KINDS or level not in LEVELS:
            raise ValueError(
                f"a bench is for one of {KINDS}, at one of the levels {LEVELS}; got {kind!r}, "
                f"{level!r}"
            )
        self.kind, self.level, self.limits = kind, level, limits or Limits()
        self._cache = cache
        self._process: subprocess.Popen | None = None
        self._channel: socket.socket | None = None
        self._scratch = ""  # a folder, at the levels without one of their own
        self._uid = FIRST_UID + (os.getpid() * 16 + next(self._count)) % UIDS

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- jobs ----

    def run(self, job: bytes, most: int) -> Ended:
        """Run a job whose answer has at most `most` bytes, else it has crashed. Raises NoBox."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        assert self._channel is not None
        began = time.monotonic()
        with _memory_file(job) as (given, _), _memory_file(b"") as (answer, content):
            limits = self._limits_of_a_job(most)
            header = json.dumps({"limits": limits, "scratch": self.limits.scratch}).encode()
            try:
                socket.send_fds(self._channel, [header], [given, answer])
            except OSError:
                self.close()
                return Ended("crash", "the box was gone before the job began")
            status, said, peak = self._watch(began)
            seconds = time.monotonic() - began
            if status == "crash" or self.kind == "python":
                self.close()  # whatever the job did to the server, it is not there for the next one
            if status != "done":
                self.close()
                return Ended(status, said, b"", seconds, peak)
            got = content(most + 1)
        if not got:
            return Ended("crash", "it ended before it had answered", b"", seconds, peak)
        if len(got) > most:
            return Ended("crash", f"the answer has more than {most:,} bytes", b"", seconds, peak)
        return Ended("done", "", got, seconds, peak)

    def _limits_of_a_job(self, most: int) -> dict[str, int]:
        limits = self.limits
        own = {
            "as": limits.address,
            "cpu": limits.cpu_s,
            "fsize": max(limits.file, most),
            "nofile": limits.files,
            "memlock": 0,
        }
        processes = limits.processes
        if self.level != "bubblewrap" and os.geteuid() != 0:
            processes += tasks_of_this_user()  # the limit counts what else this user runs
        return {**own, "nproc": processes}

    def _watch(self, began: float) -> tuple[str, str, int]:
        """Wait for the end of a job: its status, a sentence, the most memory that was seen."""
        assert self._process is not None and self._channel is not None
        peak, pause = 0, 0.01
        while True:
            ready, _, _ = select.select([self._channel], [], [], pause)
            if ready:
                return (*self._end_of_job(), peak)
            now = time.monotonic()
            if now - began > self.limits.wall_s:
                return "time", f"still running after {self.limits.wall_s:g} s, and stopped", peak
            peak = max(peak, resident_bytes(self._process.pid))
            if peak > self.limits.memory:
                return (
                    "memory",
                    f"more than {self.limits.memory >> 20:,} MiB of memory, and stopped",
                    peak,
                )
            most = self.limits.scratch
            if self._scratch and bytes_in(self._scratch, most) > most:
                return (*self._too_many_files(), peak)
            pause = min(pause * 1.5, 0.05)

    def _end_of_job(self) -> tuple[str, str]:
        assert self._channel is not None
        try:
            said = json.loads(self._channel.recv(1 << 16))
            status, cpu, files = int(said["status"]), float(said["cpu"]), int(said["files"])
        except (OSError, ValueError, KeyError, TypeError):
            return "crash", "the job ended its box"
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == 24 or (number == 9 and cpu >= self.limits.cpu_s):
                return "time", f"more than {self.limits.cpu_s} s of computing, and stopped"
            return "crash", f"ended by signal {number}"
        code = os.WEXITSTATUS(status)
        if code == MEMORY:
            return "memory", "more memory than allowed, and stopped"
        if code != 0:
            return "crash", f"ended with status {code} before it had answered"
        # A job may write faster than `_watch` looks.
        return self._too_many_files() if files > self.limits.scratch else ("done", "")

    def _too_many_files(self) -> tuple[str, str]:
        return "memory", f"more than {self.limits.scratch >> 20:,} MiB of files, and stopped"

    # ---- the process ----

    def _start(self) -> None:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            command, fds, place = self._command()
            self._process = subprocess.Popen(
                command,
                stdin=there.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={
                    "PATH": "/usr/bin:/bin",
                    "LC_ALL": "C",
                    "OPENBLAS_NUM_THREADS": "1",
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                cwd="/",
                pass_fds=fds,
                start_new_session=True,
            )
            for fd in fds:
                os.close(fd)
        except OSError as error:
            here.close()
            raise NoBox(f"the box ({self.level}) does not start: {error}") from None
        finally:
            there.close()
        self._channel = here
        here.settimeout(60)
        try:
            here.sendall(json.dumps(place).encode())
            answer = json.loads(
                here.recv(1 << 16) or b'{"ready": false, "problem": "it ended at once"}'
            )
        except (OSError, ValueError) as error:
            answer = {"ready": False, "problem": str(error)}
        here.settimeout(None)
        if not answer["ready"]:
            self.close()
            why = answer["problem"]
            if "No module named" in why:
                read = ", ".join([sys.base_prefix, str(ROOT), *_module_folders()])
                why += f"; the box may run as another user, who must be able to read {read}"
            raise NoBox(f"the box ({self.level}) does not start: {why}")

    def _command(self) -> tuple[list[str], list[int], dict[str, Any]]:
        """Return the command, file descriptors that it inherits, and the first message for the
        server.
        """
        boxed = self.level == "bubblewrap"
        modules = _module_folders()
        toolkit = _toolkit() if self.kind == "kernel" else ""
        readable = [*modules, toolkit] if toolkit else modules
        cache = str(self._cache) if self._cache else ""
        if boxed:
            home, scratch, root = "/halo", "/scratch", ""
        else:
            self._scratch = tempfile.mkdtemp(prefix="halo-box-")
            home, scratch, root = str(ROOT), f"{self._scratch}/jobs", f"{self._scratch}/root"
            os.mkdir(scratch)
            os.mkdir(root)
            os.chmod(self._scratch, 0o711)
            if os.geteuid() == 0:
                os.chown(scratch, self._uid, self._uid)
        python = [os.path.realpath(sys.executable), "-I", "-S", f"{home}/helpers/course/inside.py"]
        system = [
            path
            for path in ("/usr", "/lib", "/lib64", "/bin", "/etc/alternatives", "/etc/ld.so.cache")
            if os.path.exists(path)
        ]
        prefixes = [
            path
            for path in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix))
            if not path.startswith("/usr/")
        ]
        own = [f"{home}/{name}" for name in _FILES[self.kind]]
        standard = [
            sysconfig.get_path("stdlib"),
            sysconfig.get_path("platstdlib"),
            f"{sysconfig.get_path('stdlib')}/lib-dynload",
        ]
        seen = "/halo/cache" if boxed else cache
        devices = [
            "/dev/null",
            "/dev/zero",
            "/dev/urandom",
            "/dev/random",
            "/proc/cpuinfo",
            "/proc/meminfo",
            "/proc/self",
        ]
        folders = [f"{home}/kernels"]  # `import helpers` looks for it; no job reads one
        read = [*system, *prefixes, *own, *readable, *([seen] if seen else []), scratch]
        place = {
            "kind": self.kind,
            "uid": self._uid,
            "path": [*standard, *([home] if self.kind == "kernel" else []), *modules],
            "cache": seen,
            "machine": f"{seen}/{MACHINE}",
            "toolkit": toolkit,
            "scratch": scratch,
            "landlock": self.level == "landlock" or (boxed and confine.landlock_version() > 0),
            "read": [*read, *devices],
            "root": root if self.level == "landlock" else "",
            "shown": sorted({*read, *devices[:4], "/proc", *map(os.path.realpath, read)}),
            "folders": folders,
            "alone": boxed or (self.level == "landlock" and os.geteuid() == 0),
        }
        if not boxed:
            return python, [], place
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise NoBox("bubblewrap is not installed")
        arguments = self._namespaces()
        bound = {path: path for path in [*system, *prefixes, *readable]} | {
            str(ROOT / n): f"/halo/{n}" for n in _FILES[self.kind]
        }
        above = {parent for path in bound.values() for parent in Path(path).parents} - {Path("/")}
        for folder in sorted(map(str, above)):
            if folder not in system:  # bwrap itself would make them readable by root only
                arguments += ["--perms", "0755", "--dir", folder]
        for folder in folders:
            arguments += ["--perms", "0755", "--dir", folder]
        for path, to in bound.items():
            arguments += (
                ["--symlink", os.readlink(path), to]
                if os.path.islink(path)
                else ["--ro-bind", path, to]
            )
        arguments += ["--ro-bind", cache, seen] if cache else []
        arguments += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
        arguments += ["--perms", "1777", "--size", str(self.limits.scratch), "--tmpfs", scratch]
        arguments += ["--remount-ro", "/", "--chdir", "/"]
        # By a file: a command line can be read by every process of the box.
        fd = os.memfd_create("arguments")
        os.write(fd, b"\0".join(one.encode() for one in arguments) + b"\0")
        os.lseek(fd, 0, os.SEEK_SET)
        os.set_inheritable(fd, True)
        return [bwrap, "--args", str(fd), "--", *python], [fd], place

    def _namespaces(self) -> list[str]:
        arguments = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
        arguments += ["--unshare-cgroup-try", "--die-with-parent", "--new-session"]
        arguments += ["--cap-drop", "ALL"]
        # As root the server in the box becomes another user, before it reads anything.
        if os.geteuid() == 0:
            return [*arguments, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        return [*arguments, "--unshare-user"]

    def close(self) -> None:
        """End the box, with all that runs in it."""
        if self._process is not None:
            if self.level != "bubblewrap":
                end_below(self._process.pid)
            members = descendants(self._process.pid)
            for pid in (self._process.pid, *members):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, 9)
            self._process.wait()
            if self.level == "landlock" and os.geteuid() == 0:
                end_all_of(self._uid)
        if self._channel is not None:
            # Not before: the server would end, and what it has adopted would be nobody's.
            self._channel.close()
        if self._scratch:
            # shutil.rmtree fails in a thousand folders, and in one without rights.
            for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
                subprocess.run([*command, self._scratch], capture_output=True, check=False)
        self._process, self._channel, self._scratch = None, None, ""


def find_level(
    kinds: Sequence[str] = ("python",), levels: Sequence[str] = LEVELS[:-1]
) -> str:
    """Return the first of the levels at which a bench of each kind starts here.

    Raises NoBox, with what each of them said.
    """
    said = []
    for level in levels:
        try:
            for kind in kinds:
                _try(kind, level)
            return level
        except NoBox as error:
            said.append(str(error))
    raise NoBox(
        "No submission was run, because no box can be had here:\n  "
        + "\n  ".join(said)
        + "\nInstall bubblewrap (Debian: apt install bubblewrap), or use Linux 5.13 or newer. "
        "To run submissions without a box, on a machine that may be lost, add --no-box."
    )


def _try(kind: str, level: str) -> None:
    """Start a bench and end it. Raises NoBox."""
    with tempfile.TemporaryDirectory(prefix="halo-machine-") as folder:
        cache = machine_folder(Path(folder)) if kind == "kernel" else None
        with Bench(kind, level, cache=cache) as bench:
            bench._start()


def machine_folder(to: Path) -> Path:
    """Build the simulator's machine where it is not built, and copy it into a folder of its own,
    for the box.

    The user's cache holds what everybody compiled, and stays outside. The box is told which file
    to load: it sees another PATH, and might look for what another compiler had built.
    """
    from helpers.simulator.machine import library

    to.mkdir(parents=True, exist_ok=True)
    part = to / f".{MACHINE}.{os.getpid()}"
    shutil.copyfile(library.build(), part)
    part.chmod(0o755)
    os.replace(part, to / MACHINE)
    to.chmod(0o755)
    return to


def _module_folders() -> list[str]:
    """Return the folders of installed packages that this Python imports from: those by the usual
    names, and those where the packages that a job needs lie. Never this repository.
    """
    found = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    for name in ("numpy", "platformdirs", "nvidia"):
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found.append(os.path.dirname(place))
    return [path for path in dict.fromkeys(map(os.path.realpath, found)) if os.path.isdir(path)]


def _toolkit() -> str:
    """Return the folder of the CUDA installation that the grader has chosen by HALO_CUDA, else "".
    """
    chosen = os.environ.get("HALO_CUDA", "")
    return os.path.realpath(chosen) if chosen else ""


@contextlib.contextmanager
def _memory_file(content: bytes) -> Iterator[tuple[int, Any]]:
    """Return a file in memory: its descriptor, and a function that reads at most so many bytes of
    it.
    """
    fd = os.memfd_create("job")
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd, lambda most: os.pread(fd, most, 0)
    finally:
        os.close(fd)


class Benches:
    """The benches of one grader: one for kernels that stays, and a new one for each answer in
    Python.
    """

    def __init__(self, level: str, cache: Path, limits: Limits | None = None):
        self.level, self.limits = level, limits or Limits()
        self._cache = cache
        self._kernel: Bench | None = None

    def of(self, kind: str) -> Bench:
        """Return a bench for "kernel" or "python"."""
        if kind == "python":
            short = replace(
                self.limits, cpu_s=min(self.limits.cpu_s, 10), wall_s=min(self.limits.wall_s, 30.0)
            )
            return Bench("python", self.level, short)
        if self._kernel is None:
            self._kernel = Bench("kernel", self.level, self.limits, self._cache)
        return self._kernel

    def close(self) -> None:
        """End the bench for kernels."""
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None
