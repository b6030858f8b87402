"""The tool by which records follow a change of source that leaves the machine code as it is."""

import json
import shutil
import subprocess

import pytest

from helpers import kernels, simulator
from helpers.bench import results
from helpers.tools import unchanged_code

NAME = "conv1d_basic"


@pytest.fixture(name="repository")
def repository_of_a_measured_kernel(tmp_path, monkeypatch):
    """A repository with one kernel and a record of it; the kernel may be changed."""
    folder, measured = tmp_path / "kernels", tmp_path / "measured"
    folder.mkdir()
    measured.mkdir()
    shutil.copy(kernels.path(NAME), folder)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "kernels"], ["commit", "-qm", "Measure"]):
        subprocess.run([*git, *command], check=True)
    record = {"sources": {NAME: results.source_sha256(NAME, folder), "other": "0"}}
    (measured / "some.json").write_text(json.dumps(record), encoding="utf-8")
    monkeypatch.setattr(kernels, "FOLDER", folder)
    monkeypatch.setattr(results, "MEASURED", measured)
    return folder / f"{NAME}.cu", measured / "some.json"


def hash_of(record):
    return json.loads(record.read_text(encoding="utf-8"))["sources"][NAME]


def follow(*options):
    return unchanged_code.main(["HEAD", NAME, *options])


def test_a_record_follows_a_name_that_changed(repository, capsys):
    source, record = repository
    before = hash_of(record)
    text = source.read_text(encoding="utf-8")
    assert "sum" in text
    source.write_text(text.replace("sum", "total"), encoding="utf-8")
    assert follow() == 0
    assert "some" in capsys.readouterr().out
    assert hash_of(record) == results.source_sha256(NAME, source.parent) != before


def test_no_record_follows_another_computation(repository, capsys):
    source, record = repository
    before = hash_of(record)
    text = source.read_text(encoding="utf-8")
    changed = text.replace("sum +=", "sum -=")
    assert changed != text
    source.write_text(changed, encoding="utf-8")
    assert follow() == 1
    assert "the machine code differs" in capsys.readouterr().out
    assert hash_of(record) == before


def test_a_change_that_one_option_shows_is_found(repository):
    source, record = repository
    before = hash_of(record)
    text = source.read_text(encoding="utf-8")
    switch = "#ifdef LESS\n#define SIGN -\n#else\n#define SIGN\n#endif\n"
    source.write_text(switch + text.replace("sum +=", "sum += SIGN"), encoding="utf-8")
    assert follow("--options=", "--options=-DLESS=1") == 1
    assert hash_of(record) == before
    assert follow() == 0
    assert hash_of(record) != before


def test_the_compiler_can_be_chosen(repository, monkeypatch):
    chosen = []

    def compile_source(text, options, file, compiler):
        chosen.append(compiler)
        raise simulator.CompileFailed("no compiler is needed here")

    monkeypatch.setattr(unchanged_code.compiler, "compile_source", compile_source)
    assert follow() == follow("--compiler", "nvcc") == 2
    assert chosen == ["nvrtc", "nvcc"]


def test_a_commit_that_is_not_there_is_an_error(repository, capsys):
    assert unchanged_code.main(["nowhere", NAME]) == 2
    assert "nowhere" in capsys.readouterr().err
