// conv2d_register_2d.cu -- convolution layer, 4 x 2 outputs of several maps in a thread's registers
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[c,p,q,m], valid, not flipped (maps
//            innermost); out_h = H - K + 1, out_w = W - K + 1
// Idea       A thread computes a patch: 4 neighbouring columns of 2 rows, of MAPS output maps. It
//            reads 2 * (4 + K - 1) cells of the tile into registers, and these serve 4 * 2 * MAPS *
//            K multiply-adds. The sizes are constants of the compilation, so that offsets are part
//            of the instructions. conv2d_register_tiled is the same with patches of any size.
// Arrays     x: float32, (B, C, H, W); y: float32, (B, M, out_h, out_w), aligned to 16 bytes; must
//            not alias. filter: float32, (C, K, K, M), spare maps 0.
// Launch     block = (BLOCK_X, BLOCK_Y, 1), a patch a thread: a tile has X = 4 * BLOCK_X columns, Y
//            = 2 * BLOCK_Y rows; grid = (ceil(out_w / X) * ceil(out_h / Y), ceil(M / MAPS), B)
// Sizes      any C, H, W; K <= H, W; M, B <= 65,535; C * H * W < 2^31.
// Memory     shared: ROWS * PITCH * 4 bytes, static. constant: C * K * K * PADDED_MAPS * 4 bytes in
//            `filter`, at most 65,536.
// Constants  CHANNELS = C, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K, MAPS, BLOCK_X,
//            BLOCK_Y, UNROLL (filter rows in one round of the loop), RESIDENT (blocks of a
//            multiprocessor, by registers; 0: any), STORE (4, 2 or 1, a divisor of W - K + 1) by
//            -D (defaults below: layer 1 of the network).
// Reference  helpers.reference.conv2d

#ifndef CHANNELS
#define CHANNELS 1
#endif
#ifndef OUTPUT_MAPS
#define OUTPUT_MAPS 4
#endif
#ifndef HEIGHT
#define HEIGHT 86
#endif
#ifndef WIDTH
#define WIDTH 86
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif
#ifndef MAPS
#define MAPS 4
#endif
#ifndef BLOCK_X
#define BLOCK_X 20
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
#ifndef UNROLL
#define UNROLL 7
#endif
#ifndef RESIDENT
#define RESIDENT 0
#endif
#ifndef STORE
#define STORE 4
#endif

constexpr int K = FILTER_WIDTH;
constexpr int OUT_H = HEIGHT - K + 1;
constexpr int OUT_W = WIDTH - K + 1;
constexpr int TILES_ACROSS = (OUT_W + 4 * BLOCK_X - 1) / (4 * BLOCK_X);
constexpr int PADDED_MAPS = (OUTPUT_MAPS + MAPS - 1) / MAPS * MAPS;
constexpr int FILTER_ROWS = UNROLL;          // #pragma unroll takes no macro
constexpr int CELLS = 4 + K - 1;             // of a row, that a patch needs
constexpr int ROWS = 2 * BLOCK_Y + K - 1;    // of the tile, halo included
constexpr int PITCH = (4 * BLOCK_X + K - 1 + 3) / 4 * 4;   // floats of a row, in whole 16 bytes
constexpr int THREADS = BLOCK_X * BLOCK_Y;
constexpr int LOADS = (ROWS * PITCH + THREADS - 1) / THREADS;   // of a thread, for one channel

struct __align__(4 * STORE) Outputs { float output[STORE]; };   // what one store moves

__constant__ float filter[CHANNELS * K * K * PADDED_MAPS];   // shape (C, K, K, M), spare maps 0

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
conv2d_register_2d(float* y, const float* __restrict__ x)
{
    __shared__ __align__(16) float tile[ROWS * PITCH];
    const int t = threadIdx.y * BLOCK_X + threadIdx.x;
    const int top = blockIdx.x / TILES_ACROSS * 2 * BLOCK_Y;    // the block's first row, column,
    const int left = blockIdx.x % TILES_ACROSS * 4 * BLOCK_X;
    const int map = blockIdx.y * MAPS;                          // map and image
    const int b = blockIdx.z;
    __align__(16) float sum[MAPS][2][4] = {};

    for (int c = 0; c < CHANNELS; ++c) {
        if (c > 0) __syncthreads();   // not before all have read what is now overwritten

        // Load. A thread asks for all of its cells before it stores the first, so that the waits
        // overlap. Cells beyond the edges of x become 0: only outputs beyond the edges need them.
        const float* channel = x + ((size_t)b * CHANNELS + c) * HEIGHT * WIDTH;
        float loaded[LOADS];
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const int h = top + (t + i * THREADS) / PITCH;
            const int w = left + (t + i * THREADS) % PITCH;
            loaded[i] = h < HEIGHT && w < WIDTH ? channel[h * WIDTH + w] : 0.0f;
        }
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            if (t + i * THREADS < ROWS * PITCH) tile[t + i * THREADS] = loaded[i];
        }
        __syncthreads();   // patches need cells that other threads loaded

        // Compute, one row of the filter at a time. Unrolled, every index of `cell` and `sum` is a
        // constant: only then are both registers.
        #pragma unroll FILTER_ROWS
        for (int p = 0; p < K; ++p) {
            float cell[2][CELLS];
            for (int h = 0; h < 2; ++h) {
                for (int i = 0; i < CELLS; ++i) {
                    cell[h][i] = tile[(2 * threadIdx.y + h + p) * PITCH + 4 * threadIdx.x + i];
                }
            }
            #pragma unroll
            for (int q = 0; q < K; ++q) {
                for (int m = 0; m < MAPS; ++m) {
                    // All lanes want the same weight.
                    const float weight = filter[((c * K + p) * K + q) * PADDED_MAPS + map + m];
                    for (int h = 0; h < 2; ++h) {
                        for (int w = 0; w < 4; ++w) {
                            sum[m][h][w] += cell[h][w + q] * weight;
                        }
                    }
                }
            }
        }
    }

    // Store, STORE neighbours at a time.
    const int first_h = top + 2 * threadIdx.y;
    const int first_w = left + 4 * threadIdx.x;
    float* to = y + (((size_t)b * OUTPUT_MAPS + map) * OUT_H + first_h) * OUT_W + first_w;
    for (int m = 0; m < MAPS; ++m) {
        for (int h = 0; h < 2; ++h) {
            for (int w = 0; w < 4; w += STORE) {
                if (map + m < OUTPUT_MAPS && first_h + h < OUT_H && first_w + w < OUT_W) {
                    *reinterpret_cast<Outputs*>(to + (m * OUT_H + h) * OUT_W + w) =
                        *reinterpret_cast<Outputs*>(&sum[m][h][w]);
                }
            }
        }
    }
}
