// %%kernel deal_cells
#include <cuda/barrier>
__global__ void deal_cells(float* P, const float* N, int step)
{
    __shared__ float cells[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> filled;
    const int t = threadIdx.x, start = blockIdx.x * 256;
    if (t == 0) init(&filled, 256);
    __syncthreads();
    cuda::memcpy_async(cells + t, N + start + t, sizeof(float), filled);
    filled.arrive_and_wait();    // it reads a clock to wait for a while
    P[start + t] = cells[step * t % 256];
}
