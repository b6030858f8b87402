"""The mistakes of conv2d_half."""

from helpers.exercises.kit import mutant

CELL, TAP = "__half2float(cell)", "__half2float(tap)"
ADD = f"sum += {CELL} * {TAP};"
SUM, STORE = "float sum = 0.0f;", "out_w + w] = sum;"
HALF_SUM = (SUM, "__half sum = __float2half(0.0f);"), (STORE, "out_w + w] = __half2float(sum);")
ROW = "for (int q = 0; q < K; ++q) {"

OF_THE_SAME_VALUE = "__half2float(h) gives the float of the same value."
ROUNDED_PRODUCTS = (
    "Each product is rounded to half before it is added. Widen both factors first: the product of "
    "two halves fits into a float."
)
HALVES = (
    "Every output is a half, so the sum was one. Sum in float: above 2,048 halves are two apart, "
    "and more."
)
ROW_OF_HALVES = (
    "The sum of a row is a half, and loses digits before it is added. Sum in float: one float for "
    "all products of an output."
)

MUTANTS = (
    mutant("All outputs are 0: nothing is added to sum.", (ADD, "")),  # the stub
    mutant(f"Cells are cut to whole numbers: {OF_THE_SAME_VALUE}", (CELL, f"(int){CELL}")),
    mutant(f"Weights are cut to whole numbers: {OF_THE_SAME_VALUE}", (TAP, f"(int){TAP}")),
    mutant(
        f"Cells and weights are cut to whole numbers: {OF_THE_SAME_VALUE}",
        (CELL, f"(int){CELL}"),
        (TAP, f"(int){TAP}"),
    ),
    mutant(
        f"Cells are rounded to whole numbers: {OF_THE_SAME_VALUE}", (CELL, "__half2int_rn(cell)")
    ),
    mutant(ROUNDED_PRODUCTS, (ADD, "sum += __half2float(cell * tap);")),
    mutant(HALVES, *HALF_SUM, (ADD, "sum = __hfma(cell, tap, sum);")),
    mutant(HALVES, *HALF_SUM, (ADD, "sum = __hadd_rn(sum, __hmul_rn(cell, tap));")),
    mutant(HALVES, (STORE, "out_w + w] = __half2float(__float2half(sum));")),
    mutant(
        ROW_OF_HALVES,
        (ROW, f"__half row = 0.0f;\n{ROW}"),
        (ADD, "row = __hfma(cell, tap, row);\nif (q == K - 1) sum += __half2float(row);"),
    ),
    mutant(
        ROW_OF_HALVES,
        (ROW, f"__half row = 0.0f;\n{ROW}"),
        (
            ADD,
            "row = __hadd_rn(row, __hmul_rn(cell, tap));\n"
            "if (q == K - 1) sum += __half2float(row);",
        ),
    ),
)
