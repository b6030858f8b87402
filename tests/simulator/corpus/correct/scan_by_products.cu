// scan_by_products.cu -- an inclusive scan of a warp: a product with 0 takes away the lane's own value
//
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=100
// result: y = np.cumsum(x.reshape(4, 32), axis=1).ravel()

extern "C" __global__ void scan_by_products(int* y, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int sum = x[i];
    for (int step = 1; step < 32; step *= 2) {
        sum += __shfl_up_sync(0xffffffffu, sum, step) * (lane >= step);
    }
    y[i] = sum;
}
