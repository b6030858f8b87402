// %%kernel one_mma
#include <cuda_fp16.h>

typedef unsigned Pair;   // two halves in one register

__device__ Pair pair(__half first, __half second)   // the first one into the lower 16 bits
{
    return __half_as_ushort(first) | (unsigned)__half_as_ushort(second) << 16;
}

__global__ void one_mma(float* D, const __half* A, const __half* B)
{
    const int lane = threadIdx.x;
    //> Gap 1: this lane's group, 0 to 7, and `two`, the first of its two columns: 0, 2, 4 or 6.
    const int group = lane / 4;
    const int two = lane % 4 * 2;
    //<
    Pair a[4], b[2];
    float d[4];
    //> Gap 2: a[0] to a[3], then b[0] and b[1]. The pair that begins at cell p of A is
    //> *reinterpret_cast<const Pair*>(A + p).
    a[0] = *reinterpret_cast<const Pair*>(A + 16 * group + two);
    a[1] = *reinterpret_cast<const Pair*>(A + 16 * (group + 8) + two);
    a[2] = *reinterpret_cast<const Pair*>(A + 16 * group + two + 8);
    a[3] = *reinterpret_cast<const Pair*>(A + 16 * (group + 8) + two + 8);
    b[0] = pair(B[8 * two + group], B[8 * (two + 1) + group]);
    b[1] = pair(B[8 * (two + 8) + group], B[8 * (two + 9) + group]);
    //<
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
    //> Gap 3: store d[0] to d[3] where they belong in D.
    D[8 * group + two] = d[0];
    D[8 * group + two + 1] = d[1];
    D[8 * (group + 8) + two] = d[2];
    D[8 * (group + 8) + two + 1] = d[3];
    //<
}
