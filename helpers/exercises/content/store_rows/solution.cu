// %%kernel store_rows
__global__ void store_rows(float* y, const float4* sums)   // y: (8, 34); sums: (3 tiles, 32 lanes)
{
    //> One warp. Lane 4 g + q of tile n holds columns 16 n + 4 q to 16 n + 4 q + 3 of row g of y:
    //> they are sums[32 * n + lane]. Columns from 34 on do not exist.
    __shared__ __align__(16) float staged[8][48];
    const int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    for (int n = 0; n < 3; ++n)
        *reinterpret_cast<float4*>(&staged[g][n * 16 + q * 4]) = sums[n * 32 + lane];
    __syncwarp();   // lanes read what others staged
    for (int i = lane; i < 8 * 34; i += 32) y[i] = staged[i / 34][i % 34];
    //<
}
