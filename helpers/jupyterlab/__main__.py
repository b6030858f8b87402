"""Make your own copies of the labs, and start JupyterLab.

All options go to `jupyter lab`: `--no-browser`, `--port 8890`, `--allow-root`.
"""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from helpers.labs import copies

from . import ROOT

HERE = Path(__file__).resolve().parent
START_PAGE = f"{copies.FOLDER}/{copies.START_PAGE}"
AS_ROOT = (
    "If JupyterLab refuses to start for root, as in a container: make jupyter OPTIONS=--allow-root"
)


def environment(outer: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that JupyterLab and its kernels need: where our settings and `helpers`
    are.
    """
    ours = {"JUPYTER_PATH": HERE / "share", "JUPYTER_CONFIG_PATH": HERE / "etc", "PYTHONPATH": ROOT}
    paths = {
        name: os.pathsep.join([str(folder), *filter(None, [outer.get(name)])])
        for name, folder in ours.items()
    }
    return {"PYTHONSTARTUP": str(HERE / "startup.py"), **_kept(outer), **paths}


def _kept(outer: Mapping[str, str]) -> dict[str, str]:
    """Return the user's own startup file, which runs in place of ours, if there is one."""
    return {name: outer[name] for name in ("PYTHONSTARTUP",) if outer.get(name)}


def not_writable(error: OSError) -> str:
    """Return what to do where the students' copies cannot be written."""
    said = (
        f"make jupyter writes your copies of the labs to {ROOT / copies.FOLDER}, and cannot: "
        f"{error.strerror or error}.\n"
    )
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{said}A file stands in the folder's place: rename it, and type again: make jupyter"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{said}Free some space (make clean removes results), and type again: make jupyter"
    return (
        f"{said}Make a copy of the whole folder that you can write to, and start there:\n"
        f"    cp -r {shlex.quote(str(ROOT))} ~/halo-labs && cd ~/halo-labs && make jupyter"
    )


def main(
    argv: Sequence[str] | None = None, prog: str = "python -m helpers.jupyterlab"
) -> None:
    """Make the copies and start JupyterLab; end with its exit status."""
    parser = argparse.ArgumentParser(
        prog=prog,
        usage=f"{prog} [option of `jupyter lab` ...]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _, arguments = parser.parse_known_args(argv)
    os.environ.update(environment(os.environ))
    try:
        (ROOT / "results").mkdir(exist_ok=True)  # the start page links it, and no lab may have run
        print(copies.update(ROOT))
    except OSError as error:
        sys.exit(not_writable(error))
    if os.geteuid() == 0 and "--allow-root" not in arguments:
        print(AS_ROOT, file=sys.stderr)
    from jupyterlab.labapp import main as serve

    opens = "and opens in your browser"
    if "--no-browser" in arguments:
        opens = "and below stands the address to open, which begins with http://127.0.0.1"
    print(f"JupyterLab starts, {opens}. Ctrl + C, twice, stops it.", flush=True)
    options = [
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/{START_PAGE}",
        "--log-level=WARN",  # the address to open is not lost among twenty lines of the server
    ]
    # Options of the user come last, so that they win.
    serve([*options, *arguments])


if __name__ == "__main__":
    main()
