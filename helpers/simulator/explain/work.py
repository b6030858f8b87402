"""What a search for causes may cost, counted: the same answer gets the same story on every
computer, however slow or busy it is.
"""

from __future__ import annotations

import math


class Spent(Exception):
    """A search has used all its work."""


class Work:
    """The work that is left, and what was spent. Its unit is what it takes to follow one
    instruction of one thread: about 3 microseconds of a core of 3 GHz. most: what `grow` may add.
    """

    def __init__(self, left: float = math.inf, most: float = 0):
        self.left, self.spent = left, 0.0
        self._grown, self._most = 0.0, most

    def grow(self, units: float) -> None:
        """Add some units, as a larger launch may cost more: of several the most."""
        more = max(min(units, self._most) - self._grown, 0)
        self.left += more
        self._grown += more

    def spend(self, units: float, reserve: float = 0) -> None:
        """Take some units. reserve: of which more than there are may be taken. Raises Spent where
        nothing is left.
        """
        if self.left + reserve <= 0:
            raise Spent
        self.left -= units
        self.spent += units
