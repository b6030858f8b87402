"""What a line of CUDA C++ says, for a sentence about it: its condition, the index of an access, the
names in them, and their values in one thread.

Only plain expressions are read: numbers, names, members, indices, calls of min, max and abs, casts,
and operators. Any other text has no value here, and is shown as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?P<suffix>[uUlLfF]*)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||<<|>>|<=|>=|==|!=|->|::|.))"
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_TYPES = {
    "int", "unsigned", "signed", "long", "short", "char", "float", "double", "bool", "size_t",
    "const", "int32_t", "uint32_t", "int64_t", "uint64_t",
}  # fmt: skip
_ANGLES = {"threadIdx", "blockIdx", "blockDim", "gridDim"}


class NoValue(ValueError):
    """An expression that has no value here."""


@dataclass(frozen=True)
class Source:
    """The lines of a source, and its macros, also those of -D options: names with their texts."""

    lines: tuple[str, ...]
    macros: Mapping[str, str]

    @classmethod
    def of(cls, text: str, options: Sequence[str] = ()) -> Source:
        """Return the source of a text, compiled with these options."""
        macros = {
            name: value or "1"
            for one in options
            if one.startswith("-D")
            for name, _, value in [one[2:].partition("=")]
        }
        lines = tuple(_without_comments(text).splitlines())
        for line in lines:
            if found := re.match(r"\s*#\s*define\s+(\w+)\s+(\S.*)", line):
                macros.setdefault(found[1], found[2].strip())
        return cls(lines, macros)

    def line(self, number: int) -> str:
        """Return a line without its comments and margins; "" past the end."""
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""

    def statement(self, number: int) -> str:
        """Return a line, with those after it up to the end of its open brackets."""
        text = self.line(number)
        for following in range(number + 1, min(number + 6, len(self.lines) + 1)):
            if text.count("(") <= text.count(")"):
                break
            text += " " + self.line(following)
        return text

    def conditions(self, number: int) -> list[str]:
        """Return the conditions of a line, in its order: those of `if`, `while`, `for` and `?`."""
        text = self.statement(number)
        found: list[tuple[int, str]] = []
        for match in re.finditer(r"\b(if|while|for)\b\s*(?:constexpr\s*)?\(", text):
            inside = _inside(text, match.end() - 1)
            parts = _split(inside, ";")
            if match[1] != "for":
                found.append((match.end(), inside.strip()))
            elif len(parts) == 3:
                found.append((match.end(), parts[1].strip()))
        found += [(at, _before(text, at)) for at, sign in enumerate(text) if sign == "?"]
        return [_bare(one) for _, one in sorted(found) if one]

    def indices(self, number: int, array: str) -> list[str]:
        """Return the index of each access to an array that a line writes: "i - 1", "y][x" for
        [y][x].
        """
        text = self.statement(number)
        found = []
        for match in re.finditer(rf"(?<![\w.])\*?{re.escape(array)}\s*\[", text):
            parts, at = [], match.end() - 1
            while at < len(text) and text[at] == "[":
                inside = _inside(text, at, "[", "]")
                parts.append(inside.strip())
                at += len(inside) + 2
            found.append("][".join(parts))
        return found

    def names(self, text: str) -> list[str]:
        """Return the names of variables in an expression, in order, macros replaced; threadIdx
        and its like with their member.
        """
        found: list[str] = []
        tokens = list(_tokens(self.expanded(text)))
        for k, (kind, token) in enumerate(tokens):
            if kind != "name" or token in _TYPES or (k and tokens[k - 1][1] in (".", "->")):
                continue
            after = [one for _, one in tokens[k + 1 : k + 3]]
            if after[:1] == ["("]:
                continue
            name = f"{token}.{after[1]}" if after[:1] == ["."] and len(after) == 2 else token
            if name not in found:
                found.append(name)
        return found

    def expanded(self, text: str) -> str:
        """Return a text with its macros replaced."""
        for _ in range(4):
            new = re.sub(
                r"[A-Za-z_]\w*", lambda one: f"({self.macros[one[0]]})"
                if one[0] in self.macros else one[0], text,
            )  # fmt: skip
            if new == text:
                break
            text = new
        return text

    def value(self, text: str, variables: Mapping[str, Any]) -> Any:
        """Return the value of an expression. variables: by name, "threadIdx.x" among them. Raises
        NoValue.
        """
        return _Reader(self.expanded(text), variables).whole()

    def parts(self, condition: str) -> list[str]:
        """Return the conditions that && and || join."""
        parts = [q for p in _split(condition, "||") for q in _split(p, "&&")]
        stripped = [one.strip() for one in parts]
        return [
            inner
            for one in stripped
            for inner in (
                self.parts(one[1:-1])
                if one.startswith("(") and len(_inside(one, 0)) == len(one) - 2
                else [one]
            )
        ]


def _bare(text: str) -> str:
    """Return a text without brackets around the whole of it."""
    while text.startswith("(") and len(_inside(text, 0)) == len(text) - 2:
        text = text[1:-1].strip()
    return text


def _without_comments(text: str) -> str:
    """Return a text with its comments as spaces, lines kept."""
    return re.sub(
        r"//[^\n]*|/\*.*?\*/", lambda one: re.sub(r"[^\n]", " ", one[0]), text, flags=re.S
    )


def _inside(text: str, at: int, opening: str = "(", closing: str = ")") -> str:
    """Return what stands in the brackets that open at a place."""
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] == opening) - (text[k] == closing)
        if depth == 0:
            return text[at + 1 : k]
    return text[at + 1 :]


def _split(text: str, sign: str) -> list[str]:
    """Return the parts of a text between signs that no bracket encloses."""
    parts, depth, start, k = [], 0, 0, 0
    while k < len(text):
        depth += (text[k] in "([{") - (text[k] in ")]}")
        if depth == 0 and text.startswith(sign, k):
            parts.append(text[start:k])
            k += len(sign)
            start = k
            continue
        k += 1
    return [*parts, text[start:]]


def _before(text: str, at: int) -> str:
    """Return the operand before a place: back to the bracket, comma or assignment around it."""
    depth = 0
    for k in range(at - 1, -1, -1):
        depth += (text[k] in ")]") - (text[k] in "([")
        is_assignment = text[k] == "=" and text[k - 1] not in "=<>!" and text[k + 1] != "="
        if depth < 0 or (depth == 0 and (text[k] in ",;{?:" or is_assignment)):
            return text[k + 1 : at].strip()
    return re.sub(r"^\s*return\b", "", text[:at]).strip()


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text.strip()):
        for kind in ("number", "name", "sign"):
            if match[kind]:
                yield kind, match[kind] + (match["suffix"] or "" if kind == "number" else "")


class _Reader:
    """An expression that is computed while it is read."""

    def __init__(self, text: str, variables: Mapping[str, Any]):
        self.tokens = list(_tokens(text))
        self.variables, self.at = variables, 0

    def whole(self) -> Any:
        value = self.ternary()
        if self.at != len(self.tokens):
            raise NoValue(f"cannot read {self.tokens[self.at][1]!r}")
        return value

    def peek(self, ahead: int = 0) -> str:
        k = self.at + ahead
        return self.tokens[k][1] if k < len(self.tokens) else ""

    def take(self, sign: str) -> None:
        if self.peek() != sign:
            raise NoValue(f"expected {sign!r}")
        self.at += 1

    def ternary(self) -> Any:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.at += 1
        yes = self.ternary()
        self.take(":")
        no = self.ternary()
        return yes if condition else no

    def binary(self, level: int) -> Any:
        if level == len(_LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            sign = self.peek()
            self.at += 1
            value = _operate(sign, value, self.binary(level + 1))
        return value

    def unary(self) -> Any:
        sign = self.peek()
        if sign in ("-", "+", "!", "~"):
            self.at += 1
            value = self.unary()
            made = {"-": lambda: -value, "+": lambda: value, "!": lambda: not value}.get(
                sign, lambda: ~value
            )()
            return _Typed.like(value, made) if sign != "!" else made
        if sign == "(" and self.peek(1) in _TYPES:
            names = []
            while self.peek() != ")":
                names.append(self.peek())
                self.at += 1
                if not names[-1]:
                    raise NoValue("an open bracket")
            self.at += 1
            return _cast(self.unary(), names)
        return self.primary()

    def primary(self) -> Any:
        if self.at >= len(self.tokens):
            raise NoValue("an operand is missing")
        kind, token = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            digits = token.rstrip("uUlL")
            if digits[:2] in ("0x", "0X"):
                return _literal(int(digits, 16), token)
            digits = digits.rstrip("fF")
            return _literal(int(digits), token) if digits.isdigit() else float(digits)
        if token == "(":
            value = self.ternary()
            self.take(")")
            return value
        if kind != "name":
            raise NoValue(f"cannot read {token!r}")
        if token in ("true", "false"):
            return token == "true"
        if self.peek() == "(":
            return self.call(token)
        name = token
        while self.peek() == "." and self.at + 1 < len(self.tokens):
            name += f".{self.peek(1)}"
            self.at += 2
        if self.peek() in ("[", "++", "->", "::") or name not in self.variables:
            raise NoValue(f"{name} has no value")
        value = self.variables[name]
        dtype = getattr(value, "dtype", None)
        value = value.item() if dtype is not None and value.ndim == 0 else value
        if not isinstance(value, (int, float)):
            raise NoValue(f"{name} is no number")
        if isinstance(value, int) and name.partition(".")[0] in _ANGLES:
            return _Typed(value, 32, True)
        if isinstance(value, float) or dtype is None or dtype.kind not in "iu":
            return value
        if dtype.itemsize >= 4:
            return _Typed(value, 8 * dtype.itemsize, dtype.kind == "u")
        return value

    def call(self, name: str) -> Any:
        self.take("(")
        args = [self.ternary()]
        while self.peek() == ",":
            self.at += 1
            args.append(self.ternary())
        self.take(")")
        known: dict[str, Callable[..., Any]] = {
            "min": min, "max": max, "abs": abs, "fminf": min, "fmaxf": max, "fabsf": abs,
        }  # fmt: skip
        if name not in known:
            raise NoValue(f"{name}() is not known here")
        bits, is_unsigned = _common(args)
        return known[name](*(one % 2**bits for one in args) if is_unsigned else args)


class _Typed(int):
    """A whole number of a type of 32 or 64 bits. An unsigned one still counts as if its type had no
    end, so that an index of -1 stays one; a comparison, say, takes what the type holds.
    """

    bits: int
    is_unsigned: bool

    def __new__(cls, value: int, bits: int, is_unsigned: bool) -> _Typed:
        made = super().__new__(cls, value)
        made.bits, made.is_unsigned = bits, is_unsigned
        return made

    @classmethod
    def like(cls, other: Any, value: Any) -> Any:
        """Return a value, with the type of another one if that has one."""
        return cls(value, other.bits, other.is_unsigned) if isinstance(other, cls) else value


def _common(values: Sequence[Any]) -> tuple[int, bool]:
    """Return the bits of the type to which C++ converts the numbers, and whether it is unsigned."""
    if any(isinstance(one, float) for one in values):
        return 0, False
    types = [
        (one.bits, one.is_unsigned) if isinstance(one, _Typed) else (32, False) for one in values
    ]
    return max(types)


def _operate(sign: str, a: Any, b: Any) -> Any:
    """Return a sign's value, with unsigned numbers as C++ takes them."""
    bits, is_unsigned = _common((a,) if sign in ("<<", ">>") else (a, b))
    if not is_unsigned or sign in ("&&", "||"):
        made = _OPERATORS[sign](a, b)
        return made if bits <= 32 or isinstance(made, (bool, float)) else _Typed(made, bits, False)
    if sign in _OF_WHAT_IS_HELD:
        a, b = a % 2**bits, b % 2**bits
    made = _OPERATORS[sign](int(a), int(b))
    return made if isinstance(made, bool) else _Typed(made, bits, True)


_OF_WHAT_IS_HELD = {"==", "!=", "<", "<=", ">", ">=", "/", "%", ">>"}


def _literal(value: int, token: str) -> int:
    """Return a whole number with the type that the suffix of its token names."""
    suffix = token[len(token.rstrip("uUlL")) :].lower()
    is_unsigned = "u" in suffix
    return _Typed(value, 64 if "l" in suffix else 32, is_unsigned) if suffix else value


def _cast(value: Any, names: Sequence[str]) -> Any:
    """Return a value in the type of these names."""
    if names[-1] in ("float", "double"):
        return float(value)
    is_long = "long" in names or names[-1] in ("size_t", "int64_t", "uint64_t")
    bits = 64 if is_long else 32
    is_unsigned = "unsigned" in names or names[-1] in ("size_t", "uint32_t", "uint64_t")
    if isinstance(value, _Typed) and value.is_unsigned:
        value %= 2**value.bits
    if is_unsigned or is_long:
        return _Typed(int(value), bits, is_unsigned)
    return (int(value) + 2**31) % 2**32 - 2**31


def _divided(a: Any, b: Any) -> Any:
    if not b:
        raise NoValue("a division by 0")
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "||": lambda a, b: bool(a) or bool(b), "&&": lambda a, b: bool(a) and bool(b),
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "&": lambda a, b: a & b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": _divided,
    "%": lambda a, b: a - b * _divided(a, b),
}  # fmt: skip
