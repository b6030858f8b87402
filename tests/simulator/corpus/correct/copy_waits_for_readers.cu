// copy_waits_for_readers.cu -- two buffers are filled in turn by asynchronous copies; a barrier lets the readers finish first
//
// twin: copy_overtakes_readers
// launch: grid=2 block=128
// arguments: out float y 1024; in float x 1024 integers; int chunks=4
// result: y = np.flip(x.reshape(8, 128), 1)

#include <cuda_pipeline.h>

extern "C" __global__ void copy_waits_for_readers(float* y, const float* x, int chunks)
{
    __shared__ float buffer[2][128];
    const int t = threadIdx.x;
    const float* from = x + blockIdx.x * chunks * 128;
    float* to = y + blockIdx.x * chunks * 128;
    __pipeline_memcpy_async(&buffer[0][t], &from[t], sizeof(float));
    __pipeline_commit();
    for (int k = 0; k < chunks; ++k) {
        if (k + 1 < chunks) {
            __pipeline_memcpy_async(&buffer[(k + 1) % 2][t], &from[(k + 1) * 128 + t],
                                    sizeof(float));
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        to[k * 128 + t] = buffer[k % 2][127 - t];
        __syncthreads();
    }
}
