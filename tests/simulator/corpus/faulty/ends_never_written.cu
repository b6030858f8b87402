// ends_never_written.cu -- WRONG ON PURPOSE: the guard that keeps the sum inside leaves the first and the last outputs
//     unwritten (course report D)
//
// fault: unwritten
// array: P
// launch: grid=4 block=64
// arguments: out float P 250; in float N 250 uniform; in float filter 3 uniform; int n=250

extern "C" __global__ void ends_never_written(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i < n - 1) {
        float sum = 0.0f;
        for (int j = -1; j <= 1; ++j) {
            sum += N[i + j] * filter[j + 1];
        }
        P[i] = sum; // <- here
    }
}
