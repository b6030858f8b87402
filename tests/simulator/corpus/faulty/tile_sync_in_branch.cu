// tile_sync_in_branch.cu -- WRONG ON PURPOSE: half of a tile of 16 waits for the other half, which passes by
//
// fault: barrier
// also: race uninitialised
// launch: grid=1 block=64
// arguments: out int y 64; in int x 64 below=100

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_sync_in_branch(int* y, const int* x)
{
    __shared__ int cells[64];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int t = threadIdx.x, first = t / 16 * 16, lane = tile.thread_rank();
    cells[t] = x[t];
    if (lane < 8) {
        tile.sync(); // <- here
        y[t] = cells[first + 15 - lane];
    } else {
        tile.shfl(0, 0); // <- here
        y[t] = cells[first + 15 - lane];
    }
}
