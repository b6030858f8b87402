// %%kernel one_ldmatrix -DPITCH=2
#include <cuda_fp16.h>

typedef uint4 Eight;   // eight halves, 16 bytes

__global__ void one_ldmatrix(float* D, const __half* A, const __half* B)
{
    __shared__ Eight a_rows[16][PITCH];   // a row of A has two eights; more is a gap behind it
    __shared__ Eight b_rows[16];
    const int lane = threadIdx.x;
    //> Gap 1: copy A and B as they are, an Eight by each lane that has one. Who waits for whom?
    a_rows[lane / 2][lane % 2] = reinterpret_cast<const Eight*>(A)[lane];
    if (lane < 16) {
        b_rows[lane] = reinterpret_cast<const Eight*>(B)[lane];
    }
    __syncwarp();   // ldmatrix reads what other lanes have stored
    //<
    //> Gap 2: the row of A and the row of B that this lane names.
    //= const Eight* a_row = &a_rows[0][0];
    //= const Eight* b_row = &b_rows[0];
    const Eight* a_row = &a_rows[lane % 16][lane / 16];
    const Eight* b_row = &b_rows[lane % 16];
    //<
    unsigned a[4], b[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"((unsigned)__cvta_generic_to_shared(a_row)) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"((unsigned)__cvta_generic_to_shared(b_row)) : "memory");
    float d[4];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
    float2* rows = reinterpret_cast<float2*>(D);   // 64 pairs of neighbouring columns
    rows[lane] = make_float2(d[0], d[1]);
    rows[lane + 32] = make_float2(d[2], d[3]);
}
