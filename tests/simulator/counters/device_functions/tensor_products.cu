// tensor_products.cu -- what is no single mma: a block of one warp for each set of matrices
//
// Fragments lie in memory as they do in registers: set, lane, register.
#include <mma.h>

// Two k16 products on one accumulator: which sums stay wider than a float between instructions?
extern "C" __global__ void mma_f16_twice_k16(float* d, const unsigned* a, const unsigned* b,
                                             const float* c)
{
    const int at = blockIdx.x * 32 + threadIdx.x;
    a += at * 4, b += at * 2, c += at * 4, d += at * 4;
    float s[4] = {c[0], c[1], c[2], c[3]};
    for (int k = 0; k < 2; k++)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int k = 0; k < 4; k++) d[k] = s[k];
}

// Matrices of 16 x 16 in memory, row by row (the second by columns).
using namespace nvcuda;
template <class Input, class Sum> __device__ void product(Sum* d, const Input* a, const Input* b, const Sum* c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, Input, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, Input, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> fc;
    const int at = blockIdx.x * 256;
    wmma::load_matrix_sync(fa, a + at, 16);
    wmma::load_matrix_sync(fb, b + at, 16);
    wmma::load_matrix_sync(fc, c + at, 16, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d + at, fc, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_f16_float(float* d, const half* a, const half* b, const float* c)
{
    product(d, a, b, c);
}

extern "C" __global__ void wmma_f16_half(half* d, const half* a, const half* b, const half* c)
{
    product(d, a, b, c);
}
