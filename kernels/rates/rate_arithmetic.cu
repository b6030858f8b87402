// rate_arithmetic.cu -- how many operations of one kind a multiprocessor does: chains of it
//
// Computes   y[i] = x0 + x1 + ... of CHAINS values, each of which went `turns` x STEPS times
//            through the operation (the reference repeats it in NumPy)
// Idea       A warp waits for the result of an operation only if the next one needs it. CHAINS
//            independent chains in each of many warps leave no cycle free, so the time is that of
//            the operations. The values of a and b are arguments, so that no compiler can reckon
//            with them.
// Arrays     y: NUMBER, shape (threads of the grid,).
// Launch     block = (any, 1, 1); grid = (any, 1); 64 warps a multiprocessor are enough.
// Sizes      turns >= 1.
// Memory     no shared, no constant.
// Constants  OPERATION (see the list below), CHAINS, STEPS of a turn.
// Reference  evidence.rates.kernels

#include <cuda_fp16.h>

#define FP32 1
#define FP64 2
#define HALF2 3
#define LOGIC 4
#define ADD 5
#define PRODUCT 6
#define SHIFT 7
#define MINIMUM 8
#define ROOT 9
#define CONVERSION 10
#define MIXED 11
#define UNITS 12

#ifndef OPERATION
#define OPERATION FP32
#endif
#ifndef CHAINS
#define CHAINS 8
#endif
#ifndef STEPS
#define STEPS 31  // odd: a chain of b - x then ends at b - x
#endif

#if OPERATION == FP64
#define NUMBER double
#elif OPERATION == HALF2
#define NUMBER __half2
#elif OPERATION == FP32 || OPERATION == ROOT
#define NUMBER float
#else
#define NUMBER unsigned
#endif

// In each bit b where a is 1, else c: one instruction.
__device__ unsigned choice(unsigned a, unsigned b, unsigned c)
{
    unsigned result;
    asm volatile("lop3.b32 %0, %1, %2, %3, 0xCA;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}

// Integers meet the neighbouring chain in each step. Were it the same chain again, the compiler
// could put two steps into one.
__device__ NUMBER step(NUMBER x, NUMBER next, NUMBER a, NUMBER b, int chain)
{
#if OPERATION == FP32
    return fmaf(a, x, b);
#elif OPERATION == FP64
    return fma(a, x, b);
#elif OPERATION == HALF2
    return __hfma2(a, x, b);
#elif OPERATION == LOGIC
    return choice(x, next, a);
#elif OPERATION == ADD
    return x + next + a;
#elif OPERATION == PRODUCT
    return x * next + a;
#elif OPERATION == SHIFT
    return __funnelshift_l(x, next, a);
#elif OPERATION == MINIMUM
    return min(x, next) ^ a;
#elif OPERATION == ROOT
    asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
#elif OPERATION == CONVERSION
    float rounded;
    asm volatile("cvt.rn.f32.u32 %0, %1;" : "=f"(rounded) : "r"(x));
    asm volatile("cvt.rzi.u32.f32 %0, %1;" : "=r"(x) : "f"(rounded));
    return x ^ a;  // without it ptxas would leave out the next pair
#elif OPERATION == UNITS  // four kinds that may share their units
    return chain % 4 == 0   ? choice(x, next, a)
           : chain % 4 == 1 ? x + next + a
           : chain % 4 == 2 ? __funnelshift_l(x, next, b)
                            : min(x, next);
#else  // MIXED: every other chain is LOGIC, the rest PRODUCT; they go to two kinds of units
    return chain % 2 ? choice(x, next, a) : x * next + a;
#endif
}

__device__ NUMBER first_value(int chain)
{
#if OPERATION == HALF2
    return __floats2half2_rn(chain + 1.0f, chain + 2.0f);
#else
    return (NUMBER)(threadIdx.x + chain + 1);
#endif
}

__device__ NUMBER plus(NUMBER x, NUMBER y)
{
#if OPERATION == HALF2
    return __hadd2(x, y);
#else
    return x + y;
#endif
}

extern "C" __global__ void rate_arithmetic(NUMBER* y, NUMBER a, NUMBER b, int turns)
{
    NUMBER x[CHAINS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
        x[chain] = first_value(chain);
    }

    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int count = 0; count < STEPS; ++count) {
#pragma unroll
            for (int chain = 0; chain < CHAINS; ++chain) {
                x[chain] = step(x[chain], x[(chain + 1) % CHAINS], a, b, chain);
            }
        }
    }

    NUMBER sum = x[0];
#pragma unroll
    for (int chain = 1; chain < CHAINS; ++chain) {
        sum = plus(sum, x[chain]);
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
