"""Random kernels with variables of many kinds, each of which prints the values of its variables.

`draw(seed)` returns a source. A line `printf("@...")` of it prints block, thread, line and the
values of the variables that are visible there. The kernels have no race and no undefined value.
`compare(seed)` records a launch, and says where a variable on the tape differs from what printf has
printed, and a formula from its cell. For many kernels:

    python tests/simulator/random_variables.py 500
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers import simulator
from helpers.simulator.explain import Step, Tape

THREADS, CELLS = 64, 32
_THREADS_COMPARED = 10  # of all threads of a launch
_PRINTED = re.compile(r"@(\d+) (\d+) (\d+) (.*)")
_CELL = re.compile(r"([\w.]+?)(?:\[(\d+)\])?$")
PARAMETERS = "float* out, int* counts, const float* x, const int* y, int n, float a"
_FORMATS = {
    "int": "%d", "unsigned": "%u", "float": "%.9g", "double": "%.17g", "long long": "%lld",
    "short": "%d", "unsigned char": "%d", "bool": "%d",
}  # fmt: skip
_WHOLE = ("int", "unsigned", "long long", "short", "unsigned char", "bool")
_MOST_PRINTED = 24  # values of one printf


@dataclass
class Scope:
    """The variables that are visible: name -> type; arrays: name -> (element type, extent);
    structures: names of variables of the structure.
    """

    scalars: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, tuple[str, int]] = field(default_factory=dict)
    structures: list[str] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(dict(self.scalars), dict(self.arrays), list(self.structures))


class Writer:
    """Writes one kernel."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.indent = 0
        self.count = 0

    # ---- text

    def put(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def name(self, start: str) -> str:
        self.count += 1
        return f"{start}{self.count}"

    def source(self) -> str:
        self.put("struct Pair { float u; int v; short w[2]; };")
        self.functions()
        self.put(f"__global__ void k({PARAMETERS}) {{")
        self.indent += 1
        self.put("__shared__ float tile[2][64];")
        self.put("int t = threadIdx.x;")
        self.put("int i = blockIdx.x * blockDim.x + t;")
        scope = Scope({"t": "int", "i": "int", "n": "int", "a": "float"})
        self.put("float sum = x[i];")
        self.put("int number = y[i];")
        scope.scalars |= {"sum": "float", "number": "int"}
        for _ in range(self.random.randint(4, 7)):
            self.statement(scope, 0)
        self.probe(scope)
        self.put("out[i] = sum;")
        self.put("atomicAdd(&counts[i % 32], number & 15);")
        self.indent -= 1
        self.put("}")
        return "\n".join(self.lines) + "\n"

    def functions(self) -> None:
        self.put("__device__ __forceinline__ float blend(float p, float q, int c) {")
        self.put("    float r = p;")
        self.put("    for (int m = 0; m < 2; ++m) {")
        self.put("        r = c > m ? r + q : r - q;")
        self.seldom({"p": "float", "q": "float", "c": "int", "r": "float", "m": "int"})
        self.put("    }")
        self.put("    return r;")
        self.put("}")
        self.put("__device__ __noinline__ int mixed(int p, const int* q, Pair& pair) {")
        self.put("    int r = p;")
        self.put("    pair.v += r & 7;")
        self.put("    while (r > 9) r -= 4;")
        self.seldom({"p": "int", "r": "int", "pair.v": "int", "pair.u": "float"})
        self.put("    return r + q[pair.v & 31];")
        self.put("}")
        self.put("template <int W> __device__ float spread(const float* p, int at) {")
        self.put("    float r = 0;")
        self.put("    for (int m = 0; m < W; ++m) {")
        self.put("        r += p[(at + m) & 31] * (m + 1);")
        self.seldom({"at": "int", "r": "float", "m": "int"})
        self.put("    }")
        self.put("    return r;")
        self.put("}")

    def seldom(self, kinds: dict[str, str]) -> None:
        """Put a probe of these variables into some of the kernels."""
        if self.random.random() < 0.3:
            self.prints(list(kinds.items()))

    # ---- statements

    def statement(self, scope: Scope, depth: int) -> None:
        kinds = [self.declares, self.declares, self.assigns, self.assigns, self.branches,
                 self.loops, self.chooses, self.makes_array, self.makes_structure, self.calls]
        if depth == 0:
            kinds += [self.exchanges, self.shuffles]
        if depth >= 2:
            kinds = [self.declares, self.assigns, self.assigns, self.calls]
        self.random.choice(kinds)(scope, depth)
        if self.random.random() < 0.45:
            self.probe(scope)

    def declares(self, scope: Scope, depth: int) -> None:
        kind = self.random.choice(list(_FORMATS))
        name = self.name("v")
        text = self.whole(scope) if kind in _WHOLE else self.real(scope)
        if kind == "bool":
            text = self.condition(scope)
        self.put(f"{kind} {name} = {text};")
        scope.scalars[name] = kind

    def assigns(self, scope: Scope, depth: int) -> None:
        names = [n for n, k in scope.scalars.items() if n not in ("t", "i", "n") and k != "bool"]
        name = self.random.choice(names)
        is_whole = scope.scalars[name] in _WHOLE
        text = self.whole(scope) if is_whole else self.real(scope)
        sign = self.random.choice(["=", "+=", "-="])
        if name in ("sum", "number") and sign == "=":
            sign = "+="
        self.put(f"{name} {sign} {text};")

    def block(self, scope: Scope, depth: int) -> None:
        self.indent += 1
        inner = scope.copy()
        for _ in range(self.random.randint(1, 3)):
            self.statement(inner, depth + 1)
        self.indent -= 1

    def branches(self, scope: Scope, depth: int) -> None:
        self.put(f"if ({self.condition(scope)}) {{")
        self.block(scope, depth)
        if self.random.random() < 0.5:
            self.put("} else {")
            self.block(scope, depth)
        self.put("}")

    def loops(self, scope: Scope, depth: int) -> None:
        kind, name = self.random.choice("fwd"), self.name("j")
        turns = self.random.randint(1, 2 if depth else 3)
        if kind == "f":
            self.put(f"for (int {name} = 0; {name} < {turns}; ++{name}) {{")
            inner = scope.copy()
            inner.scalars[name] = "int"
            self.block(inner, depth)
            self.put("}")
            return
        self.put(f"int {name} = {turns};")
        scope.scalars[name] = "int"
        self.put(f"while ({name} > 0) {{" if kind == "w" else "do {")
        # The counter must not be assigned to inside, so that the loop ends.
        inner = scope.copy()
        del inner.scalars[name]
        self.block(inner, depth)
        self.put(f"    --{name};")
        self.put("}" if kind == "w" else f"}} while ({name} > 0);")

    def chooses(self, scope: Scope, depth: int) -> None:
        self.put(f"switch (({self.whole(scope)}) & 3) {{")
        for case in range(self.random.randint(1, 3)):
            self.put(f"case {case}: {{")
            self.block(scope, depth)
            self.put("}" if self.random.random() < 0.3 else "} break;")
        self.put("default: number += 1;")
        self.put("}")

    def makes_array(self, scope: Scope, depth: int) -> None:
        kind, extent = self.random.choice(["int", "float", "short"]), self.random.randint(2, 4)
        name = self.name("r")
        values = [self.whole(scope) if kind in _WHOLE else self.real(scope) for _ in range(extent)]
        if kind == "short":
            values = [f"(short)({one})" for one in values]
        if kind == "int":
            values = [f"(int)({one})" for one in values]
        if kind == "float":
            values = [f"(float)({one})" for one in values]
        if self.random.random() < 0.5:
            self.put(f"{kind} {name}[{extent}] = {{{', '.join(values)}}};")
        else:
            self.put(f"{kind} {name}[{extent}];")
            for k, value in enumerate(values):
                self.put(f"{name}[{k}] = {value};")
        scope.arrays[name] = kind, extent

    def makes_structure(self, scope: Scope, depth: int) -> None:
        name = self.name("p")
        self.put(f"Pair {name};")
        self.put(f"{name}.u = {self.real(scope)};")
        self.put(f"{name}.v = {self.whole(scope)};")
        self.put(f"{name}.w[0] = {self.whole(scope)};")
        self.put(f"{name}.w[1] = {name}.w[0] + 1;")
        scope.structures.append(name)

    def calls(self, scope: Scope, depth: int) -> None:
        kind = self.random.choice("bms")
        if kind == "b":
            self.put(f"sum += blend({self.real(scope)}, sum, {self.whole(scope)});")
        elif kind == "m" and scope.structures:
            pair = self.random.choice(scope.structures)
            self.put(f"number += mixed(({self.whole(scope)}) & 63, y, {pair});")
        else:
            self.put(f"sum += spread<{self.random.randint(1, 3)}>(x, {self.whole(scope)});")

    def exchanges(self, scope: Scope, depth: int) -> None:
        row = self.random.randint(0, 1)
        self.put(f"tile[{row}][t] = {self.real(scope)};")
        self.put("__syncthreads();")
        self.put(f"sum += tile[{row}][(t + {self.random.randint(1, 40)}) & 63];")
        self.put("__syncthreads();")

    def shuffles(self, scope: Scope, depth: int) -> None:
        what = self.random.choice(["xor", "down", "up"])
        by = self.random.choice([1, 2, 5, 16])
        self.put(f"sum += __shfl_{what}_sync(0xffffffff, sum, {by});")

    # ---- expressions

    def whole(self, scope: Scope, level: int = 0) -> str:
        if level > 1 or self.random.random() < 0.4:
            names = [n for n, k in scope.scalars.items() if k in _WHOLE]
            choices = [self.random.choice(names), str(self.random.randint(0, 9))]
            choices += ["(int)threadIdx.x", f"y[({self.random.choice(names)}) & 31]"]
            choices += self.cells(scope, _WHOLE)
            for name in scope.structures:
                choices += [f"{name}.v", f"{name}.w[1]"]
            return self.random.choice(choices)
        left, right = self.whole(scope, level + 1), self.whole(scope, level + 1)
        sign = self.random.choice(["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "?"])
        if sign in ("/", "%"):
            return f"({left}) {sign} {self.random.randint(2, 5)}"
        if sign in ("<<", ">>"):
            return f"(({left}) & 1023) {sign} {self.random.randint(0, 3)}"
        if sign == "*":
            return f"(({left}) & 15) * (({right}) & 15)"
        if sign == "?":
            return f"(({self.condition(scope, level + 1)}) ? ({left}) : ({right}))"
        return f"(({left}) {sign} ({right}))"

    def real(self, scope: Scope, level: int = 0) -> str:
        if level > 1 or self.random.random() < 0.4:
            names = [n for n, k in scope.scalars.items() if k in ("float", "double")]
            whole = self.whole(scope, 2)
            choices = [self.random.choice(names), f"{self.random.randint(0, 9)}.5f", "a"]
            choices += [f"x[({whole}) & 31]", f"(float)(({whole}) & 31)"]
            choices += self.cells(scope, ("float",))
            choices += [f"{n}.u" for n in scope.structures]
            return self.random.choice(choices)
        left, right = self.real(scope, level + 1), self.real(scope, level + 1)
        sign = self.random.choice(["+", "-", "*", "max", "min", "abs", "?"])
        if sign == "*":
            return f"({left}) * {self.random.choice(['0.5f', '2.0f', 'x[t & 31]', 'a'])}"
        if sign in ("max", "min"):
            return f"f{sign}f({left}, {right})"
        if sign == "abs":
            return f"fabsf({left})"
        if sign == "?":
            return f"(({self.condition(scope, level + 1)}) ? ({left}) : ({right}))"
        return f"(({left}) {sign} ({right}))"

    def cells(self, scope: Scope, kinds: tuple[str, ...]) -> list[str]:
        """Return a cell of each array of these types."""
        return [
            f"{name}[{self.random.randrange(extent)}]"
            for name, (kind, extent) in scope.arrays.items()
            if kind in kinds
        ]

    def condition(self, scope: Scope, level: int = 0) -> str:
        one = f"({self.whole(scope, 2)}) {self.random.choice(['<', '>=', '==', '!='])} " \
              f"({self.whole(scope, 2)})"
        if level > 1 or self.random.random() < 0.5:
            return one
        return f"{one} {self.random.choice(['&&', '||'])} ({self.condition(scope, level + 1)})"

    # ---- probes

    def probe(self, scope: Scope) -> None:
        values: list[tuple[str, str]] = [(n, k) for n, k in scope.scalars.items()]
        for name, (kind, extent) in scope.arrays.items():
            values += [(f"{name}[{k}]", kind) for k in range(extent)]
        for name in scope.structures:
            values += [(f"{name}.u", "float"), (f"{name}.v", "int"), (f"{name}.w[1]", "short")]
        more = min(len(values) - 4, _MOST_PRINTED - 4)
        self.prints(values[:4] + self.random.sample(values[4:], more))

    def prints(self, values: list[tuple[str, str]]) -> None:
        """Put a line that prints these variables, with their types."""
        texts = " ".join(f"{name}={_FORMATS[kind]}" for name, kind in values)
        names = ", ".join(name for name, _ in values)
        line = len(self.lines) + 1
        thread = "blockIdx.x, threadIdx.x"
        self.put(f'printf("@%d %d {line} {texts}\\n", {thread}, {names});')


def draw(seed: int) -> str:
    """Return the source of a kernel `k` with PARAMETERS."""
    return Writer(seed).source()


# ---- the comparison


def launch(source: str, seed: int) -> Tape:
    """Record a launch of a drawn kernel."""
    blocks, numbers = 1 + seed % 2, np.random.default_rng(seed)
    count = THREADS * blocks
    x = numbers.integers(-8, 9, count).astype(np.float32)
    y = numbers.integers(-20, 40, count).astype(np.int32)
    out, counts = np.full(count, np.nan, np.float32), np.zeros(CELLS, np.int32)
    return simulator.record(
        source, "k", out, counts, x, y, np.int32(count), np.float32(3),
        grid=(blocks,), block=(THREADS,),
    )  # fmt: skip


def compare(seed: int) -> tuple[list[str], int, int]:
    """Return where the tape of a kernel is wrong, and how many values of variables and how many
    cells were compared: none of a kernel whose record is too long.
    """
    source = draw(seed)
    tape = launch(source, seed)
    if tape.is_cut:
        return [], 0, 0
    printed: dict[tuple[int, int], list[tuple[int, dict[str, str]]]] = {}
    for line in tape.printed.splitlines():
        if match := _PRINTED.match(line):
            block, thread, at = (int(match[k]) for k in (1, 2, 3))
            values = dict(one.split("=") for one in match[4].split(" "))
            printed.setdefault((block, thread), []).append((at, values))
    chosen = random.Random(seed).sample(sorted(printed), min(_THREADS_COMPARED, len(printed)))
    wrong, variables = [], 0
    for block, thread in chosen:
        rows = printed[block, thread]
        lines = {line for line, _ in rows}
        steps = [s for s in tape.thread((block, 0, 0), (thread, 0, 0)) if s.line in lines]
        where = f"seed {seed}, block {block}, thread {thread}"
        if [s.line for s in steps] != [line for line, _ in rows]:
            wrong.append(f"{where}: the tape has other steps than were printed")
            continue
        for step, (line, values) in zip(steps, rows, strict=True):
            variables += 2 * len(values)
            wrong += [f"{where}, line {line}: {one}" for one in _differences(step, values)]
    wrong += [f"seed {seed}: {one}" for one in _wrong_formulas(tape)]
    return wrong, variables, len(tape.outputs["out"]) + len(tape.outputs["counts"])


def _differences(step: Step, printed: dict[str, str]) -> Iterator[str]:
    """Yield the variables that are on the tape otherwise than printf has printed them."""
    for name, text in printed.items():
        match = _CELL.match(name)
        assert match is not None
        if match[1] in step.unknown:  # the compiler does not say where it is
            continue
        for when, found in (("before", step.before), ("after", step.variables)):
            value: Any = found.get(match[1])
            if value is not None and match[2] is not None:
                value = value[int(match[2])]
            if not _is_equal(value, text):
                yield f"{name} is {value} {when} the step, and {text} was printed"


def _is_equal(value: Any, text: str) -> bool:
    if value is None or value is np.ma.masked:
        return False
    want, got = float(text), float(value)
    if math.isnan(want):
        return math.isnan(got)
    # A float is printed with as many digits as tell it from every other one.
    return np.float32(got) == np.float32(want) if isinstance(value, np.float32) else got == want


def _wrong_formulas(tape: Tape) -> Iterator[str]:
    """Yield the cells whose formula has another value than the cell."""
    for name, array in tape.outputs.items():
        if name not in ("out", "counts"):
            continue
        for k, cell in enumerate(array.tolist()):
            formula = tape.cell(name, k).formula
            value = formula.evaluate(tape.inputs)
            if name == "counts":
                good = float(value).is_integer() and (int(value) - cell) % 2**32 == 0
            else:
                both_nan = math.isnan(value) and math.isnan(cell)
                good = both_nan or abs(value - cell) <= 1e-4 * max(1.0, abs(cell))
            if not good:
                yield f"{name}[{k}] is {cell}, and {formula} is {value}"


def main(count: int) -> int:
    """Compare so many kernels, and print what is wrong. Returns the exit status."""
    totals, failed = [0, 0], 0
    for seed in range(count):
        wrong, *numbers = compare(seed)
        totals = [a + b for a, b in zip(totals, numbers, strict=True)]
        failed += bool(wrong)
        print("\n".join(wrong[:4])) if wrong else None
    print(
        f"{count} kernels, {failed} of them wrong: {totals[0]:,} values of variables and "
        f"{totals[1]:,} cells were compared"
    )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
