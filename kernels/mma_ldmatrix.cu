// mma_ldmatrix.cu -- the product of mma_one_warp, its fragments loaded by ldmatrix
//
// Computes   D = A B, with A of 16 x 16, B of 16 x 8 and D of 16 x 8
// Idea       ldmatrix reads squares of 8 x 8 halves from shared memory and gives every lane its
//            part of the fragment. One instruction loads the four squares of A, another one the
//            two of B. A lane names the address of one row; it receives parts of other rows.
// Arrays     A: half, (16, 16). B: half, (16, 8). D: float32, (16, 8). Rows lie one after the
//            other. A, B aligned to 16 bytes. None may alias D.
// Launch     block = (32, 1, 1); grid = (1, 1)
// Sizes      as above, no others. Compute capability 8.0 and later.
// Memory     shared: 768 bytes, static.
// Constants  none
// Reference  helpers.problems.tensor_product.reference

#include <cuda_fp16.h>

// Eight halves of a row: what one lane names, and the unit in which matrices are copied here.
typedef uint4 Eight;

extern "C" __global__ void mma_ldmatrix(float* D, const half* A, const half* B)
{
    // A row of A has two times eight halves. Rows k and k + 4 of a square share banks: ldmatrix
    // reads A in 8 wavefronts. With a spare Eight in each row, [16][3], it would take 4.
    __shared__ Eight a_rows[16][2];
    __shared__ Eight b_rows[16];
    const int lane = threadIdx.x;

    // Load both matrices as they are: 32 vectors of A, one for each lane, and 16 of B.
    a_rows[lane / 2][lane % 2] = reinterpret_cast<const Eight*>(A)[lane];
    if (lane < 16) {
        b_rows[lane] = reinterpret_cast<const Eight*>(B)[lane];
    }
    __syncwarp();   // ldmatrix reads what other lanes have stored

    // Lanes 0 to 7 name the rows of the first square, lanes 8 to 15 those of the second one, and
    // so on. Square k goes to register k of every lane:
    //
    //   A    a[0] a[2]    rows 0 to 7      lanes  0 to  7 name a[0], lanes 16 to 23 name a[2]
    //        a[1] a[3]    rows 8 to 15     lanes  8 to 15 name a[1], lanes 24 to 31 name a[3]
    unsigned a[4];
    const unsigned a_row = (unsigned)__cvta_generic_to_shared(&a_rows[lane % 16][lane / 16]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(a_row) : "memory");

    // A register of b holds two rows of one column, but memory holds rows: .trans exchanges rows
    // and columns of each square on the way. Lanes 16 to 31 name rows again; nobody looks at them.
    unsigned b[2];
    const unsigned b_row = (unsigned)__cvta_generic_to_shared(&b_rows[lane % 16]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(b_row) : "memory");

    // Multiply. All lanes of the warp take part in this one instruction. The sums start at zero.
    float d[4];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));

    // Store. A lane has two neighbouring columns of row lane / 4, and of the row 8 further down.
    float2* rows = reinterpret_cast<float2*>(D);   // [0, 64): four pairs in a row
    rows[lane] = make_float2(d[0], d[1]);
    rows[lane + 32] = make_float2(d[2], d[3]);
}
