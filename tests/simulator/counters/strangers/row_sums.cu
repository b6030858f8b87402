// row_sums.cu -- prefix sums of the rows of a picture: shuffles, then the sums of the warps
extern "C" __global__ void row_sums(int* sat, const unsigned char* image, int width)
{
    __shared__ int warps[4];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, x = threadIdx.x;
    int value = x < width ? image[blockIdx.x * width + x] : 0;
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, value, d);
        if (lane >= d) value += other;
    }
    if (lane == 31) warps[warp] = value;
    __syncthreads();
    for (int w = 0; w < warp; ++w) value += warps[w];
    if (x < width) sat[blockIdx.x * width + x] = value;
}
