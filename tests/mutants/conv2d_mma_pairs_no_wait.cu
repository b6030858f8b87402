// conv2d_mma_pairs_no_wait.cu -- WRONG ON PURPOSE: the copy in the background is not waited for
//
// Mutant of  conv2d_mma_pairs (lab 21)
// Wrong      cells are split before they have arrived.
// Message    simulator: race

#include "mma.cuh"
static_assert(PARTS == 2 && !HALF_IO, "conv2d_mma_halves is the kernel for halves");
constexpr int K = FILTER_WIDTH, OUT_H = HEIGHT - K + 1, OUT_W = WIDTH - K + 1, THREADS = 32 * WARPS, MAP = OUT_H * OUT_W;
constexpr int ROW = WIDTH / 2, PLANE = HEIGHT * ROW, PLANES = (CHANNELS + 1) / 2 * 2;   // in Pairs; an odd channel meets zeros
constexpr int FOURS = CHANNELS * PLANE / 2, ARRIVING = (FOURS + 7) / 8 * 8, SPARE = 32, HALVES = (PLANES * PLANE + 31) / 32 * 32;
constexpr int ACROSS = OUT_W / 2, COLUMNS = OUT_H / 2 * ACROSS, TILES = 2;   // COLUMNS: of B, for all pairs; TILES: of a task
constexpr int WEIGHTS = PLANES * K * PARTS * 32, GROUPS = (OUTPUT_MAPS + 15) / 16;
__device__ uint4 filter[GROUPS * WEIGHTS + 1];   // [map / 16][two channels][two of their rows][shift][part][lane], and 1 / scale
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) conv2d_mma_pairs_no_wait(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    uint4* weights = reinterpret_cast<uint4*>(memory);
    Four* arriving = reinterpret_cast<Four*>(weights + WEIGHTS);   // the next image, as it is
    Pair* cells = reinterpret_cast<Pair*>(arriving + ARRIVING);    // this one: [part][channel][row][pair], read beyond a row's end
    Cell* made = reinterpret_cast<Cell*>(cells + PARTS * HALVES + SPARE);   // [map][row][column]
    const int t = threadIdx.x, lane = t % 32, g = lane / 4, q = lane % 4, map = blockIdx.y * 16;
    for (int s = t; s < WEIGHTS; s += THREADS) weights[s] = filter[blockIdx.y * WEIGHTS + s];
    for (int s = t; s < PARTS * HALVES + SPARE; s += THREADS) cells[s] = 0;
    const float u = __uint_as_float(filter[GROUPS * WEIGHTS].x);
    Copy<Four, FOURS, THREADS> copy;
    copy.begin(arriving, reinterpret_cast<const Four*>(x) + (size_t)blockIdx.x * FOURS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        outputs_have_left();
        __syncthreads();   // the image is there; nobody reads the cells of the one before, and its outputs have left
        take_cells<FOURS, THREADS>(cells, HALVES, arriving);
        if (b + gridDim.x < B) copy.begin(arriving, reinterpret_cast<const Four*>(x) + (size_t)(b + gridDim.x) * FOURS);
        for (int first = t / 32 * 8 * TILES; first < COLUMNS; first += WARPS * 8 * TILES) {
            const Pair* at[TILES];
            for (int n = 0; n < TILES; ++n) {
                const int column = min(first + n * 8 + g, COLUMNS - 1);   // spare columns repeat the last one
                at[n] = cells + column / ACROSS * 2 * ROW + column % ACROSS + q;
            }
            float total[TILES][2][2][4] = {};   // [tile][row][shift]
            #pragma unroll 1
            for (const uint4* a = weights + lane; a < weights + WEIGHTS; a += K * 2 * PARTS * 32) {   // two channels
                float sum[TILES][2][2][4] = {};   // tensor cores cut off where FP32 rounds: they get short sums to add up
                #pragma unroll
                for (int i = 0; i < K * PRODUCTS * TILES * 4; ++i) {   // products that follow each other are of different sums
                    const int step = i / (PRODUCTS * TILES * 4), product = i / (TILES * 4) % PRODUCTS, n = i / 4 % TILES;
                    const int r = 2 * step, j = i / 2 % 2, s = i % 2;   // rows r, r + 1 of both channels' 2 K; row j of y, shift s
                    const int low = (j + r % K) * ROW + r / K * PLANE, high = (j + (r + 1) % K) * ROW + (r + 1) / K * PLANE;
                    const Pair* from = at[n] + rest_of_cells(product) * HALVES;
                    multiply(sum[n][j][s], a[((r + s) * PARTS + rest_of_weights(product)) * 32], from[low], from[high]);
                }
                for (int i = 0; i < TILES * 16; ++i) (&total[0][0][0][0])[i] += (&sum[0][0][0][0])[i];
                for (int n = 0; n < TILES; ++n) at[n] += 2 * PLANE;
            }
            #pragma unroll
            for (int i = 0; i < TILES * 8; ++i) {   // two neighbouring pairs, of two rows, of maps g and g + 8
                const int n = i / 8, j = i / 2 % 2, half = i % 2, second = (i / 4 + q / 2) % 2;   // the order: banks differ
                const float (&shift)[2][4] = total[n][j];
                __align__(8) const float two[2] = {(second ? shift[0][2 * half + 1] : shift[0][2 * half]) * u,
                                                   (second ? shift[1][2 * half + 1] : shift[1][2 * half]) * u};
                const int column = first + n * 8 + 2 * q + second, h = column / ACROSS * 2 + j, w = column % ACROSS * 2;
                if (column < COLUMNS) store_outputs<2>(made + (g + half * 8) * MAP + h * OUT_W + w, two);
            }
        }
        outputs_are_made();
        __syncthreads();   // the block's outputs are in shared memory
        outputs_leave<THREADS>(y + ((size_t)b * OUTPUT_MAPS + map) * MAP, made, min(16, OUTPUT_MAPS - map) * MAP);
    }
    outputs_have_left();
}
