// conv2d_mma_quads_no_syncwarp.cu -- WRONG ON PURPOSE: lanes copy what others have not staged yet
//
// Mutant of  conv2d_mma_quads (lab 21)
// Wrong      the second __syncwarp is missing.
// Message    simulator: race

#include "mma.cuh"
constexpr int K = FILTER_WIDTH, OUT_H = HEIGHT - K + 1, OUT_W = WIDTH - K + 1, THREADS = 32 * WARPS, STEPS = (K + 1) / 2;
constexpr int ROW = WIDTH / 2, PLANE = HEIGHT * ROW, FOURS = PLANE / 2, ARRIVING = (FOURS + 1) / 2 * 2;   // ROW, PLANE: in Pairs
constexpr int HALVES = (PLANE + 3) / 4 * 4, SPARE = 64, GROUPS = (OUTPUT_MAPS + 3) / 4, WEIGHTS = STEPS * PARTS * 32;
constexpr int TILES = OUT_W > 64 ? 5 : (OUT_W + 15) / 16, ACROSS = (OUT_W + 16 * TILES - 1) / (16 * TILES);   // tiles: 8 quads
constexpr int COLUMNS = ACROSS == 1 ? OUT_W : 16 * TILES, PITCH = 16 * TILES + 8, WIDE = OUT_W % 4 ? 2 : 4;   // WIDE: of a store
__device__ uint4 filter[GROUPS * WEIGHTS + 1];   // [map / 4][two rows][part][lane], and 1 / scale
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) conv2d_mma_quads_no_syncwarp(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Four* arriving = reinterpret_cast<Four*>(memory);              // the next image, as it is
    Pair* cells = reinterpret_cast<Pair*>(arriving + ARRIVING);    // this one: [part][row][pair], read beyond a row's end
    const int t = threadIdx.x, lane = t % 32, g = lane / 4, q = lane % 4, map = blockIdx.y * 4;
    float* staged = reinterpret_cast<float*>(cells + PARTS * HALVES + SPARE) + t / 32 * 8 * PITCH;   // a warp's: [4 maps][2 rows]
    const uint4* fragments = filter + blockIdx.y * WEIGHTS + lane;
    uint4 weights[STEPS][PARTS];
    for (int i = 0; i < STEPS * PARTS; ++i) weights[i / PARTS][i % PARTS] = fragments[i * 32];
    const float unscale = __uint_as_float(filter[GROUPS * WEIGHTS].x);
    for (int s = t; s < PARTS * HALVES + SPARE; s += THREADS) cells[s] = 0;
    Copy<Four, FOURS, THREADS> copy;
    copy.begin(arriving, reinterpret_cast<const Four*>(x) + (size_t)blockIdx.x * FOURS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        copy.end(arriving);
        __syncthreads();   // the image is there; nobody reads the cells of the one before
        split_cells<FOURS, THREADS>(cells, HALVES, arriving);
        __syncthreads();
        if (b + gridDim.x < B) copy.begin(arriving, reinterpret_cast<const Four*>(x) + (size_t)(b + gridDim.x) * FOURS);
        for (int task = t / 32; task < OUT_H / 2 * ACROSS; task += WARPS) {   // two rows of outputs
            const int row = task / ACROSS * 2, left = task % ACROSS * 16 * TILES;
            const Pair* at = cells + row * ROW + left / 2 + g + q;
            float sum[TILES][4] = {};
            #pragma unroll
            for (int step = 0; step < STEPS; ++step)
                #pragma unroll
                for (int n = 0; n < TILES; ++n) {
                    const Pair* b = at + step * 2 * ROW + n * 8;
                    if (PARTS == 2) multiply(sum[n], weights[step][0], b[HALVES], b[HALVES + ROW]);
                    if (PARTS == 2) multiply(sum[n], weights[step][PARTS - 1], b[0], b[ROW]);
                    multiply(sum[n], weights[step][0], b[0], b[ROW]);
                }
            __syncwarp();   // nobody copies what was staged before
            #pragma unroll
            for (int n = 0; n < TILES; ++n) {   // lanes of shift 0 take quad 2 q, those of shift 1 quad 2 q + 1: half goes over
                const int own = g / 4;   // this lane's shift by columns
                float2 rows[2];
                for (int j = 0; j < 2; ++j) {
                    const float kept = own ? sum[n][2 * j + 1] : sum[n][2 * j], given = own ? sum[n][2 * j] : sum[n][2 * j + 1];
                    const float got = __shfl_xor_sync(~0u, given, 16);
                    rows[j] = own ? make_float2(got * unscale, kept * unscale) : make_float2(kept * unscale, got * unscale);
                }
                float2* to = reinterpret_cast<float2*>(staged + g % 4 * 2 * PITCH + n * 16 + 4 * q + 2 * own);
                to[0] = rows[0], to[PITCH / 2] = rows[1];
            }
            for (int i = lane; i < COLUMNS * 8 / WIDE; i += 32) {   // whole sectors are written
                const int each = COLUMNS / WIDE, m = map + i / each / 2, h = row + i / each % 2, w = i % each * WIDE;
                Cell* to = y + (((size_t)b * OUTPUT_MAPS + m) * OUT_H + h) * OUT_W + left + w;
                if ((OUTPUT_MAPS % 4 == 0 || m < OUTPUT_MAPS) && (ACROSS == 1 || left + w < OUT_W))
                    store_outputs<WIDE>(to, staged + i / each * PITCH + w);
            }
        }
    }
}
