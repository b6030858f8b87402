"""The simulator finds what is wrong, counts what a GPU counts, and leaves right kernels alone."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator import runtime

ONE_WARP = {"grid": (1,), "block": (32,)}


def kernel(body: str, parameters: str = "float* y, const float* x, int n", before: str = "") -> str:
    return f'{before}\nextern "C" __global__ void k({parameters}) {{\n{body}\n}}\n'


def arrays(n: int) -> tuple[np.ndarray, np.ndarray, np.int32]:
    return np.full(n, np.nan, np.float32), np.arange(n, dtype=np.float32), np.int32(n)


def only(findings) -> simulator.Finding:
    assert len(findings) == 1, [str(f) for f in findings]
    return findings[0]


# ---- right kernels ----


@pytest.mark.parametrize("n", [1, 31, 32, 33, 1000])
@pytest.mark.parametrize("block", [1, 32, 100, 1024])
def test_a_guarded_copy_is_right_and_gives_no_finding(n, block):
    y, x, count = arrays(n)
    source = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) y[i] = 2 * x[i];")
    assert simulator.check(source, "k", y, x, count, grid=(-(-n // block),), block=(block,)) == ()
    np.testing.assert_array_equal(y, 2 * x)


def test_three_dimensional_grids_and_blocks_reach_every_thread_once():
    source = kernel(
        "int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n"
        "int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
        "y[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1;",
        "float* y",
    )
    y = np.zeros(2 * 3 * 4 * 5 * 2 * 3, np.float32)
    assert simulator.check(source, "k", y, grid=(2, 3, 4), block=(5, 2, 3)) == ()
    np.testing.assert_array_equal(y, 1)


def test_barriers_let_threads_read_what_others_wrote():
    source = kernel(
        "__shared__ float s[64];\ns[threadIdx.x] = x[threadIdx.x];\n__syncthreads();\ny[threadIdx.x] = s[63 - threadIdx.x];"
    )
    y, x, n = arrays(64)
    assert simulator.check(source, "k", y, x, n, grid=(1,), block=(64,)) == ()
    np.testing.assert_array_equal(y, x[::-1])


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_dynamic_shared_memory_in_either_scope(where):
    declaration = "extern __shared__ float s[];"
    body = "s[threadIdx.x] = x[threadIdx.x];\n__syncthreads();\ny[threadIdx.x] = s[31 - threadIdx.x];"
    source = kernel(declaration + body) if where == "inside" else kernel(body, before=declaration)
    y, x, n = arrays(32)
    assert simulator.check(source, "k", y, x, n, shared=128, **ONE_WARP) == ()
    np.testing.assert_array_equal(y, x[::-1])
    finding = only(simulator.check(source, "k", y, x, n, shared=124, **ONE_WARP))
    assert (finding.kind, finding.array, finding.index) == ("out-of-bounds", "s", 31)


def test_constants_and_options():
    source = kernel("y[threadIdx.x] = x[threadIdx.x] * c[WHICH];", before="__constant__ float c[3];")
    y, x, n = arrays(32)
    constants = {"c": np.array([1, 10, 100], np.float32)}
    assert simulator.check(source, "k", y, x, n, options=["-DWHICH=2"], constants=constants, **ONE_WARP) == ()
    np.testing.assert_array_equal(y, 100 * x)


@pytest.mark.parametrize("option", ["-DT=16", "-DA=16", "-D x=16", "-DI=16", "-DR=16"])
def test_macros_with_short_names_reach_the_kernel_and_nothing_else(option):
    name = option.removeprefix("-D").strip().partition("=")[0]
    y = np.zeros(1, np.float32)
    options = option.split(" ", 1)
    assert simulator.check(kernel(f"out[0] = {name};", "float* out"), "k", y, grid=(1,), block=(1,), options=options) == ()
    assert y[0] == 16


def test_two_modules_of_one_source_have_constants_of_their_own():
    source = kernel("y[0] = c;", "float* y", before="__constant__ float c;")
    first, second = runtime.load(source), runtime.load(source)
    runtime.memory.write(first.globals["c"].address, np.float32(1).tobytes(), 4)
    runtime.memory.write(second.globals["c"].address, np.float32(2).tobytes(), 4)
    address = runtime.memory.allocate(4)
    results = []
    for module in (first, second):
        runtime.launch(module.kernels["k"], address.to_bytes(8, "little"), (1,), (1,))
        out = np.empty(1, np.float32)
        runtime.memory.read(out, address, 4)
        results.append(out[0])
        module.close()
    runtime.memory.free(address)
    assert results == [1, 2]


# ---- findings ----


@pytest.mark.parametrize(
    ("body", "index", "verb"),
    [
        ("y[threadIdx.x] = x[int(threadIdx.x) - 1];", -1, "reads"),
        ("y[threadIdx.x] = x[threadIdx.x + 1];", 32, "reads"),
        ("y[threadIdx.x + 1] = x[threadIdx.x];", 32, "writes"),
        ("y[threadIdx.x + 100000] = x[threadIdx.x];", 100000, "writes"),
    ],
)
def test_out_of_bounds_names_array_index_length_thread_and_line(body, index, verb):
    y, x, n = arrays(32)
    finding = only(simulator.check(kernel(body), "k", y, x, n, **ONE_WARP))
    array = "x" if verb == "reads" else "y"
    assert (finding.kind, finding.array, finding.index, finding.line) == ("out-of-bounds", array, index, 3)
    assert f"{verb} {array}[{index}], but {array} has 32 elements" in str(finding)
    assert body in str(finding)
    assert finding.thread == ((0, 0, 0) if index in (-1, 100000) else (31, 0, 0))


def test_an_index_that_wrapped_around_says_so():
    finding = only(simulator.check(kernel("y[threadIdx.x] = x[threadIdx.x - 1];"), "k", *arrays(32), **ONE_WARP))
    assert finding.index == 2**32 - 1
    assert "-1 as an unsigned" in finding.cause


def test_a_launch_stopped_at_a_finding_leaves_the_host_arrays_alone_and_the_next_launch_works():
    y, x, n = arrays(32)
    assert simulator.check(kernel("y[threadIdx.x] = 7;\ny[-1] = 0;"), "k", y, x, n, **ONE_WARP)
    assert np.isnan(y).all()
    assert simulator.check(kernel("y[threadIdx.x] = x[threadIdx.x];"), "k", y, x, n, **ONE_WARP) == ()


def test_a_null_pointer_is_out_of_bounds():
    module = runtime.load(kernel("y[0] = 1;", "float* y"))
    with pytest.raises(runtime.LaunchFault, match=r"outside every array|but"):
        runtime.launch(module.kernels["k"], bytes(8), (1,), (1,))


def test_a_row_overrun_inside_a_shared_array_is_found():
    source = kernel("__shared__ float s[4][8];\nfor (int r = 0; r < 4; ++r) s[r][threadIdx.x] = 0;", "float* y")
    finding = only(simulator.check(source, "k", np.zeros(1, np.float32), grid=(1,), block=(9,)))
    assert (finding.kind, finding.array, finding.index, finding.thread) == ("out-of-bounds", "s", 8, (8, 0, 0))


def test_a_write_to_constant_memory_is_refused():
    source = kernel("const_cast<float*>(c)[0] = 1;", "float* y", before="__constant__ float c[2];")
    finding = only(simulator.check(source, "k", np.zeros(1, np.float32), grid=(1,), block=(1,)))
    assert "constant memory" in finding.message


def test_a_misaligned_vector_load_is_found():
    source = kernel("float4 v = *reinterpret_cast<const float4*>(x + 1 + 4 * threadIdx.x);\ny[threadIdx.x] = v.x;")
    y, x, n = arrays(256)
    finding = only(simulator.check(source, "k", y, x, n, **ONE_WARP))
    assert (finding.kind, finding.array, finding.index) == ("misaligned", "x", 1)


MISSING_BARRIER = "__shared__ float s[64];\ns[threadIdx.x] = x[threadIdx.x];\n{}\ny[threadIdx.x] = s[63 - threadIdx.x];"


def test_a_missing_barrier_is_a_race_and_names_both_lines():
    y, x, n = arrays(64)
    findings = simulator.check(kernel(MISSING_BARRIER.format("")), "k", y, x, n, grid=(1,), block=(64,))
    races = [f for f in findings if f.kind == "race"]
    assert findings[0].kind == "race"
    assert {(f.line, f.other_line) for f in races} == {(4, 6), (6, 4)}
    assert all(f.array == "s" for f in races)
    assert simulator.check(kernel(MISSING_BARRIER.format("__syncthreads();")), "k", y, x, n, grid=(1,), block=(64,)) == ()


def test_a_race_with_several_readers_names_another_thread_than_the_writer():
    body = "__shared__ float s[1];\ns[0] = 1;\n__syncthreads();\ny[threadIdx.x] = s[0];\nif (threadIdx.x == 31) s[0] = 2;"
    race = simulator.check(kernel(body), "k", *arrays(32), **ONE_WARP)[-1]
    assert (race.kind, race.thread) == ("race", (31, 0, 0))
    assert "which thread (0, 0, 0) read" in race.message


def test_a_missing_second_barrier_in_a_loop_is_a_race():
    body = (
        "__shared__ float s[32];\nfor (int k = 0; k < 4; ++k) {\ns[threadIdx.x] = x[threadIdx.x] + k;\n__syncthreads();\n"
        "y[threadIdx.x] = s[31 - threadIdx.x];\nSECOND\n}"
    )
    y, x, n = arrays(32)
    races = simulator.check(kernel(body.replace("SECOND", "")), "k", y, x, n, **ONE_WARP)
    assert {(f.kind, f.array, f.line, f.other_line) for f in races} == {("race", "s", 5, 7), ("race", "s", 7, 5)}
    assert simulator.check(kernel(body.replace("SECOND", "__syncthreads();")), "k", y, x, n, **ONE_WARP) == ()


def test_blocks_that_write_what_others_read_race():
    in_place = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i + 1 < n) y[i] = y[i] + y[i + 1];", "float* y, int n")
    finding = simulator.check(in_place, "k", np.ones(64, np.float32), np.int32(64), grid=(2,), block=(32,))[0]
    assert finding.kind == "race"


def test_blocks_that_read_the_same_input_do_not_race():
    y, x, n = arrays(64)
    source = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[0] + x[i];")
    assert simulator.check(source, "k", y, x, n, grid=(2,), block=(32,)) == ()


def test_every_block_writing_one_cell_is_a_race():
    finding = only(simulator.check(kernel("y[0] = blockIdx.x;", "float* y"), "k", np.zeros(1, np.float32), grid=(2,), block=(1,)))
    assert (finding.kind, finding.index, finding.block) == ("race", 0, (1, 0, 0))
    assert "nothing orders two blocks" in finding.message


def test_shared_memory_is_forgotten_between_blocks():
    body = (
        "__shared__ float s[32];\nif (blockIdx.x == 0) s[threadIdx.x] = 1;\n__syncthreads();\n"
        "y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];"
    )
    finding = only(simulator.check(kernel(body), "k", *arrays(64), grid=(2,), block=(32,)))
    assert (finding.kind, finding.array, finding.block) == ("uninitialised", "s", (1, 0, 0))


def test_fresh_device_memory_is_poisoned_and_reading_it_is_found():
    source = kernel("y[threadIdx.x] = y[threadIdx.x] + 1;", "float* y")
    module, address = runtime.load(source), runtime.memory.allocate(128)
    report = runtime.launch(module.kernels["k"], address.to_bytes(8, "little"), (1,), (32,))
    out = np.zeros(32, np.float32)
    runtime.memory.read(out, address, 128)
    runtime.memory.free(address)
    assert only(report.findings).kind == "uninitialised"
    assert np.isnan(out).all()


def test_two_barriers_in_two_branches_are_divergence():
    body = "if (threadIdx.x < 5) {\n__syncthreads();\n} else {\n__syncthreads();\n}"
    finding = only(simulator.check(kernel(body), "k", *arrays(32), **ONE_WARP))
    assert (finding.kind, finding.severity, {finding.line, finding.other_line}) == ("barrier", "error", {4, 6})


def test_a_return_above_a_barrier_is_a_warning_and_the_launch_goes_on():
    y, x, n = arrays(20)
    body = "int i = threadIdx.x;\nif (i >= n) return;\n__syncthreads();\ny[i] = x[i];"
    finding = only(simulator.check(kernel(body), "k", y, x, n, **ONE_WARP))
    assert (finding.kind, finding.severity, finding.line) == ("barrier", "warning", 5)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize(
    "body", ["for (;;) {}", "float s = 0;\nfor (;;) s += 1;\ny[0] = s;", "volatile float* p = y;\nwhile (p[0] != 3) {}"]
)
def test_a_runaway_kernel_is_stopped_by_the_time_limit(body):
    y = np.zeros(1, np.float32)
    finding = only(simulator.check(kernel(body, "float* y"), "k", y, grid=(1,), block=(1,), time_limit=0.2))
    assert finding.kind == "runaway"


def test_ctrl_c_stops_a_runaway_kernel_and_the_next_launch_works():
    source = kernel("for (;;) {}", "float* y")
    y = np.zeros(1, np.float32)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        simulator.check(source, "k", y, grid=(1,), block=(1,))
    assert time.monotonic() - started < runtime.TIME_LIMIT_S / 2
    assert simulator.check(kernel("y[0] = 1;", "float* y"), "k", y, grid=(1,), block=(1,)) == ()


# ---- counters ----

STRIDED = kernel(
    "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) y[i] = x[(i * s) % n];",
    "float* y, const float* x, int n, int s",
)


@pytest.mark.parametrize(("stride", "sectors"), [(1, 131072), (2, 262144), (7, 917504), (32, 1048576)])
def test_strided_loads_count_the_sectors_that_nsight_compute_read_on_an_h200(stride, sectors):
    """The four numbers are `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` of this kernel on an H200, 2^20 threads."""
    n = 1 << 20
    y, x, count = arrays(n)
    profile = simulator.profile(STRIDED, "k", y, x, count, np.int32(stride), grid=(n // 256,), block=(256,))
    assert profile.global_load_sectors == sectors
    assert profile.global_load_requests == profile.global_store_requests == n // 32
    assert profile.global_store_sectors == 131072


def test_lanes_that_leave_a_branch_early_meet_the_others_again():
    """Lane 0 skips the first of three loads; the other two still go as one request of 32 lanes each."""
    body = (
        "int i = threadIdx.x;\nfloat s = 0;\nfor (int j = -1; j <= 1; ++j)\nif (i + j >= 0 && i + j < n) s += x[i + j];\ny[i] = s;"
    )
    y, x, n = arrays(64)
    profile = simulator.profile(kernel(body), "k", y, x, n, **ONE_WARP)
    loads = [r for r in profile.requests if r.kind == "load"]
    assert [len(r.lanes) for r in loads] == [31, 32, 32]
    assert loads[0].offsets == tuple(4 * k for k in range(31))


def test_loops_of_unequal_length_do_not_misalign_what_follows():
    body = (
        "int i = threadIdx.x;\nfloat s = 0;\nfor (int j = 0; j < i % 3; ++j) s += x[j];\n"
        "for (int j = 0; j < 4; ++j) s += x[i + j];\ny[i] = s;"
    )
    y, x, n = arrays(64)
    profile = simulator.profile(kernel(body), "k", y, x, n, **ONE_WARP)
    counts = [len(r.lanes) for r in profile.requests if r.kind == "load" and r.line == 6]
    assert counts == [32, 32, 32, 32]


def test_a_long_trace_is_merged_in_parts_and_counts_the_same():
    body = "int i = threadIdx.x;\nfloat s = 0;\nfor (int j = 0; j < 40000; ++j) s += x[(i + j) % n];\ny[i] = s;"
    y, x, n = arrays(64)
    profile = simulator.profile(kernel(body), "k", y, x, n, **ONE_WARP)
    assert profile.global_load_requests == 40000


@pytest.mark.parametrize(("stride", "wavefronts"), [(1, 1), (2, 2), (4, 4), (17, 1), (32, 32), (33, 1), (0, 1)])
def test_bank_conflicts_of_strided_shared_loads(stride, wavefronts):
    body = (
        f"__shared__ float s[32 * 34];\nfor (int k = threadIdx.x; k < 32 * 34; k += 32) s[k] = k;\n__syncthreads();\n"
        f"y[threadIdx.x] = s[threadIdx.x * {stride}];"
    )
    profile = simulator.profile(kernel(body), "k", *arrays(32), **ONE_WARP)
    assert profile.shared_load_wavefronts == wavefronts
    assert profile.shared_load_conflicts == wavefronts - 1


def test_vector_loads_are_one_request_of_sixteen_bytes():
    body = "reinterpret_cast<float4*>(y)[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];"
    y, x, n = arrays(128)
    profile = simulator.profile(kernel(body), "k", y, x, n, **ONE_WARP)
    assert (profile.global_load_requests, profile.global_load_sectors) == (1, 16)
    assert (profile.global_store_requests, profile.global_store_sectors) == (1, 16)
    assert profile.requests[0].size == 16
    np.testing.assert_array_equal(y, x)


def test_the_watched_warp_can_be_any():
    source = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[i];")
    profile = simulator.profile(source, "k", *arrays(256), grid=(2,), block=(128,), watch=((1, 0, 0), 2))
    assert profile.requests[0].offsets == tuple(4 * (128 + 64 + lane) for lane in range(32))


def test_a_sample_of_blocks_says_so():
    source = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[i];")
    profile = simulator.profile(source, "k", *arrays(256), grid=(8,), block=(32,), sample_every=4)
    assert (profile.blocks_run, profile.blocks, profile.global_load_requests) == (2, 8, 2)
    assert "2 of 8 blocks" in str(profile)


def test_a_profile_prints_its_lines_and_findings():
    profile = simulator.profile(kernel("y[threadIdx.x] = x[threadIdx.x + 1];"), "k", *arrays(32), **ONE_WARP)
    assert not profile.completed
    for text in (str(profile), profile._repr_html_()):
        assert "x[32]" in text and "partial" in text


# ---- bad input ----


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ({"grid": (1,), "block": (1025,)}, "1025"),
        ({"grid": (1,), "block": (32, 33)}, "1,056 threads"),
        ({"grid": (0,), "block": (32,)}, "at least 1"),
        ({"grid": (1,), "block": (32,), "shared": 300_000}, "300,000 bytes"),
    ],
)
def test_launches_that_a_gpu_refuses(shape, match):
    with pytest.raises(runtime.LaunchRefused, match=match):
        simulator.check(kernel("y[0] = 0;"), "k", *arrays(4), **shape)


@pytest.mark.parametrize(
    ("args", "error", "match"),
    [
        ((np.zeros(4, np.float32), np.zeros(4, np.float32)), TypeError, "takes 3 arguments, 2 given"),
        ((np.zeros(4, np.float32), np.zeros(4, np.float32), 4), TypeError, "NumPy scalar"),
        ((np.zeros(4, np.float32), np.zeros(4, np.float32), np.float32(4)), TypeError, "does not fit"),
        ((np.zeros(4, np.float32), np.zeros(4, np.float32), np.int64(4)), TypeError, "does not fit"),
        ((np.zeros((4, 4), np.float32).T, np.zeros(4, np.float32), np.int32(4)), ValueError, "C-contiguous|strides"),
        ((np.zeros(8, np.float32)[::2], np.zeros(4, np.float32), np.int32(4)), ValueError, "C-contiguous"),
        ((np.zeros(0, np.float32), np.zeros(4, np.float32), np.int32(4)), ValueError, "empty"),
        (([1.0], np.zeros(4, np.float32), np.int32(4)), TypeError, "list given"),
    ],
)
def test_arguments_that_do_not_fit(args, error, match):
    if args[0] is not None and getattr(args[0], "ndim", 1) == 2:
        args = (np.asfortranarray(np.zeros((4, 3), np.float32)), *args[1:])
    with pytest.raises(error, match=match):
        simulator.check(kernel("y[0] = x[0];"), "k", *args, **ONE_WARP)


def test_a_compile_error_names_the_line_of_the_cu():
    with pytest.raises(runtime.CompileFailed, match=r"k\.cu:4"):
        simulator.check(kernel("int a = 1;\ny[0] = b;"), "k", *arrays(4), **ONE_WARP)


@pytest.mark.parametrize(("body", "what"), [('asm("nop;");', "inline PTX"), ("other<<<1, 1>>>();", "launch from the device")])
def test_what_cannot_run_is_refused_by_name_and_line(body, what):
    with pytest.raises(runtime.CompileFailed, match=rf"k\.cu:3.*{what}"):
        simulator.check(kernel(body), "k", *arrays(4), **ONE_WARP)


def test_words_in_comments_and_strings_are_not_code():
    body = (
        '// asm("x") <<< __global__ void ghost(int a) {\n/* extern __shared__ float s[]; */ const char* t = "<<<";\n'
        "y[0] = t[0] == 0;"
    )
    y = np.zeros(1, np.float32)
    module = runtime.load(kernel(body, "float* y"))
    assert list(module.kernels) == ["k"]
    assert y[0] == 0


@pytest.mark.parametrize(("before", "what"), [("__constant__ float c[20000];", "constant"), ("", "static shared")])
def test_too_much_constant_or_static_shared_memory(before, what):
    body = (
        "y[0] = c[threadIdx.x];" if before else "__shared__ float s[20000];\ns[threadIdx.x] = 1;\n__syncthreads();\ny[0] = s[31];"
    )
    with pytest.raises(runtime.CompileFailed, match=f"80,000 bytes of {what}"):
        simulator.check(kernel(body, before=before), "k", *arrays(32), **ONE_WARP)


def test_unknown_kernel_constant_and_option():
    good = kernel("y[0] = 0;")
    with pytest.raises(ValueError, match="it has k"):
        simulator.check(good, "kk", *arrays(4), **ONE_WARP)
    with pytest.raises(ValueError, match="no constant 'c'"):
        simulator.check(good, "k", *arrays(4), constants={"c": np.zeros(1)}, **ONE_WARP)
    with pytest.raises(runtime.CompileFailed, match="does not know the compiler option '--magic'"):
        simulator.check(good, "k", *arrays(4), options=["--magic"], **ONE_WARP)


def test_host_copies_outside_an_allocation_are_refused():
    address = runtime.memory.allocate(64)
    with pytest.raises(runtime.MemoryFault, match="the allocation has 64 bytes"):
        runtime.memory.write(address, bytes(65), 65)
    runtime.memory.free(address)
    with pytest.raises(runtime.MemoryFault, match="freed already"):
        runtime.memory.free(address)
    with pytest.raises(runtime.OutOfMemory, match="bytes of device memory asked for"):
        runtime.memory.allocate(runtime.memory.total + 1)
