// base_from_a_lane_that_is_not_there.cu -- WRONG ON PURPOSE: lane 0 may be one that does not keep its value
//
// fault: shuffle
// launch: grid=4 block=128
// arguments: inout float kept 500 zeros; inout int count 1 zeros; in float x 500 integers

extern "C" __global__ void base_from_a_lane_that_is_not_there(float* kept, int* count, const float* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;
    if (i < 500 && x[i] > 0.0f) {
        const unsigned active = __activemask();
        const int leader = 0;
        int base = 0;
        if (lane == leader) {
            base = atomicAdd(count, __popc(active));
        }
        base = __shfl_sync(active, base, leader); // <- here
        kept[base + __popc(active & ((1u << lane) - 1))] = x[i];
    }
}
