"""The simulator's command line: what it runs, what it prints, its exit status, and what it says of
mistakes.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.simulator import __main__ as cli
from helpers.simulator.compile.toolchain import CacheError
from helpers.simulator.launch import launch

ROOT = Path(__file__).resolve().parents[2]
AXPY = shlex.split(
    "--grid 4 --block 256 --arg in:float:1000 --arg in:float:1000 --arg int:1000 --arg float:2"
)

SCALE = """
__constant__ float factor[2];
extern "C" __global__ void scale(float* out, const float* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor[0] * in[i] + SHIFT;
}
"""
NO_BARRIER = """
extern "C" __global__ void reverse(float* out, const float* in)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""


def flat(capsys) -> str:
    """What was printed, as one line."""
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture
def write(tmp_path):
    def file(text: str, name: str = "some.cu") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return file


@pytest.fixture
def axpy() -> str:
    return str(ROOT / "kernels" / "axpy_basic.cu")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# --------------------------------------------------------------------------------------------------
# a launch


def test_a_good_launch_is_clean(axpy, capsys):
    assert cli.main(["check", axpy, *AXPY]) == cli.CLEAN
    assert capsys.readouterr().out == "axpy_basic: 4 blocks of 256 threads, no findings\n"


def test_a_wrong_size_is_found_with_file_and_line(axpy, capsys):
    too_long = [word.replace("int:1000", "int:1003") for word in AXPY]
    assert cli.main(["check", axpy, *too_long]) == cli.HAS_FINDINGS
    said = capsys.readouterr().out
    assert "1 finding" in said and "out-of-bounds" in said and "axpy_basic.cu:" in said


def test_the_file_is_called_by_its_own_name(write, capsys):
    file = write(NO_BARRIER, "mine.cu")
    arguments = shlex.split("--grid 1 --block 64 --arg out:float:64 --arg in:float:64")
    assert cli.main(["check", file, *arguments, "--kernel", "reverse"]) == cli.HAS_FINDINGS
    said = capsys.readouterr().out
    assert "mine.cu:6:" in said and "reverse.cu" not in said
    # The values at both lines of the race, though one of its arrays had none before the launch.
    assert said.count("line 5, thread (") == said.count("line 6, thread (") == 1


def test_profile_as_text_has_the_lines(axpy, capsys):
    assert cli.main(["profile", axpy, *AXPY]) == cli.CLEAN
    said = capsys.readouterr().out
    assert "requests" in said and "y[i] = a * x[i] + y[i];" in said and "no findings" in said


def test_profile_as_json_has_counters_and_lines(axpy, capsys):
    assert cli.main(["profile", axpy, *AXPY, "--json"]) == cli.CLEAN
    told = json.loads(capsys.readouterr().out)
    assert (told["kernel"], told["completed"], told["blocks"], told["grid"]) == (
        "axpy_basic",
        True,
        4,
        [4, 1, 1],
    )
    assert told["counters"]["global_load_sectors"] == 250
    assert {row["array"] for row in told["lines"]} == {"x", "y"}
    assert told["findings"] == []


def test_findings_as_json(write, capsys):
    file = write(NO_BARRIER)
    launch = shlex.split("--grid 1 --block 64 --arg out:float:64 --arg in:float:64 --json")
    done = cli.main(["check", file, *launch])
    told = json.loads(capsys.readouterr().out)
    assert done == cli.HAS_FINDINGS
    race = next(finding for finding in told["findings"] if finding["kind"] == "race")
    assert (race["array"], race["file"], sorted((race["line"], race["other_line"]))) == (
        "tile",
        "some.cu",
        [5, 6],
    )


def test_a_sample_is_said(axpy, capsys):
    assert cli.main(["profile", axpy, *AXPY, "--sample", "2"]) == cli.CLEAN
    assert "2 of 4 blocks" in capsys.readouterr().out


def test_macros_and_constants_reach_the_kernel(write, capsys):
    file = write(SCALE)
    arrays = "--arg out:float:64 --arg in:float:8x8:arange --arg int:64"
    launch = shlex.split(f"--grid 2 --block 32 {arrays}")
    assert (
        cli.main(["check", file, *launch, "-DSHIFT=1.0f", "--constant", "factor=in:float:2:3"])
        == cli.CLEAN
    )
    assert cli.main(["check", file, *launch, "--constant", "factor=in:float:2"]) == cli.MISTAKE
    assert "SHIFT" in capsys.readouterr().err


def test_a_runaway_kernel_is_stopped(write, capsys):
    file = write('extern "C" __global__ void spin(volatile int* p) { while (p[0] == 0) { } }')
    launch = shlex.split("--grid 1 --block 1 --arg in:int:1:zeros --time-limit 0.5")
    assert cli.main(["check", file, *launch]) == cli.HAS_FINDINGS
    assert "runaway" in capsys.readouterr().out


def test_as_a_command_of_a_shell(axpy):
    done = subprocess.run(
        [sys.executable, "-m", "helpers.simulator", "check", axpy, *AXPY],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (
        0,
        "axpy_basic: 4 blocks of 256 threads, no findings\n",
    )
    assert done.stderr == ""


README = (ROOT / "helpers" / "simulator" / "README.md").read_text(encoding="utf-8")
USES = re.findall(r"^python -m helpers\.simulator (.*)$", README, re.MULTILINE)
ENDS = [cli.CLEAN, cli.HAS_FINDINGS, cli.HAS_FINDINGS, cli.MISTAKE, *[cli.CLEAN] * 5]


def test_the_readme_has_nine_uses():
    assert len(USES) == len(ENDS)


@pytest.mark.parametrize(("use", "status"), list(zip(USES, ENDS, strict=False)))
def test_a_use_of_the_readme(use, status, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert cli.main(shlex.split(use)) == status
    out, err = capsys.readouterr()
    assert (bool(out), bool(err)) == (status != cli.MISTAKE, status == cli.MISTAKE)


def test_the_command_has_the_time_limit_of_check(axpy, capsys, monkeypatch):
    limits = []
    monkeypatch.setattr(cli, "check", lambda *_, **more: limits.append(more["time_limit"]) or ())
    assert cli.main(["check", axpy, *AXPY]) == cli.CLEAN
    assert cli.main(["check", axpy, *AXPY, "--time-limit", "7"]) == cli.CLEAN
    assert limits == [launch.TIME_LIMIT_S, 7]
    assert cli.main(["check", axpy, *AXPY, "--time-limit", "7"]) == cli.CLEAN


@pytest.mark.parametrize("limit", ["0", "-3", "nan"])
def test_a_time_limit_is_above_0(axpy, capsys, limit):
    assert cli.main(["check", axpy, *AXPY, f"--time-limit={limit}"]) == cli.MISTAKE
    assert "seconds above 0" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_is_told_in_a_sentence(axpy, capsys, monkeypatch):
    def refused(*_, **__):
        raise CacheError("Set HALO_CACHE to a folder that you can write to")

    monkeypatch.setattr(cli, "check", refused)
    assert cli.main(["check", axpy, *AXPY]) == cli.MISTAKE
    assert "Set HALO_CACHE" in capsys.readouterr().err


def test_headers_lie_beside_the_source_or_in_a_folder(write, tmp_path, capsys):
    (tmp_path / "beside.cuh").write_text("#define ONE 1.0f\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "two.cuh").write_text("#define TWO 2.0f\n")
    file = write(
        '#include "beside.cuh"\n#include <two.cuh>\n'
        'extern "C" __global__ void k(float* y) { y[0] = ONE + TWO; }'
    )
    launch = shlex.split("--grid 1 --block 1 --arg out:float:1")
    assert cli.main(["check", file, *launch, "-I", str(tmp_path / "more")]) == cli.CLEAN
    assert cli.main(["check", file, *launch]) == cli.MISTAKE
    assert cli.main(["check", file, *launch, f"-I{tmp_path / 'none'}"]) == cli.MISTAKE
    assert "does not exist" in capsys.readouterr().err


def test_without_the_environment_it_says_to_activate_it(tmp_path):
    code = "import sys; sys.modules['numpy'] = None; sys.argv = ['-m']; import helpers.simulator"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and ". .venv/bin/activate" in done.stderr
    assert "Traceback" not in done.stderr


# --------------------------------------------------------------------------------------------------
# arguments


def test_scalars(rng):
    for spec, dtype, value in (
        ("int:-3", np.int32, -3),
        ("uint:0x10", np.uint32, 16),
        ("half:0.5", np.float16, 0.5),
    ):
        got = cli.parse_argument(spec, rng)
        assert (got.dtype, got) == (np.dtype(dtype), value)
    assert cli.parse_argument("null", rng) == 0


def test_arrays(rng):
    assert cli.parse_argument("in:float:3x4:ones", rng).shape == (3, 4)
    assert cli.parse_argument("in:int:5:arange", rng).tolist() == [0, 1, 2, 3, 4]
    assert cli.parse_argument("in:float4:6:2.5", rng).shape == (6, 4)
    uniform = cli.parse_argument("in:float:1000", rng)
    assert uniform.dtype == np.float32 and 0 <= uniform.min() < 0.1 and 0.9 < uniform.max() < 1
    assert set(np.unique(cli.parse_argument("in:uchar:2000", rng))) == set(range(100))


def test_a_file_of_numpy(rng, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    assert cli.parse_argument(str(tmp_path / "a.npy"), rng).tolist() == [[0, 1, 2], [3, 4, 5]]
    (tmp_path / "b.npy").write_text("no array")
    with pytest.raises(cli.Mistake, match=r"cannot read it as a \.npy file"):
        cli.parse_argument(str(tmp_path / "b.npy"), rng)


def test_out_is_memory_that_nothing_has_written(rng):
    fresh = cli.parse_argument("out:float:16x2", rng)
    try:
        assert (fresh.nbytes, cli.memory.written(int(fresh), 128)) == (128, 0)
    finally:
        fresh.close()


APPENDS = """
extern "C" __global__ void keep(float* out, int* count, const float* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0.5f) out[atomicAdd(count, 1)] = in[i];
}
"""


@pytest.mark.parametrize(("grid", "status"), [(16, 0), (15, 1)])
def test_an_output_that_the_grid_does_not_cover_is_a_finding(write, capsys, grid, status):
    launch = ["--grid", str(grid), "--block", "64", "-DSHIFT=0", "--constant", "factor=in:float:2"]
    arguments = shlex.split("--arg out:float:1000 --arg in:float:1000 --arg int:1000")
    assert cli.main(["check", write(SCALE), *launch, *arguments]) == status
    assert ("leaves 40 of the 1,000 elements of out unwritten" in flat(capsys)) == bool(status)


def test_an_output_to_which_a_kernel_appends_may_have_an_end(write, capsys):
    arguments = ["out:float:500", "in:int:1:zeros", "in:float:500", "int:500"]
    launch = shlex.split("--grid 4 --block 128")
    more = [word for one in arguments for word in ("--arg", one)]
    assert cli.main(["check", write(APPENDS), *launch, *more]) == 0


def test_memory_is_freed_after_a_run_and_after_a_mistake(axpy, write):
    before = cli.memory.used()
    launch = shlex.split("--grid 1 --block 32 --arg out:float:1000")
    assert cli.main(["check", axpy, *launch, "--arg", "in:nothing:3"]) == cli.MISTAKE
    cli.main(["check", write(NO_BARRIER), *launch, "--arg", "in:float:64"])
    assert cli.memory.used() == before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("float", "'float': give TYPE:VALUE, out:TYPE:SHAPE"),
        ("flaot:3", "'flaot' is no type, give one of char, uchar"),
        ("int:3.5", "'3.5' is not a number of type int32"),
        ("uchar:300", r"300 does not fit a uint8 \(0 to 255\)"),
        ("in:float", r"give in:TYPE:SHAPE\[:FILL\]"),
        ("in:float:0", "'0' is no shape; give a count such as 1000, or 480x640"),
        ("in:float:8:random", "'random' is not uniform, zeros, ones, arange or a number"),
        ("in:float5:8", "'float5' is no type"),
        ("out:float:8:zeros", "give out:TYPE:SHAPE"),
        ("missing.npy", "cannot read it"),
    ],
)
def test_a_mistake_in_an_argument_is_explained(rng, spec, message):
    with pytest.raises(cli.Mistake, match=message):
        cli.parse_argument(spec, rng)


@pytest.mark.parametrize("command", ["check", "profile"])
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("out:double:250", "points to float32, got an array of float64"),
        ("out:int:1000", "points to float32, got an array of int32"),
        ("in:double:1000", "convert with .astype(np.float32)"),
        ("in:float4:250", ""),
        ("in:float:10x100", ""),
        ("in:float:1000:zeros", ""),
    ],
)
def test_an_array_of_another_type_is_refused(axpy, capsys, command, spec, words):
    launch = shlex.split("--grid 4 --block 256 --arg int:1000 --arg float:2")
    given = ["--arg", spec, "--arg", "in:float:1000", *launch]
    status = cli.main([command, axpy, *given])
    error = capsys.readouterr().err
    assert (status, error == "") == ((cli.MISTAKE, False) if words else (cli.CLEAN, True))
    assert words in error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ["--arg", "int:1"],
            r"axpy_basic\(float\* y, const float\* x, int n, float a\) takes 4 arguments, but the "
            r"launch gives 5",
        ),
        (["--kernel", "axpi"], "no kernel 'axpi' in this source: it has axpy_basic"),
        (["--constant", "filter"], "give NAME=SPEC"),
        (["--constant", "filter=float:3"], "has no constant 'filter'"),
        (["--constant", "filter=out:float:3"], "a constant needs values"),
        (["--shared", "-1"], "at least 0"),
    ],
)
def test_a_mistake_in_the_command_is_explained(axpy, capsys, change, message):
    assert cli.main(["check", axpy, *AXPY, *change]) == cli.MISTAKE
    said = capsys.readouterr().err
    assert said.startswith("python -m helpers.simulator: ") and "Traceback" not in said
    assert re.search(message, said), said


@pytest.mark.parametrize("text", ["0", "4x4x4x4", "a", "16 x 16", "-1"])
def test_an_extent_that_is_none(axpy, capsys, text):
    with pytest.raises(SystemExit) as stop:
        cli.main(["check", axpy, f"--grid={text}", "--block", "32"])
    assert stop.value.code == cli.MISTAKE
    assert "is no extent" in capsys.readouterr().err


def test_extents():
    assert [cli.parse_extent(text) for text in ("4", "32x8", "2,3,4")] == [(4,), (32, 8), (2, 3, 4)]


def test_a_file_that_is_not_there(capsys):
    assert cli.main(["check", "no.cu", *AXPY]) == cli.MISTAKE
    assert "cannot read no.cu: No such file or directory" in capsys.readouterr().err


def test_what_does_not_compile_is_told_with_the_files_name(write, capsys):
    file = write('extern "C" __global__ void f(float* p) { p[0] = undeclared; }', "broken.cu")
    launch = shlex.split("--kernel f --grid 1 --block 1 --arg in:float:1")
    assert cli.main(["check", file, *launch]) == cli.MISTAKE
    said = capsys.readouterr().err
    assert "broken.cu(1)" in said and "undeclared" in said


def test_several_kernels_need_a_choice(write, capsys):
    file = write('extern "C" __global__ void f() { }\nextern "C" __global__ void g() { }')
    assert cli.main(["check", file, "--grid", "1", "--block", "1"]) == cli.MISTAKE
    assert "has 2 kernels (f, g): choose one by --kernel" in capsys.readouterr().err
    assert cli.main(["check", file, "--grid", "1", "--block", "1", "--kernel", "g"]) == cli.CLEAN


def test_help_has_the_grammar(capsys):
    with pytest.raises(SystemExit):
        cli.main(["check", "--help"])
    said = capsys.readouterr().out
    assert "in:TYPE:SHAPE[:FILL]" in said and "Exit status: 0 without findings, 1 with" in said
