"""The notebook and the grader read the same kernel: whatever a cell looks like, the grader reads in
the file what IPython gives to the magic.
"""

from __future__ import annotations

import json

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers import device, exercises, kernel_cells, labs
from helpers.course import submissions
from helpers.exercises.judge import patience
from helpers.exercises.judge import verdict as verdicts
from helpers.exercises.judge.exercise import Exercise

NAME = "squares"
ONE = exercises.find(NAME)
PLACE = next(place for place in submissions.places() if place.exercise == NAME)
BODY = ONE.solution.partition("\n")[2]

# What a student may leave of a cell, by what was done to it.
CELLS = {
    "as given": ONE.solution,
    "empty lines above": "\n  \n\n" + ONE.solution,
    "indented": "".join(f"    {line}" for line in ONE.solution.splitlines(keepends=True)),
    "two blanks": ONE.solution.replace("%%kernel ", "%%kernel   "),
    "blanks behind": ONE.solution.replace(NAME, f"{NAME}   ", 1),
    "a tab": ONE.solution.replace("%%kernel ", "%%kernel\t"),
    "lines of Windows": ONE.solution.replace("\n", "\r\n"),
    "lines of an old Mac": ONE.solution.replace("\n", "\r"),
    "a comment above": "# mine\n" + ONE.solution,
    "a comment of C above": "// mine\n" + ONE.solution,
    "a comment behind": ONE.solution.replace(NAME, f"{NAME} # mine", 1),
    "a semicolon behind": ONE.solution.replace(NAME, f"{NAME};", 1),
    "a byte order mark": "\ufeff" + ONE.solution,
    "a byte order mark below": f"%%kernel {NAME}\n\ufeff{BODY}",
    "the magic in a comment": "// " + ONE.solution,
    "timed": "%%time\n" + ONE.solution,
    "timed, with an empty line": "%%time\n\n" + ONE.solution,
    "captured": "%%capture said\n" + ONE.solution,
    "not a magic that runs it": "%%writefile /dev/null\n" + ONE.solution,
    "a macro": ONE.solution.replace(NAME, f"{NAME} -DTWO=2", 1),
    "a macro apart": ONE.solution.replace(NAME, f"{NAME} -D TWO=2", 1),
    "a macro in quotes": ONE.solution.replace(NAME, f'{NAME} "-DTWO=1 + 1"', 1),
    "a macro of Python": ONE.solution.replace(NAME, f"{NAME} -DTWO={{two}}", 1),
    "a macro of a shell": ONE.solution.replace(NAME, f"{NAME} -DTWO=$two", 1),
    "a flag": ONE.solution.replace(NAME, f"{NAME} -O3", 1),
    "comments of all kinds": f"%%kernel {NAME}\n/* %%kernel other\n*/ // x\n{BODY}",
    "another name": ONE.solution.replace(NAME, "mine", 1),
    "another kernel's name": f"%%kernel {NAME}\n{BODY.replace(NAME, 'anything')}",
    "a control character": f"%%kernel {NAME}\n// \x1b\n{BODY}",
    "an include of a file": f'%%kernel {NAME}\n#include "/etc/passwd"\n{BODY}',
    "a very long line": f"%%kernel {NAME}\n// {'x' * 3_000}\n{BODY}",
    "a line separator": ONE.solution.replace("\n", "\u2028", 1),
    "nothing": "",
    "the stub": ONE.stub,
    "the stub, with a comment": ONE.stub + "// where do I begin?\n\n",
}


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    if device.selected() is None:
        device.select()
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext helpers")
    shell.user_ns["two"] = 2
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def checked(shell, one: Exercise, *cells: str, ids: tuple[str, ...] = (), bound: str = ""):
    """The verdict of a notebook after its cells were run; None without a kernel to check."""
    shell.user_ns.pop(one.cell_name, None)
    for k, text in enumerate(cells):
        shell.run_cell(text, store_history=True, cell_id=ids[k] if ids else None)
    name = bound or one.cell_name
    if name not in shell.user_ns:
        return None
    try:
        return one.check(shell.user_ns[name])
    except verdicts.ExerciseError as error:
        return error.verdict


def graded(tmp_path, *texts: str, ids: tuple[str, ...] = ()):
    """The verdict on a notebook's file, which begins with a text, as a lab does."""
    cells = [
        {"cell_type": "markdown", "id": "title", "source": "# A lab"},
        *(
            {
                "cell_type": "code",
                "id": ids[k] if ids else f"new{k}",
                "source": text.splitlines(True),
            }
            for k, text in enumerate(texts)
        ),
    ]
    path = tmp_path / f"{PLACE.lab}.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))
    (answer,) = (a for a in submissions.of_notebook(path) if a.exercise == NAME)
    return (ONE.judge(answer.text) if answer.text else None), answer


@pytest.mark.parametrize("case", CELLS)
def test_what_the_notebook_passes_the_grader_passes(case, shell, tmp_path, capsys):
    text = CELLS[case]
    here = checked(shell, ONE, text)
    there, _ = graded(tmp_path, text, ids=(PLACE.cell,))
    passes = here is not None and here.passed
    if case == "another name":  # the cell's id helps the grader; the notebook asks for the name
        assert not passes and there.passed
    else:
        assert passes == (there is not None and there.passed), (here, there)
    if here is not None and here.status == "not_begun":
        assert there.status == "not_begun"
    if "stub" in case:
        assert here.status == "not_begun" and here.points == there.points == 0
    if passes:  # without its id, too: as Colab leaves it, and whoever copies a cell
        there, answer = graded(tmp_path, "import numpy", text)
        assert there.passed and answer.by == "name"


@pytest.mark.parametrize(
    ("cases", "passes"),
    [
        (("as given", "empty lines above", "timed", "lines of Windows", "a macro"), True),
        (("a tab", "the stub", "a macro of Python", "another name"), False),
    ],
)
def test_some_of_these_cells_pass_and_some_do_not(cases, passes, shell):
    for case in cases:
        verdict = checked(shell, ONE, CELLS[case])
        assert bool(verdict and verdict.passed) == passes, case


def test_a_right_cell_below_the_kept_stub_counts(shell, tmp_path):
    here = checked(shell, ONE, ONE.stub, ONE.solution, ids=("a", "b"))
    there, _ = graded(tmp_path, ONE.stub, ONE.solution, ids=(PLACE.cell, "b"))
    assert here.passed and there.passed


def test_a_right_cell_above_the_kept_stub_counts(tmp_path):
    there, answer = graded(tmp_path, ONE.solution, ONE.stub, ids=("a", PLACE.cell))
    assert there.passed and answer.note == ""


def test_of_two_cells_the_last_one_counts_and_the_notebook_says_so(shell, tmp_path):
    wrong = ONE.solution.replace("* N[i]", "* 3.0f")
    assert wrong != ONE.solution
    here = checked(shell, ONE, wrong, ONE.solution, ids=("below", "above"))
    assert here.passed and "takes the last" in str(here).replace("\n", " ")
    there, answer = graded(tmp_path, ONE.solution, wrong, ids=("above", "below"))
    assert not there.passed and "2 cells begin with" in answer.note
    again = checked(shell, ONE, ONE.solution, ids=("below",))
    assert "takes the last" not in str(again), "both cells hold the same text"


def test_a_cell_that_is_run_again_is_one_cell(shell):
    checked(shell, ONE, ONE.stub, ids=("a",))
    here = checked(shell, ONE, ONE.solution, ids=("a",))
    assert here.passed and "takes the last" not in str(here)


def test_a_longer_name_is_another_kernel(tmp_path):
    other = ONE.solution.replace(NAME, f"{NAME}_old", 1)
    there, _ = graded(tmp_path, ONE.solution, other, ids=("a", "b"))
    assert there.passed


def test_a_kernel_of_another_name_does_not_pass_unseen(shell):
    here = checked(shell, ONE, CELLS["another name"], bound="mine")
    assert here.status == "refused" and "looks for %%kernel squares" in str(here)


RENAMED = {
    "another name": ONE.solution.replace(f"%%kernel {NAME}", "%%kernel mine"),
    "one percent sign": ONE.solution.replace("%%kernel", "%kernel"),
    "Python": "print(1)",
}


@pytest.mark.parametrize("now", RENAMED)
def test_a_kernel_that_its_cell_no_longer_makes_does_not_pass(now, shell):
    text, mine = RENAMED[now], f"{ONE.solution}\n// {now}"  # a text that no other test has run
    found = checked(shell, ONE, mine, text, ids=("a", "a"))
    assert found.status == "refused" and text.partition("\n")[0] in " ".join(str(found).split())
    assert found.frame.text == text.strip(), "the bar compares it with the cell that is there"
    assert checked(shell, ONE, mine, text, ids=("a", "b")).passed, "cell a has it again"
    assert checked(shell, ONE, mine, text).passed, "a run without an id is a cell of its own"


def test_python_that_its_cell_no_longer_makes_does_not_pass(shell):
    one = exercises.find("resident_warps")
    mine = f"{one.solution}\n# mine"  # a text that no other test has run
    renamed = mine.replace(one.name, "mine")
    found = python_check(shell, one.name, mine, renamed, ids=("a", "a"))
    assert found.status == "refused"
    assert "Call the answer resident_warps" in " ".join(str(found).split())
    assert python_check(shell, one.name, mine, renamed, ids=("a", "b")).passed


def test_a_kernel_that_python_made_does_not_pass_unseen(shell):
    body = ONE.solution.partition("\n")[2]
    here = checked(shell, ONE, f"get_ipython().run_cell_magic('kernel', 'squares', {body!r})")
    assert here.status == "refused" and "must be alone in a cell" in str(here)


def test_a_notebook_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / f"{PLACE.lab}.ipynb"
    cells = [{"cell_type": "code", "id": PLACE.cell, "source": ONE.solution}]
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"cells": cells}).encode())
    (answer,) = (a for a in submissions.of_notebook(path) if a.exercise == NAME)
    assert answer.text == ONE.solution


@pytest.mark.parametrize(
    "lab",
    [path for path in labs.notebooks() if exercises.of_lab(labs.number(path.stem))],
    ids=lambda path: path.stem,
)
def test_a_lab_has_the_answers_of_its_own_exercises_only(lab, tmp_path):
    wanted = [place.exercise for place in submissions.places() if place.lab == lab.stem]
    book = json.loads(lab.read_text(encoding="utf-8"))
    without_ids = [{k: v for k, v in cell.items() if k != "id"} for cell in book["cells"]]
    for name, cells in (("mine", book["cells"]), ("of Colab", without_ids)):
        path = tmp_path / "submitted" / name / "Untitled.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({**book, "cells": cells}))
        assert [answer.exercise for answer in submissions.of_notebook(path)] == wanted
    told: list[str] = []
    found = submissions.answers(tmp_path / "submitted", submissions.places(), None, told)
    assert [answer.exercise for answer in found] == 2 * wanted and not told


def test_a_notebook_of_other_cells_is_known_by_its_texts(tmp_path):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": ONE.solution}]}))
    assert [answer.exercise for answer in submissions.of_notebook(path)] == [NAME]


def test_half_a_surrogate_is_mended(tmp_path):
    path = tmp_path / f"{PLACE.lab}.ipynb"
    cells = [{"cell_type": "code", "id": PLACE.cell, "source": ONE.solution + "// \ud800\n"}]
    path.write_text(json.dumps({"cells": cells}))
    (answer,) = (a for a in submissions.of_notebook(path) if a.exercise == NAME)
    assert answer.text.encode() and ONE.judge(answer.text).passed


@pytest.mark.parametrize("text", CELLS.values(), ids=CELLS)
def test_the_file_gives_what_ipython_gives(text, shell):
    """The one rule behind all: `magic_of` reads as IPython does."""
    seen = []
    shell.register_magic_function(lambda line, cell: seen.append((line, cell)), "cell", "kernel")
    shell.run_cell(text)
    found = kernel_cells.magic_of(text)
    assert len(seen) <= 1
    if found is None or not seen:
        # Indentation alone is read more generously here than by some versions of IPython.
        assert not seen and (found is None or text[:1].isspace() or "{" in found[0])
        return
    line, cell = seen[0]
    if "two" not in line and "2" not in line:  # the real magic has variables left as they are
        assert found[0] == line.strip()
    assert kernel_cells.tokens(f"%%kernel k\n{cell}") == kernel_cells.tokens(text)


# ---- every exercise ----


@pytest.mark.parametrize("name", exercises.names())
def test_the_stub_with_a_comment_is_not_begun_and_worth_nothing(name):
    """As the stub itself, which is among the wrong answers to each exercise."""
    one = exercises.find(name)
    comment = "//" if isinstance(one, Exercise) else "#"
    found = one.judge(f"{one.stub}\n\n{comment} a comment\n")
    assert (found.status, found.points) == ("not_begun", 0), found
    assert str(found).startswith("NOT BEGUN")


def test_other_options_are_an_answer():
    """A competition may be entered with a tile of another width alone."""
    one = exercises.find("my_entry")
    other = one.stub.replace("-DTILE_WIDTH=16", "-DTILE_WIDTH=8")
    assert not one.is_stub(other) and one.judge(other).status == "budget"


# ---- answers in Python ----


def python_check(shell, name: str, *cells: str, ids: tuple[str, ...] = ()):
    one = exercises.find(name)
    for k, cell in enumerate(cells):
        there = ids[k] if ids else None
        assert shell.run_cell(cell, store_history=True, cell_id=there).success
    try:
        return one.check(shell.user_ns[one.answer])
    except verdicts.ExerciseError as error:
        return error.verdict


def test_python_that_stands_alone_passes(shell):
    one = exercises.find("resident_warps")
    assert python_check(shell, one.name, one.solution).passed
    assert one.judge(f"import math\n\n{one.solution}").passed
    assert one.is_answer(f"# mine\nimport math\n\n{one.solution}")


def test_python_that_needs_another_cell_does_not_pass_unseen(shell):
    one = exercises.find("resident_warps")
    head, body = one.solution.split("\n", 1)
    text = f"{head}\n    assert helper\n{body}"
    found = python_check(shell, one.name, "helper = 1", text)
    assert found.status != "pass" and "runs this cell alone" in " ".join(str(found).split())


ELSEWHERE = "def resident_warps(threads, registers, shared_bytes):\n    {}\n{}"


@pytest.mark.parametrize("line", [
    "from helpers import limits", "import helpers.limits", "import helpers", "%timeit -n1 -r1 1",
    "!true", "display(1)", "get_ipython()",
])  # fmt: skip
def test_python_that_no_grader_can_run_does_not_pass_unseen(line, shell):
    """The grader's box has no helpers and no IPython."""
    one = exercises.find("resident_warps")
    body = one.solution.partition("\n")[2]
    for text in (f"{line}\n{one.solution}", ELSEWHERE.format(line, body)):
        found = python_check(shell, one.name, text)
        assert found.status != "pass" and "plain Python" in " ".join(str(found).split())
    assert python_check(shell, one.name, f"import math, scipy\n{one.solution}").passed


def test_a_command_of_the_shell_that_takes_too_long_is_told_what_a_grader_runs(shell, monkeypatch):
    """Each call of the answer starts a process, which is no loop without an end."""
    one = exercises.find("resident_warps")
    monkeypatch.setitem(vars(one), "limit_s", 0.1)
    monkeypatch.setattr(patience, "slowness", lambda: 1.0)
    body = one.solution.partition("\n")[2]
    found = python_check(shell, one.name, ELSEWHERE.format("!sleep 1", body))
    words = " ".join(str(found).split())
    assert found.status == "time" and "plain Python" in words
    assert "it was still running after 0.1 s, for " in words
    found = python_check(shell, one.name, ELSEWHERE.format("while True: pass", body))
    assert found.status == "time" and "Does each loop end?" in str(found)


def test_python_that_stands_in_no_cell_does_not_pass_unseen(shell, tmp_path, monkeypatch):
    one = exercises.find("resident_warps")
    (tmp_path / "my_answers.py").write_text(one.solution)
    monkeypatch.syspath_prepend(tmp_path)
    for cell in ("from my_answers import resident_warps", f"%%time\n{one.solution}"):
        found = python_check(shell, one.name, cell)
        assert found.status == "refused" and "no cell of this notebook" in str(found)
    assert python_check(shell, one.name, one.solution).passed


def test_a_text_that_is_put_together_does_not_pass_unseen(shell):
    one = exercises.find("loops_swapped")
    assert python_check(shell, "loops_swapped", one.solution).passed
    found = python_check(shell, "loops_swapped", one.solution + "\nmine = mine + ''")
    assert found.status != "pass"


def test_the_stub_of_python_is_not_begun(shell):
    one = exercises.find("cost")
    assert python_check(shell, "cost", one.stub).status == "not_begun"
