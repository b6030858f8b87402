"""Marks the registers that a function may read before anything has set them.

    float sum;
    for (int k = 0; k < n; ++k) sum += x[k];

The compiler gives `sum` a register, and no instruction sets it before the loop. `with_marks` sets
it at the start of the function, by a load from local memory that nothing has written. So the
machine follows the value as it follows every other unwritten one, and reports its use. The load has
the source line of the first use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .functions import with_bodies

_DECLARED = re.compile(r"\.reg\s+\.(\w+)\s+(%\w+?)<\d+>;")
_REGISTER = re.compile(r"%[A-Za-z]+\d+\b(?!\.)")
_LABEL = re.compile(r"^(\$?[\w$]+):\s*(.*)$")
_GUARD = re.compile(r"^@!?(%\w+)\s+")
_LOC = re.compile(r"^\.loc\s")
# Instructions whose first operand is no result.
_NO_RESULT = ("st", "red", "bar", "barrier", "bra", "brx", "call", "ret", "exit", "trap", "membar",
              "fence", "prefetch", "cp", "mbarrier", "nanosleep", "brkpt", "wgmma")
# A declaration without a value, which begins a statement: `float low, high`, `Node* next`.
_WITHOUT_VALUE = re.compile(
    r"(?!(?:return|delete|goto|typedef|using|else|case|throw|struct|class|enum|namespace|extern"
    r"|template|public|private|__shared__|__constant__|__device__)\b)"
    r"(?:(?:const|volatile|unsigned|signed|long|short|register|constexpr|static)\s+)*"
    r"[A-Za-z_][\w:]*(?:<[^<>;]*>)?(?:\s*[*&]+\s*|\s+)(?P<names>[A-Za-z_*][\w\s,*=.+-]*)"
)
_CELL = "__unset_register"  # the variable that nothing writes
_LOADABLE = {"b16": 2, "b32": 4, "b64": 8, "f32": 4, "f64": 8}


@dataclass
class _Statement:
    """An instruction. leads: the labels that it may go to; ends: nothing follows it."""

    name: str
    uses: frozenset[str]
    results: frozenset[str]
    guarded: bool
    loc: str
    leads: tuple[str, ...] = ()
    ends: bool = False


@dataclass
class _Code:
    """The instructions of a function, and the instruction that stands behind each label."""

    statements: list[_Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)


def may_leave_unset(source: str) -> bool:
    """Return whether a source, without comments, declares a variable without a value."""
    for statement in re.split(r"[;{}]", source):
        # With a bracket it is a call, a function's head or a loop's.
        found = None if "(" in statement else _WITHOUT_VALUE.fullmatch(statement.strip())
        if found is not None and any("=" not in one for one in found["names"].split(",")):
            return True
    return False


def marks(ptx: str) -> int:
    """Return how many marks `with_marks` has made."""
    return len(re.findall(rf"\[{_CELL}\];", ptx))


def frame_bytes(ptx: str) -> int:
    """Return the bytes of local memory of all functions."""
    return sum(map(int, re.findall(r"__local_depot\d+\[(\d+)\];", ptx)))


def with_marks(ptx: str) -> str:
    """Return the PTX with marks on the registers that its functions may read unset."""
    return with_bodies(ptx, lambda _, body: _marked(body))


def _marked(body: str) -> str:
    types = {prefix: kind for kind, prefix in _DECLARED.findall(body)}
    code = _read(body, types)
    chosen = [
        (name, kind, loc)
        for name in sorted(_unset(code))
        if (kind := types[_prefix(name)]) in _LOADABLE
        and (loc := _first_use(code, name)) is not None
    ]
    if not chosen:
        return body
    lines = body.split("\n")
    last = max(k for k, line in enumerate(lines) if _DECLARED.search(line))
    made = [f"\t.local .align 8 .b8 {_CELL}[8];"]
    for name, kind, loc in chosen:
        made += [f"\t{loc}", f"\tld.local.{kind} \t{name}, [{_CELL}];"]
    return "\n".join([*lines[: last + 1], *made, *lines[last + 1 :]])


def _prefix(register: str) -> str:
    return register.rstrip("0123456789")


def _read(body: str, types: dict[str, str]) -> _Code:
    code, loc, text = _Code(), "", ""
    for line in body.split("\n"):
        line = line.partition("//")[0].strip()
        if _LOC.match(line):
            loc = line
            continue
        text = f"{text} {line}".strip()
        while (label := _LABEL.match(text)) and not text.startswith("::"):
            code.labels[label[1]] = len(code.statements)
            text = label[2]
        while ";" in text:
            one, _, text = text.partition(";")
            _take(code, one.strip().lstrip("{} "), loc, types)
            text = text.strip()
        text = text.lstrip("{} ")
    return code


def _take(code: _Code, text: str, loc: str, types: dict[str, str]) -> None:
    if not text or text.startswith("."):
        if text.startswith(".branchtargets") and code.labels:
            name = max(code.labels, key=lambda one: code.labels[one])
            code.tables[name] = tuple(re.findall(r"\$?[\w$]+", text.partition(" ")[2]))
        return
    guard = _GUARD.match(text)
    rest = text[guard.end() :] if guard else text
    name, _, operands = rest.partition(" ")
    kind = name.partition(".")[0]
    operands = operands.strip()
    split = len(operands)
    if kind not in _NO_RESULT:
        split = operands.find("}") + 1 if operands.startswith("{") else operands.find(",")
        split = split if split > 0 else len(operands)

    def registers(part: str) -> frozenset[str]:
        return frozenset(one for one in _REGISTER.findall(part) if _prefix(one) in types)

    first, others = operands[:split], operands[split:]
    results = frozenset() if kind in _NO_RESULT else registers(first)
    uses = registers(operands if kind in _NO_RESULT else others)
    if guard:
        uses |= registers(guard[1])
    leads: tuple[str, ...] = ()
    if kind in ("bra", "brx"):
        leads = tuple(re.findall(r"\$?[\w$]+", operands))
    code.statements.append(
        _Statement(
            kind,
            uses, results, guard is not None, loc, leads,
            kind in ("bra", "brx", "ret", "exit", "trap") and guard is None,
        )
    )


def _unset(code: _Code) -> set[str]:
    """Return the registers that some way through the function reads before it sets them."""
    statements = code.statements
    ways: list[list[int]] = []
    for k, one in enumerate(statements):
        labels = [name for lead in one.leads for name in code.tables.get(lead, (lead,))]
        following = [code.labels[name] for name in labels if name in code.labels]
        if not one.ends:
            following.append(k + 1)
        ways.append([where for where in following if where < len(statements)])
    names = sorted({name for one in statements for name in one.uses})
    bit = {name: 1 << k for k, name in enumerate(names)}
    uses = [sum(bit[name] for name in one.uses) for one in statements]
    kept = [
        -1 if one.guarded else ~sum(bit.get(name, 0) for name in one.results) for one in statements
    ]
    live, changed = [0] * len(statements), True
    while changed:
        changed = False
        for k in range(len(statements) - 1, -1, -1):
            after = 0
            for where in ways[k]:
                after |= live[where]
            before = uses[k] | (after & kept[k])
            if before != live[k]:
                live[k], changed = before, True
    return {name for name in names if live and live[0] & bit[name]}


def _first_use(code: _Code, register: str) -> str | None:
    """Return the `.loc` of the first instruction that uses a register or a copy of it, None if
    there is none.
    """
    copies, size = {register}, 0
    while size != len(copies):
        size = len(copies)
        for one in code.statements:
            if one.name == "mov" and one.uses & copies:
                copies |= one.results
    using = [one for one in code.statements if one.name != "mov" and one.uses & copies]
    return next((one.loc for one in using if one.loc), None)
