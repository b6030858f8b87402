// warp_aggregated_atomic.cu -- one atomic a warp: the lanes that want a place elect a leader, who fetches all their places
//
// launch: grid=2 block=64
// arguments: inout int y 128 zeros; inout int used 1 zeros; in int x 128 below=10
// result: used = [np.count_nonzero(x > 4)]
// result: np.sort(y) = np.sort(np.append(x[x > 4], np.zeros(np.count_nonzero(x <= 4))))
// compare: sorted

extern "C" __global__ void warp_aggregated_atomic(int* y, int* used, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const bool wants = x[i] > 4;
    const unsigned mask = __ballot_sync(0xffffffffu, wants);
    if (wants) {
        const int leader = __ffs(mask) - 1;
        int first = 0;
        if (lane == leader) {
            first = atomicAdd(used, __popc(mask));
        }
        first = __shfl_sync(mask, first, leader);
        y[first + __popc(mask & ((1u << lane) - 1))] = x[i];
    }
}
