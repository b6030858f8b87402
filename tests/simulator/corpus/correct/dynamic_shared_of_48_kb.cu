// dynamic_shared_of_48_kb.cu -- 48 KB of dynamic shared memory
//
// twin: dynamic_shared_past_all
// launch: grid=1 block=256 shared=49152
// arguments: out float y 256; in float x 256 uniform
// result: y = x[::-1]

extern "C" __global__ void dynamic_shared_of_48_kb(float* y, const float* x)
{
    extern __shared__ float cells[];
    const int t = threadIdx.x, far = 48 * 1024 / 4 - 256;
    cells[far + t] = x[t];
    __syncthreads();
    y[t] = cells[far + 255 - t];
}
