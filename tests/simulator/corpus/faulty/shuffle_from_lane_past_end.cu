// shuffle_from_lane_past_end.cu -- WRONG ON PURPOSE: the last value is fetched from lane 31, which is past the end in the
//     last warp
//
// fault: shuffle
// also: mask
// launch: grid=1 block=64
// arguments: out int y 50; in int x 50 below=100; int n=50

extern "C" __global__ void shuffle_from_lane_past_end(int* y, const int* x, int n)
{
    const int i = threadIdx.x;
    const unsigned mask = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
        y[i] = __shfl_sync(mask, x[i], 31); // <- here
    }
}
