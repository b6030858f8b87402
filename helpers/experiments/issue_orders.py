"""Orders of copies and kernels on streams: a schedule by hand, and what the simulator sees of one.

`simulated_order` runs an issue order of `helpers.problems.streams` in the simulator, which knows
what is ordered after what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers import checking, plotting
from helpers.bench.counts import NOT_YET
from helpers.problems import conv2d, streams

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Issue = Callable[[streams.Pipeline], None]

KERNEL = "conv2d_register_tiled"
LAYERS = conv2d.LENET
FEW = 6  # images of the runs in the simulator


def schedule(stages: Sequence[float], pieces: int) -> tuple[streams.Span, ...]:
    """Return when each piece is in each stage, if a stage takes one piece at a time.

    stages: the length of H2D, kernel and D2H for one piece. Piece k has stream k + 1.
    """
    done = [0.0] * len(stages)
    spans = []
    for piece in range(pieces):
        before = 0.0
        for number, length in enumerate(stages):
            start = max(before, done[number])
            before = done[number] = start + length
            spans.append(
                streams.Span(streams.ROWS[number], piece + 1, piece, before - length, start, before)
            )
    return tuple(spans)


def finish(stages: Sequence[float], pieces: int) -> float:
    """Return when the last piece has left the last stage."""
    return max(span.end for span in schedule(stages, pieces))


@dataclass(frozen=True)
class Order:
    """One run of an issue order in the simulator.

    spans: the earliest step of each piece of work, if all take one step. findings: what is not
    ordered, in words.
    """

    spans: tuple[streams.Span, ...]
    findings: tuple[str, ...]
    verdict: checking.Verdict

    @property
    def steps(self) -> int:
        return int(max(span.end for span in self.spans))


def simulated_order(
    issue: Issue, *, pinned: bool = True, buffers: int = 3, copy_engines: int = 2
) -> Order:
    """Run an issue order over FEW single images of layer 1 in the simulator.

    pinned: whether x and y lie in page-locked memory. copy_engines: 2, one for each direction, or 1
    for both. Raises CheckError for wrong outputs.
    """
    x_few, filter = conv2d.inputs(LAYERS[0], FEW)
    one = conv2d.shape_of(LAYERS[0], 1)
    with streams.simulated() as sim:
        make = sim.cuda.pagelocked_empty if pinned else np.empty
        x = make(x_few.shape, np.float32)
        y = make(conv2d.shape_of(LAYERS[0], FEW).y_shape, np.float32)
        x[:], y[:] = x_few, np.nan
        launch = streams.launcher(KERNEL, one, filter, sim.cuda, sim.compiler)
        with streams.Pipeline(sim.cuda, launch, y, x, images=1, buffers=buffers) as pipe:
            pipe.run(issue)
            spans = pipe.order(copy_engines=copy_engines)
        verdict = conv2d.check(np.array(y), x_few, filter, issue.__name__)
    return Order(spans, tuple(pipe.words(finding) for finding in sim.findings), verdict)


def tried(issue: Issue) -> Order | None:
    """Return a student's order with a buffer for each of three streams.

    None where it is not there yet: it enqueues nothing, or its outputs are wrong.
    """
    try:
        return simulated_order(issue)
    except (streams.OrderError, checking.CheckError):
        return None


def schedule_figure(stages: Sequence[float], pieces: int) -> Figure:
    """Draw `schedule`: the boxes of a stage never overlap, and each piece goes from row to row."""
    spans = [span.to_dict() for span in schedule(stages, pieces)]
    figure, ax = plotting.subplots(9, 2.6)
    end, alone = finish(stages, pieces), pieces * sum(stages)
    title = f"{pieces} pieces are through after {end:g} units; one after the other takes {alone:g}"
    plotting.timeline(ax, spans, order=True, title=title)
    ax.set_xlabel("units of time")
    legend = ax.get_legend()
    assert legend is not None, "a timeline has the streams in its legend"
    for piece, text in zip(range(pieces), legend.get_texts(), strict=True):
        text.set_text(f"piece {piece}")
    return figure


def order_figure(cases: Mapping[str, Order | None]) -> Figure:
    """Draw the orders of work of several runs, one below the other, with the same axis.

    A student's run that is not there yet, None, has empty axes that say so.
    """
    figure, column = plotting.subplots(10, 2.3 * len(cases), len(cases), squeeze=False)
    longest = max(order.steps for order in cases.values() if order is not None)
    for ax, (name, order) in zip(column[:, 0], cases.items(), strict=True):
        if order is None:
            plotting.style(ax, NOT_YET)
            ax.set(xticks=[], yticks=[])
            continue
        spans = [span.to_dict() for span in order.spans]
        title = f"{name}: {order.steps} steps for {len(spans)} operations"
        plotting.timeline(ax, spans, order=True, title=title)
        ax.set_xlim(-0.01 * longest, 1.01 * longest)
    return figure
