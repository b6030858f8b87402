// ends_written.cu -- the ends are written too, with the cells that there are
//
// twin: ends_never_written
// launch: grid=4 block=64
// arguments: out float P 250; in float N 250 uniform; in float filter 3 uniform; int n=250
// result: P = conv1d(N, filter)
// compare: within 1e-5

extern "C" __global__ void ends_written(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 0 && i < n) {
        float sum = 0.0f;
        for (int j = -1; j <= 1; ++j) {
            if (i + j >= 0 && i + j < n) sum += N[i + j] * filter[j + 1];
        }
        P[i] = sum;
    }
}
