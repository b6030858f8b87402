"""The notebooks: the labs, labs/104_conv1d_tiles.ipynb, and what goes deeper into one of them,
labs/deeper/104_deeper.ipynb. A deeper notebook has the form of a lab, but no exercises, and no
lab needs it.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LABS = ROOT / "labs"
DEEPER = "deeper"  # the folder in labs/, and the end of a deeper notebook's name
# Labs with the last numbers of their part that belong behind another lab, and that lab.
_BEHIND = {"114": "100", "115": "101"}


def number(lab: str) -> str:
    """Return the number in front of a notebook's name, as text: "104"."""
    return lab.partition("_")[0]


def notebooks(folder: Path = LABS) -> tuple[Path, ...]:
    """Return the labs of a folder, in their order; without the deeper notebooks."""
    return tuple(sorted(folder.glob("*.ipynb"), key=lambda lab: place_in_order(lab.stem)))


def place_in_order(lab: str) -> tuple[str, str]:
    """Return what sorts the names of notebooks into the order of the labs."""
    own = number(lab)
    return _BEHIND.get(own, own), lab


def deeper(folder: Path = LABS) -> tuple[Path, ...]:
    """Return the deeper notebooks below a folder of labs, in their order."""
    return tuple(sorted((folder / DEEPER).glob("*.ipynb")))


def every(folder: Path = LABS) -> tuple[Path, ...]:
    """Return the labs of a folder, and then its deeper notebooks."""
    return notebooks(folder) + deeper(folder)


def place(path: Path) -> Path:
    """Return where a notebook lies in the folder of the labs: deeper/104_deeper.ipynb."""
    return Path(DEEPER, path.name) if is_deeper(path) else Path(path.name)


def is_deeper(path: Path) -> bool:
    """Return whether a notebook is a deeper one."""
    return path.parent.name == DEEPER
