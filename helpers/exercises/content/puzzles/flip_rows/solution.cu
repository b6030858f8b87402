// %%kernel flip_rows
__global__ void flip_rows(float* P, const float* N, int width, int height)
{
    //> Turn the image upside down: row y of N becomes row height - 1 - y of P.
    //> The cell in row y and column x is N[y * width + x]. Blocks have 32 x 8 threads.
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) P[(height - 1 - y) * width + x] = N[y * width + x];
    //<
}
