// ballot_in_loop_of_own_length.cu -- WRONG ON PURPOSE: a ballot of all lanes in a loop that lanes leave one by one
//
// fault: mask
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=8

extern "C" __global__ void ballot_in_loop_of_own_length(int* y, const int* x)
{
    const int lane = threadIdx.x;
    int sum = 0;
    for (int k = 1; ; ++k) {
        if (k > x[lane]) break;
        sum += __popc(__ballot_sync(0xffffffffu, x[lane] >= k)); // <- here
    }
    y[lane] = sum;
}
