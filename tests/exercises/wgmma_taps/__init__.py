"""Answers to wgmma_taps, right and wrong."""

from tests.exercises.answers import right, wrong

A = "descriptor(a_first, 64 * 16, 8 * 16);"
START = "start_product(sum, a, b, tap > 0);"
PLAIN = """
        for (int i = 0; i < 16; ++i) {
            const int map = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
            const int w = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
            sum[i] = tap > 0 ? sum[i] : 0.0f;
            for (int k = 0; k < 16; ++k) {
                const Octet* left = &weights[tap][k / 8][map];
                const Octet* right = &cells[k / 8][w + tap];
                sum[i] += __half2float(reinterpret_cast<const __half*>(left)[k % 8])
                          * __half2float(reinterpret_cast<const __half*>(right)[k % 8]);
            }
        }
"""
ELEMENT = "__half2float(reinterpret_cast<const __half*>"
# The same loads, as often as start_product's plain code makes them.
VOLATILE = (
    PLAIN.replace("const Octet*", "const volatile unsigned short*")
    .replace("= &", "= (const volatile unsigned short*)&")
    .replace(f"{ELEMENT}(left)[k % 8])", "__half2float(__ushort_as_half(left[k % 8]))")
    .replace(f"{ELEMENT}(right)[k % 8])", "__half2float(__ushort_as_half(right[k % 8]))")
)
UNUSED = "float other[16]; start_product(other, a, b, 0);"
JOINED = "start | half << 16 | eight << 32;"

RIGHT = (
    right("ours"),
    right("sums of products", (JOINED, "start + half * 65536 + (eight << 32);")),
    right(
        "addresses by pointers",
        (A, "descriptor(a_first, sizeof(weights[0][0]), sizeof(Octet[8]));"),
        ("descriptor(b_first + 16 * tap, CELLS", "descriptor((unsigned)__cvta_generic_to_shared("
         "&cells[0][tap]), CELLS")),
)  # fmt: skip

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("plain code", (START, PLAIN), status="budget"),
    wrong("plain code beside an unused product",
          (START, UNUSED + PLAIN), status="budget"),
    wrong("plain code beside a product that is never started",
          (START, f"if (x == filter) {{ {UNUSED} }}{VOLATILE}"), status="budget"),
    wrong("plain code with loads that stay", (START, VOLATILE),
          status="budget"),
)  # fmt: skip
