// mma_ldmatrix.cu -- one mma whose operands ldmatrix brings
#include <cuda_fp16.h>
extern "C" __global__ void mma_ldmatrix(const half *a, const half *b, float *c)
{
    __shared__ __align__(16) half sa[16][24], sb[16][8];
    int lane = threadIdx.x;
    for (int k = lane; k < 256; k += 32) sa[k / 16][k % 16] = a[k];
    for (int k = lane; k < 128; k += 32) sb[k / 8][k % 8] = b[k];
    __syncthreads();
    unsigned ra[4], rb[2];
    unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[lane % 16][8 * (lane / 16)]);
    unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    int row = lane / 4, col = 2 * (lane % 4);
    c[row * 8 + col] = d[0];
    c[row * 8 + col + 1] = d[1];
    c[(row + 8) * 8 + col] = d[2];
    c[(row + 8) * 8 + col + 1] = d[3];
}
