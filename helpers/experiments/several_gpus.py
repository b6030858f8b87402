"""What several cards bring: buses, a layer and the LeNet on 1 to N cards, copies between cards, and
sums over them.

    rows = several_gpus.measure(cards.Cards())            # on GPUs; minutes
    record = several_gpus.record(gpu, lab="502_several_gpus")

Every result is compared bit for bit with that of one card before it is timed. `card_mistakes` has
what the driver answers to a misuse.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from helpers import cards, checking
from helpers.bench import results, timing
from helpers.bench.ratios import Ratio
from helpers.experiments import between_gpus
from helpers.experiments.between_gpus import require_same
from helpers.experiments.card_mistakes import Row, misuse
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d, datasets
from helpers.problems.lenet import network_plan, trained_weights

RECORD = "502_several_gpus"  # in data/measured/
KERNEL = "conv2d_register_tiled"
LAYER = "layer 1"
IMAGES = 10_000
NETWORK_IMAGES = (10_000, 100_000)
PIECE, NETWORK_PIECE, RESIDENT_PIECE = 250, 2_500, 5_000  # images of a launch
BUDGET_S = 0.4  # of a timing


# --------------------------------------------------------------------------------------------------
# Work for cards.Batch


def layer(kernel: str, shape: ConvShape, filter: np.ndarray) -> cards.Work:
    """Return what a card does with a piece of a convolution layer's images; shape: for any number
    of them.
    """
    spec = conv2d.conv2d_named(kernel).fitted(shape)
    spec.require(shape)
    return cards.Work(
        kernel, lambda images: spec.plan(replace(shape, B=images)), "x", "y", {"filter": filter}
    )


def lenet(weights: trained_weights.Weights) -> cards.Work:
    """Return what a card does with a piece of images, uint8, (n, 28, 28): the whole network, to
    classes.
    """

    def plan(images: int) -> Plan:
        stages = network_plan.stages(network_plan.FUSED, images, pixels=True)
        return tuple(one for stage in stages for one in stage.plan)

    return cards.Work("LeNet", plan, "pixels", "classes", dict(network_plan.constants(weights)))


# --------------------------------------------------------------------------------------------------
# The record


def record(device: Any, lab: str, **how: Any) -> results.Record:
    """Return the record: measured where there are two GPUs or more, else the recorded one of
    data/measured/.

    Prints one sentence where one GPU is here alone. how: as for `measure`.
    """
    if device.kind == "gpu":
        import pycuda.driver as cuda

        if cuda.Device.count() < 2:
            print("One GPU here: the numbers below were recorded on a machine that has several.")
            return results.recorded(RECORD)
    return results.record(RECORD, lambda: measure(**how), device=device, lab=lab)


def measure(
    numbers: Sequence[int] | None = None, *, images: int = IMAGES, budget_s: float = BUDGET_S
) -> Iterator[Row]:
    """Yield the rows of a record. numbers: the cards, all where they are left out.

    Series: "topology" (line: of `nvidia-smi topo -m`), "card" (card, name, bus), "bus" (cards, way,
    bytes), "host to host" and "resident" (work, cards, images, pinned, same_bits) and their "gain"
    (times of one card over those of `cards`, interleaved), "peer" (way, source, target, bytes),
    "sum" (way, cards, floats), "misuse" (case, answer).
    """
    yield from topology()
    with cards.Cards(numbers) as group:
        yield from of_cards(group, images=images, budget_s=budget_s)
    yield from misuse()


def of_cards(group: cards.Cards, *, images: int, budget_s: float) -> Iterator[Row]:
    """Yield the rows of `measure` that need the cards, each work on 1, 2, 4 ... of them."""
    for card in group:
        bus = card.call(_bus_of, card)
        facts = {"card": card.number, "name": card.name, "bus": bus}
        yield {"series": "card", **facts, "timing": None}
    counts = sorted({1, len(group), *(n for n in (2, 4, 8) if n < len(group))})
    yield from buses(group, images, budget_s)
    for one in jobs(images):
        yield from _on_counts(group, counts, one, budget_s)
    yield from speeds(group, images)
    yield from between_gpus.peers(group, budget_s)
    yield from between_gpus.sums(group, counts, budget_s)


def topology() -> Iterator[Row]:
    """Yield the lines of `nvidia-smi topo -m`: which cards share a link, a bus, a socket."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return
    said = subprocess.run(
        [program, "topo", "-m"], capture_output=True, text=True, timeout=20, check=False
    ).stdout
    lines = [
        " ".join(line.replace("\x1b[4m", "").replace("\x1b[0m", "").split())
        for line in said.splitlines()
    ]
    for number, line in enumerate(line for line in lines if line):
        yield {"series": "topology", "number": number, "line": line, "timing": None}


def _bus_of(card: cards.Card) -> str:
    return card.cuda.Device(card.number).pci_bus_id()


@dataclass(frozen=True)
class Job:
    """A work on images, and how it is timed. checked: makes a Verdict of one card's results."""

    name: str
    work: cards.Work
    x: np.ndarray
    checked: Callable[[np.ndarray], checking.Verdict]
    kernel: str
    piece: int
    ways: tuple[str, ...]  # of ("host to host", "resident")


def jobs(images: int = IMAGES) -> Iterator[Job]:
    """Yield the layer and the LeNet, on real images."""
    x, filter = conv2d.inputs(LAYER, images)
    work = layer(KERNEL, conv2d.shape_of(LAYER, 1), filter)
    yield Job(
        LAYER, work, x, _layer_check(x, filter, LAYER), KERNEL, PIECE, ("host to host", "resident")
    )
    weights = trained_weights.lenet_weights()
    for count in NETWORK_IMAGES:
        pixels = datasets.images_at_hand(min(count, images)).repeated(count)
        words = f"LeNet, {count:,} images"
        yield Job(
            words,
            lenet(weights),
            pixels,
            _classes_check(pixels, weights, words),
            "lenet_conv_pool",
            NETWORK_PIECE,
            ("host to host", "resident"),
        )


def _layer_check(
    x: np.ndarray, filter: np.ndarray, name: str
) -> Callable[[np.ndarray], checking.Verdict]:
    some = list(conv2d.some_images(len(x)))
    return lambda y: conv2d.check(
        np.ascontiguousarray(y[some]), np.ascontiguousarray(x[some]), filter, name
    )


def _classes_check(
    pixels: np.ndarray, weights: trained_weights.Weights, name: str
) -> Callable[[np.ndarray], checking.Verdict]:
    some = pixels[:200]
    from helpers.problems.lenet import network

    want = network.predict(some, weights)
    return lambda classes: checking.check(classes[:200], want, rtol=0, name=name)


def _on_counts(
    group: cards.Cards, counts: Sequence[int], job: Job, budget_s: float
) -> Iterator[Row]:
    """Yield the rows of a job on so many cards, each timed in turns with one card."""
    for way in job.ways:
        piece = RESIDENT_PIECE if way == "resident" else job.piece
        how: dict[str, Any] = {"piece": piece, "resident": way == "resident"}
        with cards.Batch(group, job.work, len(job.x), weights=_first(1, len(group)), **how) as one:
            want, verdict = _first_run(one, job)
            alone = None
            for count in counts[1:]:
                weights = _first(count, len(group))
                with cards.Batch(group, job.work, len(job.x), weights=weights, **how) as several:
                    got, _ = _first_run(several, job)
                    require_same(got, want, f"{job.name} on {count} cards")
                    found = timing.compare_end_to_end(
                        one.run,
                        several.run,
                        verdicts=(verdict, verdict),
                        names=("one card", f"{count} cards"),
                        budget_s=2 * budget_s,
                    )
                    alone = found.a
                    yield _row(way, job, count, True, several, found.b)
                    yield _gain(way, job, count, found)
            yield _row(way, job, 1, True, one, alone or _timed(one, verdict, budget_s))
        if way == "host to host" and job.name == LAYER:
            yield from _pageable(group, counts, job, want, budget_s)


def _pageable(
    group: cards.Cards, counts: Sequence[int], job: Job, want: np.ndarray, budget_s: float
) -> Iterator[Row]:
    """Yield the rows of a job whose host memory is not page-locked."""
    for count in counts:
        how: dict[str, Any] = {"piece": job.piece, "pinned": False}
        weights = _first(count, len(group))
        with cards.Batch(group, job.work, len(job.x), weights=weights, **how) as slow:
            got, verdict = _first_run(slow, job)
            require_same(got, want, f"{job.name} on {count} cards, pageable memory")
            timed = _timed(slow, verdict, budget_s)
            yield _row("host to host", job, count, False, slow, timed)


def _gain(way: str, job: Job, count: int, found: timing.Comparison) -> Row:
    return {
        "series": "gain",
        "of": way,
        "work": job.name,
        "images": len(job.x),
        "cards": count,
        **Ratio.of(found).to_row(),
        "timing": None,
    }


def _first(count: int, of: int) -> list[float]:
    """Return weights by which the first cards share everything."""
    return [float(k < count) for k in range(of)]


def _first_run(batch: cards.Batch, job: Job) -> tuple[np.ndarray, checking.Verdict]:
    batch.load(job.x)
    batch.poison()
    batch.run()
    made = batch.result()
    return made, job.checked(made)


def _timed(batch: cards.Batch, verdict: checking.Verdict, budget_s: float) -> timing.Timing:
    return timing.time_end_to_end(
        batch.run, verdict=verdict, name=batch.work.name, budget_s=budget_s
    )


def _row(
    way: str, job: Job, count: int, pinned: bool, batch: cards.Batch, timed: timing.Timing
) -> Row:
    """Return a row of a batch that has been timed; its results are of the last run."""
    made = batch.result()
    return {
        "series": way,
        "work": job.name,
        "kernel": job.kernel,
        "cards": count,
        "images": len(job.x),
        "pinned": pinned,
        "piece": max(batch.pieces),
        "bytes_in": job.x.nbytes,
        "bytes_out": made.nbytes,
        "sha256": hashlib.sha256(np.ascontiguousarray(made).data).hexdigest(),
        "timing": timed,
    }


# --------------------------------------------------------------------------------------------------
# Buses


class _Copies:
    """Pinned arrays and their places on a card, copied in, back, or both at once, in pieces."""

    def __init__(self, card: cards.Card, into: int, back: int):
        cuda = card.cuda
        self.card = card
        self.streams = {way: cuda.Stream() for way in ("H2D", "D2H")}
        self.hosts = {
            "H2D": cuda.pagelocked_empty(into, np.uint8),
            "D2H": cuda.pagelocked_empty(back, np.uint8),
        }
        self.there = {way: cuda.mem_alloc(host.nbytes) for way, host in self.hosts.items()}
        self.hosts["H2D"].fill(1)
        cuda.memcpy_htod(self.there["D2H"], np.full(back, 2, np.uint8))

    def run(self, ways: Sequence[str]) -> None:
        cuda = self.card.cuda
        for way in ways:
            if way == "H2D":
                cuda.memcpy_htod_async(self.there[way], self.hosts[way], self.streams[way])
            else:
                cuda.memcpy_dtoh_async(self.hosts[way], self.there[way], self.streams[way])
        for way in ways:
            self.streams[way].synchronize()

    def check(self) -> checking.Verdict:
        back = np.empty(self.hosts["H2D"].nbytes, np.uint8)
        self.card.cuda.memcpy_dtoh(back, self.there["H2D"])
        checking.check(back[:: 4096 + 1], np.ones_like(back[:: 4096 + 1]), rtol=0, name="H2D")
        made = np.asarray(self.hosts["D2H"])[:: 4096 + 1]
        return checking.check(made, np.full_like(made, 2), rtol=0, name="D2H")

    def free(self) -> None:
        for held in self.there.values():
            held.free()
        del self.hosts, self.streams


def buses(group: cards.Cards, images: int, budget_s: float) -> Iterator[Row]:
    """Yield how long the copies of a layer take, alone: each card by itself, and all cards at once;
    in, back, and both ways.
    """
    shape = conv2d.shape_of(LAYER, images)
    sizes = [4 * int(np.prod(s)) for s in (shape.x_shape, shape.y_shape)]
    copies = group.each(lambda card: _Copies(card, *sizes))
    try:
        _at_once(copies, ("H2D", "D2H"))
        verdict = [one.card.call(one.check) for one in copies][-1]
        directions = {"H2D": ("H2D",), "D2H": ("D2H",), "both": ("H2D", "D2H")}
        for way, ways in directions.items():
            size = sum(sizes[("H2D", "D2H").index(one)] for one in ways)
            for name, some in [
                *((str(one.card.number), [one]) for one in copies),
                *([("all", copies)] if len(copies) > 1 else []),
            ]:
                timed = timing.time_end_to_end(
                    partial(_at_once, some, ways),
                    verdict=verdict, name=f"{way}, card {name}", budget_s=budget_s,
                )
                yield {
                    "series": "bus",
                    "way": way,
                    "cards": name,
                    "bytes": size * len(some),
                    "timing": timed,
                }
    finally:
        for one in copies:
            one.card.call(one.free)


def _at_once(copies: Sequence[_Copies], ways: Sequence[str]) -> None:
    running: list[Future[None]] = [one.card.start(one.run, ways) for one in copies]
    for one in running:
        one.result()


def speeds(group: cards.Cards, images: int) -> Iterator[Row]:
    """Yield the images a second of each card alone: what uneven shares are made of."""
    _, filter = conv2d.inputs(LAYER, 1)
    work = layer(KERNEL, conv2d.shape_of(LAYER, 1), filter)
    if cards.is_real(group.cuda):
        found = cards.speeds(group, work, images, piece=PIECE)
        for card, speed in zip(group, found, strict=True):
            yield {
                "series": "speed",
                "work": LAYER,
                "card": card.number,
                "images_per_s": speed,
                "timing": None,
            }


# --------------------------------------------------------------------------------------------------
# Tables

Rows = Sequence[Mapping[str, Any]]


def links(rows: Rows) -> list[str]:
    """Return the lines of the table of links, without the legend below it."""
    lines = [row["line"] for row in rows if row["series"] == "topology"]
    return lines[: lines.index("Legend:")] if "Legend:" in lines else lines


def beyond(rows: Rows, network: float) -> str:
    """Return what the same work would cost over a network, beside what was measured in one host.

    network: GB/s of each host, both ways each. A sum over hosts sends 2 (hosts - 1) / hosts of a
    vector, as a ring does.
    """
    lines = [f"at {network:g} GB/s a host{'in one host':>26}{'over the network, at least':>30}"]
    most = max(row["cards"] for row in rows if row["series"] == "host to host")
    for row in rows:
        if row["series"] == "host to host" and row["cards"] == most and row["pinned"]:
            sent = max(row["bytes_in"], row["bytes_out"]) / 1e6 / network
            what = (
                f"{row['work']}, {row['images']:,} images"
                if "images" not in row["work"]
                else row["work"]
            )
            lines.append(f"{what:27}{row['median_ms']:11.2f} ms{sent:27.2f} ms")
    for row in rows:
        if row["series"] == "sum" and row["way"] == "peer access" and row["cards"] == most:
            for hosts in (2, 16):
                sent = 2 * (hosts - 1) / hosts * 4 * row["floats"] / 1e6 / network
                what = f"sum of {row['floats']:.0e} floats, {hosts} hosts"
                lines.append(f"{what:27}{row['median_ms']:11.2f} ms{sent:27.2f} ms")
    return "\n".join(lines)
