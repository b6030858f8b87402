// smooth_async.cu -- three neighbours, by asynchronous copies into two buffers
#include <cuda_pipeline.h>
#define CHUNK 128
extern "C" __global__ void smooth_async(const float *x, float *y, int chunks)
{
    __shared__ __align__(16) float buf[2][CHUNK];
    int t = threadIdx.x;
    const float *mine = x + (size_t)blockIdx.x * chunks * CHUNK;
    float *to = y + (size_t)blockIdx.x * chunks * CHUNK;
    if (t < CHUNK / 4)
        __pipeline_memcpy_async(&buf[0][4 * t], &mine[4 * t], 16);
    __pipeline_commit();
    for (int c = 0; c < chunks; c++) {
        if (c + 1 < chunks && t < CHUNK / 4)
            __pipeline_memcpy_async(&buf[(c + 1) & 1][4 * t], &mine[(c + 1) * CHUNK + 4 * t], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float left = t > 0 ? buf[c & 1][t - 1] : 0.0f;
        float right = t < CHUNK - 1 ? buf[c & 1][t + 1] : 0.0f;
        to[c * CHUNK + t] = (left + buf[c & 1][t] + right) / 3;
        __syncthreads();
    }
}
