"""What a row too many in the unrolled filter does to the answers of two networks.

`measure_answers` yields the rows of the record "110_answers". It needs no GPU: `eight_rows`
computes with NumPy what the kernel with a row too many computes.

    # Count again for both networks; COURSE_WEIGHTS names the course's file.
    python -m helpers.experiments.row_too_many
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import device, reference, tables
from helpers.bench import reports, results
from helpers.problems import conv2d, datasets, measured
from helpers.problems.lenet import network, trained_weights

if TYPE_CHECKING:
    from helpers.bench.results import Record

LAB = "110_conv2d_restrict_and_unrolling"
COUNTS = (100, 1_000, 10_000)  # images
MANY = COUNTS[-1]
AT_HAND = datasets.SAMPLE_COUNT  # images in this repository

SEVEN, EIGHT = "seven rows", "eight rows"  # of the filter: right, and a row too many
ANSWERS = "110_answers"
COURSE = "the course's LeNet"
LABS = "the labs' LeNet"


def eight_rows(x: np.ndarray, filter: np.ndarray) -> np.ndarray:
    """Return what a kernel computes that sums eight rows of a filter of seven, float32.

    The eighth row of weights is the first row of the next filter, and zeros behind the last one;
    the eighth row of cells is likewise the first row of the next channel, below the last row of an
    image. So this is the convolution with planes that are each a row longer.
    """
    return network.conv2d(_with_next_row(x), _with_next_row(filter))


def _with_next_row(planes: np.ndarray) -> np.ndarray:
    """Append the row that follows in memory to each plane; zeros follow the last one."""
    first, second, rows, columns = planes.shape
    longer = np.zeros((first * second, rows + 1, columns), planes.dtype)
    longer[:, :-1] = planes.reshape(-1, rows, columns)
    longer[:-1, -1] = longer[1:, 0]
    return longer.reshape(first, second, rows + 1, columns)


def right_answers(
    weights: trained_weights.Weights, count: int, convolutions: Mapping[str, network.Convolution]
) -> dict[str, np.ndarray]:
    """Return, for each convolution, which of the first `count` test images get the right class."""
    images = datasets.images_at_hand(count)
    return {
        name: network.predict(images, weights, conv=conv) == images.labels
        for name, conv in convolutions.items()
    }


def measure_answers(count: int = AT_HAND) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "110_answers": right answers of both networks, with NumPy.

    count: images to classify. The rows of a larger number of images, and of the course's network
    where its file is not at hand, come from data/measured/110_answers.json.
    """
    convolutions = {SEVEN: network.conv2d, EIGHT: eight_rows}
    at_hand = trained_weights.at_hand()
    for weights in at_hand:
        good = right_answers(weights, count, convolutions)
        for name, answers in good.items():
            where = {"with": name, "network": weights.name}
            yield from network.right_rows(answers, COUNTS, ANSWERS, **where)
    if len(at_hand) < 2:
        yield from measured.counts(ANSWERS, network=COURSE)


def answers_of(record: Record) -> Mapping[tuple[str, str, int], int]:
    """Return the right answers of a record by network, convolution and number of images."""
    rows = record.select(series="accuracy")
    right = {(row["network"], row["with"], row["images"]): row["right"] for row in rows}
    return results.Selection(record, right)


def gained(record: Record, name: str) -> int:
    """Return how many more of 10,000 images a network gets right with a row too many."""
    right = answers_of(record)
    return right[name, EIGHT, MANY] - right[name, SEVEN, MANY]


def answers_table(record: Record) -> str:
    """Return the right answers of both networks, without the bug and with it."""
    right = answers_of(record)
    rows = []
    for name in (COURSE, LABS):
        for count in COUNTS:
            good, bad = (right[name, which, count] for which in (SEVEN, EIGHT))
            rows.append((name, f"{count:,}", f"{good:,}", f"{bad:,}", f"{bad - good:+,}"))
    head = ("network", "images", "right answers,\nseven rows", "eight rows", "gained")
    return tables.text(head, rows)


def wrong_outputs(layer: str) -> float:
    """Return the share of the outputs of a layer that a row too many makes wrong, of two images."""
    x, filter = conv2d.inputs(layer, 2)
    error = np.abs(eight_rows(x, filter) - reference.conv2d(x, filter))
    return float((error > conv2d.conv2d_atol(x, filter)).mean())


def touched_outputs(layer: str) -> float:
    """Return the share of the outputs of a layer to which a row too many adds a product other than
    0, of two images.
    """
    x, filter = (_with_next_row(one) != 0 for one in conv2d.inputs(layer, 2))
    filter[:, :, :-1] = False  # the row too many alone
    products = network.conv2d(x.astype(np.float32), filter.astype(np.float32))
    return float((products > 0.5).mean())


def reported_table(record: Record) -> str:
    """Return report B's accuracies beside those of the course's network in a record."""
    kinds = {SEVEN: "baseline", EIGHT: "restrict and unrolling"}
    right = answers_of(record)
    rows = []
    for count in COUNTS:
        theirs = [
            f"{reports.kernel('B', kind, count)['accuracy']:.4f}" for kind in kinds.values()
        ]
        ours = [f"{right[COURSE, which, count] / count:.4f}" for which in kinds]
        rows.append((f"{count:,}", *theirs, *ours))
    head = ("images", "report B:\nbaseline", "unrolled", "ours:\nseven rows", "eight rows")
    return tables.text(head, rows)


def main() -> None:
    """Count the right answers over 10,000 images and write results/110_answers.json."""
    argparse.ArgumentParser(
        prog="python -m helpers.experiments.row_too_many", description=main.__doc__
    ).parse_args()
    record = results.record(
        ANSWERS, lambda: measure_answers(MANY), device=device.select(), lab=LAB, needs_gpu=False
    )
    print(answers_table(record))


if __name__ == "__main__":
    main()
