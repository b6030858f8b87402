"""Messages into the box and out of it: JSON, and behind it the bytes of arrays. No pickle,
nothing compressed.

8 bytes hold the length of the JSON. The reader of an answer says which arrays it expects: their
types and shapes come from the exercise, never from the message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

MOST_JSON = 4 << 20  # bytes

# What comes of an answer of another form: it is a student's process that has written it.
UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)

Expected = Sequence[tuple[np.dtype, tuple[int, ...]]]


class MessageError(ValueError):
    """A message that is cut short, too long, or not what was expected."""


def pack(content: Mapping[str, Any], arrays: Iterable[np.ndarray] = ()) -> bytes:
    """Return a message of plain values and arrays, one after another."""
    text = json.dumps(content).encode()
    return b"".join(
        [
            len(text).to_bytes(8, "little"),
            text,
            *(np.ascontiguousarray(a).tobytes() for a in arrays),
        ]
    )


def size(expected: Expected) -> int:
    """Return the most bytes that an answer with these arrays may have."""
    return 8 + MOST_JSON + sum(_bytes(dtype, shape) for dtype, shape in expected)


def content(message: bytes) -> tuple[dict[str, Any], int]:
    """Return the plain values of a message, and where its arrays begin. Raises MessageError."""
    length = int.from_bytes(message[:8], "little")
    if len(message) < 8 or length > min(MOST_JSON, len(message) - 8):
        raise MessageError("the message is cut short, or says that it is longer than allowed")
    try:
        values = json.loads(message[8 : 8 + length])
    except (ValueError, RecursionError) as error:
        raise MessageError(f"the message is not JSON: {type(error).__name__}") from None
    if not isinstance(values, dict):
        raise MessageError("the message holds no JSON object")
    return values, 8 + length


def arrays(message: bytes, start: int, expected: Expected) -> list[np.ndarray]:
    """Return the arrays behind `start`. Raises MessageError where the number of bytes is another
    one.
    """
    total = sum(_bytes(dtype, shape) for dtype, shape in expected)
    if len(message) - start != total:
        raise MessageError(f"expected {total:,} bytes of arrays, got {len(message) - start:,}")
    made = []
    for dtype, shape in expected:
        count = _bytes(dtype, shape)
        made.append(
            np.frombuffer(message, np.uint8, count, start).view(dtype).reshape(shape).copy()
        )
        start += count
    return made


def _bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    return int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))
