"""The simulator's counters: those of Nsight Compute that a GPU gave, and the rest by kernels worked
out by hand.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from instances import ONE_WARP, Kernels

from evidence.counters import __main__ as counters
from evidence.counters import cases as counter_cases
from evidence.counters import comparison as counter_comparison
from evidence.counters import differences as counter_differences
from helpers import kernels, simulator
from helpers.bench import results
from helpers.launch import simulate
from helpers.problems import conv2d, gemm
from helpers.simulator.launch.profile import WATCHED_REQUESTS
from tests import golden

pytestmark = pytest.mark.long

KERNELS = Path(__file__).resolve().parent / "counters"
LAUNCHES = counter_cases.matching("", KERNELS)
# Kernels with instructions that the simulator refuses by name, so that it has no counters of them.
REFUSED = {"conv2d_implicit_wgmma", "conv2d_wgmma", "lenet_wgmma_2"}
REFUSED |= {spec.name for spec in conv2d.CHANNELS_LAST}
REFUSED |= {spec.name for spec in gemm.HALVES[1:]}
# The first launch of each kernel of the folder. The simulator must not blame it.
CHECKED = {
    launch.kernel: launch.label for launch in reversed(LAUNCHES) if launch.path.parent == KERNELS
}.values()


PARAMETERS = "float* y, const float* x, int n"


def profile(
    body: str, *, before: str = "", cells: int = 1024, among: Sequence[str] = (), **launch
) -> simulator.Profile:
    """`body` in a kernel k(float* y, const float* x, int n) on arrays of `cells`; one warp unless
    told otherwise. `among`: the bodies of all cases of a test, which are compiled together.
    """
    source, name = (
        f'{before}\nextern "C" __global__ void k({PARAMETERS})\n{{\n{body}\n}}\n',
        "k",
    )
    if among:
        source, name = Kernels(among, PARAMETERS, before).of(body)
    arrays = np.zeros(cells, np.float32), np.arange(cells, dtype=np.float32)
    return simulator.profile(source, name, *arrays, np.int32(cells), **{**ONE_WARP, **launch})


# ---- what a GPU counted ----


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict]:
    rows = results.load(results.MEASURED / "counters.json").rows()
    return {row["launch"]: row for row in rows}


def test_the_record_has_every_launch_and_no_other(recorded):
    labels = [launch.label for launch in LAUNCHES]
    assert len(set(labels)) == len(labels)
    missing = [label for label in labels if label not in recorded]
    assert not missing, (
        "measure all on a GPU, `python -m evidence.counters tests/simulator/counters`: "
        f"{'; '.join(missing)}"
    )
    assert not set(recorded) - set(labels)
    for launch in LAUNCHES:
        assert recorded[launch.label].items() >= counters._identity(launch).items(), launch.label


def test_every_kernel_is_launched_and_every_shape_of_the_layer():
    launched = {launch.kernel for launch in LAUNCHES}
    own = {path.stem for path in KERNELS.glob("*.cu")}
    assert not own & set(kernels.names())  # a name means one source
    assert launched == own | set(kernels.names()) - REFUSED
    labels = {launch.label for launch in LAUNCHES}
    for spec in conv2d.CONV2D:
        shapes = [
            name
            for name, shape in counter_cases.LAYERS.items()
            if spec.strides or shape.stride == 1
        ]
        assert {f"{kernel}, {shape}" for kernel in spec.sources for shape in shapes} <= labels
    assert {
        f"{spec.name}, {what}"
        for spec in conv2d.REDUCED
        for what in ("layer 1", "layer 2", "ragged")
    } <= labels


def test_every_launch_can_run_on_a_gpu():
    for launch in LAUNCHES:
        assert launch.shared <= conv2d.MOST_SHARED_BYTES and np.prod(launch.block) <= 1024, (
            launch.label
        )
        assert all(
            extent <= most for extent, most in zip(launch.grid, kernels.MAX_GRID, strict=True)
        ), launch.label


def counted(launch: counter_cases.Case) -> dict[str, int]:
    """The simulator's counters of a launch. The kernels of kernels/ are only counted: their own
    tests say whether the simulator blames them.
    """
    checks = launch.label in CHECKED
    (seen,) = simulate(launch.plan, launch.arrays(), simulator.profile, checks=checks)
    assert seen.completed, f"{launch.label}: the simulator stopped it\n{seen}"
    assert not seen.findings, f"{launch.label}: the simulator blames it\n{seen}"
    return seen.counters()


# Launches that `make gpu` compares and this test leaves out, because others show the same. The rest
# still has every value of each option of a kernel. A mistake in counting sectors, banks or parts of
# a warp changes two launches of the rest, if it changes two of all.
REPEATED = {
    "copy_strided": """
        float2, stride 1, offset 0; double, stride 1, offset 0; float4, stride 1, offset 0;
        float, stride 2, offset 0; char, stride 3, offset 1; short, stride 5, offset 1""",
    "store_strided": "float, stride 2, offset 0",
    "shared_load": """
        short, stride 0; short, stride 1; short, stride 2; short, stride 3;
        float, stride 0; float, stride 1; float, stride 2; float, stride 3;
        double, stride 0; double, stride 1; double, stride 2; double, stride 3; float2, stride 2;
        float4, stride 0; float4, stride 1; float4, stride 2; float4, stride 3; float4, stride 8;
        float, stride 2, lanes 0x0000ffff; float4, index t/4; float4, index t%8;
        float4, index t%16; float4, index t&~4; float4, index t&~3; float4, index t*t%32;
        float4, index 63-t""",
    "shared_store": """
        char, stride 3; short, stride 2; short, stride 3; float, stride 1; float, stride 2;
        float, stride 3; double, stride 2; float2, stride 1; float4, stride 2; float4, stride 8""",
}
REPEATED_LABELS = {
    f"{kernel}, {what.strip()}"
    for kernel, several in REPEATED.items()
    for what in several.split(";")
}
COUNTED = [launch for launch in LAUNCHES if launch.label not in REPEATED_LABELS]


def test_launches_left_to_the_gpu_leave_each_value_of_their_options():
    assert {launch.label for launch in LAUNCHES} >= REPEATED_LABELS
    for kernel in REPEATED:
        of_all, of_counted = (
            {word for one in of if one.kernel == kernel for word in one.options}
            for of in (LAUNCHES, COUNTED)
        )
        assert of_all == of_counted


@pytest.mark.parametrize("launch", COUNTED, ids=lambda launch: launch.label)
def test_the_simulator_counts_what_the_gpu_counted(launch, recorded):
    row = recorded[launch.label]
    seen = counted(launch)
    golden.require("counters", launch.label, seen)
    compared = counter_comparison.compare(launch, row, seen)
    assert not counter_comparison.unexplained(compared)
    for found in compared:
        if not found.equal:  # a known difference stays what it was when it was understood
            assert found.simulator == row[f"simulator {found.counter}"]


def test_each_known_difference_is_one(recorded):
    for name, reasons in counter_differences.KNOWN.items():
        rows = [row for row in recorded.values() if name in (row["launch"], row["series"])]
        assert rows, f"{name} is no launch"
        for counter in reasons:
            simulator = f"simulator {counter}"
            assert any(row.get(simulator, row[counter]) != row[counter] for row in rows), counter


# ---- the counters that ncu does not have, or not like this ----


def test_barriers_are_counted_by_warp_and_line():
    found = profile(
        "__syncthreads();\ny[threadIdx.x] = 1;\n__syncthreads();", grid=(3,), block=(64,)
    )
    assert found.barriers == 3 * 2 * 2
    assert [(row.kind, row.line, row.count, row.lanes) for row in found.control] == [
        ("barrier", 4, 6, 192),
        ("barrier", 6, 6, 192),
    ]


# A load that all lanes make, and a store for some of them, with and without more to do behind it.
PARTING = "float v = x[threadIdx.x];\nif ({})\ny[threadIdx.x] = v;\n"
BEHIND = "y[threadIdx.x + 64] = v;"
CONDITIONS = {"threadIdx.x < 32": 0, "threadIdx.x < 40": 1, "threadIdx.x % 2": 2}
BRANCHES = Kernels(
    [PARTING.format(c) + more for c in CONDITIONS for more in (BEHIND, "")], PARAMETERS
)


@pytest.mark.parametrize(("condition", "times"), CONDITIONS.items())
def test_a_branch_diverges_when_lanes_of_one_warp_part(condition, times):
    arrays = np.zeros(1024, np.float32), np.arange(1024, dtype=np.float32), np.int32(1024)
    # Also where lanes have nothing left to do.
    for body in (PARTING.format(condition) + BEHIND, PARTING.format(condition)):
        found = simulator.profile(*BRANCHES.of(body), *arrays, grid=(1,), block=(64,))
        assert found.divergent_branches == times
        if BEHIND in body:
            branch = {BRANCHES.line(body, 2)} if times else set()
            assert {row.line for row in found.control} == branch


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("threadIdx.x < 4", "parts the lanes of a warp once; 28 wait"),
        ("threadIdx.x % 32 < 4", "parts the lanes of a warp 2 times; 28 wait each time"),
    ],
)
def test_a_profile_says_how_often_lanes_part_and_how_many_wait(condition, said):
    found = profile(PARTING.format(condition), grid=(1,), block=(64,))
    assert any(line.endswith(said) for line in str(found).splitlines())


def test_lanes_that_leave_a_loop_at_different_times_diverge_each_time():
    found = profile(
        "float s = 0;\nfor (int k = 0; k < threadIdx.x % 4; ++k)\ns += x[k];\ny[threadIdx.x] = s;"
    )
    assert found.divergent_branches == 3  # 0, 1 and 2 rounds leave before the last lanes do
    (load,) = (row for row in found.lines if row.access == "load")
    assert (load.requests, load.lanes, load.active_lanes) == (3, 24 + 16 + 8, 16.0)


def test_a_branch_after_a_barrier_is_seen():
    found = profile(
        "y[threadIdx.x] = 1;\n__syncthreads();\nif (threadIdx.x < 3)\ny[threadIdx.x] += "
        "x[0];\ny[threadIdx.x + 32] = 1;"
    )
    assert found.divergent_branches == 1 and found.barriers == 1


REPLAYS = {
    "y[threadIdx.x] = table[0];": 0,
    "y[threadIdx.x] = table[threadIdx.x / 8];": 3,
    "y[threadIdx.x] = table[threadIdx.x];": 31,
}


@pytest.mark.parametrize(("body", "replays"), REPLAYS.items())
def test_constant_memory_serves_one_word_at_a_time(body, replays):
    found = profile(body, before="__constant__ float table[32];", among=[*REPLAYS])
    assert (found.constant_load_requests, found.constant_load_replays) == (1, replays)


TURNS = {
    "atomicAdd(&y[threadIdx.x], 1.0f);": (4, 0),
    "atomicAdd(&y[threadIdx.x / 4], 1.0f);": (4, 3),
    "atomicAdd(&y[0], 1.0f);": (32, 31),
}


@pytest.mark.parametrize("body", TURNS)
def test_atomics_on_one_address_take_turns(body):
    sectors, turns = TURNS[body]
    found = profile(body, among=[*TURNS])
    assert (
        found.global_atomic_requests,
        found.global_atomic_sectors,
        found.global_atomic_serialised,
    ) == (1, sectors, turns)
    assert (found.global_load_requests, found.global_store_requests) == (0, 0)


def test_atomics_in_shared_memory():
    fill = (
        "__shared__ int bins[4];\nif (threadIdx.x < 4) bins[threadIdx.x] = 0;\n__syncthreads();\n"
    )
    found = profile(f"{fill}atomicAdd(&bins[threadIdx.x % 4], 1);")
    assert (
        found.shared_atomic_requests,
        found.shared_atomic_serialised,
        found.global_atomic_requests,
    ) == (1, 7, 0)


def test_bytes_requested_and_moved():
    found = profile("y[threadIdx.x] = x[threadIdx.x * 8];")
    assert (found.bytes_requested, found.bytes_moved) == (128 + 128, 32 * 32 + 128)
    assert found.load_efficiency == 4 / 32 and found.store_efficiency == 1


def test_a_structure_is_copied_in_pieces_that_a_gpu_can_move():
    before = "struct Six { float v[6]; };"
    found = profile(
        "reinterpret_cast<Six*>(y)[threadIdx.x] = reinterpret_cast<const Six*>(x)[threadIdx.x];",
        before=before,
    )
    assert (
        found.bytes_requested == 2 * 32 * 24
        and found.global_load_requests == found.global_store_requests
    )
    assert found.completed and not found.findings


def test_lanes_in_two_arrays_make_one_request():
    found = profile(
        "const float* p = threadIdx.x < 16 ? x : y + 512;\ny[threadIdx.x] = *(p + threadIdx.x);"
    )
    assert found.global_load_requests in (1, 2)  # a compiler may make two loads of it
    assert {row.array: row.lanes for row in found.lines if row.access == "load"} == {
        "x": 16,
        "y": 16,
    }


def test_the_watched_requests_are_bounded():
    found = profile(
        "float s = 0;\nfor (int k = 0; k < 5000 + n; ++k) s += x[k % n];\ny[threadIdx.x] = s;"
    )
    assert len(found.requests) == WATCHED_REQUESTS < found.global_load_requests == 6024


EVERY_WARP = """
__global__ void k(float* y, const float4* x, int n)
{
    __shared__ float4 tile[96];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float sum = 0;
    #pragma unroll 1
    for (int i = 0; i < n; ++i) {
        if (threadIdx.x % 32 < 8) sum += tile[i].x + tile[i].y + tile[i].z + tile[i].w;
    }
    y[threadIdx.x] = sum;
}
"""


def of_every_warp(warp: int | None) -> simulator.Requests:
    y, x = np.zeros(96, np.float32), np.ones(96 * 4, np.float32)
    how = {"grid": (1,), "block": (96,), "watch": ((0, 0, 0), warp)}
    seen = simulator.profile(EVERY_WARP, "k", y, x, np.int32(5), **how)
    assert np.array_equal(y, np.where(np.arange(96) % 32 < 8, 20, 0))
    return seen.requests


@pytest.mark.parametrize("warp", [0, 2])
def test_a_watched_block_has_the_requests_of_each_warp(warp):
    alone = of_every_warp(warp)
    assert alone == of_every_warp(None).of(warp=warp)
    loads = alone.of(kind="load", space="shared")
    # Eight lanes of the warp load four words in each of five turns.
    assert [(one.lanes, one.size) for one in loads] == [(tuple(range(8)), 16)] * 5
    assert len(alone.of(kind="atomic")) == 0
    assert {one.space for one in alone.of(kind="load")} == {"global", "shared"}


def test_warps_with_one_request_each_do_not_run_together():
    found = profile("y[threadIdx.x] = 1;", block=(64,), watch=((0, 0, 0), None)).requests
    assert [(one.warp, len(one.lanes)) for one in found] == [(0, 32), (1, 32)]


def test_the_requests_of_each_warp_of_a_watched_block_are_bounded():
    body = "float s = 0;\nfor (int k = 0; k < 5000; ++k) s += x[k % n];\ny[threadIdx.x] = s;"
    found = profile(body, block=(64,), watch=((0, 0, 0), None)).requests
    assert [len(found.of(warp=warp)) for warp in (0, 1, 2)] == [WATCHED_REQUESTS] * 2 + [0]


# ---- nvcc joins neighbouring words of shared memory (each case was read from its machine code)
# ----


FILL = (
    "__shared__ float s[160];\nint t = threadIdx.x;\n"
    "for (int k = t; k < 160; k += 32) s[k] = x[k];\n__syncthreads();\n"
)
JOINED = {
    "s[4*t] + s[4*t+1] + s[4*t+2] + s[4*t+3]": 1,
    "s[4*t+3] + s[4*t+1] + s[4*t+2]": 1,  # three of four
    "s[4*t] + s[4*t+1]": 1,
    "s[4*t+1] + s[4*t+2]": 2,  # not an aligned pair
    "s[4*t] + s[4*t+3]": 2,
    "s[2*t] + s[2*t+1]": 1,
    "s[t] + s[t+1]": 2,  # lanes are aligned differently
    "s[4*t] + s[4*t+4]": 2,
}


@pytest.mark.parametrize(("cells", "requests"), JOINED.items())
def test_neighbouring_shared_loads_are_joined(cells, requests):
    among = [f"{FILL}y[t] = {each};" for each in JOINED]
    found = profile(f"{FILL}y[t] = {cells};", among=among)
    assert found.shared_load_requests == requests
    assert found.total("bytes_used", "shared", "load") == 32 * 4 * cells.count("s[")


def test_a_row_of_a_tile_is_read_by_vectors_in_an_unrolled_loop():
    body = (
        "__shared__ float s[16][16];\nint tx = threadIdx.x % 16, ty = threadIdx.x / 16;\n"
        "s[ty][tx] = x[threadIdx.x];\n__syncthreads();\n"
        "float a = 0;\nfor (int k = 0; k < 16; ++k) a += s[ty][k];\ny[threadIdx.x] = a;"
    )
    both = body, body.replace("for", "#pragma unroll 1\nfor")
    requests = [profile(each, block=(256,), among=both).shared_load_requests for each in both]
    assert requests == [8 * 4, 8 * 16]


# ---- local memory ----

OWN_ARRAY = (
    "float a[64];\nfor (int j = 0; j < 64; ++j) a[j] = x[(threadIdx.x + j) % n];\n"
    "float sum = 0;\nfor (int j = 0; j < n; ++j) sum += a[{index}];\ny[threadIdx.x] = sum;"
)


OWN_INDICES = {
    "j % 64": 4,  # all lanes at one place: a line of 128 bytes
    "(j + threadIdx.x) % 64": 32,  # each lane in a line of its own
    "(j + threadIdx.x % 2) % 64": 8,  # two lines, and each lane stays in its own sector
}


@pytest.mark.parametrize(("index", "sectors"), OWN_INDICES.items())
def test_an_array_indexed_by_a_variable_lies_in_local_memory(index, sectors):
    among = [OWN_ARRAY.format(index=each) for each in OWN_INDICES]
    found = profile(OWN_ARRAY.format(index=index), cells=64, among=among)
    loads = [row for row in found.lines if (row.space, row.access) == ("local", "load")]
    assert sum(row.requests for row in loads) == 64
    assert sum(row.lanes for row in loads) == 64 * 32
    assert sum(row.sectors for row in loads) == 64 * sectors
    stores = [row for row in found.lines if (row.space, row.access) == ("local", "store")]
    assert sum(row.bytes_used for row in stores) == 64 * 4 * 32
    assert "local memory" in str(found)


def test_an_array_that_the_compiler_keeps_in_registers_is_no_local_memory():
    body = (
        "float a[8];\nfor (int j = 0; j < 8; ++j) a[j] = x[threadIdx.x + j];\n"
        "float sum = 0;\nfor (int j = 0; j < 8; ++j) sum += a[j] * a[7 - j];\n"
        "y[threadIdx.x] = sum;"
    )
    assert [row for row in profile(body).lines if row.space == "local"] == []


def test_arguments_of_a_function_are_no_local_memory():
    before = "__device__ __noinline__ float twice(float a, float b) { return a + b; }"
    body = "y[threadIdx.x] = twice(x[threadIdx.x], x[threadIdx.x + 1]);"
    assert [row for row in profile(body, before=before).lines if row.space == "local"] == []


# ---- in words ----


@pytest.fixture(scope="module")
def uneven() -> simulator.Profile:
    """A load of 32 sectors a warp, one of 4, and a store."""
    return profile(
        "float a = x[threadIdx.x * 8];\nfloat b = x[threadIdx.x];\ny[threadIdx.x] = a + b;"
    )


def test_the_sentences_name_the_line_that_matters(uneven):
    said = uneven.sentences()
    assert "line 4 makes 89 % of the load sectors; 12 % of the bytes it moves are used" in said
    assert "line 6 makes all of the store sectors; all of the bytes it moves are used" in said
    assert all(sentence in str(uneven) and sentence in uneven._repr_html_() for sentence in said)


def test_arrays_sum_over_lines(uneven):
    first, second = uneven.arrays
    assert (first.array, first.access, first.lines, first.sectors) == ("x", "load", (4, 5), 36)
    assert (second.array, second.sectors, second.efficiency) == ("y", 4, 1.0)


def test_a_sample_is_said_in_text_and_html_and_dictionary():
    found = profile("y[blockIdx.x * 32 + threadIdx.x] = 1;", grid=(8,), sample_every=4)
    assert found.sampled and found.to_dict()["blocks_run"] == 2
    assert "2 of 8 blocks" in str(found) and "2 of 8 blocks" in found._repr_html_()
    assert not profile("y[threadIdx.x] = 1;").sampled


RUNTIME_CALLS = {
    'y[threadIdx.x] = x[threadIdx.x];\nprintf("%f", x[0]);': "printf (line 5)",
    "int* p = new int[2];\np[0] = 1;\ny[threadIdx.x] = p[0];\ndelete[] p;": (
        "malloc or new (line 4) and free (line 7)"
    ),
}


@pytest.mark.parametrize("body", RUNTIME_CALLS)
def test_traffic_of_the_runtime_is_said_not_to_be_counted(body):
    (said,) = (one for one in profile(body).sentences() if "runtime" in one)
    assert RUNTIME_CALLS[body] in said and "not counted" in said


@pytest.mark.parametrize(
    "body",
    [
        "y[threadIdx.x] = x[threadIdx.x];",
        'y[threadIdx.x] = x[threadIdx.x];\nif (x[0] < -1e9f) printf("never");',
        "assert(x[0] < 1e9f);\ny[threadIdx.x] = x[threadIdx.x];",
    ],
)
def test_nothing_is_said_of_a_runtime_that_the_launch_does_not_call(body):
    assert not any("runtime" in one for one in profile(body).sentences())


FIBONACCI = """
__device__ int fib(int n) {
    if (n < 2) return n;
    return fib(n - 1) + fib(n - 2);
}
__global__ void k(int* y, const int* x) {
    int n = x[threadIdx.x];
    if (n > 100) n = 100;
    y[threadIdx.x] = fib(n);
}"""


@pytest.mark.parametrize("parts", [True, False])
def test_counters_of_lanes_that_part_in_a_recursion_are_estimates(parts):
    x = np.arange(32, dtype=np.int32) % 7 if parts else np.full(32, 5, np.int32)
    y = np.zeros(32, np.int32)
    counted = simulator.profile(FIBONACCI, "k", y, x, grid=(1,), block=(32,))
    assert counted.parted_recursion == ((3,) if parts else ())
    assert any("estimates" in one for one in counted.sentences()) == parts


RACE = "__shared__ float cells[32];\ncells[threadIdx.x] = x[threadIdx.x + AT];\n"
RACE += "y[threadIdx.x] = cells[threadIdx.x ^ 1];"


def test_a_profile_without_checks_has_the_same_counters_and_says_what_it_is():
    checked, counted = (
        profile(RACE, options=["-DAT=0"], checks=checks) for checks in (True, False)
    )
    assert counted.counters() == checked.counters() and counted.lines == checked.lines
    assert counted.counts.totals == checked.counts.totals
    assert [finding.kind for finding in checked.findings] == ["race"] and not counted.findings
    for text in (str(counted), counted._repr_html_()):
        assert "not checked for faults" in text and "no findings" not in text


def test_a_profile_without_checks_stops_at_an_access_outside_of_every_array():
    stopped = profile(RACE, options=["-DAT=2000"], checks=False)
    assert not stopped.completed
    assert [finding.kind for finding in stopped.findings] == ["out-of-bounds"]


def test_a_profile_is_plain_values():
    found = profile("y[threadIdx.x] = x[threadIdx.x];\n__syncthreads();")
    read = json.loads(json.dumps(found.to_dict()))
    assert read["counters"]["global_load_sectors"] == 4 and read["counters"]["barriers"] == 1
    assert read["lines"][0]["source"].startswith("y[threadIdx.x]")


def test_html_takes_the_colours_of_the_page():
    page = profile("y[threadIdx.x] = x[threadIdx.x] < 1 ? 0 : 1;")._repr_html_()
    assert "&lt; 1" in page and "color: inherit" in page and "background: transparent" in page
    assert "#fff" not in page and "white;" not in page


# ---- how the work of a launch lies ----


def shares(body: str, block: int = 64, **more) -> simulator.Profile:
    """The profile of three blocks of a kernel on P and N, of 192 floats."""
    source = f"{more.pop('head', '')}\n__global__ void k(float* P, const float* N) {{ {body} }}"
    arrays = np.zeros(192, np.float32), np.ones(192, np.float32)
    return simulator.profile(source, "k", *arrays, grid=(3,), block=(block,), **more)


def test_one_warp_of_a_later_block_is_the_busiest():
    seen = shares(
        "const int b = blockIdx.x * 64;"
        "if (blockIdx.x == 2) { if (threadIdx.x >= 32)"
        " for (int k = threadIdx.x - 32; k < 64; k += 32) P[b + k] = N[b + k]; }"
        "else P[b + threadIdx.x] = N[b + threadIdx.x];"
    ).shares
    (stores,) = seen.stores
    assert (stores.array, stores.of_warp, stores.of_block, stores.warps) == ("P", 256, 256, 5)
    assert seen.loads_of_warp == 2
    assert seen.steps_of_block > seen.steps_of_warp > 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("P[threadIdx.x] = s[threadIdx.x] + s[63 - threadIdx.x];", 2),
        # Two threads, one after the other; then both at the same time.
        (
            "float a = 0; for (int k = 0; t == 0 && k < 8; ++k) a += s[k * n]; __syncthreads();"
            "for (int k = 0; t == 40 && k < 5; ++k) a += s[k * n]; P[t] = a;",
            13,
        ),
        (
            "float a = 0; for (int k = 0; t == 0 && k < 8; ++k) a += s[k * n];"
            "for (int k = 0; t == 40 && k < 5; ++k) a += s[k * n]; P[t] = a;",
            8,
        ),
    ],
)
def test_words_are_read_in_a_row_by_threads_that_wait_for_each_other(body, words):
    head = "const volatile int t = threadIdx.x; const int n = N[0] > 0 ? 2 : 3;"
    fill = "volatile __shared__ float s[64]; s[threadIdx.x] = N[threadIdx.x]; __syncthreads();"
    seen = shares(f"{head} {fill} {body}", outputs=(), checks=False)
    assert seen.shares.words_in_a_row == words


def test_bulk_copies_are_counted_beside_the_requests():
    seen = shares(
        "__shared__ __align__(16) float s[64]; __shared__ unsigned long long b;"
        "const unsigned at = (unsigned)__cvta_generic_to_shared(&b);"
        "const unsigned to = (unsigned)__cvta_generic_to_shared(s);"
        "if (threadIdx.x == 0) {"
        'asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at) : "memory");'
        'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
        'asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(at) : "memory");'
        'asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes '
        '[%0], [%1], 256, [%2];" :: "r"(to), "l"(N + 64 * blockIdx.x), "r"(at) : "memory"); }'
        "__syncthreads(); int done; do {"
        'asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0;'
        'selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory"); } while (!done);'
        "P[64 * blockIdx.x + threadIdx.x] = s[threadIdx.x];"
    )
    (copies,) = seen.bulk_copies
    assert (copies.array, copies.requests, copies.lanes, copies.sectors) == ("N", 3, 192, 24)
    assert (seen.global_load_requests, seen.shares.loads_of_warp) == (0, 1)


BARRIER = (
    "__shared__ cuda::barrier<cuda::thread_scope_block> b; if (threadIdx.x == 0) init(&b, 64);"
    "__syncthreads(); b.arrive_and_wait(); P[threadIdx.x] = 1;"
)


# Most of the time goes into the headers, so that the kernels are one source.
READS = {
    BARRIER: 0,
    f"{BARRIER} P[0] = clock64();": 1,
    "P[0] = cuda::std::chrono::system_clock::now().time_since_epoch().count();": 1,
}
CLOCKS = Kernels(
    READS,
    "float* P, const float* N",
    "#include <cuda/barrier>\n#include <cuda/std/chrono>",
)


@pytest.mark.parametrize("body", READS)
def test_what_a_header_does_for_itself_is_not_the_acts_of_the_source(body):
    arrays = np.zeros(192, np.float32), np.ones(192, np.float32)
    seen = simulator.profile(*CLOCKS.of(body), *arrays, grid=(3,), block=(64,), checks=False)
    assert seen.clock_reads == READS[body]


def test_a_header_whose_lines_may_have_other_names_is_the_source():
    head = "#include <cuda/barrier>\n#line 1"
    assert shares(BARRIER, head=head, checks=False).clock_reads == 2


def test_matrix_instructions_without_products_leave_what_they_add_to():
    body = (
        "float d[4] = {1, 2, 3, 4}; const unsigned one = 0x3c003c00u;"
        'asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, '
        '{%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"'
        ' : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(one));'
        "P[threadIdx.x] = d[0] + N[0] * N[1];"
    )
    source = f"__global__ void k(float* P, const float* N) {{ {body} }}"
    for without, want in ((False, 18), (True, 2)):
        P = np.zeros(32, np.float32)
        simulator.execute(
            source, "k", P, np.ones(2, np.float32), grid=(1,), block=(32,), without_products=without
        )
        assert (want == P).all()
