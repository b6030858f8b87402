// spmv_vector.cu -- sparse matrix (CSR) times vector, a warp for each row, __ldg and shuffles
extern "C" __global__ void spmv_vector(float* __restrict__ y, const int* __restrict__ rowptr,
                                       const int* __restrict__ col, const float* __restrict__ val,
                                       const float* __restrict__ x, int rows)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (warp >= rows) return;
    float sum = 0.f;
    for (int j = rowptr[warp] + lane; j < rowptr[warp + 1]; j += 32)
        sum += __ldg(&val[j]) * __ldg(x + col[j]);
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffff, sum, o);
    if (lane == 0) y[warp] = sum;
}
