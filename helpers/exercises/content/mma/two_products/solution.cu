// %%kernel two_products
#include <cuda_fp16.h>

//>
typedef unsigned Pair;   // two halves in one register

__device__ Pair pair(__half first, __half second)
{
    return __half_as_ushort(first) | (unsigned)__half_as_ushort(second) << 16;
}

//<
__global__ void two_products(float* D, const __half* A, const __half* B)
{
    //> One warp: D = A B, with A of 16 x 32 halves, B of 32 x 8 and D of 16 x 8 floats.
    const int group = threadIdx.x / 4;
    const int two = threadIdx.x % 4 * 2;
    float d[4] = {};
    for (int step = 0; step < 2; ++step) {
        const int inner = 16 * step + two;   // first of two columns of A, and of two rows of B
        Pair a[4];
        a[0] = *reinterpret_cast<const Pair*>(A + 32 * group + inner);
        a[1] = *reinterpret_cast<const Pair*>(A + 32 * (group + 8) + inner);
        a[2] = *reinterpret_cast<const Pair*>(A + 32 * group + inner + 8);
        a[3] = *reinterpret_cast<const Pair*>(A + 32 * (group + 8) + inner + 8);
        Pair b[2];
        b[0] = pair(B[8 * inner + group], B[8 * (inner + 1) + group]);
        b[1] = pair(B[8 * (inner + 8) + group], B[8 * (inner + 9) + group]);
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    D[8 * group + two] = d[0];
    D[8 * group + two + 1] = d[1];
    D[8 * (group + 8) + two] = d[2];
    D[8 * (group + 8) + two + 1] = d[3];
    //<
}
