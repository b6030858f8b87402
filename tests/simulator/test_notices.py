"""Notices of work that takes long: said while it lasts, never about work that ends soon."""

from __future__ import annotations

import sys
import threading

import comm
import pytest

from helpers.simulator.compile import compiler, notices


class Recorded:
    """A comm that keeps what it is given, and says when it was opened."""

    def __init__(self):
        self.texts, self.closed, self.opened = [], 0, threading.Event()

    def create(self, target_name, data):
        assert target_name == notices.TARGET
        self.send(data)
        self.opened.set()
        return self

    def send(self, data):
        self.texts.append(data["text"])

    def close(self):
        self.closed += 1


@pytest.fixture
def frontend(monkeypatch):
    recorded = Recorded()
    monkeypatch.setattr(notices, "_in_a_notebook", lambda: True)
    monkeypatch.setattr(notices, "SOON_S", 0.01)
    monkeypatch.setattr(notices, "EVERY_S", 0.0)
    monkeypatch.setattr(comm, "create_comm", recorded.create)
    return recorded


def test_long_work_is_said_and_then_taken_away(frontend):
    with notices.during("Compiling"):
        assert frontend.opened.wait(10)
        assert frontend.closed == 0
    assert frontend.texts == ["Compiling"] and frontend.closed == 1


def test_work_that_fails_takes_its_notice_away(frontend):
    with pytest.raises(KeyError), notices.during("Compiling"):
        frontend.opened.wait(10)
        raise KeyError
    assert frontend.closed == 1


def test_short_work_is_not_said(frontend, monkeypatch):
    monkeypatch.setattr(notices, "SOON_S", 60)
    with notices.during("Compiling"):
        pass
    assert frontend.texts == [] and frontend.closed == 0


def test_items_are_counted(frontend):
    items = []
    for item in notices.counted("Measuring", "abc"):
        frontend.opened.wait(10)
        items.append(item)
    assert items == list("abc")
    assert frontend.texts[-1] == "Measuring: 3 so far" and frontend.closed == 1


def test_a_front_end_that_fails_does_not_end_the_work(frontend, monkeypatch):
    tried = threading.Event()

    def refuse(**_):
        tried.set()
        raise RuntimeError("no thread may send")

    monkeypatch.setattr(comm, "create_comm", refuse)
    with notices.during("Compiling"):
        assert tried.wait(10)


class Terminal:
    def __init__(self, is_terminal):
        self.text, self.isatty, self.written = "", lambda: is_terminal, threading.Event()

    def write(self, text):
        self.text += text
        self.written.set()

    def flush(self):
        pass


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_shows_a_line_and_a_file_nothing(monkeypatch, is_terminal):
    stream = Terminal(is_terminal)
    monkeypatch.setattr(notices, "SOON_S", 0.01)
    monkeypatch.setattr(sys, "stderr", stream)
    with notices.during("Compiling"):
        stream.written.wait(10 if is_terminal else 0.2)
    assert ("Compiling ..." in stream.text) == is_terminal


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("#include <cub/cub.cuh>\n", "with <cub/cub.cuh>, for the first time: up to a minute"),
        ('#include "thrust/sort.h"\n', "with <thrust/sort.h>, for the first time: up to a minute"),
        ("// #include <cub/cub.cuh>\n", "with its headers, for the first time"),
        ("#include <cuda_fp16.h>\n", "with its headers, for the first time"),
    ],
)
def test_a_large_header_is_named_while_it_compiles(source, words):
    assert compiler.notice_of(source, "k.cu") == f"Compiling k.cu {words}"
