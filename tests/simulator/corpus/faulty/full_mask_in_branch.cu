// full_mask_in_branch.cu -- WRONG ON PURPOSE: the mask names all 32 lanes, half of them never come: they wait at the barrier
//
// fault: mask
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100

extern "C" __global__ void full_mask_in_branch(int* y, const int* x)
{
    __shared__ int most;
    const int lane = threadIdx.x;
    if (lane < 16) {
        int value = x[lane];
        for (int step = 8; step > 0; step /= 2) {
            value = max(value, __shfl_xor_sync(0xffffffffu, value, step)); // <- here
        }
        if (lane == 0) {
            most = value;
        }
    }
    __syncthreads(); // <- here
    y[lane] = most;
}
