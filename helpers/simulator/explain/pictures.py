"""Pictures of a launch: `Why` shows the terms of a wrong output, `Replay` the launch step by step.

Each is HTML with its data inside: no kernel is needed to look at it. Without JavaScript it shows
its sentence, a drawing and a table.
"""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from helpers.simulator.explain import words
from helpers.simulator.explain.scenes import (
    Frame,
    Number,
    Order,
    Race,
    WrongCell,
)

PAGES = Path(__file__).parent / "pages"
MOST_BYTES = 60_000  # of a picture
MOST_FRAMES = 120  # of an order
MOST_THREADS, MOST_CELLS = 64, 64  # of a replay; cells of one array
_STILL_FRAMES = 16  # of an order, in the table
BEFORE, AFTER = 20, 10  # frames around a race, where there are too many



class TooLarge(ValueError):
    """A launch has more threads or cells than a picture can show."""


@dataclass(frozen=True)
class Window:
    """Cells of an array that a picture shows. kind: in words, such as "input"; shape: rows and
    columns of the window; first: its first row and column; whole: rows and columns of the array;
    values: of the window, row by row; heads: texts above it, each with the columns it spans.
    """

    name: str
    kind: str
    shape: tuple[int, int]
    values: tuple[Number, ...]
    first: tuple[int, int] = (0, 0)
    whole: tuple[int, int] | None = None
    heads: tuple[tuple[str, int], ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        made: dict[str, Any] = {
            "name": self.name,
            "shape": self.shape,
            "from": self.first,
            "of": self.whole or self.shape,
            "values": list(map(_plain, self.values)),
        }
        return made | ({"heads": self.heads} if self.heads else {})


@dataclass(frozen=True, repr=False)
class Why:
    """The picture of wrong outputs. inputs, output: windows; want: the right values of the output's
    window; wrong: flat indices of all wrong cells; causes: those that are explained, at least one.
    """

    sentence: str
    evidence: tuple[str, ...]
    about: str
    source: tuple[str, ...]
    inputs: tuple[Window, ...]
    output: Window
    want: tuple[Number, ...]
    wrong: tuple[int, ...]
    causes: tuple[WrongCell, ...]
    first_line: int = 1

    def html(self) -> str:
        """Return the picture. Fewer causes are shown where all would take more than MOST_BYTES.
        Raises TooLarge.
        """
        for count in range(len(self.causes), 0, -1):
            made = _page("why", self._data(self.causes[:count]), self._still())
            if len(made) <= MOST_BYTES:
                return made
        raise TooLarge("the arrays of this launch are too large for a picture")

    _repr_html_ = html

    def __repr__(self) -> str:
        return "\n".join((self.sentence, *self.evidence, self.about))

    def _data(self, causes: Iterable[WrongCell]) -> dict[str, Any]:
        inputs = [one.plain() | {"role": "input", "what": one.kind} for one in self.inputs]
        output = self.output.plain() | {
            "role": "output",
            "what": self.output.kind,
            "want": list(map(_plain, self.want)),
            "wrong": self.wrong,
        }
        used = {name for one in self.causes for term in one.terms for name, _ in term.cells}
        main = max(
            (one for one in self.inputs if one.name in used),
            key=lambda one: math.prod(one.whole or one.shape),
            default=None,
        )
        return {
            "say": self.sentence,
            "evidence": self.evidence,
            "about": self.about,
            "src": self.source,
            "line0": self.first_line,
            "arrays": [*inputs, output],
            "main": main.name if main else "",
            "causes": [
                {
                    "cell": one.cell,
                    "got": _plain(one.got),
                    "want": _plain(one.want),
                    "terms": [(t.text, t.state, _plain(t.value), t.cells) for t in one.terms],
                    "who": one.thread,
                    "lines": one.lines,
                    "note": one.note,
                    "beside": {str(line): text for line, text in one.beside.items()},
                    "skip": one.skipped,
                }
                for one in causes
            ],
        }

    def _still(self) -> str:
        first = self.causes[0]
        states = {cell: term.state for term in first.terms for cell in term.cells}
        rows = [
            (one, {k: states.get((one.name, k), "") for k in _flat(one)}) for one in self.inputs
        ]
        marks = {k: "bad" for k in self.wrong} | {first.cell: "hot"}
        drawing = _drawing([*rows, (self.output, marks)])
        table = _table(
            words.WHY_HEAD,
            [words.why_row(self.output.name, one) for one in self.causes],
        )
        text = "".join(f"<p>{_marked(one)}</p>" for one in self.evidence)
        return (
            f"<p><b>{_marked(self.sentence)}</b></p>{text}"
            f"{_image(drawing, words.why_alt(self.output.name, first))}{table}"
            f"{_numbered(self.source, self.first_line)}"
        )


@dataclass(frozen=True, repr=False)
class Replay:
    """The picture of a launch. threads: how words name each; layout: rows and columns of the
    threads; memory: arrays before the launch; want: the right values of one of them, by its name.
    """

    title: str
    about: str
    source: tuple[str, ...]
    threads: tuple[str, ...]
    layout: tuple[int, int]
    variables: tuple[str, ...]
    memory: tuple[Window, ...]
    orders: tuple[Order, ...]
    want: tuple[str, tuple[Number, ...]] | None = None
    first_line: int = 1

    def html(self) -> str:
        """Return the picture; of too many frames those around the first race, or the first ones.
        Raises TooLarge.
        """
        if len(self.threads) > MOST_THREADS:
            raise TooLarge(
                f"the launch has {len(self.threads):,} threads, and a replay shows at most "
                f"{MOST_THREADS}: launch fewer"
            )
        for one in self.memory:
            if len(one.values) > MOST_CELLS * (16 if one.shape[0] > 1 else 1):
                raise TooLarge(
                    f"{one.name} has {len(one.values):,} cells, and a replay shows at most "
                    f"{MOST_CELLS}: launch with a smaller array"
                )
        most = MOST_FRAMES
        while most > 2:
            made = _page("replay", self._data(most), self._still())
            if len(made) <= MOST_BYTES:
                return made
            most = most * 3 // 4
        raise TooLarge("the launch is too large for a picture")

    _repr_html_ = html

    def __repr__(self) -> str:
        steps = [f"{k}. {text}" for k, _, text in self._steps()]
        return "\n".join((self.title, self.about, *steps))

    def _steps(self) -> list[tuple[str, str, str]]:
        """Return the frames of an order with a race, if there is one, in words: number, threads,
        and what happens.
        """
        order = self._most_telling
        return [
            (str(k), words.threads_of(frame.threads, self.threads), self.words_of(frame))
            for k, frame in enumerate(_cut(order.frames, _STILL_FRAMES), 1)
        ]

    def words_of(self, frame: Frame) -> str:
        """Return what happens in a frame: its first race, if it has one."""
        return self._race(frame.races[0]) if frame.races else words.of_frame(frame, self.threads)

    @property
    def _most_telling(self) -> Order:
        return next((o for o in self.orders if any(f.races for f in o.frames)), self.orders[0])

    def _data(self, most: int) -> dict[str, Any]:
        short = [str(k) for k in range(len(self.threads))]
        data: dict[str, Any] = {
            "title": self.title,
            "about": self.about,
            "src": self.source,
            "line0": self.first_line,
            "threads": self.threads,
            "short": short,
            "layout": self.layout,
            "vars": self.variables,
            "mem": [one.plain() | {"in": one.kind} for one in self.memory],
            "before": words.BEFORE_LAUNCH,
            "luck": words.by_luck(any(f.races for o in self.orders for f in o.frames)),
            "orders": [
                {
                    "name": one.name,
                    "note": one.note,
                    "end": words.end_of(one),
                    "frames": [self._frame(frame) for frame in _cut(one.frames, most)],
                }
                for one in self.orders
            ],
        }
        if self.want is not None:
            name, values = self.want
            data["want"] = {"name": name, "values": list(map(_plain, values))}
        return data

    def _frame(self, frame: Frame) -> dict[str, Any]:
        mask = sum(1 << thread for thread in frame.threads)
        made: dict[str, Any] = {"l": frame.line, "m": f"{mask:x}"}
        made["say"] = words.of_frame(frame, self.threads)
        if frame.variables:
            made["set"] = {
                name: _list([_plain(v) for v in values]) for name, values in frame.variables.items()
            }
        if frame.accesses:
            made["do"] = [
                (
                    one.array,
                    one.kind,
                    _list(one.cells),
                    *([_list([_plain(v) for v in one.values])] if one.kind == "w" else []),
                )
                for one in frame.accesses
            ]
        if frame.races:
            made["race"] = [
                {
                    "t": one.thread,
                    "u": one.other,
                    "a": one.array,
                    "c": one.cell,
                    "lines": one.lines,
                    "kinds": one.kinds,
                    "later": one.is_later,
                    "say": self._race(one),
                }
                for one in frame.races
            ]
        return made

    def _race(self, race: Race) -> str:
        shapes = {one.name: one.shape for one in self.memory}
        rows, columns = shapes.get(race.array, (1, 1))
        index = divmod(race.cell, columns) if rows > 1 else (race.cell,)
        return words.of_race(race, self.threads, words.cell(race.array, index))

    def memory_after(self, frames: Iterable[Frame]) -> list[Window]:
        """Return the arrays as these frames leave them."""
        held = {one.name: list(one.values) for one in self.memory}
        for access in (access for frame in frames for access in frame.accesses):
            if access.kind == "w" and access.array in held:
                for at, value in zip(access.cells, access.values, strict=True):
                    if at is not None:
                        held[access.array][at] = value
        return [replace(one, values=tuple(held[one.name])) for one in self.memory]

    def _still(self) -> str:
        order = self._most_telling
        first = next((k for k, frame in enumerate(order.frames) if frame.races), None)
        race = None if first is None else order.frames[first].races[0]
        memory = self.memory_after(order.frames[: None if first is None else first + 1])
        rows: list[tuple[Window, Mapping[int, str]]] = [
            (one, {race.cell: "hot"} if race and race.array == one.name else {}) for one in memory
        ]
        names = Window("threads", "", self.layout, (*map(int, range(len(self.threads))),))
        racing = {race.thread: "hot", race.other: "hot"} if race else {}
        rows.insert(len(rows) // 2, (names, racing))
        sentence = self._race(race) if race else self.about
        table = _table(words.REPLAY_HEAD, self._steps())
        return (
            f"<p><b>{_marked(self.title)}</b></p><p>{_marked(sentence)}</p>"
            f"{_image(_drawing(rows), sentence)}{table}{_numbered(self.source, self.first_line)}"
        )


def _cut(frames: Sequence[Frame], most: int) -> Sequence[Frame]:
    """Return the frames around the first race, or the first ones, if there are more than `most`."""
    if len(frames) <= most:
        return frames
    at = next((k for k, frame in enumerate(frames) if frame.races), 0)
    before = min(BEFORE, most * 2 // 3)
    start = max(0, min(at - before, len(frames) - most))
    return frames[start : start + max(most, before + AFTER if at else most)][:most]


# ---- HTML ----


def document(title: str, picture: str) -> str:
    """Return a page of its own that shows a picture."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        '<style>:root{color-scheme:light dark}body{max-width:60rem;margin:1rem auto;padding:0 8px;'
        f'font-family:sans-serif}}</style>{picture}</html>'
    )


def _page(name: str, data: Mapping[str, Any], still: str) -> str:
    """Return a picture: what is shown without JavaScript, and the data and code that replace it."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    # A notebook may show the same output twice, so each element starts once.
    start = (
        f"for(const root of document.querySelectorAll('[data-halo=\"{key}\"]:not([data-live])'))"
        "{root.dataset.live=1;root.querySelector('.still').hidden=true;"
        "start(root,JSON.parse(root.querySelector('.data').textContent))}"
    )
    return (
        f'<section class="halo" data-halo="{key}"><style>{_style()}</style>'
        f'<div class="still">{still}</div>'
        f'<script type="application/json" class="data">{text}</script>'
        f"<script>(()=>{{{_script('picture')}{_script(name)}{start}}})();</script></section>"
    )


@cache
def _script(name: str) -> str:
    """Return JavaScript without its comments and indentation."""
    lines = (PAGES / f"{name}.js").read_text(encoding="utf-8").splitlines()
    return "\n".join(s for line in lines if (s := line.strip()) and not s.startswith("//")) + "\n"


@cache
def _style() -> str:
    return (PAGES / "picture.css").read_text(encoding="utf-8").replace("\n", "")


def _plain(value: Number) -> Number | str:
    """Return a number that JSON can hold, with 7 digits at most."""
    if value is None or isinstance(value, (int, str)):
        return value
    if math.isnan(value) or math.isinf(value):
        return str(value)
    short = float(f"{value:.7g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def _list(values: Sequence[Any]) -> Any:
    """Return a list, as its start and step if it is a regular one."""
    if len(values) > 3 and all(isinstance(one, int) for one in values):
        step = values[1] - values[0]
        if all(b - a == step for a, b in itertools.pairwise(values)):
            return {"from": values[0], "by": step}
    return list(values)


def _flat(one: Window) -> list[int]:
    """Return the flat index, in the whole array, of each cell of a window."""
    columns = (one.whole or one.shape)[1]
    return [
        (one.first[0] + r) * columns + one.first[1] + c
        for r in range(one.shape[0])
        for c in range(one.shape[1])
    ]


_COLOURS = {  # fill, edge, its width, its dashes
    "": ("#fff", "#7c848c", 1, ""),
    "added": ("#fbe6d0", "#9a5200", 2, ""),
    "missing": ("#fff", "#b3261e", 2, "5 4"),
    "surplus": ("#fde8e6", "#b3261e", 3, ""),
    "bad": ("#fde8e6", "#b3261e", 2, ""),
    "hot": ("#fde8e6", "#b3261e", 4, ""),
}


_DRAWN_ROWS, _DRAWN_COLUMNS = 6, 16  # of a window, in the drawing


def _drawing(rows: Sequence[tuple[Window, Mapping[int, str]]]) -> str:
    """Return SVG of windows below each other: the cells around the first marked one. marks: states
    of cells, by flat index.
    """
    parts, y, widest = [], 10, 0
    for one, marks in rows:
        flat = _flat(one)
        marked = [k for k, cell in enumerate(flat) if marks.get(cell)]
        at = max(marked, key=lambda k: marks[flat[k]] == "hot") if marked else 0
        top = _start(at // one.shape[1], one.shape[0], _DRAWN_ROWS)
        left = _start(at % one.shape[1], one.shape[1], _DRAWN_COLUMNS)
        height, width = min(one.shape[0], _DRAWN_ROWS), min(one.shape[1], _DRAWN_COLUMNS)
        parts.append(f'<text x="6" y="{y + 33}"><tspan font-weight="bold">{html.escape(one.name)}')
        parts.append(f'</tspan></text><text x="6" y="{y + 47}" class="s">{one.kind}</text>')
        boxes, heads, values = [], [], []
        for c in range(width):
            heads.append(f'<text x="{104 + 44 * c}" y="{y + 12}">{one.first[1] + left + c}</text>')
        for r in range(height):
            down = y + 16 + 28 * r
            if one.shape[0] > 1:
                heads.append(f'<text x="76" y="{down + 16}">{one.first[0] + top + r}</text>')
            for c in range(width):
                k = (top + r) * one.shape[1] + left + c
                fill, edge, line, dashes = _COLOURS[marks.get(flat[k], "")]
                box = f"M{84 + 44 * c} {down}h40v24h-40z"
                boxes.append(
                    f'<path d="{box}" fill="{fill}" stroke="{edge}" stroke-width="{line}"'
                    + (f' stroke-dasharray="{dashes}"/>' if dashes else "/>")
                    if marks.get(flat[k])
                    else f'<path d="{box}"/>'
                )
                text = _fitting(one.values[k])
                values.append(f'<text x="{104 + 44 * c}" y="{down + 16}">{text}</text>')
        parts.append(f'<g fill="#fff" stroke="#7c848c">{"".join(boxes)}</g>')
        parts.append(f'<g class="m s">{"".join(heads)}</g><g class="m">{"".join(values)}</g>')
        y += 40 + 28 * height
        widest = max(widest, 84 + 44 * width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest + 8} {y}" '
        f'width="{widest + 8}" height="{y}" font-family="sans-serif" font-size="12" '
        'fill="#1f2328"><style>.s{font-size:10px;fill:#57606a}.m{text-anchor:middle}</style>'
        f'<rect width="100%" height="100%" fill="#f5f6f8"/>{"".join(parts)}</svg>'
    )


def _fitting(value: Number) -> str:
    """Return a number as text that fits into a drawn cell: three digits where all are too many."""
    text = words.number(value)
    if len(text) <= 6 or not isinstance(value, (int, float)):
        return text
    return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")


def _start(at: int, length: int, shown: int) -> int:
    """Return where a part of `shown` begins so that `at` is near its middle."""
    return max(0, min(at - shown // 2, length - shown))


def _image(svg: str, alt: str) -> str:
    # JupyterLab turns SVG of an output that is not trusted into text, and leaves images alone.
    data = base64.b64encode(svg.encode()).decode()
    picture = f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}">'
    return f'<div tabindex="0" role="region" aria-label="picture">{picture}</div>'


def _marked(text: str) -> str:
    """Return HTML of a text in which `...` is code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(text))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{html.escape(one)}</th>" for one in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(one)}</td>" for one in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div tabindex="0" role="region" aria-label="table">{table}</div>'


def _numbered(source: Sequence[str], first: int) -> str:
    lines = "\n".join(f"{k:3}  {line}" for k, line in enumerate(source, first))
    return f"<pre>{html.escape(lines)}</pre>"
