// %%kernel conv2d_register_2d -DCHANNELS=1 -DOUTPUT_MAPS=4 -DHEIGHT=86 -DWIDTH=86 -DMAPS=4
constexpr int K = 7, ACROSS = 20, DOWN = 8;    // a block: 20 x 8 threads, each with a patch
constexpr int OUT_H = HEIGHT - K + 1, OUT_W = WIDTH - K + 1;
constexpr int ROWS = 2 * DOWN + K - 1;         // of the tile, and its columns, rounded up
constexpr int PITCH = (4 * ACROSS + K - 1 + 3) / 4 * 4;
constexpr int TILES = (OUT_W + 4 * ACROSS - 1) / (4 * ACROSS);      // side by side
constexpr int GROUPS = (OUTPUT_MAPS + MAPS - 1) / MAPS;
__constant__ float filter[CHANNELS][K][K][GROUPS * MAPS];           // the maps innermost

__global__ void conv2d_register_2d(float* y, const float* x)
{
    __shared__ __align__(16) float tile[ROWS][PITCH];
    const int top = blockIdx.x / TILES * 2 * DOWN, left = blockIdx.x % TILES * 4 * ACROSS;
    const int map = blockIdx.y * MAPS, b = blockIdx.z;              // the patch's first map
    const int row = 2 * threadIdx.y, column = 4 * threadIdx.x;      // of the patch, in the tile
    float sum[MAPS][2][4] = {};                                     // the patch

    for (int c = 0; c < CHANNELS; ++c) {
        const float* channel = x + ((size_t)b * CHANNELS + c) * HEIGHT * WIDTH;
        for (int r = threadIdx.y; r < ROWS; r += DOWN)
            for (int s = threadIdx.x; s < PITCH; s += ACROSS)
                tile[r][s] = top + r < HEIGHT && left + s < WIDTH
                    ? channel[(top + r) * WIDTH + left + s] : 0.0f;
        __syncthreads();

        #pragma unroll
        for (int p = 0; p < K; ++p) {
            float cell[2][10];
            //> 1. Fill cell: cell[h][i] is row `row + h + p`, column `column + i` of the tile.
            for (int h = 0; h < 2; ++h)
                for (int i = 0; i < 10; ++i)
                    cell[h][i] = tile[row + h + p][column + i];
            //<

            //> 2. For each q and m: take the weight filter[c][p][q][map + m] once, and add its
            //>    products to the 8 sums sum[m][h][w]. Which cell belongs to sum[m][h][w]?
            //>    Write #pragma unroll above the loops.
            #pragma unroll
            for (int q = 0; q < K; ++q) {
                #pragma unroll
                for (int m = 0; m < MAPS; ++m) {
                    const float weight = filter[c][p][q][map + m];
                    for (int h = 0; h < 2; ++h)
                        for (int w = 0; w < 4; ++w)
                            sum[m][h][w] += cell[h][w + q] * weight;
                }
            }
            //<
        }
        __syncthreads();
    }

    #pragma unroll
    for (int m = 0; m < MAPS; ++m)
        for (int h = 0; h < 2; ++h)
            for (int w = 0; w < 4; ++w)
                if (map + m < OUTPUT_MAPS && top + row + h < OUT_H && left + column + w < OUT_W)
                    y[(((size_t)b * OUTPUT_MAPS + map + m) * OUT_H + top + row + h) * OUT_W
                      + left + column + w] = sum[m][h][w];
}
