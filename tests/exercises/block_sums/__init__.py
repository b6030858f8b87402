"""Answers to block_sums, right and wrong."""

from tests.exercises.answers import right, wrong

LAST = """    for (int stride = 16; t < 32 && stride >= 1; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncwarp();
    }
"""
ALONE = """    if (t == 0)
        for (int k = 1; k < 32; ++k) s[0] += s[k];
"""
BY_SHUFFLES = """    if (t < 32) {
        float own = s[t], sum = own;
        for (int k = 1; k < 32; ++k) sum += __shfl_sync(0xffffffff, own, k);
        if (t == 0) s[0] = sum;
    }
"""
BY_FOUR = """    for (int left = 8; t < 32 && left >= 2; left /= 4) {
        if (t < left) s[t] += s[t + left] + s[t + 2 * left] + s[t + 3 * left];
        __syncwarp();
    }
    if (t == 0) s[0] += s[1];
"""

RIGHT = (
    right("half of the lanes add, then __syncwarp()"),
    right(
        "read, wait, write, wait",
        (
            "    for (int stride = 16; t < 32 && stride >= 1; stride /= 2) {\n"
            "        if (t < stride) s[t] += s[t + stride];\n"
            "        __syncwarp();\n",
            "    if (t < 32) {\n"
            "        for (int stride = 16; stride >= 1; stride /= 2) {\n"
            "            const float other = s[t + stride];\n"
            "            __syncwarp();\n"
            "            s[t] += other;\n"
            "            __syncwarp();\n"
            "        }\n",
        ),
    ),
    right(
        "only the lanes that add wait, named by their mask",
        (
            "if (t < stride) s[t] += s[t + stride];\n        __syncwarp();",
            "if (t < stride) {\n            s[t] += s[t + stride];\n"
            "            __syncwarp((1u << stride) - 1);\n        }",
        ),
    ),
    right(
        "the other warps leave",
        ("t < 32 && ", ""),
        ("    for (int stride = 16;", "    if (t >= 32) return;\n    for (int stride = 16;"),
    ),
    right("four numbers a step", (LAST, BY_FOUR)),
    right("shuffles within the last warp", file="right_shuffles.cu"),
    right("shuffles in every warp", file="right_two_levels.cu"),
)


WRONG = (
    wrong(
        "31 atomics",
        (
            "    for (int stride = 16; t < 32 && stride >= 1; stride /= 2) {\n"
            "        if (t < stride) s[t] += s[t + stride];\n        __syncwarp();\n    }",
            "    const float mine = s[t];\n    __syncwarp();\n"
            "    if (t > 0 && t < 32) atomicAdd(&s[0], mine);\n    __syncwarp();",
        ),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "the lanes that happen to be there",
        (
            "if (t < stride) s[t] += s[t + stride];\n        __syncwarp();",
            "if (t < stride) {\n            s[t] += s[t + stride];\n"
            "            __syncwarp(__activemask());\n        }",
        ),
    ),
    wrong(
        "other results when it is counted",
        ("if (t == 0) sums", "if (t == 0 && clock64() >= 0) sums"),
    ),
    wrong(
        "other results on other multiprocessors",
        (
            "    if (t == 0) sums",
            '    unsigned place;\n    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));\n'
            "    if (t == 0 && place < 1000u) sums",
        ),
    ),
    wrong(
        "__syncthreads() in each step",
        ("stride >= 32", "stride >= 1"),
        ("int stride = 16", "int stride = 0"),
        status="budget",
    ),
    wrong(
        "no __syncthreads() after the load",
        ("0.0f;\n    __syncthreads();", "0.0f;"),
        status="finding",
    ),
    wrong("thread 0 adds from global memory", file="wrong_global.cu", status="budget"),
    wrong("thread 0 adds from shared memory", file="wrong_one_thread.cu", status="budget"),
    wrong("thread 0 adds the last 32 numbers", (LAST, ALONE), status="budget"),
    wrong("31 shuffles", (LAST, BY_SHUFFLES), status="budget"),
    wrong("atomics", file="wrong_atomics.cu", status="budget"),
    wrong("the guard is missing", ("i < n ? N[i] : 0.0f", "N[i]"), status="finding"),
    wrong("nothing is written", ("if (t == 0)", "if (t == 256)")),
)
