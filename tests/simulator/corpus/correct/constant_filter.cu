// constant_filter.cu -- a filter in constant memory
//
// twin: constant_past_end
// launch: grid=4 block=64
// arguments: out float y 250; in float x 254 uniform; constant float filter 5 uniform; int n=250
// result: y = np.correlate(x, filter, "valid")
// compare: within 1e-5

__constant__ float filter[5];

extern "C" __global__ void constant_filter(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < 5; ++j) {
            sum += x[i + j] * filter[j];
        }
        y[i] = sum;
    }
}
