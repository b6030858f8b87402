// lenet_pool.cu -- ReLU and max-pool in one pass, a thread for each window
//
// Computes   y[m,h,w] = max(0, max_{r,c < POOL} x[m, POOL h + r, POOL w + c]); windows that
//            overhang the lower or right edge are cut
// Idea       Every cell of x is needed once: the kernel only moves bytes. ReLU costs no pass of its
//            own, because max(0, max(a, b)) = max(max(0, a), max(0, b)).
// Arrays     x: float32, (maps, HEIGHT, WIDTH); y: float32, (maps, ceil(HEIGHT / POOL), ceil(WIDTH
//            / POOL)); must not alias.
// Launch     block = (any, 1, 1); grid = (ceil(maps * ROWS * COLUMNS / blockDim.x), 1)
// Sizes      any; fewer than 2^31 windows. NaN is passed on, so that outputs which a convolution
//            left out show.
// Memory     global only: reads x once, writes 1 / POOL^2 as much.
// Constants  HEIGHT, WIDTH (of x), POOL by -D (defaults below: those of layer 1)
// Reference  helpers.problems.lenet.network.max_pool of helpers.problems.lenet.network.relu

#ifndef HEIGHT
#define HEIGHT 80
#endif
#ifndef WIDTH
#define WIDTH 80
#endif
#ifndef POOL
#define POOL 2
#endif

// Windows along either axis: the last one may be cut.
constexpr int ROWS = (HEIGHT + POOL - 1) / POOL;
constexpr int COLUMNS = (WIDTH + POOL - 1) / POOL;
constexpr bool EVEN_H = HEIGHT % POOL == 0;
constexpr bool EVEN_W = WIDTH % POOL == 0;

extern "C" __global__ void lenet_pool(
    float* __restrict__ y, const float* __restrict__ x, int maps)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;   // the window, in the order of y
    if (i >= unsigned(maps) * (ROWS * COLUMNS)) return;         // no barrier below

    // The window's map and its first row and column in x. Divisions by constants are
    // multiplications.
    const unsigned map = i / (ROWS * COLUMNS);
    const unsigned row = i / COLUMNS % ROWS * POOL;
    const unsigned column = i % COLUMNS * POOL;
    const float* from = x + ((size_t)map * HEIGHT + row) * WIDTH + column;

    float largest = 0.0f;   // the ReLU
    #pragma unroll
    for (int r = 0; r < POOL; ++r) {
        #pragma unroll
        for (int c = 0; c < POOL; ++c) {
            if ((EVEN_H || row + r < HEIGHT) && (EVEN_W || column + c < WIDTH)) {
                const float cell = from[r * WIDTH + c];
                // Fmaxf would lose a NaN.
                largest = cell > largest || cell != cell ? cell : largest;
            }
        }
    }
    y[i] = largest;
}
