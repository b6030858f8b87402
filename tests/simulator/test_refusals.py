"""What the simulator refuses, by name and line and with what to do instead, and the headers of
tools that have no effect.
"""

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator import toolkit
from helpers.simulator.toolchain import CompileFailed

ONE = {"grid": (1,), "block": (1,)}


def source(body: str, before: str = "", parameters: str = "float* y") -> str:
    return f'{before}\nextern "C" __global__ void k({parameters}) {{\n{body}\n}}'


def refusal(text: str, *more) -> str:
    with pytest.raises(CompileFailed) as raised:
        simulator.check(text, "k", np.zeros(4, np.float32), *more, **ONE)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "line", "name", "instead"),
    [
        (
            source("child<<<1, 1>>>(y);", "__global__ void child(float* y) { y[0] = 1; }"),
            3,
            "device-side kernel launch",
            "launch them from the host",
        ),
        (
            source("y[0] = tex1Dfetch(t, 0);", "texture<float, 1> t;"),
            1,
            "texture",
            "read the array through a pointer",
        ),
        (source("surf2Dread(y, s, 0, 0);", "surface<void, 2> s;"), 1, "surface", "a pointer"),
        (
            source("auto g = cooperative_groups::this_grid();\ng.sync();\ny[0] = 1;",
                   "#include <cooperative_groups.h>"),
            3,
            "grid.sync()",
            "launch another",
        ),
        (
            source("int* a = (int*) alloca(int(y[0]) + 4);\na[0] = 1;\ny[0] = a[int(y[2])];"),
            3,
            "alloca()",
            "a local array of a fixed size",
        ),
    ],
    ids=["dynamic parallelism", "texture", "surface", "grid", "alloca"],
)  # fmt: skip
def test_a_feature_is_refused_by_name_and_line(text, line, name, instead):
    message = refusal(text)
    assert name in message and instead in message
    assert f"k.cu({line})" in message or f"k.cu:{line}:" in message


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
        ("helper_cuda.h", "NVIDIA's samples"),
    ],
)
def test_a_library_of_the_host_is_refused_by_name(header, library):
    message = refusal(source("y[0] = 1;", f"#include <{header}>"))
    assert f"{header} belongs to {library}" in message and "leave it out" in message


def test_curand_works_where_its_wheel_is_installed():
    text = source(
        "curandState s;\ncurand_init(1, 0, 0, &s);\ny[0] = curand_uniform(&s);",
        "#include <curand_kernel.h>",
    )
    if any((folder / "curand_kernel.h").is_file() for folder in toolkit.include_directories()):
        y = np.zeros(1, np.float32)
        assert simulator.check(text, "k", y, **ONE) == () and 0 < y[0] <= 1
    else:
        assert "pip install nvidia-curand" in refusal(text)


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
