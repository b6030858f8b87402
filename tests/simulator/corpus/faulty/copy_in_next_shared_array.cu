// copy_in_next_shared_array.cu -- WRONG ON PURPOSE: asynchronous copies go behind their tile, into the next one
//
// fault: out-of-bounds
// array: rows
// launch: grid=1 block=128
// arguments: out float y 128; in float x 128x4 uniform

#include <cuda_pipeline.h>

extern "C" __global__ void copy_in_next_shared_array(float* y, const float* x)
{
    __shared__ __align__(16) float rows[512];
    __shared__ __align__(16) float others[1024];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&rows[4 * t + 1024], &x[4 * t], 16); // <- here
    __pipeline_commit();
    others[t] = 0.0f;
    __pipeline_wait_prior(0);
    __syncthreads();
    y[t] = rows[4 * (127 - t)] + others[t];
}
