// %%kernel conv1d_edge
extern "C" __global__ void conv1d_edge(float* P, const float* N, const float* filter, int n)
{
    //> Which output does this thread compute, and does that output exist?
    //> Add the cells i - 1, i and i + 1, each times its weight. A cell left of the array counts as
    //> N[0], a cell right of it as N[n - 1]. Write the sum to P.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < 3; ++j) {
            const int cell = min(max(i - 1 + j, 0), n - 1);
            sum += N[cell] * filter[j];
        }
        P[i] = sum;
    }
    //<
}
