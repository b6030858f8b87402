// tensor_products.cu -- products of small matrices on tensor cores: a block of one warp for each set of matrices
//
// Fragments lie in memory as they do in registers: set, lane, register.
#include <mma.h>

#define FRAGMENT(SHAPE, ...)                                                                       \
    const int at = blockIdx.x * 32 + threadIdx.x;                                                  \
    a += at * A;                                                                                   \
    b += at * B;                                                                                   \
    c += at * C;                                                                                   \
    d += at * C;

#define A4B2C4(NAME, INSTRUCTION)                                                                  \
    extern "C" __global__ void NAME(unsigned* d, const unsigned* a, const unsigned* b,             \
                                    const unsigned* c)                                             \
    {                                                                                              \
        enum { A = 4, B = 2, C = 4 };                                                              \
        FRAGMENT()                                                                                 \
        asm(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"     \
            : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                       \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]),         \
              "r"(c[1]), "r"(c[2]), "r"(c[3]));                                                    \
    }

#define A4B2C4_FLOAT(NAME, INSTRUCTION)                                                            \
    extern "C" __global__ void NAME(float* d, const unsigned* a, const unsigned* b,                \
                                    const float* c)                                                \
    {                                                                                              \
        enum { A = 4, B = 2, C = 4 };                                                              \
        FRAGMENT()                                                                                 \
        asm(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"     \
            : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                       \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]),         \
              "f"(c[1]), "f"(c[2]), "f"(c[3]));                                                    \
    }

#define A2B1C4_FLOAT(NAME, INSTRUCTION)                                                            \
    extern "C" __global__ void NAME(float* d, const unsigned* a, const unsigned* b,                \
                                    const float* c)                                                \
    {                                                                                              \
        enum { A = 2, B = 1, C = 4 };                                                              \
        FRAGMENT()                                                                                 \
        asm(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                    \
            : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                       \
            : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));        \
    }

A4B2C4_FLOAT(mma_f16_k16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
A4B2C4_FLOAT(mma_bf16_k16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
A4B2C4_FLOAT(mma_tf32_k8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
A4B2C4_FLOAT(mma_e4m3_k32, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
A4B2C4_FLOAT(mma_e5m2_k32, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32")
A4B2C4(mma_s8_k32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
A4B2C4(mma_s8_sat_k32, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32")
A4B2C4(mma_u8_k32, "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32")
A2B1C4_FLOAT(mma_f16_k8, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
A2B1C4_FLOAT(mma_bf16_k8, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
A2B1C4_FLOAT(mma_tf32_k4, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32")

extern "C" __global__ void mma_f16_half_k16(unsigned* d, const unsigned* a, const unsigned* b,
                                            const unsigned* c)
{
    enum { A = 4, B = 2, C = 2 };
    FRAGMENT()
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]));
}

extern "C" __global__ void mma_f16_half_k8(unsigned* d, const unsigned* a, const unsigned* b,
                                           const unsigned* c)
{
    enum { A = 2, B = 1, C = 2 };
    FRAGMENT()
    asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%5, %6};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
}

extern "C" __global__ void mma_f64_k4(double* d, const double* a, const double* b, const double* c)
{
    enum { A = 1, B = 1, C = 2 };
    FRAGMENT()
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
        : "=d"(d[0]), "=d"(d[1])
        : "d"(a[0]), "d"(b[0]), "d"(c[0]), "d"(c[1]));
}

// Two k16 products on one accumulator: which sums stay wider than a float between instructions?
extern "C" __global__ void mma_f16_twice_k16(float* d, const unsigned* a, const unsigned* b,
                                             const float* c)
{
    enum { A = 4, B = 2, C = 4 };
    FRAGMENT()
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
