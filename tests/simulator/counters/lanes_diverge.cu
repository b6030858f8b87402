// lanes_diverge.cu -- lanes 0 .. FIRST-1 of a warp copy one array, the others another one backwards
#ifndef FIRST
#define FIRST 16
#endif

extern "C" __global__ void lanes_diverge(float* out, float* other, const float* a, const float* b, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x % 32 < FIRST) {
        out[i] = 2.0f * a[i];
    } else {
        other[n - 1 - i] = b[n - 1 - i] + 1.0f;
    }
}
