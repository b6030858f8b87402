// left_neighbour.cu -- WRONG ON PURPOSE: thread 0 reads the cell before the first
//
// fault: out-of-bounds
// array: x
// launch: grid=4 block=256
// arguments: out float y 1000; in float x 1000 uniform; int n=1000

extern "C" __global__ void left_neighbour(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float left = x[i - 1]; // <- here
        y[i] = x[i] - left;
    }
}
