"""Numbers in prose that come from records: whether they still agree, and filling them in.

    python -m helpers.tools.claims            # print the numbers that their records contradict
    python -m helpers.tools.claims --write    # fill the records' numbers in

A number in a text of Markdown, or in a text cell of a lab, has an invisible mark behind it:

    conv2d_basic takes 6.13<!-- = 107_layer(op time; layer=layer 1; batch=10000) --> ms

Between "= " and the end stands what the number is: a field of a row of a record in data/measured/,
a number, or several of these joined by * / + - in the usual order.

    107_layer(op time; layer=layer 1; batch=10000)          the row's median_ms
    112_register(ratio; layer=layer 1).high                  another field of a row
    min 107_layer(cuDNN (PyTorch, FP32); layer=layer 1)      of several rows the least; also: max
    min benchmark_tensor(way=halves; layer=layer 1)          rows of any series
    100 * 104_deeper_tiles(copy) / 104_deeper_tiles(conv1d_vector)         a share in percent

A page that is read as a text, too, has short marks, and says at its end what they are:

    conv2d_basic takes 6.13<!--basic--> ms
    ...
    <!-- claims
    basic = 107_layer(op time; layer=layer 1; batch=10000)
    -->

In the parentheses stand the row's series and conditions NAME=VALUE, with semicolons between them.
The number keeps the decimals that it has in the text. The exit status is 0, 1 if a number
disagrees, and 2 for a mark that cannot be read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from helpers import labs
from helpers.bench import results
from helpers.bench.results import ROOT

_MARK = re.compile(
    r"(?P<number>\d[\d,]*(?:\.\d+)?)?\**<!--(?: = (?P<what>.*?) |(?P<name>[a-z][\w-]*))-->",
    re.DOTALL,
)
_NAMES = re.compile(r"<!-- claims\n(?P<lines>.*?)-->", re.DOTALL)
_TERM = re.compile(
    r"\s*(?:(?P<constant>\d+(?:\.\d+)?)(?![\w(])"
    r"|(?:(?P<of_several>min|max) )?(?P<record>[\w-]+)\((?P<row>(?:[^()]|\([^()]*\))*)\)"
    r"(?:\.(?P<field>\w+))?)\s*"
)
_FIELD = "median_ms"


class ClaimError(ValueError):
    """A mark that cannot be read, or whose rows are not there; the message says which and why."""


@dataclass(frozen=True)
class Claim:
    """A marked number. where: file and, in a notebook, the cell's id; text: the number as written;
    value: the record's, written in the same way.
    """

    where: str
    text: str
    value: str
    what: str

    @property
    def agrees(self) -> bool:
        return self.text == self.value


def value_of(what: str) -> float:
    """Return what a mark stands for. Raises ClaimError."""
    total, product, join, at = 0.0, 0.0, "+", 0
    while True:
        term = _TERM.match(what, at)
        if term is None:
            raise ClaimError(f"{what!r} cannot be read from {what[at:]!r} on")
        value, at = _value_of_term(term), term.end()
        if join in "+-":
            total, product = total + product, value if join == "+" else -value
        else:
            product = product * value if join == "*" else product / value
        if at == len(what):
            return total + product
        join, at = what[at], at + 1
        if join not in "*/+-":
            raise ClaimError(f"{what!r} needs one of * / + - before {what[at - 1 :]!r}")


def _value_of_term(term: re.Match[str]) -> float:
    if term["constant"]:
        return float(term["constant"])
    field = term["field"] or _FIELD
    conditions = [part.strip() for part in term["row"].split(";")]
    if "=" not in conditions[0]:
        conditions[0] = f"series={conditions[0]}"
    wanted = {}
    for condition in conditions:
        name, equals, value = condition.partition("=")
        if not equals:
            raise ClaimError(f"{condition!r} is no condition NAME=VALUE, in {term[0].strip()!r}")
        wanted[name] = value
    values = [
        row[field]
        for row in _rows(term["record"])
        if row.get(field) is not None
        and all(str(row.get(name)) == value for name, value in wanted.items())
    ]
    if not values:
        raise ClaimError(f"no row of the record has a field {field} and is {term[0].strip()!r}")
    if len(set(values)) > 1 and not term["of_several"]:
        raise ClaimError(
            f"{len(values)} rows are {term[0].strip()!r}: add conditions, or write min or max "
            "before it"
        )
    return float((max if term["of_several"] == "max" else min)(values))


@lru_cache(maxsize=64)
def _rows(record: str) -> list[dict[str, Any]]:
    try:
        one = results.load(results.MEASURED / f"{record}.json")
    except results.RecordError as error:
        raise ClaimError(str(error)) from None
    rows = one.rows()
    # Rows of an earlier form can be named in either form.
    return rows + [row for row in one.comparable() if row not in rows]


def written(value: float, like: str) -> str:
    """Return a number with as many decimals as `like` has, and with its commas."""
    decimals = len(like.partition(".")[2])
    return f"{value:,.{decimals}f}"


def filled(text: str, where: str) -> tuple[str, list[Claim]]:
    """Return the text with the records' numbers, and its claims. Raises ClaimError."""
    claims: list[Claim] = []
    names = _names(text, where)
    unused = set(names)

    def one(mark: re.Match[str]) -> str:
        if mark["number"] is None:
            raise ClaimError(f"{where}: there is no number before {mark[0]!r}")
        what = mark["what"]
        if mark["name"]:
            if mark["name"] not in names:
                raise ClaimError(f"{where}: no line of `<!-- claims` says what {mark[0]!r} is")
            what = names[mark["name"]]
            unused.discard(mark["name"])
        try:
            value = written(value_of(what), mark["number"])
        except (ClaimError, ZeroDivisionError) as error:
            raise ClaimError(f"{where}: {error}") from None
        claims.append(Claim(where, mark["number"], value, what))
        return mark[0].replace(mark["number"], value, 1)

    after = _MARK.sub(one, text)
    if unused:
        raise ClaimError(f"{where}: no number has the mark <!--{min(unused)}-->")
    return after, claims


def _names(text: str, where: str) -> dict[str, str]:
    """The short marks that a page explains. Raises ClaimError for a line that explains none."""
    block = _NAMES.search(text)
    names = {}
    for line in block["lines"].splitlines() if block else ():
        name, equals, what = line.partition(" = ")
        if not equals:
            raise ClaimError(f"{where}: {line!r} is no line NAME = WHAT of `<!-- claims`")
        names[name] = what
    return names


def files(root: Path = ROOT) -> Iterator[Path]:
    """Yield the files that may have marks: pages at the top and in four folders, and the labs."""
    for folder in (root, *(root / name for name in ("data", "helpers", "kernels", "labs"))):
        yield from sorted(folder.glob("*.md"))
    yield from labs.every(root / "labs")


def claims_of(path: Path, root: Path = ROOT, write: bool = False) -> list[Claim]:
    """Return the claims of a file; write: fill the records' numbers in. Raises ClaimError."""
    name, before = str(path.relative_to(root)), path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        after, claims = filled(before, name)
    else:
        notebook, claims = json.loads(before), []
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text, of_cell = filled("".join(cell["source"]), f"{name}, cell {cell['id']}")
                cell["source"] = text.splitlines(keepends=True)
                claims += of_cell
        after = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    if write and any(not claim.agrees for claim in claims):
        path.write_text(after, encoding="utf-8")
    return claims


def main(argv: Sequence[str] | None = None) -> int:
    """Compare or fill in; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.claims",
        description="Compare numbers in prose with the records that they come from.",
    )
    parser.add_argument("--write", action="store_true", help="fill the records' numbers in")
    write = parser.parse_args(argv).write
    try:
        claims = [claim for path in files() for claim in claims_of(path, write=write)]
    except ClaimError as error:
        print(error, file=sys.stderr)
        return 2
    apart = [claim for claim in claims if not claim.agrees]
    for claim in apart:
        said = "was" if write else "says"
        print(f"{claim.where}: {said} {claim.text}, the record says {claim.value}: {claim.what}")
    print(f"{len(claims)} numbers with a mark, {len(apart)} {'filled in' if write else 'disagree'}")
    return 1 if apart and not write else 0


if __name__ == "__main__":
    sys.exit(main())
