// group_sync_in_guard.cu -- WRONG ON PURPOSE: this_thread_block().sync() inside the guard is __syncthreads() inside the guard
//
// fault: barrier
// also: race uninitialised
// launch: grid=2 block=64
// arguments: out float y 100; in float x 128 uniform; int n=100

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void group_sync_in_guard(float* y, const float* x, int n)
{
    __shared__ float cells[64];
    cg::thread_block block = cg::this_thread_block();
    const int t = block.thread_rank(), i = blockIdx.x * 64 + t;
    cells[t] = x[i];
    if (i < n) {
        block.sync(); // <- here
        y[i] = cells[63 - t];
    }
    __syncthreads(); // <- here
}
