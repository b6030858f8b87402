"""Make the wheel halo-labs-engine, which brings the simulator's compiled engine to computers
without a C++ compiler.

    python -m helpers.tools.wheel [--to dist]       on the computer with a compiler
    python -m pip install halo_labs_engine-...whl   on the others, beside the same copy of the labs

The engine needs a Linux of the same architecture whose C library is not older than that of the
computer that made it. The labs take it only if it was made from their own sources.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import platform
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from helpers.simulator.compile import toolchain
from helpers.simulator.machine import library, prebuilt

ROOT = Path(__file__).resolve().parents[2]
NAME = prebuilt.PACKAGE
_THE_SAME_DATE = (2020, 1, 1, 0, 0, 0)  # in the archive, so that equal contents make equal wheels


def make(folder: Path) -> Path:
    """Compile the engine, write the wheel into `folder`, and return its path.

    Raises toolchain.CompileFailed, CompilerMissingError and CacheError.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tag = f"py3-none-linux_{platform.machine()}"
    distribution = f"{NAME}-{project['version']}"
    facts = prebuilt.facts(toolchain.sources_key(library.MACHINE))
    contents = {
        f"{NAME}/__init__.py": b'"""The compiled engine of the simulator of Halo Labs."""\n',
        f"{NAME}/{prebuilt.LIBRARY}": library.build_for_others().read_bytes(),
        f"{NAME}/{prebuilt.FACTS}": json.dumps(facts, indent=1).encode(),
        f"{distribution}.dist-info/METADATA": (
            "Metadata-Version: 2.1\n"
            f"Name: {NAME.replace('_', '-')}\n"
            f"Version: {project['version']}\n"
            "Summary: The compiled engine of the simulator of Halo Labs\n"
            f"License: {project['license']}\n"
            f"Requires-Python: {project['requires-python']}\n"
        ).encode(),
        f"{distribution}.dist-info/WHEEL": (
            "Wheel-Version: 1.0\n"
            "Generator: helpers.tools.wheel\n"
            "Root-Is-Purelib: false\n"
            f"Tag: {tag}\n"
        ).encode(),
    }
    record = f"{distribution}.dist-info/RECORD"
    rows = [f"{path},{_digest(data)},{len(data)}" for path, data in contents.items()]
    contents[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{distribution}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            archive.writestr(zipfile.ZipInfo(path, _THE_SAME_DATE), data, zipfile.ZIP_DEFLATED)
    return wheel


def _digest(data: bytes) -> str:
    return f"sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')}"


def main(argv: Sequence[str] | None = None) -> int:
    """Make the wheel that the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.wheel",
        description="Compile the simulator's engine into a wheel.",
    )
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="folder of the wheel")
    try:
        wheel = make(parser.parse_args(argv).to)
    except (OSError, toolchain.CompileFailed, toolchain.CompilerMissingError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    print(f"On a computer without a C++ compiler: python -m pip install {wheel.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
