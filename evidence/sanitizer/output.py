"""The findings in what compute-sanitizer, nvcc and a kernel's assert print."""

from __future__ import annotations

import re
from collections.abc import Iterable

from helpers.tools.corpus import Said

LONGEST_TEXT = 160

# The kinds of a tool's headline. "Barrier error detected" stands for barrier and warp errors, so
# that it means any of their kinds.
_HEADLINES = (
    (r"is misaligned|misaligned address", ("misaligned",)),
    (
        r"Invalid __\w+__ (read|write|atomic)|Invalid (read|write)|out of "
        r"bounds|illegal memory access",
        ("out-of-bounds",),
    ),
    (r"Race reported|hazard", ("race",)),
    (
        r"Uninitialized (__\w+__ )?memory (read|access)|uninitialized|Uninitialized",
        ("uninitialised",),
    ),
    (r"Barrier error|Divergent thread|Invalid arguments", ("barrier", "mask", "shuffle")),
    (r"Assertion|device-side assert|ERROR_ASSERT", ("assert",)),
    (
        r"invalid argument|INVALID_VALUE|resources|too much shared "
        r"data|OUT_OF_RESOURCES|invalid configuration|LaunchError",
        ("resources",),
    ),
)
_HOST_READS_NOTHING = r"Host API uninitialized memory access|Host API memory access"


def said_by(output: str, file: str) -> tuple[Said, ...]:
    """Return the findings in the output of a tool, of nvcc, or of a kernel's assert.

    A finding has the lines of `file` that it names. Its kind is one word, or several joined by "|"
    if the tool does not distinguish them. Notes that are no findings are dropped.
    """
    said: list[Said] = []
    for block in _blocks(output):
        head = block[0]
        kinds = ("unwritten",) if re.search(_HOST_READS_NOTHING, head) else _kinds("\n".join(block))
        if not kinds or re.match(r"INFO|Info|\w+ SUMMARY", head):
            continue
        numbers = re.findall(rf"{re.escape(file)}[:(](\d+)", "\n".join(block))
        finding = Said(
            "|".join(kinds), tuple(dict.fromkeys(int(n) for n in numbers)), head[:LONGEST_TEXT]
        )
        if finding not in said:
            said.append(finding)
    return tuple(said)


def _blocks(output: str) -> Iterable[list[str]]:
    """Yield messages: a headline with its indented lines, or a line of another program."""
    block: list[str] = []
    for line in output.splitlines():
        text = re.sub(r"^=========( |$)", "", line)
        continues = line.startswith("=========") and text.startswith(" ") and block
        if continues:
            block.append(text.strip())
            continue
        if block:
            yield block
        block = [text.strip()] if text.strip() else []
    if block:
        yield block


def _kinds(text: str) -> tuple[str, ...]:
    return next((kinds for pattern, kinds in _HEADLINES if re.search(pattern, text)), ())


def headlines(output: str) -> list[str]:
    """Return the beginnings of a tool's messages, to read later those without a known kind."""
    marked = (
        line.removeprefix("=========")
        for line in output.splitlines()
        if line.startswith("=========")
    )
    heads = [
        line.strip()[:LONGEST_TEXT] for line in marked if line.strip() and not line.startswith("  ")
    ]
    return list(
        dict.fromkeys(h for h in heads if not re.match(r"COMPUTE-SANITIZER|\w+ SUMMARY: 0", h))
    )[:6]
