// lenet_resize_rounded.cu -- WRONG ON PURPOSE: values are rounded to the nearest
//
// Mutant of  lenet_resize (lab 22)
// Wrong      the network was trained on truncated values; half a unit is added before the division.
// Message    check: precision

#ifndef LENGTH
#define LENGTH 28
#endif
#ifndef SIDE
#define SIDE 86
#endif
constexpr int UNIT = 2 * SIDE, PITCH = LENGTH + 2;   // weights are whole multiples of 1 / UNIT

extern "C" __global__ void lenet_resize_rounded(float* __restrict__ x, const unsigned char* __restrict__ images)
{
    __shared__ unsigned char cells[PITCH * PITCH];
    const size_t b = blockIdx.x;
    for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < PITCH * PITCH; i += blockDim.x * blockDim.y) {
        const int row = i / PITCH - 1, column = i % PITCH - 1;
        const bool inside = row >= 0 && row < LENGTH && column >= 0 && column < LENGTH;
        cells[i] = inside ? images[(b * LENGTH + row) * LENGTH + column] : 0;
    }
    __syncthreads();   // a thread needs bytes that others loaded
    int before[2], part[2];   // of either column: the cell to its left, border counted, and the weight of the one to its right
    for (int i = 0; i < 2; ++i) {
        const int place = (2 * (2 * int(threadIdx.x) + i) + 1) * LENGTH + SIDE;   // + UNIT for the border: never below 0
        before[i] = place / UNIT;
        part[i] = place % UNIT;
    }
    for (int h = threadIdx.y; h < SIDE; h += blockDim.y) {
        const int place = (2 * h + 1) * LENGTH + SIDE, below = place % UNIT;
        const unsigned char* row = cells + place / UNIT * PITCH;
        float made[2];
        for (int i = 0; i < 2; ++i) {
            const unsigned char* from = row + before[i];
            const unsigned upper = (UNIT - part[i]) * from[0] + part[i] * from[1];
            const unsigned lower = (UNIT - part[i]) * from[PITCH] + part[i] * from[PITCH + 1];
            made[i] = ((UNIT - below) * upper + below * lower + UNIT * UNIT / 2) / (UNIT * UNIT);
        }
        *reinterpret_cast<float2*>(x + (b * SIDE + h) * SIDE + 2 * threadIdx.x) = make_float2(made[0], made[1]);
    }
}
