"""Workers of a cluster: none of them builds what the grader has built."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

from helpers.course import workers
from tests.support import ROOT

TAKE = """
import pickle, sys
from pathlib import Path
from helpers.course import workers
from helpers.simulator.machine import library
machine = pickle.loads(Path(sys.argv[1]).read_bytes())
print(machine.take(Path(sys.argv[2])), library.build().parent == Path(sys.argv[2]))
print(len(library.operation_names()) > 100)
"""


def test_a_worker_with_an_empty_cache_and_no_compiler_takes_the_machine(tmp_path):
    import pickle

    message = tmp_path / "machine"
    message.write_bytes(pickle.dumps(workers.Machine.built()))
    environment = {"HALO_CACHE": str(tmp_path / "empty"), "PYTHONPATH": str(ROOT),
                   "PATH": "", "LAB_DEVICE": "simulator"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", TAKE, str(message), str(tmp_path / "worker")],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "True", "True"], done.stderr
    assert not (tmp_path / "empty").exists() or not list((tmp_path / "empty").glob("*.so"))


def test_a_worker_of_another_kind_builds_its_own(tmp_path):
    machine = replace(workers.Machine.built(), of=("Linux", "another"))
    assert not machine.take(tmp_path / "worker")
    assert not (tmp_path / "worker").exists()


def test_a_grader_says_something_at_once(tmp_path):
    """Before it imports, reads or builds anything that takes long."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "helpers.course", "grade", str(tmp_path / "none")],
        cwd=ROOT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    first = process.stderr.readline()
    said = time.monotonic() - began
    process.communicate()
    assert first.startswith("Reading /") and said < time.monotonic() - began


def test_what_takes_long_says_so_again_and_again(capsys):
    from helpers.course import __main__

    with __main__._waiting("it is built", every_s=0.01):
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2 and lines[0].startswith("it is built (0 s)")
    time.sleep(0.05)
    assert capsys.readouterr().err == ""
