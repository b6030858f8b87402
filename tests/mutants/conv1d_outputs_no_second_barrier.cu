// conv1d_outputs_no_second_barrier.cu -- WRONG ON PURPOSE: sums replace tile cells that others still read
//
// Mutant of  conv1d_outputs (lab 04)
// Wrong      the outputs go back through the tile for coalesced stores, without waiting until all threads have read
//            their cells.
// Message    simulator: race, array tile

#define OUTPUTS 3
#ifndef TILE_WIDTH
#define TILE_WIDTH 96
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_outputs_no_second_barrier(float* P, const float* N, int n)
{
    __shared__ float tile[TILE_WIDTH + 2 * RADIUS];
    const int start = blockIdx.x * TILE_WIDTH;
    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += blockDim.x) {
        const int cell = start - RADIUS + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }
    __syncthreads();
    const int mine = threadIdx.x * OUTPUTS;
    float sum[OUTPUTS] = {};
    for (int o = 0; o < OUTPUTS; ++o) {
        for (int j = 0; j < FILTER_WIDTH; ++j) {
            sum[o] += tile[mine + o + j] * filter[j];
        }
    }
    for (int o = 0; o < OUTPUTS; ++o) {
        tile[mine + o] = sum[o];
    }
    __syncthreads();
    for (int s = threadIdx.x; s < TILE_WIDTH && start + s < n; s += blockDim.x) {
        P[start + s] = tile[s];
    }
}
