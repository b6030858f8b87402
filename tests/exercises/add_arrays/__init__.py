"""Answers to add_arrays, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("void first", ("__global__ void", "void __global__")),
    right(
        "attributes before the name",
        ("void add", "void __cluster_dims__(1, 1, 1) __maxnreg__(64) add"),
    ),
    right("a trailing return type", ("void add", "auto add"), ("int n)", "int n) -> void")),
    right(
        "a prototype",
        (
            "__global__ void",
            "__global__ void add_arrays(float*, const float*, const float*, int);\n__global__ void",
        ),
    ),
    right(
        "a name that a macro makes",
        (
            "__global__ void add_arrays",
            "#define NAME(what) add_##what\n__global__ void NAME(arrays)",
        ),
    ),
    right(
        "a kernel that a macro makes",
        (
            "__global__ void add_arrays(",
            "#define KERNEL(name) void __global__ name\n#include <cuda_fp16.h>\n"
            "KERNEL(add_arrays)(",
        ),
    ),
    right(
        "a raw string",
        (
            "__global__",
            'const char* help = R"(\n#include "my notes.txt"\n#include the rest\n)";\n__global__',
        ),
    ),
    right("a guard"),
    right("a loop with the grid's stride", file="right_stride.cu"),
    right("an early return", file="right_return.cu"),
)


WRONG = (
    wrong("adds to what nothing has set", ("if (i < n) C[i] =", "if (i < n) C[i] +=")),
    wrong("i <= n", ("(i < n)", "(i <= n)"), status="finding"),
    wrong("n written into the kernel", ("(i < n)", "(i < 100 && i < n)")),
    wrong("block 0 does everything", file="wrong_one_block.cu", status="budget"),
)
