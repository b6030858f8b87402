"""The texts of a PNG file, read without decoding the picture."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_TEXT = 4 << 20  # characters of one text
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield the kind, the content and all bytes of each chunk; nothing for another file."""
    at = len(SIGNATURE) if data.startswith(SIGNATURE) else len(data)
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 8], data[at + 8 : end - 4], data[at:end]
        at = end


def text(data: bytes, key: str) -> str | None:
    """Return the text that a PNG has under a key, None without one."""
    for kind, body, _ in chunks(data):
        name, _, rest = body.partition(b"\0")
        if kind not in _TEXTS or name != key.encode():
            continue
        if kind == b"tEXt":
            return rest[:MOST_TEXT].decode("latin-1")
        if kind == b"zTXt":
            return _unpacked(rest[1:]).decode("latin-1")
        packed, rest = rest[:1] == b"\1", rest[2:]
        rest = rest.partition(b"\0")[2].partition(b"\0")[2]
        return (_unpacked(rest) if packed else rest[:MOST_TEXT]).decode("utf-8", "replace")
    return None


def without_texts(data: bytes) -> bytes:
    """Return a PNG without the chunks of its texts."""
    return SIGNATURE + b"".join(whole for kind, _, whole in chunks(data) if kind not in _TEXTS)


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, MOST_TEXT)
    except zlib.error:
        return b""
