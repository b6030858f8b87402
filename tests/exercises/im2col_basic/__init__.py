"""Answers to im2col_basic, right and wrong."""

from tests.exercises.answers import right, wrong

STORE = "rows[(p * K + q) * out_h * out_w + pixel]"
CELL = "channel[(h + p) * W + w + q]"

QUOTIENTS = "    const int h = pixel / out_w, w = pixel % out_w;\n"
LOOPS = f"""    for (int p = 0; p < K; ++p) {{
        for (int q = 0; q < K; ++q) {{
            {STORE} = {CELL};
        }}
    }}
"""
PAIRS = f"""    if (pixel % 2) return;
    for (int one = pixel; one < pixel + 2 && one < out_h * out_w; ++one) {{
        const int h = one / out_w, w = one % out_w;
        for (int p = 0; p < K; ++p)
            for (int q = 0; q < K; ++q)
                {STORE.replace("pixel", "one")} = {CELL};
    }}
"""
POINTERS = """    const float* in = channel + pixel / out_w * W + pixel % out_w;
    float* out = rows + pixel;
    for (int p = 0; p < K; ++p, in += W)
        for (int q = 0; q < K; ++q, out += out_h * out_w) *out = in[q];
"""

RIGHT = (
    right("two loops"),
    right("pointers that go on", (QUOTIENTS + LOOPS, POINTERS)),
    right("one loop over the filter cells", file="right_one_loop.cu"),
)

WRONG = (
    wrong("half of the threads, two outputs each", (QUOTIENTS + LOOPS, PAIRS), status="budget"),
    wrong("images one channel apart", ("x + ((size_t)b * C + c)", "x + ((size_t)b + c)")),
    wrong("p for both", ("W + w + q]", "W + w + p]")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("rows and columns changed", (STORE, STORE.replace("p * K + q", "q * K + p"))),
    wrong("the image taken as wide as the outputs", (CELL, "channel[(h + p) * out_w + w + q]")),
    wrong("one channel for all", (CELL, CELL.replace("channel", "x"))),
    wrong(
        "every cell loaded twice",
        (CELL, CELL + " * 0.5f + 0.5f * ((volatile float*)" + CELL[:7] + ")[(h + p) * W + w + q]"),
        status="budget",
    ),
    wrong("filters of at most 7 x 7", ("p < K;", "p < 7 && p < K;")),
    wrong("the first image for all", ("x + ((size_t)b * C + c) * H * W", "x + (size_t)c * H * W")),
)
