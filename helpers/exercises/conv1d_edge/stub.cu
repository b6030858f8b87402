// %%kernel conv1d_edge
extern "C" __global__ void conv1d_edge(float* P, const float* N, const float* filter, int n)
{
    // 1. Which output does this thread compute? Use blockIdx, blockDim and threadIdx.

    // 2. Does that output exist? The last block may be partial.

    // 3. Add up three products: the cells i - 1, i and i + 1, each times its weight.
    //    A cell left of the array counts as N[0], a cell right of it as N[n - 1].

    // 4. Write the sum to P.
}
