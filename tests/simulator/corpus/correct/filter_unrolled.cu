// filter_unrolled.cu -- the rows of a 7x7 filter, unrolled for p = 0..6
//
// twin: filter_unrolled_too_far
// launch: grid=2x2 block=16x16
// arguments: out float y 20x24; in float x 26x30 uniform; in float filter 7x7 uniform; int height=26; int width=30
// result: y = conv2d(x, filter)
// compare: within 1e-5

#define K 7

// One row of the filter against one row of the image.
__device__ float row_sum(const float* image, const float* filter)
{
    float sum = 0.0f;
    for (int q = 0; q < K; ++q) {
        sum += image[q] * filter[q];
    }
    return sum;
}

extern "C" __global__ void filter_unrolled(float* y, const float* x, const float* filter, int height, int width)
{
    const int h = blockIdx.y * blockDim.y + threadIdx.y;
    const int w = blockIdx.x * blockDim.x + threadIdx.x;
    const int out_width = width - K + 1;
    if (h < height - K + 1 && w < out_width) {
        const float* image = x + h * width + w;
        float sum = row_sum(image, filter); // p = 0
        sum += row_sum(image + 1 * width, filter + 1 * K);
        sum += row_sum(image + 2 * width, filter + 2 * K);
        sum += row_sum(image + 3 * width, filter + 3 * K);
        sum += row_sum(image + 4 * width, filter + 4 * K);
        sum += row_sum(image + 5 * width, filter + 5 * K);
        sum += row_sum(image + 6 * width, filter + 6 * K);
        y[h * out_width + w] = sum;
    }
}
