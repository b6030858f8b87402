"""The outcome of a lab that `python -m helpers.tools.run_labs` ran, for the summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from helpers.quantities import quantity

ERROR_LINES = 12  # the most lines of an error; the executed notebook has all of them


@dataclass(frozen=True)
class Failure:
    """The error that stopped a lab. cell: from 1 on, among all cells; line: of that cell."""

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
    """The outcome of one lab. notebook: the executed one; seconds: with the start of its kernel."""

    lab: Path
    notebook: Path | None = None
    device: str = "-"
    checks: int = 0
    headline: str = "-"
    seconds: float = 0.0
    figures: tuple[str, ...] = ()  # PNGs in base64, as in the notebook
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
        return f"pass, {quantity(self.checks, 'check')}"

    @property
    def on_gpu(self) -> bool:
        return self.device != "-" and "simulator" not in self.device.lower()
