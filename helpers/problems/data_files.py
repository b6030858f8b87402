"""The files of data/: their folder, the check of their sha256, and the errors about them."""

from __future__ import annotations

import hashlib
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"
RESTORE = "Restore it: git checkout -- data"


class DataError(RuntimeError):
    """A data file is missing or wrong; the message names it and says what to do."""


class ChecksumError(DataError):
    """A data file is damaged or partial: its sha256 is not the published one."""


def require_sha256(path: Path, expected: str, advice: str) -> None:
    """Raise ChecksumError with `advice` if the file's sha256 is not `expected`."""
    with open(path, "rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    if sha256 != expected:
        raise ChecksumError(
            f"{path} is damaged or partial ({path.stat().st_size:,} bytes): its sha256 is "
            f"{sha256}, expected {expected}. It was left as it is. {advice}"
        )
