"""The texts of the notebook's cells as this session has run them. What a cell has bound stays bound
when the cell is run with another text, so that a check could pass what the notebook no longer has.
"""

from __future__ import annotations

_latest: dict[object, str] = {}  # by the id of a cell; a run without an id is a cell of its own
_places: dict[str, object] = {}  # of each text, the cell that has run it last


def ran(cell: str | None, text: str) -> None:
    """Note that a cell runs. cell: its id, None where nobody knows it."""
    place = object() if cell is None else cell
    _latest[place] = text.strip()
    _places[text.strip()] = place


def replacement(text: str) -> str | None:
    """Return what stands in the place of a text that a cell has run, if no cell has that text any
    more; None where one has it, and for a text that no cell has run.
    """
    place = _places.get(text.strip())
    if place is None or text.strip() in _latest.values():
        return None
    return _latest[place]


def words(name: str, now: str, begin: str) -> str:
    """Return that the answer called `name` is older than the cell that made it. begin: how that
    cell must begin.
    """
    first = now.partition("\n")[0]
    return (
        f"the cell that made {name} has been run with another text, which begins with `{first}`. "
        f"{begin}, and run it again."
    )
