"""What a card does with a piece of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from helpers.cards.group import CardsError
from helpers.launch import Array, Plan, scratch_bytes


@dataclass(frozen=True)
class Work:
    """What a card does with a piece of a batch.

    plan: the launches for a number of images. x, y: the names of the plan's arrays that are copied
    in and back, one entry an image. given: the arrays that are the same for every piece, by name,
    such as weights; NumPy arrays. The plan's other arrays stay on the card.
    """

    name: str
    plan: Callable[[int], Plan]
    x: str
    y: str
    given: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    def arrays(self, images: int) -> dict[str, Array]:
        """Return the arrays that pieces of ``images`` need, by name, but for those given."""
        found: dict[str, Array] = {}
        for one in self.plan(images):
            for array in one.arrays:
                if array.name not in self.given:
                    found[array.name] = array
        if missing := {self.x, self.y} - found.keys():
            raise CardsError(
                f"{self.name}: no launch takes the array {min(missing)!r}; there are "
                f"{', '.join(found)}"
            )
        return found

    def image(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Return the shape and type of one entry of an array."""
        array = self.arrays(1)[name]
        return array.shape[1:], np.dtype(array.dtype)

    def bytes_of(self, images: int, kept: Sequence[str] = ()) -> int:
        """Return the bytes of a lane: arrays and scratch for pieces of ``images``, without those of
        ``kept``.
        """
        sizes = (
            whole_bytes(array) for name, array in self.arrays(images).items() if name not in kept
        )
        return sum(sizes) + scratch_bytes(self.plan(images))


def whole_bytes(array: Array) -> int:
    """Return the bytes of the whole array, whatever part a launch takes."""
    return math.prod(array.shape) * np.dtype(array.dtype).itemsize
