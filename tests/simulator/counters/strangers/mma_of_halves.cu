// mma_of_halves.cu -- a warp's 16 x 16 product by mma.m16n8k16, fragments by ldmatrix from padded
// rows
#include <cuda_fp16.h>
#define LD 24
extern "C" __global__ void mma_of_halves(float* C, const __half* A, const __half* B, int K)
{
    __shared__ __align__(16) __half a[16 * LD], b[16 * LD];
    const int lane = threadIdx.x;
    float c[2][4] = {};
    for (int k = 0; k < K; k += 16) {
        __syncwarp();
        const int r = lane / 2, half = lane % 2 * 8;
        *(int4*)&a[r * LD + half] = *(const int4*)&A[r * K + k + half];
        *(int4*)&b[r * LD + half] = *(const int4*)&B[(k + r) * 16 + half];
        __syncwarp();
        unsigned af[4], bf[4];
        const unsigned pa = __cvta_generic_to_shared(&a[(lane % 16) * LD + lane / 16 * 8]);
        const unsigned pb = __cvta_generic_to_shared(&b[(lane % 16) * LD + lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(af[0]), "=r"(af[1]), "=r"(af[2]), "=r"(af[3]) : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(bf[0]), "=r"(bf[1]), "=r"(bf[2]), "=r"(bf[3]) : "r"(pb));
        for (int h = 0; h < 2; ++h)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[h][0]), "+f"(c[h][1]), "+f"(c[h][2]), "+f"(c[h][3])
                         : "r"(af[0]), "r"(af[1]), "r"(af[2]), "r"(af[3]), "r"(bf[2 * h]),
                             "r"(bf[2 * h + 1]));
    }
    for (int h = 0; h < 2; ++h) {
        const int row = lane / 4, column = h * 8 + lane % 4 * 2;
        *(float2*)&C[row * 16 + column] = make_float2(c[h][0], c[h][1]);
        *(float2*)&C[(row + 8) * 16 + column] = make_float2(c[h][2], c[h][3]);
    }
}
