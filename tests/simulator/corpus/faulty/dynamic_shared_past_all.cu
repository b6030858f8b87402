// dynamic_shared_past_all.cu -- WRONG ON PURPOSE: 300 KB of dynamic shared memory: more than a multiprocessor has
//
// fault: resources
// launch: grid=1 block=256 shared=307200
// arguments: out float y 256; in float x 256 uniform

extern "C" __global__ void dynamic_shared_past_all(float* y, const float* x)
{
    extern __shared__ float cells[];
    const int t = threadIdx.x, far = 48 * 1024 / 4 - 256;
    cells[far + t] = x[t];
    __syncthreads();
    y[t] = cells[far + 255 - t];
}
