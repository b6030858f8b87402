// constant_past_end.cu -- WRONG ON PURPOSE: the sum runs one tap past a filter in constant memory
//
// fault: out-of-bounds
// array: filter
// launch: grid=4 block=64
// arguments: out float y 249; in float x 254 uniform; constant float filter 5 uniform; int n=249

__constant__ float filter[5];

extern "C" __global__ void constant_past_end(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j <= 5; ++j) {
            sum += x[i + j] * filter[j]; // <- here
        }
        y[i] = sum;
    }
}
