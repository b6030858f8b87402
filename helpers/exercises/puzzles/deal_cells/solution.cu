// %%kernel deal_cells
__global__ void deal_cells(float* P, const float* N, int step)
{
    __shared__ float cells[256];
    const int t = threadIdx.x, start = blockIdx.x * 256;
    cells[t] = N[start + t];
    __syncthreads();
    P[start + t] = cells[(step * t) % 256];
}
