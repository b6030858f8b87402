// tile_sync_of_half.cu -- WRONG ON PURPOSE: half of each tile of 8 waits for its other half, which stores and ends
//
// fault: mask
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_sync_of_half(float* y, const float* x)
{
    __shared__ float s[32];
    const int t = threadIdx.x;
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    s[t] = x[t];
    tile.sync();
    float v = s[t];
    if (tile.thread_rank() < 4) {
        v += s[t + 4];
        tile.sync(); // <- here
    }
    y[t] = v;
}
