"""The repository as a whole: its lists agree with its files, its commands exist, its notebooks keep
to the form.
"""

from __future__ import annotations

import ast
import graphlib
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers import exercises, labs
from helpers.__main__ import COMMANDS
from helpers.bench import reports
from tests.labs.nbval_count import has_text
from tests.processes import python, run

ROOT = Path(__file__).resolve().parents[2]
LABS, NOTEBOOKS = labs.notebooks(), labs.every()
FOR_CONTRIBUTORS = (
    "CONTRIBUTING.md", "helpers/exercises/README.md", "helpers/simulator/README.md",
    "evidence/README.md",
)  # fmt: skip
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


# --------------------------------------------------------------------------------------------------
# requirements

NOT_FROM_PIP = {"python", "pip", "make", "cxx-compiler", "cuda-nvcc"}


def requirement(text: str) -> tuple[str, str]:
    """ "jupyter_client>=8.6" -> ("jupyter-client", ">=8.6")."""
    name, version = re.fullmatch(
        r"([A-Za-z0-9_.-]+)\s*(\S*)", text.partition(";")[0].strip()
    ).groups()
    return re.sub(r"[-_.]+", "-", name).lower(), version


def disagreements(pip: list[str], conda: list) -> list[str]:
    """What one list has and the other has not, or has otherwise."""
    ours = dict(map(requirement, pip))
    theirs = dict(requirement(item) for item in conda if isinstance(item, str))
    named = {name: version for name, version in theirs.items() if name not in NOT_FROM_PIP}
    return [
        f"{name}: pyproject.toml {ours.get(name, 'nothing')!r}, environment.yml "
        f"{named.get(name, 'nothing')!r}"
        for name in sorted(ours.keys() | named.keys())
        if ours.get(name) != named.get(name)
    ]


def pip_requirements() -> list[str]:
    extras = PROJECT["optional-dependencies"]
    return [*PROJECT["dependencies"], *extras["gpu"], *extras["test"]]


def test_a_disagreement_is_found():
    assert (
        disagreements(
            ["numpy>=1.26", "a-b>=1"],
            ["python=3.12", "pip", "numpy>=1.26", "a_b>=1", {"pip": ["x"]}],
        )
        == []
    )
    assert disagreements(["numpy>=1.26"], ["numpy>=2.0"]) == [
        "numpy: pyproject.toml '>=1.26', environment.yml '>=2.0'"
    ]
    assert disagreements(["numpy>=1.26", "tqdm>=4"], ["numpy>=1.26"]) == [
        "tqdm: pyproject.toml '>=4', environment.yml 'nothing'"
    ]
    assert disagreements([], ["rich>=13"]) == [
        "rich: pyproject.toml 'nothing', environment.yml '>=13'"
    ]


def test_environment_and_pyproject_agree():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    by_pip = environment["dependencies"][-1]["pip"]
    assert by_pip[-1] == "-e ."
    assert disagreements(pip_requirements(), [*environment["dependencies"], *by_pip[:-1]]) == []
    assert environment["channels"] == ["conda-forge"]
    assert "python=3.12" in environment["dependencies"]


def test_every_requirement_has_a_lower_bound():
    bounded = re.compile(r"[A-Za-z0-9-]+>=[0-9.]+(,<[0-9.]+)?(; sys_platform == 'linux')?")
    assert [text for text in pip_requirements() if not bounded.fullmatch(text)] == []
    assert PROJECT["requires-python"] == ">=3.11"


# Used where the machine has them: yardsticks of a benchmark, and what trained the network.
OPTIONAL = {"cupy", "torch", "triton"}


parsed = cache(ast.parse)


def imported(source: str) -> set[str]:
    """Top-level names of the modules that a source imports, anywhere in it."""
    names = set()
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


distributions = cache(importlib.metadata.packages_distributions)


def undeclared(sources: dict[str, str], declared: set[str]) -> list[str]:
    missing = []
    for file, source in sources.items():
        for name in sorted(
            imported(source) - set(sys.stdlib_module_names) - {"helpers"} - OPTIONAL
        ):
            if not {requirement(d)[0] for d in distributions().get(name, [name])} & declared:
                missing.append(f"{file} imports {name}")
    return missing


def test_an_undeclared_import_is_found():
    source = (
        "import os\nimport yaml\ndef f():\n    from numpy.random import default_rng\nfrom . "
        "import x"
    )
    assert undeclared({"a.py": source}, {"numpy"}) == ["a.py imports yaml"]
    assert undeclared({"a.py": source}, {"numpy", "pyyaml"}) == []


def test_helpers_import_what_is_declared():
    extras = PROJECT["optional-dependencies"]
    every = [
        *PROJECT["dependencies"],
        *extras["gpu"],
        *extras["course"],
        *extras["nbgrader"],
        *extras["site"],
    ]
    declared = {requirement(text)[0] for text in every}
    sources = {
        str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "helpers").rglob("*.py")
    }
    assert len(sources) > 10
    assert undeclared(sources, declared) == []


def files_of(module: str, names: list[str], files: set[str]) -> set[str]:
    """The files, of these, from which `from module import names` takes something."""
    found = set()
    for name in (f"{module}.{name}" for name in names):
        path, package = name.replace(".", "/"), module.replace(".", "/")
        every = f"{path}.py", f"{path}/__init__.py", f"{package}.py", f"{package}/__init__.py"
        found |= set([file for file in every if file in files][:1])
    return found


def modules_of(file: str, source: str, files: set[str]) -> set[str]:
    """The files, of these, that a module imports anywhere in it, for its types as well."""
    package, found = file.split("/")[:-1], set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                above, _, name = alias.name.rpartition(".")
                found |= files_of(above, [name], files)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            found |= files_of(module, [alias.name for alias in node.names], files)
    return found


def circle(sources: dict[str, str]) -> list[str]:
    """Modules of which each imports the one before it, and the first one the last; none if there
    are no such modules.
    """
    graph = {
        file: modules_of(file, source, set(sources)) - {file} for file, source in sources.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_a_circle_of_imports_is_found():
    sources = {
        "helpers/a.py": "from helpers import b",
        "helpers/b.py": "def f():\n    from .rooms.c import d",
        "helpers/rooms/c.py": "if TYPE_CHECKING:\n    import helpers.a",
    }
    assert len(set(circle(sources))) == 3
    assert circle({**sources, "helpers/rooms/c.py": "import helpers.rooms"}) == []


def test_no_imports_of_helpers_go_in_a_circle():
    """The package's own file is the way in for IPython, which loads an extension by it."""
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in (ROOT / "helpers").rglob("*.py")
    }
    del sources["helpers/__init__.py"]
    assert circle(sources) == []


SHELF = re.compile(r"helpers/simulator/(\w+)/")


def arrows_down(sources: dict[str, str], shelves: list[str]) -> list[str]:
    """The modules of the simulator that import from a shelf below their own."""
    files, found = set(sources), []
    for file, source in sources.items():
        if (own := SHELF.match(file)) is None:
            continue
        for other in modules_of(file, source, files):
            shelf = SHELF.match(other)
            if shelf and shelves.index(shelf[1]) > shelves.index(own[1]):
                found.append(f"{file} imports {other}")
    return found


def test_a_module_that_imports_from_a_later_shelf_is_found():
    sources = {
        "helpers/simulator/ptx/a.py": "from ..launch import b",
        "helpers/simulator/launch/b.py": "from ..ptx.c import d",
        "helpers/simulator/ptx/c.py": "",
    }
    wrong = ["helpers/simulator/ptx/a.py imports helpers/simulator/launch/b.py"]
    assert arrows_down(sources, ["ptx", "launch"]) == wrong


def test_shelves_of_the_simulator_import_in_the_order_of_the_guide():
    guide = (ROOT / "helpers/simulator/README.md").read_text()
    table = guide.partition("### The shelves")[2].partition("\n### ")[0]
    shelves = re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)
    folder = ROOT / "helpers/simulator"
    assert sorted(shelves) == sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text() for path in folder.rglob("*.py")
    }
    assert arrows_down(sources, shelves) == []


def imported_at_once(nodes: list[ast.stmt]) -> set[str]:
    """Top-level names of the modules that a source imports when it is imported itself."""
    names = set()
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= imported(ast.unparse(node))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            names |= imported_at_once(node.orelse)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = ast.iter_child_nodes(node)
            names |= imported_at_once([one for one in inner if isinstance(one, ast.stmt)])
    return names


def test_importing_helpers_imports_no_cuda():
    source = "if TYPE_CHECKING:\n    import a\nelse:\n    import b\ndef f():\n    import c"
    source += "\ntry:\n    import d.e\nexcept ImportError:\n    from f import g"
    assert imported_at_once(ast.parse(source).body) == {"b", "d"}
    heavy = {"cupy", "kernel_tuner", "pycuda", "torch", "triton"}
    found = {
        path.stem: imported_at_once(parsed(path.read_text()).body) & heavy
        for path in (ROOT / "helpers").rglob("*.py")
    }
    assert {name: names for name, names in found.items() if names} == {"triton_kernels": {"triton"}}


def test_helpers_without_the_repository_say_to_clone_it(tmp_path):
    """A wheel installs helpers/ alone."""
    shutil.copytree(
        ROOT / "helpers", tmp_path / "helpers", ignore=shutil.ignore_patterns("__pycache__")
    )
    done = python("-c", "import helpers", folder=tmp_path, PYTHONPATH="")
    assert done.returncode == 1 and "ImportError" in done.stderr
    assert "Clone the repository, and type in its folder: python -m pip install -e ." in done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> list[str]:
    """The files of the wheel that `pip install .` makes of the repository."""
    from hatchling.builders.wheel import WheelBuilder

    folder = str(tmp_path_factory.mktemp("wheel"))
    (built,) = WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])
    return zipfile.ZipFile(built).namelist()


def test_a_wheel_brings_the_extension_of_jupyterlab(wheel):
    """So a plain `jupyter lab` has it."""
    for folder in ("etc", "share"):
        ours = ROOT / "helpers/jupyterlab" / folder
        files = [path.relative_to(ours) for path in ours.rglob("*") if path.is_file()]
        assert {f"{folder}/jupyter/{path}" for path in files} <= {
            name.partition(".data/data/")[2] for name in wheel
        }


def test_a_wheel_has_neither_solutions_nor_programs_of_maintainers(wheel):
    left_out = re.compile(r"/solution\.|helpers/tools|^(tests|labs|evidence)/")
    found = [name for name in wheel if left_out.search(name)]
    assert found == []
    assert any(name == "helpers/simulator/machine/findings.h" for name in wheel)


# --------------------------------------------------------------------------------------------------
# documents and files


def rows(document: str) -> set[str]:
    """What stands first in the rows of a Markdown file's tables, without markup."""
    first = re.findall(r"^\| *(.*?) *\|", (ROOT / document).read_text(), flags=re.MULTILINE)
    return {re.sub(r"^\[(.*)\]\(.*\)$|^`(.*)`$", r"\1\2", cell) for cell in first}


def test_every_kernel_and_lab_is_listed():
    folder = ROOT / "kernels"
    kernels = {str(path.relative_to(folder)) for path in folder.rglob("*.cu")}
    named = {path.stem for path in LABS}
    assert kernels == {name for name in rows("kernels/README.md") if name.endswith(".cu")}
    assert named == {name for name in rows("labs/README.md") if re.match(r"\d+_", name)}


# What a reader takes who does every act but the bonus; labs/README.md tells the same numbers.
WORDS_A_MINUTE = 200
MINUTES = {"prediction": 0.75, "line": 0.75, "cell": 0.5, "check": 3.0, "act": 1.0}
PREDICTION = re.compile(r"\bprediction\.(?:number|choice)\(")
ACT = re.compile(r"\*\*(?:Do it|Your turn|Fix it|Break it|Write)\b")
TOLD = re.compile(r"About (\d+) minutes(?:, and (\d+) for the bonus)?[.,]")


def words(cells) -> int:
    """The words of the text cells, without marks that nobody sees."""
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    return len(re.sub(r"<!--.*?-->", "", "\n".join(texts), flags=re.DOTALL).split())


def written(solution: str, stub: str) -> set[str]:
    """The lines of a solution that its stub lacks. A line that differs from another one in its
    numbers alone is copied, and is the same line here.
    """
    given = set(stub.splitlines())
    own = (line.strip() for line in solution.splitlines() if line not in given)
    code = (line for line in own if re.search(r"\w", line) and not line.startswith(("//", "#")))
    return {re.sub(r"\d+", "0", line) for line in code}


def parts(cells) -> tuple[list, list]:
    """The cells of a lab, and those of its bonus: the sections with "Bonus" in their heading. A
    text cell that a heading divides is in both, each with its own text.
    """
    found: tuple[list, list] = ([], [])
    is_bonus = False
    for cell in cells:
        if cell.cell_type != "markdown":
            found[is_bonus].append(cell)
            continue
        for text in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE):
            if text.startswith("## "):
                is_bonus = "Bonus" in text.partition("\n")[0]
            found[is_bonus].append(new_markdown_cell(text))
    return found


def minutes(cells, solved) -> int:
    """How long these cells take, rounded up to five minutes. solved: the exercises in them."""
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    count = {
        "prediction": sum(len(PREDICTION.findall(source)) for source in code),
        "line": len({line for one in solved for line in written(one.solution, one.stub)}),
        "cell": len(code),
        "check": len(solved),
        "act": len(ACT.findall(text)),
    }
    acts = sum(MINUTES[kind] * number for kind, number in count.items())
    return 5 * math.ceil((words(cells) / WORDS_A_MINUTE + acts) / 5)


def minutes_of(cells, solved) -> tuple[int, int]:
    """How long a lab takes without its bonus, and how long its bonus takes."""
    lab, bonus = parts(cells)
    later = [one for one in solved if any(one.is_stub(cell.source) for cell in bonus)]
    return minutes(lab, [one for one in solved if one not in later]), minutes(bonus, later)


def test_minutes_grow_with_words_acts_and_lines_to_write():
    text = new_markdown_cell("word " * 998 + "**Do it:** <!-- nobody reads this -->")
    guess = new_code_cell("prediction.number('a', None, 'a')\nprediction.choice('b', None, 'b')")
    stub = "void f()\n{\n}\n"
    lines = "    a[0] = 1;\n    a[1] = 2;\n    // why\n"
    one = SimpleNamespace(stub=stub, solution=f"{stub[:-2]}{lines}}}\n", is_stub=stub.__eq__)
    assert written(one.solution, one.stub) == {"a[0] = 0;"}
    assert words([text, guess]) == 1000
    assert minutes([text], []) == 10, "5 minutes of text, and an act"
    assert minutes([text, *[guess] * 2], []) == 10, "6 and 2 x 2, no more"
    assert minutes([text, *[guess] * 2], [one]) == 15, "10 and 3.75"
    bonus = new_markdown_cell("## Step 2 · Bonus: more\n\nword")
    cells = [text, *[guess] * 2, bonus, new_code_cell(stub), new_markdown_cell("a\n## The end")]
    assert minutes_of(cells, [one]) == (15, 5), "The end is a word more than 10 minutes"
    assert minutes_of([text], []) == (10, 0), "no bonus"


def test_minutes_are_what_the_words_and_the_acts_of_a_lab_take():
    page = (ROOT / "labs/README.md").read_text()
    index = dict(re.findall(r"^\| \[(\w+)\].*\| (\d+) \|$", page, re.MULTILINE))
    cells = {lab.stem: nbformat.read(lab, as_version=4).cells for lab in LABS}
    taken = {
        name: minutes_of(of, exercises.of_lab(labs.number(name))) for name, of in cells.items()
    }
    titles = {name: TOLD.search(of[0].source) for name, of in cells.items()}
    told = {name: found and (int(found[1]), int(found[2] or 0)) for name, found in titles.items()}
    assert told == taken
    assert index == {name: str(lab) for name, (lab, _) in taken.items()}
    for name, of in cells.items():
        is_one_sitting = taken[name][0] <= 45
        assert is_one_sitting or "sittings" in of[0].source, f"{name} does not say so"
    said = re.sub(r"\s+", " ", page)
    assert f"{WORDS_A_MINUTE} words a minute" in said
    for kind, each in MINUTES.items():
        assert f"{each:g} for each {kind}" in said, kind


@pytest.mark.parametrize("lab", LABS, ids=lambda path: path.stem)
def test_a_student_writes_in_the_first_third_of_a_lab(lab):
    cells = nbformat.read(lab, as_version=4).cells
    own = exercises.of_lab(labs.number(lab.stem))
    first = next(
        place
        for place, cell in enumerate(cells)
        if "# yours" in cell.source or any(one.is_stub(cell.source) for one in own)
    )
    assert words(cells[:first]) <= words(cells) / 3


def test_the_hours_of_the_syllabi_are_those_of_their_labs():
    text = (ROOT / "labs/README.md").read_text(encoding="utf-8")
    minutes = dict(re.findall(r"^\| \[(\d{3})_\w+\].*\| (\d+) \|$", text, re.MULTILINE))
    row = r"^\| (a weekend|a term|all) \| (.*) \| ([\d.]+) \|$"
    courses = re.findall(row, text, re.MULTILINE)
    assert len(courses) == 3 and len(minutes) > 30
    for course, chosen, hours in courses:
        taken = re.findall(r"\b\d{3}\b", chosen) or list(minutes)
        total = sum(int(minutes[lab]) for lab in taken) / 60
        assert hours == f"{total:.1f}", f"{course}: the labs' minutes make {total:.1f} hours"


def test_every_kernel_is_used_by_the_lab_it_is_listed_for():
    text = (ROOT / "kernels/README.md").read_text()
    listed = re.findall(r"^\| `(\w+)\.cu` .*\((\.\./labs/.*?)\) \|$", text, re.MULTILINE)
    awaited = re.findall(r"^\| `(\w+)\.cu` .* \| to come \|$", text, re.MULTILINE)
    assert len(listed) + len(awaited) == len(list((ROOT / "kernels").glob("*.cu")))
    unused = [name for name, lab in listed if name not in (ROOT / "kernels" / lab).read_text()]
    assert unused == []


def broken_links(document: Path, text: str) -> list[str]:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    return [
        target
        for target in targets
        if "://" not in target and not (document.parent / target).exists()
    ]


def test_a_broken_link_is_found():
    assert broken_links(
        ROOT / "README.md", "[a](LICENSE) [b](no.md) ![c](x/no.png) [d](https://x.org)"
    ) == [
        "no.md",
        "x/no.png",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "INSTALL.md",
        "OWN_GPU.md",
        "helpers/simulator/README.md",
        "helpers/exercises/README.md",
        "evidence/README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "labs/README.md",
        "kernels/README.md",
        "data/README.md",
    ],
)
def test_links_of_a_document_lead_somewhere(name):
    assert broken_links(ROOT / name, (ROOT / name).read_text()) == []


def test_reported_data_is_what_its_readme_says():
    text = (ROOT / "data/README.md").read_text()
    shapes = dict(re.findall(r"^\| `(\w+\.csv)` \| (\d+ x \d+) \|", text, re.MULTILINE))
    columns = dict(re.findall(r"^\| `(\w+\.csv)` \| \d+ x \d+ \| (.*) \|$", text, re.MULTILINE))
    sums = dict(re.findall(r"^\| `(\w+\.csv)` \| `([0-9a-f]{64})` \|$", text, re.MULTILINE))
    files = {path.name: path for path in (ROOT / "data/reported").iterdir()}
    assert shapes.keys() == sums.keys() == files.keys()
    for name, path in files.items():
        table = reports.rows(path.stem)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[name]
        assert f"{len(table)} x {len(table[0])}" == shapes[name]
        for column, kind in (pair.split() for pair in columns[name].split(", ")):
            found = {type(row[column]).__name__ for row in table if row[column] not in (None, "")}
            assert found <= {kind}, f"{name}: {column} is {found}"


# --------------------------------------------------------------------------------------------------
# commands

# Of the shell, or installed by the reader.
KNOWN = {"ssh", "cd", "conda", "git", "python3", ".", "pre-commit"}


def unknown_commands(text: str, targets: set[str]) -> list[str]:
    """Lines of the `sh` blocks of a document that call a make target or a Python module that does
    not exist.
    """
    lines = [
        line
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.replace("\\\n", " ").splitlines()
    ]
    return [line for line in lines if not _exists(line.split("#")[0].split(), targets)]


def _exists(words: list[str], targets: set[str]) -> bool:
    if words[0] == "make":
        return words[1] in targets
    if words[:2] == ["python", "-m"]:
        return importlib.util.find_spec(words[2]) is not None
    if Path(words[0]).name == "halo":
        return words[1] in COMMANDS
    return words[0] in KNOWN


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_an_unknown_command_is_found():
    text = (
        "```sh\nmake labs\nmake coffee\n.venv/bin/halo check x\nhalo chek x \\\n --grid 1\n"
        "python -m helpers.tools.run_labs 101 # run\npython -m helpers.nothing\nnpm test\n```"
    )
    assert unknown_commands(text, {"labs"}) == [
        "make coffee",
        "halo chek x   --grid 1",
        "python -m helpers.nothing",
        "npm test",
    ]


def test_commands_of_the_readme_exist():
    text = (ROOT / "README.md").read_text() + (ROOT / "INSTALL.md").read_text()
    for page in ("README.md", "INSTALL.md", "helpers/simulator/README.md"):
        assert unknown_commands((ROOT / page).read_text(), make_targets()) == [], page
    assert set(re.findall(r"`make ([a-z]+)", text)) <= make_targets()
    assert make_targets() - {"help"} == set(re.findall(r"\bmake ([a-z]+)", text)) & make_targets()


@pytest.mark.parametrize("page", FOR_CONTRIBUTORS)
def test_commands_for_contributors_exist(page):
    text = (ROOT / page).read_text()
    assert unknown_commands(text, make_targets()) == []
    assert set(re.findall(r"`make ([a-z]+)", text)) <= make_targets()
    modules = re.findall(r"`python -m ([\w.]+)", text)
    assert modules and [name for name in modules if importlib.util.find_spec(name) is None] == []


def test_the_settings_are_those_that_the_code_reads():
    table = (ROOT / "INSTALL.md").read_text().partition("## Settings")[2].partition("\n## ")[0]
    said = set(re.findall(r"^\| `((?:HALO|LAB)_\w+)`", table, re.MULTILINE))
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "helpers").rglob("*.py"))
    read = {name for text in sources for name in re.findall(r'"((?:HALO|LAB)_[A-Z_]+)"', text)}
    assert said == read


def labs_of_commands(text: str) -> set[str]:
    """The labs that commands of `helpers.course` name in a page."""
    command = r"helpers\.course (?:release|gradescope|override \w+)((?: \d+)+)"
    return {lab for numbers in re.findall(command, text) for lab in numbers.split()}


def test_commands_of_the_instructors_page_name_labs_with_exercises():
    assert labs_of_commands("python -m helpers.course gradescope 02 --to a.zip") == {"02"}
    named = labs_of_commands((ROOT / "helpers/course/README.md").read_text())
    assert {"101", "103", "104"} <= named
    assert named <= {exercises.find(name).lab[:3] for name in exercises.names()}


def test_an_option_that_begins_with_a_hyphen_stands_behind_an_equals_sign():
    inside = [*(ROOT / "helpers").rglob("*.md"), *(ROOT / "helpers").rglob("*.py")]
    pages = [*ROOT.glob("*.md"), *inside]
    wrong = re.compile(r"--options ['\"]?-")
    assert wrong.search('--options "-DX=1"') and not wrong.search('--options="-DX=1"')
    assert [page.name for page in pages if wrong.search(page.read_text(encoding="utf-8"))] == []


def test_starts_without_an_installation_run_commands_that_exist():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    commands = [container["postCreateCommand"], container["postAttachCommand"]]
    commands += (ROOT / ".binder/postBuild").read_text().replace("\\\n", "").splitlines()
    lines = "\n".join(line for line in commands if line.startswith(("make", "python")))
    assert lines.count("\n") >= 3
    assert unknown_commands(f"```sh\n{lines}\n```", make_targets()) == []
    assert os.access(ROOT / ".binder/postBuild", os.X_OK)
    version = (ROOT / ".binder/runtime.txt").read_text().strip()
    assert re.fullmatch(r"python-3\.\d+", version)


def test_the_workflow_runs_the_two_commands_of_the_readme():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert job["runs-on"].startswith("ubuntu")
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make labs", ".ci/run"]


def test_hooks_run_what_make_test_runs():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    modules = {hook["entry"].split()[2] for hook in local["hooks"]}
    assert modules == {"ruff", "mypy", "helpers.tools.notebook_metadata"}
    recipe = make("--dry-run", "test", f"PY={sys.executable}").stdout
    assert all(f"-m {module}" in recipe for module in ("ruff", "mypy"))


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return run("make", "--no-print-directory", *arguments, **environment)


def tool(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@needs_make
@pytest.mark.parametrize("target", sorted(make_targets()))
def test_every_target_uses_the_python_it_is_given(target):
    done = make("--dry-run", target, "PY=/opt/its/python")
    assert done.returncode == 0, done.stderr
    assert ".venv/bin" not in done.stdout
    assert ("/opt/its/python" in done.stdout) == (target not in ("help", "clean"))


@needs_make
def test_options_of_jupyter_lab_are_passed_on():
    done = make("--dry-run", "jupyter", "PY=python3", "OPTIONS=--no-browser --port=9000")
    assert done.stdout.rstrip().endswith("-m helpers.jupyterlab --no-browser --port=9000")


@needs_make
def test_help_is_the_default_and_lists_every_target():
    listed = {line.split()[0] for line in make().stdout.splitlines()}
    assert make_targets() <= listed


@needs_make
def test_an_old_python_is_named(tmp_path):
    old = tool(tmp_path, "python3.9", 'test "$1" = -V && echo "Python 3.9.18" || exit 1')
    done = make("env", f"PY={old}")
    assert done.returncode != 0
    assert f"{old} is Python 3.9.18: Halo Labs needs Python 3.11 or newer." in done.stdout


@needs_make
def test_a_python_without_the_packages_is_told_what_to_install(tmp_path):
    bare = tool(tmp_path, "bare python", f'exec "{sys.executable}" -S "$@"')
    done = make("labs", f"PY={bare}")
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert f"{bare} lacks packages of Halo Labs." in done.stdout
    # A distribution may keep its own Python to itself: then pip would refuse, and is not named.
    is_managed = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists()
    assert (f"-m pip install -e '{ROOT}[test]'" in done.stdout) != is_managed


@needs_make
def test_a_missing_python_is_named():
    done = make("env", "PY=/no/such/python")
    assert done.returncode != 0
    assert "There is no /no/such/python here." in done.stdout


@needs_make
def test_a_folder_that_cannot_be_written_is_named():
    """In /proc not even root can make a folder."""
    python3 = f"PYTHON3={sys.executable}"
    done = make("-C", "/proc", "-f", str(ROOT / "Makefile"), ".venv/bin/python", python3)
    assert done.returncode != 0
    assert "The folder /proc cannot be written" in done.stdout and "apt" not in done.stdout


# Put before a program, which then finds only the standard library, this repository and some other
# packages.
ONLY = """
import importlib.abc, importlib.metadata, re, sys
allowed = {re.sub("[-_.]+", "-", name).lower() for name in sys.argv[1:]}
refused = {
    module for module, owners in importlib.metadata.packages_distributions().items()
    if not allowed & {re.sub("[-_.]+", "-", owner).lower() for owner in owners}
}
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if path is None and name in refused - {"helpers"}:
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Refuse())
"""


def test_the_simulator_is_compiled_while_pip_still_installs():
    """`make env` compiles it with a few packages, which it installs before all others."""
    text = (ROOT / "Makefile").read_text()
    (line,) = re.findall(r"^BUILD := (.*)$", text, re.MULTILINE)
    (imports,) = re.findall(r"^ +(from .* import .*); library\.build\(\)'$", text, re.MULTILINE)

    def import_with(packages: list[str]) -> subprocess.CompletedProcess:
        return python("-c", ONLY + imports, *packages)

    packages = line.split()
    assert import_with(packages).stderr == ""
    for one in packages:  # and each of them is needed
        fewer = [name for name in packages if name != one]
        assert "ModuleNotFoundError" in import_with(fewer).stderr, one


@needs_make
def test_make_gpu_says_when_there_is_no_gpu(tmp_path):
    tool(tmp_path, "nvidia-smi", 'echo "No devices were found"')
    done = make("gpu", f"PY={sys.executable}", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode != 0
    assert (
        "make gpu: no NVIDIA GPU here (nvidia-smi lists none), so nothing was run." in done.stdout
    )


@needs_make
def test_pycuda_is_installed_only_with_gpu_and_nvcc(tmp_path):
    tool(tmp_path, "nvidia-smi", 'echo "GPU 0: Test (UUID: x)"')
    tool(tmp_path, "nvcc", "exit 0")
    with_gpu = f"{tmp_path}:{os.environ['PATH']}"
    assert ".[gpu]" in make("--dry-run", "--always-make", "env", PATH=with_gpu).stdout
    assert ".[gpu]" not in make("--dry-run", "--always-make", "env", "GPU=no", PATH=with_gpu).stdout
    (tmp_path / "nvidia-smi").unlink()
    tool(tmp_path, "nvidia-smi", "exit 9")
    assert ".[gpu]" not in make("--dry-run", "--always-make", "env", PATH=with_gpu).stdout


FAKE_PYTHON = """echo "$@" >> "$LOG"
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi"""


@needs_make
@pytest.mark.parametrize("name", ["plain", "two words"])
def test_the_environment_is_made_in_any_folder(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    for file in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / file, folder)
    fake, log = tool(folder, "python3.12", FAKE_PYTHON), tmp_path / "log"
    path = {"PATH": f"{folder}:/usr/bin:/bin", "LOG": str(log)}
    for target in (("env", "GPU=no", "PYTHON3=python3.12"), ("labs", f"PY={fake}")):
        done = run("make", *target, folder=folder, **path)
        assert done.returncode == 0, done.stdout + done.stderr
    calls = log.read_text().splitlines()
    assert "-m pip install --no-compile --progress-bar off --editable .[test]" in calls
    assert calls[-1] == "-m helpers.tools.run_labs"


UV = 'echo "uv $@" >> "$LOG"; exit $UV_STATUS'


@needs_make
@pytest.mark.parametrize("status", [0, 2])
def test_uv_installs_where_it_is_and_pip_where_it_fails(tmp_path, status):
    for file in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path)
    tool(tmp_path, "python3.12", FAKE_PYTHON)
    tool(tmp_path, "uv", UV)
    log = tmp_path / "log"
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOG": str(log), "UV_STATUS": str(status)}
    done = run("make", "env", "GPU=no", "PYTHON3=python3.12", folder=tmp_path, **path)
    assert done.returncode == 0, done.stderr
    calls = log.read_text()
    assert ("uv failed for the reason above; pip installs instead." in done.stdout) == (status != 0)
    assert "uv pip install --quiet --python .venv/bin/python --editable .[test]" in calls
    assert ("-m pip install" in calls) == (status != 0)


# FILE, "Section": in texts and in what programs print.
REFERENCE = re.compile(r'\b([\w/]+\.md), "([^"\n]+)"')


def dead_references(text: str, root: Path = ROOT) -> list[str]:
    """The sections that a text names, of documents that have no such heading."""
    return [
        f'{file}, "{section}"'
        for file, section in REFERENCE.findall(text)
        if not (root / file).exists()
        or not re.search(rf"^#+ {re.escape(section)}$", (root / file).read_text(), re.MULTILINE)
    ]


def test_a_reference_to_no_section_is_found():
    text = 'See README.md, "Start"; INSTALL.md, "Start" and NO.md, "Start".'
    assert dead_references(text) == ['INSTALL.md, "Start"', 'NO.md, "Start"']


def test_references_lead_to_sections():
    texts = [ROOT / "Makefile", *ROOT.glob("*.md"), *ROOT.glob(".github/workflows/*")]
    for folder in ("helpers", "labs", "kernels", "data"):
        texts += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".py", ".md", ".cu", ".cuh", ".ipynb")
        ]
    dead = {str(path.relative_to(ROOT)): dead_references(path.read_text()) for path in texts}
    assert {name: found for name, found in dead.items() if found} == {}


def missing_files(text: str) -> list[str]:
    """The files and folders of the repository that a text names and that are not there.

    Words in capitals stand for a name of the reader's: labs/NNN_name.ipynb.
    """
    named = re.findall(r"`((?:helpers|tests|kernels|labs|data)/[\w./]*)`", text)
    certain = [file for file in named if not re.search(r"(?<![A-Z])(NNN|NAME)", file)]
    return [file for file in certain if not (ROOT / file).exists()]


def test_a_file_that_is_not_there_is_found():
    text = "`helpers/simulator/nothing.py`, `labs/`, `labs/NNN_name.ipynb`, `x/y`"
    assert missing_files(text) == ["helpers/simulator/nothing.py"]


@pytest.mark.parametrize("page", FOR_CONTRIBUTORS)
def test_files_that_contributors_are_told_of_exist(page):
    assert missing_files((ROOT / page).read_text()) == []


def test_continuous_integration_runs_the_test_command():
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "make test" in script.read_text()
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


# --------------------------------------------------------------------------------------------------
# notebooks

TAGS = {"nbval-check-output", "raises-exception", "headline", "solution"}
FOREIGN_PATH = re.compile(r"(?<![\w.:/])(?:~|/(?:home|root|tmp|work|Users|mnt|private))/\w")


def compared(cell) -> bool:
    return "nbval-check-output" in cell.metadata.get("tags", []) and has_text(cell.outputs)


def form_errors(notebook, deeper: bool = False) -> list[str]:
    """In what a notebook departs from the form of a lab; empty when it keeps to it.

    A deeper notebook needs no headline, and one output to compare.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
    least = 1 if deeper else 3
    told = [
        (
            sum(map(compared, code)) < least,
            f"{sum(map(compared, code))} cells whose output nbval compares, fewer than {least}",
        ),
        (
            tags.count("headline") != 1 and not deeper,
            f"{tags.count('headline')} cells tagged headline, not 1",
        ),
        (not set(tags) <= TAGS, f"unknown tags {sorted(set(tags) - TAGS)}"),
    ]
    errors = [text for wrong, text in told if wrong]
    return errors + [
        f"cell {n}: {text}"
        for n, cell in enumerate(notebook.cells, 1)
        for text in cell_errors(cell)
    ]


def cell_errors(cell) -> list[str]:
    if cell.cell_type != "code":
        return ["a path of one machine"] if FOREIGN_PATH.search(cell.source) else []
    tags = cell.metadata.get("tags", [])
    raised = any(output.output_type == "error" for output in cell.outputs)
    told = [
        (cell.execution_count is None, "was not run"),
        (any(output.get("name") == "stderr" for output in cell.outputs), "has written to stderr"),
        (raised and "raises-exception" not in tags, "has failed"),
        (not raised and "raises-exception" in tags, "should have failed and has not"),
        ("nbval-check-output" in tags and not has_text(cell.outputs), "has no output to compare"),
        (
            FOREIGN_PATH.search(cell.source + text_of(cell.outputs)) is not None,
            "a path of one machine",
        ),
        (
            "headline" in tags
            and not re.search(r"^Result: \S", text_of(cell.outputs), re.MULTILINE),
            "prints no line that starts with 'Result: '",
        ),
    ]
    return [text for wrong, text in told if wrong]


def text_of(outputs) -> str:
    return "\n".join(
        output.get("text", "")
        + "\n".join(output.get("traceback", []))
        + output.get("data", {}).get("text/plain", "")
        for output in outputs
    )


def run_cell(source: str, output: str = "", tags: str = "", **more):
    outputs = [new_output("stream", name="stdout", text=output)] if output else []
    return new_code_cell(
        source, outputs=outputs, execution_count=1, metadata={"tags": tags.split()}, **more
    )


def good_cells() -> list:
    checked = [run_cell("check()", "PASS it\n", "nbval-check-output") for _ in range(3)]
    headline = run_cell("print(best)", "Result: 3x over NumPy\n", "headline")
    return [*checked, headline, *(new_markdown_cell("a few words") for _ in range(16))]


def test_a_good_notebook_has_no_errors():
    assert form_errors(new_notebook(cells=good_cells())) == []


def test_a_deeper_notebook_needs_one_compared_output_and_no_headline():
    cells = good_cells()[2:3]
    assert form_errors(new_notebook(cells=cells), deeper=True) == []
    assert len(form_errors(new_notebook(cells=cells))) == 2
    cells[0].metadata.clear()
    assert form_errors(new_notebook(cells=cells), deeper=True) == [
        "0 cells whose output nbval compares, fewer than 1"
    ]


FAILED = new_output("error", ename="E", evalue="e", traceback=["File /home/me/x.py:3"])
PNG = new_output("display_data", data={"image/png": "iVBO"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c[0].metadata.clear(), "2 cells whose output nbval compares, fewer than 3"),
        (lambda c: c[0].outputs.clear(), "cell 1: has no output to compare"),
        (
            lambda c: c[0].__setitem__("outputs", [PNG]),
            "2 cells whose output nbval compares, fewer than 3",
        ),
        (lambda c: c[3].metadata.clear(), "0 cells tagged headline, not 1"),
        (
            lambda c: c.append(run_cell("1", "Speedup: 3\n", "headline")),
            "cell 21: prints no line that starts with",
        ),
        (
            lambda c: c.append(run_cell("1", tags="nbval-check-ouput")),
            "unknown tags ['nbval-check-ouput']",
        ),
        (lambda c: c.append(new_code_cell("x")), "cell 21: was not run"),
        (
            lambda c: c[1].outputs.append(new_output("stream", name="stderr", text="w")),
            "cell 2: has written to stderr",
        ),
        (lambda c: c[1].outputs.append(FAILED), "cell 2: has failed"),
        (
            lambda c: c.append(run_cell("1", "x", "raises-exception")),
            "cell 21: should have failed and has not",
        ),
        (lambda c: c[1].outputs.append(FAILED), "cell 2: a path of one machine"),
        (lambda c: c.append(new_markdown_cell("see ~/data")), "cell 21: a path of one machine"),
        (lambda c: c.append(run_cell("open('/tmp/x')")), "cell 21: a path of one machine"),
    ],
)
def test_a_departure_from_the_form_is_found(change, message):
    cells = good_cells()
    change(cells)
    assert any(error.startswith(message) for error in form_errors(new_notebook(cells=cells)))


def misnumbered(names: list[str]) -> list[str]:
    """Labs without a number of three digits in front of their name, the first of which is the part,
    or with the number of another.
    """
    numbers = [re.match(r"([1-5]\d\d)_[a-z]", name) for name in names]
    taken = [match[1] for match in numbers if match]
    return [
        name
        for name, match in zip(names, numbers, strict=True)
        if match is None or taken.count(match[1]) > 1
    ]


def test_a_number_that_is_missing_or_taken_is_found():
    assert misnumbered(["100_start", "101_next", "207_later"]) == []
    assert misnumbered(["100_start", "101_next", "101_other"]) == ["101_next", "101_other"]
    assert misnumbered(["100_start", "01_next", "notes"]) == ["01_next", "notes"]


# "lab 104", "Labs 111 and 112", "labs 104 (tiles), [108](...) and 300": each number after the word.
NAMED = re.compile(
    r"\b[Ll]abs?(?: |\n(?!\n))"
    r"((?:\[?\d+\]?(?:\([^)]*\))?(?:\s\([^)]*\))?(?:,\s(?:and\s)?|\sand\s|\sor\s|\sto\s)?)+)"
)


def named_labs(text: str) -> set[str]:
    """The numbers of labs that a text names."""
    lists = [re.sub(r"\([^)]*\)", "", match[1]) for match in NAMED.finditer(text)]
    return {number for one in lists for number in re.findall(r"\d+", one)}


def test_numbers_of_labs_are_found_in_a_text():
    text = "Labs 111 and 112 of part 1, lab 04's kernel, labs [12](a.ipynb) (tiles) and 7; 16 x 16"
    assert named_labs(text) == {"111", "112", "04", "12", "7"}


def test_texts_name_labs_that_there_are():
    there = {labs.number(path.stem) for path in LABS}
    texts = {
        path.name: "\n".join(
            cell.source
            for cell in nbformat.read(path, as_version=4).cells
            if cell.cell_type == "markdown"
        )
        for path in NOTEBOOKS
    }
    # The changelog tells of labs by the numbers that they had.
    documents = ("README.md", "START.md", *FOR_CONTRIBUTORS, "data/README.md",
                 "labs/README.md", "kernels/README.md", "helpers/course/README.md")  # fmt: skip
    texts |= {name: (ROOT / name).read_text() for name in documents}
    texts |= {path.name: path.read_text() for path in (ROOT / "kernels").rglob("*.cu*")}
    unknown = {name: sorted(named_labs(text) - there) for name, text in texts.items()}
    assert {name: found for name, found in unknown.items() if found} == {}


def test_labs_have_numbers_of_their_own():
    assert LABS and misnumbered([path.stem for path in LABS]) == []


@pytest.mark.parametrize("lab", NOTEBOOKS, ids=lambda path: path.stem)
def test_lab_keeps_to_the_form(lab):
    assert form_errors(nbformat.read(lab, as_version=4), labs.is_deeper(lab)) == []


# --------------------------------------------------------------------------------------------------
# nbval's import, and its own count


def test_its_import_of_nbformat_leaves_out_the_slow_grammar():
    assert sys.modules["rfc3987_syntax"] is None  # see helpers/labs/jsonschema_import.py


def nbval(folder: Path, options: tuple[str, ...] = (), **labs) -> subprocess.CompletedProcess:
    """Run labs, each of them a list of cells, as `make test` does."""
    for name, cells in labs.items():
        nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    plugins = "-p", "no:cacheprovider", "-p", "tests.labs.nbval_count"
    nbval = "--nbval-lax", "--nbval-current-env"
    return python("-m", "pytest", "-q", *plugins, *options, *nbval, folder)


COMPARED = [
    run_cell("print(1 + 1)", "2\n", "nbval-check-output"),
    run_cell("print(1 + 1)", "3\n"),
    run_cell("x = 1", "", "nbval-check-output"),
]


def test_nothing_compared_fails_and_cells_are_counted_in_processes_of_their_own(tmp_path):
    vacuous = [run_cell("print(1 + 1)", "3\n")]
    done = nbval(tmp_path, ("-n", "1", "--dist", "loadfile"), lab=COMPARED, vacuous=vacuous)
    assert "lab.ipynb: 1 of 3 cells that passed" in done.stdout
    assert "vacuous.ipynb: 0 of 1 cells that passed" in done.stdout
    assert "ERROR vacuous.ipynb: nothing was compared" in done.stdout
    # All cells passed: the one notebook of which nothing was compared makes the run fail.
    assert "4 passed" in done.stdout and "ERROR lab.ipynb" not in done.stdout
    assert done.returncode == 1


def test_a_wrong_stored_output_fails(tmp_path):
    wrong = [run_cell("print(1 + 1)", "3\n", "nbval-check-output")]
    done = nbval(tmp_path, wrong=wrong)
    assert "1 failed in" in done.stdout and "wrong.ipynb" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("lab", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_stored_figure_has_a_description(lab):
    """A screen reader reads the text beside a picture; "<Figure size ...>" says nothing."""
    nameless = [
        cell.id
        for cell in nbformat.read(lab, as_version=4).cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
        and output["data"].get("text/plain", "<Figure").startswith("<Figure")
    ]
    assert nameless == []
