// sum_into_zeroed_output.cu -- the output is added to, and the host has set it to zero
//
// twin: sum_into_fresh_output
// launch: grid=2 block=64
// arguments: inout float y 100 zeros; in float x 100 uniform; int n=100
// result: y = x

extern "C" __global__ void sum_into_zeroed_output(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += x[i];
    }
}
