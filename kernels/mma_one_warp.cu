// mma_one_warp.cu -- one product of two matrices by one instruction of one warp
//
// Computes   D = A B, with A of 16 x 16, B of 16 x 8 and D of 16 x 8
// Idea       A tensor core multiplies matrices that lie in the registers of a whole warp. No lane
//            holds a matrix. Each lane holds a fragment: 8 numbers of A, 4 of B and 4 of D. The
//            manual says which ones; here each lane loads and stores them one by one.
// Arrays     A: half, (16, 16). B: half, (16, 8). D: float32, (16, 8). Rows lie one after the
//            other. A aligned to 4 bytes. None may alias D.
// Launch     block = (32, 1, 1); grid = (1, 1)
// Sizes      as above, no others. Compute capability 8.0 and later.
// Memory     none but registers.
// Constants  none
// Reference  helpers.problems.tensor_product.reference

#include <cuda_fp16.h>

// Two neighbouring halves in one register, the first one in the lower 16 bits.
typedef unsigned Pair;

__device__ Pair pair(half first, half second)
{
    return __half_as_ushort(first) | (unsigned)__half_as_ushort(second) << 16;
}

extern "C" __global__ void mma_one_warp(float* D, const half* A, const half* B)
{
    // The 32 lanes are 8 groups of 4. The group chooses a row of A and D, and a column of B. The
    // place in the group chooses two columns of A and D, and two rows of B:
    //
    //        columns of A  0 1   2 3   4 5   6 7 | 8 9  10 11 12 13 14 15      a register, 2 halves
    //   row 0             [lane 0, 1, 2, 3: a[0] | lane 0, 1, 2, 3: a[2]]
    //   row 1             [lane 4, 5, 6, 7: a[0] | lane 4, 5, 6, 7: a[2]]
    //   ...
    //   row 8             [lane 0, 1, 2, 3: a[1] | lane 0, 1, 2, 3: a[3]]
    //   ...
    //   row 15            [lanes 28 to 31:  a[1] | lanes 28 to 31:  a[3]]
    const int group = threadIdx.x / 4;       // [0, 8)
    const int two = threadIdx.x % 4 * 2;     // 0, 2, 4 or 6: the first of two columns or rows

    // Load A. Two columns are neighbours in memory: one load of 4 bytes gives both.
    Pair a[4];
    a[0] = *reinterpret_cast<const Pair*>(A + 16 * group + two);
    a[1] = *reinterpret_cast<const Pair*>(A + 16 * (group + 8) + two);
    a[2] = *reinterpret_cast<const Pair*>(A + 16 * group + two + 8);
    a[3] = *reinterpret_cast<const Pair*>(A + 16 * (group + 8) + two + 8);

    // Load B. Two rows of one column are 8 halves apart: they come one at a time.
    Pair b[2];
    b[0] = pair(B[8 * two + group], B[8 * (two + 1) + group]);
    b[1] = pair(B[8 * (two + 8) + group], B[8 * (two + 9) + group]);

    // Multiply. All lanes of the warp take part in this one instruction. The sums start at zero.
    float d[4];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));

    // Store. A lane has two neighbouring columns of row `group`, and of the row 8 further down.
    D[8 * group + two] = d[0];
    D[8 * group + two + 1] = d[1];
    D[8 * (group + 8) + two] = d[2];
    D[8 * (group + 8) + two + 1] = d[3];
}
