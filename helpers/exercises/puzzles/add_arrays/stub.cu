// %%kernel add_arrays
__global__ void add_arrays(float* C, const float* A, const float* B, int n)
{
    // Several blocks: C[i] = A[i] + B[i] for all i < n.
}
