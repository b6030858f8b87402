// mask_of_branch.cu -- half of a warp in a branch: its shuffles name the lanes of the branch
//
// twin: full_mask_in_branch
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100
// result: y = np.full(32, x[:16].max())

extern "C" __global__ void mask_of_branch(int* y, const int* x)
{
    __shared__ int most;
    const int lane = threadIdx.x;
    if (lane < 16) {
        int value = x[lane];
        for (int step = 8; step > 0; step /= 2) {
            value = max(value, __shfl_xor_sync(0x0000ffffu, value, step));
        }
        if (lane == 0) {
            most = value;
        }
    }
    __syncthreads();
    y[lane] = most;
}
