// base_from_the_first_lane_there.cu -- the lanes that keep their values take places together
//
// twin: base_from_a_lane_that_is_not_there
// launch: grid=4 block=128
// arguments: inout float kept 500 zeros; inout int count 1 zeros; in float x 500 integers
// result: np.sort(kept) = np.concatenate([np.zeros(500 - (x > 0).sum()), np.sort(x[x > 0])])
// result: count = [(x > 0).sum()]
// compare: sorted

extern "C" __global__ void base_from_the_first_lane_there(float* kept, int* count, const float* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;
    if (i < 500 && x[i] > 0.0f) {
        const unsigned active = __activemask();
        const int leader = __ffs(active) - 1;
        int base = 0;
        if (lane == leader) {
            base = atomicAdd(count, __popc(active));
        }
        base = __shfl_sync(active, base, leader);
        kept[base + __popc(active & ((1u << lane) - 1))] = x[i];
    }
}
