// argmax_rows.cu -- greatest value of a row and where it is, by shuffles of two values
struct Best {
    float value;
    int index;
};

__device__ Best better(Best a, Best b)
{
    return (b.value > a.value || (b.value == a.value && b.index < a.index)) ? b : a;
}

extern "C" __global__ void argmax_rows(int* where, float* values, const float* x, int width)
{
    const float* row = x + (size_t)blockIdx.x * width;
    Best best = {-INFINITY, 0x7fffffff};
    for (int i = threadIdx.x; i < width; i += blockDim.x) best = better(best, Best{row[i], i});
    for (int d = 16; d; d >>= 1) {
        Best other;
        other.value = __shfl_xor_sync(~0u, best.value, d);
        other.index = __shfl_xor_sync(~0u, best.index, d);
        best = better(best, other);
    }
    __shared__ Best of_warp[8];
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++) best = better(best, of_warp[w]);
        where[blockIdx.x] = best.index;
        values[blockIdx.x] = best.value;
    }
}
