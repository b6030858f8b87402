// scan_without_own_value.cu -- an inclusive scan of a warp: low lanes subtract what they added to themselves
//
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=100
// result: y = np.cumsum(x.reshape(4, 32), axis=1).ravel()

extern "C" __global__ void scan_without_own_value(int* y, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int sum = x[i];
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, sum, step);
        sum += before;
        if (lane < step) {
            sum -= before;
        }
    }
    y[i] = sum;
}
