// warp_votes.cu -- any, all and ballot of a warp
//
// launch: grid=1 block=64
// arguments: out unsigned y 64x3; in int x 64 below=10
// result: y = votes(x)

extern "C" __global__ void warp_votes(unsigned* y, const int* x)
{
    const int t = threadIdx.x;
    y[3 * t] = __any_sync(0xffffffffu, x[t] == 9);
    y[3 * t + 1] = __all_sync(0xffffffffu, x[t] < 9);
    y[3 * t + 2] = __ballot_sync(0xffffffffu, x[t] > 4);
}
