"""Keeps compiled sources on disk, so that a text is compiled once: JSON files under a key of
everything that they depend on.

The simulator also works without the cache. It replaces a file that is damaged, cut short or
somebody else's. If it cannot write to the folder, each process compiles for itself.
"""

from __future__ import annotations

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
        text = _path(kind, key).read_text(encoding="utf-8")
        digest, _, body = text.partition("\n")
        if digest != _digest(body):
            return None
        record = json.loads(body)
    except (OSError, ValueError, CacheError):
        return None
    return record if isinstance(record, dict) else None


def store(kind: str, key: str, record: Mapping[str, Any]) -> None:
    """Store a whole record or nothing: writes it to a temporary file and then renames the file."""
    try:
        path = _path(kind, key)
        body = json.dumps(record)
        handle, name = tempfile.mkstemp(prefix=f"{kind}-", suffix=".part", dir=path.parent)
    except (OSError, CacheError):
        return
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{_digest(body)}\n{body}")
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _path(kind: str, key: str) -> Path:
    return cache_directory() / f"{kind}-{key}.json"
