// lenet_pool_no_relu.cu -- WRONG ON PURPOSE: negative maxima stay
//
// Mutant of  lenet_pool (lab 22)
// Wrong      the maximum starts below all numbers, not at 0: the ReLU is missing.
// Message    check: scattered

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

extern "C" __global__ void lenet_pool_no_relu(
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

    float largest = -3e38f;
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
