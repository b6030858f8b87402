// approximations.cu -- the approximate functions at evenly spaced floats (spaced by bits), and of every number of 16 bits
#define FLOATS(NAME, OPERATION)                                                                    \
    extern "C" __global__ void NAME(float* y, unsigned first, unsigned step, int n)                \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= n) return;                                                                        \
        float r;                                                                                   \
        asm(OPERATION " %0, %1;" : "=f"(r) : "f"(__uint_as_float(first + i * step)));              \
        y[i] = r;                                                                                  \
    }

FLOATS(dump_rcp, "rcp.approx.ftz.f32")
FLOATS(dump_rsqrt, "rsqrt.approx.ftz.f32")
FLOATS(dump_sqrt, "sqrt.approx.ftz.f32")
FLOATS(dump_lg2, "lg2.approx.ftz.f32")
FLOATS(dump_ex2, "ex2.approx.ftz.f32")
FLOATS(dump_sine, "sin.approx.ftz.f32")
FLOATS(dump_cosine, "cos.approx.ftz.f32")
FLOATS(dump_tanh, "tanh.approx.f32")

// The upper words of doubles.
#define DOUBLES(NAME, OPERATION)                                                                   \
    extern "C" __global__ void NAME(unsigned* y, unsigned first, unsigned step, int n)             \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= n) return;                                                                        \
        double r;                                                                                  \
        asm(OPERATION " %0, %1;" : "=d"(r) : "d"(__hiloint2double(first + i * step, 0)));          \
        y[i] = __double2hiint(r);                                                                  \
    }

DOUBLES(dump_rcp64h, "rcp.approx.ftz.f64")
DOUBLES(dump_rsqrt64h, "rsqrt.approx.ftz.f64")

#define SHORTS(NAME, OPERATION)                                                                    \
    extern "C" __global__ void NAME(unsigned short* y, unsigned first, unsigned step, int n)       \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= n) return;                                                                        \
        unsigned short r;                                                                          \
        asm(OPERATION " %0, %1;" : "=h"(r) : "h"((unsigned short)(first + i * step)));             \
        y[i] = r;                                                                                  \
    }

SHORTS(dump_tanh_f16, "tanh.approx.f16")
SHORTS(dump_tanh_bf16, "tanh.approx.bf16")
SHORTS(dump_ex2_f16, "ex2.approx.f16")
SHORTS(dump_ex2_bf16, "ex2.approx.ftz.bf16")
