// async_stencil.cu -- two buffers in shared memory, filled by asynchronous copies while the other
// is used
#include <cuda_pipeline.h>
#define CHUNK 128
extern "C" __global__ void async_stencil(float* out, const float* in, int chunks)
{
    __shared__ float4 buffer[2][CHUNK / 4];
    const float4* src = reinterpret_cast<const float4*>(in) + blockIdx.x * chunks * (CHUNK / 4);
    int t = threadIdx.x;
    if (t < CHUNK / 4) __pipeline_memcpy_async(&buffer[0][t], &src[t], sizeof(float4));
    __pipeline_commit();
    for (int c = 0; c < chunks; c++) {
        if (c + 1 < chunks && t < CHUNK / 4)
            __pipeline_memcpy_async(&buffer[(c + 1) & 1][t], &src[(c + 1) * (CHUNK / 4) + t],
                                    sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        const float* s = reinterpret_cast<const float*>(buffer[c & 1]);
        float left = t > 0 ? s[t - 1] : s[t], right = t < CHUNK - 1 ? s[t + 1] : s[t];
        out[(blockIdx.x * chunks + c) * CHUNK + t] = 0.25f * left + 0.5f * s[t] + 0.25f * right;
        __syncthreads();
    }
}
