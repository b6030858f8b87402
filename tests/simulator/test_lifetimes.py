"""A pointer that outlives the variable of a block: found where it is used, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator
from helpers.simulator.compile.includes import without_comments
from helpers.simulator.ptx import lifetimes

N = 64
BEFORE = """
struct Node { int value; Node* next; };
struct View { const int* data; int n; };
__device__ __forceinline__ void largest(const int*& best, int a, int b) {
    int m = a > b ? a : b;
    best = &m;
}
__device__ __forceinline__ void largest_of(int* best, int a, int b) {
    int m = a > b ? a : b;
    int* p = &m;
    *best = *p;
}
"""
PARAMETERS = "int* y, const int* x, int n"
HEAD = "const int t = threadIdx.x;\n"
# Body, the line of the use (from 1), and the variable.
DEAD = {
    "a scalar": ("int* p;\n{\n    int a = x[t];\n    p = &a;\n}\ny[t] = *p;", 7, "a"),
    "an array": (
        "int* w;\nif (n > 2) {\n    int tmp[3];\n    for (int k = 0; k < 3; ++k) tmp[k] = k;\n"
        "    w = tmp;\n}\nint s = 0;\nfor (int k = 0; k < 3; ++k)\n    s += w[k];\ny[t] = s;",
        10, "tmp",
    ),
    "the smallest of a loop": (
        "const int* low = x;\nfor (int k = 0; k < n; ++k) {\n    int v = -x[k];\n"
        "    if (v < *low) low = &v;\n}\ny[t] = *low;",
        5, "v",
    ),
    "a list": (
        "Node* head = nullptr;\nfor (int k = 0; k < 3; ++k) {\n    Node node;\n"
        "    node.value = x[k];\n    node.next = head;\n    head = &node;\n}\n"
        "for (int k = 0; k < 3; ++k) {\n    y[t] += head->value;\n    head = head->next;\n}",
        10, "node",
    ),
    "a member": (
        "View v;\n{\n    int pair[2] = {x[t], 1};\n    v.data = pair;\n    v.n = 2;\n}\n"
        "for (int k = 0; k < v.n; ++k)\n    y[t] += v.data[k];",
        9, "pair",
    ),
    "a function that is inlined": ("const int* b;\nlargest(b, x[t], 3);\ny[t] = *b;", 4, "m"),
    "a store": (
        "int* sum = y;\nfor (int k = 0; k < n; ++k) {\n    if (k == 0) {\n        int a = 0;\n"
        "        sum = &a;\n    }\n    *sum = x[t];\n    y[t] = k;\n}",
        8, "a",
    ),
    "a case of a switch": (
        "int* p = y + t;\nswitch (x[t] % 3) {\ncase 0: { int a = 5; p = &a; break; }\n"
        "case 1: { int b = 7; *p = b; break; }\n}\ny[t] = *p + 1;",
        7, "a",
    ),
    "an outer loop": (
        "int* p;\nfor (int k = 0; k < 2; ++k) {\n    for (int j = 0; j < 2; ++j) {\n"
        "        int a = x[t] + j;\n        p = &a;\n    }\n    y[t] += *p;\n}",
        8, "a",
    ),
    "that of the last turn, before a new one": (
        "int* last = nullptr;\nfor (int k = 0; k < n; ++k) {\n    if (last) y[t] += *last;\n"
        "    int a = x[t] + k;\n    last = &a;\n}",
        4, "a",
    ),
    "that of the last turn, behind a new one": (
        "int* last = nullptr;\nfor (int k = 0; k < n; ++k) {\n    int a = x[t] + k;\n"
        "    if (last) y[t] += a - *last;\n    last = &a;\n}",
        5, "a",
    ),
    "that of the last turn, in a list": (
        "Node* head = nullptr;\nfor (int k = 0; k < n; ++k) {\n    Node node = {x[t] + k, head};\n"
        "    if (node.next) y[t] += node.next->value;\n    head = &node;\n}",
        5, "node",
    ),
}  # fmt: skip
ALIVE = {
    "that of the last turn, which nothing reads": (
        "int* last = nullptr;\nint s = 0;\nfor (int k = 0; k < n; ++k) {\n    int a = x[t] + k;\n"
        "    if (last != nullptr) s += a;\n    last = &a;\n}\ny[t] = s;"
    ),
    "loops around and within the block": (
        "int* keep = y;\nint s = 0;\nfor (int r = 0; r < 2; ++r) for (int k = 0; k < n; ++k) {\n"
        "    int a = x[k];\n    for (int j = 0; j < 3; ++j) { keep = &a; *keep += j; }\n"
        "    s += *keep + a;\n}\ny[t] = s;"
    ),
    "a loop that begins the block": (
        "int* keep = y;\nint s = 0;\nint k = 0;\nwhile (k < n) {\n    int a;\n    do {\n"
        "        a = x[k];\n        if (k % 2) keep = &a; else { a += 2; keep = &a; }\n"
        "        s += *keep;\n    } while (++k % 3);\n    s += *keep;\n}\ny[t] = s;"
    ),
    "jumps into the block": (
        "int* keep = y + t;\nint s = 0;\nfor (int k = 0; k < n; ++k) {\n    switch (x[k] % 3) {\n"
        "    default: { int a; case 0: a = k; again: keep = &a; s += *keep + a;\n"
        "        if (a == 3) { a = 9; goto again; }\n        break; }\n    }\n}\ny[t] = s;"
    ),
    "a variable before the block": (
        "int a;\nint* p = y;\nfor (int k = 0; k < n; ++k) {\n    a = x[t] + k;\n    p = &a;\n}\n"
        "y[t] = *p;"
    ),
    "a way out in the middle": (
        "for (int k = 0; k < n; ++k) {\n    int a = x[t] + k;\n    int* p = &a;\n"
        "    if (*p == 7) continue;\n    if (*p > 30) break;\n"
        "    if (*p == 9) { y[t] = *p; return; }\n    y[t] += *p;\n}"
    ),
    "buffers that change places": (
        "int a[3], b[3];\nint* in = a;\nint* out = b;\nfor (int k = 0; k < 3; ++k) in[k] = x[t];\n"
        "for (int r = 0; r < 3; ++r) {\n    int edge[2] = {in[0], in[2]};\n    int* e = edge;\n"
        "    out[0] = e[0]; out[1] = in[0] + in[2]; out[2] = e[1];\n"
        "    int* other = in; in = out; out = other;\n}\ny[t] = in[1];"
    ),
    "a list from a pool": (
        "Node pool[3];\nNode* head = nullptr;\nfor (int k = 0; k < 3; ++k) {\n"
        "    Node* node = &pool[k];\n    node->value = x[k];\n    node->next = head;\n"
        "    head = node;\n}\nfor (; head; head = head->next) y[t] += head->value;"
    ),
    "a function that is inlined": "int best;\nlargest_of(&best, x[t], 3);\ny[t] = best;",
    "cases that fall through": (
        "switch (x[t] % 3) {\n    int a; int* p;\ncase 0: a = 5; p = &a; y[t] = *p; break;\n"
        "case 1: a = 7;\ncase 2: p = &a; if (x[t] % 3 == 2) *p = 9; y[t] = *p + a; break;\n}"
    ),
    "a jump out of the block": (
        "int s = 0;\ndo {\n    int cell[3] = {x[t], x[t] + 1, s};\n    int* p = cell;\n"
        "    while (p < cell + 3) { s += *p++; if (s > 50) goto out; }\n} while (s < 20);\n"
        "out: y[t] = s;"
    ),
    "each turn its own": (
        "int s = 0;\nfor (int k = 0; k < n; ++k) {\n    int a[2];\n    int* p = a;\n"
        "    p[0] = x[k]; p[1] = s;\n    s = p[0] + p[1];\n}\ny[t] = s;"
    ),
}
KERNELS = Kernels([HEAD + body for body, *_ in DEAD.values()], PARAMETERS, BEFORE)
RIGHT = Kernels([HEAD + body for body in ALIVE.values()], PARAMETERS, BEFORE)


def found(kernels: Kernels, body: str, y: np.ndarray | None = None):
    y = np.zeros(N, np.int32) if y is None else y
    x = np.arange(N, dtype=np.int32)
    return simulator.check(*kernels.of(HEAD + body), y, x, np.int32(8), grid=(1,), block=(N,))


@pytest.mark.parametrize("name", DEAD)
def test_a_variable_ends_with_its_block(name):
    body, line, variable = DEAD[name]
    (finding,) = found(KERNELS, body)
    assert finding.kind == "out-of-bounds" and finding.array == variable
    assert finding.line == KERNELS.line(HEAD + body, line)
    assert "after the block that declares" in finding.message
    assert "before the block" in finding.cause


@pytest.mark.parametrize("name", ALIVE)
def test_a_variable_lives_in_its_block(name):
    assert lifetimes.may_outlive_a_block(without_comments(RIGHT.source))
    assert found(RIGHT, ALIVE[name]) == ()


def test_each_variable_is_a_finding_of_its_own():
    body = (
        "const int *lo, *hi;\nif (t < 9) { int a = x[t]; lo = &a; int b = 3; hi = &b; }\n"
        "else { lo = x; hi = x; }\ny[t] = *hi - *lo;"
    )
    kernels = Kernels([HEAD + body], PARAMETERS)
    assert {one.array for one in found(kernels, body)} == {"a", "b"}


@pytest.mark.parametrize(
    ("source", "may"),
    [
        ("float* p; { float t = x[i]; p = &t; }", True),
        ("p = k ? &a : &b;", True),
        ("{ float tmp[4]; p = tmp; }", True),
        ("{ float tmp[4]; p = &tmp[1]; }", True),
        ("{ float tmp[4]; v = tmp[1] * 2; }", False),
        ("const float* row = &x[i * n];", False),
        ("a = b & c; d = e && f;", False),
        ("__shared__ float tile[4]; float* p = tile;", False),
    ],
)
def test_only_some_sources_keep_an_address(source, may):
    assert lifetimes.may_outlive_a_block(source) == may
