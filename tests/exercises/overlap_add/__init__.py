"""Answers to overlap_add, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a loop for each gap, every sum by an atomic"),
    right(
        "one owner of the sums that no other block has",
        (
            "(0 <= out && out < n) atomicAdd(&P[out], cells[i].x);\n",
            "(out < 0 || out >= n) continue;\n"
            "        if (i < width - 1 || i >= segment) atomicAdd(P + out, cells[i].x);   "
            "// a neighbour has these, too\n"
            "        else P[out] = cells[i].x;\n",
        ),
    ),
    right(
        "two points a thread, by name",
        (
            "        cells[i] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);\n",
            "        cells[i].x = a.x * b.x - a.y * b.y;\n"
            "        cells[i].y = a.y * b.x + a.x * b.y;\n",
        ),
    ),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the index is a short", ("const int start =", "const short start ="), status="finding"),
    wrong(
        "a barrier in each turn",
        ("        const int out =", "        __syncthreads();\n        const int out ="),
        status="budget",
    ),
    wrong(
        "thread 0 loads the segment",
        (
            "i = threadIdx.x; i < SIZE; i += blockDim.x) {\n        const bool",
            "i = threadIdx.x; threadIdx.x == 0 && i < SIZE; ++i) {\n        const bool",
        ),
        status="budget",
    ),
)
