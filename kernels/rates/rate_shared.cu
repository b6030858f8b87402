// rate_shared.cu -- how many wavefronts a second shared memory gives and takes
//
// Computes   READ, BOTH: y[thread] = sum of the cells that the thread reads; WRITE: y[thread] =
//            the cell of the thread in the end
// Idea       Each thread reads (writes) the same place again and again; `volatile` has the
//            compiler make every access. STRIDE spreads the lanes: at 1 no two lanes of an access
//            meet in a bank; at 2 two do, so that a request takes two wavefronts. BOTH also reads
//            global memory, from the L1 cache, once for EACH accesses to shared memory: it shows
//            whether the two share a way.
// Arrays     x: float32, shape (2 * CELLS,), only read with BOTH; y: float32, shape (threads of the
//            grid,).
// Launch     block = (CELLS / WIDTH / STRIDE at most, 1, 1); grid = (any, 1).
// Sizes      turns >= 1.
// Memory     shared: CELLS * 4 bytes, static.
// Constants  MODE (READ, WRITE, BOTH), WIDTH (1, 2 or 4 floats an access), STRIDE, CELLS (a power
//            of two), ACCESSES of a turn, EACH.
// Reference  evidence.rates.kernels

#define READ 1
#define WRITE 2
#define BOTH 3

#ifndef MODE
#define MODE READ
#endif
#ifndef WIDTH
#define WIDTH 1
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef CELLS
#define CELLS 4096
#endif
#ifndef ACCESSES
#define ACCESSES 16
#endif

#ifndef EACH
#define EACH 1
#endif

__device__ float read(unsigned address)
{
#if WIDTH == 4
    float4 v;
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address));
    return v.x + v.y + v.z + v.w;
#elif WIDTH == 2
    float2 v;
    asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address));
    return v.x + v.y;
#else
    float v;
    asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(v) : "r"(address));
    return v;
#endif
}

__device__ float read_global(const float* x)
{
#if WIDTH == 4
    const float4 v = *reinterpret_cast<const float4*>(x);
    return v.x + v.y + v.z + v.w;
#else
    return *x;
#endif
}

__device__ void write(unsigned address, float value)
{
#if WIDTH == 4
    asm volatile("st.volatile.shared.v4.f32 [%0], {%1, %1, %1, %1};" : : "r"(address), "f"(value));
#elif WIDTH == 2
    asm volatile("st.volatile.shared.v2.f32 [%0], {%1, %1};" : : "r"(address), "f"(value));
#else
    asm volatile("st.volatile.shared.f32 [%0], %1;" : : "r"(address), "f"(value));
#endif
}

extern "C" __global__ void rate_shared(float* y, const float* x, float value, int turns)
{
    __shared__ __align__(16) float cells[CELLS];

    for (int k = threadIdx.x; k < CELLS; k += blockDim.x) {
        cells[k] = value;
    }
    __syncthreads();

    const int own = threadIdx.x * WIDTH * STRIDE;  // [0, CELLS - WIDTH]
    const unsigned address = __cvta_generic_to_shared(&cells[own]);
    float sum = 0.0f;
#if MODE == BOTH
    const float* place = x + own;
#endif

    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int k = 0; k < ACCESSES; ++k) {
#if MODE == WRITE
            write(address, value + turn);
#else
            sum += read(address);
#endif
#if MODE == BOTH
            if (k % EACH == 0) {
                sum += read_global(&place[k * (CELLS / ACCESSES)]);
            }
#endif
        }
#if MODE == BOTH
        place = x + (own + 32 * turn) % CELLS;  // other cells than in the turn before
#endif
    }
#if MODE == WRITE
    sum = cells[own];  // its own store: no barrier is needed
#endif
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
