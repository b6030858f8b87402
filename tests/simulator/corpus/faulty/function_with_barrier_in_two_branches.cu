// function_with_barrier_in_two_branches.cu -- WRONG ON PURPOSE: a function with a barrier is called from either branch: two
//     barriers in one line
//
// fault: barrier
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform

__device__ __noinline__ float swap_ends(float* cells, float value)
{
    const int t = threadIdx.x;
    cells[t] = value;
    __syncthreads(); // <- here
    return cells[63 - t];
}

extern "C" __global__ void function_with_barrier_in_two_branches(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    if (t < 32) {
        y[t] = 2.0f * swap_ends(cells, x[t]); // <- here
    } else {
        y[t] = 3.0f * swap_ends(cells, x[t]); // <- here
    }
}
