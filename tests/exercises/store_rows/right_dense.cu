// %%kernel store_rows
__global__ void store_rows(float* y, const float4* sums)   // y: (8, 34); sums: (3 tiles, 32 lanes)
{
    __shared__ float staged[8 * 34];
    const int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    for (int n = 0; n < 3; ++n) {
        const float4 v = sums[n * 32 + lane];
        const int column = n * 16 + q * 4;
        float* to = staged + g * 34 + column;
        if (column < 34) to[0] = v.x;
        if (column + 1 < 34) to[1] = v.y;
        if (column + 2 < 34) to[2] = v.z;
        if (column + 3 < 34) to[3] = v.w;
    }
    __syncthreads();
    for (int i = lane; i < 272; i += 32) y[i] = staged[i];
}
