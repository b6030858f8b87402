// spmv_coo.cu -- a sparse matrix as a list of cells, added to the result by atomics
extern "C" __global__ void spmv_coo(const int* row, const int* column, const float* value,
                                    const float* x, float* y, int cells)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < cells; i += gridDim.x * blockDim.x)
        atomicAdd(&y[row[i]], value[i] * x[column[i]]);
}
