"""What a launch says of pointers, variables and resources that are wrong, and what is kept between
launches.
"""

import dataclasses
import gc

import instances
import numpy as np
import pytest
from instances import ONE_WARP, only, require

from helpers import simulator
from helpers.simulator.compile import toolchain
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.compile.mangled import plain_name
from helpers.simulator.launch import launch, rehearsal
from helpers.simulator.machine import library, memory
from helpers.simulator.machine.arrays import pack_arguments
from helpers.simulator.machine.faults import LaunchFault, LaunchRefused
from helpers.simulator.program import encoded
from helpers.simulator.program.module import load


def kernel(body: str, parameters: str = "float* y", before: str = "") -> str:
    return instances.kernel(body, parameters, before)


def checked(body: str, *more, parameters: str = "float* y", before: str = "", **options) -> tuple:
    return simulator.check(
        kernel(body, parameters, before),
        "k",
        np.zeros(32, np.float32),
        *more,
        **{**ONE_WARP, **options},
    )


def read_at(address: int) -> simulator.Finding:
    """The finding of a kernel that reads x, which points to an address."""
    body = "y[threadIdx.x] = x[threadIdx.x];"
    return only(checked(body, address, parameters="float* y, const float* x"))


# ---- pointers ----


def test_a_null_pointer_is_named():
    finding = only(
        checked("y[threadIdx.x] = bias[threadIdx.x];", 0, parameters="float* y, const float* bias")
    )
    require(finding, kind="out-of-bounds", array="bias", index=0, line=3)
    assert "bias is a null pointer" in finding.message and "never allocated" in finding.cause


def test_an_array_that_was_freed_is_named_with_the_line_that_allocated_it():
    gc.collect()  # arrays of earlier tests that were freed later would push this one out
    address = memory.allocate(64)
    memory.free(address)
    finding = read_at(address)
    assert (finding.kind, finding.array) == ("out-of-bounds", "x"), finding
    assert (
        "x, an array of 64 bytes that has been freed (allocated at test_simulator_launch.py:"
        in finding.message
    )


def test_arrays_of_others_do_not_hide_which_pointer_was_wrong():
    others = [memory.allocate(64) for _ in range(200)]
    host = np.zeros(1 << 20, np.float32)
    finding = read_at(host.ctypes.data)
    assert (
        f"at address {host.ctypes.data:#x}, x points to no array of the device" in finding.message
    )
    for other in others:
        memory.free(other)


def test_the_address_of_a_freed_array_goes_to_no_other():
    freed = memory.allocate(64)
    memory.free(freed)
    assert freed not in [memory.allocate(64) for _ in range(200)]


def test_host_memory_in_the_place_of_an_array_freed_long_ago_is_a_host_pointer():
    for _ in range(3):
        # The third one drives the first from what is remembered.
        memory.free(memory.allocate(128 << 20))
    hosts = [np.zeros(32 << 20, np.float32) for _ in range(4)]
    for host in hosts:
        finding = read_at(host.ctypes.data)
        assert "x points to no array of the device" in finding.message


def test_a_pointer_to_host_memory_is_outside_every_array():
    host = np.zeros(1 << 20, np.float32)
    finding = read_at(host.ctypes.data)
    assert (finding.kind, finding.array) == ("out-of-bounds", "x")
    assert (
        "x points to no array of the device" in finding.message
        and "a host pointer" in finding.cause
    )


@pytest.mark.parametrize("distance", [0, 4096, 1 << 20])
def test_a_pointer_beside_the_shared_window_is_outside_every_array(distance):
    """The host's memory may lie behind the block's shared memory, which has its place from launch
    to launch.
    """
    window = np.zeros(1, np.uint64)
    body = "__shared__ int tile; tile = 1; y[0] = reinterpret_cast<unsigned long long>(&tile);"
    source = kernel(body, "unsigned long long* y")
    assert simulator.check(source, "k", window, grid=(1,), block=(1,)) == ()
    finding = read_at(int(window[0]) + distance)
    assert (finding.kind, finding.array) == ("out-of-bounds", "x")
    assert "x points to no array of the device" in finding.message


@pytest.mark.parametrize(
    "line", ["y[0] = *p;", "p[(int)y[1]] = 3;", "y[(int)y[1]] += p[0];", "atomicAdd(p, y[0]);"]
)
def test_a_local_pointer_far_outside_is_no_index_of_an_array_in_its_line(line):
    """What the line has of y is not the access: y would need an index of 14 digits."""
    body = f"float own[4] = {{1, 2, 3, 4}};\nfloat* p = own + ((int)y[1] - 87827368);\n{line}"
    finding = only(checked(body, parameters="float* y"))
    assert (finding.kind, finding.array) == ("out-of-bounds", None)
    assert "outside every array" in finding.message and "moved too far" in finding.cause


def test_numbers_that_are_taken_for_a_pointer_give_an_address_as_it_is():
    source = kernel("b[0][0] = 1;", "float** b")
    numbers = np.full(2, -2.5, np.float32)
    (finding,) = simulator.check(source, "k", numbers.view(np.uint64), grid=(1,), block=(1,))
    assert f"at address {numbers.view(np.uint64)[0]:#x}" in finding.message


def test_dynamic_shared_memory_that_the_launch_does_not_give():
    body = (
        "extern __shared__ float tile[];\ntile[threadIdx.x] = "
        "y[threadIdx.x];\n__syncthreads();\ny[threadIdx.x] = tile[0];"
    )
    finding = only(checked(body), kind="out-of-bounds", array="tile", line=4)
    assert "give shared=<bytes>" in finding.cause
    assert checked(body, shared=128) == ()


# ---- variables ----


def test_a_constant_that_nothing_has_set():
    source = {"before": "__constant__ float weights[3];"}
    finding = only(checked("y[threadIdx.x] = weights[threadIdx.x % 3];", **source))
    assert (finding.kind, finding.array, finding.index) == ("uninitialised", "weights", 0)
    assert (
        "nothing has set the __constant__ weights" in finding.message
        and "memcpy_htod" in finding.cause
    )
    constants = {"weights": np.ones(3, np.float32)}
    assert (
        checked("y[threadIdx.x] = weights[threadIdx.x % 3];", constants=constants, **source) == ()
    )


def test_initial_values_and_addresses_in_variables():
    before = (
        "__device__ int table[3] = {5, 6, 7};\n__device__ int* where = table + "
        "1;\n__constant__ float scale = 2;\n"
        "__device__ const char* words[2] = {\"one\", \"two\"};"
    )
    y = np.zeros(3, np.float32)
    source = kernel("y[0] = *where * scale;\ny[1] = words[1][2];\ny[2] = table[2];", before=before)
    assert simulator.check(source, "k", y, grid=(1,), block=(1,)) == ()
    np.testing.assert_array_equal(y, [12, ord("o"), 7])


def test_a_table_of_functions():
    before = (
        "__device__ float twice(float v) { return 2 * v; }\n__device__ float "
        "third(float v) { return v / 3; }\n"
        "typedef float (*Function)(float);\n__device__ Function functions[2] = {twice, third};"
    )
    y = np.array([3, 3], np.float32)
    source = kernel("y[threadIdx.x] = functions[threadIdx.x](y[threadIdx.x]);", before=before)
    assert simulator.check(source, "k", y, grid=(1,), block=(2,)) == ()
    np.testing.assert_array_equal(y, [6, 1])


def test_variables_are_freed_with_their_module():
    before = load(kernel("y[0] = big[threadIdx.x];", before="__device__ float big[100000];"))
    address = before.globals["big"].address
    assert memory.allocation(address) == (address, 400_000)
    before.close()
    assert memory.allocation(address) is None


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("_ZZ1kPfE4tile", "tile"), ("_ZZN2ns1kEvE1s", "s"), ("$str", "str"), ("weights", "weights")],
)
def test_the_plain_name_in_a_symbol(symbol, name):
    assert plain_name(symbol) == name


# ---- resources ----


def test_more_registers_than_a_block_has():
    names = [f"a{k}" for k in range(100)]
    loads = "".join(f"float {name} = y[{k} + threadIdx.x];\n" for k, name in enumerate(names))
    steps = " ".join(f"{name} += {names[k - 1]} * r;" for k, name in enumerate(names))
    source = kernel(
        f"{loads}for (int r = 0; r < n; ++r) {{ {steps} }}\ny[threadIdx.x] = {' + '.join(names)};",
        "float* y, int n",
    )
    module = load(source)
    kernel_k = module.kernels["k"]
    assert kernel_k.resources is None or kernel_k.resources.registers > 64
    if kernel_k.resources is not None:
        packed = pack_arguments(kernel_k.parameters, [bytes(8), bytes(4)])
        with pytest.raises(LaunchRefused, match="registers each: a block has 65,536 registers"):
            launch.launch(kernel_k, packed, (1,), (1024,))
    module.close()


# ---- what is kept ----


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder of its own for encoded kernels; the engine stays where it is."""
    library.machine()
    monkeypatch.setattr(toolchain, "cache_directory", lambda: tmp_path)
    return tmp_path


def same(before, after) -> bool:
    if isinstance(before, np.ndarray):
        is_same = before.dtype == after.dtype and np.array_equal(before, after)
        return is_same and after.flags.aligned and after.flags.writeable
    return before == after


def test_an_encoded_kernel_comes_back_from_the_cache_as_it_was(programs):
    compiled = compile_source(
        kernel("__shared__ float s[32];\ns[threadIdx.x] = y[0];\n__syncthreads();\ny[1] = s[3];")
    )
    fresh = encoded.encoded.__wrapped__(compiled, "k")
    again = encoded._read(*programs.iterdir())
    for field in dataclasses.fields(fresh):
        assert same(getattr(fresh, field.name), getattr(again, field.name)), field.name


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: b"not a program",
        lambda whole: whole[:-3],
        lambda whole: whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
        lambda whole: whole.partition(b"\n")[2],
    ],
)
def test_a_spoiled_file_of_the_cache_is_made_anew(programs, damage):
    compiled = compile_source(kernel("y[0] = 41;"))
    encoded.encoded.__wrapped__(compiled, "k")
    (path,) = programs.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert len(encoded.encoded.__wrapped__(compiled, "k").instructions) > 0
    assert path.read_bytes() == whole


def test_the_library_declares_the_same_structures():
    assert library.machine().halo_operation_count() == len(library.operation_ids()) > 1000


# ---- the rehearsal ----


def test_all_blocks_of_a_small_launch_are_rehearsed_and_the_corners_of_a_large_one():
    assert rehearsal.blocks_to_rehearse((4, 3, 1), (256, 1, 1)).tolist() == list(range(12))
    chosen = set(rehearsal.blocks_to_rehearse((1000, 1000, 1), (256, 1, 1)).tolist())
    assert {0, 1, 999, 998, 1000, 999_000, 999_999} <= chosen and len(chosen) < 200


def test_a_rehearsal_leaves_arrays_as_they_were():
    module = load(
        kernel("y[threadIdx.x] += 1;\natomicAdd(&count, 1);", before="__device__ int count = 0;")
    )
    address = memory.allocate(128)
    memory.write(address, np.zeros(32, np.float32), 128)
    report = launch.launch(module.kernels["k"], address.to_bytes(8, "little"), (1,), (32,))
    y, count = np.zeros(32, np.float32), np.zeros(1, np.int32)
    memory.read(y, address, 128)
    memory.read(count, module.globals["count"].address, 4)
    assert report.findings == () and (y == 1).all() and count[0] == 32
    memory.free(address)
    module.close()


def test_a_store_that_the_optimiser_drops_is_found():
    with pytest.raises(LaunchFault, match="null pointer"):
        module = load(kernel("if (y == nullptr) *y = 1;"))
        launch.launch(module.kernels["k"], bytes(8), (1,), (1,))


def test_kept_kernels_belong_to_one_numbering_of_the_operations(monkeypatch):
    known = encoded._encoder.__wrapped__()
    ids = library.operation_ids()
    monkeypatch.setattr(
        encoded.library, "operation_ids", lambda: {name: 3 + number for name, number in ids.items()}
    )
    assert encoded._encoder.__wrapped__() != known
