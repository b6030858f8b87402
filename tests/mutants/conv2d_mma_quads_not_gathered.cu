// conv2d_mma_quads_not_gathered.cu -- WRONG ON PURPOSE: outputs leave before all of them are made
//
// Mutant of  conv2d_mma_quads (lab 21)
// Wrong      the barrier between the last output and the copy is missing.
// Message    simulator: race

#include "mma.cuh"
constexpr int K = FILTER_WIDTH, OUT_H = HEIGHT - K + 1, OUT_W = WIDTH - K + 1, THREADS = 32 * WARPS, STEPS = (K + 1) / 2;
constexpr int ROW = WIDTH / 2, PLANE = HEIGHT * ROW, FOURS = PLANE / 2, SPARE = 32;          // ROW, PLANE: in Pairs
constexpr int HALVES = (PLANE + 31) / 32 * 32, ARRIVING = HALF_IO ? (HALVES + SPARE) / 2 : (FOURS + 7) / 8 * 8;   // whole 128 bytes
constexpr int GROUPS = (OUTPUT_MAPS + 3) / 4, WEIGHTS = STEPS * PARTS * 32, ACROSS = (OUT_W + 15) / 16;   // tiles of 8 quads
constexpr int divisor(int n, int most) { return n % most ? divisor(n, most - 1) : most; }
constexpr int BAND_H = OUT_H / BANDS, DOWN = divisor(BAND_H / 2, 5), WIDE = OUT_W % 4 ? 2 : 4;   // DOWN: quads of a task
constexpr int BAND = BAND_H * OUT_W, PITCH = ((BAND * sizeof(Cell) + 191) / 128 * 128 - 64) / sizeof(Cell);   // in other banks
__device__ uint4 filter[GROUPS * WEIGHTS + 1];   // [map / 4][two rows][part][lane], and 1 / scale
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) conv2d_mma_quads_not_gathered(Cell* y, const Cell* __restrict__ x, int B)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Four* arriving = reinterpret_cast<Four*>(memory);              // the next image, as it is
    Pair* cells = reinterpret_cast<Pair*>(arriving + ARRIVING);    // this one: [part][row][pair], read beyond a row's end
    Cell* made = reinterpret_cast<Cell*>(cells + PARTS * HALVES + SPARE);   // a band: [map][row][column]
    const int t = threadIdx.x, lane = t % 32, g = lane / 4, q = lane % 4, map = blockIdx.y * 4;
    const uint4* fragments = filter + blockIdx.y * WEIGHTS + lane;
    uint4 weights[STEPS][PARTS];
    for (int i = 0; i < STEPS * PARTS; ++i) weights[i / PARTS][i % PARTS] = fragments[i * 32];
    const float u = __uint_as_float(filter[GROUPS * WEIGHTS].x);
    for (int s = t; s < PARTS * HALVES + SPARE; s += THREADS) cells[s] = 0;
    for (int s = PLANE + t; s < HALVES + SPARE && HALF_IO; s += THREADS) reinterpret_cast<Pair*>(arriving)[s] = 0;
    Copy<Four, FOURS, THREADS> copy;
    copy.begin(arriving, reinterpret_cast<const Four*>(x) + (size_t)blockIdx.x * FOURS);
    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        copy.end(arriving);
        outputs_have_left();
        __syncthreads();   // the image is there; nobody reads the cells of the one before, and its last band has left
        take_cells<FOURS, THREADS>(cells, HALVES, arriving);
        if (b + gridDim.x < B) copy.begin(arriving, reinterpret_cast<const Four*>(x) + (size_t)(b + gridDim.x) * FOURS);
        for (int band = 0; band < BANDS; ++band) {
            if (band > 0) {
                outputs_have_left();
                __syncthreads();   // the band before has left
            }
            for (int task = t / 32; task < BAND_H / 2 / DOWN * ACROSS; task += WARPS) {
                const int row = task / ACROSS * DOWN * 2, left = task % ACROSS * 16;   // row: in the band
                const Pair* at = cells + (band * BAND_H + row) * ROW + left / 2 + g + q;
                float sum[DOWN][4] = {};
                #pragma unroll
                for (int i = 0; i < (STEPS + DOWN - 1) * PRODUCTS * DOWN; ++i) {   // two rows of cells: of several windows
                    const int two = i / (PRODUCTS * DOWN), product = i / DOWN % PRODUCTS, n = i % DOWN, step = two - n;
                    const Pair* low = at + two * 2 * ROW + rest_of_cells(product) * HALVES;
                    if (0 <= step && step < STEPS) multiply(sum[n], weights[step][rest_of_weights(product)], low[0], low[ROW]);
                }
                #pragma unroll
                for (int n = 0; n < DOWN; ++n) {   // both shifts by columns lie in one lane: its four sums are neighbours in y
                    __align__(16) const float four[4] = {sum[n][0] * u, sum[n][2] * u, sum[n][1] * u, sum[n][3] * u};
                    Cell* to = made + g / 2 * PITCH + (row + 2 * n + g % 2) * OUT_W + left + 4 * q;
                    for (int i = 0; i < 4; i += WIDE)
                        if (OUT_W % 16 == 0 || left + 4 * q + i < OUT_W) store_outputs<WIDE>(to + i, four + i);
                }
            }
            outputs_are_made();
            for (int m = 0; m < min(4, OUTPUT_MAPS - map); ++m)
                outputs_leave<THREADS>(y + (((size_t)b * OUTPUT_MAPS + map + m) * BANDS + band) * BAND, made + m * PITCH, BAND);
        }
    }
    outputs_have_left();
}
