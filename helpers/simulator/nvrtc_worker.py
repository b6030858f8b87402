"""The run-time compiler in a process of its own: requests on standard input, answers on the output.

A source may crash a compiler, or keep it busy for ever; a notebook's process has to live on. This
file is run as a script and imports the standard library only, so that the process starts quickly.

Messages are JSON behind their length in 8 bytes. The first holds "library" and "builtins", paths,
and "headers", texts by name. Each later one holds "text", "file" and "options", and is answered
by one that holds "ptx", null for what the compiler refuses, and "log", its messages.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from typing import Any, BinaryIO

STACK_BYTES = 1 << 29  # of address space: deeply nested sources need more than a usual stack


def send(stream: BinaryIO, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    stream.write(len(body).to_bytes(8, "little") + body)
    stream.flush()


def receive(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message; None at the end of the stream."""
    head = stream.read(8)
    body = stream.read(int.from_bytes(head, "little")) if len(head) == 8 else b""
    return json.loads(body) if body else None


def _bytes(text: str) -> bytes:
    return text.replace("\0", " ").encode(errors="replace")


def _array(texts: list[str]) -> ctypes.Array:
    return (ctypes.c_char_p * len(texts))(*map(_bytes, texts))


def _result(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(max(size.value, 1))
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode(errors="replace")


def _compile(
    library: ctypes.CDLL, headers: dict[str, str], request: dict[str, Any]
) -> dict[str, Any]:
    program, options = ctypes.c_void_p(), request["options"]
    names, texts = _array(list(headers)), _array(list(headers.values()))
    source, file = _bytes(request["text"]), _bytes(request["file"])
    status = library.nvrtcCreateProgram(
        ctypes.byref(program), source, file, len(headers), texts, names
    )
    if not status:
        status = library.nvrtcCompileProgram(program, len(options), _array(options))
    log = _result(library, program, "ProgramLog") if program else ""
    if status:
        answer = {"ptx": None, "log": log or library.nvrtcGetErrorString(status).decode()}
    else:
        answer = {"ptx": _result(library, program, "PTX"), "log": log}
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return answer


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    first = receive(requests)
    if first is None:
        return
    # The library opens this one by its bare name, which the dynamic linker knows once it is loaded.
    ctypes.CDLL(first["builtins"])
    library = ctypes.CDLL(first["library"])
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    while (request := receive(requests)) is not None:
        send(answers, _compile(library, first["headers"], request))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=_serve, args=(sys.stdin.buffer, answers))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main()
