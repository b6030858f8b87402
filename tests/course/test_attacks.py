"""Attacks on the grader: each one is run in the box, and must end as the table says, with nothing
won and nothing left behind.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from helpers import exercises, kernel_cells
from helpers.course import box, figures, judge, processes, questions, wire, writing
from helpers.course.box import Benches
from helpers.exercises.content import loops_swapped
from helpers.exercises.judge import gate
from helpers.simulator.compile import includes
from helpers.simulator.compile.toolchain import CompileFailed

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="the box is made of what Linux has"
)

MIB = 1 << 20
SECRET = "the-instructors-token-5e1d"
LIMITS = box.Limits(
    wall_s=20, cpu_s=6, memory=700 * MIB, scratch=32 * MIB, file=16 * MIB, processes=40
)
# For a job that ends at a limit only: a grader has more patience, and ends it in the same way.
SHORT = replace(LIMITS, cpu_s=1)


@cache
def reasons() -> dict[str, str]:
    """Why there is no box of a level here, by the names of the levels; "" where there is one."""
    found = {}
    for level in box.LEVELS[:-1]:
        try:
            with box.Bench("python", level) as bench:
                bench._start()
            found[level] = ""
        except box.NoBox as error:
            found[level] = str(error)
    return found


def best_level() -> str:
    """The best level of which a box can be had here; the test is skipped if there is none."""
    for level, reason in reasons().items():
        if not reason:
            return level
    pytest.skip(f"no box can be had here: {reasons()}")


@pytest.fixture(params=box.LEVELS[:-1])
def level(request) -> str:
    if reason := reasons()[request.param]:
        pytest.skip(f"no box of the level {request.param} can be had here: {reason}")
    return request.param


@pytest.fixture(scope="module")
def machine() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="halo-machine-"
    ) as folder:  # pytest's own is closed to other users
        yield box.machine_folder(Path(folder))


@pytest.fixture(scope="module")
def grade_kernel(machine) -> Iterator[Callable[..., dict]]:
    """Grades the text of a kernel. One bench for each set of limits serves all: it starts anew
    where a job has ended it.
    """
    started: dict[box.Limits, Benches] = {}

    def grade(text: str, exercise: str = "axpy_two", limits: box.Limits = LIMITS) -> dict:
        if limits not in started:
            started[limits] = Benches(best_level(), machine, limits)
        return judge.grade(exercise, text, 11, started[limits])

    yield grade
    for benches in started.values():
        benches.close()


def run_python(
    text: str, level: str, limits: box.Limits = LIMITS, most: int = 1 << 20
) -> tuple[box.Ended, dict]:
    """What a student's Python gives, as a function `cost` that is called once."""
    shape, seen = {"M": 1}, {"blocks": 1}
    call = wire.pack(
        {
            "text": text,
            "function": "cost",
            "driver": "costs",
            "calls": {"known": [[shape, 8, seen]], "larger": [], "untimed": []},
        }
    )
    with box.Bench("python", level, limits) as bench:
        ended = bench.run(call, most)
    made = {}
    if ended.status == "done":
        made, _ = wire.content(ended.answer)
    return ended, made


def processes_with(word: str) -> list[int]:
    """Processes of this machine whose memory of arguments holds a word."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if word.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                    found.append(int(name))
            except OSError:
                continue
    return found


def running() -> int:
    """Processes of this machine that have not ended; who ended may wait for its parent a while."""
    return sum(processes.is_alive(int(name)) for name in os.listdir("/proc") if name.isdigit())


# ---- resources ----


def test_an_answer_above_its_size_is_no_answer():
    text = "def cost(*a):\n    return 1.0\n"
    whole, _ = run_python(text, best_level())
    assert whole.status == "done"
    most = len(whole.answer) * 3 // 4
    cut, _ = run_python(text, best_level(), most=most)
    assert (cut.status, cut.answer) == ("crash", b"")
    assert cut.said == f"the answer has more than {most:,} bytes"


def test_a_fork_bomb_is_stopped_and_nothing_is_left(level):
    before = running()
    text = (
        "import os\ndef cost(*a):\n    while True:\n        try: "
        "os.fork()\n        except OSError: pass\n"
    )
    ended, _ = run_python(
        text, level, box.Limits(wall_s=1, cpu_s=2, memory=700 * MIB, processes=40)
    )
    assert ended.status in ("time", "memory", "crash")
    time.sleep(0.3)
    assert running() < before + 20


def test_a_memory_bomb_of_one_process(level):
    ended, _ = run_python(
        "def cost(*a):\n    b = []\n    while True: b.append(bytearray(50_000_000))\n", level
    )
    assert ended.status == "memory"
    assert ended.peak < 2 * LIMITS.memory


@pytest.mark.parametrize("memory", ["bytearray(10_000_000)", "shared()"])
def test_a_memory_bomb_of_twenty_processes(memory, level):
    text = (
        "import mmap, os, time\ndef shared():\n    m = mmap.mmap(-1, 10_000_000)\n"
        "    m.write(bytes(10_000_000))\n    return m\n"
        "def cost(*a):\n    for _ in range(20):\n        if os.fork() == 0:\n            b = []\n"
        f"            for _ in range(8): b.append({memory}); time.sleep(0.05)\n"
        "            time.sleep(60)\n    time.sleep(60)\n"
    )
    ended, _ = run_python(text, level)
    assert ended.status == "memory"
    assert ended.seconds < LIMITS.wall_s


@pytest.mark.parametrize("files", [3, 40])
def test_the_disk_is_not_filled(level, files):
    """A few files are written before anybody looks; many are still being written then."""
    text = f"""
def cost(*a):
    n = 0
    for place in (".", "/dev/shm", "/tmp", "/halo", "/"):
        for k in range({files}):
            try:
                with open(f"{{place}}/f{{k}}", "wb") as f:
                    for _ in range(16): n += f.write(b"x" * 1_000_000)
            except OSError: pass
    return n
"""
    ended, made = run_python(text, level)
    assert ended.status in ("done", "memory")
    assert not made or made["made"]["known"][0] <= LIMITS.scratch + 2 * MIB
    if ended.status == "memory":
        assert "MiB of files" in ended.said


FOLDERS = {  # and how the job ends
    "a thousand folders deep": ("for _ in range(1500): os.mkdir('d'); os.chdir('d')", "done"),
    "without rights": ("os.mkdir('a', 0o300); os.mkdir('a/b', 0)", "done"),
    "empty files": ("for k in range(9000): os.close(os.open(str(k), os.O_CREAT))", "memory"),
}


@pytest.mark.parametrize("folders", FOLDERS)
def test_folders_of_any_form_are_counted_and_removed(folders, level):
    line, status = FOLDERS[folders]
    before = set(Path(tempfile.gettempdir()).glob("halo-box-*"))
    ended, _ = run_python(f"import os\ndef cost(*a):\n    {line}\n    return 1\n", level)
    assert ended.status == status
    assert set(Path(tempfile.gettempdir()).glob("halo-box-*")) <= before


def test_an_endless_loop_in_python(level):
    ended, _ = run_python(
        "def cost(*a):\n    while True: pass\n", level, box.Limits(wall_s=30, cpu_s=1)
    )
    assert ended.status == "time"
    ended, _ = run_python(
        "import time\ndef cost(*a): time.sleep(100)\n", level, box.Limits(wall_s=1)
    )
    assert ended.status == "time"


def test_an_endless_loop_in_a_kernel(grade_kernel):
    text = (
        "%%kernel axpy_two\n__global__ void axpy_two(float* y, const float* x, int n, "
        "float a) { while (true) y[0] += a; }"
    )
    result = grade_kernel(text, limits=SHORT)
    assert result["status"] in ("time", "finding"), result["messages"]
    assert result["seconds"] < 30


# ---- what is to be seen ----

LOOK = """
import os
def cost(*a):
    seen = []
    for place in PLACES:
        try:
            with open(place, "rb") as f: seen.append((place, f.read(200_000)))
        except OSError: continue
    for place, names, files in os.walk("/"):
        if place.startswith(("/usr", "/sys", "/lib", PYTHON)): names[:] = []; continue
        seen.append((place, " ".join(files).encode()))
    seen.append(("environ", repr(dict(os.environ)).encode()))
    for one in range(1, 40_000) if os.path.exists("/proc/1") else ():
        if os.path.exists(f"/proc/{one}"):
            for what in ("environ", "cmdline", "status"):
                try:
                    place = f"/proc/{one}/{what}"
                    with open(place, "rb") as f: seen.append((place, f.read()))
                except OSError: continue
    known = [place for place, text in seen if any(w.encode() in text for w in WORDS)]
    raise ValueError(repr(known))
"""


def look(level: str, words: list[str], places: list[str]) -> str:
    """Where a student's Python in the box finds one of the words."""
    text = (
        LOOK.replace("PLACES", repr(places))
        .replace("WORDS", repr(words))
        .replace("PYTHON", repr(box.sys.base_prefix))
    )
    # The words stand in the student's own text, which lies in no file: what is found was somebody
    # else's.
    ended, made = run_python(text, level)
    assert ended.status == "done", ended
    assert "ValueError" in made["said"]
    return made["said"].partition("ValueError: ")[2]


def test_the_keys_the_hidden_tests_and_other_students_cannot_be_read(level, tmp_path, monkeypatch):
    key = tmp_path / ".seed"
    key.write_text(SECRET)
    tmp_path.chmod(0o755)
    key.chmod(0o644)
    places = [
        str(key),
        "/etc/shadow",
        "/etc/passwd",
        str(box.ROOT / "helpers/exercises/content/conv1d_edge/solution.cu"),
    ]
    places += [
        str(box.ROOT / "tests/course/test_attacks.py"),
        "/halo/helpers/exercises/content/conv1d_edge/solution.cu",
    ]
    assert look(level, [SECRET, "root:", "extern"], places) == "[]"


def test_the_instructors_environment_is_invisible(level, monkeypatch):
    monkeypatch.setenv("GRADER_TOKEN", SECRET)
    places = [
        "/proc/1/environ",
        "/proc/1/cmdline",
        "/proc/self/environ",
        f"/proc/{os.getpid()}/environ",
        "/proc/self/mounts",
    ]
    assert look(level, [SECRET, "pytest", str(Path.home()) + "/.bash"], places) == "[]"


def test_results_cannot_be_overwritten(level, tmp_path):
    result = tmp_path / "result.json"
    result.write_text("mine")
    tmp_path.chmod(0o777)
    result.chmod(0o666)
    text = (
        f"def cost(*a):\n    with open({str(result)!r}, 'w') as f: "
        "f.write('100 points')\n    return 1\n"
    )
    _, made = run_python(text, level)
    assert result.read_text() == "mine"
    assert "said" in made


def test_the_repository_cannot_be_changed(level):
    text = (
        "import os\ndef cost(*a):\n    done = []\n"
        f"    for place in ({str(box.ROOT)!r}, '/halo', '/usr', '/halo/helpers/course', '/lib'):\n"
        "        try:\n            open(place + '/x.py', 'w').close(); "
        "done.append(place)\n        except OSError: pass\n"
        "    raise ValueError(repr(done))\n"
    )
    _, made = run_python(text, level)
    assert made["said"].endswith("ValueError: []")


# System calls of x86_64 that change what a file is, by its name or by a descriptor of it.
CHANGES = {
    "chmod": (90, "path", 0), "fchmod": (91, "fd", 0), "fchmodat": (268, -100, "path", 0),
    "fchmodat2": (452, -100, "path", 0, 0), "chown": (92, "path", "uid", "uid"),
    "fchown": (93, "fd", "uid", "uid"), "lchown": (94, "path", "uid", "uid"),
    "fchownat": (260, -100, "path", "uid", "uid", 0), "utime": (132, "path", 0),
    "utimes": (235, "path", 0), "futimesat": (261, -100, "path", 0),
    "utimensat": (280, -100, "path", 0, 0), "utimensat of a descriptor": (280, "fd", 0, 0, 0),
    "setxattr": (188, "path", "user.x", "v", 1, 0), "lsetxattr": (189, "path", "user.x", "v", 1, 0),
    "fsetxattr": (190, "fd", "user.x", "v", 1, 0), "removexattr": (197, "path", "user.y"),
    "lremovexattr": (198, "path", "user.y"), "fremovexattr": (199, "fd", "user.y"),
    "truncate": (76, "path", 0), "inotify_add_watch": (254, "watch", "path", 0x100),
}
OWN_AND_OTHERS = """
import ctypes, errno, os
def cost(*a):
    libc = ctypes.CDLL(None, use_errno=True)
    open("own", "w").close()
    done = []
    for path in ("own", OUTSIDE):
        values = {"path": path, "uid": os.getuid(), "watch": libc.inotify_init1(0)}
        try: values["fd"] = os.open(path, os.O_RDONLY)
        except OSError: values["fd"] = -1
        for name, arguments in CHANGES.items():
            given = [values.get(one, one) for one in arguments]
            given = [one.encode() if isinstance(one, str) else one for one in given]
            if libc.syscall(*given) >= 0: done.append((name, path))
            elif path == "own" and ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
                done.append((name, path, ctypes.get_errno()))
    try: done.append(("stat", os.stat(OUTSIDE).st_size))
    except FileNotFoundError: pass
    raise ValueError(repr(done))
"""


@pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the numbers of system calls are x86_64's"
)
def test_no_file_changes_its_mode_owner_times_or_attributes_and_none_is_seen(level, monkeypatch):
    """Files of the user that the box is: of the grader's, where the grader is not root."""
    monkeypatch.setattr(box, "UIDS", 1)
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "ann.json"
        path.write_text("10 points")
        if os.geteuid() == 0:
            os.chown(folder, box.FIRST_UID, -1)
            os.chown(path, box.FIRST_UID, -1)
        for place in (path, folder):
            before = place.stat()
            text = OWN_AND_OTHERS.replace("OUTSIDE", repr(str(place)))
            _, made = run_python(text.replace("CHANGES", repr(CHANGES)), level)
            assert made["said"].endswith("ValueError: []")
            assert place.stat() == before and os.listxattr(place) == []


# ---- the checker ----


def test_ending_the_process_is_no_pass(level):
    ended, _ = run_python("import os\nos._exit(0)", level)
    assert ended.status == "crash"
    ended, made = run_python("import sys\ndef cost(*a): sys.exit(0)", level)
    assert "SystemExit" in made["said"]


def test_a_patched_checker_patches_itself_only(level, machine):
    text = (
        'import json, sys, builtins\njson.dumps = lambda *a, **k: \'{"made": ["pass"], "status": '
        '"pass", "points": 10}\'\n'
        "for m in list(sys.modules.values()):\n    for n in ('check', 'judge', 'verdict'):\n"
        "        try: setattr(m, n, lambda *a, **k: True)\n        except Exception: pass\n"
        "def cost(*a): return 0\n"
    )
    benches = Benches(level, machine, LIMITS)
    result = judge.grade("cost", text, 11, benches)
    assert (result["status"], result["points"]) in (("crash", 0.0), ("wrong", 0.0))


def test_an_answer_of_numbers_that_are_none(level, machine):
    benches = Benches(level, machine, LIMITS)
    for value in ("float('nan')", "float('inf')", "a[1] * float('nan')"):
        result = judge.grade("cost", f"def cost(*a): return {value}", 11, benches)
        assert result["status"] == "wrong", value


# ---- the machine around ----


def test_there_is_no_network(level):
    server = socket.create_server(("127.0.0.1", 0))
    port, met = server.getsockname()[1], []
    thread = threading.Thread(target=lambda: met.append(server.accept()), daemon=True)
    thread.start()
    text = (
        "import socket\ndef cost(*a):\n"
        f"    s = socket.create_connection(('127.0.0.1', {port}), 2)\n    "
        "s.send(b'hello')\n    return 1\n"
    )
    _, made = run_python(text, level)
    assert "said" in made and not met
    server.close()


SYSTEM = """
import ctypes, os
def cost(*a):
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    def call(name, *args):
        if libc.syscall(*args) >= 0: done.append(name)
    call("ptrace the server", 101, 16, os.getppid(), 0, 0)
    call("read another's memory", 310, os.getppid(), 0, 0, 0, 0, 0)
    for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000):
        call(f"unshare {flag:x}", 272, flag)
    call("clone into namespaces", 56, 0x10000000 | 17, 0, 0, 0, 0)
    call("mount", 165, b"none", b"/", b"tmpfs", 0, 0)
    call("bpf", 321, 0, 0, 0)
    call("keyctl", 250, 0, -3, 0)
    call("io_uring", 425, 1, 0)
    call("shared memory", 29, 0, 4096, 0o1600)
    call("a file in memory", 319, b"x", 0)
    call("chroot", 161, b"/")
    try: os.setuid(0); done.append("setuid")
    except OSError: pass
    try: os.kill(1, 0) if os.getpid() != 1 else None; os.kill(1, 9)
    except OSError: pass
    if os.getuid() == 0: done.append("root")
    raise ValueError(repr(done))
"""


@pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the numbers of system calls are x86_64's"
)
def test_no_ptrace_no_namespaces_no_mounts(level):
    _, made = run_python(SYSTEM, level)
    assert made["said"].endswith("ValueError: []")


@pytest.mark.parametrize(
    "call",
    [
        "os.kill(pid, 0)", "resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))",
        "os.sched_setaffinity(pid, {0})", "os.setpriority(os.PRIO_PROCESS, pid, 9)",
        "os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))",
        "fcntl.fcntl(os.pipe()[0], 8, pid)",  # F_SETOWN: the kernel then sends it SIGIO
    ],
)  # fmt: skip
@pytest.mark.parametrize("whose", ["the grader", "the box's server"])
def test_another_process_can_neither_be_ended_nor_changed(call, whose, level):
    pid = os.getpid() if whose == "the grader" else "os.getppid()"
    text = f"import fcntl, os, resource\ndef cost(*a):\n    pid = {pid}\n    {call}\n    return 1\n"
    _, made = run_python(text, level)
    assert re.search(r"PermissionError|ProcessLookupError|No such process", made.get("said", ""))


def test_a_daemon_does_not_stay(level):
    mark = f"halo-daemon-{os.getpid()}-{level}"
    text = (
        "import os, sys\ndef cost(*a):\n    if os.fork() == 0:\n        "
        "os.setsid()\n        if os.fork() == 0:\n"
        f"            os.execv('/bin/sh', ['/bin/sh', '-c', 'sleep 300; : {mark}'])\n        "
        "os._exit(0)\n    return 1\n"
    )
    ended, _ = run_python(text, level)
    assert ended.status == "done"
    time.sleep(0.2)
    assert not processes_with(mark)


def test_a_flood_of_output_goes_nowhere(level, capfd):
    text = (
        "import sys\ndef cost(*a):\n    for _ in range(200): sys.stdout.write('x' * "
        "1_000_000)\n    return 1\n"
    )
    _, made = run_python(text, level)
    assert made["made"]["known"] == [1.0]
    assert "xxx" not in "".join(capfd.readouterr())


def test_a_flood_of_printf(grade_kernel, capfd):
    text = (
        "%%kernel axpy_two\n#include <cstdio>\n__global__ void axpy_two(float* y, const float* x, "
        "int n, float a)\n"
        '{ for (int k = 0; k < 100000; ++k) printf("%d a long line that fills '
        'every buffer there may be\\n", k); }'
    )
    result = grade_kernel(text, limits=SHORT)
    assert result["status"] != "pass"
    assert "long line" not in "".join(capfd.readouterr())
    assert result["memory"] < LIMITS.memory + 200 * MIB


# ---- answers that are weapons ----


def test_an_answer_that_unpacks_to_8_gb():
    """Nothing is unpacked: shapes come from the exercise, and an answer has exactly their bytes."""
    expected = [(np.dtype(np.float32), (4,))]
    head = b'{"arrays": [["<f4", [2000000000]]]}'
    message = len(head).to_bytes(8, "little") + head + b"\0" * 16
    _, start = wire.content(message)
    assert wire.arrays(message, start, expected)[0].shape == (4,)
    with pytest.raises(wire.MessageError, match="bytes of arrays"):
        wire.arrays(message, start, [(np.dtype(np.float32), (2_000_000_000,))])
    with pytest.raises(wire.MessageError):
        wire.content((8 << 30).to_bytes(8, "little") + b"{}")


def test_an_answer_is_cut_at_its_size(level):
    text = (
        "import os\ndef cost(*a):\n    for fd in range(3, 20):\n        try:\n"
        "            while True: os.write(fd, b'x' * 4_000_000)\n        except OSError: "
        "pass\n    return 1\n"
    )
    ended, _ = run_python(text, level)
    assert ended.status == "crash"
    assert ended.peak < LIMITS.memory


def test_a_pickle_is_bytes(level, tmp_path):
    mark = tmp_path / "unpickled"
    payload = b"cos\nsystem\n(S'touch %s'\ntR." % str(mark).encode()
    message = len(payload).to_bytes(8, "little") + payload
    with pytest.raises(wire.MessageError, match="not JSON"):
        wire.content(message)
    nested = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(wire.MessageError):
        wire.content(len(nested).to_bytes(8, "little") + nested)
    assert not mark.exists()


def png(text: bytes, kind: bytes = b"tEXt") -> bytes:
    """A PNG with one text, as far as a reader of texts looks."""
    body = b"halo-labs-record\0" + text
    return b"\x89PNG\r\n\x1a\n" + len(body).to_bytes(4, "big") + kind + body + b"\0" * 4


def test_a_forged_record_in_a_figure(tmp_path):
    import json
    import zlib

    timing = {"samples": [0.5, 0.5, 0.5, 0.5, 0.5], "median": 0.001}
    rows = [{"series": "conv1d_edge", "parameters": {"global_load_sectors": 3}, "timing": timing}]
    forged = {
        "schema": 1,
        "name": "x",
        "lab": "101",
        "measurements": rows,
        "sources": {"conv1d_basic": "0" * 64},
    }
    path = tmp_path / "figure.png"
    path.write_bytes(png(json.dumps(forged).encode()))
    again = figures.Again({"global_load_sectors": 700})
    found = figures.check(figures.claimed(path), {"conv1d_edge": again})
    problems = " ".join(found["problems"])
    assert "median" in problems and "equal" in problems
    assert "claims 3 global_load_sectors, counted again it is 700" in problems
    assert "another source" in problems
    timing["samples"] = [5e-324] * 5  # a ratio to it is no number
    path.write_bytes(png(json.dumps({**forged, "name": "115_sizes"}).encode()))
    found = figures.check(figures.claimed(path), {})
    assert "no list of positive numbers" in " ".join(found["problems"])
    assert questions.claim({"claim": found})["drawing"] == ""
    bomb = zlib.compress(b"[" * 30_000_000)
    path.write_bytes(png(b"\0" + bomb, b"zTXt"))
    with pytest.raises(figures.ClaimError, match="not JSON"):
        figures.claimed(path)


# ---- the compiler and the kernel ----

HEAD = "%%kernel axpy_two\n"
KERNEL = "__global__ void axpy_two(float* y, const float* x, int n, float a)\n"


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/hostname"', "#include </etc/hostname>",
        '#include "../../../../etc/hostname"', "# /**/ include \"/etc/hostname\"",
        "#\\\ninclude \"/etc/hostname\"", '%:include "/etc/hostname"',
        '??=include "/etc/hostname"', "#embed </etc/hostname>",
        '#define H "/etc/hostname"\n#include H', '#if __has_include("/etc/hostname")\n#endif',
        '#include "~/x"',
        "#include_next </etc/hostname>", '#import "/etc/hostname"',
        '#pragma GCC dependency "/etc/hostname"', '%: pragma  GCC\tdependency </etc/hostname>',
        '_Pragma("GCC dependency \\"/etc/hostname\\"")', '#line 1 "/etc/hostname"',
        '# 5 "PASS"', '/**/ # line 1 "PASS"', '#define AT 1 "PASS"\n#line AT',
    ],
)  # fmt: skip
def test_other_files_are_not_included(line, grade_kernel):
    name = (
        Path("/etc/hostname").read_text().strip()
        if Path("/etc/hostname").exists()
        else "no such name"
    )
    result = grade_kernel(f"{HEAD}{line}\n{KERNEL}{{ y[0] = a; }}")
    assert result["status"] == "refused", result["messages"]
    assert name not in " ".join(result["messages"]) or name in line


@pytest.mark.parametrize(
    "line",
    [
        'R"(\n)" \n#include "/etc/hostname"\n', '// R"(\n#include "/etc/hostname"\n// )"',
        '#if 0\nR"(\n#endif\n#include "/etc/hostname"\n//)"', 'xR"(\n#include "/etc/hostname"\n)"',
        '"a"R"(\n#include "/etc/hostname"\n//)"', '#include <R"(>\n#include "/etc/hostname"\n//)"',
        'R"(\\\n)" \n#include "/etc/hostname"\n//)"', "'\"'R\"(\n#include </etc/hostname>\n//)\"",
    ],
)  # fmt: skip
def test_a_raw_string_hides_no_directive(line):
    with pytest.raises(gate.Refused):
        gate.check_includes(line)
    with pytest.raises(CompileFailed):
        includes.check(line, "a.cu", "", ())


@pytest.mark.parametrize(
    "text", ['R"(\n#include "my notes.txt"\n)"', 'LR"x(\n#include the rest\n)y"\n)x"; // R"(']
)
def test_the_inside_of_a_raw_string_is_no_directive(text):
    gate.check_includes(text)
    includes.check(text, "a.cu", "", ())


def test_headers_of_cuda_are_included():
    gate.check_includes(
        '#include <cuda_fp16.h>\n#include <cooperative_groups/reduce.h>\n#include '
        '<mma.h>\n#include "cuda_fp16.h"\n'
        "#line 5\n#pragma unroll\n// # 5 lanes\n/*\n# 6 rows\n*/\n#if 1\n# define N 5\n#endif\n"
    )


@pytest.mark.parametrize(("text", "name"), [
    (f"{HEAD}{KERNEL}{{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = -3e38f; "
     "} // \ud800", "axpy_two"),
    ("# \ud800\ndef cost(*a): return 1e308", "cost"),
    ("def cost(*a): raise ValueError('\ud800')", "cost"),
])  # fmt: skip
def test_what_no_type_can_hold_is_told_in_the_verdict_alone(text, name, grade_kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = " ".join(grade_kernel(text, name)["messages"])
    assert "codec" not in said and "FAIL" in said and not re.search("[\ud800-\udfff]", said)


def test_a_text_that_is_too_large_is_refused_before_it_is_read(grade_kernel):
    for text in ("x" * 100_000, "\n" * 5_000, HEAD + KERNEL + "{}" + " " * 3_000, "a\0b"):
        assert grade_kernel(text)["status"] == "refused"


SLOW = {  # texts on which a regular expression may go back and forth, and what reads them outside
    "literals": (lambda: exercises.find("axpy_two").is_stub(HEAD + "'\\" * 30_000)),
    "kernels": (lambda: kernel_cells.parse(HEAD + "__global__ " * 5_000 + KERNEL + "{}")),
    "templates": (lambda: kernel_cells.with_c_linkage("template<" * 3_000 + "__global__ " * 3_000)),
    "links": (lambda: writing.of_cells([{"source": "[" * 20_000}] * 5, "101")),
    "comments": (lambda: writing.of_cells([{"source": "<!--" * 5_000}] * 10, "101")),
    "loops": (lambda: loops_swapped.seen("for()" * 13_000)),
}


@pytest.mark.parametrize("what", SLOW)
def test_the_time_to_read_a_text_grows_with_its_length_only(what):
    began = time.process_time()
    SLOW[what]()
    assert time.process_time() - began < 2


def test_a_wild_function_pointer(grade_kernel):
    body = "{ typedef void (*F)(); F f = (F)(unsigned long long)(0x41414141 + n); f(); y[0] = a; }"
    result = grade_kernel(HEAD + KERNEL + body)
    assert result["status"] in ("finding", "refused", "compile", "wrong", "crash"), result[
        "messages"
    ]
    assert result["points"] == 0


def test_an_allocation_of_everything(grade_kernel):
    body = (
        "{ for (int k = 0; k < 100000; ++k) { char* p = (char*)malloc(1 << 30); "
        "if (p) p[0] = 1; } y[0] = a; }"
    )
    result = grade_kernel(HEAD + KERNEL + body, limits=SHORT)
    assert result["points"] == 0 and result["memory"] < LIMITS.memory + 200 * MIB, result[
        "messages"
    ]
    body = "{ __shared__ float t[1 << 28]; t[threadIdx.x] = a; y[0] = t[0]; }"
    assert grade_kernel(HEAD + KERNEL + body, limits=SHORT)["points"] == 0


def test_a_bomb_of_templates(grade_kernel):
    bomb = (
        "template <int N, int M> struct T { static constexpr int v = T<N - 1, 2 * M>::v + T<N - 1, "
        "2 * M + 1>::v; };\n"
        "template <int M> struct T<0, M> { static constexpr int v = M; };\n"
    )
    limits = box.Limits(wall_s=4, cpu_s=1, memory=700 * MIB)
    result = grade_kernel(f"{HEAD}{bomb}{KERNEL}{{ y[0] = T<28, 0>::v; }}", limits=limits)
    assert result["status"] in ("time", "memory", "compile", "crash"), result["messages"]
    assert result["seconds"] < 15 and result["points"] == 0


HIDDEN_LOADS = {
    "asm": 'float v; asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(y + n - 1 - i)); '
    'P += 0 * v;',
    "a generic load": 'float v; asm volatile("ld.f32 %0, [%1];" : "=f"(v) : "l"(y + n - 1 - i)); '
    'P += 0 * v;',
    "a cached load": "P += 0 * __ldcg(y + n - 1 - i);",
    "a volatile load": "P += 0 * *(const volatile float*)(y + n - 1 - i);",
    "a function that is not inlined": "P += 0 * hidden(y + n - 1 - i);",
}


@pytest.mark.parametrize("what", HIDDEN_LOADS)
def test_loads_are_counted_however_they_are_written(what, grade_kernel):
    """A fourth load of N in each thread, written in ways that a reader of the text would miss,
    goes over the budget.
    """
    exercise = exercises.find("conv1d_edge")
    head, _, rest = exercise.solution.partition("\n")
    helper = (
        '__device__ __attribute__((noinline, pure, section("hidden"))) float hidden(const '
        'float* p) { return *p; }\n'
    )
    load = HIDDEN_LOADS[what].replace("P += ", "sum += ").replace("y + ", "N + ")
    text = f"{head}\n{helper}{rest.replace('P[i] = sum;', load + ' P[i] = sum;')}"
    result = grade_kernel(text, "conv1d_edge")
    if result["status"] == "compile":  # without the attribute that this compiler does not take
        result = grade_kernel(text.replace(', section("hidden")', ""), "conv1d_edge")
    assert result["status"] == "budget", result["messages"]


def test_a_cell_of_one_student_leaves_nothing_for_the_next(machine):
    exercise = exercises.find("axpy_two")
    benches = Benches(best_level(), machine, replace(LIMITS, cpu_s=2))
    try:
        bad = HEAD + KERNEL + "{ while (true) { } }"
        assert judge.grade("axpy_two", exercise.solution, 5, benches)["status"] == "pass"
        assert judge.grade("axpy_two", bad, 5, benches)["status"] != "pass"
        assert judge.grade("axpy_two", exercise.solution, 5, benches)["status"] == "pass"
    finally:
        benches.close()
