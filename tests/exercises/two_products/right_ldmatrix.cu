// %%kernel two_products
#include <cuda_fp16.h>

__global__ void two_products(float* D, const __half* A, const __half* B)
{
    __shared__ uint4 a_rows[16][5];   // four vectors in a row, and one to spare
    __shared__ uint4 b_rows[32];
    const int lane = threadIdx.x;
    a_rows[lane / 4][lane % 4] = reinterpret_cast<const uint4*>(A)[lane];
    a_rows[lane / 4 + 8][lane % 4] = reinterpret_cast<const uint4*>(A)[lane + 32];
    b_rows[lane] = reinterpret_cast<const uint4*>(B)[lane];
    __syncwarp();

    float d[4] = {};
    for (int step = 0; step < 2; ++step) {
        unsigned a[4], b[2];
        const unsigned a_row =
            (unsigned)__cvta_generic_to_shared(&a_rows[lane % 16][2 * step + lane / 16]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(a_row) : "memory");
        const unsigned b_row = (unsigned)__cvta_generic_to_shared(&b_rows[16 * step + lane % 16]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(b[0]), "=r"(b[1]) : "r"(b_row) : "memory");
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    float2* rows = reinterpret_cast<float2*>(D);
    rows[lane] = make_float2(d[0], d[1]);
    rows[lane + 32] = make_float2(d[2], d[3]);
}
