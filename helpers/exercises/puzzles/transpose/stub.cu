// %%kernel transpose
__global__ void transpose(float* P, const float* N, int width, int height)
{
    // N has height rows of width cells, P has width rows of height cells:
    // P[x * height + y] = N[y * width + x]. Blocks of 32 x 32 threads.
    // The lanes of a warp should be neighbours in N when they load, and in P when they store.
}
