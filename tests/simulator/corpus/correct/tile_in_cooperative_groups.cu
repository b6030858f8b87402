// tile_in_cooperative_groups.cu -- tiles of 8 lanes: rank, shuffles and a sum of each tile
//
// launch: grid=1 block=64
// arguments: out int y 64; in int x 64 below=100
// result: y = np.repeat(x.reshape(8, 8).sum(axis=1), 8) + np.tile(np.arange(8), 8)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_in_cooperative_groups(int* y, const int* x)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int t = threadIdx.x;
    int sum = x[t];
    for (int step = tile.size() / 2; step > 0; step /= 2) {
        sum += tile.shfl_xor(sum, step);
    }
    y[t] = sum + tile.thread_rank();
}
