// %%kernel transpose
__global__ void transpose(float* P, const float* N, int width, int height)
{
    // Turned while it is filled; the index is shifted by the row in place of padding.
    __shared__ float tile[1024];
    const int t = threadIdx.x, r = threadIdx.y, left = blockIdx.x * 32, top = blockIdx.y * 32;
    if (left + t < width && top + r < height)
        tile[t * 32 + (r + t) % 32] = N[(top + r) * width + left + t];
    __syncthreads();
    if (left + r < width && top + t < height)
        P[(left + r) * height + top + t] = tile[r * 32 + (t + r) % 32];
}
