// lenet_resize.cu -- images of 28 x 28 bytes to the network's input, 86 x 86 floats, on the device
//
// Computes   x[b,h,w] = floor of the bilinear value at row ((2 h + 1) LENGTH - SIDE) / (2 SIDE),
//            and the column likewise; cells outside of the image count as 0. All in whole numbers:
//            exact.
// Idea       A value of x is computed from four bytes. Only the bytes cross the bus, a 38th of the
//            floats. The image lies in shared memory with a border of zeros, so that no cell is a
//            special one.
// Arrays     images: uint8, (B, LENGTH, LENGTH); x: float32, (B, 1, SIDE, SIDE), aligned to 8
//            bytes; must not alias.
// Launch     block = (SIDE / 2, any, 1): a thread computes two neighbouring columns; grid = (B, 1)
// Sizes      any B; SIDE even, and 255 (2 SIDE)^2 < 2^31
// Memory     shared: (LENGTH + 2)^2 bytes, static
// Constants  LENGTH, SIDE by -D (defaults below)
// Reference  helpers.problems.resizing.network_input

#ifndef LENGTH
#define LENGTH 28
#endif
#ifndef SIDE
#define SIDE 86
#endif

constexpr int UNIT = 2 * SIDE;      // weights are whole multiples of 1 / UNIT
constexpr int PITCH = LENGTH + 2;   // of the image with its border

extern "C" __global__ void lenet_resize(
    float* __restrict__ x, const unsigned char* __restrict__ images)
{
    __shared__ unsigned char cells[PITCH * PITCH];
    const size_t b = blockIdx.x;

    const unsigned threads = blockDim.x * blockDim.y;   // load the image and a border of zeros
    for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < PITCH * PITCH; i += threads) {
        const int row = i / PITCH - 1;
        const int column = i % PITCH - 1;
        const bool inside = row >= 0 && row < LENGTH && column >= 0 && column < LENGTH;
        cells[i] = inside ? images[(b * LENGTH + row) * LENGTH + column] : 0;
    }
    __syncthreads();   // a thread needs bytes that others loaded

    // Of either column: the cell to its left, counted from the border, and the weight of the cell
    // to its right. The formula's place has one UNIT more, for the border, and so is never below 0.
    int left[2];
    int right_weight[2];
    for (int i = 0; i < 2; ++i) {
        const int column = 2 * int(threadIdx.x) + i;
        const int place = (2 * column + 1) * LENGTH + SIDE;
        left[i] = place / UNIT;
        right_weight[i] = place % UNIT;
    }

    // Compute and store, row by row: first along the rows above and below, then between them.
    for (int h = threadIdx.y; h < SIDE; h += blockDim.y) {
        const int place = (2 * h + 1) * LENGTH + SIDE;
        const int lower_weight = place % UNIT;
        const unsigned char* row = cells + place / UNIT * PITCH;
        float value[2];
        for (int i = 0; i < 2; ++i) {
            const unsigned char* from = row + left[i];
            const unsigned left_weight = UNIT - right_weight[i];
            const unsigned upper = left_weight * from[0] + right_weight[i] * from[1];
            const unsigned lower = left_weight * from[PITCH] + right_weight[i] * from[PITCH + 1];
            value[i] = ((UNIT - lower_weight) * upper + lower_weight * lower) / (UNIT * UNIT);
        }
        float2* to = reinterpret_cast<float2*>(x + (b * SIDE + h) * SIDE + 2 * threadIdx.x);
        *to = make_float2(value[0], value[1]);
    }
}
