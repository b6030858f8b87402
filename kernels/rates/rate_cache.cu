// rate_cache.cu -- how many sectors a second the L1 and the L2 cache give and take
//
// Computes   READ: y[thread] = sum of the cells that the thread reads; WRITE: y = value; COPY:
//            y = x, four floats an access
// Idea       All blocks read (write) one short array again and again. Reads of L1 find it in the
//            cache of their multiprocessor; reads of L2 pass L1 by (ld.global.cg); stores go to L2
//            in any case. STRIDE spreads the lanes of a warp: at 1 a warp reads WIDTH x 4 sectors,
//            at 8 each lane one of its own, at 0 all lanes the same.
// Arrays     x, y: float32, shape (n + (LOADS - 1) * distance,), see below; with READ y has a float
//            for each thread.
// Launch     block = (256, 1, 1), with LEVEL 1 any; grid = (any, 1).
// Sizes      n a power of two.
// Memory     no shared, no constant.
// Constants  MODE (READ, WRITE, COPY), LEVEL (1, 2), WIDTH (1, 2 or 4 floats an access; 0: a half),
//            STRIDE, LOADS of a turn.
// Reference  evidence.rates.kernels

#define READ 1
#define WRITE 2
#define COPY 3

#ifndef MODE
#define MODE READ
#endif
#ifndef LEVEL
#define LEVEL 1
#endif
#ifndef WIDTH
#define WIDTH 1
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef LOADS
#define LOADS 16
#endif

// The sum of WIDTH cells. The assembly is volatile: the compiler may not read once for all turns.
__device__ float read(const float* x)
{
#if LEVEL == 1
#define CACHE ".ca"
#else
#define CACHE ".cg"
#endif
#if WIDTH == 4
    float4 v;
    asm volatile("ld.global" CACHE ".v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x));
    return v.x + v.y + v.z + v.w;
#elif WIDTH == 2
    float2 v;
    asm volatile("ld.global" CACHE ".v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(x));
    return v.x + v.y;
#elif WIDTH == 0
    unsigned short v;  // the upper half of a float
    asm volatile("ld.global" CACHE ".u16 %0, [%1];"
                 : "=h"(v) : "l"(reinterpret_cast<const unsigned short*>(x) + 1));
    return __int_as_float(v << 16);
#else
    float v;
    asm volatile("ld.global" CACHE ".f32 %0, [%1];" : "=f"(v) : "l"(x));
    return v;
#endif
}

__device__ void write(float* y, float value)
{
#if WIDTH == 4
    asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" : : "l"(y), "f"(value));
#elif WIDTH == 2
    asm volatile("st.global.v2.f32 [%0], {%1, %1};" : : "l"(y), "f"(value));
#else
    asm volatile("st.global.f32 [%0], %1;" : : "l"(y), "f"(value));
#endif
}

extern "C" __global__ void rate_cache(float* y, const float* x, int n, float value, int turns)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    // Of L1 all blocks begin at the same cell, of L2 each at another one.
    const int own = LEVEL == 1 ? threadIdx.x : thread;
    const int lane_step = (WIDTH ? WIDTH : 1) * STRIDE;  // cells from a lane to the next
    // From an access of a thread to its next: what a warp touches at once, of L2 a block, so that
    // no two of its warps read one cell. It is a constant: a turn has one address, and its accesses
    // need no instructions beside them.
    const int distance = (LEVEL == 1 ? 32 : 256) * (STRIDE ? lane_step : 1);
    int at = own * lane_step & (n - 1);
#if MODE == READ
    float sum = 0.0f;
#endif

    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            const int cell = at + k * distance;
#if MODE == READ
            sum += read(&x[cell]);
#elif MODE == COPY
            const float4* from = reinterpret_cast<const float4*>(&x[cell]);
            *reinterpret_cast<float4*>(&y[cell]) = __ldcg(from);
#else
            write(&y[cell], value);
#endif
        }
        at = (at + LOADS * distance) & (n - 1);
    }
#if MODE == READ
    y[thread] = sum;
#endif
}
