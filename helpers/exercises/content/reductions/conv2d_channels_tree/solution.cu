// %%kernel conv2d_channels_tree -DTILE_WIDTH=16 -DCHANNEL_THREADS=4
__global__ void conv2d_channels_tree(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    __shared__ float partial[CHANNEL_THREADS][TILE_WIDTH * TILE_WIDTH];
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;        // along the columns
    const int w = blockIdx.x % tiles * TILE_WIDTH + threadIdx.x;
    const int h = blockIdx.x / tiles * TILE_WIDTH + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z, z = threadIdx.z;      // z: [0, CHANNEL_THREADS)
    const int mine = threadIdx.y * TILE_WIDTH + threadIdx.x;        // the output in the block
    const bool inside = h < out_h && w < out_w;                     // is there such an output?
    const float* image = x + (long long)b * C * H * W;
    float sum = 0.0f;

    //> 1. Add up this thread's channels only: z, z + CHANNEL_THREADS, ... below C. (conv2d_basic
    //>    adds image[(c * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q].)
    //>    A thread that is not `inside` adds nothing, and goes on to the barriers.
    for (int c = z; inside && c < C; c += CHANNEL_THREADS) {
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                sum += image[(c * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
            }
        }
    }
    //<

    //> 2. The tree. Put the sum into partial[z][mine]. Then half = CHANNEL_THREADS / 2, ... 2, 1:
    //>    the threads with z < half add partial[z + half][mine] to their own. Where must all wait?
    partial[z][mine] = sum;
    __syncthreads();
    for (int half = CHANNEL_THREADS / 2; half > 0; half /= 2) {
        if (z < half) partial[z][mine] += partial[z + half][mine];
        __syncthreads();
    }
    //<

    if (inside && z == 0)
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = partial[0][mine];
}
