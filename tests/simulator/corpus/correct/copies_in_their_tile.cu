// copies_in_their_tile.cu -- asynchronous copies of 16 bytes stay in their tile
//
// twin: copy_in_next_shared_array
// launch: grid=1 block=128
// arguments: out float y 128; in float x 128x4 uniform
// result: y = x[::-1, 0]

#include <cuda_pipeline.h>

extern "C" __global__ void copies_in_their_tile(float* y, const float* x)
{
    __shared__ __align__(16) float rows[512];
    __shared__ __align__(16) float others[1024];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&rows[4 * t], &x[4 * t], 16);
    __pipeline_commit();
    others[t] = 0.0f;
    __pipeline_wait_prior(0);
    __syncthreads();
    y[t] = rows[4 * (127 - t)] + others[t];
}
