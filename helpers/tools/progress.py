"""The progress of a run of labs: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

LOG_INTERVAL_S = 10  # between progress lines if the output is not a terminal


class _Lines:
    """A stream for tqdm without a terminal: every redraw becomes a line of its own."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, text: str) -> None:
        for line in text.replace("\r", "\n").split("\n"):
            if line.strip():
                self._stream.write(line.rstrip() + "\n")

    def flush(self) -> None:
        self._stream.flush()


class Progress:
    """A bar over the labs, and one over the cells of the running lab.

    If stderr is not a terminal, it prints plain lines.
    """

    def __init__(self, labs: Sequence[Path]):
        self._labs = labs
        self._terminal = sys.stderr.isatty()
        self.interval_s = 1 if self._terminal else LOG_INTERVAL_S
        self._number = 0
        self._overall: tqdm | None = None
        if self._terminal:
            self._overall = tqdm(
                total=len(labs),
                desc="labs",
                leave=False,
                position=1,
                bar_format="{desc} {n_fmt}/{total_fmt} |{bar:20}| {elapsed}, "
                "about {remaining} left",
            )

    def start(self, lab: Path, cells: int) -> None:
        """Create the bar of the lab's cells. Call it before the other methods."""
        self._number += 1
        self._cells: tqdm = tqdm(
            total=cells,
            desc=f"[{self._number}/{len(self._labs)}] {lab.stem}",
            unit="cell",
            position=0,
            file=sys.stderr if self._terminal else _Lines(sys.stderr),
            mininterval=0.1 if self._terminal else LOG_INTERVAL_S,
            dynamic_ncols=self._terminal,
            bar_format="{desc:<40} {n_fmt:>3}/{total_fmt} cells |{bar:20}| {elapsed}{postfix}",
        )

    def cell(self, source: str) -> None:
        """Show the first line of the running cell."""
        first = next((line for line in source.splitlines() if line.strip()), "")
        self._cells.set_postfix_str(first[:30], refresh=self._terminal)

    def cell_done(self) -> None:
        self._cells.update()

    def tick(self) -> None:
        """Show the time of a long cell."""
        self._cells.refresh()

    def end(self, verdict: str) -> None:
        self._cells.set_postfix_str(verdict, refresh=False)
        if self._overall is not None:
            self._overall.clear()  # The cursor goes to its line next.
        self._cells.close()
        if self._overall is not None:
            self._overall.update()

    def close(self) -> None:
        if self._overall is not None:
            self._overall.close()
