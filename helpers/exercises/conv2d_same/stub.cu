// %%kernel conv2d_same
__global__ void conv2d_same(float* y, const float* x, const float* filter,
                            int B, int C, int M, int H, int W, int K)
{
    // Which output (b, m, h, w) does this thread compute? Is there such an output?

    // Sum up C x K x K products, without those whose cell lies outside of the image.

    // Store the sum.
}
