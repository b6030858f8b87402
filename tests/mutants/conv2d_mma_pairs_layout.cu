// conv2d_mma_pairs_layout.cu -- WRONG ON PURPOSE: lanes take the wrong fragments of B
//
// Mutant of  conv2d_mma_pairs (lab 21)
// Wrong      lane 4 g + q takes column q and rows of g: the fragment's indices are exchanged.
// Message    check: scattered

#include "mma.cuh"
constexpr int K = FILTER_WIDTH, OUT_H = HEIGHT - K + 1, OUT_W = WIDTH - K + 1, THREADS = 32 * WARPS;
constexpr int ROW = WIDTH / 2, PLANE = HEIGHT * ROW, PLANE_PAIRS = (CHANNELS + 1) / 2;   // in Pairs; an odd channel meets zeros
constexpr int FOURS = CHANNELS * PLANE / 2, ARRIVING = (FOURS + 1) / 2 * 2, HALVES = PLANE_PAIRS * 2 * PLANE;
constexpr int TILES = OUT_W > 32 ? 3 : (OUT_W + 15) / 16, ACROSS = (OUT_W + 16 * TILES - 1) / (16 * TILES);   // tiles: 8 pairs
constexpr int COLUMNS = ACROSS == 1 ? OUT_W : 16 * TILES, PITCH = (COLUMNS + 7) / 16 * 16 + 8, TWOS = COLUMNS / 2;   // of a task
constexpr int WEIGHTS = PLANE_PAIRS * K * 2 * PARTS * 32, SPARE = 32, GROUPS = (OUTPUT_MAPS + 15) / 16;
__device__ uint4 filter[GROUPS * WEIGHTS + 1];   // [map / 16][two channels][two of their rows][shift][part][lane], and 1 / scale
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) conv2d_mma_pairs_layout(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    uint4* weights = reinterpret_cast<uint4*>(memory);
    Four* arriving = reinterpret_cast<Four*>(weights + WEIGHTS);   // the next image, as it is
    Pair* cells = reinterpret_cast<Pair*>(arriving + ARRIVING);    // this one: [part][channel][row][pair], read beyond a row's end
    float* staged = reinterpret_cast<float*>(cells + PARTS * HALVES + SPARE) + threadIdx.x / 32 * 16 * PITCH;   // [map][row]
    const int t = threadIdx.x, lane = t % 32, g = lane % 8, q = lane / 8, map = blockIdx.y * 16;
    for (int s = t; s < WEIGHTS; s += THREADS) weights[s] = filter[blockIdx.y * WEIGHTS + s];
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
            float total[TILES][2][2][4] = {};   // [tile][row][shift]
            #pragma unroll 1
            for (const uint4* a = weights + lane; a < weights + WEIGHTS; a += K * 2 * PARTS * 32, at += 2 * PLANE) {   // 2 channels
                float apart[TILES][2][2][4] = {};   // tensor cores cut off where FP32 rounds: they get short sums to add up
                auto& sum = PARTS == 2 ? apart : total;
                #pragma unroll
                for (int i = 0; i < K * TILES * 4; ++i) {   // rows r, r + 1 of two channels' 2 K; tile n, row j, shift s
                    const int r = i / (TILES * 4) * 2, n = i / 4 % TILES, j = i / 2 % 2, s = i % 2;
                    const Pair* low = at + n * 8 + (j + r % K) * ROW + r / K * PLANE;
                    const Pair* high = at + n * 8 + (j + (r + 1) % K) * ROW + (r + 1) / K * PLANE;
                    const uint4* factor = a + (r + s) * PARTS * 32;
                    if (PARTS == 2) multiply(sum[n][j][s], factor[0], low[HALVES], high[HALVES]);
                    if (PARTS == 2) multiply(sum[n][j][s], factor[32], *low, *high);
                    multiply(sum[n][j][s], factor[0], *low, *high);
                }
                for (int i = 0; i < TILES * 16 && PARTS == 2; ++i) (&total[0][0][0][0])[i] += (&apart[0][0][0][0])[i];
            }
            #pragma unroll
            for (int half = 0; half < 2; ++half) {   // maps g, then g + 8: staged, so that whole sectors are written
                __syncwarp();
                const float u = __uint_as_float(filter[GROUPS * WEIGHTS].x);
                for (int i = 0; i < TILES * 2; ++i) {
                    const float* d = total[i / 2][i % 2][0] + 2 * half;   // four on: of the other shift
                    float4* to = reinterpret_cast<float4*>(staged + (2 * g + i % 2) * PITCH + i / 2 * 16 + q * 4);
                    if (i / 2 * 16 + q * 4 < COLUMNS) *to = make_float4(d[0] * u, d[4] * u, d[1] * u, d[5] * u);
                }
                __syncwarp();
                for (int i = lane; i < TWOS * 16; i += 32) {
                    const int m = map + half * 8 + i / TWOS / 2, h = row + i / TWOS % 2, w = i % TWOS * 2;
                    Cell* to = y + (((size_t)b * OUTPUT_MAPS + m) * OUT_H + h) * OUT_W + left + w;
                    if ((OUTPUT_MAPS % 16 == 0 || m < OUTPUT_MAPS) && (ACROSS == 1 || left + w < OUT_W))
                        store_outputs<2>(to, staged + i / TWOS * PITCH + w);
                }
            }
        }
    }
}
