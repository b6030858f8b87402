"""Races of searches that mark vertices, or lower their distances: which of them decide nothing."""

from __future__ import annotations

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator

N = 300
HEAD = "const int v = blockIdx.x * blockDim.x + threadIdx.x;\nif (v >= 300) return;\n"
SEARCH = (
    "if (level[v] == depth)\nfor (int e = 0; e < 4; e++) {{\nconst int w = ends[4 * v + e];\n"
    "if ({unmarked}) {{ {marks} }}\n}}\n"
)
PLAIN, BY_CAS = "level[w] == -1", "atomicCAS(&level[w], -1, depth + 1) == -1"
QUIET = {
    "all store the same": (PLAIN, "level[w] = depth + 1; *out = 1;"),
    "of unsigned numbers": (
        "((unsigned*)level)[w] == ~0u", "((unsigned*)level)[w] = depth + 1; *out = 1;"
    ),
    "one comes first": (BY_CAS, "out[atomicAdd(out, 1) + 1] = w;"),
    "a look before the atomic": (
        f"level[w] == -1 && {BY_CAS}", "out[atomicAdd(out, 1) + 1] = w;"
    ),
    "a look before the exchange": (
        "level[w] < 0 && atomicExch(&level[w], depth + 1) < 0", "out[atomicAdd(out, 1) + 1] = w;"
    ),
    "below zero": ("level[w] < 0", "level[w] = depth + 1; *out = 1;"),
    "above zero": ("!(level[w] >= 0) && w != v", "level[w] = depth + 1; *out = 1;"),
    "a level that is larger": ("level[w] + 5 < 5", "level[w] = depth + 1; *out = 1;"),
}  # fmt: skip
RACING = {
    "each stores at a place of its own": (PLAIN, "level[w] = depth + 1; out[v] = 1;"),
    "each counts": (PLAIN, "level[w] = depth + 1; atomicAdd(out, 1);"),
    "some set the flag": (PLAIN, "level[w] = depth + 1; if (v % 2) *out = 1;"),
    "each stores its own number": (PLAIN, "level[w] = v + 100; *out = 1;"),
    "two marks": (PLAIN, "level[w] = e < 2 ? depth + 1 : depth + 2;"),
    "the mark that others look for": (PLAIN, "level[w] = depth; *out = 1;"),
    "a look, and no atomic": (
        "level[w] < 0", "level[w] = depth + 1; out[atomicAdd(out, 1) + 1] = w;"
    ),
    "a look for all marks": ("level[w] < 9", "level[w] = depth + 1; *out = 1;"),
    "who comes second": (
        f"level[w] == -1 && !({BY_CAS})", "out[atomicAdd(out, 1) + 1] = w;"
    ),
    "a number that is not known": ("level[w] != 7", "level[w] = depth + 1;"),
    "a mark of two bytes": ("*(short*)&level[w] == -1", "*(short*)&level[w] = 9;"),
}
LATER = {
    "a later look for the mark": "if (level[v] == depth + 1) out[1] = 1;",
    "a sum of marks": "out[v] = level[(v + 1) % 300];",
}
BODIES = {name: HEAD + SEARCH.format(unmarked=a, marks=b) for name, (a, b) in
          {**QUIET, **RACING}.items()}  # fmt: skip
BODIES |= {name: BODIES["all store the same"] + line for name, line in LATER.items()}
KERNELS = Kernels([*BODIES.values()], "int* level, int* out, const int* ends, int depth")


def findings(name: str):
    random = np.random.default_rng(1)
    level = np.where(random.integers(0, 3, N) == 1, 1, -1).astype(np.int32)
    ends = random.integers(0, N, 4 * N).astype(np.int32)
    return simulator.check(
        *KERNELS.of(BODIES[name]), level, np.zeros(2 * N, np.int32), ends, np.int32(1),
        grid=(5,), block=(64,),
    )  # fmt: skip


def kinds(name: str) -> set[str]:
    return {finding.kind for finding in findings(name)}


def test_marks_that_must_be_claimed_are_one_finding_and_name_the_atomic():
    """Whether a thread reads a mark or what was there before, it finds no vertex of its level."""
    (finding,) = findings("each counts")
    assert "atomicCAS" in finding.cause


@pytest.mark.parametrize("name", QUIET)
def test_a_search_whose_races_decide_nothing_is_not_blamed(name):
    assert kinds(name) == set()


@pytest.mark.parametrize("name", [*RACING, *LATER])
def test_a_search_whose_result_depends_on_the_order_is_blamed(name):
    assert kinds(name) == {"race"}


# ---- a look at an element, to save an atomic function ----

LOOK = "const int i = blockIdx.x * blockDim.x + threadIdx.x, k = ends[i] % 9, x = ends[i];\n"
BIT = "const unsigned b = x, bit = 1u << b % 32;\nunsigned* f = (unsigned*)level;\n"
BY_CAS_LOOP = (
    "int old = {at};\nwhile (__int_as_float(old) < __int_as_float(x)) {{\n"
    "    const int seen = atomicCAS(&{at}, old, x);\n    if (seen == old) break;\n"
    "    old = seen;\n}}\n"
)
IN_BLOCK = (
    "__shared__ int best;\nif (threadIdx.x == 0) best = 0;\n__syncthreads();\n{look}\n"
    "__syncthreads();\nif (threadIdx.x == 0) out[blockIdx.x] = best;"
)
LARGEST_IN_BLOCK = IN_BLOCK.format(look="if (x > best) atomicMax(&best, x);")
BARRIER = "__syncthreads();\n"
SAVED = {
    "the largest fraction": BY_CAS_LOOP.format(at="level[k]"),
    "the largest fraction, asked for twice": (
        "const float v = __int_as_float(x), *f = (const float*)level;\nif (f[k] >= v) return;\n"
        "int old = level[k], seen;\ndo {\n    seen = old;\n"
        "    if (__int_as_float(seen) >= v) break;\n    old = atomicCAS(&level[k], seen, x);\n"
        "} while (old != seen);"
    ),
    "the largest of a block": LARGEST_IN_BLOCK,
    "the largest fraction of a block": IN_BLOCK.format(look=BY_CAS_LOOP.format(at="best")),
    "the largest of a block, in memory of the launch's size": LARGEST_IN_BLOCK.replace(
        "__shared__ int best;", "extern __shared__ int first[];"
    ).replace("&best", "first").replace("best", "first[0]"),
    "a search that a block ends": (
        "__shared__ int found;\nif (threadIdx.x == 0) found = 0;\n__syncthreads();\n"
        "for (int e = threadIdx.x; e < 300 && !found; e += 50) if (ends[e] > 80) found = 1;\n"
        "__syncthreads();\nif (threadIdx.x == 0) out[blockIdx.x] = found;"
    ),
    "the largest of a block, twice": (
        "__shared__ int best;\nfor (int turn = 0; turn < 2; ++turn) {\n"
        "    if (threadIdx.x == 0) best = 0;\n    __syncthreads();\n"
        "    if (x > best) atomicMax(&best, x);\n    __syncthreads();\n"
        "    if (threadIdx.x == 0) out[blockIdx.x] = best;\n    __syncthreads();\n}"
    ),
    "the largest": "if (x > level[k]) atomicMax(&level[k], x);",
    "the smallest": "if (x <= *level) atomicMin(level, x);",
    "a bit": BIT + "if (!(f[b / 32] >> b % 32 & 1)) atomicOr(&f[b / 32], bit);",
    "a bit that is counted": (
        BIT + "if (!(f[k] & bit) && !(atomicOr(f + k, bit) & bit)) atomicAdd(out, 1);"
    ),
    "a bit that goes": BIT + "if ((f[k] & bit) != 0) atomicAnd(&f[k], ~bit);",
    "a claim": "if (!level[k] && !atomicExch(&level[k], 1)) out[k] = x;",
    "a colour of this round": (
        "if (level[i] != 20) return;\nbool top = true;\nfor (int e = 0; e < 3 && top; ++e) {\n"
        "    const int u = (x * 3 + e) % 300, c = level[u];\n"
        "    if ((c == 20 || c == depth) && u > i) top = false;\n}\n"
        "if (top) level[i] = depth; else *out = 1;"
    ),
    "a mark that few set": "if (x * x == 1764 && !level[k]) level[k] = 1;",
    "a claim of a byte's size": "char* c = (char*)level;\nif (!c[x]) c[x] = 1;",
}
NOT_SAVED = {
    "a search that a block counts": (
        "__shared__ int found;\nif (threadIdx.x == 0) found = 0;\n__syncthreads();\n"
        "int e = threadIdx.x;\nfor (; e < 300 && !found; e += 50) if (ends[e] > 80) found = 1;\n"
        "out[i] = e;"
    ),
    "one try": "const int old = level[k];\nif (x > old) atomicCAS(&level[k], old, x);",
    "the fraction that was there": BY_CAS_LOOP.format(at="level[k]") + "out[i] = old;",
    "a cell of a block, set without a barrier": LARGEST_IN_BLOCK.replace(BARRIER, "", 1),
    "a cell of a block, read without a barrier": (
        LARGEST_IN_BLOCK.replace("x);\n" + BARRIER, "x);\n")
    ),
    "a cell of a block, set anew without a barrier": (
        "__shared__ int best;\nfor (int turn = 0; turn < 2; ++turn) {\n"
        "    if (threadIdx.x == 0) best = 0;\n    __syncthreads();\n"
        "    if (x > best) atomicMax(&best, x);\n}\n__syncthreads();\n"
        "if (threadIdx.x == 0) out[blockIdx.x] = best;"
    ),
    "one store among the looks": (
        IN_BLOCK.format(look="if (x > best) atomicMax(&best, x);\nif (x == 42) best = 7;")
    ),
    "a larger one": "if (x > level[k]) atomicMax(&level[k], x + 1);",
    "the wrong way": "if (x >= level[k]) atomicMin(&level[k], x - 50);",
    "another element": "if (x > level[k]) atomicMax(&level[k + 1], x);",
    "another bit": BIT + "if (!(f[k] & bit)) atomicOr(&f[k], bit << 1 | bit);",
    "any bit": BIT + "if (!f[k]) atomicOr(&f[k], bit);",
    "a count of looks": "if (x > level[k]) { atomicMax(&level[k], x); atomicAdd(out, 1); }",
    "a value that is kept": (
        "int old = level[k];\nif (x > old) atomicMax(&level[k], x);\nout[i] = old;"
    ),
    "a value that few keep": (
        "int old = level[k];\nif (x > old) atomicMax(&level[k], x);\n"
        "if (x * x == 1764) out[i] = old;"
    ),
    "a mark that few count": (
        "int old = level[k];\nlevel[k] = 1;\nif (x > 40 && 3 * x + 5 < 200 && x / 2 != 31) "
        "out[i] = old;"
    ),
    "a plain store": "if (x > level[k]) level[k] = x;",
    "a claim without an atomic": "if (!level[k]) { level[k] = 1; out[i] = 1; }",
    "two functions": "if (x > level[k]) atomicMax(&level[k], x); else atomicMin(&level[k], 40);",
}
LOOKS = Kernels(
    [LOOK + body for body in (*SAVED.values(), *NOT_SAVED.values())],
    "int* level, int* out, const int* ends, int depth",
)


def kinds_of_looks(body: str) -> set[str]:
    ends = np.random.default_rng(3).integers(0, 90, 300).astype(np.int32)
    findings = simulator.check(
        *LOOKS.of(LOOK + body), np.full(300, 20, np.int32) * ("(!" not in body),
        np.zeros(300, np.int32), ends, np.int32(1), grid=(6,), block=(50,),
        shared=4 * ("extern" in body),
    )  # fmt: skip
    return {finding.kind for finding in findings}


@pytest.mark.parametrize("name", SAVED)
def test_a_look_that_only_saves_an_atomic_is_not_blamed(name):
    assert kinds_of_looks(SAVED[name]) == set()


@pytest.mark.parametrize("name", NOT_SAVED)
def test_a_look_that_decides_something_is_blamed(name):
    assert kinds_of_looks(NOT_SAVED[name]) == {"race"}


# ---- distances that only fall ----

EDGE = (
    "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= 600) return;\n"
    "const int u = ends[2 * i], v = ends[2 * i + 1];\n"
)
FALLING = {
    "a longer way is offered again": (
        "int d = level[u];\nif (d < 1000000 && atomicMin(&level[v], d + 3) > d + 3) *out = 1;"
    ),
    "labels of components": (
        "int l = level[u];\nif (l < level[v]) { atomicMin(&level[v], l); *out = 1; }"
    ),
    "the largest": "int l = level[u];\nif (atomicMax(&level[v], l) < l) out[0] = 1;",
    "the edges of a vertex": (
        "int d = level[u];\nif (d < 80)\n    for (int e = i; e < min(i + 3, 600); ++e)\n"
        "        if (atomicMin(&level[ends[2 * e]], d + 3) > d + 3) *out = 1;"
    ),
    "labels that are places": (
        "int a = level[u], b = level[v];\n"
        "if (a != b) { atomicMin(&level[max(a, b)], min(a, b)); *out = 1; }"
    ),
}
NOT_FALLING = {
    "no flag": "atomicMin(&level[v], level[u] + 3);",
    "a flag for each thread": (
        "int d = level[u];\nif (atomicMin(&level[v], d + 3) > d + 3) out[i] = 1;"
    ),
    "a value that is kept": (
        "int d = level[u];\nout[i + 1] = d;\nif (atomicMin(&level[v], d + 3) > d + 3) *out = 1;"
    ),
    "a label that few keep": (
        "int l = level[u];\nif (u * u == 1225) out[i + 1] = l;\n"
        "if (atomicMin(&level[v], l) > l) *out = 1;"
    ),
    "a plain store": "int d = level[u] + 3;\nif (d < level[v]) { level[v] = d; *out = 1; }",
    "up and down": (
        "int d = level[u];\nif (atomicMin(&level[v], d + 3) > d + 3) *out = 1;\n"
        "atomicMax(&level[u], depth);"
    ),
    "a difference": "int d = 50 - level[u];\nif (atomicMin(&level[v], d) > d) *out = 1;",
    "a count of attempts": (
        "int d = level[u];\nif (d < 40) { atomicMin(&level[v], d + 3); atomicAdd(out, 1); }\n"
        "out[1] = 1;"
    ),
}
DISTANCES = Kernels(
    [EDGE + body for body in (*FALLING.values(), *NOT_FALLING.values())],
    "int* level, int* out, const int* ends, int depth",
)


def kinds_of_distances(body: str) -> set[str]:
    random = np.random.default_rng(2)
    level, ends = random.integers(0, 90, N), random.integers(0, N, 1200)
    findings = simulator.check(
        *DISTANCES.of(EDGE + body), level.astype(np.int32), np.zeros(700, np.int32),
        ends.astype(np.int32), np.int32(1), grid=(10,), block=(64,),
    )  # fmt: skip
    return {finding.kind for finding in findings}


@pytest.mark.parametrize("name", FALLING)
def test_distances_that_only_fall_may_be_read_early(name):
    assert kinds_of_distances(FALLING[name]) == set()


@pytest.mark.parametrize("name", NOT_FALLING)
def test_a_relaxation_whose_result_depends_on_the_order_is_blamed(name):
    assert kinds_of_distances(NOT_FALLING[name]) == {"race"}


# ---- links that threads follow to their end ----

LINK = (
    "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= 300) return;\n"
    "int r = level[i];\n"
)
CHAINS = {
    "the end of the chain": "while (level[r] != r) r = level[r];\nlevel[i] = r;",
    "marks on the way, which the other thread has set, too": (
        "for (; level[r] != r; r = level[r]) out[r] = 1;\nlevel[i] = r;"
    ),
    "the end of the chain, by a volatile pointer": (
        "volatile int* p = level;\nr = i;\nwhile (p[r] != r) r = p[r];\np[i] = r;"
    ),
    "the end of the chain, if it is another": (
        "while (level[r] != r) r = level[r];\nif (level[i] != r) level[i] = r;"
    ),
}
NOT_CHAINS = {
    "one step": "level[i] = level[r];",
    "the length of the chain": (
        "int length = 1;\nfor (; level[r] != r; ++length) r = level[r];\nlevel[i] = r;\n"
        "out[i] = length;"
    ),
    "the last but one": (
        "int last = i;\nfor (; level[r] != r; r = level[r]) last = r;\nlevel[i] = last;"
    ),
    "roots that plain stores join": (
        "int q = (7 * i + 1) % 300;\nwhile (q != r) {\n    while (level[r] != r) r = level[r];\n"
        "    while (level[q] != q) q = level[q];\n    const int high = max(q, r);\n"
        "    if (q != r && level[high] == high) { level[high] = min(q, r); return; }\n}"
    ),
    "the number of the step": (
        "int step = 0;\nfor (; level[r] != r; r = level[r]) out[r] = ++step;\nlevel[i] = r;"
    ),
}
LINKS = Kernels(
    [LINK + body for body in (*CHAINS.values(), *NOT_CHAINS.values())],
    "int* level, int* out, const int* ends, int depth",
)


def kinds_of_links(body: str) -> set[str]:
    steps = np.random.default_rng(2).integers(0, 30, N)
    level = np.maximum(np.arange(N) - steps, 0).astype(np.int32)
    findings = simulator.check(
        *LINKS.of(LINK + body), level, np.zeros(N, np.int32), np.zeros(N, np.int32), np.int32(1),
        grid=(5,), block=(64,),
    )  # fmt: skip
    return {finding.kind for finding in findings}


@pytest.mark.parametrize("name", CHAINS)
def test_a_link_may_be_replaced_by_the_end_of_its_chain(name):
    assert kinds_of_links(CHAINS[name]) == set()


@pytest.mark.parametrize("name", NOT_CHAINS)
def test_a_chain_of_which_the_order_shows_is_blamed(name):
    assert kinds_of_links(NOT_CHAINS[name]) == {"race"}


# ---- stores of what is there already ----

SHORTEST = """__global__ void relax(int *m, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n) m[i * n + j] = min(m[i * n + j], m[i * n + k] + m[k * n + j]);
}"""
SHIFT = """__global__ void relax(int *m, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - k) m[i] = m[i + k];
}"""


@pytest.mark.parametrize(("n", "threads"), [(5, 8), (32, 16), (70, 16)])
def test_shortest_paths_in_place_store_what_others_read_unchanged(n, threads):
    weights = np.random.default_rng(1).integers(1, 99, (n, n)).astype(np.int32)
    np.fill_diagonal(weights, 0)
    grid = (-(-n // threads),) * 2
    for k in range(0, n, 4):
        args = weights, np.int32(n), np.int32(k)
        assert not simulator.check(SHORTEST, "relax", *args, grid=grid, block=(threads,) * 2)


def test_shortest_paths_in_place_race_where_the_diagonal_changes_them():
    weights = np.random.default_rng(1).integers(1, 99, (32, 32)).astype(np.int32)
    np.fill_diagonal(weights, -3)
    args = weights, np.int32(32), np.int32(3)
    findings = simulator.check(SHORTEST, "relax", *args, grid=(2, 2), block=(16, 16))
    assert [one.kind for one in findings] == ["race"]


@pytest.mark.parametrize(
    "values", [np.zeros(64), np.ones(64), np.arange(64), np.arange(64) // 8]
)
def test_a_shift_in_place_races_whatever_the_values(values):
    args = values.astype(np.int32), np.int32(64), np.int32(1)
    findings = simulator.check(SHIFT, "relax", *args, grid=(1,), block=(64,))
    assert [one.kind for one in findings] == ["race"]
