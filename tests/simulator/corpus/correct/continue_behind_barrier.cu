// continue_behind_barrier.cu -- some threads skip the rest of a round, behind its barriers
//
// twin: continue_above_barrier
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 integers
// result: y = np.where(np.arange(64) < 32, 2, 3) * x[::-1]

extern "C" __global__ void continue_behind_barrier(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int round = 0; round < 3; ++round) {
        cells[t] = x[t];
        __syncthreads();
        const float other = cells[63 - t];
        __syncthreads();
        if (round == 1 && t < 32) continue;
        sum += other;
    }
    y[t] = sum;
}
