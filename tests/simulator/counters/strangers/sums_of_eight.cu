// sums_of_eight.cu -- sums of eight neighbours, by groups of eight lanes
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void sums_of_eight(const float *x, float *sums, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int d = tile.size() / 2; d > 0; d /= 2)
        v += tile.shfl_down(v, d);
    if (tile.thread_rank() == 0 && i < n)
        sums[i / 8] = v;
}
