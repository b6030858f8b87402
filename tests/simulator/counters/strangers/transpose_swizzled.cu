// transpose_swizzled.cu -- a transpose whose tile has its columns exchanged by xor
#define T 32
extern "C" __global__ void transpose_swizzled(const float *in, float *out, int w, int h)
{
    __shared__ float tile[T][T];
    int x = blockIdx.x * T + threadIdx.x;
    int y = blockIdx.y * T + threadIdx.y;
    for (int k = 0; k < T; k += blockDim.y)
        if (x < w && y + k < h)
            tile[threadIdx.y + k][threadIdx.x ^ (threadIdx.y + k)] = in[(y + k) * w + x];
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x;
    y = blockIdx.x * T + threadIdx.y;
    for (int k = 0; k < T; k += blockDim.y)
        if (x < h && y + k < w)
            out[(y + k) * h + x] = tile[threadIdx.x][(threadIdx.y + k) ^ threadIdx.x];
}
