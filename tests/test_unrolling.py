"""Which loops the simulator asks its compiler to unroll, and that it does so in bounded time."""

import re

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.translate import without_comments
from helpers.simulator.unrolling import LIMIT, LIMIT_WITH_PRAGMA, mark_loops


def marked(text: str, macros: str = "") -> str:
    return mark_loops(text, without_comments(text), macros)


def rounds(header: str, before: str = "", macros: str = "") -> int:
    """The number that the mark before `for (header) y[i] = 0;` asks for; 0 where there is none."""
    text = f"{before}\nfor ({header}) y[i] = 0;"
    found = marked(text, macros)
    return int(re.search(r"HALO_UNROLL\w*\((\d+)\)", found)[1]) if found != text else 0


@pytest.mark.parametrize(
    ("header", "before", "expected"),
    [
        ("int i = 0; i < 8; ++i", "", 8),
        ("int i = 0; i <= 8; i++", "", 9),
        ("int i = 8; i > 0; i /= 2", "", 4),
        ("unsigned i = 16u; i; i >>= 1", "", 16),  # a condition of another form: not known
        ("unsigned i = 16u; i > 0; i >>= 1", "", 5),
        ("int i = -R; i <= R; ++i", "#define R 3", 7),
        ("int i = 0; i < W; ++i", "constexpr int R = 3, X = 1;\nconst int W = 2 * R + 1;", 7),
        ("int i = 0; i < W; ++i", "const int W = 3;\nconst int W = 4;", 16),
        ("int i = 0; i < W; ++i", "template <int W> void f();\nvoid g() { f<5>(); f<9>(); }\ntemplate <int W> void f() {}", 9),
        ("int i = threadIdx.x; i < 64; i += 32", "", 0),
        ("int i = 0; i < 1; ++i", "", 0),
        ("int i = 0; i < 200; ++i", "", 0),
        ("int i = 0; i < 200; ++i", "#pragma unroll", 200),
        ("int i = 0; i < 20000; ++i", "#pragma unroll", 0),
        ("int i = 0; i < 8; ++i", "#pragma unroll 1", 0),
        ("int i = 0; i < 8; ++i", "#define ONE 1\n#pragma unroll (ONE)", 0),
        ("int i = 0; i < 8; i += 0", "", 0),
        ("int i = 0; ; ++i", "", 0),
        ("int i = 0; i < 8; ++i", "#define LOOP \\", 8),
    ],
)
def test_rounds_are_counted(header, before, expected):
    assert rounds(header, before) == expected


def test_an_option_of_the_compiler_goes_before_a_default():
    default = "#ifndef K\n#define K 3\n#endif"
    assert (rounds("int i = 0; i < K; ++i", default), rounds("int i = 0; i < K; ++i", default, "#define K 7")) == (3, 7)


def test_only_the_inner_loops_of_a_large_nest_are_unrolled():
    nest = "for (int c = 0; c < 4; ++c) for (int p = 0; p < 7; ++p) for (int m = 0; m < 8; ++m)\n"
    nest += "for (int o = 0; o < 8; ++o) a[m][o] += x[o];"
    without = marked(nest)
    assert 2 * 7 * 64 <= LIMIT < 2 * 4 * 7 * 64
    assert without.count("HALO_UNROLL") == 3 and without.startswith("for (int c")
    larger = nest.replace("p < 7", "p < 7 * 49").replace("for", "\n#pragma unroll\nfor")
    assert 2 * 64 < LIMIT_WITH_PRAGMA < 2 * 7 * 49 * 64
    assert marked(larger).count("HALO_UNROLL") == 3  # o, m, and c: around a loop that stays one


def test_a_function_counts_where_it_is_called():
    function = "__device__ void f(float* y) { for (int i = 0; i < 100; ++i) y[i] += 1; }\n"
    assert marked(f"{function} for (int k = 0; k < 8; ++k) f(y);").count("HALO_UNROLL") == 2
    assert marked(f"{function} for (int k = 0; k < 11; ++k) f(y);").count("HALO_UNROLL") == 1


BROKEN = ("for (", "for (int i = 0; i < 3; ++i", "for (;;) {", "if (a) { for (int i = 0; i < 3; ++i) }}}", "for () (")


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_program_is_left_to_the_compiler(text):
    assert marked(text).replace("HALO_UNROLL(3) ", "").replace("HALO_UNROLL(16) ", "") == text


NEST = """
#define T 8
extern "C" __global__ void k(float* y, const float* x, int n)
{
    float a[T][T] = {};
    if (n > 0) PRAGMA for (int c = 0; c < 4; ++c)
        PRAGMA for (int p = 0; p < 7; ++p)
            PRAGMA for (int q = 0; q < 7; ++q)
                PRAGMA for (int m = 0; m < T; ++m)
                    PRAGMA for (int o = 0; o < T; ++o) a[m][o] += x[c * n + p * 7 + q + m] * x[o];
    else y[0] = 1;
    float sum = 0;
    for (int m = 0; m < T; ++m) for (int o = 0; o < T; ++o) sum += a[m][o];
    y[threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize("pragma", ["", "\n#pragma unroll\n"])
def test_a_nest_of_12544_rounds_gives_its_sum_either_way(pragma):
    y, x = np.zeros(32, np.float32), np.ones(128, np.float32)
    found = simulator.check(NEST.replace("PRAGMA", pragma), "k", y, x, np.int32(16), grid=(1,), block=(32,))
    assert found == () and (y == 4 * 7 * 7 * 8 * 8).all()
