// rows_bitonic.cu -- rows of 32 sorted in registers, by shuffles
extern "C" __global__ void rows_bitonic(int* x, int rows)
{
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    int v = x[row * 32 + lane];
    for (int size = 2; size <= 32; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            const int other = __shfl_xor_sync(0xffffffffu, v, step);
            const bool up = (lane & size) == 0, low = (lane & step) == 0;
            v = up == low ? min(v, other) : max(v, other);
        }
    x[row * 32 + lane] = v;
}
