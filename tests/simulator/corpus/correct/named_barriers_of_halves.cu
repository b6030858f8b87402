// named_barriers_of_halves.cu -- each half of the block has a barrier of its own
//
// twin: named_barriers_between_halves
// launch: grid=1 block=128
// arguments: out int y 128; in int x 128 below=99
// result: y = np.flip(x.reshape(2, 64), 1)

extern "C" __global__ void named_barriers_of_halves(int* y, const int* x)
{
    __shared__ int s[128];
    const int t = threadIdx.x;
    s[t] = x[t];
    if (t < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
    }
    y[t] = s[t ^ 63];
}
