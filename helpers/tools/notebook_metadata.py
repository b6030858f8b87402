"""Keep one description of the kernel and of the language in all labs.

    python -m helpers.tools.notebook_metadata --fix

JupyterLab writes both into a notebook that it opens, with the names of that machine: another
kernel, another version of Python. `make jupyter` keeps the metadata of a saved lab (see
helpers/jupyterlab). This tool finds and repairs the changes of other editors.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers import labs

METADATA: dict[str, Any] = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}


def repaired(text: str) -> str:
    """Return the text of a notebook with METADATA, otherwise unchanged."""
    notebook = json.loads(text)
    if notebook["metadata"] == METADATA:
        return text
    notebook["metadata"] = METADATA
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Check the notebooks, or repair them with --fix. Return 1 if one differed."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.notebook_metadata", description=main.__doc__
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="by default all of labs/")
    parser.add_argument("--fix", action="store_true", help="write the metadata that the labs share")
    options = parser.parse_args(argv)
    status = 0
    for path in options.notebooks or labs.every():
        text = path.read_text(encoding="utf-8")
        repair = repaired(text)
        if repair == text:
            continue
        status = 1
        if options.fix:
            path.write_text(repair, encoding="utf-8")
            print(f"{path}: repaired")
        else:
            print(f"{path}: its metadata are not those of the other labs; repair them with --fix")
    return status


if __name__ == "__main__":
    sys.exit(main())
