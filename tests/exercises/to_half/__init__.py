"""Answers to to_half, right and wrong."""

from tests.exercises.answers import right, wrong

GUARD = "if (i < n / 2) {"
LOAD = "const float2 two = reinterpret_cast<const float2*>(from)[i];"
MADE = "__floats2half2_rn(two.x, two.y)"
STORE = f"reinterpret_cast<__half2*>(to)[i] = {MADE};"

RIGHT = (
    right("ours"),
    right(
        "a loop by all threads of the grid",
        (
            GUARD,
            "for (long long k = i; k < n / 2; k += (long long)gridDim.x * blockDim.x) {",
        ),
        ("(from)[i]", "(from)[k]"),
        ("(to)[i]", "(to)[k]"),
    ),
    right("CUDA's function of a float2", (MADE, "__float22half2_rn(two)")),
    right(
        "each half by itself, the guard in cells",
        (GUARD, "if (2 * i + 1 < n) {"),
        (MADE, "__halves2half2(__float2half(two.x), __float2half_rn(two.y))"),
    ),
)

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "one number at a time",
        (
            LOAD,
            "const volatile float* pair = from + 2 * i;\n"
            "        const float2 two = make_float2(pair[0], pair[1]);",
        ),
        status="budget",
    ),
    wrong(
        "two stores",
        (
            STORE,
            "volatile unsigned short* there =\n"
            "            reinterpret_cast<volatile unsigned short*>(to) + 2 * i;\n"
            "        there[0] = __half_as_ushort(__float2half(two.x));\n"
            "        there[1] = __half_as_ushort(__float2half(two.y));",
        ),
        status="budget",
    ),
    wrong(
        "the index as a short",
        ("    if (i < n / 2) {", "    const short k = i;\n    if (k < n / 2) {"),
        ("(from)[i]", "(from)[k]"),
        ("(to)[i]", "(to)[k]"),
        status="finding",
    ),
    wrong(
        "the number of a pair in 16 bits",
        (
            "reinterpret_cast<const float2*>(from)[i]",
            "reinterpret_cast<const float2*>(from)[(unsigned short)i]",
        ),
    ),
    wrong(
        "two pairs by every second thread",
        (
            "    if (i < n / 2) {",
            "    for (long long k = i; k < i + 2 && k < n / 2 && i % 2 == 0; ++k) {",
        ),
        ("(from)[i]", "(from)[k]"),
        ("(to)[i]", "(to)[k]"),
        status="budget",
    ),
)
