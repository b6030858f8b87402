"""Answers to squares, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a variable for the index"),
    right("a __device__ function", file="right_function.cu"),
    right("a reference to the output", ("  P[i] =", "  float& p = P[i];\n    p =")),
)


WRONG = (
    wrong("powf", ("N[i] * N[i];", "powf(N[i], 2.0f);")),
    wrong("one thread does everything", file="wrong_one_thread.cu", status="budget"),
    wrong("a constant", ("N[i] * N[i];", "9.0f;")),
    wrong("the last warps are left out", ("  P[i] =", "  if (i < 32) P[i] =")),
    wrong(
        "computed in the input",
        ("    P[i] = N[i] * N[i];", "    float* M = (float*)N;\n    P[i] = M[i] *= N[i];"),
    ),
    wrong("written to the input alone", ("    P[i] = N", "    const_cast<float*>(N)[i] = N")),
)
