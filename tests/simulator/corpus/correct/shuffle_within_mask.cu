// shuffle_within_mask.cu -- the last value is fetched from the last lane that takes part
//
// twin: shuffle_from_lane_past_end
// launch: grid=1 block=64
// arguments: out int y 50; in int x 50 below=100; int n=50
// result: y = np.concatenate([np.full(32, x[31]), np.full(18, x[49])])

extern "C" __global__ void shuffle_within_mask(int* y, const int* x, int n)
{
    const int i = threadIdx.x;
    const unsigned mask = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
        y[i] = __shfl_sync(mask, x[i], 31 - __clz(mask));
    }
}
