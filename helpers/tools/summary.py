"""The summary of `python -m helpers.tools.run_labs`: a table, and a page with all figures.

The table has two lines for each lab and fits a terminal of 100 columns. The page is one file
without links to other files, so that it can be sent. It has the same table with the whole results,
and every figure of the labs.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from helpers import tables
from helpers.tools.outcomes import Outcome

COLUMNS = 100
PAGE = "summary.html"
RECORDED = (
    "The simulator has no clock: speedups above were recorded on a GPU (data/measured). "
    "Checks were made here."
)

_HEAD = ("lab", "verdict", "seconds", "device")
_INDENT = "    "
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; min-width: 55rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.75rem 0.35rem 0;
         border-bottom: 1px solid #8886; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.name, td.verdict { white-space: nowrap; }
td.failed { font-weight: bold; }
img { display: block; max-width: 100%; height: auto; margin: 1rem 0; background: white; }
pre { white-space: pre-wrap; }
"""


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a table with two lines for each lab, and a paragraph for each failed lab.

    The second line is the result of the lab, cut to the width of the table.
    """
    cells = [(o.name, o.verdict, f"{o.seconds:.1f}", o.device) for o in outcomes]
    head, *rows = tables.text(_HEAD, cells, left=(0, 1, 3)).splitlines()
    lines = [head, "-" * COLUMNS]
    for row, outcome in zip(rows, outcomes, strict=True):
        lines.append(row if len(row) <= COLUMNS else f"{row[: COLUMNS - 3]}...")
        if outcome.headline != "-":
            room = COLUMNS - len(_INDENT)
            lines.append(_INDENT + textwrap.shorten(outcome.headline, room, placeholder=" ..."))
    failed = [o for o in outcomes if o.failure is not None]
    lines += [f"\n{outcome.name} FAILED {outcome.failure}" for outcome in failed]
    return "\n".join(lines)


def write_page(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write the page into ``folder`` and return its path."""
    path = folder / PAGE
    path.write_text(page(outcomes), encoding="utf-8")
    return path


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page as HTML."""
    passed = sum(outcome.passed for outcome in outcomes)
    sentence = (
        f"{passed} of {len(outcomes)} labs passed, {datetime.now().astimezone():%Y-%m-%d %H:%M}."
    )
    if not all(outcome.on_gpu for outcome in outcomes):
        sentence += f" {RECORDED.replace('above', 'below')}"
    heads = "".join(
        f'<th scope="col"{" class=number" if head == "seconds" else ""}>{head}</th>'
        for head in (*_HEAD, "best speedup or counters")
    )
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Halo Labs: summary</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
        f"<h1>Halo Labs: summary</h1>\n<p>{html.escape(sentence)}</p>",
        f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>",
        *map(_row, outcomes),
        "</tbody>\n</table>",
        *(_section(outcome) for outcome in outcomes if outcome.figures or outcome.failure),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _row(outcome: Outcome) -> str:
    name = html.escape(outcome.name)
    if outcome.figures or outcome.failure:
        name = f'<a href="#{name}">{name}</a>'
    verdict = f"verdict{'' if outcome.passed else ' failed'}"
    return (
        f'<tr><td class="name">{name}</td><td class="{verdict}">{outcome.verdict}</td>'
        f'<td class="number">{outcome.seconds:.1f}</td><td>{html.escape(outcome.device)}</td>'
        f"<td>{html.escape(outcome.headline)}</td></tr>"
    )


def _section(outcome: Outcome) -> str:
    name = html.escape(outcome.name)
    parts = [f'<h2 id="{name}">{name}</h2>']
    if outcome.failure is not None:
        parts.append(f"<pre>FAILED {html.escape(str(outcome.failure))}</pre>")
    elif outcome.headline != "-":
        parts.append(f"<p>{html.escape(outcome.headline)}</p>")
    for number, figure in enumerate(outcome.figures, 1):
        alt = f"Figure {number} of {len(outcome.figures)} of {name}"
        parts.append(f'<img src="data:image/png;base64,{figure}" alt="{alt}">')
    return "\n".join(parts)
