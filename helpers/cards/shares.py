"""How many images each card takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from helpers.quantities import quantity


def shares(
    images: int, weights: Sequence[float], most: Sequence[int | None] = ()
) -> tuple[int, ...]:
    """Return how many of ``images`` each card takes: in proportion to its weight, in whole images,
    and no more than it has room for.

    weights: one for each card, such as its measured images per second; 0 leaves a card out. most:
    the images that each card has room for; None, or nothing at all, for any number. What does not
    fit on one card goes to the others. The images that rounding leaves go to the cards with the
    largest remainders, the first of them where these are equal.

        shares(10, (1, 1, 1))            (4, 3, 3)
        shares(10, (3, 1))               (8, 2)
        shares(10, (1, 1), (2, None))    (2, 8)

    Raises ValueError for weights that are no weights, and where all cards together have too little
    room.
    """
    room = [
        math.inf if one is None else int(one)
        for one in (*most, *[None] * (len(weights) - len(most)))
    ]
    _require(images, weights, room)
    taken = [0] * len(weights)
    open_cards = [k for k, weight in enumerate(weights) if weight > 0 and room[k] > 0]
    left = images
    while left:
        if not open_cards:  # all cards of a weight are full
            there = sum(int(room[k]) for k, weight in enumerate(weights) if weight > 0)
            raise ValueError(
                f"the cards have room for {quantity(there, 'image')} together, not for "
                f"{images:,}: take "
                "fewer, or in turns"
            )
        part = _proportional(left, [weights[k] for k in open_cards])
        full = [k for k, count in zip(open_cards, part, strict=True) if count > room[k]]
        for k, count in zip(open_cards, part, strict=True):
            if k in full or not full:
                taken[k] = int(min(count, room[k]))
        left = images - sum(taken) if full else 0
        open_cards = [k for k in open_cards if k not in full]
    return tuple(taken)


def _proportional(images: int, weights: Sequence[float]) -> list[int]:
    """Return the largest remainder method."""
    exact = [images * weight / math.fsum(weights) for weight in weights]
    part = [math.floor(one) for one in exact]
    for k in sorted(range(len(part)), key=lambda k: (part[k] - exact[k], k))[: images - sum(part)]:
        part[k] += 1
    return part


def _require(images: int, weights: Sequence[float], room: Sequence[float]) -> None:
    if images < 1:
        raise ValueError(f"{quantity(images, 'image')} cannot be split: give at least 1")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not sum(weights) > 0:
        raise ValueError(
            f"the weights are {tuple(weights)}: give a number from 0 on for each card, not all of "
            "them 0"
        )
    if len(room) > len(weights) or min(room) < 0:
        raise ValueError(
            f"there is room for {room} images on {quantity(len(weights), 'card')}: "
            "give at most one number, "
            "from 0 on, for each"
        )
