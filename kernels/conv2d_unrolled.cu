// conv2d_unrolled.cu -- convolution layer, both filter loops unrolled by the compiler
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q], NCHW, valid, not flipped
// Idea       The width of the filter is a constant, so that nvcc can write out both of its loops:
//            no counters, no branches, and most offsets stand in the load instructions. Loads of
//            many taps are under way before the first is used.
// Arrays     x: float32, shape (B, C, H, W); filter: float32, shape (M, C, FILTER_WIDTH,
//            FILTER_WIDTH); y: float32, shape (B, M, out_h, out_w), out_h = H - FILTER_WIDTH + 1. y
//            must not overlap the others (__restrict__).
// Launch     block = (any, any, 1), 16 x 16 unless said otherwise;
//            grid = (ceil(out_w / blockDim.x) * ceil(out_h / blockDim.y), M, B)
// Sizes      FILTER_WIDTH <= H, W; any B, C, M that the grid takes (65,535 each in y and z); the
//            last tiles may be partial. One compilation for each width, and code that grows with
//            its square.
// Memory     no shared, no constant.
// Constants  FILTER_WIDTH by -D (default below).
// Reference  helpers.reference.conv2d

#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif

extern "C" __global__ void conv2d_unrolled(
    float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ filter,
    int B, int C, int M, int H, int W)
{
    const int out_h = H - FILTER_WIDTH + 1;
    const int out_w = W - FILTER_WIDTH + 1;
    const int tiles_across = (out_w + blockDim.x - 1) / blockDim.x;
    // Lanes lie side by side in a row.
    const int w = blockIdx.x % tiles_across * blockDim.x + threadIdx.x;
    const int h = blockIdx.x / tiles_across * blockDim.y + threadIdx.y;
    const int m = blockIdx.y;
    const int b = blockIdx.z;

    if (b < B && h < out_h && w < out_w) {
        // The offset of an image takes 64 bits: the output maps of 10,000 images of layer 1 hold
        // 256 million floats already.
        const float* image = x + (long long)b * C * H * W;
        const float* weights = filter + m * C * FILTER_WIDTH * FILTER_WIDTH;
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {   // C is an argument: this loop stays
            // Tap (0, 0) falls on this cell.
            const float* cell = image + (c * H + h) * W + w;
            const float* tap = weights + c * FILTER_WIDTH * FILTER_WIDTH;
            #pragma unroll
            for (int p = 0; p < FILTER_WIDTH; ++p) {
                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q) {
                    sum += cell[p * W + q] * tap[p * FILTER_WIDTH + q];
                }
            }
        }
        y[(((long long)b * M + m) * out_h + h) * out_w + w] = sum;
    }
}
