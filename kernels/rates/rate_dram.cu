// rate_dram.cu -- how many bytes a second DRAM gives and takes: a long array read, written, copied
//
// Computes   READ: y[thread] = sum of the cells of x that the thread reads; WRITE: y = value;
//            COPY: y = x
// Idea       Arrays many times as large as the L2 cache, each 16 bytes touched once, VECTORS
//            independent accesses of a thread in flight.
// Arrays     x: float4, shape (n,); y: float4, shape (n,); with READ float, one for each thread.
// Launch     block = (any, 1, 1); grid = (any, 1), grid * block * VECTORS divides n.
// Sizes      n in float4, n < 2^31.
// Memory     no shared, no constant.
// Constants  MODE (READ, WRITE, COPY), VECTORS.
// Reference  evidence.rates.kernels

#define READ 1
#define WRITE 2
#define COPY 3

#ifndef MODE
#define MODE COPY
#endif
#ifndef VECTORS
#define VECTORS 4
#endif

extern "C" __global__ void rate_dram(float* y, const float4* x, int n, float value)
{
    const int threads = gridDim.x * blockDim.x;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
#if MODE == READ
    float sum = 0.0f;
#endif

    for (int first = thread; first < n; first += VECTORS * threads) {
        float4 cells[VECTORS];
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
#if MODE == WRITE
            cells[k] = make_float4(value, value, value, value);
#else
            cells[k] = __ldcs(&x[first + k * threads]);
#endif
        }
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
#if MODE == READ
            sum += cells[k].x + cells[k].y + cells[k].z + cells[k].w;
#else
            __stcs(reinterpret_cast<float4*>(y) + first + k * threads, cells[k]);
#endif
        }
    }
#if MODE == READ
    y[thread] = sum;
#endif
}
