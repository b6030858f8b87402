"""The compiler is found in the stated order, its results are cached by content, and its failures
are explained.
"""

import ctypes
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.simulator.compile import toolchain

ROOT = Path(__file__).resolve().parents[2]
SEVEN = 'extern "C" int answer() { return 7; }\n'


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("HALO_CACHE", str(folder))
    return folder


@pytest.fixture
def fake_path(tmp_path, monkeypatch):
    """PATH with nothing but what the test puts there; returns a function that adds a fake compiler.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)

    def add(name, says, status=0):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
        program.chmod(0o755)
        return str(program)

    return add


def without_ziglang(monkeypatch):
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)


def test_the_compiler_of_this_machine_answers():
    compiler = toolchain.find_compiler()
    assert compiler.kind in ("gcc", "clang", "zig")
    assert compiler.version
    assert Path(compiler.argv[0]).is_absolute()


def test_cxx_goes_before_everything(fake_path, monkeypatch):
    fake_path("c++", "g++ 12")
    fake_path("mine", "clang version 17.0")
    monkeypatch.setenv("CXX", "mine -stdlib=libc++")
    compiler = toolchain.find_compiler()
    assert Path(compiler.argv[0]).name == "mine"
    assert compiler.argv[1:] == ("-stdlib=libc++",)
    assert compiler.kind == "clang"


def test_a_cxx_that_does_not_run_is_an_error_not_replaced_in_silence(fake_path, monkeypatch):
    fake_path("c++", "g++ 12")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        toolchain.CompilerMissingError, match=r"CXX is set to 'no-such-compiler'.*not found on PATH"
    ):
        toolchain.find_compiler()


def test_order_without_cxx(fake_path):
    fake_path("clang++", "clang version 15")
    assert Path(toolchain.find_compiler().argv[0]).name == "clang++"
    fake_path("g++", "g++ (Debian) 12")
    toolchain._find_compiler.cache_clear()
    assert Path(toolchain.find_compiler().argv[0]).name == "g++"
    fake_path("c++", "c++ (Debian) 12")
    toolchain._find_compiler.cache_clear()
    assert Path(toolchain.find_compiler().argv[0]).name == "c++"


def test_a_stub_that_fails_is_passed_over(fake_path):
    # macOS has such a c++ until its command line tools are installed.
    fake_path("c++", "xcode-select: note: no developer tools were found", status=1)
    fake_path("clang++", "Apple clang version 16")
    compiler = toolchain.find_compiler()
    assert Path(compiler.argv[0]).name == "clang++"
    assert compiler.kind == "clang"


def test_gxx_that_is_clang_is_called_clang(fake_path):
    fake_path("g++", "Apple clang version 15.0.0")
    assert toolchain.find_compiler().kind == "clang"


def test_no_compiler_says_what_was_tried_and_how_to_install_one(fake_path, monkeypatch):
    without_ziglang(monkeypatch)
    fake_path("c++", "xcode-select: note: no developer tools were found", status=1)
    with pytest.raises(toolchain.CompilerMissingError) as caught:
        toolchain.find_compiler()
    message = str(caught.value)
    for words in (
        "no developer tools",
        "g++: not found",
        "clang++: not found",
        "ziglang c++: the Python package",
    ):
        assert words in message
    for words in (
        "apt install",
        "dnf install",
        "xcode-select --install",
        "cxx-compiler",
        "pip install ziglang",
    ):
        assert words in message


def test_shared_library_is_built_and_runs(cache):
    path = toolchain.shared_library("seven", SEVEN)
    assert path.parent == cache
    assert ctypes.CDLL(str(path)).answer() == 7
    # No temporary folder is left behind.
    assert [entry.name for entry in cache.iterdir()] == [path.name]


def test_the_second_call_does_not_compile(cache, monkeypatch):
    first = toolchain.shared_library("seven", SEVEN)

    def refuse(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(toolchain, "run_compiler", refuse)
    assert toolchain.shared_library("seven", SEVEN) == first
    with pytest.raises(AssertionError, match="compiled again"):
        toolchain.shared_library("seven", SEVEN + "\n")


def test_text_flags_and_extra_key_tell_libraries_apart(cache):
    text = 'extern "C" int answer() { return ANSWER; }\n'
    paths = {
        toolchain.shared_library("a", text, ("-DANSWER=1",)),
        toolchain.shared_library("a", text, ("-DANSWER=2",)),
        toolchain.shared_library("a", text, ("-DANSWER=2",), extra_key="headers v2"),
        toolchain.shared_library("a", text + " ", ("-DANSWER=2",)),
    }
    assert len(paths) == 4
    assert sorted(ctypes.CDLL(str(path)).answer() for path in paths) == [1, 2, 2, 2]


def test_key_parts_do_not_run_together():
    assert toolchain.content_key("ab", "c") != toolchain.content_key("a", "bc")
    assert toolchain.content_key("ab", "c") == toolchain.content_key("ab", "c")


def test_own_instructions_are_keyed_by_the_processor(cache, monkeypatch):
    flags = toolchain.native_flags()
    if not flags:
        pytest.skip("this compiler has no -march=native")
    here = toolchain.shared_library("seven", SEVEN, flags)
    plain = toolchain.shared_library("seven", SEVEN)
    monkeypatch.setattr(toolchain, "processor", lambda: "another processor")
    assert toolchain.shared_library("seven", SEVEN, flags) != here
    assert toolchain.shared_library("seven", SEVEN) == plain


def test_compile_error_names_the_line_and_no_temporary_folder(cache):
    with pytest.raises(toolchain.CompileFailed) as caught:
        toolchain.shared_library("wrong", "int fine();\nint broken( {\n")
    assert "wrong.cpp:2" in caught.value.message
    assert "build-" not in caught.value.message
    assert str(cache) not in caught.value.message
    assert list(cache.iterdir()) == []


def test_run_compiler_takes_the_folder_out_of_messages(tmp_path):
    (tmp_path / "bad.cpp").write_text("int x = ;\n")
    with pytest.raises(toolchain.CompileFailed) as caught:
        toolchain.run_compiler(["-c", str(tmp_path / "bad.cpp"), "-o", "bad.o"], tmp_path)
    assert caught.value.message.startswith("bad.cpp:1")


def folder_of_parts(folder: Path, header: str) -> Path:
    folder.mkdir()
    (folder / "common.h").write_text(f"#pragma once\n{header}")
    for k in range(toolchain._WORTH_A_PRECOMPILED_HEADER):
        text = f'#include "common.h"\nextern "C" int part_{k}() {{ return {k} * common(); }}\n'
        (folder / f"part_{k}.cpp").write_text(text)
    return folder


def test_the_parts_of_a_folder_share_a_header(cache, tmp_path, monkeypatch):
    folder = folder_of_parts(tmp_path / "parts", "inline int common() { return 3; }\n")
    compiled = []
    run = toolchain.run_compiler
    monkeypatch.setattr(
        toolchain,
        "run_compiler",
        lambda arguments, cwd: (compiled.append(arguments), run(arguments, cwd)),
    )
    library = ctypes.CDLL(str(toolchain.folder_library("parts", folder, common="common.h")))
    last = toolchain._WORTH_A_PRECOMPILED_HEADER - 1
    assert getattr(library, f"part_{last}")() == 3 * last
    headers = [one for one in compiled if "c++-header" in one]
    assert len(headers) == (toolchain.find_compiler().kind == "gcc")
    compiled.clear()
    (folder / "part_1.cpp").write_text('extern "C" int part_1() { return 50; }\n')
    library = ctypes.CDLL(str(toolchain.folder_library("parts", folder, common="common.h")))
    assert library.part_1() == 50 and library.part_2() == 6
    assert len(compiled) == 2, "one part, without the header, and the library"


def test_an_error_in_a_shared_header_is_named(cache, tmp_path):
    folder = folder_of_parts(tmp_path / "parts", "int broken( {\n")
    with pytest.raises(toolchain.CompileFailed) as caught:
        toolchain.folder_library("parts", folder, common="common.h")
    assert "common.h:2" in caught.value.message
    assert "build-" not in caught.value.message


def test_a_cache_that_cannot_be_written_names_the_variable(tmp_path, monkeypatch):
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    monkeypatch.setenv("HALO_CACHE", str(blocked / "cache"))
    with pytest.raises(toolchain.CacheError, match="HALO_CACHE") as caught:
        toolchain.shared_library("seven", SEVEN)
    assert str(blocked) in str(caught.value)


def test_without_the_variable_the_users_cache_is_used(tmp_path, monkeypatch):
    monkeypatch.delenv("HALO_CACHE", raising=False)
    monkeypatch.setattr(toolchain.platformdirs, "user_cache_path", lambda name: tmp_path / name)
    assert toolchain.cache_directory() == tmp_path / "halo-labs"


def test_of_processes_that_want_one_library_at_once_one_builds_it(cache, tmp_path, monkeypatch):
    if shutil.which("sh") is None:
        pytest.skip("no shell to write a compiler in")
    # This compiler notes each compilation, and takes long enough for the others to come.
    compiler, log = tmp_path / "compiler", tmp_path / "log"
    real = shlex.join(toolchain.find_compiler().argv)
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *-shared*) echo once >> {log}; sleep 1;; esac\nexec {real} "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    program = (
        "import ctypes, sys; sys.path.insert(0, sys.argv[1]); from "
        "helpers.simulator.compile import toolchain\n"
        "path = toolchain.shared_library('seven', sys.argv[2])\n"
        "print(path, ctypes.CDLL(str(path)).answer())\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(ROOT), SEVEN], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = {process.communicate(timeout=120)[0].strip() for process in started}
    assert len(said) == 1
    assert said.pop().endswith(" 7")
    assert len(list(cache.iterdir())) == 1
    assert log.read_text().splitlines() == ["once"]


def test_openmp_is_refused_where_the_compiler_refuses_it(cache, monkeypatch):
    real = toolchain.find_compiler()
    if shutil.which("sh") is None:
        pytest.skip("needs a POSIX shell to wrap the compiler")
    wrapper = cache.parent / "no-openmp"
    quoted = " ".join(f"'{word}'" for word in real.argv)
    wrapper.write_text(
        '#!/bin/sh\ncase " $* " in *fopenmp*) echo no OpenMP >&2; exit 1;; '
        f'esac\nexec {quoted} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    assert toolchain.supports_openmp() is False
    assert ctypes.CDLL(str(toolchain.shared_library("seven", SEVEN))).answer() == 7


def test_openmp_that_is_reported_is_really_there(cache):
    if not toolchain.supports_openmp():
        pytest.skip("this compiler has no OpenMP")
    text = '#include <omp.h>\nextern "C" int most() { return omp_get_max_threads(); }\n'
    assert (
        ctypes.CDLL(str(toolchain.shared_library("omp", text, toolchain.OPENMP_FLAGS))).most() >= 1
    )
