// %%kernel transpose
__global__ void transpose(float* P, const float* N, int width, int height)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < width && y < height) P[x * height + y] = N[y * width + x];
}
