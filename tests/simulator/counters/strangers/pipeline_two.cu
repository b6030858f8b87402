// pipeline_two.cu -- two stages of asynchronous copies by __pipeline_*
#include <cuda_pipeline.h>
extern "C" __global__ void pipeline_two(float* y, const float* x, int tiles)
{
    __shared__ float stage[2][128];
    const int t = threadIdx.x;
    const float* mine = x + blockIdx.x * tiles * 128;
    __pipeline_memcpy_async(&stage[0][t], mine + t, 4);
    __pipeline_commit();
    float sum = 0;
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles)
            __pipeline_memcpy_async(&stage[(k + 1) % 2][t], mine + (k + 1) * 128 + t, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += stage[k % 2][127 - t];
        __syncthreads();
    }
    y[blockIdx.x * 128 + t] = sum;
}
