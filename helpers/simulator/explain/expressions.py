"""Expressions of a source, evaluated with the values of its variables.

The text of an index is found in the line of its access, and is told only if its value is the index
that the machine has seen. So a wrong reading of the source says nothing, and never anything wrong.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..compile.includes import without_comments

_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_CONSTANT = re.compile(r"\b(?:const|constexpr)\b[^;=()]*?\b(\w+)\s*=\s*([^;,]+)[;,]")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_CAST = re.compile(
    r"\((?:const\s+)?(?:unsigned\s+|signed\s+)?(?:int|long|short|size_t|unsigned)\s*\)"
)
_TERNARY = re.compile(r"\?")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_BUILTIN_NAMES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_STATEMENT_LINES = 8  # at most, of a statement


class NotEvaluated(ValueError):
    """An expression that this module does not evaluate."""


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: _divide,
    ast.Mod: lambda a, b: a - b * _divide(a, b), ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}  # fmt: skip
_COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


class Evaluator:
    """Evaluates whole-number expressions of one source."""

    def __init__(self, source: str):
        self._code = without_comments(source)
        self.lines = self._code.split("\n")
        self._texts = dict(_MACRO.findall(self._code)) | {
            name: text for name, text in _CONSTANT.findall(self._code)
        }

    def statement(self, line: int) -> str:
        """Return the text of the statement that begins in a line."""
        found = []
        for text in self.lines[line - 1 : line - 1 + _STATEMENT_LINES]:
            found.append(text)
            if ";" in text or "{" in text or "}" in text:
                break
        return " ".join(one.strip() for one in found)

    def value(self, text: str, names: Mapping[str, Any], builtins: Mapping[str, tuple]) -> int:
        """Return the value of an expression of whole numbers. names: the variables; builtins: the
        extents of threadIdx, blockIdx, blockDim and gridDim. Raises NotEvaluated.
        """
        try:
            tree = ast.parse(_as_python(text), mode="eval").body
            found = self._of(tree, names, builtins, 0)
        except (SyntaxError, ArithmeticError, TypeError, RecursionError) as error:
            raise NotEvaluated(text) from error
        if isinstance(found, bool) or not isinstance(found, int):
            if isinstance(found, bool):
                return int(found)
            raise NotEvaluated(text)
        return found

    def _of(self, node: ast.AST, names: Mapping, builtins: Mapping, level: int) -> Any:
        def of(one: ast.AST) -> Any:
            return self._of(one, names, builtins, level)

        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp):
            value = of(node.operand)
            if isinstance(node.op, ast.USub):
                return -value
            if isinstance(node.op, ast.Not):
                return int(not value)
            return ~value if isinstance(node.op, ast.Invert) else value
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return int(_COMPARISONS[type(node.ops[0])](of(node.left), of(node.comparators[0])))
        if isinstance(node, ast.BoolOp):
            values = [bool(of(one)) for one in node.values]
            return int(all(values) if isinstance(node.op, ast.And) else any(values))
        if isinstance(node, ast.IfExp):
            return of(node.body) if of(node.test) else of(node.orelse)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._named(ast.unparse(node), names, builtins, level)
        if isinstance(node, ast.Subscript):
            array, index = names.get(ast.unparse(node.value)), of(node.slice)
            if array is not None and hasattr(array, "shape") and 0 <= index < len(array):
                return int(array[index])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            values = [of(one) for one in node.args]
            if node.func.id in ("min", "max") and len(values) == 2:
                return min(values) if node.func.id == "min" else max(values)
            if node.func.id == "abs" and len(values) == 1:
                return abs(values[0])
        raise NotEvaluated(ast.unparse(node))

    def _named(self, name: str, names: Mapping, builtins: Mapping, level: int) -> int:
        if name in names:
            return int(names[name])
        base, _, axis = name.partition(".")
        if base in builtins and axis in ("x", "y", "z"):
            return builtins[base]["xyz".index(axis)]
        if base == "warpSize":
            return 32
        if name in self._texts and level < 8:
            tree = ast.parse(_as_python(self._texts[name]), mode="eval").body
            return self._of(tree, names, builtins, level + 1)
        raise NotEvaluated(name)

    def definitions(self, name: str, line: int) -> Iterator[str]:
        """Yield what is assigned to a variable, in the lines before one, the nearest first."""
        pattern = re.compile(rf"(?<![\w.\]]){re.escape(name)}\s*=(?!=)\s*([^;,]+)")
        for text in reversed(self.lines[:line]):
            yield from reversed([one.strip() for one in pattern.findall(text)])


def _as_python(text: str) -> str:
    """Return an expression of C in the words of Python."""
    text = _CAST.sub("", _SUFFIX.sub(r"\1", text.strip()))
    text = text.replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    return _with_choices(text)


def _with_choices(text: str) -> str:
    """Return an expression with `b if a else c` for `a ? b : c`, outside of brackets only."""
    if not _TERNARY.search(text):
        return text
    depth = 0
    for k, letter in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "?" and depth == 0:
            inner = 0
            for j in range(k + 1, len(text)):
                inner += {"(": 1, "[": 1, ")": -1, "]": -1, "?": 1}.get(text[j], 0)
                if text[j] == ":":
                    if inner == 0:
                        parts = text[:k], text[k + 1 : j], text[j + 1 :]
                        test, one, other = map(_with_choices, parts)
                        return f"(({one}) if ({test}) else ({other}))"
                    inner -= 1
    return text


def names_in(text: str) -> list[str]:
    """Return the variables of an expression, each once, in order; `threadIdx.x` is one."""
    found = [one for one in _NAME.findall(_CAST.sub("", text)) if one not in _BUILTIN_NAMES]
    return list(dict.fromkeys(found))


def indices_in(text: str, array: str) -> Iterator[list[str]]:
    """Yield the indices of each access to an array in a text: [["i", "j"]] for "a[i][j]"."""
    for match in re.finditer(rf"(?<![\w.]){re.escape(array)}\s*\[", text):
        found, at = [], match.end() - 1
        while at < len(text) and text[at] == "[":
            depth, begin = 0, at + 1
            while at < len(text):
                depth += {"[": 1, "]": -1}.get(text[at], 0)
                at += 1
                if depth == 0:
                    break
            found.append(text[begin : at - 1].strip())
            while at < len(text) and text[at].isspace():
                at += 1
        yield found
