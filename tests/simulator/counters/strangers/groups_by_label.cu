// groups_by_label.cu -- cooperative groups: lanes with one label, and the lanes of a branch
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups_by_label(int* sums, int* order, const int* x, const int* label,
    int n)
{
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int i = threadIdx.x;
    const int v = i < n ? x[i] : 0, mine = i < n ? label[i] : -1;
    const auto alike = cg::labeled_partition(warp, mine);
    const int total = cg::reduce(alike, v, cg::plus<int>());
    if (alike.thread_rank() == 0 && mine >= 0) sums[mine] = total;
    if (v > 0) {
        const auto some = cg::coalesced_threads();
        order[i] = some.thread_rank();
    }
    const auto eight = cg::tiled_partition<8>(warp);
    const int before = cg::exclusive_scan(eight, v);
    if (i < n) order[n + i] = before;
}
