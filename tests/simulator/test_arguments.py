"""What check and profile take as arguments: arrays that fit the kernel's signature, and whole
numbers for the launch. Everything that would give silently wrong numbers is refused.
"""

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.machine import faults, memory

ONE = {"grid": (1,), "block": (1,)}
F4, F8, I4 = np.float32, np.float64, np.int32
TYPES = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdint>
typedef float real;
template <class T> using pointer = T*;
enum Colour { RED, GREEN };
enum class Kind : unsigned char { A, B };
struct Particle { float x; int n; double mass; };
struct Base { int a; };
struct Derived : Base { float v[3]; };
struct Bits { unsigned low : 3; unsigned high : 5; };
union Either { int i; float f; };
template <class T> struct Three { T x, y, z; };
"""
PARTICLE = np.dtype([("x", F4), ("n", I4), ("mass", F8)], align=True)


def copy_of(element: str, before: str = TYPES) -> str:
    """A kernel that copies one element of a type."""
    return (
        f'{before}\nextern "C" __global__ void k({element}* y, {element} const* x) {{ *y = *x; }}'
    )


def run(source: str, *args, entry=simulator.check, **launch):
    return entry(source, "k", *args, **{**ONE, **launch})


def refusal(source: str, *args, **launch) -> str:
    """The one message with which check and profile both refuse the arguments."""
    messages = []
    for entry in (simulator.check, simulator.profile):
        with pytest.raises((TypeError, ValueError)) as raised:
            run(source, *args, entry=entry, **launch)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    return messages[0]


# ---- arrays that fit ----


@pytest.mark.parametrize(
    ("element", "values"),
    [
        ("float", np.array([2.5], F4)),
        ("real", np.array([2.5], F4)),
        ("volatile float", np.array([2.5], F4)),
        ("double", np.array([2.5])),
        ("int", np.array([7], I4)),
        ("int", np.array([7], np.uint32)),
        ("unsigned int", np.array([7], I4)),
        ("long long", np.array([7], np.int64)),
        ("unsigned long long", np.array([7], np.uint64)),
        ("size_t", np.array([7], np.int64)),
        ("int16_t", np.array([7], np.uint16)),
        ("bool", np.array([True])),
        ("bool", np.array([1], np.uint8)),
        ("unsigned char", np.array([True])),
        ("unsigned char", np.array([200], np.uint8)),
        ("unsigned char", np.array([-3], np.int8)),
        ("char", np.array([b"a"])),
        ("char", np.array([b"hello"])),
        ("signed char", np.array([7], np.uint8)),
        ("__half", np.array([2.5], np.float16)),
        ("half", np.array([2.5], np.float16)),
        ("half", np.array([0x4100], np.uint16)),
        ("half2", np.array([2.5, 3], np.float16)),
        ("half2", np.array([[2.5, 3]], np.float16)),
        ("half2", np.array([0x42004100], np.uint32)),
        ("__nv_bfloat16", np.array([0x4020], np.uint16)),
        ("float2", np.array([1, 2], F4)),
        ("float2", np.array([[1, 2]], F4)),
        ("float2", np.array([1 + 2j], np.complex64)),
        ("double2", np.array([1 + 2j])),
        ("float4", np.array([1, 2, 3, 4], F4)),
        ("float4", np.array([[1, 2], [3, 4]], F4)),
        ("float4", np.array([1 + 2j, 3 + 4j], np.complex64)),
        ("float4", np.zeros((3, 5), F4)),
        ("float3", np.array([[1, 2, 3]], F4)),
        ("uchar4", np.array([[1, 2, 3, 4]], np.uint8)),
        ("Three<float>", np.array([[1, 2, 3]], F4)),
        ("float2", np.array([(1, 2)], [("x", F4), ("y", F4)])),
        ("Particle", np.array([(1.5, 2, 3.5)], PARTICLE)),
        ("Particle", np.array([(1.5, 2, 3.5)], PARTICLE).view(np.uint8)),
        ("Particle", np.array([(1.5, 2, 3.5)], PARTICLE).view("V16")),
        ("Derived", np.array([(1, (1, 2, 3))], [("a", I4), ("v", F4, (3,))])),
        ("Bits", np.array([9], np.uint32)),
        ("Either", np.array([9], I4)),
        ("Either", np.array([9], F4)),
        ("Colour", np.array([1], I4)),
        ("Kind", np.array([1], np.uint8)),
        ("float*", np.array([0], np.uint64)),
        ("float*", np.array([0], np.intp)),
    ],
    ids=lambda one: one if isinstance(one, str) else f"{one.dtype}{one.shape}",
)
def test_an_array_of_the_elements_numbers_is_taken(element, values):
    y = np.zeros_like(values)
    assert run(copy_of(element), y, values) == ()
    assert run(copy_of(element), y, values, entry=simulator.profile).findings == ()
    assert y.tobytes()[:1] == values.tobytes()[:1]


def test_void_and_pointers_of_other_names_take_what_they_point_to():
    source = f"""{TYPES}
    extern "C" __global__ void k(void* y, pointer<const double> x, const float (*rows)[4]) {{
        *(double*)y = *x + rows[1][3];
    }}"""
    rows = np.arange(8, dtype=F4).reshape(2, 4)
    for y in (np.zeros(1), np.zeros(8, np.uint8), np.zeros(1, PARTICLE)):
        assert run(source, y, np.array([2.5]), rows) == ()
        assert y.view(np.uint8)[:8].view(F8)[0] == 9.5
    assert "points to float64, got an array of float32" in refusal(source, y, rows, rows)


def test_the_instance_of_a_template_has_its_own_types():
    source = """
    template <class T> __global__ void k(T* y, const T* x) { *y = *x; }
    template __global__ void k<float>(float*, const float*);
    template __global__ void k<int>(int*, const int*);
    """
    y = np.zeros(1, F4)
    assert simulator.check(source, "k<float>", y, np.array([2], F4), **ONE) == ()
    with pytest.raises(TypeError, match="points to int32, got an array of float32"):
        simulator.check(source, "k<int>", y, np.array([2], F4), **ONE)


# ---- arrays that would be silently wrong ----


@pytest.mark.parametrize(
    ("element", "values", "words"),
    [
        ("float", np.array([2.0]), "float32, got an array of float64: convert with .astype(np.fl"),
        ("double", np.array([2], F4), ".astype(np.float64)"),
        ("float", np.array([2], I4), ".view(np.float32)"),
        ("int", np.array([2], F4), "points to int32, got an array of float32"),
        ("float", np.array([2], np.float16), ".astype(np.float32)"),
        ("float", np.array([2], np.complex64), ".view(np.float32)"),
        ("float", np.array([True]), "got an array of bool"),
        ("float", np.zeros(1, [("x", F4), ("y", F4)]), "structures of 8"),
        ("real", np.array([2.0]), "points to float32, got an array of float64"),
        ("__half", np.array([2], F4), "points to float16, got an array of float32"),
        ("__half", np.array([2], np.int16), "points to float16, got an array of int16"),
        ("unsigned short", np.array([2], np.float16), "got an array of float16, and would take"),
        ("unsigned char", np.array([2], F4), "its bytes by .view(np.uint8)"),
        ("unsigned char", np.array([2], I4), "points to uint8, got an array of int32"),
        ("float2", np.array([[1.0, 2.0]]), "vectors of 2 float32, got an array of float64"),
        ("float4", np.zeros((4, 3), F4), "shape (4, 3), whose last axis has 3"),
        ("float3", np.zeros((3, 4), F4), "shape (3, 4), whose last axis has 4"),
        ("float2", np.array([1 + 2j]), "got an array of complex128"),
        ("long long", np.array([2], I4), ".astype(np.int64)"),
        ("long long", np.array(["2026-01-01"], "M8[s]"), "got an array of datetime64"),
        ("float*", np.array([2], F4), "points to uint64, got an array of float32"),
        ("Particle", np.array([2], F4), "structures of 16 bytes (float32 at 0, int32 at 4, float"),
        ("Particle", np.zeros(1, [("x", F4), ("n", "i2"), ("mass", F8)]), "align=True"),
        ("Particle", np.zeros(1, [("n", I4), ("x", F4), ("mass", F8)]), "with int32 at byte 0"),
        ("Derived", np.zeros(1, [("v", F4, (3,)), ("a", I4)]), "with float32 at byte 0"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_an_array_of_other_numbers_is_refused(element, values, words):
    y = np.zeros_like(values)
    message = refusal(copy_of(element), y, values)
    assert message.startswith("argument 'y' of k (") and words in message


def test_an_array_of_objects_is_refused_and_keeps_its_objects():
    source = copy_of("float")
    raw = 'extern "C" __global__ void k(void* y, const void* x) {}'
    for values in (np.array([object(), None]), np.zeros(2, [("x", F4), ("o", object)])):
        before = values.tolist()
        assert "dtype object" in refusal(source, values, np.ones(2, F4))
        assert "dtype object" in refusal(raw, values, values)
        assert values.tolist() == before


@pytest.mark.parametrize("dtype", [">f4", np.dtype([("x", ">f4"), ("y", "<f4")])])
def test_another_byte_order_is_refused(dtype):
    element = "float2" if np.dtype(dtype).names else "float"
    y = np.ones(1, dtype)
    message = refusal(copy_of(element), y, y)
    assert "byte order" in message and '.astype(x.dtype.newbyteorder("="))' in message
    right = y.astype(y.dtype.newbyteorder("="))
    assert run(copy_of(element), right.copy(), right) == ()


@pytest.mark.parametrize(
    "view", [np.zeros((4, 4), F4).T, np.zeros(8, F4)[::2], np.broadcast_to(np.float32(1), (4,))]
)
def test_a_view_with_gaps_is_refused(view):
    assert "ascontiguousarray" in refusal(copy_of("float"), np.zeros(16, F4), view)


# ---- scalars ----


@pytest.mark.parametrize(
    ("kind", "value", "member"),
    [
        ("float", F4(2), ""),
        ("real", F4(2), ""),
        ("int", I4(2), ""),
        ("unsigned int", I4(2), ""),
        ("int", np.uint32(2), ""),
        ("bool", np.bool_(True), ""),
        ("unsigned char", np.bool_(True), ""),
        ("__half", np.float16(2), ""),
        ("float2", np.complex64(2 + 1j), ".x"),
        ("float2", np.array([(2, 1)], [("x", F4), ("y", F4)])[0], ".x"),
        ("Particle", np.array([(2, 3, 4)], PARTICLE)[0], ".x"),
    ],
)
def test_a_scalar_of_the_parameters_type_is_taken(kind, value, member):
    body = f"*y = float(a{member});"
    source = f'{TYPES} extern "C" __global__ void k(float* y, {kind} a) {{ {body} }}'
    y = np.zeros(1, F4)
    assert run(source, y, value) == ()
    assert y[0] == (1 if np.asarray(value).dtype == bool else 2)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("float", np.float64(2), "give np.float32(...)"),
        ("float", I4(2), "np.float32"),
        ("int", F4(2), "np.int32"),
        ("real", 2.0, "np.float32(7.0), got 2.0 (float)"),
        ("double", 2, "np.float64(7.0), got 2 (int)"),
        ("bool", 1, "np.bool_(True), got 1"),
        ("long long", np.complex64(2), "np.int64"),
        ("long long", np.datetime64("2026-01-01"), "np.int64"),
        ("double", np.complex64(2), "np.float64"),
        ("float2", np.float64(2), "a NumPy record of 8 bytes"),
        ("float", np.ones((50, 50), F4), "got an array of float32, shape (50, 50)"),
        ("Particle", np.zeros(1, [("n", I4), ("x", F4), ("mass", F8)])[0], "got structures with"),
    ],
)
def test_a_scalar_of_another_type_is_refused(kind, value, words):
    source = f'{TYPES} extern "C" __global__ void k(float* y, {kind} a) {{ *y = 1; }}'
    message = refusal(source, np.zeros(1, F4), value)
    assert message.startswith(f"argument 'a' of k ({kind} a)") and words in message


@pytest.mark.parametrize("value", [2.5, F4(2), "4096", np.bool_(True), True, [1.0], None])
def test_a_number_is_no_pointer(value):
    message = refusal(copy_of("float"), np.zeros(1, F4), value)
    assert "needs a NumPy array or a device allocation" in message


def test_an_address_has_64_bits():
    for address in (-1, 1 << 64):
        assert "64 bits" in refusal(copy_of("float"), np.zeros(1, F4), address)


# ---- constants ----


def test_a_constant_takes_its_own_type():
    source = """typedef float real; __constant__ real filter[2]; __constant__ int2 two;
    extern "C" __global__ void k(float* y) { *y = filter[0] + filter[1] + two.y; }"""
    y = np.zeros(1, F4)
    two = np.array([1, 2], I4)
    right = {"filter": np.array([3, 4], F4), "two": two}
    assert run(source, y, constants=right) == () and y[0] == 9
    assert run(source, y, constants={**right, "filter": right["filter"].view(np.uint8)}) == ()
    for wrong in (np.array([3, 4], I4), np.array([3.0]), np.array([3, 4], ">f4"), [object()]):
        message = refusal(source, y, constants={**right, "filter": np.asarray(wrong)})
        assert message.startswith("constant 'filter' ")
    assert "has 8 bytes" in refusal(source, y, constants={"filter": np.zeros(3, F4)})
    assert "takes a dictionary" in refusal(source, y, constants=[("filter", two)])


# ---- arrays that overlap ----

SHIFT = """extern "C" __global__ void k(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}"""


@pytest.mark.parametrize("entry", [simulator.check, simulator.profile])
def test_one_array_given_twice_is_one_array_on_the_device(entry):
    x = np.arange(32, dtype=F4)
    seen = entry(SHIFT, "k", x, x, I4(32), grid=(1,), block=(32,))
    assert (seen if isinstance(seen, tuple) else seen.findings) == ()
    np.testing.assert_array_equal(x, 2 * np.arange(32))


def test_two_outputs_of_one_array_both_remain():
    source = """extern "C" __global__ void k(float* a, float* b) {
        if (threadIdx.x == 0) a[0] = 5; else b[1] = 7;
    }"""
    x = np.zeros(2, F4)
    assert simulator.check(source, "k", x, x, grid=(1,), block=(2,)) == ()
    np.testing.assert_array_equal(x, [5, 7])


def test_overlapping_views_share_memory_and_lie_as_on_the_host():
    source = """extern "C" __global__ void k(float* low, float* high, int* distance) {
        low[3] = 1; high[0] = high[0] + 1; *distance = int(high - low);
    }"""
    x, distance = np.zeros(8, F4), np.zeros(1, I4)
    assert run(source, x[:6], x[2:], distance) == ()
    np.testing.assert_array_equal(x, [0, 0, 1, 1, 0, 0, 0, 0])
    assert distance[0] == 2


def test_views_that_do_not_overlap_keep_their_own_bounds():
    x = np.zeros(64, F4)
    (finding,) = simulator.check(SHIFT, "k", x[:32], x[32:], I4(33), grid=(2,), block=(32,))
    assert (finding.kind, finding.array, finding.index) == ("out-of-bounds", "x", 32)


@pytest.mark.parametrize(
    ("grid", "block"), [((1,), (64,)), ((2,), (32,)), ((8,), (256,))], ids=str
)
def test_a_race_between_views_that_overlap_is_found(grid, block):
    n = grid[0] * block[0]
    x = np.arange(n + 1, dtype=F4)
    findings = simulator.check(SHIFT, "k", x[1:], x[:-1], I4(n), grid=grid, block=block)
    assert {finding.kind for finding in findings} == {"race"}
    assert all("x" in finding.array and "y" in finding.array for finding in findings)
    apart = np.zeros(n, F4)
    assert simulator.check(SHIFT, "k", apart, x[:-1], I4(n), grid=grid, block=block) == ()


def test_pointers_of_two_widths_to_one_array_do_not_race():
    source = """extern "C" __global__ void k(unsigned char* bytes, const int* words) {
        if (blockIdx.x == 0) bytes[threadIdx.x] = 1;
    }"""
    words = np.zeros(64, I4)
    assert simulator.check(source, "k", words.view(np.uint8), words, grid=(2,), block=(256,)) == ()
    assert (words == 0x01010101).all()


def test_an_output_that_is_also_an_input_holds_its_values():
    x = np.arange(4, dtype=F4)
    launch = {"grid": (1,), "block": (4,), "outputs": ["y"]}
    assert simulator.check(SHIFT, "k", x, x, I4(4), **launch) == ()
    np.testing.assert_array_equal(x, [0, 2, 4, 6])


def test_memory_is_freed_after_a_refusal_and_after_a_launch():
    before = memory.used()
    x = np.zeros(8, F4)
    run(SHIFT, x[:4], x[2:], I4(2))
    refusal(SHIFT, x[:4], x[2:], F4(2))
    assert memory.used() == before


# ---- arrays that are read-only ----


def test_a_read_only_array_is_an_input_and_no_output():
    x, y = np.ones(1, F4), np.zeros(1, F4)
    x.flags.writeable = False
    assert run(copy_of("float"), y, x) == ()
    message = refusal(copy_of("float"), x, np.full(1, 2, F4))
    assert "read-only array, and the kernel has written" in message and x[0] == 1
    nan = np.full(1, np.nan, F4)
    nan.flags.writeable = False
    assert "is an output, and its array is read-only" in refusal(copy_of("float"), nan, y)
    not_const = 'extern "C" __global__ void k(float* y, float* x) { *y = *x; }'
    assert run(not_const, y, x) == () and y[0] == 1


# ---- the launch ----


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        ({"block": (8.5,)}, "block=(8.5,) is 8.5 (float)"),
        ({"block": (8.0,)}, "block=(4,)"),
        ({"block": ("8",)}, "is '8' (str)"),
        ({"block": "8"}, "is no tuple"),
        ({"block": (8, 1, 1, 1)}, "has 4 extents"),
        ({"block": ()}, "has 0 extents"),
        ({"grid": 1}, "grid=1 is no tuple: give a tuple"),
        ({"grid": None}, "grid=None is no tuple"),
        ({"grid": (np.float64(1),)}, "whole numbers"),
        ({"grid": ((1, 1),)}, "whole numbers"),
        ({"shared": -4}, "shared is -4"),
        ({"shared": "64"}, "shared is '64' (str)"),
        ({"shared": 64.0}, "shared is 64.0 (float)"),
        ({"shared": None}, "bytes of dynamic shared memory"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"time_limit": float("nan")}, "seconds above 0"),
        ({"time_limit": "9"}, "time_limit is '9' (str)"),
        ({"options": "-DN=3"}, 'options=["-DN=3"]'),
        ({"outputs": "y"}, 'outputs=["y"]'),
    ],
    ids=str,
)
def test_a_wrong_launch_is_one_clear_error(launch, words):
    assert words in refusal(SHIFT, np.zeros(1, F4), np.zeros(1, F4), I4(1), **launch)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"sample_every": 0}, "sample_every is 0: give 1 for all blocks"),
        ({"sample_every": -1}, "sample_every is -1"),
        ({"sample_every": 1.5}, "sample_every is 1.5 (float)"),
        ({"watch": 5}, "watch=((0, 0, 0), 1)"),
        ({"watch": ((0,), 0)}, "no block and warp"),
    ],
    ids=str,
)
def test_a_wrong_profile_is_one_clear_error(more, words):
    y = np.zeros(1, F4)
    with pytest.raises((TypeError, ValueError)) as raised:
        run(SHIFT, y, y.copy(), I4(1), entry=simulator.profile, **more)
    assert words in str(raised.value)


@pytest.mark.parametrize("grid", [(0,), (-1,), (10**12,), (10**30, 1), (1, 65536), (1, 1, 65536)])
def test_a_grid_outside_the_limits_is_one_finding(grid):
    y = np.zeros(1, F4)
    (finding,) = run(SHIFT, y, y.copy(), I4(1), grid=grid)
    assert finding.kind == "resources" and f"grid={(*grid, 1, 1)[:3]}" in finding.message
    with pytest.raises(faults.LaunchRefused, match="at least 1 and at most"):
        run(SHIFT, y, y.copy(), I4(1), grid=grid, entry=simulator.profile)


def test_a_launch_takes_numpys_whole_numbers_lists_and_arrays():
    for grid, block in (([1], np.array([4])), ((np.int64(1),), (np.uint8(4), 1, 1))):
        y = np.zeros(4, F4)
        assert run(SHIFT, y, np.ones(4, F4), I4(4), grid=grid, block=block) == ()
        assert (y == 2).all()
    assert run(SHIFT, y, y.copy(), I4(4), block=(4,), shared=np.int32(64)) == ()


def test_a_missing_folder_of_headers_is_named(tmp_path):
    y = np.zeros(1, F4)
    missing = tmp_path / "headers"
    for options in ([f"-I{missing}"], ["-I", str(missing)]):
        message = refusal(SHIFT, y, y.copy(), I4(1), options=options)
        assert str(missing) in message and "does not exist" in message
    missing.write_text("")
    assert "is a file" in refusal(SHIFT, y, y.copy(), I4(1), options=[f"-I{missing}"])
    assert run(SHIFT, y, y.copy(), I4(1), options=[f"-I{tmp_path}"]) == ()


def test_a_source_is_a_text(tmp_path):
    for wrong in (tmp_path, "kernels/conv1d_basic.cu"):
        assert "text of CUDA" in refusal(wrong, np.zeros(1, F4))
