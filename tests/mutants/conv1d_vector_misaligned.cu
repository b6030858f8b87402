// conv1d_vector_misaligned.cu -- WRONG ON PURPOSE: vectors start at the halo, wherever that is
//
// Mutant of  conv1d_vector (lab 04)
// Wrong      the tile is loaded in float4 from cell start - R, which is a multiple of 4 cells only if R is: a 16-byte
//            access needs a 16-byte boundary.
// Message    simulator: misaligned, array N

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 3
#endif
#define RADIUS (FILTER_WIDTH / 2)

__constant__ float filter[FILTER_WIDTH];

extern "C" __global__ void conv1d_vector_misaligned(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float cells[4];
    float sum = 0.0f;
    for (int j = 0; j < FILTER_WIDTH; ++j) {
        const int cell = i - RADIUS + j;
        if (j % 4 == 0 && cell >= 0 && cell + 3 < n) {
            const float4 vector = *reinterpret_cast<const float4*>(N + cell);
            cells[0] = vector.x;
            cells[1] = vector.y;
            cells[2] = vector.z;
            cells[3] = vector.w;
        } else if (j % 4 == 0) {
            for (int c = 0; c < 4; ++c) {
                cells[c] = cell + c >= 0 && cell + c < n ? N[cell + c] : 0.0f;
            }
        }
        sum += cells[j % 4] * filter[j];
    }
    if (i < n) {
        P[i] = sum;
    }
}
