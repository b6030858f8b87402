"""The command `halo`: each command reaches its program, and a program of PyCUDA runs unchanged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from helpers import __main__ as halo
from helpers import device, doctor
from tests.processes import python
from tests.support import ROOT

KERNEL = """
__global__ void turn(float *out, const float *in) {
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    BARRIER
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
PROGRAM = """
import pycuda.autoinit
import sys

import numpy as np
import pycuda.driver as cuda
from beside import KERNEL
from pycuda.compiler import SourceModule

x, y = np.arange(64, dtype=np.float32), np.empty(64, np.float32)
turn = SourceModule(KERNEL).get_function("turn")
for _ in range(3):
    turn(cuda.Out(y), cuda.In(x), block=(64, 1, 1), grid=(1, 1))
print(__name__, sys.argv[1:], y[0])
"""


def halo_in_a_shell(*arguments: str, folder=ROOT) -> subprocess.CompletedProcess:
    """Run the command as a shell does."""
    return subprocess.run(
        [sys.executable, "-m", "helpers", *arguments],
        cwd=folder,
        env=device_free(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def device_free() -> dict[str, str]:
    """The environment of a student who has set no variable of ours."""
    kept = {k: v for k, v in os.environ.items() if k != "LAB_DEVICE"}
    return {**kept, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def program(tmp_path):
    """Write the program with a line in place of BARRIER, and with more lines at its end."""

    def write(barrier: str, *more: str):
        (tmp_path / "beside.py").write_text(
            f"KERNEL = '''{KERNEL}'''.replace('BARRIER', '{barrier}')\n"
        )
        path = tmp_path / "program.py"
        path.write_text(PROGRAM + "\n".join(more))
        return path

    return write


def test_a_right_program_runs_unchanged_and_its_status_is_its_own(program):
    path = program("__syncthreads();", "sys.exit(7)")
    ran = halo_in_a_shell("run", str(path), "--json", "a b")  # options behind it are its own
    assert ran.returncode == 7, ran.stderr
    assert ran.stdout == "__main__ ['--json', 'a b'] 63.0\n"
    assert "program.py in the simulator: no finding" in ran.stderr


def test_a_race_is_told_once_at_the_end_and_in_the_status(program):
    ran = halo_in_a_shell("run", str(program("")))
    assert ran.returncode == 1
    assert ran.stdout.startswith("__main__ [] ")
    assert "program.py in the simulator: 1 finding\n" in ran.stderr  # of three launches
    assert ran.stderr.count("race:") == 1


def test_findings_as_json_stand_alone_on_the_output(program):
    ran = halo_in_a_shell("run", "--json", str(program("")))
    found = json.loads(ran.stdout)
    assert [one["kind"] for one in found["findings"]] == ["race"]
    assert "__main__ []" in ran.stderr


STREAMS = """
import pycuda.autoinit
import numpy as np
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

rows = SourceModule('''__global__ void rows(float* y, const float* x, int n)
{
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += x[threadIdx.x * n + k];
    y[threadIdx.x] = sum;
}''').get_function("rows")
n, streams = 1 << 18, [cuda.Stream(), cuda.Stream()]
locked = cuda.pagelocked_empty(n, np.float32)
for host in (np.ones(n, np.float32), locked):
    for stream in streams:
        x = cuda.mem_alloc(4 * n)
        cuda.memcpy_htod_async(x, host, stream)
x, y = gpuarray.to_gpu(np.ones(n, np.float32)), cuda.mem_alloc(4 * 512)
for stream in (None, *streams):
    rows(y, x, np.int32(512), block=(512, 1, 1), grid=(1, 1), stream=stream)
    cuda.Context.synchronize()
(x + x).get()
"""
HOST_WAITS = "the host waits for it; its form with _async and stream= lets the host continue"


def test_the_account_of_times_says_what_keeps_work_from_running_side_by_side(tmp_path):
    """Copies from pageable and page-locked memory stand in one line, and so do launches."""
    path = tmp_path / "streams.py"
    path.write_text(STREAMS)
    ran = halo_in_a_shell("run", "--json", "--times", str(path))
    rows = json.loads(ran.stdout)["times"]
    assert [one["least_us"] for one in rows] == sorted(
        (one["least_us"] for one in rows), reverse=True
    )
    told = [(one["what"], one["times"], one["hold"].split(",")[0]) for one in rows]
    assert sorted(told) == [
        ("GPUArray +", 1, "it is in the null stream"),
        ("GPUArray copy", 1, HOST_WAITS),
        ("GPUArray copy", 1, HOST_WAITS),
        ("cuMemcpyHtoDAsync", 4, "2 of 4 times: its host memory is pageable"),
        ("kernel rows", 3, "1 of 3 times: it is in the null stream"),
    ]
    words = halo_in_a_shell("run", "--times", str(path)).stderr
    assert "line 4 of the kernel: sectors with bytes that no lane asks for" in words
    assert "Copies between host and device take" in words


def test_an_exception_of_the_program_has_a_traceback_that_begins_in_it(program):
    ran = halo_in_a_shell("run", str(program("__syncthreads();", "1 / 0")))
    assert ran.returncode == 1
    first, second, *_ = [line for line in ran.stderr.splitlines() if line.startswith("  File")] + [
        ""
    ]
    assert "program.py" in first and not second
    assert "ZeroDivisionError" in ran.stderr


def test_a_program_that_is_not_there_is_a_mistake():
    ran = halo_in_a_shell("run", "nothing.py")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "halo run: there is no file nothing.py" in ran.stderr


@pytest.mark.parametrize("command", halo.COMMANDS)
def test_help_runs_nothing(command, capsys):
    with pytest.raises(SystemExit) as end:
        halo.main([command, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert f"usage: halo {command} " in said and f"{command} {command}" not in said


@pytest.mark.parametrize("module", ["helpers.experiments.wrong_card", "evidence.tune"])
def test_help_of_a_program_runs_nothing(module):
    ran = python("-m", module, "--help")
    assert ran.returncode == 0 and ran.stdout.startswith(f"usage: python -m {module} ")


def test_help_and_an_unknown_command(capsys):
    assert halo.main([]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n  {name} " in listed for name in halo.COMMANDS)
    with pytest.raises(SystemExit) as end:
        halo.main(["chek"])
    assert end.value.code == 2
    assert "invalid choice: 'chek'" in capsys.readouterr().err


def test_check_names_itself_in_a_mistake():
    ran = halo_in_a_shell("check", "nothing.cu", "--grid", "1", "--block", "1")
    assert ran.returncode == 2 and ran.stderr.startswith("halo check: cannot read nothing.cu")


def test_bash_completes_commands_and_options():
    def words(*typed: str) -> list[str]:
        script = (
            f"{halo.completion('bash')}\nCOMP_WORDS=({' '.join(map(repr, typed))}); "
            f"COMP_CWORD={len(typed) - 1}; _halo; echo ${{COMPREPLY[@]}}"
        )
        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        return ran.stdout.split()

    assert words("halo", "") == [*halo.COMMANDS, "--help", "--version"]
    assert words("halo", "do") == ["doctor"]
    assert words("halo", "check", "--g") == ["--grid"]
    assert "grade" in words("halo", "course", "gr")


@pytest.mark.parametrize("shell", [["bash", "--norc"], ["zsh", "-f"]])
def test_a_bare_shell_takes_its_completion(shell):
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]}")
    ran = subprocess.run([*shell, "-c", halo.completion(shell[0])], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_completion_names_options_that_exist(capsys):
    for name, command in halo.COMMANDS.items():
        with pytest.raises(SystemExit):
            halo.main([name, "--help"])
        told = capsys.readouterr().out
        assert all(option in told for option in command.options), name


def test_the_doctor_says_what_is_missing_and_what_mends_it(monkeypatch, capsys):
    from helpers.simulator.compile import toolchain

    assert doctor.main([]) == 0
    assert "MISSING" not in capsys.readouterr().out

    def none():
        raise toolchain.CompilerMissingError("sudo apt install g++")

    monkeypatch.setattr(toolchain, "find_compiler", none)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert doctor.main([]) == 1
    assert "MISSING  C++ compiler: none runs\n           to fix it: sudo apt install g++" in (
        capsys.readouterr().out
    )


def test_the_doctor_finds_an_old_package(monkeypatch, capsys):
    here = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: "1.0" if name == "numpy" else here(name))
    assert doctor.main(["--json"]) == 1
    rows = {one["what"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert rows["packages"]["found"] == "numpy 1.0, needed >=1.26"
    assert rows["packages"]["mend"] == "pip install -e ."


def test_the_doctor_says_why_there_is_no_gpu(monkeypatch, capsys):
    probe = device.Probe((13, 0), "", False, (13, 0))
    monkeypatch.setattr(device, "probe", lambda: probe)
    assert doctor.main([]) == 0  # the simulator is enough
    assert "absent   GPU: there is a GPU, but PyCUDA is not installed" in capsys.readouterr().out
