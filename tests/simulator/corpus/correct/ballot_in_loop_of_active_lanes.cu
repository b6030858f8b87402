// ballot_in_loop_of_active_lanes.cu -- a loop that lanes leave one by one, the mask kept up to date by a ballot before each
//     leaves
//
// twin: ballot_in_loop_of_own_length
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=8
// result: y = [sum(np.count_nonzero(x >= k) for k in range(1, v + 1)) for v in x]

extern "C" __global__ void ballot_in_loop_of_active_lanes(int* y, const int* x)
{
    const int lane = threadIdx.x;
    int sum = 0;
    unsigned mask = 0xffffffffu;
    for (int k = 1; ; ++k) {
        mask = __ballot_sync(mask, x[lane] >= k);
        if (k > x[lane]) break;
        sum += __popc(mask);
    }
    y[lane] = sum;
}
