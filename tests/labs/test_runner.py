"""The headless runner, on tiny notebooks. The kernels are real ones: each run costs about a second.
"""

from __future__ import annotations

import base64
import configparser
import html
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from helpers import labs
from helpers.tools import lab_execution, outcomes, run_labs, summary
from helpers.tools.progress import Progress
from tests import processes

RUNNER = (sys.executable, "-m", "helpers.tools.run_labs")


def notebook(path: Path, *cells: str, **tags: str) -> Path:
    """Write a notebook of code cells; `cell2="raises-exception"` tags the second."""
    made = [nbformat.v4.new_code_cell(source) for source in cells]
    for key, value in tags.items():
        made[int(key.removeprefix("cell")) - 1].metadata["tags"] = value.split()
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path


def run(*labs: Path, results: Path) -> list[outcomes.Outcome]:
    results.mkdir(exist_ok=True)
    progress = Progress(labs)
    return [lab_execution.run_lab(lab, results, progress) for lab in labs]


SHOW_FIGURE = (
    "from IPython.display import Image, display\ndisplay(Image(data=b'a picture', format='png'))"
)
PICTURE = base64.b64encode(b"a picture").decode()


# --------------------------------------------------------------------------------------------------
# one lab


def test_summary_of_a_lab_that_passes(tmp_path):
    lab = notebook(
        tmp_path / "101_halos.ipynb",
        "print('Device: NVIDIA H200 (the only GPU)')",
        "print('PASS conv1d_basic: 1,000 values within rtol=1e-06')\nprint('PASS axpy_basic: "
        "5 values')",
        SHOW_FIGURE,
        "print('Result: not this one')",
        "print('a table')\nprint('Result: 12.5x over NumPy')",
        cell5="headline nbval-check-output",
    )
    (outcome,) = run(lab, results=tmp_path / "results")
    assert outcome.passed and outcome.failure is None
    assert outcome.device == "NVIDIA H200"
    assert outcome.on_gpu
    assert outcome.verdict == "pass, 2 checks"
    assert outcome.headline == "12.5x over NumPy"
    assert outcome.figures == (PICTURE,)
    assert outcome.seconds > 0
    executed = nbformat.read(tmp_path / "results" / "101_halos.ipynb", as_version=4)
    assert [cell.execution_count for cell in executed.cells] == [1, 2, 3, 4, 5]
    assert executed.metadata == nbformat.read(lab, as_version=4).metadata


def test_failure_names_cell_line_and_error(tmp_path):
    lab = notebook(
        tmp_path / "a.ipynb",
        "def launch(n):\n    if n % 4:\n        raise ValueError('n is 5; give a multiple of 4')",
        "x = 1\n\nlaunch(5)\ny = 2",
        "print('PASS')",
    )
    stored = nbformat.read(lab, as_version=4)
    stored.cells[2].outputs = [nbformat.v4.new_output("stream", name="stdout", text="PASS old\n")]
    stored.cells[2].execution_count = 7
    nbformat.write(stored, lab)
    (outcome,) = run(lab, results=tmp_path / "results")
    assert not outcome.passed
    assert outcome.verdict == "FAILED"
    assert outcome.checks == 0, "outputs of cells that were not reached do not count"
    failure = outcome.failure
    assert (failure.cell, failure.line, failure.source) == (2, 3, "launch(5)")
    assert failure.error == "ValueError: n is 5; give a multiple of 4"
    assert (
        str(failure) == "in cell 2, line 3: launch(5)\n    ValueError: n is 5; give a multiple of 4"
    )
    executed = nbformat.read(outcome.notebook, as_version=4)
    assert executed.cells[1].outputs[0].ename == "ValueError"
    assert executed.cells[2].outputs == [] and executed.cells[2].execution_count is None


def test_syntax_error_names_the_line_and_no_temporary_file(tmp_path):
    (outcome,) = run(
        notebook(tmp_path / "a.ipynb", "x = 1\nif x\n    y"), results=tmp_path / "results"
    )
    assert (outcome.failure.cell, outcome.failure.line, outcome.failure.source) == (1, 2, "if x")
    assert outcome.failure.error == "SyntaxError: expected ':'"


def test_dead_kernel_fails_its_lab_only_and_raises_exception_may_fail(tmp_path):
    dead = notebook(tmp_path / "a.ipynb", "1", "import os; os._exit(1)", "2")
    alive = notebook(
        tmp_path / "b.ipynb", "1 / 0", "print('PASS after it')", cell1="raises-exception"
    )
    outcomes = run(dead, alive, results=tmp_path / "results")
    assert [outcome.passed for outcome in outcomes] == [False, True]
    assert outcomes[0].failure.cell == 2
    assert "kernel died" in outcomes[0].failure.error
    assert outcomes[1].verdict == "pass, 1 check"
    # What a lab does not show is a dash.
    assert (outcomes[1].device, outcomes[1].headline, outcomes[1].figures) == ("-", "-", ())
    assert not outcomes[1].on_gpu


def test_cell_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(lab_execution, "CELL_LIMIT_S", 1)
    (outcome,) = run(
        notebook(tmp_path / "a.ipynb", "import time; time.sleep(600)"), results=tmp_path / "results"
    )
    assert (outcome.failure.cell, outcome.failure.error) == (1, "the cell did not end within 1 s")


def test_unreadable_notebook_is_a_failure(tmp_path):
    (tmp_path / "a.ipynb").write_text("<<<<<<< HEAD")
    (outcome,) = run(tmp_path / "a.ipynb", results=tmp_path / "results")
    assert "cannot be read" in str(outcome.failure)


def test_tracebacks_hold_no_path_of_this_machine(tmp_path):
    lab = notebook(
        tmp_path / "a.ipynb",
        "from helpers.limits import ConvShape\nConvShape(1, 1, 1, 2, 2, 7)",
        "import json\njson.loads('{')",
        "import tqdm\ntqdm.tqdm(total='x').update()",
        cell1="raises-exception",
        cell2="raises-exception",
    )
    (outcome,) = run(lab, results=tmp_path / "results")
    executed = nbformat.read(outcome.notebook, as_version=4)
    ours, standard, installed = ("\n".join(cell.outputs[-1].traceback) for cell in executed.cells)
    assert (
        "helpers/limits.py" in ours and "json/decoder.py" in standard and "tqdm/std.py" in installed
    )
    for text in (ours, standard, installed):
        assert str(labs.ROOT) not in text
        assert sys.prefix not in text and sys.base_prefix not in text and "~/" not in text


def test_long_error_is_cut(tmp_path):
    failure = outcomes.Failure("\n".join(f"log {i}" for i in range(100)), cell=3)
    text = str(failure).splitlines()
    assert len(text) == outcomes.ERROR_LINES + 2
    assert text[-1].strip() == "... (88 more lines)"


# --------------------------------------------------------------------------------------------------
# selection


@pytest.fixture
def folder(tmp_path):
    for name in ("100_start_here", "101_conv1d_halos", "104_conv1d_tiles"):
        notebook(tmp_path / f"{name}.ipynb", "1")
    return tmp_path


def test_labs_in_order_or_by_name(folder):
    def found(*names):
        return [lab.stem for lab in run_labs.find_labs(names, folder)]

    assert found() == ["100_start_here", "101_conv1d_halos", "104_conv1d_tiles"]
    assert found("104", "100_start_here") == ["104_conv1d_tiles", "100_start_here"]
    assert found("labs/101_conv1d_halos.ipynb") == ["101_conv1d_halos"]
    assert run_labs.find_labs([str(folder / "100_start_here.ipynb")], folder / "x") == (
        folder / "100_start_here.ipynb",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "101_conv1d_halo_cells",
            "no lab is called '101_conv1d_halo_cells'; there is: 101_conv1d_halos",
        ),
        ("zzz", "there is: 100_start_here, 101_conv1d_halos, 104_conv1d_tiles"),
        (
            "1",
            "several labs are called '1'; there is: 100_start_here, 101_conv1d_halos, "
            "104_conv1d_tiles",
        ),
    ],
)
def test_unknown_lab(folder, name, message):
    with pytest.raises(run_labs.RunnerError) as caught:
        run_labs.find_labs([name], folder)
    assert message in str(caught.value)


def test_no_labs_at_all(tmp_path):
    with pytest.raises(run_labs.RunnerError, match="no notebook in"):
        run_labs.find_labs((), tmp_path)


# --------------------------------------------------------------------------------------------------
# keep


def outcome(lab: Path, device: str, failure=None) -> outcomes.Outcome:
    return outcomes.Outcome(lab, notebook=lab, device=device, failure=failure)


def test_only_passed_gpu_runs_are_kept(tmp_path):
    gpu = outcome(tmp_path / "100_a.ipynb", "NVIDIA H200")
    simulated = outcome(tmp_path / "400_b.ipynb", "simulator")
    silent = outcome(tmp_path / "101_c.ipynb", "-")
    failed = outcome(tmp_path / "102_d.ipynb", "NVIDIA H200", outcomes.Failure("x"))
    assert run_labs.why_not_keep([gpu]) is None
    assert "400_b did not run on a GPU" in run_labs.why_not_keep([gpu, simulated])
    assert "101_c did not run on a GPU" in run_labs.why_not_keep([gpu, silent])
    assert "not every lab passed (102_d)" in run_labs.why_not_keep([gpu, failed, simulated])


def test_keep_copies_what_this_run_wrote(tmp_path):
    results, measured = tmp_path / "results", tmp_path / "measured"
    results.mkdir()
    lab = notebook(tmp_path / "100_a.ipynb", "1")
    executed = notebook(results / "100_a.ipynb", "2")
    for name in ("new.json", "old.json", "other.png"):
        (results / name).write_text(name)
    os.utime(results / "old.json", (1, 1))
    copied = run_labs.keep(
        [outcomes.Outcome(lab, notebook=executed)],
        results,
        since=time.time() - 60,
        measured=measured,
    )
    assert lab.read_text() == executed.read_text()
    assert sorted(path.name for path in copied) == ["100_a.ipynb", "new.json"]
    assert [path.name for path in measured.iterdir()] == ["new.json"]


# --------------------------------------------------------------------------------------------------
# the summary


def shown(**changes) -> outcomes.Outcome:
    given = {"device": "NVIDIA H200", "checks": 12, "headline": "3x over NumPy", "seconds": 1.5}
    return outcomes.Outcome(Path("104_conv1d_tiles.ipynb"), **(given | changes))


def test_the_table_fits_a_terminal():
    words = "layer 1: 1.153x as fast as in global memory; " * 5
    device = "NVIDIA GeForce RTX 4090 Laptop GPU of somebody else"
    long = shown(headline=words, device=device, seconds=12345.6)
    name = outcomes.Outcome(Path("110_conv2d_restrict_and_unrolling.ipynb"), device="simulator")
    text = summary.table([long, shown(), name])
    assert max(map(len, text.splitlines())) <= 100
    assert [line.split()[0] for line in text.splitlines()[2:]] == [
        "104_conv1d_tiles", "layer", "104_conv1d_tiles", "3x", "110_conv2d_restrict_and_unrolling",
    ]  # fmt: skip
    assert "pass, 12 checks" in text and "simulator" in text and text.count(" ...") == 1


def test_the_page_has_the_whole_result_and_every_figure():
    words = "1.5x <one> & " * 30
    failed = shown(failure=outcomes.Failure("ValueError: n < 1", 3))
    text = summary.page([shown(headline=words.strip(), figures=("YQ==", "Yg==")), failed])
    assert html.escape(words.strip()) in text and "<one>" not in text
    figures = [f"data:image/png;base64,{picture}" for picture in ("YQ==", "Yg==")]
    assert re.findall(r'src="([^"]*)"', text) == figures
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', text))
    assert "FAILED in cell 3\n    ValueError: n &lt; 1" in text
    assert "1 of 2 labs passed" in text


# --------------------------------------------------------------------------------------------------
# the command itself


def test_command_from_another_directory(tmp_path):
    bad = notebook(tmp_path / "a.ipynb", "1", "x = 1\nraise ValueError('n is 0')")
    good = notebook(tmp_path / "b.ipynb", "import helpers\nprint('PASS it')", SHOW_FIGURE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = processes.run(*RUNNER, bad, good, folder=elsewhere, LAB_RESULTS=str(tmp_path / "res"))
    assert done.returncode == 1, done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "FAILED" in rows["a"]
    assert "pass, 1 check" in rows["b"]
    assert "This table with every figure: ../res/summary.html" in done.stdout
    assert PICTURE in (tmp_path / "res" / "summary.html").read_text()
    assert (
        "a FAILED in cell 2, line 2: raise ValueError('n is 0')\n    ValueError: n is 0"
        in done.stdout
    )
    assert "[1/2] a" in done.stderr and "[2/2] b" in done.stderr
    assert "\r" not in done.stderr
    assert sorted(path.name for path in (tmp_path / "res").iterdir()) == [
        "a.ipynb",
        "b.ipynb",
        "summary.html",
    ]


def test_results_folder_that_cannot_be_written(tmp_path, capsys):
    lab = notebook(tmp_path / "a.ipynb", f"open({str(tmp_path / 'ran')!r}, 'w')")
    (tmp_path / "file").write_text("")
    assert run_labs.main([str(lab), "--results", str(tmp_path / "file" / "results")]) == 2
    said = capsys.readouterr().err
    assert f"the results folder {tmp_path}/file/results cannot be written" in said
    assert "LAB_RESULTS" in said
    assert not (tmp_path / "ran").exists()


def test_keep_refuses_the_simulator(tmp_path, capsys):
    lab = notebook(tmp_path / "a.ipynb", "print('Device: simulator (no GPU here)')")
    before = lab.read_bytes()
    assert run_labs.main([str(lab), "--keep", "--results", str(tmp_path / "results")]) == 1
    assert "--keep: nothing was copied: a did not run on a GPU" in capsys.readouterr().out
    assert lab.read_bytes() == before


def test_ctrl_c_stops_and_says_so(tmp_path):
    first = notebook(tmp_path / "a.ipynb", "print('PASS it')")
    endless = notebook(
        tmp_path / "b.ipynb",
        f"import os, time\nopen({str(tmp_path / 'pid')!r}, "
        "'w').write(str(os.getpid()))\ntime.sleep(600)",
    )
    path = os.pathsep.join(filter(None, [str(labs.ROOT), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [*RUNNER, str(first), str(endless), "--results", str(tmp_path / "results")],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Else ignored, where the tests run in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    pid = _wait_for_text(tmp_path / "pid")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "pass, 1 check" in out and "Stopped by Ctrl-C; 1 of 2 labs did not finish." in out
    assert "Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
    assert (tmp_path / "results" / "b.ipynb").exists()


def _wait_for_text(path: Path) -> str:
    for _ in range(600):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.1)
    raise AssertionError(f"{path} did not appear within a minute")


# ---- nbval's strict mode

SANITIZE = Path(__file__).with_name("nbval_sanitize.cfg")


@pytest.mark.parametrize("number", ["100", "105"])
def test_a_lab_without_a_gpu_makes_its_stored_outputs_again(number):
    (lab,) = labs.LABS.glob(f"{number}_*.ipynb")
    strict = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", str(SANITIZE)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *strict, str(lab)],
        env={**os.environ, "LAB_DEVICE": "simulator"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_how_the_simulator_was_chosen_is_no_difference_between_two_runs():
    rules = configparser.ConfigParser()
    rules.read(SANITIZE)
    said = {"Device: simulator (LAB_DEVICE=simulator)", "Device: simulator (no GPU: no driver)"}
    for rule in rules.sections():
        said = {re.sub(rules[rule]["regex"], rules[rule]["replace"], line) for line in said}
    assert said == {"Device: DEVICE"}
