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
constexpr int ROWS = (HEIGHT + POOL - 1) / POOL, COLUMNS = (WIDTH + POOL - 1) / POOL;   // of windows: the last may be cut
constexpr bool EVEN_H = HEIGHT % POOL == 0, EVEN_W = WIDTH % POOL == 0;

extern "C" __global__ void lenet_pool_no_relu(float* __restrict__ y, const float* __restrict__ x, int maps)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;   // counts windows in the order of y
    if (i >= unsigned(maps) * (ROWS * COLUMNS)) return;
    // Divisions by constants: nvcc makes multiplications of them.
    const unsigned map = i / (ROWS * COLUMNS), row = i / COLUMNS % ROWS * POOL, column = i % COLUMNS * POOL;
    const float* from = x + ((size_t)map * HEIGHT + row) * WIDTH + column;
    float most = -3e38f;
    #pragma unroll
    for (int r = 0; r < POOL; ++r)
        #pragma unroll
        for (int c = 0; c < POOL; ++c)
            if ((EVEN_H || row + r < HEIGHT) && (EVEN_W || column + c < WIDTH)) {
                const float cell = from[r * WIDTH + c];
                most = cell > most || cell != cell ? cell : most;   // fmaxf would lose a NaN
            }
    y[i] = most;
}
