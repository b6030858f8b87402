"""Random programs, each as CUDA C++ and as Python: what a launch leaves is compared bit for bit.

`draw(seed)` writes two texts of one program, statement by statement. The CUDA text has what a
small kernel seldom has: arrays in device and constant memory that one launch leaves to the next,
half2, functions that call themselves, pointers to functions and virtual ones, background copies
to shared memory in stages, shuffles in one side of a branch, structures, unions, 64-bit numbers
and atomics. The Python text knows nothing of the simulator or of a compiler: whole numbers are
Python's, cut to their bits; real ones are NumPy's; a thread is a generator that yields at each
barrier and shuffle. No program has a race or an undefined value, so that nothing may be found.
For many programs:

    python tests/simulator/random_programs.py 500
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import emulated_operations
import numpy as np
from emulated_operations import pair

BLOCKS, THREADS, CELLS, LAUNCHES = 2, 64, 64, 2
WARP = 32
SHAPES = ((64, 1, 1), (16, 4, 1), (8, 8, 1), (4, 4, 4))
PARAMETERS = "int* out, float* real, half2* pairs, const int* x, const float* y, int n"
OPTIONS = ("-fmad=false",)  # a product and a sum are rounded each, but for fmaf

# ---- drawing ----


@dataclass(frozen=True)
class Value:
    """An expression in both languages. kind: "int", "unsigned", "long long", "float", "half2"."""

    cuda: str
    python: str
    kind: str


@dataclass(frozen=True)
class Program:
    """cuda, python: its two texts. shape: of a block. kernels: in the order of their launches."""

    cuda: str
    python: str
    shape: tuple[int, int, int]
    kernels: tuple[str, ...]


WHOLE = ("int", "unsigned", "long long")


class Scope:
    """The variables that are visible, by kind, and the arrays of a thread: name -> extent."""

    def __init__(self, **kinds: list[str]) -> None:
        self.names = {kind: [] for kind in (*WHOLE, "float", "half2")} | kinds
        self.arrays: dict[str, int] = {}
        self.fixed: set[str] = set()  # counters of loops, which nothing may assign to

    def copy(self) -> Scope:
        other = Scope(**{kind: list(names) for kind, names in self.names.items()})
        other.arrays, other.fixed = dict(self.arrays), set(self.fixed)
        return other


class Writer:
    """Writes one program. Statements that need all threads of a block stand at depth 0."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.cuda: list[str] = []
        self.python: list[str] = []
        self.indent = 0
        self.count = 0
        self.functions: list[str] = []  # of (int, int) -> int
        self.in_kernel = False  # whether the arrays that a kernel is given are visible

    # ---- text

    def put(self, cuda: str, python: str = "") -> None:
        """Put a statement of each language; a line of C++ that has none in Python stands alone."""
        for line in cuda.splitlines():
            self.cuda.append("    " * self.indent + line)
        for line in python.splitlines():
            self.python.append("    " * self.indent + line)

    def head(self, cuda: str, python: str) -> None:
        self.put(cuda + " {", python + ":")
        self.indent += 1

    def close(self, end: str = "}") -> None:
        self.python.append("    " * self.indent + "pass")
        self.indent -= 1
        self.cuda.append("    " * self.indent + end)

    def name(self, start: str) -> str:
        self.count += 1
        return f"{start}{self.count}"

    def one(self, *options: Any) -> Any:
        return self.dice.choice(options)

    # ---- the program

    def program(self) -> Program:
        self.put("#include <cuda_fp16.h>\n#include <cuda_pipeline.h>")
        self.has_groups = self.dice.random() < 0.3  # the compiler takes a while for their headers
        if self.has_groups:
            self.put("#include <cooperative_groups.h>\n"
                     "#include <cooperative_groups/memcpy_async.h>\n"
                     "namespace cg = cooperative_groups;")
        self.arrays_of_the_device()
        self.helpers()
        for _ in range(2):
            self.function()
        self.table()
        self.one(self.recursion_of_numbers, self.recursion_by_two_functions)()
        self.one(self.recursion_on_an_array, self.recursion_by_pointer)()
        self.recursion_of_halves()
        self.classes()
        names = ("first", "second", "third", "fourth")
        for name in names:
            self.kernel(name)
        shape = self.one(*SHAPES)
        return Program("\n".join(self.cuda) + "\n", "\n".join(self.python) + "\n", shape, names)

    def arrays_of_the_device(self) -> None:
        count = BLOCKS * THREADS
        drawn = [self.dice.randint(-50, 50) for _ in range(count)]
        filled = self.dice.randint(0, count)  # the rest starts as zero
        values = ", ".join(map(str, drawn[:filled])) or "0"
        self.put(f"__device__ int table[{count}] = {{{values}}};",
                 f"table = {drawn[:filled] + [0] * (count - filled)}")
        self.put(f"__device__ unsigned counts[{CELLS}];", f"counts = [0] * {CELLS}")
        self.put("__device__ long long total = -7;", "total = [-7]")
        self.put(f"__device__ half2 kept[{count}];", f"kept = [pair(0, 0)] * {count}")
        rows = [[self.dice.randint(-9, 9) for _ in range(8)] for _ in range(4)]
        text = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
        self.put(f"__constant__ int matrix[4][8] = {{{text}}};", f"matrix = {rows}")
        weights = [self.dice.randint(-32, 32) / 8 for _ in range(16)]
        text = ", ".join(f"{w}f" for w in weights)
        self.put(f"__constant__ float weights[16] = {{{text}}};",
                 f"weights = [np.float32(w) for w in {weights}]")
        self.at = self.dice.randrange(8)
        self.put(f"__device__ int* somewhere = &table[{self.at}];")
        self.put("struct Item { int key; short side[3]; float weight; };")
        items = [(self.dice.randint(-99, 99), [self.dice.randint(-9, 9) for _ in range(3)],
                  self.dice.randint(-16, 16) / 4) for _ in range(4)]
        text = ", ".join(f"{{{k}, {{{', '.join(map(str, s))}}}, {w}f}}" for k, s, w in items)
        self.put(f"__device__ Item items[4] = {{{text}}};",
                 f"items = [[k, s, np.float32(w)] for k, s, w in {items}]")

    def helpers(self) -> None:
        """Put what both texts call by one name, so that expressions are alike in them."""
        self.put("""\
__device__ int add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
__device__ int sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
__device__ int mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
__device__ float bounded(float a) { return fminf(fmaxf(a, -1e6f), 1e6f); }
__device__ int cut(float a) { return (int)bounded(a); }
__device__ half2 tame(half2 a) {
    return __hmin2(__hmax2(a, __floats2half2_rn(-512.f, -512.f)), __floats2half2_rn(512.f, 512.f));
}
__device__ __noinline__ void twice(int& a, int* b) { a = add(a, a); *b = sub(*b, a); }""",
                 """\
def add(a, b): return i32(a + b)
def sub(a, b): return i32(a - b)
def mul(a, b): return i32(a * b)
def bounded(a): return smaller(larger(a, np.float32(-1e6)), np.float32(1e6))
def cut(a): return whole(bounded(a))
def tame(a): return each(smaller, each(larger, a, pair(-512, -512)), pair(512, 512))""")

    def function(self) -> None:
        """Put a function of two ints."""
        name, scope = self.name("f"), Scope(int=["a", "b"])
        inline = self.one("__noinline__ ", "__forceinline__ ", "")
        self.head(f"__device__ {inline}int {name}(int a, int b)", f"def {name}(a, b)")
        if self.dice.random() < 0.5:
            test = self.condition(scope)
            self.head(f"if ({test.cuda})", f"if {test.python}")
            early = self.number(scope)
            self.put(f"return {early.cuda};", f"return {early.python}")
            self.close()
        value = self.number(scope)
        self.put(f"return {value.cuda};", f"return {value.python}")
        self.close()
        self.functions.append(name)

    def table(self) -> None:
        """Put pointers to functions into the device's memory."""
        names = [self.one(*self.functions) for _ in range(4)]
        where = self.one("__device__", "__constant__")
        self.put("typedef int (*Step)(int, int);")
        text = ", ".join(names)
        self.put(f"{where} Step steps[4] = {{{text}}};", f"steps = [{text}]")
        self.put("struct Choice { Step step; int by; };")

    # ---- functions that call themselves

    def recursion_of_numbers(self) -> None:
        scope = Scope(int=["m", "a"])
        end, one, other = self.number(scope), self.number(scope), self.number(scope)
        test = self.condition(scope)
        self.put(f"""\
__device__ int down(int m, int a) {{
    if (m <= 0) return {end.cuda};
    if ({test.cuda}) return add({one.cuda}, down(m - 1, {other.cuda}));
    return sub(down(m - 1, add(a, m)), down(m - 2, {one.cuda}));
}}""", f"""\
def down(m, a):
    if m <= 0: return {end.python}
    if {test.python}: return add({one.python}, down(m - 1, {other.python}))
    return sub(down(m - 1, add(a, m)), down(m - 2, {one.python}))""")
        self.recursive = "down"

    def recursion_by_two_functions(self) -> None:
        scope = Scope(int=["m", "a"])
        one, other, test = self.number(scope), self.number(scope), self.condition(scope)
        self.put(f"""\
__device__ int odd(int m, int a);
__device__ __noinline__ int even(int m, int a) {{
    int kept = {one.cuda};
    return m <= 0 ? a : add(odd(m - 1, {other.cuda}), kept);
}}
__device__ int odd(int m, int a) {{
    if (m <= 0) return mul(a, 3);
    int more = even(m - 1, add(a, 1));
    if ({test.cuda}) more = sub(more, even(m - 2, more));
    return more;
}}""", f"""\
def even(m, a):
    kept = {one.python}
    return a if m <= 0 else add(odd(m - 1, {other.python}), kept)
def odd(m, a):
    if m <= 0: return mul(a, 3)
    more = even(m - 1, add(a, 1))
    if {test.python}: more = sub(more, even(m - 2, more))
    return more""")
        self.recursive = "even"

    def recursion_on_an_array(self) -> None:
        sign = self.one("<", ">")
        self.put(f"""\
__device__ void sorted(int* cells, int low, int high) {{
    if (low >= high) return;
    int i = low, j = high, pivot = cells[(low + high) / 2];
    while (i <= j) {{
        while (cells[i] {sign} pivot) ++i;
        while (pivot {sign} cells[j]) --j;
        if (i <= j) {{ int held = cells[i]; cells[i++] = cells[j]; cells[j--] = held; }}
    }}
    sorted(cells, low, j);
    sorted(cells, i, high);
}}
__device__ int arranged(int m, int a) {{
    int cells[8];
    for (int k = 0; k < 8; ++k) cells[k] = a = add(mul(a, 1103515245), 12345 * m) >> 3;
    sorted(cells, 0, 7);
    return add(cells[m & 7], mul(cells[3], 5));
}}""", f"""\
def arranged(m, a):
    cells = []
    for k in range(8):
        a = add(mul(a, 1103515245), 12345 * m) >> 3
        cells.append(a)
    cells.sort(reverse={sign == ">"})
    return add(cells[m & 7], mul(cells[3], 5))""")
        self.other = "arranged"

    def recursion_by_pointer(self) -> None:
        self.put("""\
__device__ int chained(Step step, int m, int a) {
    return m <= 0 ? a : chained(steps[step(a, m) & 3], m - 1, step(m, a));
}
__device__ int arranged(int m, int a) { return chained(steps[a & 3], m, a); }""", """\
def chained(step, m, a):
    return a if m <= 0 else chained(steps[step(a, m) & 3], m - 1, step(m, a))
def arranged(m, a): return chained(steps[a & 3], m, a)""")
        self.other = "arranged"

    def recursion_of_halves(self) -> None:
        scope = Scope(half2=["p", "q"])
        one = self.halves(scope)
        self.put(f"""\
__device__ half2 folded(half2 p, half2 q, int m) {{
    if (m == 0) return q;
    half2 inner = folded(tame({one.cuda}), p, m - 1);
    return m & 1 ? __hadd2(inner, p) : __hsub2(__lowhigh2highlow(inner), q);
}}""", f"""\
def folded(p, q, m):
    if m == 0: return q
    inner = folded(tame({one.python}), p, m - 1)
    return each(np.add, inner, p) if m & 1 else each(np.subtract, inner[::-1], q)""")

    def classes(self) -> None:
        scope = Scope(int=["a", "seed"])
        one, other = self.number(scope), self.number(scope)
        self.put(f"""\
struct Base {{
    int seed;
    __device__ Base(int s) : seed(s) {{}}
    __device__ virtual int of(int a) const {{ return {one.cuda}; }}
}};
struct Derived : Base {{
    __device__ Derived(int s) : Base(add(s, 3)) {{}}
    __device__ int of(int a) const override {{ return {other.cuda}; }}
}};
template <int N> struct Sum {{
    static __device__ int of(const int* p) {{ return add(p[N - 1], Sum<N - 1>::of(p)); }}
}};
template <> struct Sum<0> {{ static __device__ int of(const int*) {{ return 0; }} }};
template <class F> __device__ int folded_by(F f, int m, int a) {{
    for (int k = 0; k < m; ++k) a = f(a, k);
    return a;
}}""", f"""\
def base_of(seed, a): return {one.python}
def derived_of(seed, a):
    seed = add(seed, 3)
    return {other.python}
def folded_by(f, m, a):
    for k in range(m): a = f(a, k)
    return a""")

    # ---- kernels

    def kernel(self, name: str) -> None:
        self.put(f'extern "C" __global__ void {name}({PARAMETERS}) {{',
                 f"def {name}(out, real, pairs, x, y, n, w, t):")
        self.indent += 1
        self.put("int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;")
        self.put("int w = blockIdx.x, i = w * 64 + t;", "i = w * 64 + t")
        self.put("__shared__ int tile[2][64];\n__shared__ alignas(16) int stage[4][64];")
        self.put("extern __shared__ half2 twins[];")
        self.put("int v = x[i];\nunsigned u = out[i];\nlong long l = v;\nfloat f = y[i];\n"
                 "half2 h = pairs[i];",
                 "v = x[i]; u = u32(out[i]); l = v; f = y[i]; h = pairs[i]\nyield 'block', 0")
        scope = Scope(int=["v", "t", "w", "i", "n"], unsigned=["u"], float=["f"], half2=["h"])
        scope.names["long long"] = ["l"]
        scope.fixed = {"t", "w", "i", "n"}
        self.in_kernel = True
        for _ in range(self.dice.randint(5, 8)):
            self.statement(scope, 0)
        self.in_kernel = False
        self.put("out[i] = add(v, add((int)u, add((int)l, (int)(l >> 32))));\nreal[i] = f;\n"
                 "pairs[i] = h;",
                 "out[i] = add(v, add(i32(u), add(i32(l), i32(l >> 32))))\n"
                 "real[i] = f; pairs[i] = h")
        self.close()

    def statement(self, scope: Scope, depth: int) -> None:
        alone = [self.declares, self.assigns, self.assigns, self.calls, self.calls, self.own_cells,
                 self.atomics, self.casts, self.local_array, self.objects, self.references]
        around = [self.branches, self.branches, self.loops, self.chooses, self.leaves]
        together = [self.exchanges, self.shuffles, self.shuffles, self.half_shuffles, self.copies,
                    self.copies, self.neighbours, self.votes, self.reductions,
                    self.masked_shuffles]
        together += [self.group_copies] * 2 if self.has_groups else []
        kinds = alone + (around if depth < 2 else []) + (together if depth == 0 else [])
        self.dice.choice(kinds)(scope, depth)

    def changed(self, name: str, kind: str, value: Value) -> None:
        """Let a variable depend on a value and on what it was, so that nothing wrong is lost."""
        cuda, python = {
            "int": ("{n} = add(mul({n}, 5), {c});", "{n} = add(mul({n}, 5), {p})"),
            "unsigned": ("{n} = ({n} >> 27 | {n} << 5) ^ {c};",
                         "{n} = u32({n} >> 27 | {n} << 5) ^ {p}"),
            "long long": ("{n} = ({n} >> 3) ^ {c};", "{n} = ({n} >> 3) ^ {p}"),
            "float": ("{n} = bounded({n} * 0.5f + {c});",
                      "{n} = bounded({n} * np.float32(0.5) + {p})"),
            "half2": ("{n} = tame(__hadd2({n}, {c}));", "{n} = tame(each(np.add, {n}, {p}))"),
        }[kind]
        self.put(cuda.format(n=name, c=value.cuda), python.format(n=name, p=value.python))

    def declares(self, scope: Scope, depth: int) -> None:
        kind = self.one("int", "unsigned", "long long", "float", "half2")
        name = self.name("v")
        value = self.value(scope, kind)
        self.put(f"{kind} {name} = {value.cuda};", f"{name} = {value.python}")
        scope.names[kind].append(name)

    def assigns(self, scope: Scope, depth: int) -> None:
        kind = self.one("int", "int", "unsigned", "long long", "float", "half2", "half2")
        names = [name for name in scope.names[kind] if name not in scope.fixed]
        if names:
            self.changed(self.one(*names), kind, self.value(scope, kind))

    def body(self, scope: Scope, depth: int) -> None:
        inner = scope.copy()
        for _ in range(self.dice.randint(1, 3)):
            self.statement(inner, depth + 1)

    def branches(self, scope: Scope, depth: int) -> None:
        test = self.condition(scope)
        self.head(f"if ({test.cuda})", f"if {test.python}")
        self.body(scope, depth)
        self.close()
        if self.dice.random() < 0.5:
            self.head("else", "else")
            self.body(scope, depth)
            self.close()

    def loops(self, scope: Scope, depth: int) -> None:
        name, turns = self.name("k"), self.number(scope, 1)
        count = f"({turns.cuda} & 3)"
        self.head(f"for (int {name} = 0, end = {count}; {name} < end; ++{name})",
                  f"for {name} in range({turns.python} & 3)")
        inner = scope.copy()
        inner.names["int"].append(name)
        inner.fixed.add(name)
        self.body(inner, depth)
        if self.dice.random() < 0.5:
            test = self.condition(inner)
            word = self.one("break", "continue")
            self.put(f"if ({test.cuda}) {word};", f"if {test.python}: {word}")
            self.body(inner, depth)
        self.close()

    def chooses(self, scope: Scope, depth: int) -> None:
        value, chosen = self.number(scope), self.name("case")
        self.head(f"switch ({value.cuda} & 3)", f"{chosen} = {value.python} & 3\nif True")
        for case in range(self.dice.randint(1, 3)):
            self.head(f"case {case}:", f"if {chosen} == {case}")
            self.body(scope, depth)
            self.close("} break;")
        self.put("default: v = add(v, 1);")
        # The cases that stand above are those that were put.
        self.python.append("    " * self.indent + f"if {chosen} > {case}: v = add(v, 1)")
        self.close()

    def leaves(self, scope: Scope, depth: int) -> None:
        """A loop that lanes leave at different turns, with work in it that costs some of them."""
        name = self.name("k")
        test, more = self.condition(scope), self.number(scope)
        self.put(f"int {name} = 0;", f"{name} = 0")
        self.head("while (true)", "while True")
        self.put(f"if ({test.cuda} || ++{name} > 3) break;",
                 f"if {test.python}: break\n{name} += 1\nif {name} > 3: break")
        self.put(f"v = sub({more.cuda}, v);", f"v = sub({more.python}, v)")
        self.close()

    def calls(self, scope: Scope, depth: int) -> None:
        a, b = self.number(scope), self.number(scope)
        kind = self.dice.randrange(7)
        if kind == 0:
            cuda = f"steps[{a.cuda} & 3]({b.cuda}, v)"
            python = f"steps[{a.python} & 3]({b.python}, v)"
        elif kind in (1, 2):
            name = self.one(self.recursive, self.other)
            cuda, python = f"{name}({a.cuda} & 5, {b.cuda})", f"{name}({a.python} & 5, {b.python})"
        elif kind == 3:
            p, q = self.halves(scope), self.halves(scope)
            self.changed("h", "half2", Value(
                f"folded({p.cuda}, {q.cuda}, {a.cuda} & 3)",
                f"folded({p.python}, {q.python}, {a.python} & 3)", "half2"))
            return
        elif kind == 4:
            test, name = self.condition(scope), self.name("s")
            one, other = self.one(*self.functions), self.one(*self.functions)
            self.put(f"Choice {name} = {{{test.cuda} ? {one} : {other}, {a.cuda}}};",
                     f"{name} = ({one} if {test.python} else {other}, {a.python})")
            cuda, python = f"{name}.step({name}.by, {b.cuda})", f"{name}[0]({name}[1], {b.python})"
        elif kind == 5:
            factor = self.dice.randint(2, 9)
            cuda = f"folded_by([=](int p, int q) {{ return sub(mul(p, {factor}), " \
                   f"add(q, {a.cuda})); }}, {b.cuda} & 3, v)"
            python = f"folded_by(lambda p, q: sub(mul(p, {factor}), add(q, {a.python})), " \
                     f"{b.python} & 3, v)"
        else:
            name = self.one(*self.functions)
            cuda, python = f"{name}({a.cuda}, {b.cuda})", f"{name}({a.python}, {b.python})"
        self.changed("v", "int", Value(cuda, python, "int"))

    def own_cells(self, scope: Scope, depth: int) -> None:
        """The thread's own element of an array of the device."""
        value = self.number(scope)
        kind = self.dice.randrange(3)
        if kind == 0:
            self.put(f"table[i] = {value.cuda};\nv = sub(v, table[i]);",
                     f"table[i] = {value.python}\nv = sub(v, table[i])")
        elif kind == 1:
            pairs = self.halves(scope)
            self.put(f"kept[i] = {pairs.cuda};\nh = __hadd2(h, kept[i]);",
                     f"kept[i] = {pairs.python}\nh = each(np.add, h, kept[i])")
        else:
            self.put(f"(somewhere + i)[-{self.at}] = sub(v, {value.cuda});",
                     f"table[i] = sub(v, {value.python})")

    def atomics(self, scope: Scope, depth: int) -> None:
        """Atomics whose order does not show, and such on the thread's own element."""
        at, value = self.number(scope), self.number(scope)
        kind = self.dice.randrange(6)
        if kind == 0:
            self.put(f"atomicAdd(&counts[{at.cuda} & 31], {value.cuda} & 255);",
                     f"at = {at.python} & 31; counts[at] = counts[at] + ({value.python} & 255)")
        elif kind == 1:
            self.put(f"atomicMax(&counts[32 + ({at.cuda} & 31)], (unsigned){value.cuda});",
                     f"at = 32 + ({at.python} & 31)\n"
                     f"counts[at] = max(counts[at], u32({value.python}))")
        elif kind == 2:
            self.put("atomicAdd((unsigned long long*)&total, "
                     f"(unsigned long long)(long long){value.cuda});",
                     f"total[0] = i64(total[0] + {value.python})")
        elif kind == 3:
            name, sign = self.one(("Xor", "^"), ("Or", "|"), ("And", "&"))
            self.put(f"v = add(v, atomic{name}(&table[i], {value.cuda}));",
                     f"old = table[i]; table[i] = old {sign} {value.python}; v = add(v, old)")
        elif kind == 4:
            self.put("h = __hadd2(h, atomicAdd(&kept[i], tame(h)));",
                     "old = kept[i]; kept[i] = each(np.add, old, tame(h))\n"
                     "h = each(np.add, h, old)")
        else:
            self.put(f"v = sub(v, atomicCAS(&table[i], {at.cuda}, {value.cuda}));\n"
                     "u += atomicExch(&table[i], v);",
                     f"old = table[i]; table[i] = {value.python} if old == {at.python} else old\n"
                     "v = sub(v, old); old = table[i]; table[i] = v; u = u32(u + old)")

    def casts(self, scope: Scope, depth: int) -> None:
        kind, value = self.dice.randrange(5), self.number(scope)
        if kind == 0:
            self.put("v = add(v, __float_as_int(bounded(f)));", "v = add(v, bits_of(bounded(f)))")
        elif kind == 1:
            name = self.name("both")
            self.put(f"union {{ long long l; short s[4]; }} {name};\n{name}.l = l;\n"
                     f"v = add(v, {name}.s[{value.cuda} & 3]);",
                     f"v = add(v, i16(l >> 16 * ({value.python} & 3)))")
        elif kind == 2:
            self.put("half2 tamed = tame(h);\nv = add(v, __half2int_rn(__high2half(tamed)));"
                     .replace("tamed", self.name("tamed")),
                     "v = add(v, whole(np.rint(tame(h)[1])))")
        elif kind == 3:
            self.put("f = f + __low2float(tame(h));", "f = f + np.float32(tame(h)[0])")
        else:
            self.put(f"h = __floats2half2_rn(f, (float)({value.cuda} & 255));",
                     f"h = pair(f, np.float32({value.python} & 255))")

    def local_array(self, scope: Scope, depth: int) -> None:
        name, at = self.name("cells"), self.number(scope)
        values = [self.number(scope, 1) for _ in range(4)]
        self.put(f"int {name}[4] = {{{', '.join(one.cuda for one in values)}}};",
                 f"{name} = [{', '.join(one.python for one in values)}]")
        self.put(f"{name}[{at.cuda} & 3] = v;", f"{name}[{at.python} & 3] = v")
        scope.arrays[name] = 4
        if self.dice.random() < 0.5:
            self.put(f"v = sub(v, Sum<3>::of(&{name}[1]));",
                     f"v = sub(v, add(add({name}[3], {name}[2]), {name}[1]))")

    def objects(self, scope: Scope, depth: int) -> None:
        seed, a, test = self.number(scope), self.number(scope), self.condition(scope)
        name = self.name("one")
        self.put(f"Base {name}({seed.cuda});\nDerived {name}d({seed.cuda});\n"
                 f"const Base* {name}p = {test.cuda} ? &{name} : (const Base*)&{name}d;\n"
                 f"v = sub(v, {name}p->of({a.cuda}));",
                 f"of = base_of if {test.python} else derived_of\n"
                 f"v = sub(v, of({seed.python}, {a.python}))")

    def references(self, scope: Scope, depth: int) -> None:
        if not scope.arrays:
            return
        name, at = self.one(*scope.arrays), self.number(scope)
        self.put(f"twice(v, &{name}[{at.cuda} & 3]);",
                 f"at = {at.python} & 3; v = add(v, v); {name}[at] = sub({name}[at], v)")

    # ---- statements of all threads of a block

    def exchanges(self, scope: Scope, depth: int) -> None:
        row, by, value = self.dice.randint(0, 1), self.dice.randint(1, 63), self.number(scope)
        self.put(f"tile[{row}][t] = {value.cuda};\n__syncthreads();\n"
                 f"v = add(v, tile[{row}][(t + {by}) & 63]);\n__syncthreads();",
                 f"tile = (yield 'block', {value.python})\nv = add(v, tile[t + {by} & 63])\n"
                 "yield 'block', 0")

    def neighbours(self, scope: Scope, depth: int) -> None:
        """Elements of the device's arrays that other threads of the block own."""
        by, other = self.dice.randint(1, 63), self.dice.randint(1, 63)
        self.put("__syncthreads();\n"
                 f"v = add(v, table[w * 64 + ((t + {by}) & 63)]);\n"
                 f"h = __hsub2(h, kept[w * 64 + (t ^ {other})]);\n__syncthreads();",
                 "yield 'block', 0\n"
                 f"v = add(v, table[w * 64 + (t + {by} & 63)])\n"
                 f"h = each(np.subtract, h, kept[w * 64 + (t ^ {other})])\nyield 'block', 0")

    def _shuffle(self, kind: str) -> tuple[str, str, str]:
        """Returns a shuffle's name, its arguments, and the lane that it takes from, in Python."""
        width = self.one(32, 32, 16, 8)
        by = self.dice.randrange(1, width)
        lane = {
            "up": f"(t % 32 - {by} if t % {width} >= {by} else t % 32)",
            "down": f"(t % 32 + {by} if t % {width} + {by} < {width} else t % 32)",
            "xor": f"(t % 32 ^ {by})",
            "": f"(t % 32 // {width} * {width} + (t + {by}) % {width})",
        }[kind]
        at = f"(t + {by})" if kind == "" else by
        return f"__shfl{'_' + kind if kind else ''}_sync", f"{at}, {width}", lane

    def shuffles(self, scope: Scope, depth: int) -> None:
        name, arguments, lane = self._shuffle(self.one("up", "down", "xor", ""))
        kind = self.one("int", "unsigned", "long long", "float")
        names = [one for one in scope.names[kind] if one not in scope.fixed]
        target, value = self.one(*names), self.value(scope, kind)
        self.changed(target, kind, Value(
            f"{name}(0xffffffff, {value.cuda}, {arguments})",
            f"(yield 'warp', 0xffffffff, {value.python})[{lane}]", kind))

    def half_shuffles(self, scope: Scope, depth: int) -> None:
        name, arguments, lane = self._shuffle(self.one("up", "down", "xor", ""))
        value = self.halves(scope)
        self.changed("h", "half2", Value(
            f"{name}(0xffffffff, {value.cuda}, {arguments})",
            f"(yield 'warp', 0xffffffff, {value.python})[{lane}]", "half2"))

    def masked_shuffles(self, scope: Scope, depth: int) -> None:
        """A shuffle among the lanes of one side of a branch."""
        bit = self.one(1, 2, 16)
        mask = sum(1 << lane for lane in range(WARP) if lane & bit)
        value = self.number(scope)
        by = self.one(*(k for k in (1, 2, 4, 8, 16) if k != bit))
        self.put(f"if (t & {bit}) v = sub(v, __shfl_xor_sync(0x{mask:x}, {value.cuda}, {by}));",
                 f"if t & {bit}: v = sub(v, (yield 'warp', {mask}, {value.python})[t % 32 ^ {by}])")

    def votes(self, scope: Scope, depth: int) -> None:
        test, value = self.condition(scope), self.number(scope)
        kind = self.dice.randrange(4)
        gathered = "(yield 'warp', 0xffffffff, {})"
        if kind == 0:
            self.put(f"u ^= __ballot_sync(0xffffffff, {test.cuda});",
                     f"u ^= sum(bool(b) << k for k, b in {gathered.format(test.python)}.items())")
        elif kind == 1:
            self.put(f"v = sub(v, __reduce_add_sync(0xffffffff, {value.cuda}));",
                     f"v = i32(v - sum({gathered.format(value.python)}.values()))")
        elif kind == 2:
            self.put(f"u += __match_any_sync(0xffffffff, {value.cuda} & 7);",
                     f"same = {gathered.format(value.python + ' & 7')}\n"
                     "u = u32(u + sum(1 << k for k, b in same.items() if b == same[t % 32]))")
        else:
            self.put(f"v = add(v, __syncthreads_count({test.cuda}));",
                     f"v = add(v, sum(map(bool, (yield 'block', {test.python}))))")

    def reductions(self, scope: Scope, depth: int) -> None:
        """A tree in dynamic shared memory, of half2."""
        self.put("twins[t] = tame(h);\n__syncthreads();", "twins = list((yield 'block', tame(h)))")
        self.put("""\
for (int s = 32; s > 0; s >>= 1) {
    if (t < s) twins[t] = __hadd2(twins[t], twins[t + s]);
    __syncthreads();
}
h = twins[t & 3];
__syncthreads();""", """\
for s in (32, 16, 8, 4, 2, 1):
    for k in range(s): twins[k] = each(np.add, twins[k], twins[k + s])
    yield 'block', 0
h = twins[t & 3]
yield 'block', 0""")

    def copies(self, scope: Scope, depth: int) -> None:
        """Background copies in stages: the next are under way while one is used."""
        stages, by = self.dice.randint(1, 4), self.dice.randint(1, 63)
        size = self.one(4, 8, 16)
        step, last = size // 4, self.dice.randint(0, 63)
        zeros = self.one(0, 0, 4) if size > 4 else 0  # bytes that are filled, not copied
        offsets = [self.dice.randint(0, 15) * 4 for _ in range(stages)]
        for stage, offset in enumerate(offsets):
            more = f", {zeros}" if zeros else ""
            self.put(f"if (t < {64 // step}) __pipeline_memcpy_async(&stage[{stage}][t * {step}], "
                     f"&x[({offset} + t * {step}) & 127], {size}{more});\n__pipeline_commit();")
        self.put("", f"copied = [[0 if k % {step} >= {step - zeros // 4} else x[(o + k) & 127] "
                     f"for k in range(64)] for o in {offsets}]")
        for stage in range(stages):
            self.put(f"__pipeline_wait_prior({stages - 1 - stage});\n__syncthreads();\n"
                     f"v = add(mul(v, 3), stage[{stage}][(t * {by} + {last}) & 63]);",
                     f"v = add(mul(v, 3), copied[{stage}][t * {by} + {last} & 63])")
        self.put("__syncthreads();", "yield 'block', 0")

    def group_copies(self, scope: Scope, depth: int) -> None:
        """A copy by the whole group, and sums within tiles of it."""
        count, by, name = self.one(64, 40, 12), self.dice.randint(1, 63), self.name("group")
        size = self.one(4, 8, 16)
        self.put(f"auto {name} = cg::this_thread_block();\n"
                 f"cg::memcpy_async({name}, stage[0], x + w * 8, {count} * 4);\n"
                 f"cg::wait({name});\n"
                 f"auto {name}t = cg::tiled_partition<{size}>({name});\n"
                 f"int {name}v = stage[0][(t + {by}) % {count}];\n"
                 f"v = add(v, {name}t.shfl({name}v, {name}t.thread_rank() ^ 1));\n"
                 f"{name}.sync();",
                 f"taken = (yield 'block', x[w * 8 + (t + {by}) % {count}])[t ^ 1]\n"
                 "v = add(v, taken)\nyield 'block', 0")

    # ---- expressions

    def value(self, scope: Scope, kind: str, level: int = 0) -> Value:
        if kind == "half2":
            return self.halves(scope, level)
        if kind == "float":
            return self.real(scope, level)
        if kind == "long long":
            return self.long(scope, level)
        value = self.number(scope, level)
        if kind == "unsigned":
            return Value(f"(unsigned){value.cuda}", f"u32({value.python})", kind)
        return value

    def number(self, scope: Scope, level: int = 0) -> Value:
        """An int."""
        if level > 1 or self.dice.random() < 0.3:
            return self.leaf(scope)
        a, b = self.number(scope, level + 1), self.number(scope, level + 1)
        k, test = self.dice.randint(1, 31), self.condition(scope, level + 1)
        cuda, python = self.one(
            ("add({a}, {b})",) * 2, ("sub({a}, {b})",) * 2, ("mul({a}, {b})",) * 2,
            ("({a} & {b})",) * 2, ("({a} | {b})",) * 2, ("({a} ^ {b})",) * 2, ("(~{a})",) * 2,
            ("({a} / (({b} & 7) + 1))", "quotient({a}, ({b} & 7) + 1)"),
            ("({a} % (({b} & 7) + 1))", "remainder({a}, ({b} & 7) + 1)"),
            ("({a} >> ({b} & 31))",) * 2,
            ("(int)((unsigned){a} << ({b} & 31))", "i32({a} << ({b} & 31))"),
            ("(int)((unsigned){a} >> {k})", "i32(u32({a}) >> {k})"),
            ("(int)((unsigned){a} / ((unsigned){b} | 1u))", "i32(u32({a}) // (u32({b}) | 1))"),
            ("min({a}, {b})",) * 2, ("max({a}, {b})",) * 2,
            ("__clz({a})", "leading_zeros({a})"), ("__popc({a})", "u32({a}).bit_count()"),
            ("__ffs({a})", "first_set(u32({a}))"), ("(int)__brev({a})", "i32(reversed_bits({a}))"),
            ("__mulhi({a}, {b})", "({a} * {b} >> 32)"),
            ("(int)__umulhi({a}, {b})", "i32(u32({a}) * u32({b}) >> 32)"),
            ("(int)__byte_perm({a}, {b}, 0x{s:04x})", "i32(permuted({a}, {b}, 0x{s:04x}))"),
            ("(int)__funnelshift_l({a}, {b}, {k})", "i32(funnel({a}, {b}, {k}))"),
            ("__dp4a({a}, {b}, {k})", "products_of_bytes({a}, {b}, {k})"),
            ("({test} ? {a} : {b})", "({a} if {test} else {b})"),
            ("(int)(short){a}", "i16({a})"), ("(int)(unsigned char){a}", "({a} & 255)"),
            ("({test} + {a} % 5)", "(({test}) + remainder({a}, 5))"),
        )  # fmt: skip
        s = sum(self.dice.randrange(8) << 4 * place for place in range(4))
        return Value(
            "(" + cuda.format(a=a.cuda, b=b.cuda, k=k, s=s, test=test.cuda) + ")",
            "(" + python.format(a=a.python, b=b.python, k=k, s=s, test=test.python) + ")",
            "int",
        )

    def leaf(self, scope: Scope) -> Value:
        options = [(name, name) for name in scope.names["int"]] * 2
        options += [(f"(int){name}", f"i32({name})") for name in scope.names["unsigned"]]
        options += [(str(k), str(k)) for k in map(self.dice.randint, (0, 10), (9, 9999))]
        a, b = self.one(*options), self.one(*options)
        options += [(f"matrix[{a[0]} & 3][{b[0]} & 7]", f"matrix[{a[1]} & 3][{b[1]} & 7]")]
        options += [(f"items[{a[0]} & 3].{c}", f"items[{a[1]} & 3]{p}") for c, p in
                    (("key", "[0]"), (f"side[({b[0]} & 1) + 1]", f"[1][({b[1]} & 1) + 1]"))]
        if self.in_kernel:
            options += [(f"x[{a[0]} & 127]", f"x[{a[1]} & 127]")]
            if scope.names["float"]:
                options += [(f"cut({name})", f"cut({name})") for name in scope.names["float"]]
        options += [(f"{name}[{a[0]} & 3]", f"{name}[{a[1]} & 3]") for name in scope.arrays]
        cuda, python = self.one(*options)
        return Value(f"({cuda})", f"({python})", "int")

    def long(self, scope: Scope, level: int = 0) -> Value:
        a, b = self.number(scope, level + 1), self.number(scope, level + 1)
        if level > 1 or self.dice.random() < 0.3:
            return Value(f"((long long){a.cuda})", a.python, "long long")
        c = self.long(scope, level + 1)
        d = Value(*[self.one(*scope.names["long long"])] * 2, "long long")
        cuda, python = self.one(
            ("((long long){a} * {b})", "({a} * {b})"),
            ("(long long)((unsigned long long){c} + (unsigned long long){d})", "i64({c} + {d})"),
            ("(long long)((unsigned long long){c} * (unsigned long long){d})", "i64({c} * {d})"),
            ("({c} ^ ((long long)(unsigned){a} << 20))", "({c} ^ (u32({a}) << 20))"),
            ("({d} >> ({a} & 63))",) * 2,
            ("({d} / (({a} & 15) + 1))", "quotient({d}, ({a} & 15) + 1)"),
            ("({c} % (({b} & 1023) + 1))", "remainder({c}, ({b} & 1023) + 1)"),
            ("({c} < {d} ? {d} : (long long){a})", "({d} if {c} < {d} else {a})"),
        )
        return Value(
            cuda.format(a=a.cuda, b=b.cuda, c=c.cuda, d=d.cuda),
            python.format(a=a.python, b=b.python, c=c.python, d=d.python), "long long",
        )  # fmt: skip

    def real(self, scope: Scope, level: int = 0) -> Value:
        if level > 1 or self.dice.random() < 0.3:
            at = self.number(scope, 2)
            options = [(name, name) for name in scope.names["float"]]
            k = self.dice.randint(1, 40) / 8
            options += [
                (f"{k}f", f"np.float32({k})"),
                (f"weights[{at.cuda} & 15]", f"weights[{at.python} & 15]"),
                (f"y[{at.cuda} & 127]", f"y[{at.python} & 127]"),
                (f"items[{at.cuda} & 3].weight", f"items[{at.python} & 3][2]"),
                (f"(float){at.cuda}", f"np.float32({at.python})"),
            ]
            return Value(*self.one(*options), "float")
        a, b, c = (self.real(scope, level + 1) for _ in range(3))
        test = self.condition(scope, level + 1)
        cuda, python = self.one(
            ("({a} + {b})",) * 2, ("({a} - {b})",) * 2, ("({a} * {b})",) * 2,
            ("({a} / {b})", "({a} / {b})"), ("fmaf({a}, {b}, {c})", "fused({a}, {b}, {c})"),
            ("sqrtf(fabsf({a}))", "np.sqrt(abs({a}))"), ("(-{a})",) * 2,
            ("fminf({a}, {b})", "smaller({a}, {b})"), ("fmaxf({a}, {b})", "larger({a}, {b})"),
            ("{r}f({a})", "ROUND['{r}']({a})"),
            ("({test} ? {a} : {b})", "({a} if {test} else {b})"),
        )
        r = self.one("floor", "ceil", "trunc", "rint")
        return Value(
            cuda.format(a=a.cuda, b=b.cuda, c=c.cuda, test=test.cuda, r=r),
            python.format(a=a.python, b=b.python, c=c.python, test=test.python, r=r), "float",
        )  # fmt: skip

    def halves(self, scope: Scope, level: int = 0) -> Value:
        if level > 1 or self.dice.random() < 0.3:
            k, m = (self.dice.randint(-64, 64) / 8 for _ in range(2))
            options = [(name, name) for name in scope.names["half2"]]
            options += [(f"__floats2half2_rn({k}f, {m}f)", f"pair({k}, {m})")]
            return Value(*self.one(*options), "half2")
        a, b, c = (self.halves(scope, level + 1) for _ in range(3))
        cuda, python = self.one(
            ("__hadd2({a}, {b})", "each(np.add, {a}, {b})"),
            ("({a} + {b})", "each(np.add, {a}, {b})"),
            ("__hsub2({a}, {b})", "each(np.subtract, {a}, {b})"),
            ("__hmul2({a}, {b})", "each(np.multiply, {a}, {b})"),
            ("__hmul2_rn({a}, {b})", "each(np.multiply, {a}, {b})"),
            ("__hfma2({a}, {b}, {c})", "each(fused, {a}, {b}, {c})"),
            ("__hmax2({a}, {b})", "each(larger, {a}, {b})"),
            ("__hmin2({a}, {b})", "each(smaller, {a}, {b})"),
            ("__hneg2({a})", "each(np.negative, {a})"), ("__habs2({a})", "each(abs, {a})"),
            ("__hadd2_sat({a}, {b})", "each(lambda p, q: saturated(p + q), {a}, {b})"),
            ("__hmul2_sat({a}, {b})", "each(lambda p, q: saturated(p * q), {a}, {b})"),
            ("__lowhigh2highlow({a})", "{a}[::-1]"),
            ("__lows2half2({a}, {b})", "({a}[0], {b}[0])"),
            ("__highs2half2({a}, {b})", "({a}[1], {b}[1])"),
            ("__low2half2({a})", "({a}[0], {a}[0])"),
            ("__halves2half2(__high2half({a}), __low2half({b}))", "({a}[1], {b}[0])"),
            ("__hlt2({a}, {b})", "each(np.less, {a}, {b})"),
            ("__heq2({a}, {b})", "each(np.equal, {a}, {b})"),
            ("__hge2({a}, {b})", "each(np.greater_equal, {a}, {b})"),
            ("h2{r}({a})", "each(ROUND['{r}'], {a})"),
            ("__floats2half2_rn(__low2float({a}) * 0.5f, __high2float({b}))",
             "pair(np.float32({a}[0]) * np.float32(0.5), {b}[1])"),
        )  # fmt: skip
        r = self.one("floor", "ceil", "trunc", "rint")
        return Value(
            cuda.format(a=a.cuda, b=b.cuda, c=c.cuda, r=r),
            python.format(a=a.python, b=b.python, c=c.python, r=r), "half2",
        )  # fmt: skip

    def condition(self, scope: Scope, level: int = 0) -> Value:
        sign, kind = self.one("<", ">=", "==", "!="), self.dice.random()
        if kind < 0.15 and scope.names["half2"]:
            a, b = self.halves(scope, 2), self.halves(scope, 2)
            name, function = self.one(("lt", "less"), ("eq", "equal"), ("ge", "greater_equal"))
            return Value(f"__hb{name}2({a.cuda}, {b.cuda})",
                         f"all(each(np.{function}, {a.python}, {b.python}))", "int")
        of = self.real if kind < 0.3 and scope.names["float"] else self.number
        a, b = of(scope, 2), of(scope, 2)
        cuda, python = f"({a.cuda} {sign} {b.cuda})", f"bool({a.python} {sign} {b.python})"
        if level < 1 and self.dice.random() < 0.3:
            more = self.condition(scope, level + 1)
            word, c = self.one(("and", "&&"), ("or", "||"))
            cuda, python = f"({cuda} {c} {more.cuda})", f"({python} {word} {more.python})"
        return Value(cuda, python, "int")


def draw(seed: int) -> Program:
    return Writer(seed).program()


# ---- running ----


@dataclass
class Arrays:
    """What a program is given and leaves: out, real and pairs of its parameters, and the arrays of
    the device.
    """

    out: np.ndarray
    real: np.ndarray
    pairs: np.ndarray
    table: np.ndarray
    counts: np.ndarray
    total: np.ndarray
    kept: np.ndarray


def inputs(seed: int) -> dict[str, np.ndarray]:
    numbers, count = np.random.default_rng(seed), BLOCKS * THREADS
    return {
        "out": numbers.integers(-99, 99, count).astype(np.int32),
        "real": np.zeros(count, np.float32),
        "pairs": (numbers.integers(-64, 64, (count, 2)) / 8).astype(np.float16),
        "x": numbers.integers(-(2**31), 2**31, count).astype(np.int32),
        "y": (numbers.integers(-99, 99, count) / 4).astype(np.float32),
    }


def emulated(program: Program, given: dict[str, np.ndarray]) -> Arrays:
    """Runs the Python text of a program."""
    names: dict[str, Any] = dict(vars(emulated_operations))
    exec(program.python, names)
    out, x = given["out"].tolist(), given["x"].tolist()
    real, y = list(given["real"]), list(given["y"])
    pairs = [pair(*row) for row in given["pairs"]]
    with np.errstate(all="ignore"):
        for name in program.kernels * LAUNCHES:
            for block in range(BLOCKS):
                run_block([names[name](out, real, pairs, x, y, len(x), block, t)
                           for t in range(THREADS)])
    return Arrays(
        np.array(out, np.int32), np.array(real, np.float32), np.array(pairs, np.float16),
        np.array(names["table"], np.int32), np.array(names["counts"], np.uint32),
        np.array(names["total"], np.int64), np.array(names["kept"], np.float16),
    )  # fmt: skip


def run_block(threads: list[Iterator[Any]]) -> None:
    """Runs threads from one meeting to the next. A thread yields ("block", value), and gets the
    values of all threads; or ("warp", mask, value), and gets those of the mask's lanes.
    """
    meetings: dict[int, tuple] = {}

    def step(thread: int, answer: Any) -> None:
        try:
            meetings[thread] = threads[thread].send(answer)  # type: ignore[attr-defined]
        except StopIteration:
            meetings.pop(thread, None)

    for thread in range(len(threads)):
        step(thread, None)
    while meetings:
        if len(meetings) == len(threads) and all(m[0] == "block" for m in meetings.values()):
            answer = [meetings[thread][1] for thread in range(len(threads))]
            for thread in range(len(threads)):
                step(thread, answer)
            continue
        for thread, (place, mask, *_) in sorted(meetings.items()):
            first = thread - thread % WARP
            lanes = [k for k in range(WARP) if place == "warp" and mask >> k & 1]
            if lanes and all(meetings.get(first + k, ())[:2] == ("warp", mask) for k in lanes):
                values = {k: meetings[first + k][2] for k in lanes}
                for k in lanes:
                    step(first + k, values)
                break
        else:
            raise AssertionError("the threads of the emulation wait for one another")


def simulated(program: Program, given: dict[str, np.ndarray]) -> Arrays:
    """Runs the CUDA text of a program under PyCUDA's surface. Raises a finding, or its warning."""
    import pycuda.driver as cuda
    from pycuda.compiler import SourceModule

    module = SourceModule(program.cuda, no_extern_c=True, options=list(OPTIONS))
    out, real, pairs = (given[name].copy() for name in ("out", "real", "pairs"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in program.kernels * LAUNCHES:
            module.get_function(name)(
                cuda.InOut(out), cuda.InOut(real), cuda.InOut(pairs), cuda.In(given["x"]),
                cuda.In(given["y"]), np.int32(BLOCKS * THREADS),
                grid=(BLOCKS, 1), block=program.shape, shared=4 * THREADS,
            )  # fmt: skip
    count = BLOCKS * THREADS
    left = [np.zeros(count, np.int32), np.zeros(CELLS, np.uint32), np.zeros(1, np.int64),
            np.zeros((count, 2), np.float16)]
    for name, array in zip(("table", "counts", "total", "kept"), left, strict=True):
        cuda.memcpy_dtoh(array, module.get_global(name)[0])
    return Arrays(out, real, pairs, *left)


def differences(program: Program, given: dict[str, np.ndarray]) -> list[str]:
    """Returns where the simulator leaves something else than the emulation: NaN is NaN."""
    want, got = vars(emulated(program, given)), vars(simulated(program, given))
    found = []
    for name, expected in want.items():
        array = got[name]
        bits = f"u{array.itemsize}"
        wrong = (array.view(bits) != expected.view(bits)) & ~(np.isnan(array) & np.isnan(expected))
        if wrong.any():
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            found.append(f"{name}{list(at)} is {array[at]}, not {expected[at]} ({wrong.sum()} so)")
    return found


def main(first: int, last: int) -> int:
    """Compares the programs of these seeds, and prints what is wrong. Returns the exit status."""
    from helpers import device

    device.select()
    failed = 0
    for seed in range(first, last):
        try:
            wrong = differences(draw(seed), inputs(seed))
        except Exception as error:  # a finding of a right program, or a fault of this module
            wrong = [f"{type(error).__name__}: {error}"]
        failed += bool(wrong)
        for words in wrong:
            print(f"seed {seed}: {words}", flush=True)
    print(f"{last - first} programs, {failed} of them wrong")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
