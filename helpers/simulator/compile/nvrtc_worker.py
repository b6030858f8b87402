"""The run-time compiler in a process of its own: it reads requests from standard input and writes
answers to standard output.

A source may crash the compiler or keep it busy for ever, but a notebook's process must live on.
nvrtc.py runs this file as a script. It imports few modules, so that it starts quickly: json,
signal, threading and typing would take as long as the compilation of a small kernel.

A message is a list of texts: their number in 8 bytes, then for each text its length in 8 bytes and
the text in UTF-8. The first message has "anew" or "here", the paths of the library and of its
built-in functions, then the name and the text of each header. Each later message has a source, the
name of its file, and the options. Its answer is "ptx" or "refused", the PTX or "", and the
compiler's messages.

With "anew" each source is compiled in a child of this process, which itself compiles nothing: what
the compiler makes of a source depends on the sources before it, see nvrtc.py.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

STACK_BYTES = 1 << 29  # address space; deeply nested sources need more than a usual stack
ACCEPTED, REFUSED = "ptx", "refused"
ANEW, HERE = "anew", "here"
_PDEATHSIG, _SIGKILL = 1, 9  # of <sys/prctl.h> and <signal.h>


def send(stream: BinaryIO, texts: Sequence[str]) -> None:
    bodies = [text.encode(errors="replace") for text in texts]
    parts = [part for body in bodies for part in (_number(len(body)), body)]
    stream.write(b"".join([_number(len(bodies)), *parts]))
    stream.flush()


def receive(stream: BinaryIO) -> list[bytes] | None:
    """Return the next message, None if the stream ends before or in it."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    texts = []
    for _ in range(int.from_bytes(head, "little")):
        size = int.from_bytes(stream.read(8), "little")
        body = stream.read(size)
        if len(body) < size:
            return None
        texts.append(body)
    return texts


def _texts(stream: BinaryIO) -> list[str] | None:
    message = receive(stream)
    return None if message is None else [one.decode(errors="replace") for one in message]


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _bytes(text: str) -> bytes:
    return text.replace("\0", " ").encode(errors="replace")


def _array(texts: Sequence[str]) -> ctypes.Array:
    return (ctypes.c_char_p * len(texts))(*map(_bytes, texts))


def _result(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(max(size.value, 1))
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode(errors="replace")


def _compile(
    library: ctypes.CDLL, headers: Sequence[str], text: str, file: str, options: Sequence[str]
) -> list[str]:
    """Return the answer to a request. headers: names and texts in turn."""
    program, names, texts = ctypes.c_void_p(), _array(headers[::2]), _array(headers[1::2])
    status = library.nvrtcCreateProgram(
        ctypes.byref(program), _bytes(text), _bytes(file), len(names), texts, names
    )
    if not status:
        status = library.nvrtcCompileProgram(program, len(options), _array(options))
    log = _result(library, program, "ProgramLog") if program else ""
    if status:
        answer = [REFUSED, "", log or library.nvrtcGetErrorString(status).decode()]
    else:
        answer = [ACCEPTED, _result(library, program, "PTX"), log]
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return answer


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    first = _texts(requests)
    if first is None:
        return
    where, path, builtins, *headers = first
    # NVRTC opens this library by its bare name; the dynamic linker knows the name of a loaded
    # library.
    ctypes.CDLL(builtins)
    library = ctypes.CDLL(path)
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    while (request := _texts(requests)) is not None:
        text, file, *options = request

        def answer() -> None:
            send(answers, _compile(library, headers, text, file, options))  # noqa: B023

        if where == ANEW:
            _in_child(answer)
        else:
            answer()


def _in_child(work: Callable[[], None]) -> None:
    """Do `work` in a child process; this process ends as the child does if that fails."""
    parent = os.getpid()
    child = os.fork()
    if not child:
        status = 1
        try:
            # If this process ends, nobody waits for the child.
            ctypes.CDLL(None).prctl(_PDEATHSIG, _SIGKILL)
            if os.getppid() == parent:
                work()
            status = 0
        finally:  # An error would end this thread alone, and look like success.
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        os.kill(parent, os.WTERMSIG(status))
    elif status:
        os._exit(os.waitstatus_to_exitcode(status))


def main() -> None:
    # Ctrl-C is for the parent process, so ignore SIGINT (2) by SIG_IGN (1).
    ctypes.pythonapi.PyOS_setsig(2, ctypes.c_void_p(1))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of a library must not mix with the answers
    _thread.stack_size(STACK_BYTES)
    finished = _thread.allocate_lock()
    finished.acquire()

    def serve() -> None:
        try:
            _serve(sys.stdin.buffer, answers)
        finally:
            finished.release()

    _thread.start_new_thread(serve, ())
    finished.acquire()


if __name__ == "__main__":
    main()
