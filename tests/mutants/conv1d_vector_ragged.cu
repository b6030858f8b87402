// conv1d_vector_ragged.cu -- WRONG ON PURPOSE: the tail is moved in whole vectors
//
// Mutant of  conv1d_vector (lab 04)
// Wrong      n need not be a multiple of 4, but the last thread loads and stores a whole float4, over the ends of N
//            and P.
// Message    simulator: out-of-bounds, array N

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_vector_ragged(float* P, const float* N, int n)
{
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        const float4 own = *reinterpret_cast<const float4*>(N + i);
        float cells[4 + 2 * RADIUS];
        for (int c = 0; c < 4 + 2 * RADIUS; ++c) {
            const int cell = i - RADIUS + c;
            cells[c] = cell >= 0 && cell < n ? N[cell] : 0.0f;
        }
        cells[RADIUS] = own.x;
        cells[RADIUS + 1] = own.y;
        cells[RADIUS + 2] = own.z;
        cells[RADIUS + 3] = own.w;
        float sum[4] = {};
        for (int o = 0; o < 4; ++o) {
            for (int j = 0; j < FILTER_WIDTH; ++j) {
                sum[o] += cells[o + j] * filter[j];
            }
        }
        *reinterpret_cast<float4*>(P + i) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    }
}
