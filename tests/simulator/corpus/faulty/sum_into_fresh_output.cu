// sum_into_fresh_output.cu -- WRONG ON PURPOSE: the output is added to, and nobody has set it to zero
//
// fault: uninitialised
// array: y
// launch: grid=2 block=64
// arguments: out float y 100; in float x 100 uniform; int n=100

extern "C" __global__ void sum_into_fresh_output(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += x[i]; // <- here
    }
}
