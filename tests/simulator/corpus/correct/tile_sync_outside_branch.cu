// tile_sync_outside_branch.cu -- tiles of 16 lanes: every lane of a tile syncs
//
// twin: tile_sync_in_branch
// launch: grid=1 block=64
// arguments: out int y 64; in int x 64 below=100
// result: y = x.reshape(4, 16)[:, ::-1].ravel()

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_sync_outside_branch(int* y, const int* x)
{
    __shared__ int cells[64];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int t = threadIdx.x, first = t / 16 * 16, lane = tile.thread_rank();
    cells[t] = x[t];
    tile.sync();
    y[t] = cells[first + 15 - lane];
}
