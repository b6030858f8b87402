// static_shared_too_large.cu -- WRONG ON PURPOSE: 56 KB of static shared memory: the compiler takes 48
//
// fault: resources
// launch: grid=1 block=256
// arguments: out float y 256; in float x 256 uniform

#define KILOBYTES 56

extern "C" __global__ void static_shared_too_large(float* y, const float* x)
{
    __shared__ float cells[KILOBYTES * 1024 / 4];
    const int t = threadIdx.x, far = sizeof cells / 4 - 256;
    cells[far + t] = x[t];
    __syncthreads();
    y[t] = cells[far + 255 - t];
}
