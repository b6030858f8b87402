// %%kernel conv2d_tiled_maps -DFILTER_WORDS=3136 -DTILE_WIDTH=16 -DPITCH=22 -DMAPS=4
#define SPAN 22                                // 16 outputs and a halo of 6 cells
__constant__ float filter[FILTER_WORDS];       // shape (M, C, K, K)

__global__ void conv2d_tiled_maps(
    float* y, const float* x, int B, int C, int M, int H, int W, int K)
{
    __shared__ float tile[SPAN][PITCH];
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int across = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;
    const int top = blockIdx.x / across * TILE_WIDTH, left = blockIdx.x % across * TILE_WIDTH;
    const int h = top + threadIdx.y, w = left + threadIdx.x, b = blockIdx.z;
    const int first = blockIdx.y * MAPS + threadIdx.z;   // of the thread's maps; threadIdx.z is 0
    float sum[MAPS] = {};                                // of the maps first to first + MAPS - 1

    for (int c = 0; c < C; ++c) {
        const float* channel = x + ((size_t)b * C + c) * H * W;
        for (int r = threadIdx.y; r < SPAN && top + r < H; r += TILE_WIDTH)
            for (int s = threadIdx.x; s < SPAN && left + s < W; s += TILE_WIDTH)
                tile[r][s] = channel[(top + r) * W + left + s];
        __syncthreads();

        if (h < out_h && w < out_w) {
            for (int p = 0; p < K; ++p) {
                for (int q = 0; q < K; ++q) {
                    //> Read the cell of the tile once. Then add its product to each sum[o],
                    //> with the weight of map m = min(first + o, M - 1).
                    const float cell = tile[threadIdx.y + p][threadIdx.x + q];
                    #pragma unroll
                    for (int o = 0; o < MAPS; ++o) {
                        const int m = min(first + o, M - 1);   // past the last map: its sum again
                        sum[o] += cell * filter[((m * C + c) * K + p) * K + q];
                    }
                    //<
                }
            }
        }
        __syncthreads();
    }

    //> Store sum[o] to map first + o, if there is such a map, and if the thread has an output.
    if (h < out_h && w < out_w)
        #pragma unroll
        for (int o = 0; o < MAPS; ++o)
            if (first + o < M)
                y[(((size_t)b * M + first + o) * out_h + h) * out_w + w] = sum[o];
    //<
}
