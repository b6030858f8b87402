// %%kernel deal_cells
__global__ void deal_cells(float* P, const float* N, int step)
{
    //> Blocks of 256 threads, each with its own 256 cells. Output t of a block is the
    //> block's cell number (step * t) % 256. Read N only once, by neighbouring lanes.
    __shared__ float cells[256];
    const int t = threadIdx.x, start = blockIdx.x * 256;
    cells[t] = N[start + t];
    __syncthreads();
    P[start + t] = cells[(step * t) % 256];
    //<
}
