"""Which loops of a kernel are unrolled wholly, as nvcc does with loops whose rounds it can count.

A host compiler unrolls such a loop only when it is asked to, and then at any size: five loops inside one another would keep it busy
for minutes. So the accesses of the unrolled code are counted here first, the innermost loops before those around them.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# Accesses (array subscripts in the source) of what a loop becomes: one that would become more is left a loop. With `#pragma unroll`
# a GPU's compiler knows no limit; here it is some ten seconds of compiling.
LIMIT = 1024
LIMIT_WITH_PRAGMA = 8192
ROUNDS = 128
UNKNOWN_ROUNDS = 16  # where the bounds are not known here, but perhaps to the compiler: parameters of a template

_LOOP = re.compile(r"(?P<pragma>^[ \t]*#\s*pragma\s+unroll\b(?P<times>[^\n]*)\n\s*)?(?<![\w#])for(?=\s*\()", re.MULTILINE)
_NAMED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+(?P<text>[^\n]+)"
    r"|\b(?:constexpr|const)\s+(?:static\s+)?(?:unsigned\s+|signed\s+)?(?:int|unsigned|size_t|auto|short|long|std::size_t)\s+"
    r"(?P<name>\w+)\s*=\s*(?P<value>[^;,]+)[;,]",
    re.MULTILINE,
)
_TEMPLATE = re.compile(r"\btemplate\s*<(?P<parameters>[^<>]*\w[^<>]*)>[^;{}()]*?\b(?P<name>\w+)\s*\(")
_HEADER = re.compile(r"\s*(?:[\w:]+\s+)*(?P<name>\w+)\s*=(?P<start>[^=].*)", re.DOTALL)
_TEST = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign><=|>=|!=|<|>)(?P<limit>.*)", re.DOTALL)
_STEP = re.compile(
    r"\s*(?:(?P<first>\+\+|--)?\s*(?P<name>\w+)\s*(?P<last>\+\+|--)?|(?P<changed>\w+)\s*(?P<by>[-+*/]|<<|>>)=(?P<size>.*))\s*$"
)
_SUBSCRIPTS = re.compile(r"(?<=[\w\])])\s*\[(?:[^][]|\[[^][]*\])*\](?!\s*\[)")
_BRACKET, _OPENS_OR_ENDS, _ELSE = re.compile(r"[(){}\[\]]"), re.compile(r"[({;]"), re.compile(r"\s*else\b")
_BLANK = re.compile(r"(?:\s|#[^\n]*\n)*")
_HOLDS_ANOTHER = re.compile(r"(?:for|while|if|switch)\s*(?:constexpr\s*)?(?=\()")
_CALL = re.compile(r"\b(\w+)\s*(?:<[^;<>(){}]*>\s*)?\(")
_FUNCTION = re.compile(r"__device__[^;{}()]*?\b(\w+)\s*\([^;{}]*\)\s*(?=\{)")
_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "!=": operator.ne}
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: lambda a, b: int(a / b),
    ast.Mod: lambda a, b: a - b * int(a / b), ast.LShift: lambda a, b: a << b % 64, ast.RShift: lambda a, b: a >> b % 64,
}  # fmt: skip
_BY: dict[str, type] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "<<": ast.LShift, ">>": ast.RShift}


@dataclass
class _Loop:
    """A loop of the text. at: of its word `for`; body: where its statement begins and ends; rounds: None where not known."""

    at: int
    body: tuple[int, int]
    rounds: int | None
    pragma: bool
    asked: int | None  # the number behind `#pragma unroll`
    fixed: bool  # whether its bounds name constants and parameters of templates only: the compiler then knows them
    times: int = 0  # at most so many rounds are unrolled; 0: leave it a loop


def mark_loops(text: str, code: str, macros: str = "") -> str:
    """Writes `HALO_UNROLL(rounds)` or `HALO_UNROLL_ASKED(rounds)` (halo_cuda.h) before each loop of `text` that is to be unrolled.

    code: `text` with its comments blanked out, every character in its old place; macros: preprocessor lines that come before it.
    """
    names = _constants(code, _constants(macros, {}))
    names = _template_arguments(code, names) | names
    loops = list(_loops(code, names))
    _decide(code, loops)
    pieces, end = [], 0
    for loop in loops:
        if loop.times:
            pieces += [text[end : loop.at], f"HALO_UNROLL{'_ASKED' if loop.pragma else ''}({loop.times}) "]
            end = loop.at
    return "".join([*pieces, text[end:]])


# ---- what the source says ----


def _constants(code: str, given: dict[str, int]) -> dict[str, int]:
    """Names of whole numbers: macros and constants, and those `given`. One that gets two values here is none."""
    values = dict(given)
    several: set[str] = set()
    for found in _NAMED.finditer(code):
        name = found["macro"] or found["name"]
        value = _value(found["text"] or found["value"], values)
        if name in given:  # `#ifndef NAME` stands before it, or the compiler refuses it
            continue
        if value is None or values.get(name, value) != value:
            several.add(name)
        else:
            values[name] = value
    return {name: value for name, value in values.items() if name not in several}


def _template_arguments(code: str, names: dict[str, int]) -> dict[str, int]:
    """Parameters of templates, each with the largest number that the code itself gives for it."""
    largest: dict[str, int] = {}
    for template in _TEMPLATE.finditer(code):
        for use in re.finditer(rf"\b{template['name']}\s*<([^<>;(){{}}]*)>", code):
            for name, argument in zip(_parameters(template), use[1].split(","), strict=False):
                value = _value(argument, names)
                if value is not None:
                    largest[name] = max(value, largest.get(name, value))
    return largest


def _parameters(template: re.Match) -> list[str]:
    """Names of a template's parameters, in order."""
    return [re.search(r"\w*$", part.partition("=")[0].strip())[0] for part in template["parameters"].split(",")]


def _value(text: str, names: dict[str, int]) -> int | None:
    """The whole number that an expression of C++ stands for; None where that is not known."""
    if not re.fullmatch(r"[\w\s()+*/%<>-]+", text):
        return None
    text = re.sub(r"\(\s*(?:unsigned|int|size_t)\s*\)", "", text.strip())
    text = re.sub(r"(?<=[0-9a-fA-F])(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?)\b", "", text)
    try:
        return _evaluate(ast.parse(text, mode="eval").body, names)
    except (SyntaxError, ValueError, KeyError, ArithmeticError, RecursionError):
        return None


def _evaluate(node: ast.AST, names: dict[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, names)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.left, names), _evaluate(node.right, names))
    raise ValueError("no whole number")


def _loops(code: str, names: dict[str, int]) -> Iterator[_Loop]:
    constants = {name for template in _TEMPLATE.finditer(code) for name in _parameters(template)} | set(names)
    constants |= {found["macro"] or found["name"] for found in _NAMED.finditer(code)}
    for found in _LOOP.finditer(code):
        line_start = code.rfind("\n", 0, found.end()) + 1
        header = code.index("(", found.end())
        end = _closing(code, header)
        parts = code[header + 1 : end].split(";")
        if code[line_start:].lstrip().startswith("#") or (len(parts) == 3 and not parts[1].strip()):
            continue  # in a macro; or a loop without an end
        asked = _value(found["times"] or "", names)
        body = (end + 1, _end_of_statement(code, end + 1))
        pragma, fixed = found["pragma"] is not None, _names_only(parts, constants)
        yield _Loop(found.end() - len("for"), body, _rounds(parts, names), pragma, asked, fixed)


def _names_only(header: list[str], constants: set[str]) -> bool:
    """Whether a loop's header names its own variable and `constants`, and nothing that only a launch decides."""
    start = _HEADER.fullmatch(header[0])
    own = set(re.findall(r"\b[A-Za-z_]\w*", header[0].partition("=")[0])) if start else set()
    return set(re.findall(r"\b[A-Za-z_]\w*", ";".join(header))) <= own | constants


def _rounds(header: list[str], names: dict[str, int]) -> int | None:
    """How many rounds `for (int i = 0; i < 8; ++i)` makes, by counting them; None where that is not known."""
    if len(header) != 3:
        return None
    start, test, step = _HEADER.fullmatch(header[0]), _TEST.fullmatch(header[1]), _STEP.fullmatch(header[2])
    if start is None or test is None or step is None or test["name"] != start["name"]:
        return None
    change = "+" if "++" in (step["first"], step["last"]) else "-" if "--" in (step["first"], step["last"]) else step["by"]
    size = _value(step["size"], names) if step["by"] else 1
    value, limit = _value(start["start"], names), _value(test["limit"], names)
    if (step["name"] or step["changed"]) != start["name"] or change is None or None in (size, value, limit):
        return None
    rounds = 0
    while _SIGNS[test["sign"]](value, limit):
        rounds += 1
        if rounds > LIMIT_WITH_PRAGMA or (change == "/" and size == 0):
            return LIMIT_WITH_PRAGMA + 1
        value = _OPERATORS[_BY[change]](value, size)
    return rounds


def _closing(code: str, opening: int) -> int:
    """Where the bracket at `opening` is closed; the end of the code where it is not."""
    depth = 0
    for found in _BRACKET.finditer(code, opening):
        depth += 1 if found[0] in "({[" else -1
        if depth == 0:
            return found.start()
    return len(code) - 1


def _end_of_statement(code: str, start: int) -> int:
    """The end of the statement at `start`: a block, one that holds another (`for`, `if` ...), or up to its semicolon."""
    begins = _BLANK.match(code, start).end()
    if code.startswith("{", begins):
        return _closing(code, begins) + 1
    if holds := _HOLDS_ANOTHER.match(code, begins):
        end = _end_of_statement(code, _closing(code, holds.end()) + 1)
        other = _ELSE.match(code, end)
        return _end_of_statement(code, other.end()) if other else end
    while found := _OPENS_OR_ENDS.search(code, begins):
        if found[0] == ";":
            return found.end()
        begins = _closing(code, found.start()) + 1
    return len(code)


# ---- what is unrolled ----


def _decide(code: str, loops: list[_Loop]) -> None:
    """Sets `times` of each loop, the inner ones first."""
    functions = {found[1]: (found.end(), _closing(code, found.end()) + 1) for found in _FUNCTION.finditer(code)}
    known: dict[str, int] = {}

    def size_of(first: int, last: int) -> int:
        """Accesses of a piece of the code, once the loops in it are unrolled as decided."""
        inner = [loop for loop in loops if first <= loop.at < last]
        outermost = [loop for loop in inner if not any(o.body[0] <= loop.at < o.body[1] for o in inner)]
        rest, end = [], first
        for loop in outermost:
            rest, end = [*rest, code[end : loop.at]], max(end, loop.body[1])
        own = "".join([*rest, code[end:last]])
        calls = sum(size_of_function(name) for name in _CALL.findall(own) if name in functions)
        return len(_SUBSCRIPTS.findall(own)) + calls + sum(size_of_loop(loop) for loop in outermost)

    def size_of_function(name: str) -> int:
        if name not in known:
            known[name] = 1  # of a function that calls itself
            known[name] = size_of(*functions[name])
        return known[name]

    def size_of_loop(loop: _Loop) -> int:
        if loop.at not in sizes:
            sizes[loop.at] = _unroll(loop, max(1, size_of(*loop.body)))
        return sizes[loop.at]

    sizes: dict[int, int] = {}
    for loop in loops:
        size_of_loop(loop)


def _unroll(loop: _Loop, size: int) -> int:
    """Decides for one loop whose body makes `size` accesses; returns how many it then makes."""
    if loop.asked == 1:
        return size
    rounds = UNKNOWN_ROUNDS if loop.rounds is None else loop.rounds
    limit = LIMIT_WITH_PRAGMA if loop.pragma else LIMIT
    most = limit // size if loop.pragma else min(ROUNDS, limit // size)
    if loop.rounds is None and not loop.fixed:
        return size  # a loop whose rounds only a launch decides: unrolled, lanes with more rounds than others would part for good
    if loop.rounds is None:
        loop.times = rounds = min(rounds, most)
        loop.times = loop.times if loop.times > 1 else 0
        return size * max(1, rounds)
    loop.times = rounds if 1 < rounds <= most else 0
    return size * rounds if loop.times else size
