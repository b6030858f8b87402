"""Every fault of the corpus is found, with its kind and line; no right kernel is blamed; right
kernels compute what they should.

The corpus is the folder corpus/; helpers.tools.corpus says what its headers mean.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from evidence.sanitizer import record as sanitizer_record
from evidence.sanitizer import tables as sanitizer_tables
from helpers import device
from helpers.tools import corpus
from helpers.tools.corpus import Case, CaseError, Said
from tests import golden

pytestmark = pytest.mark.long

CORPUS = Path(__file__).resolve().parent / "corpus"
FAULTY = corpus.cases(CORPUS / "faulty")
CORRECT = corpus.cases(CORPUS / "correct")
RUNAWAY_S = 0.1


def by_name(case: Case) -> str:
    return case.name


ORDER = re.compile(
    r"^\s*(__syncthreads\(\)|__syncwarp\(.*\)|__threadfence\(\)|\w+\.sync\(\));", re.MULTILINE
)


def without_one_order(case: Case) -> dict[str, Case]:
    """The kernel with each of its barriers and fences left out in turn, by "name-number"; the lines
    keep their numbers.
    """
    found = list(ORDER.finditer(case.source))
    sources = [case.source[: m.start(1)] + case.source[m.end(1) :] for m in found]
    return {
        f"{case.name}-{k}": dataclasses.replace(case, source=source)
        for k, source in enumerate(sources)
    }


# The kinds of places for a barrier or a fence, and for each kind one kernel that has it there: the
# others of the corpus repeat one of these, or a faulty kernel is the same without its barrier.
PLACES = {
    "dynamic_shared-0": "in dynamic shared memory",
    "neighbouring_bytes-0": "between bytes of one word",
    "shared_vectors-0": "between vectors",
    "struct_of_shared_arrays-0": "between arrays of a structure",
    "tile_2d_with_halo-0": "between a tile with its halo and a stencil",
    "partial_tile_padded-0": "where some threads store zeros",
    "function_with_barrier-0": "in a function that the kernel calls",
    "ticket_counter_set-0": "behind one thread's atomic, whose result all read",
    "mask_of_branch-0": "behind a branch of half a warp",
    "barrier_after_branches-0": "behind two branches",
    "histogram_atomic-0": "between zeros and atomics",
    "histogram_atomic-1": "between atomics and loads",
    "queue_between_phases-1": "between stores at places of atomics and one thread's loads",
    "scratch_rows_all_written-0": "between stores and loads of global memory",
    "in_place_one_block-0": "between loads of global memory and stores over them",
    "matmul_tiled-0": "in a loop, before the loads of a tile",
    "persistent_blocks-0": "in a loop without end, behind one thread's store",
    "persistent_blocks-1": "in a loop without end, before one thread's next store",
    "barrier_in_common_branch-1": "in a branch of whole blocks",
    "double_buffer-0": "before a loop over two buffers",
    "double_buffer-1": "in a loop over two buffers",
    "scan_in_two_buffers-0": "in a scan, where the buffers change places",
    "relaxation_in_shared-0": "in a loop, between loads and stores of neighbours",
    "relaxation_in_shared-1": "in a loop, between stores and the next loads of neighbours",
    "reduction-0": "before a tree",
    "bitonic_sort-1": "in two loops, between exchanges",
    "softmax_rows-1": "between the loads of one sum and the stores of the next",
    "last_warp_with_syncwarp-1": "between the tree of a block and that of a warp",
    "last_warp_with_syncwarp-2": "for a warp, between loads and stores",
    "last_warp_with_syncwarp-3": "for a warp, between stores and loads",
    "odd_even_exchange-1": "for a warp, in a loop of exchanges",
    "syncwarp_of_all_lanes-0": "for a warp, between stores and loads of a tile",
    "group_sync_outside_guard-0": "for a group of threads that is the block",
    "tile_sync_outside_branch-0": "for a group of threads within a warp",
    "mbarrier_expects_two_copies-0": "behind one thread's set-up of an mbarrier",
    "lock-0": "the fence after a lock is taken",
    "lock-1": "the writer's fence before a lock is given back",
    "last_block_sums-2": "the writer's fence before a ticket",
    "last_block_sums-3": "behind the ticket that all threads of a block read",
}
# What may be left out: the reader's fence, for which an atomic of the simulator does as well, and
# barriers that order nothing.
NOT_NEEDED = {
    "last_block_sums-4": "the reader's fence",
    "flag_published_with_fence-1": "the reader's fence",
    "shared_carved_in_three-1": "every thread reads the cell that it wrote itself",
    "tile_loaded_and_not_used-0": "nobody reads the tile",
}
UNORDERED = {
    name: mutant
    for case in CORRECT
    for name, mutant in without_one_order(case).items()
    if name in PLACES or name in NOT_NEEDED
}


@pytest.fixture(scope="module", autouse=True)
def built():
    """Compiles the whole corpus on all cores; what is in the cache already costs nothing."""
    corpus.compile_all([*FAULTY, *CORRECT, *UNORDERED.values()])


@cache
def run(case: Case) -> tuple[tuple[Said, ...], dict[str, np.ndarray]]:
    return corpus.run_in_simulator(case, time_limit=RUNAWAY_S if case.fault == "runaway" else None)


# ---- what a kernel should compute: slow and obvious, in float64 ----


def conv1d(x, w):
    radius = len(w) // 2
    padded = np.pad(x, radius)
    return np.array([sum(padded[i + j] * w[j] for j in range(len(w))) for i in range(len(x))])


def conv2d(x, w):
    rows, cols = x.shape[0] - w.shape[0] + 1, x.shape[1] - w.shape[1] + 1
    return np.array(
        [
            [np.sum(x[i : i + w.shape[0], j : j + w.shape[1]] * w) for j in range(cols)]
            for i in range(rows)
        ]
    )


def maxpool(x, width):
    rows, cols = (range(0, extent, width) for extent in x.shape)
    return np.array([[x[r : r + width, c : c + width].max() for c in cols] for r in rows])


def im2col(x, k):
    rows, cols = x.shape[0] - k + 1, x.shape[1] - k + 1
    return np.array([x[p : p + rows, q : q + cols].ravel() for p in range(k) for q in range(k)])


def collatz(value):
    steps = 0
    while value != 1:
        value, steps = (value // 2 if value % 2 == 0 else 3 * value + 1), steps + 1
    return steps


def votes(x):
    warps = np.asarray(x).reshape(-1, 32)
    ballots = [sum(1 << lane for lane in range(32) if warp[lane] > 4) for warp in warps]
    per_warp = [
        [int((w == 9).any()), int((w < 9).all()), ballot]
        for w, ballot in zip(warps, ballots, strict=True)
    ]
    return np.repeat(np.array(per_warp), 32, axis=0)


def block_votes(x):
    count, all_below, any_is = np.count_nonzero(x > 4), int((x < 10).all()), int((x == 99).any())
    return np.array([[count, all_below + 2 * any_is, x[t] + 1] for t in range(len(x))])


def bits(x):
    return np.array([bin(int(v)).count("1") for v in x])


def relax(x, rounds):
    for _ in range(rounds):
        x = np.concatenate([x[:1], 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:], x[-1:]])
    return x


ORACLES = {
    f.__name__: f
    for f in (conv1d, conv2d, maxpool, im2col, collatz, votes, block_votes, bits, relax)
}


def wide(argument: corpus.Argument):
    """An argument as the oracle takes it: floats in float64, whole numbers in int64."""
    value = argument.initial() if argument.role != "value" else argument.value
    dtype = np.float64 if argument.dtype.kind == "f" else np.int64
    return value.astype(dtype) if argument.role != "value" else dtype(value).item()


def require_result(case: Case, outputs: dict[str, np.ndarray]) -> None:
    """The outputs are what the header's `result` lines say."""
    names = {"np": np, **ORACLES, **{a.name: wide(a) for a in case.arguments if a.role != "null"}}
    for left, right in case.results:
        got, want = eval(left, {"np": np, **outputs}), np.asarray(eval(right, names))
        what = f"{case.name}: {left}"
        if got.dtype.kind == "f":
            tolerance = case.tolerance or (1e-3 if got.dtype == np.float16 else 1e-6)
            largest = max(np.abs(want).max(), 1)
            np.testing.assert_allclose(
                got, want.reshape(got.shape), rtol=0, atol=tolerance * largest, err_msg=what
            )
        else:
            np.testing.assert_array_equal(got, want.reshape(got.shape), err_msg=what)


def require_found(case: Case, said: tuple[Said, ...]) -> None:
    """The fault of the header is among what was said, in its line and array, and nothing stranger
    than what follows from it.
    """
    text = "\n".join(f"{s.kind} {s.lines} {s.array}: {s.text}" for s in said) or "nothing"
    fitting = [s for s in said if s.kind == case.fault]
    assert fitting, f"{case.name}: {case.fault} must be found, not:\n{text}"
    if case.fault != "resources":
        assert all(s.lines for s in fitting), f"{case.name}: no line is named:\n{text}"
        assert all(set(s.lines) <= case.lines for s in fitting), (
            f"{case.name}: the lines are {sorted(case.lines)}, not:\n{text}"
        )
    if case.array:
        assert case.array in {s.array for s in fitting}, (
            f"{case.name}: the array is {case.array}, not:\n{text}"
        )
    strange = [s for s in said if s.kind not in (case.fault, *case.also)]
    assert not strange, f"{case.name}: only {case.fault} {case.also} is wrong with it, not:\n{text}"


# ---- the corpus ----


def require_golden(case: Case, said: tuple[Said, ...]) -> None:
    row = [golden.of_said(one) for one in said]
    golden.require("corpus", f"{case.path.parent.name}/{case.name}", row)


@pytest.mark.parametrize("case", FAULTY, ids=by_name)
def test_a_fault_is_found(case):
    said, _ = run(case)
    require_found(case, said)
    require_golden(case, said)


@pytest.mark.parametrize("case", CORRECT, ids=by_name)
def test_a_right_kernel_is_not_blamed_and_computes_the_right_thing(case):
    said, outputs = run(case)
    assert not said, f"{case.name} is right, and was blamed:\n" + "\n".join(
        f"{s.kind} {s.lines}: {s.text}" for s in said
    )
    require_result(case, outputs)
    require_golden(case, said)


@pytest.mark.parametrize("name", PLACES)
def test_a_kernel_without_one_of_its_barriers_is_blamed(name):
    said, _ = run(UNORDERED[name])
    golden.require("corpus", f"unordered/{name}", [golden.of_said(one) for one in said])
    assert {s.kind for s in said} & {"race", "uninitialised", "barrier"}, said


@pytest.mark.parametrize("name", NOT_NEEDED)
def test_a_kernel_without_a_barrier_that_it_does_not_need_is_not_blamed(name):
    said, _ = run(UNORDERED[name])
    assert not said, NOT_NEEDED[name]


@pytest.mark.parametrize(
    "name", ["constant_filter", "scratch_rows_all_written", "pointer_may_be_null"]
)
def test_a_compiled_case_runs_through_pycuda(name, tmp_path):
    """What the recorded outputs come from, here with the simulator's PyCUDA."""
    device.select()
    from pycuda import compiler

    (case,) = (case for case in CORRECT if case.name == name)
    cubin = tmp_path / "case.cubin"
    cubin.write_bytes(
        compiler.compile(case.source, options=list(case.options), no_extern_c=True)
    )
    outputs = corpus.run_on_gpu(case, cubin)
    assert set(outputs) == {argument.name for argument in case.outputs}
    require_result(case, outputs)


def test_the_corpus_is_as_large_as_it_should_be():
    kinds = [case.fault for case in FAULTY]
    assert len(FAULTY) >= 60
    assert len(CORRECT) >= len(FAULTY)
    floor = (
        "out-of-bounds misaligned race uninitialised barrier runaway "
        "shuffle mask unwritten resources"
    )
    for kind in floor.split():
        assert kinds.count(kind) >= 4, kind


def test_every_twin_is_there():
    assert {case.twin for case in CORRECT if case.twin} == {case.name for case in FAULTY}


# ---- the judges judged: each is fed a wrong answer ----


def example(name: str) -> Case:
    return next(case for case in FAULTY + CORRECT if case.name == name)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ((), "must be found, not"),
        ((Said("race", (12,), "", "x"),), "must be found, not"),
        ((Said("out-of-bounds", (), "", "x"),), "no line"),
        ((Said("out-of-bounds", (3,), "", "x"),), "the lines are"),
        ((Said("out-of-bounds", (12, 3), "", "x"),), "the lines are"),
        ((Said("out-of-bounds", (12,), "", "y"),), "the array is x"),
        (
            (Said("out-of-bounds", (12,), "", "x"), Said("race", (12,), "", "x")),
            "only out-of-bounds",
        ),
    ],
)
def test_a_wrong_finding_is_refused(said, message):
    case = example("guard_off_by_one")
    (line,) = case.lines
    said = tuple(
        Said(s.kind, tuple(line if n == 12 else n for n in s.lines), s.text, s.array) for s in said
    )
    with pytest.raises(AssertionError, match=message):
        require_found(case, said)


@pytest.mark.parametrize("name", ["guard", "histogram_atomic", "half_pairs_with_tail"])
def test_a_wrong_result_is_refused(name):
    case = example(name)
    _, outputs = run(case)
    require_result(case, outputs)
    wrong = {key: values.copy() for key, values in outputs.items()}
    next(iter(wrong.values())).reshape(-1)[-1] += 1
    with pytest.raises(AssertionError, match=name):
        require_result(case, wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("guard.cu --", "gard.cu --"), "the first line"),
        (("// launch:", "// lunch:"), "unknown field 'lunch'"),
        (("// launch:", "//"), "0 lines '// launch"),
        (("in float x 1000 uniform", "in float x 1000"), "does not say what fills it"),
        (("in float x 1000 uniform", "in floot x 1000 uniform"), "unknown type 'floot'"),
        (("in float x 1000 uniform", "in float x uniform"), "cannot read the argument"),
        (("; int n=1000", ""), "the kernel takes y, x, n, the header gives y, x"),
        (("void guard(", "void other("), "no kernel guard"),
        (("// result:", "//"), "'// result:'"),
    ],
)
def test_a_wrong_header_is_named(tmp_path, change, message):
    (tmp_path / "correct").mkdir()
    path = tmp_path / "correct" / "guard.cu"
    source = example("guard").source
    assert change[0] in source
    path.write_text(source.replace(*change))
    with pytest.raises(CaseError, match=message):
        corpus.read(path)


def test_the_digest_follows_the_code_and_not_its_comments(tmp_path):
    (tmp_path / "correct").mkdir()
    case, path = example("guard"), tmp_path / "correct" / "guard.cu"
    path.write_text(case.source.replace(" -- ", " -- still: "))
    assert corpus.read(path).digest == case.digest
    path.write_text(case.source.replace("2.0f", "3.0f"))
    assert corpus.read(path).digest != case.digest


# ---- the record of a GPU, replayed ----

RENEW = "python -m evidence.sanitizer run tests/simulator/corpus"


@pytest.fixture(scope="module")
def record():
    if not sanitizer_record.RECORD.exists():
        pytest.skip(f"no record yet: {RENEW} on a GPU host makes it")
    return sanitizer_record.load()


def entry_of(record: dict, case: Case):
    entry = sanitizer_record.recorded(record, case)
    if entry is None:
        pytest.skip(f"changed since the record was made: {RENEW} on a GPU host renews it")
    return entry


@pytest.mark.parametrize("case", CORRECT, ids=by_name)
def test_a_gpu_computed_the_same(case, record):
    compared = sanitizer_tables.compare_results(case, run(case)[1], entry_of(record, case))
    assert {a.name for a in case.outputs} == set(compared)
    assert all(agrees for agrees, _ in compared.values()), compared


def test_the_simulator_is_never_behind_compute_sanitizer(record):
    ranks = ("nothing", "another kind", "kind only", "kind and line")
    behind = [
        case.name
        for case in FAULTY
        if (entry := sanitizer_record.recorded(record, case))
        and ranks.index(sanitizer_tables.verdict(case, run(case)[0]))
        < ranks.index(sanitizer_tables.best(case, entry)[0])
    ]
    assert behind == []


def test_the_record_holds_most_of_the_corpus(record):
    fresh = [case for case in FAULTY + CORRECT if sanitizer_record.recorded(record, case)]
    assert len(fresh) > 0.9 * len(FAULTY + CORRECT)
