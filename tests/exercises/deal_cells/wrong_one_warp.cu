// %%kernel deal_cells
__global__ void deal_cells(float* P, const float* N, int step)
{
    __shared__ float cells[256];
    const int t = threadIdx.x;
    if (t < 32) for (int k = t; k < 256; k += 32) cells[k] = N[blockIdx.x * 256 + k];
    __syncthreads();
    P[blockIdx.x * 256 + t] = cells[(step * t) % 256];
}
