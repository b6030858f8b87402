"""What the simulator refuses, by name and line and with what to do instead, and the headers of
tools that have no effect.
"""

import re

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.compile import toolkit
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.program import module

ONE = {"grid": (1,), "block": (1,)}


def source(body: str, before: str = "", parameters: str = "float* y") -> str:
    return f'{before}\nextern "C" __global__ void k({parameters}) {{\n{body}\n}}'


def refusal(text: str, *more, options=()) -> str:
    with pytest.raises(CompileFailed) as raised:
        simulator.check(text, "k", np.zeros(4, np.float32), *more, **ONE, options=options)
    return str(raised.value)


# What a source may not use: a text before the kernel, the kernel's body, the line that the refusal
# names, what it calls the feature, and what it says to do instead.
CHILD = "__global__ void child(float* y) { y[0] = 1; }"
GROUPS = "#include <cooperative_groups.h>"
FEATURES = {
    "a launch": (CHILD, "child<<<1, 1>>>(y);", 3, "kernel launch", "from the host"),
    "a launch by a macro": (
        f"#define LAUNCH(f) f<<<1, 1>>>(y)\n{CHILD}", "LAUNCH(child);", 4, "kernel launch",
        "from the host",
    ),
    "a launch of a template": (
        "template <class T> __global__ void child(T* y) { y[0] = 1; }",
        "child<float><<<1, 1>>>(y);", 3, "kernel launch", "from the host",
    ),
    "a launch into a stream of kernels": (
        CHILD, "child<<<1, 1, 0, cudaStreamTailLaunch>>>(y);", 3, "cudaStreamTailLaunch",
        "from the host",
    ),
    "a wait for kernels": (
        "", "cudaDeviceSynchronize();", 3, "cudaDeviceSynchronize", "__syncthreads() waits",
    ),
    "memory of the runtime": (
        "", "float* p;\ncudaMalloc(&p, 4);\ny[0] = *p;", 4, "a function of CUDA's runtime",
        "call malloc",
    ),
    "a texture": (
        "texture<float, 1> t;", "y[0] = tex1Dfetch(t, 0);", 1, "texture", "through a pointer",
    ),
    "a texture by a macro": (
        "#define IMAGE texture<float, 2, cudaReadModeElementType>\nIMAGE t;",
        "y[0] = tex2D(t, 0, 0);", 2, "texture", "through a pointer",
    ),
    "a texture by another name": (
        "typedef texture<uchar4, 2> Image;\nImage t;", "y[0] = tex2D(t, 0, 0).x;", 1, "texture",
        "through a pointer",
    ),
    "a reference of a texture": (
        "textureReference t;", "y[0] = 1;", 1, "textureReference", "through a pointer",
    ),
    "a surface": (
        "surface<void, 2> s;", "surf2Dread(y, s, 0, 0);", 1, "surface", "through a pointer",
    ),
    "a grid": (
        GROUPS, "auto g = cooperative_groups::this_grid();\ng.sync();\ny[0] = 1;", 3,
        "grid.sync()", "launch another",
    ),
    "a grid as an argument": (
        f"{GROUPS}\nnamespace cg = cooperative_groups;",
        "cg::grid_group g = cg::this_grid();\ncg::sync(g);", 4, "grid.sync()", "launch another",
    ),
    "a grid by a macro": (
        f"{GROUPS}\n#define EVERYONE() cooperative_groups::this_grid().sync()", "EVERYONE();", 4,
        "grid.sync()", "launch another",
    ),
    "several grids": (
        GROUPS, "cooperative_groups::this_multi_grid().sync();", 3, "this_multi_grid",
        "on each device",
    ),
    "a cluster": (
        GROUPS, "cooperative_groups::this_cluster().sync();", 3, "clusters of blocks",
        "global memory",
    ),
    "alloca": (
        "", "int* a = (int*) alloca(int(y[0]) + 4);\na[0] = 1;\ny[0] = a[int(y[2])];", 3,
        "alloca()", "a local array of a fixed size",
    ),
    "alloca by its other name": (
        "", "int* a = (int*) __builtin_alloca(int(y[0]) + 4);\na[0] = 1;\ny[0] = a[int(y[2])];", 3,
        "alloca()", "a local array of a fixed size",
    ),
    "alloca by a macro": (
        "#define ROOM(n) ((float*) alloca((n) * 4))",
        "float* a = ROOM(int(y[0]) + 4);\na[0] = 1;\ny[0] = a[int(y[2])];", 3,
        "alloca()", "a local array of a fixed size",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "body", "line", "name", "instead"), FEATURES.values(), ids=FEATURES
)
def test_a_feature_is_refused_by_name_and_line(before, body, line, name, instead):
    message = refusal(source(body, before))
    assert name in message and instead in message
    assert f"k.cu({line})" in message or f"k.cu:{line}:" in message


def test_a_texture_gives_one_error_and_no_list_of_other_functions():
    text = source("y[0] = tex2D(t, 0, 0);", "texture<float, 2> t;")
    assert refusal(text).count("error") == 1


@pytest.mark.parametrize(
    ("header", "body", "words"),
    [
        (f"{CHILD}\n__device__ void f(float* y) {{ child<<<1, 1>>>(y); }}", "f(y);", "launch"),
        ("\ntexture<float, 2> t;", "y[0] = tex2D(t, 0, 0);", "texture"),
        ("\n__device__ void f(float* y) { int* a = (int*) alloca(int(y[0]) + 4); a[1] = 1;"
         " y[0] = a[int(y[2])]; }", "f(y);", "alloca()"),
    ],
    ids=["launch", "texture", "alloca"],
)  # fmt: skip
def test_a_feature_in_a_header_is_refused_by_the_headers_line(header, body, words, tmp_path):
    (tmp_path / "mine.h").write_text(header)
    message = refusal(source(body, '#include "mine.h"'), options=[f"-I{tmp_path}"])
    assert words in message and re.search(r"mine\.h(:2:|\(2\))", message)


def test_a_misspelled_function_of_the_host_is_no_call_of_a_kernel():
    message = refusal(source("y[0] = 1;") + "\nint main() { cudaMallocc(0, 1); }")
    assert "cudaMallocc" in message and "A kernel cannot" not in message


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        ("y[0] = tex1Dfetch<float>(t, 0);", "a read of a texture"),
        ("y[0] = tex2D<float>(t, 0.5f, 1.0f);", "a read of a texture"),
        ("surf2Dread(y, t, 0, 0);", "an access to a surface"),
        ("surf1Dwrite(1.0f, t, 0);", "an access to a surface"),
    ],
)
def test_texture_and_surface_objects_are_refused_by_name_and_line(read, kind):
    text = source(f"\n{read}", parameters="float* y, unsigned long long t")
    message = refusal(text, np.uint64(0))
    assert message.startswith("k.cu:4:") and kind in message and "through a" in message


@pytest.mark.parametrize(
    ("header", "library"),
    [
        ("cublas_v2.h", "cuBLAS"),
        ("cufft.h", "cuFFT"),
        ("cusparse.h", "cuSPARSE"),
        ("cudnn.h", "cuDNN"),
        ("mpi.h", "MPI"),
        ("nvtx3/nvToolsExtCuda.h", "NVTX"),
        ("opencv2/opencv.hpp", "OpenCV"),
    ],
)
def test_a_library_of_the_host_is_refused_by_name(header, library):
    message = refusal(source("y[0] = 1;", f"#include <{header}>"))
    assert f"{header} belongs to {library}" in message and "leave it out" in message


@pytest.mark.parametrize(
    ("header", "origin"),
    [
        ("helper_math.h", "NVIDIA's samples"),
        ("cutil_inline.h", "samples of CUDA before 5.0"),
        ("book.h", "CUDA by Example"),
        ("wb.h", "a course's own library"),
        ("pycuda-complex.hpp", "PyCUDA"),
        ("mine.h", "no header of CUDA or of C++"),
    ],
)
def test_the_origin_of_a_header_is_told(header, origin):
    message = refusal(source("y[0] = 1;", f"#include <{header}>"))
    assert header in message and origin in message and "by -I" in message


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("y[0]\u00a0= 1;", "type it again"),
        ("y[0] = 3 \u2212 1;", "type it again"),
        ("y[0] = 1;\n}\n%%kernel other\n__global__ void other() {", "into a separate cell"),
    ],
)
def test_what_was_pasted_is_refused_with_advice(body, advice):
    assert advice in refusal(source(body))


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("template <class T> __device__ T twice(T x) { return x + x; }", "k.cu(1)"),
        ("__device__ int f(int x) { return x; }\n__device__ float f(float x);", "k.cu(2)"),
        ("#include <cuda_fp16.h>", "cuda_fp16.h("),
        (GROUPS, "cooperative_groups"),
    ],
)
def test_what_cannot_stand_in_the_c_linkage_of_pycuda_is_one_error(before, first):
    with pytest.raises(CompileFailed) as error:
        module.load(f"{before}\n__global__ void k(float* y) {{ y[0] = 1; }}", (), "k.cu", True)
    message = str(error.value)
    assert message.startswith(first) and message.count("error:") == 1
    assert "give no_extern_c=True" in message


@pytest.mark.parametrize("header", ["texture_fetch_functions.h", "cuda_surface_types.h"])
def test_a_header_of_references_is_gone(header):
    message = refusal(source("y[0] = 1;", f"#include <{header}>"))
    assert f"{header} went in CUDA 12" in message and "leave it out" in message


# The first two numbers of cuRAND on an H100, of seed 1234, subsequence 0 and offset 5.
CURAND = {
    "curandStateXORWOW_t": (2501467243, 865023039),
    "curandStateMRG32k3a_t": (4200718073, 1717683530),
    "curandStatePhilox4_32_10_t": (482218876, 4196888723),
}
has_curand = any(
    (folder / "curand_kernel.h").is_file() for folder in toolkit.include_directories()
)


@pytest.mark.skipif(not has_curand, reason="needs nvidia-curand")
@pytest.mark.parametrize(("state", "expected"), CURAND.items(), ids=CURAND)
def test_curand_gives_the_numbers_of_a_gpu(state, expected):
    text = source(
        f"{state} s;\ncurand_init(1234, 0, 5, &s);\ny[0] = curand(&s);\ny[1] = curand(&s);",
        "#include <curand_kernel.h>",
        "unsigned* y",
    )
    y = np.zeros(2, np.uint32)
    assert simulator.check(text, "k", y, **ONE) == ()
    assert tuple(y) == expected


def sobol(vectors: list[int], scramble: int, number: int) -> int:
    """Number `number` of a Sobol sequence: the vectors of the set bits of its Gray code, and the
    scrambling constant.
    """
    gray, value = number ^ number >> 1, scramble
    for k, vector in enumerate(vectors):
        value ^= vector * (gray >> k & 1)
    return value


@pytest.mark.skipif(not has_curand, reason="needs nvidia-curand")
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("scramble", [0, 0x12345679])
def test_sobol_sequences_follow_their_vectors(bits, scramble):
    word = {32: "unsigned", 64: "unsigned long long"}[bits]
    state = f"curandState{'Scrambled' if scramble else ''}Sobol{bits}_t"
    constant = f"({word}){scramble}, " if scramble else ""
    text = source(
        f"{state} s;\ncurand_init(vectors, {constant}7, &s);\n"
        "for (int k = 0; k < 9; ++k) y[k] = curand(&s);",
        "#include <curand_kernel.h>",
        f"{word}* y, {word}* vectors",
    )
    vectors = [1 << (bits - 1 - k) | (1 << (bits - 2 - k) if k < bits - 1 else 0)
               for k in range(bits)]  # fmt: skip
    y, given = np.zeros(9, f"u{bits // 8}"), np.array(vectors, f"u{bits // 8}")
    assert simulator.check(text, "k", y, given, **ONE) == ()
    assert y.tolist() == [sobol(vectors, scramble, 7 + k) for k in range(9)]


@pytest.mark.skipif(not has_curand, reason="needs nvidia-curand")
def test_a_state_that_only_a_host_can_set_up_is_named():
    text = source(
        "y[0] = curand(s);", "#include <curand_kernel.h>", "unsigned* y, curandStateMtgp32* s"
    )
    (finding,) = simulator.check(
        text, "k", np.zeros(1, np.uint32), np.zeros(5000, np.uint8), **ONE
    )
    assert "curandMakeMTGP32KernelState" in finding.cause and "curand_init" in finding.cause


@pytest.mark.skipif(has_curand, reason="nvidia-curand is installed")
@pytest.mark.parametrize("header", ["curand_kernel.h", "curand.h", "curand_mrg32k3a.h"])
def test_without_curand_its_wheel_is_named(header):
    assert "pip install nvidia-curand" in refusal(source("y[0] = 1;", f"#include <{header}>"))


@pytest.mark.parametrize(
    "header",
    ["nvtx3/nvToolsExt.h", "nvToolsExt.h", "nvtx3/nvtx3.hpp", "cuda_profiler_api.h",
     "cudaProfiler.h"],
)  # fmt: skip
def test_headers_of_profilers_have_no_effect(header):
    y = np.zeros(1, np.float32)
    for spelling in (f"<{header}>", f'"{header}"'):
        assert simulator.check(source("y[0] = 1;", f"#include {spelling}"), "k", y, **ONE) == ()
    assert y[0] == 1


def test_a_program_of_the_host_that_marks_its_ranges_compiles():
    main = """int main() {
        cudaProfilerStart();
        nvtxRangePush("copy"); nvtxRangePop(); nvtxMark("here");
        nvtx3::scoped_range range{"kernel"};
        nvtxRangeEnd(nvtxRangeStart("whole"));
        float* y; cudaMalloc(&y, 4); k<<<1, 1>>>(y);
        return cudaProfilerStop() == cudaSuccess ? 0 : 1;
    }"""
    headers = ("cstdio", "cuda_profiler_api.h", "nvtx3/nvToolsExt.h", "nvtx3/nvtx3.hpp")
    text = source("y[0] = 1;", "\n".join(f"#include <{name}>" for name in headers)) + main
    y = np.zeros(1, np.float32)
    assert simulator.check(text, "k", y, **ONE) == () and y[0] == 1
    assert "nvtxRangePop" in refusal(source("nvtxRangePop();", "#include <nvToolsExt.h>"))


def test_an_array_of_a_thread_has_a_size_that_a_device_has():
    array = "volatile float a[{}];\na[int(y[0])] = 1;\ny[1] = a[int(y[2])];"
    message = refusal(source(array.format("1ull << 36")))
    assert "274,877,906,944 bytes of local memory" in message and "524,288 at most" in message
    simulator.check(source(array.format("1 << 17")), "k", np.zeros(4, np.float32), **ONE)
    # One that nobody reads is none, however large it is.
    simulator.check(source("float a[1ull << 36];\na[int(y[0])] = 1;\ny[1] = 1;"), "k",
                    np.zeros(4, np.float32), **ONE)  # fmt: skip


# What the compiler accepts and ptxas refuses: a statement, and ptxas's words.
OF_ASSEMBLER = {
    "an old vote": ("y[0] = __any(y[1] > 2);", "'vote' without '.sync' is not supported"),
    "an old ballot": ("y[0] = __ballot(y[1] > 2);", "'vote' without '.sync' is not supported"),
    "a shuffle in PTX": (
        'int r; asm("shfl.up.b32 %0, %1, 1, 0;" : "=r"(r) : "r"((int)y[1])); y[0] = r;',
        "'shfl' without '.sync' is not supported",
    ),
    "barrier 17": ('asm volatile("bar.sync 17;");', "Barrier number '17' out of range"),
    "a newer GPU": (
        'float r; asm("redux.sync.min.f32 %0, %1, 0xffffffff;" : "=f"(r) : "f"(y[0])); y[0] = r;',
        "'redux.f32' not supported on .target 'sm_90'",
    ),
}


@pytest.mark.parametrize("name", OF_ASSEMBLER)
def test_what_the_assembler_refuses_is_told_in_its_words_and_the_source_s_lines(name):
    statement, words = OF_ASSEMBLER[name]
    text = f'extern "C" __global__ void k(float* y) {{\n    y[2] = 1;\n    {statement}\n}}\n'
    for ask in (simulator.check, simulator.profile):
        with pytest.raises(CompileFailed) as refused:
            ask(text, "k", np.zeros(4, np.float32), grid=(1,), block=(32,))
        assert "k.cu(3): error: " in refused.value.message and words in refused.value.message
