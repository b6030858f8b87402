// %%kernel deal_cells
__global__ void deal_cells(float* P, const float* N, int step)
{
    __shared__ float cells[256];
    N += 256 * blockIdx.x;
    P += 256 * blockIdx.x;
    // Another thread than the reader's may fill a cell: all that counts is the barrier.
    cells[255 - threadIdx.x] = N[255 - threadIdx.x];
    __syncthreads();
    P[threadIdx.x] = cells[step * threadIdx.x & 255];
}
