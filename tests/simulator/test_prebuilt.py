"""The engine that comes as a wheel: what is taken, what is refused, and why."""

import json
import subprocess
import sys
import zipfile

import pytest

from helpers.simulator.compile import toolchain
from helpers.simulator.machine import library, prebuilt
from helpers.tools import wheel

SOURCES = "sources"


@pytest.fixture(name="installed")
def folder_of_an_installed_engine(tmp_path, monkeypatch):
    """What the wheel installs, with the engine of this machine."""
    (tmp_path / prebuilt.LIBRARY).symlink_to(library.build())
    (tmp_path / prebuilt.FACTS).write_text(json.dumps(prebuilt.facts(SOURCES)), encoding="utf-8")
    monkeypatch.setattr(prebuilt, "_folder", lambda: tmp_path)
    return tmp_path


def test_no_wheel_is_no_fault(monkeypatch):
    monkeypatch.setattr(prebuilt, "PACKAGE", "halo_labs_engine_that_is_not_there")
    assert prebuilt.find(SOURCES) == prebuilt.Prebuilt(None, "")


def test_an_engine_of_the_same_sources_is_taken(installed):
    assert prebuilt.find(SOURCES) == prebuilt.Prebuilt(installed / prebuilt.LIBRARY)


def test_an_engine_of_other_sources_is_refused(installed):
    found = prebuilt.find("others")
    assert found.path is None and "other sources" in found.why_not


def test_an_engine_for_another_processor_is_refused(installed, monkeypatch):
    facts = prebuilt.facts(SOURCES) | {"machine": "sparc"}
    (installed / prebuilt.FACTS).write_text(json.dumps(facts), encoding="utf-8")
    found = prebuilt.find(SOURCES)
    assert found.path is None and "it is for sparc, this is" in found.why_not


def test_a_processor_without_its_instructions_refuses_it(installed, monkeypatch):
    machine = prebuilt.facts(SOURCES)["machine"]
    monkeypatch.setitem(prebuilt._NEEDS, machine, frozenset({"avx2", "not_made_yet"}))
    found = prebuilt.find(SOURCES)
    assert found.path is None and "not_made_yet" in found.why_not


@pytest.mark.parametrize(
    ("name", "why"), [(prebuilt.FACTS, "cannot be read"), (prebuilt.LIBRARY, "does not load")]
)
def test_a_damaged_wheel_is_refused(installed, name, why):
    (installed / name).unlink()
    (installed / name).write_text("nothing of the kind", encoding="utf-8")
    found = prebuilt.find(SOURCES)
    assert found.path is None and why in found.why_not


def test_a_refused_wheel_is_named_where_the_engine_is_compiled(installed, monkeypatch):
    remarks = []

    def compiled(flags, *, remark="", **more):
        remarks.append(remark)
        raise toolchain.CompilerMissingError("No C++ compiler was found.")

    monkeypatch.setattr(library, "_built", compiled)
    monkeypatch.setattr(library, "_prebuilt", lambda: prebuilt.find("others"))
    with pytest.raises(toolchain.CompilerMissingError, match="made from other sources"):
        library._found_or_built()
    assert "halo_labs_engine is not used" in remarks[0]


def test_the_wheel_installs_and_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "build_for_others", library.build)
    made = wheel.make(tmp_path)
    place = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(place), str(made)], check=True)
    with zipfile.ZipFile(made) as archive:
        assert archive.testzip() is None
    monkeypatch.syspath_prepend(str(place))
    found = prebuilt.find(toolchain.sources_key(library.MACHINE))
    assert found.path == place / prebuilt.PACKAGE / prebuilt.LIBRARY
    assert found.path.read_bytes() == library.build().read_bytes()
