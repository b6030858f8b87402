"""Where the exercises lie: each has a folder of its name, in content/ or in that of its lab."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent / "content"


@cache
def folders() -> dict[str, Path]:
    """Return the folder of each exercise by its name, relative to ROOT. A folder is an exercise if
    a solution lies in it, or its stub alone, as in a package for students.
    """
    files = (path for stem in ("solution", "stub") for path in ROOT.rglob(f"{stem}.*"))
    holders = {path.parent for path in files if (path.parent / "__init__.py").exists()}
    return {folder.name: folder.relative_to(ROOT) for folder in holders}
