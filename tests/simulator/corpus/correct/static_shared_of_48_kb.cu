// static_shared_of_48_kb.cu -- 48 KB of static shared memory
//
// twin: static_shared_too_large
// launch: grid=1 block=256
// arguments: out float y 256; in float x 256 uniform
// result: y = x[::-1]

#define KILOBYTES 48

extern "C" __global__ void static_shared_of_48_kb(float* y, const float* x)
{
    __shared__ float cells[KILOBYTES * 1024 / 4];
    const int t = threadIdx.x, far = sizeof cells / 4 - 256;
    cells[far + t] = x[t];
    __syncthreads();
    y[t] = cells[far + 255 - t];
}
