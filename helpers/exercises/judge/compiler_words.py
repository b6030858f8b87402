"""What a compiler's message says to a beginner: its first error, at the line that is at fault, with
what C wants in place of what was typed.

    first_error(output, source)      a shorter message of a source that does not compile
    remark(warnings)                 the first warning that tells of a mistake

TABLE is the one place for such words. It is asked only with the compiler's own message and the
line that the message shows.
"""

from __future__ import annotations

import difflib
import itertools
import re
from dataclasses import dataclass, replace

# nvcc and NVRTC write k.cu(7): error: words, and k.cu(7): warning #174-D: words; of a brace that
# nothing closes "At end of source: error: words", and where it is in a note below.
_HEAD = re.compile(
    r"(?:(?P<file>[^\s(]+)\((?P<line>\d+)\)|At end of source): "
    r"(?P<kind>error|warning|note)(?P<number> #\d+)?(?:-D)?: (?P<words>.*)"
)
_UNUSED = frozenset((" #177", " #550"))  # a variable that nothing uses yet is no mistake

# What CUDA and C know without a declaration, as far as beginners use it.
_KNOWN = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "__syncthreads", "__syncwarp", "__shared__",
    "__constant__", "__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_sync",
    "atomicAdd", "atomicMax", "atomicMin", "float", "double", "int", "unsigned", "bool", "const",
    "return", "while", "else", "fminf", "fmaxf", "fabsf", "sqrtf", "printf", "INFINITY", "min",
    "max",
)  # fmt: skip
_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
_UNCLOSED = re.compile(r'to match this "\{"')

_PARTS = "threadIdx, blockIdx, blockDim and gridDim have three parts: .x, .y and .z."
_DECLARED = (
    "C knows a name only after its declaration, such as `float x = 0.0f;`. Small and capital "
    "letters differ."
)
_COMPARES = "C compares by `==`, `!=`, `<`, `<=`, `>` and `>=`."
_LOOP = "C writes a loop as `for (int j = 0; j < 3; ++j) { ... }`."

# A message, a line (regular expressions), and what to write. The first row that fits is said.
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
    (r'"then" is undefined', "", "C has no `then`: `if (i < n) { ... }`."),
    (r'"pass" is undefined', "", "C has no `pass`: braces may be empty, as in `{ }`."),
    (r'"\w+" is undefined', r"\bprint\s*\(", r'C writes `printf("%f\n", x);`.'),
    (r'"(sum|range|sorted|enumerate|zip)" is undefined', r"\b(sum|range|sorted|enumerate|zip)\s*\(",
     "A kernel has no functions of Python: write a loop."),
    (r'"\w+" is undefined', r"\bdef\b|\blambda\b", "C writes a function of a kernel as "
     "`__device__ float twice(float x) { return 2 * x; }`, above the kernel."),
    (r'"\w+" is undefined', "", _DECLARED),
    (r'expected a "[;)\]]"', "//", "All that follows `//` is a comment: a division is one `/`, "
     "and a `;` stands before a comment."),
    (r"expected a ", r"\S\s+if\b.*\belse\b", "C writes `a if c else b` as `c ? a : b`."),
    (r'expected a "\("', r"\b(if|while)\b", "C has brackets around a condition, and braces around "
     "what depends on it: `if (i < n) { ... }`."),
    (r"expected a |must include an initializer", r"\bfor\b[^;]*\bin\b", _LOOP),
    (r'expected a "\("', r"\bfor\b", _LOOP),
    (r'expected a "\]"', r"\[[^\]]*:", "C has no slices: an index is one number, and a loop takes "
     "one element after the other."),
    (r"expected an expression", r"=[<>]|<>", _COMPARES),
    (r'expected a "\)"', r"\b(is|in)\b", _COMPARES),
    (r"expected an expression", r"\b(if|while|for|else)\b[^?]*:", "C has no `:` after a condition: "
     "braces hold what depends on it, `if (i < n) { ... }`."),
    (r"already been declared", r"\bfor\b", _LOOP),
    (r"expected a declaration", r"^\s*\}", "There is one `}` too many: it closes nothing."),
    (r'attribute "__shared__"', "", "An array of shared memory has a type: "
     "`__shared__ float t[256];`."),
    (r"quoted string|missing closing quote", "", "A comment of C begins with `//`. A text has "
     'double quotes, as in `printf("%f\\n", x);`.'),
    (r'type "const char \*"', "'", "A text of C has double quotes: single ones hold one letter."),
    (r"must have pointer-to-object type", r"\]\s*\[", "An array of C has one index here: write "
     "`N[y * width + x]`."),
    (r"must have pointer-to-object type", r"\[", "Square brackets need an array: a parameter that "
     "is one has a `*`, as in `float* P`."),
    (r"must have a void return type", "", "A kernel returns nothing: `__global__ void`."),
    (r"must have class type", r"\w\.\w", "Numbers and arrays of C have no attributes and no "
     "methods. A kernel knows only the sizes that it is given."),
    (r"preceding parentheses of apparent call", "", "Round brackets call a function. An element "
     "has square ones, `N[i]`, and a product has its `*`."),
    (r"return value type does not match", "", "A `void` function, as each kernel is, returns "
     "nothing: write the result into an array. `return;` alone ends the thread."),
    (r"must have integral", r"\^", "`^` combines the bits of whole numbers: for a power, write "
     "x * x."),
    (r"must have integral", "%", "`%` is for whole numbers: fmodf(x, y) takes floats."),
    (r"must have integral", r"\[", "An index is a whole number, such as an int."),
    (r'initialization with "\{', "", "C writes a list of values in braces: "
     "`float a[3] = {1, 2, 3};`."),
    (r"must have a constant value", r"\[", "The size of such an array is a number that the "
     "compiler knows, such as 256 or a macro of the %%kernel line."),
    (r"no operator|no suitable conversion", r"\b(threadIdx|blockIdx|blockDim|gridDim)\b(?!\s*\.)",
     _PARTS),
    (r'class "(uint3|dim3)" has no member', "", _PARTS),
    (r"more than one instance of overloaded function", r"\b(min|max)\b", "The two have different "
     "types: a float has its `f`, as in `max(x, 0.0f)`."),
    (r'cannot be assigned to an entity of type ".*\*"', "", "`=` neither fills nor copies an "
     "array: a thread writes an element, such as `P[i] = N[i];`."),
    (r"modifiable lvalue", r"\b(if|while)\s*\([^()]*[^=!<>]=[^=]", "`=` assigns, and `==` "
     "compares."),
    (r"modifiable lvalue", r"[^=!<>]=[^=]", "What stands before `=` cannot be written: it is "
     "`const`, or no variable."),
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
                if re.search(words, self.words) and re.search(code, self._read)
            ),
            "",
        )

    @property
    def _read(self) -> str:
        """The code without a comment, unless that begins where the error is."""
        code, comment, _ = self.code.partition("//")
        return self.code if comment and self.column >= len(code.rstrip()) else code

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
            code, caret = _shown(lines[k + 1 :])
            found.append(
                Message(
                    match["file"] or "",
                    int(match["line"] or 0),
                    match["kind"],
                    match["number"] or "",
                    match["words"],
                    code,
                    max(caret.find("^"), 0),
                )
            )
    return found


def _shown(below: list[str]) -> tuple[str, str]:
    """Return the line of code below a message, and the one with its caret; "" and "" for none. Some
    messages name types or functions before them.
    """
    for code, caret in itertools.pairwise(below):
        if _HEAD.match(code.strip()) or not code.strip():
            break
        if caret.strip() == "^":
            return code, caret
    return "", ""


def first_error(output: str, source: str) -> str:
    """Return the first error in what a compiler has said of a source: those behind it often come of
    it. An output in another form stays as it is.
    """
    every = messages(output)
    one = next((one for one in every if one.kind == "error"), None)
    if one is None:
        return output
    if not one.line:  # at the end of the source
        open_brace = next((one for one in every if _UNCLOSED.search(one.words)), None)
        if open_brace is None:
            return output
        words = f"{one.words}: nothing closes this brace"
        return str(replace(open_brace, kind="error", number="", words=words))
    at_fault = str(_at_fault(one, source.splitlines()))
    return f"{at_fault} {_near(one, source)}".rstrip() if one.advice == _DECLARED else at_fault


def _near(one: Message, source: str) -> str:
    """Return the name that an unknown one may mean, "" for none: one of CUDA or of the source."""
    match = _UNDEFINED.search(one.words)
    known = {*_KNOWN, *re.findall(r"\b[A-Za-z_]\w*", source)} - {match[1]} if match else set()
    by_letters = {name.lower(): name for name in sorted(known)}
    near = difflib.get_close_matches(match[1].lower(), by_letters, 1, 0.8) if match else []
    return f"Do you mean `{by_letters[near[0]]}`?" if near else ""


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
            return replace(one, line=number, code=lines[number - 1].rstrip(), column=len(code))
    return one


@dataclass(frozen=True)
class Remark:
    """A warning that tells of a mistake: its line, and one sentence with what to write."""

    line: int
    text: str


def remark(warnings: str) -> Remark | None:
    """Return the first warning that tells of a mistake; None for none."""
    for one in messages(warnings):
        if one.kind == "warning" and one.number not in _UNUSED:
            words = f"line {one.line}, `{one.code.strip()}`: {one.words}."
            return Remark(one.line, " ".join(filter(None, [words, one.advice])))
    return None
