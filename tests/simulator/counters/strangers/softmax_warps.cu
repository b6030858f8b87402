// softmax_warps.cu -- a row for each warp, by cooperative groups
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void softmax_warps(const float *x, float *y, int rows, int cols)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    for (int r = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank(); r < rows; r += gridDim.x * warp.meta_group_size()) {
        const float *in = x + r * cols;
        float m = -INFINITY;
        for (int c = warp.thread_rank(); c < cols; c += warp.size()) m = fmaxf(m, in[c]);
        m = cg::reduce(warp, m, cg::greater<float>());
        float s = 0;
        for (int c = warp.thread_rank(); c < cols; c += warp.size()) s += __expf(in[c] - m);
        s = cg::reduce(warp, s, cg::plus<float>());
        for (int c = warp.thread_rank(); c < cols; c += warp.size()) y[r * cols + c] = __expf(in[c] - m) / s;
    }
}
