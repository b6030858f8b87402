// shuffle_xor_all_lanes.cu -- a butterfly: every lane ends with the warp's sum
//
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 below=100
// result: y = np.repeat(x.reshape(4, 32).sum(axis=1), 32)

extern "C" __global__ void shuffle_xor_all_lanes(int* y, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = x[i];
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    y[i] = sum;
}
