// return_above_barrier.cu -- WRONG ON PURPOSE: threads past the end return above the barrier
//
// fault: barrier
// launch: grid=4 block=64
// arguments: out float y 250; in float x 250 uniform; int n=250

extern "C" __global__ void return_above_barrier(float* y, const float* x, int n)
{
    __shared__ float cells[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    cells[threadIdx.x] = x[i];
    __syncthreads(); // <- here
    y[i] = cells[threadIdx.x];
}
