"""What a search for causes may cost, counted: the same answer gets the same story on every
computer, however slow or busy it is.
"""

from __future__ import annotations

import math


class Spent(Exception):
    """A search has used all its work."""


class Work:
    """The work that is left. Its unit is what it takes to follow one instruction of one thread:
    about 3 microseconds of a core of 3 GHz.
    """

    def __init__(self, most: float = math.inf):
        self.left, self.spent = most, 0.0

    def limit(self, most: float) -> None:
        """Leave no more than would be left of so much at the beginning."""
        self.left = min(self.left, most - self.spent)

    def spend(self, units: float, reserve: float = 0) -> None:
        """Take some units. reserve: of which more than there are may be taken. Raises Spent where
        nothing is left.
        """
        if self.left + reserve <= 0:
            raise Spent
        self.left -= units
        self.spent += units
