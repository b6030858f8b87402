// copy_overtakes_readers.cu -- WRONG ON PURPOSE: the copy into a buffer may begin while other threads still read the buffer
//
// fault: race
// array: buffer
// launch: grid=2 block=128
// arguments: out float y 1024; in float x 1024 integers; int chunks=4

#include <cuda_pipeline.h>

extern "C" __global__ void copy_overtakes_readers(float* y, const float* x, int chunks)
{
    __shared__ float buffer[2][128];
    const int t = threadIdx.x;
    const float* from = x + blockIdx.x * chunks * 128;
    float* to = y + blockIdx.x * chunks * 128;
    __pipeline_memcpy_async(&buffer[0][t], &from[t], sizeof(float));
    __pipeline_commit();
    for (int k = 0; k < chunks; ++k) {
        if (k + 1 < chunks) {
            __pipeline_memcpy_async(&buffer[(k + 1) % 2][t], &from[(k + 1) * 128 + t], // <- here
                                    sizeof(float)); // <- here
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        to[k * 128 + t] = buffer[k % 2][127 - t]; // <- here
    }
}
