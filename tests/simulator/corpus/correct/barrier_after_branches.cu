// barrier_after_branches.cu -- two branches, one barrier behind them
//
// twin: barrier_in_both_branches
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// result: y = np.concatenate([x[:32] * 2, x[32:] * 3])[::-1]

extern "C" __global__ void barrier_after_branches(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    if (t < 32) {
        cells[t] = 2.0f * x[t];
    } else {
        cells[t] = 3.0f * x[t];
    }
    __syncthreads();
    y[t] = cells[63 - t];
}
