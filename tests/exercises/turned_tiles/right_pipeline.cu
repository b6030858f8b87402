// %%kernel turned_tiles
#include <cuda_pipeline.h>

__global__ void turned_tiles(float* P, const float* N, int n)
{
    __shared__ float4 tiles[2][64];
    const int t = threadIdx.x;
    const int stride = 256 * gridDim.x;
    const float4* source = reinterpret_cast<const float4*>(N);
    int start = 256 * blockIdx.x;
    if (start < n) {
        __pipeline_memcpy_async(&tiles[0][t], source + start / 4 + t, 16);
    }
    __pipeline_commit();
    for (int turn = 0; start < n; start += stride, ++turn) {
        if (start + stride < n) {
            __pipeline_memcpy_async(&tiles[(turn + 1) % 2][t], source + (start + stride) / 4 + t, 16);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        const float4 other = tiles[turn % 2][63 - t];
        reinterpret_cast<float4*>(P + start)[t] = make_float4(other.w, other.z, other.y, other.x);
        __syncthreads();
    }
}
