// barrier_in_loop_of_common_length.cu -- a barrier in a loop that all threads walk equally often
//
// twin: barrier_in_loop_of_own_length
// launch: grid=1 block=64
// arguments: out float y 64; in int x 64 below=4
// result: y = 4 * np.roll(x, -1)

extern "C" __global__ void barrier_in_loop_of_common_length(float* y, const int* x)
{
    __shared__ int cells[64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 4; ++k) {
        cells[t] = x[t];
        __syncthreads();
        sum += cells[(t + 1) % 64];
        __syncthreads();
    }
    y[t] = sum;
}
