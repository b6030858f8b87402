// conv2d_mma_halves_not_gathered.cu -- WRONG ON PURPOSE: outputs leave before all of them are made
//
// Mutant of  conv2d_mma_halves (lab 21)
// Wrong      the barrier between the last output and the copy is missing.
// Message    simulator: race

#include "mma.cuh"
static_assert(PARTS == 1, "conv2d_mma_pairs is the kernel for FP32 accuracy");
constexpr int K = FILTER_WIDTH, OUT_H = HEIGHT - K + 1, OUT_W = WIDTH - K + 1, THREADS = 32 * WARPS, MAP = OUT_H * OUT_W;
constexpr int ROW = WIDTH / 2, PLANE = HEIGHT * ROW, CHANNEL_PAIRS = (CHANNELS + 1) / 2;   // in Pairs; an odd channel meets zeros
constexpr int FOURS = CHANNELS * PLANE / 2, HALVES = (CHANNEL_PAIRS * 2 * PLANE + 31) / 32 * 32, SPARE = 32;
constexpr int ARRIVING = HALF_IO ? (HALVES + SPARE) / 2 : (FOURS + 7) / 8 * 8, STEPS = CHANNEL_PAIRS * K;
constexpr int ACROSS = OUT_W / 2, COLUMNS = OUT_H / 2 * ACROSS, WEIGHTS = STEPS * 2 * 32, GROUPS = (OUTPUT_MAPS + 15) / 16;
__device__ uint4 filter[GROUPS * WEIGHTS + 1];   // [map / 16][two channels][two of their rows][shift][lane], and 1 / scale
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) conv2d_mma_halves_not_gathered(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Four* arriving = reinterpret_cast<Four*>(memory);              // the next image, as it is
    Pair* cells = reinterpret_cast<Pair*>(arriving + ARRIVING);    // this one: [channel][row][pair]
    Cell* made = reinterpret_cast<Cell*>(cells + HALVES + SPARE);  // [map][row][column]
    const int t = threadIdx.x, lane = t % 32, g = lane / 4, q = lane % 4, map = blockIdx.y * 16, maps = min(16, OUTPUT_MAPS - map);
    uint4 weights[STEPS][2];
    for (int i = 0; i < STEPS * 2; ++i) weights[i / 2][i % 2] = filter[blockIdx.y * WEIGHTS + i * 32 + lane];
    const float unscale = __uint_as_float(filter[GROUPS * WEIGHTS].x);
    for (int s = t; s < HALVES + SPARE; s += THREADS) cells[s] = 0;
    for (int s = FOURS * 2 + t; s < HALVES + SPARE && HALF_IO; s += THREADS) reinterpret_cast<Pair*>(arriving)[s] = 0;
    Copy<Four, FOURS, THREADS> copy;
    copy.begin(arriving, reinterpret_cast<const Four*>(x) + (size_t)blockIdx.x * FOURS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        copy.end(arriving);
        outputs_have_left();
        __syncthreads();   // the image is there; nobody reads the cells of the one before, and its outputs have left
        take_cells<FOURS, THREADS>(cells, HALVES, arriving);
        if (b + gridDim.x < B) copy.begin(arriving, reinterpret_cast<const Four*>(x) + (size_t)(b + gridDim.x) * FOURS);
        for (int tile = t / 32 * 8; tile < COLUMNS; tile += WARPS * 8) {
            const int column = min(tile + g, COLUMNS - 1);   // spare columns repeat the last one
            const Pair* at = cells + column / ACROSS * 2 * ROW + column % ACROSS + q;
            float sum[2][2][4] = {};   // [row][shift]
            #pragma unroll
            for (int i = 0; i < STEPS * 4; ++i) {   // rows r, r + 1 of two channels' 2 K; row j of y, shift s
                const int r = i / 4 * 2, j = i / 2 % 2, s = i % 2;
                const int low = (j + r % K) * ROW + r / K * PLANE, high = (j + (r + 1) % K) * ROW + (r + 1) / K * PLANE;
                multiply(sum[j][s], weights[r / 2][s], at[low], at[high]);
            }
            #pragma unroll
            for (int i = 0; i < 8; ++i) {   // two pairs of columns, of two rows, of maps g and g + 8
                const int j = i / 2 % 2, half = i % 2, second = (i / 4 + q / 2) % 2;   // the order: banks differ
                const int pair = tile + 2 * q + second, h = pair / ACROSS * 2 + j, w = pair % ACROSS * 2, m = g + half * 8;
                const float left = second ? sum[j][0][2 * half + 1] : sum[j][0][2 * half];
                const float right = second ? sum[j][1][2 * half + 1] : sum[j][1][2 * half];
                __align__(8) const float two[2] = {left * unscale, right * unscale};
                if (pair < COLUMNS) store_outputs<2>(made + m * MAP + h * OUT_W + w, two);
            }
        }
        outputs_are_made();
        outputs_leave<THREADS>(y + ((size_t)b * OUTPUT_MAPS + map) * MAP, made, maps * MAP);
    }
    outputs_have_left();
}
