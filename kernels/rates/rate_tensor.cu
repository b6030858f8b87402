// rate_tensor.cu -- how many products the tensor cores of a multiprocessor sum: chains of mma.sync
//
// Computes   y[thread] = the sum of a thread's cells of CHAINS products C += A * B, each repeated
//            `turns` x STEPS times; all cells of A are `a`, all of B are `b`; a chain starts at
//            first[chain], zeros, of which no compiler knows: it would keep one chain for all
// Idea       As in rate_arithmetic.cu. The fragments never change, so nothing but the products and
//            the loop is executed.
// Arrays     y: float32 (int32 for INT8, float64 for FP64, two halves for HALF_SUM), shape
//            (threads of the grid,); first: likewise, shape (CHAINS,).
// Launch     block = (multiple of 32, 1, 1); grid = (any, 1).
// Sizes      turns >= 1.
// Memory     no shared, no constant.
// Constants  KIND (below), CHAINS, STEPS of a turn.
// Reference  evidence.rates.kernels

#define HALF 1     // 16 x 8 x 16 halves, sums FP32
#define HALF_SUM 2 // the same, sums halves
#define BFLOAT 3   // 16 x 8 x 16 bfloat16, sums FP32
#define TF32 4     // 16 x 8 x 8, sums FP32
#define INT8 5     // 16 x 8 x 32 signed bytes, sums int
#define FP64 6     // 16 x 8 x 16 doubles

#ifndef KIND
#define KIND HALF
#endif
#ifndef CHAINS
#define CHAINS 4
#endif
#ifndef STEPS
#define STEPS 16
#endif

#if KIND == INT8
#define SUM int
#define REGISTERS 4
#elif KIND == FP64
#define SUM double
#define REGISTERS 4
#elif KIND == HALF_SUM
#define SUM unsigned  // two halves
#define REGISTERS 2
#else
#define SUM float
#define REGISTERS 4
#endif

__device__ void product(SUM* c, unsigned a, unsigned b, double wide_a, double wide_b)
{
#if KIND == HALF
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b));
#elif KIND == HALF_SUM
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "
                 "{%2, %2, %2, %2}, {%3, %3}, {%0, %1};"
                 : "+r"(c[0]), "+r"(c[1]) : "r"(a), "r"(b));
#elif KIND == BFLOAT
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b));
#elif KIND == TF32
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                 "{%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b));
#elif KIND == INT8
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                 "{%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a), "r"(b));
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %4, %4, %4, %4, %4, %4, %4}, {%5, %5, %5, %5}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(wide_a), "d"(wide_b));
#endif
}

// a, b: the bits of a register of A and of B; wide_a, wide_b: of FP64
extern "C" __global__ void rate_tensor(SUM* y, unsigned a, unsigned b, double wide_a, double wide_b,
                                       const SUM* first, int turns)
{
    SUM c[CHAINS][REGISTERS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
#pragma unroll
        for (int k = 0; k < REGISTERS; ++k) {
            c[chain][k] = first[chain];
        }
    }

    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int count = 0; count < STEPS; ++count) {
#pragma unroll
            for (int chain = 0; chain < CHAINS; ++chain) {
                product(c[chain], a, b, wide_a, wide_b);
            }
        }
    }

    SUM sum = 0;
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
#pragma unroll
        for (int k = 0; k < REGISTERS; ++k) {
#if KIND == HALF_SUM
            sum |= c[chain][k];  // the sums are equal, and so this is one of them
#else
            sum += c[chain][k];
#endif
        }
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
