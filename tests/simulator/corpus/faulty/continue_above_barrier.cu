// continue_above_barrier.cu -- WRONG ON PURPOSE: some threads skip the barrier of a round with `continue` and meet the others
//     at the one of the next
//
// fault: barrier
// also: race uninitialised
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 integers

extern "C" __global__ void continue_above_barrier(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int round = 0; round < 3; ++round) {
        if (round == 1 && t < 32) continue;
        cells[t] = x[t];
        __syncthreads(); // <- here
        const float other = cells[63 - t];
        __syncthreads(); // <- here
        sum += other;
    }
    y[t] = sum;
}
