// %%kernel conv2d_tiled -DFILTER_WORDS=3136 -DTILE_WIDTH=16 -DPITCH=22
#define SPAN 22                                // 16 outputs and a halo of 6 cells
__constant__ float filter[FILTER_WORDS];       // shape (M, C, K, K)

__global__ void conv2d_tiled(
    float* y, const float* x, int B, int C, int M, int H, int W, int K)
{
    __shared__ float tile[SPAN][PITCH];        // PITCH: words from one row to the next
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int across = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;    // tiles side by side
    const int top = blockIdx.x / across * TILE_WIDTH;            // row of the tile's first cell
    const int left = blockIdx.x % across * TILE_WIDTH;           // and its column
    const int h = top + threadIdx.y, w = left + threadIdx.x;     // this thread's output
    const int m = blockIdx.y, b = blockIdx.z;
    float sum = 0.0f;

    for (int c = 0; c < C; ++c) {
        const float* channel = x + ((size_t)b * C + c) * H * W;

        //> 1. Load SPAN x SPAN cells: tile[r][s] is row top + r, column left + s of the channel.
        //>    Leave out what is outside of the image.
        for (int r = threadIdx.y; r < SPAN && top + r < H; r += TILE_WIDTH)
            for (int s = threadIdx.x; s < SPAN && left + s < W; s += TILE_WIDTH)
                tile[r][s] = channel[(top + r) * W + left + s];
        __syncthreads();   // outputs read cells that other threads loaded
        //<

        if (h < out_h && w < out_w) {
            for (int p = 0; p < K; ++p)
                for (int q = 0; q < K; ++q)
                    //> 2. Put the cell of the tile in the place of 0.0f.
                    //= sum += 0.0f * filter[((m * C + c) * K + p) * K + q];
                    sum += tile[threadIdx.y + p][threadIdx.x + q]
                        * filter[((m * C + c) * K + p) * K + q];
                    //<
        }

        //> 3. This loop needs two barriers: __syncthreads(). Where?
        __syncthreads();   // the next channel overwrites the tile: not before all have read
        //<
    }

    if (h < out_h && w < out_w)
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;
}
