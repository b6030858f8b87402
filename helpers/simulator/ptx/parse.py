"""PTX text to modules and functions.

    module = Module(text)
    module.kernels                      # names of the .entry functions
    body = module.body("conv1d_basic")  # its statements, registers and variables: read when needed

Raises ParseError where the text is not what NVIDIA's compiler writes or takes in inline assembly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .body import Body, BodyReader
from .syntax import ParseError, Place, Variable
from .variables import read_variable

__all__ = ["Function", "Module", "ParseError", "Place", "Variable"]

_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOP = re.compile(
    r"""\s*(?:
    \.(?:version|address_size|target)\b[^\n]*
    |\.file\s+(\d+)\s+"([^"\n]*)"[^\n]*                     # 1 number 2 path
    |(\.section)\s[^{]*\{[^}]*\}                            # 3
    |((?:\.(?:visible|extern|weak|common)\s+)*)             # 4 linkage
     (?:\.(entry|func)\b                                    # 5 function
       |\.(global|const|shared|local|tex)\b([^;]*);         # 6 space 7 variable
       |\.alias\s+([\w$]+)\s*,\s*([\w$]+)\s*;               # 8 9
       |\.pragma[^;]*;)
    )""",
    re.VERBOSE,
)
_SIGNATURE = re.compile(r"\s*(?:\(([^)]*)\)\s*)?([\w$%]+)\s*(?:\(([^)]*)\))?([^{;]*)([{;])")
_DECLARATION = re.compile(r"^\s*\.(local|shared|const|global)\b([^;]*);", re.MULTILINE)
_BRACE = re.compile(r"[{}]")
_DIRECTIVE = re.compile(r"\.(\w+)\s*([\d,\s]*)")


@dataclass(eq=False)
class Function:
    """A kernel or a function. results, parameters: its formals; their offsets count from the start
    of the parameter space of a kernel, else of the function's local memory. text: its code, None
    where it is only declared.
    """

    name: str
    kernel: bool
    results: list[Variable]
    parameters: list[Variable]
    text: str | None
    directives: dict[str, tuple[int, ...]]
    parameter_bytes: int
    line: int = 0  # of the text's first character, in the PTX


def _without_comment(match: re.Match) -> str:
    """Return what stands for a comment (or a string, which stays): its ends of lines, so that lines
    keep their numbers.
    """
    return match[0] if match[0][0] == '"' else " " + "\n" * match[0].count("\n")


class Module:
    """A translation unit. functions and variables by name; files by number."""

    def __init__(self, text: str):
        self.files: dict[int, str] = {}
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.aliases: dict[str, str] = {}
        self._bodies: dict[str, Body] = {}
        text = _COMMENT.sub(_without_comment, text)
        position = 0
        while match := _TOP.match(text, position):
            position = match.end()
            if match[1]:
                self.files[int(match[1])] = match[2]
            elif match[5]:
                position = self._function(text, position, match[5] == "entry")
            elif match[6]:
                one = read_variable(match[6], match[7], " ".join(match[4].split()))
                if one.name not in self.variables or not one.linkage.startswith(".extern"):
                    self.variables[one.name] = one
            elif match[8]:
                self.aliases[match[8]] = match[9]
        if text[position:].strip():
            raise ParseError(f"PTX outside functions: {text[position : position + 80].strip()!r}")
        self.order = {name: index + 1 for index, name in enumerate(self.functions)}

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels, in the order of the text."""
        return [one.name for one in self.functions.values() if one.kernel]

    def variables_of(self, name: str) -> list[Variable]:
        """Return the variables that a function declares; its code is not read."""
        text = self.functions[name].text or ""
        return [read_variable(one[1], one[2]) for one in _DECLARATION.finditer(text)]

    def body(self, name: str) -> Body:
        """Return the code of a function.

        Raises ParseError, or KeyError where there is no code of that name.
        """
        if name not in self._bodies:
            function = self.functions[name]
            if function.text is None:
                raise KeyError(name)
            formals = function.results + function.parameters
            used = 0 if function.kernel else function.parameter_bytes
            reader = BodyReader(name, formals, used, self.files)
            self._bodies[name] = reader.read(function.text, function.line)
        return self._bodies[name]

    def _function(self, text: str, position: int, kernel: bool) -> int:
        match = _SIGNATURE.match(text, position)
        if match is None:
            raise ParseError(f"function {text[position : position + 80].strip()!r}")
        used = 0
        formals: list[list[Variable]] = []
        for group in (match[1], match[3]):
            found = []
            for one in filter(str.strip, (group or "").split(",")):
                if not one.lstrip().startswith(".param"):
                    raise ParseError(f"formal {one.strip()!r} of {match[2]}")
                formal = read_variable("entry" if kernel else "param", one.replace(".param", "", 1))
                align = formal.align if kernel else max(16, formal.align)
                formal.offset = -(-used // align) * align
                used = formal.offset + formal.size
                found.append(formal)
            formals.append(found)
        directives = {
            one[1]: tuple(int(number) for number in one[2].replace(",", " ").split())
            for one in _DIRECTIVE.finditer(match[4])
        }
        end, code = match.end(), None
        if match[5] == "{":
            depth = 1
            for brace in _BRACE.finditer(text, end):
                depth += 1 if brace[0] == "{" else -1
                if depth == 0:
                    break
            else:
                raise ParseError(f"no end of function {match[2]}")
            code, end = text[match.end() : brace.start()], brace.end()
        if code is not None or match[2] not in self.functions:
            size = used if kernel else -(-used // 16) * 16
            line = text.count("\n", 0, match.end()) + 1
            results, parameters = formals
            self.functions[match[2]] = Function(
                match[2], kernel, results, parameters, code, directives, size, line
            )
        return end
