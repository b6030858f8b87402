// group_sync_outside_guard.cu -- this_thread_block().sync() for the whole block, the guard at the store
//
// twin: group_sync_in_guard
// launch: grid=2 block=64
// arguments: out float y 100; in float x 128 uniform; int n=100
// result: y = np.concatenate([part[::-1] for part in np.split(x, 2)])[:100]

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void group_sync_outside_guard(float* y, const float* x, int n)
{
    __shared__ float cells[64];
    cg::thread_block block = cg::this_thread_block();
    const int t = block.thread_rank(), i = blockIdx.x * 64 + t;
    cells[t] = x[i];
    block.sync();
    if (i < n) {
        y[i] = cells[63 - t];
    }
}
