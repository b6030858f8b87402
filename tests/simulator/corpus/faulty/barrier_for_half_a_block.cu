// barrier_for_half_a_block.cu -- WRONG ON PURPOSE: half of the threads wait at a barrier that the others pass by
//
// fault: barrier
// also: race uninitialised
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform

extern "C" __global__ void barrier_for_half_a_block(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    cells[t] = x[i];
    int from = t;
    if (t >= 32) {
        __syncthreads(); // <- here
        from = 63 - t;
    }
    y[i] = cells[from];
    __syncthreads(); // <- here
    if (t == 0) y[i] += cells[1];
}
