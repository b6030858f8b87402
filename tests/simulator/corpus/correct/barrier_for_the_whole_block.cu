// barrier_for_the_whole_block.cu -- a condition that is the same for the whole block may hold a barrier
//
// twin: barrier_for_half_a_block
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform
// result: y = np.concatenate([x[:64], x[64:][::-1]])

extern "C" __global__ void barrier_for_the_whole_block(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    cells[t] = x[i];
    int from = t;
    if (blockIdx.x == 1) {
        __syncthreads();
        from = 63 - t;
    }
    y[i] = cells[from];
}
