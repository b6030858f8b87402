// constant_struct.cu -- a struct of sizes and weights in constant memory
//
// launch: grid=1 block=60
// arguments: out float y 60; in float x 64 integers; constant int shape 2 ones; constant float weights 4 integers
// result: y = x[:60] * weights[0] + x[4:] * weights[3] + shape.sum()

__constant__ int shape[2];
__constant__ float weights[4];

extern "C" __global__ void constant_struct(float* y, const float* x)
{
    const int t = threadIdx.x;
    y[t] = x[t] * weights[0] + x[t + 4] * weights[3] + (shape[0] + shape[1]);
}
