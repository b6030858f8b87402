"""What a lab did when `python -m helpers.tools.run_labs` ran it, for its summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ERROR_LINES = 12  # of a compiler's log, say; the executed notebook has all of it


@dataclass(frozen=True)
class Failure:
    """Where and why a lab stopped: `cell` counts all its cells from 1, `line` the lines of that cell."""

    error: str
    cell: int | None = None
    line: int | None = None
    source: str = ""

    def __str__(self) -> str:
        where = "before its first cell" if self.cell is None else f"in cell {self.cell}"
        if self.line is not None:
            where += f", line {self.line}: {self.source}"
        lines = self.error.splitlines()
        if len(lines) > ERROR_LINES:
            lines[ERROR_LINES:] = [f"... ({len(lines) - ERROR_LINES} more lines)"]
        return "\n    ".join([where, *lines])


@dataclass(frozen=True)
class Outcome:
    """What one lab did. `notebook` is the executed one; `seconds` is wall time, kernel start included."""

    lab: Path
    notebook: Path | None = None
    device: str = "-"
    checks: int = 0
    headline: str = "-"
    seconds: float = 0.0
    figures: tuple[str, ...] = ()  # PNGs in base64, as the notebook holds them
    failure: Failure | None = None

    @property
    def name(self) -> str:
        return self.lab.stem

    @property
    def passed(self) -> bool:
        return self.failure is None

    @property
    def verdict(self) -> str:
        if not self.passed:
            return "FAILED"
        return f"pass, {self.checks} check{'' if self.checks == 1 else 's'}"

    @property
    def on_gpu(self) -> bool:
        return self.device != "-" and "simulator" not in self.device.lower()
