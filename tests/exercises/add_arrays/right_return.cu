// %%kernel add_arrays
__global__ void add_arrays(float* C, const float* A, const float* B, int n)
{
    const unsigned first = blockIdx.x * blockDim.x;
    if (first + threadIdx.x >= n) return;
    const float* a = A + first;
    C[first + threadIdx.x] = a[threadIdx.x] + B[first + threadIdx.x];
}
