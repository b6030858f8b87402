"""What a compiler's message says to a beginner: its first error, at the line that is at fault, with
what C wants in place of what was typed.

    first_error(output, source)      a shorter message of a source that does not compile
    remark(warnings)                 the first warning that tells of a mistake, as one sentence

TABLE is the one place for such words. It is asked only with the compiler's own message and the
line that the message shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# nvcc and NVRTC write k.cu(7): error: words, and k.cu(7): warning #174-D: words.
_HEAD = re.compile(
    r"(?P<file>[^\s(]+)\((?P<line>\d+)\): (?P<kind>error|warning)(?P<number> #\d+)?(?:-D)?: "
    r"(?P<words>.*)"
)
_UNUSED = frozenset((" #177", " #550"))  # a variable that nothing uses yet is no mistake

# A message, a line (regular expressions), and what to write.
TABLE = (
    (r"must be a pointer", r"\*\*", "C has no operator for powers: write x * x."),
    (r'"elif" is undefined', "", "C writes `else if`."),
    (r'"True" is undefined', "", "C writes `true`."),
    (r'"False" is undefined', "", "C writes `false`."),
    (r'"None" is undefined', "", "C has no None: a number begins as 0."),
    (r'"len" is undefined', "", "An array of C does not know its length: use the size that the "
     "kernel is given."),
    (r'"(np|numpy|math)" is undefined', "", "A kernel has no Python modules. C's own functions are "
     "there, such as sqrtf and fabsf."),
    (r'"print" is undefined', "", r'C writes `printf("%f\n", x);`.'),
    (r'expected a "\("', r"\b(if|while)\b", "C has brackets around a condition, and braces around "
     "what depends on it: `if (i < n) { ... }`."),
    (r'expected a "\("', r"\bfor\b", "C writes a loop as `for (int j = 0; j < 3; ++j) { ... }`."),
    (r"modifiable lvalue", r"[^=!<>]=[^=]", "`=` assigns, and `==` compares."),
    (r'"#" not expected', "", "A comment of C begins with `//`."),
    (r'use of "=" where "==" may', "", "`=` assigns, and `==` compares."),
    (r"expression has no effect", r"\[[^\]]*,[^\]]*\]", "C's comma drops what stands before it: "
     "`N[y, x]` is `N[x]`. An array has one index, such as `N[y * width + x]`."),
    (r"expression has no effect", r"[^=!<>]==[^=]", "`==` compares, and `=` assigns."),
    (r"expression has no effect", r"\b__\w+\s*;", "Without brackets a function is not called: "
     "write `__syncthreads();`."),
)  # fmt: skip


@dataclass(frozen=True)
class Message:
    """One message of a compiler: where it is, its kind and number, and the source line below it."""

    file: str
    line: int
    kind: str
    number: str
    words: str
    code: str
    column: int

    @property
    def advice(self) -> str:
        """What to write, by TABLE; "" where it has nothing to say."""
        return next(
            (
                advice
                for words, code, advice in TABLE
                if re.search(words, self.words) and re.search(code, self.code)
            ),
            "",
        )

    def __str__(self) -> str:
        shown = [f"{self.file}({self.line}): {self.kind}{self.number}: {self.words}"]
        if self.code:
            shown += [self.code, f"{' ' * self.column}^"]
        return "\n".join([*shown, *filter(None, [self.advice])])


def messages(output: str) -> list[Message]:
    """Return the messages in what a compiler has said, in its order."""
    found = []
    lines = output.splitlines()
    for k, line in enumerate(lines):
        if match := _HEAD.match(line.strip()):
            code, caret = [*lines[k + 1 : k + 3], "", ""][:2]
            has_code = caret.strip() == "^"
            found.append(
                Message(
                    match["file"],
                    int(match["line"]),
                    match["kind"],
                    match["number"] or "",
                    match["words"],
                    code if has_code else "",
                    caret.find("^") if has_code else 0,
                )
            )
    return found


def first_error(output: str, source: str) -> str:
    """Return the first error in what a compiler has said of a source: those behind it often come of
    it. An output in another form stays as it is.
    """
    one = next((one for one in messages(output) if one.kind == "error"), None)
    return output if one is None else str(_at_fault(one, source.splitlines()))


def _at_fault(one: Message, lines: list[str]) -> Message:
    """Return an error at the line that lacks a sign: a compiler notices at the next word, which may
    be the first one of a line further down.
    """
    is_first = not one.code[: one.column].strip()
    if not re.match(r'expected a "[;)\]]"', one.words) or not is_first:
        return one
    for number in range(min(one.line - 1, len(lines)), 0, -1):
        code = re.sub(r"\s*//.*", "", lines[number - 1]).rstrip()
        if code.strip():
            return replace(one, line=number, code=code, column=len(code))
    return one


def remark(warnings: str) -> str:
    """Return the first warning that tells of a mistake, with its line and what to write; "" for
    none.
    """
    for one in messages(warnings):
        if one.kind == "warning" and one.number not in _UNUSED:
            words = f"line {one.line}, `{one.code.strip()}`: {one.words}."
            return " ".join(filter(None, [words, one.advice]))
    return ""
