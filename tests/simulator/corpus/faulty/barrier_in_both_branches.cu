// barrier_in_both_branches.cu -- WRONG ON PURPOSE: each branch has a barrier of its own
//
// fault: barrier
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform

extern "C" __global__ void barrier_in_both_branches(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    if (t < 32) {
        cells[t] = 2.0f * x[t];
        __syncthreads(); // <- here
    } else {
        cells[t] = 3.0f * x[t];
        __syncthreads(); // <- here
    }
    y[t] = cells[63 - t];
}
