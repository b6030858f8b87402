"""python -m helpers.course update"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from helpers.course import copies


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m helpers.course", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("update", help="bring new versions of the labs to my_labs/")
    parser.parse_args(argv)
    print(copies.update())
    return 0


if __name__ == "__main__":
    sys.exit(main())
