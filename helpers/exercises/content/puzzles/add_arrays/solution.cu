// %%kernel add_arrays
__global__ void add_arrays(float* C, const float* A, const float* B, int n)
{
    //> Several blocks: C[i] = A[i] + B[i] for all i < n.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = A[i] + B[i];
    //<
}
