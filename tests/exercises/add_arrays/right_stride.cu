// %%kernel add_arrays
__global__ void add_arrays(float* C, const float* A, const float* B, int n)
{
    // A loop over the whole grid's width: right for any number of blocks.
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        C[i] = B[i] + A[i];
}
