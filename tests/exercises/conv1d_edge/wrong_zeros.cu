// %%kernel conv1d_edge
extern "C" __global__ void conv1d_edge(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < 3; ++j) {
            const int cell = i - 1 + j;                                  // change this
            if (cell >= 0 && cell < n) sum += N[cell] * filter[j];       // and this
        }
        P[i] = sum;
    }
}
