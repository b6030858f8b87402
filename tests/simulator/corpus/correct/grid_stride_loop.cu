// grid_stride_loop.cu -- a grid-stride loop: any grid covers any n
//
// twin: stride_of_zero
// launch: grid=2 block=64
// arguments: out float y 1000; int n=1000
// result: y = np.arange(n)

extern "C" __global__ void grid_stride_loop(float* y, int n)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = i;
    }
}
