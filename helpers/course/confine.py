"""What a process gives up before it touches anything of a student: rights, files, network,
processes.

The process does this to itself, with the kernel's own means (rlimits, Landlock, seccomp), through
ctypes. It cannot be undone, and holds for every process that it starts. This module is used
inside the box: it imports the standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
from collections.abc import Iterable, Mapping
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 4, 22, 36, 38


class CannotConfine(OSError):
    """The kernel does not let this process give up a right."""


def _prctl(*values: int) -> None:
    arguments = [ctypes.c_ulong(v) for v in values] + [ctypes.c_ulong(0)] * (5 - len(values))
    if _libc.prctl(*arguments) != 0:
        raise CannotConfine(
            ctypes.get_errno(), f"prctl({values[0]}): {os.strerror(ctypes.get_errno())}"
        )


def no_new_rights() -> None:
    """Let no program that is started get more rights than this process has (setuid programs, too).
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def adopt_orphans() -> None:
    """Make processes whose parent has ended children of this one, so that it can end them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide() -> None:
    """Let no other process of the same user look into this one or read /proc/PID of it."""
    _prctl(_PR_SET_DUMPABLE, 0)


def drop_root(uid: int) -> None:
    """Become another user. Does nothing for a process that is not root."""
    if os.geteuid() != 0:
        return
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getuid() != uid or os.geteuid() != uid:
        raise CannotConfine(errno.EPERM, "this process is still root")


def limit(limits: Mapping[str, int]) -> None:
    """Set limits of resources by their names in `resource`, in lower case without RLIMIT_: {"as":
    bytes}.
    """
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name.upper()}")
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        last = (
            most + 1 if name == "cpu" and hard == resource.RLIM_INFINITY else most
        )  # the first second too much is a signal
        resource.setrlimit(kind, (most, last))


# ---- files that are not there: a root of its own

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000  # of unshare
_BIND, _REC, _PRIVATE = 4096, 16384, 1 << 18  # of mount
_CAPABILITIES_3 = 0x20080522  # the version of capset's structures


def own_root(root: str, shown: Iterable[str], folders: Iterable[str]) -> None:
    """Make the file system of this process one that has the paths `shown` alone, and empty folders
    beside them: nobody can ask for the names, sizes and times of other files, which Landlock does
    not refuse.

    root: an empty folder. Needs a process with one thread, and rights that root has, or that the
    kernel lets a user have in a namespace; raises CannotConfine, with nothing changed that the
    process sees. Before `hide`.
    """
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", _NEW_MOUNTS | (_NEW_USER if uid else 0))
    if uid:
        # It stays who it is; the rights that come with the namespace go at the end.
        for name, words in (
            ("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")
        ):  # fmt: skip
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(words)
    _call("mount", b"none", b"/", None, ctypes.c_ulong(_REC | _PRIVATE), None)
    _call("mount", b"none", root.encode(), b"tmpfs", ctypes.c_ulong(0), b"mode=755")
    for path in folders:
        os.makedirs(root + path, exist_ok=True)
    for path in shown:
        _show(path, root + path)
    _call("chroot", root.encode())
    os.chdir("/")
    if uid:
        header = struct.pack("<Ii", _CAPABILITIES_3, 0)
        _call("capset", header, bytes(24))


def _show(path: str, to: str) -> None:
    """Make a path of the file system one of the new root, too."""
    if not os.path.lexists(path) or os.path.lexists(to):
        return
    os.makedirs(os.path.dirname(to), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), to)
        return
    if os.path.isdir(path):
        os.mkdir(to)
    else:
        os.close(os.open(to, os.O_CREAT | os.O_WRONLY, 0o644))
    _call("mount", path.encode(), to.encode(), None, ctypes.c_ulong(_BIND | _REC), None)


def _call(name: str, *values: Any) -> None:
    if getattr(_libc, name)(*values) != 0:
        said = os.strerror(ctypes.get_errno())
        raise CannotConfine(ctypes.get_errno(), f"{name}: {said}")


# ---- files, network and signals: Landlock

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ALL_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NET_ALL = 0b11  # bind and connect TCP
_SCOPE_ALL = 0b11  # abstract Unix sockets, signals


def landlock_version() -> int:
    """Return the version of Landlock that this kernel has; 0 where it has none."""
    found = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    return max(found, 0)


def landlock(read: Iterable[str], write: Iterable[str]) -> None:
    """Let only files below `read` be read or run, and only those below `write` changed; no TCP, no
    signals to others.
    """
    version = landlock_version()
    if version < 1:
        raise CannotConfine(errno.ENOSYS, "this Linux kernel has no Landlock (5.13 or newer has)")
    every = _ALL_BY_VERSION.get(version, (1 << 16) - 1)
    attributes = struct.pack(
        "<QQQ", every, _NET_ALL if version >= 4 else 0, _SCOPE_ALL if version >= 6 else 0
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        raise CannotConfine(ctypes.get_errno(), "Landlock makes no ruleset")
    try:
        for paths, rights in ((read, _READ), (write, every & ~_EXECUTE & ~_IOCTL)):
            for path in paths:
                _allow(ruleset, path, rights & every)
        no_new_rights()
        if _libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
            raise CannotConfine(ctypes.get_errno(), "Landlock does not restrict this process")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        rule = struct.pack("<Qi", rights, fd)
        if _libc.syscall(_ADD_RULE, ruleset, 1, rule, 0) != 0:
            raise CannotConfine(ctypes.get_errno(), f"Landlock takes no rule for {path}")
    finally:
        os.close(fd)


# ---- system calls: seccomp

# Numbers on x86_64 and aarch64; both refuse them with "operation not permitted".
_REFUSED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),
    "shmat": (30, 196), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "fanotify_init": (300, 262), "personality": (135, 92),
    "syslog": (103, 116),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "acct": (163, 89), "swapon": (167, 224), "reboot": (169, 142),
    "sethostname": (170, 161), "setdomainname": (171, 162), "quotactl": (179, 60),
    "socketpair": (53, 199), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "process_madvise": (440, 440),
    # Landlock lets the owner of a file change these by the file's name, wherever it lies.
    "chmod": (90, 53), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, 54), "lchown": (94, 54), "fchown": (93, 55), "fchownat": (260, 54),
    "utime": (132, 88), "utimes": (235, 88), "futimesat": (261, 88), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466), "file_setattr": (469, 469),
    "truncate": (76, 45),  # Landlock refuses it from Linux 6.2 on
    # By these a process hears of names in folders that it may not read.
    "inotify_init": (253, 26), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "fanotify_mark": (301, 263),
}
# By these a process sends a signal. The kernel scopes them by Landlock from Linux 6.12 on only.
SIGNALS = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
_CLONE3 = 435
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_ANY = 0xFFFFFFFF
# Refused where an argument has one of these bits: with new namespaces; of another process than the
# caller, which is 0; and those commands of fcntl by which the kernel sends signals to others.
_REFUSED_WITH = {
    "clone": ((56, 220), 0, _NEW_NAMESPACES), "prlimit64": ((302, 261), 0, _ANY),
    "sched_setaffinity": ((203, 122), 0, _ANY), "sched_setscheduler": ((144, 119), 0, _ANY),
    "sched_setparam": ((142, 118), 0, _ANY), "sched_setattr": ((314, 274), 0, _ANY),
    "fcntl F_SETOWN, F_SETSIG": ((72, 25), 1, 8),
}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


def seccomp(refused: Mapping[str, tuple[int, int]] = _REFUSED) -> None:
    """Refuse system calls, by their numbers on x86_64 and aarch64: by default those by which a
    process looks at others or changes them, gets a network, or makes namespaces and mounts.
    """
    try:
        column, audit = _MACHINES[platform.machine()]
    except KeyError:
        raise CannotConfine(
            errno.ENOSYS, f"no table of system calls for {platform.machine()}"
        ) from None
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    # The other numbering of x86_64 (x32) would go round the table.
    program += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL)]
    program += [
        (_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
    ]  # the C library then uses clone
    for numbers in refused.values():
        program += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _ERROR | errno.EPERM)]
    for numbers, place, bits in _REFUSED_WITH.values():
        program += [(_EQUAL, 0, 4, numbers[column]), (_LOAD, 0, 0, 16 + 8 * place)]
        program += [(_ANY_OF, 0, 1, bits), (_RETURN, 0, 0, _ERROR | errno.EPERM)]
        program += [(_RETURN, 0, 0, _ALLOW)]
    program += [(_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *one) for one in program))
    header = struct.pack("@HxxxxxxP", len(program), ctypes.addressof(code))
    no_new_rights()
    pointer = ctypes.create_string_buffer(header)
    _prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(pointer))
