// three_copies_in_flight.cu -- asynchronous copies of two later tiles are on their way while a tile is read
//
// launch: grid=1 block=64
// arguments: out float y 64; in float x 8x64 integers
// result: y = x.sum(axis=0)[::-1]

#include <cuda_pipeline.h>

extern "C" __global__ void three_copies_in_flight(float* y, const float* x)
{
    __shared__ float tiles[3][64];
    const int t = threadIdx.x;
    for (int k = 0; k < 2; ++k) {
        __pipeline_memcpy_async(&tiles[k][t], &x[64 * k + t], 4);
        __pipeline_commit();
    }
    float sum = 0.0f;
    for (int k = 0; k < 8; ++k) {
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += tiles[k % 3][63 - t];
        if (k + 2 < 8) {
            __pipeline_memcpy_async(&tiles[(k + 2) % 3][t], &x[64 * (k + 2) + t], 4);
        }
        __pipeline_commit();
    }
    y[t] = sum;
}
