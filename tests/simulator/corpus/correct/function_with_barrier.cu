// function_with_barrier.cu -- a function with a barrier, called once by all threads
//
// twin: function_with_barrier_in_two_branches
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// result: y = np.concatenate([x[32:][::-1] * 2, x[:32][::-1] * 3])

__device__ __noinline__ float swap_ends(float* cells, float value)
{
    const int t = threadIdx.x;
    cells[t] = value;
    __syncthreads();
    return cells[63 - t];
}

extern "C" __global__ void function_with_barrier(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    const float other = swap_ends(cells, x[t]);
    y[t] = (t < 32 ? 2.0f : 3.0f) * other;
}
