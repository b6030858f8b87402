"""Keeps compiled sources on disk, so that a text is compiled once: JSON files under a key of
everything that they depend on.

The simulator also works without the cache. It replaces a file that is damaged, cut short or
somebody else's. If it cannot write to the folder, each process compiles for itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .toolchain import CacheError, cache_directory

# Raise this number whenever the records or their contents change.
FORMAT = 7


def key_of(parts: Iterable[str]) -> str:
    """Return 32 hexadecimal digits of sha256 over `parts`; their order counts."""
    digest = hashlib.sha256(str(FORMAT).encode())
    for part in parts:
        encoded = part.encode(errors="surrogatepass")
        digest.update(
            len(encoded).to_bytes(8, "little") + encoded
        )  # lengths, so that ("ab", "c") != ("a", "bc")
    return digest.hexdigest()[:32]


def load(kind: str, key: str) -> dict[str, Any] | None:
    """Return the record that is stored under `kind` and `key`, None if there is no whole one."""
    try:
        record = json.loads(read(_path(kind, key)))
    except (OSError, ValueError, CacheError):
        return None
    return record if isinstance(record, dict) else None


def store(kind: str, key: str, record: Mapping[str, Any]) -> None:
    """Store a whole record or nothing."""
    with contextlib.suppress(CacheError):
        write(_path(kind, key), json.dumps(record).encode())


def read(path: Path) -> bytes:
    """Return what `write` has written. Raises OSError, and ValueError for a file that is not whole.
    """
    digest, _, body = path.read_bytes().partition(b"\n")
    if digest != _digest(body):
        raise ValueError(f"{path} is not as it was written")
    return body


def write(path: Path, body: bytes) -> None:
    """Write a whole file with its digest, or nothing: into a temporary file, which gets the name
    then. A folder of its own for each file would take as long as encoding a small kernel.
    """
    try:
        handle, part = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=".part", dir=path.parent)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(body) + b"\n" + body)
        os.replace(part, path)
    except OSError:
        Path(part).unlink(missing_ok=True)


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _path(kind: str, key: str) -> Path:
    return cache_directory() / f"{kind}-{key}.json"
