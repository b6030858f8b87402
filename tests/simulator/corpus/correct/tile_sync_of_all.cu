// tile_sync_of_all.cu -- half of each tile of 8 adds; the whole tile waits before and after
//
// twin: tile_sync_of_half
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform
// result: y = (x.reshape(4, 8) + np.pad(x.reshape(4, 8)[:, 4:], ((0, 0), (0, 4)))).ravel()
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_sync_of_all(float* y, const float* x)
{
    __shared__ float s[32];
    const int t = threadIdx.x;
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    s[t] = x[t];
    tile.sync();
    float v = s[t];
    if (tile.thread_rank() < 4) {
        v += s[t + 4];
    }
    tile.sync();
    y[t] = v;
}
